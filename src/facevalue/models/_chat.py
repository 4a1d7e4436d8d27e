"""Requests to chat-completions servers, and their replies: option probabilities, or a reason to draw one instead."""

import base64
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from typing import Literal

import PIL.Image

from facevalue.models._spelling import Position, spelling
from facevalue.models._toplogprobs import OptionMass, option_probabilities, read_positions
from facevalue.servers.replies import (
    as_json,
    count,
    holds_words,
    is_refusal,
    is_withheld_end,
    named_parameter,
    writable,
)
from facevalue.thinking import CUT_THINKING, OPENED, after_thinking, ends_thinking
from facevalue.types import Image, Option, Question, Request, Response, Sampling, Status

# Structured choice: the ways to tell a server that a reply must be one of a few texts.


class Way(StrEnum):
    """A parameter with which some servers constrain a reply, in the order in which they are tried.

    Those that give the bare option come first: JSON changes what is said, and by that perhaps what is chosen.
    """

    STRUCTURED_OUTPUTS = "structured_outputs"
    """vLLM."""
    GUIDED_CHOICE = "guided_choice"
    """vLLM before 0.12."""
    GRAMMAR = "grammar"
    """llama.cpp, in its own notation of grammars (GBNF)."""
    EBNF = "ebnf"
    """SGLang, in the same notation."""
    RESPONSE_FORMAT = "response_format"
    """OpenAI and others: a JSON schema. The reply is then '{"answer": "(a)"}'."""


JSON_TOKENS = 16
"""Tokens that JSON may put around an option; the limit of a reply is raised by so many."""

PROBES = (("qzx-7", "wvk-3"), ("jfb-9", "xmg-2"))
"""Texts that no model says by itself."""


def constrained_texts(options: Sequence[Option]) -> list[str]:
    """Return what a constrained reply may be: the options' labels, or the text of one that has none.

    Examples
    --------
    >>> constrained_texts([Option("(a)", "kind", "up"), Option("", "rude", "down")])
    ['(a)', 'rude']
    """
    return list(dict.fromkeys(option.label or option.text for option in options))


def constraint_parameters(way: Way, texts: Sequence[str]) -> dict[str, object]:
    """Return the parameters by which a reply is constrained to these texts."""
    texts = list(texts)
    if way is Way.STRUCTURED_OUTPUTS:
        return {way.value: {"choice": texts}}
    if way is Way.GUIDED_CHOICE:
        return {way.value: texts}
    if way is Way.RESPONSE_FORMAT:
        named = {"name": "answer", "strict": True, "schema": choice_schema(texts)}
        return {way.value: {"type": "json_schema", "json_schema": named}}
    return {way.value: choice_grammar(texts)}


def choice_schema(texts: Sequence[str]) -> dict[str, object]:
    """Return the JSON schema of a choice between texts."""
    return {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": list(texts)}},
        "required": ["answer"],
        "additionalProperties": False,
    }


def choice_grammar(texts: Sequence[str]) -> str:
    r"""Return the GBNF grammar of a choice between texts.

    Examples
    --------
    >>> print(choice_grammar(["(a)", 'so-called "b"']))
    root ::= "(a)" | "so-called \"b\""
    """
    return "root ::= " + " | ".join(f'"{"".join(map(_escape_character, text))}"' for text in texts)


def _escape_character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else f"\\U{ord(character):08X}"


def constrained_choice(way: Way, text: str) -> str | None:
    """Return which text a reply consists of, out of its JSON where that is the way; None if it is no such JSON."""
    if way is not Way.RESPONSE_FORMAT:
        return text.strip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    answer = value.get("answer") if isinstance(value, dict) and len(value) == 1 else None
    return answer if isinstance(answer, str) else None


_WHOLE = frozenset({"stop", "eos", "eos_token", "end_turn", "stop_sequence", "tool_calls", "function_call", "complete"})
_CUT = frozenset({"length", "max_tokens", "model_length", "model_context_window_exceeded"})

_THOUGHTS = ("reasoning_content", "reasoning", "thinking", "reasoning_details", "thinking_blocks")
"""Fields of a message in which servers give what the model thought before it replied."""

_THINKING_PARTS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content", "thought"})
"""Types of the parts of a message that hold what the model thought."""
ONLY_THOUGHTS = "All that came is what the model thought ({}): no answer was given."

SEED_BITS = 0x7FFF_FFFF
"""Seeds are sent modulo 2**31: some servers take 32 bits, and to llama.cpp the largest of them means "at random"."""

LIMIT = "max_tokens"
"""What the token limit is called among the parameters that are not sent, whatever the server calls it."""
SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "temperature": ("temperature",),
    "top_p": ("top_p", "topP", "top-p"),
    "seed": ("seed", "random_seed"),
    LIMIT: (LIMIT, "max_completion_tokens", "max_output_tokens", "max_new_tokens", "maxTokens", "maxOutputTokens"),
    "reasoning_effort": ("reasoning_effort", "reasoning.effort"),
    "chat_template_kwargs": ("chat_template_kwargs",),
}
"""What servers call each parameter that is left out where they refuse it."""
_DRAWING = ("temperature", "top_p")
_UNKNOWN = re.compile(
    r"unsupported|unknown|unrecognized|unexpected|deprecated|not (support|permit|allow)|extra input", re.I
)
"""How servers say that they don't know a parameter, as opposed to its value."""
Part = dict[str, object]

_PLACE: Part = {"picture": 0}
"""Stands for a picture until the rest of a body is encoded. No text looks like it, as quotation marks are escaped."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Parameters that this server takes, of those on which servers differ."""

    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the token limit is called."""
    top_logprobs: int = 20
    """How many alternatives to ask for."""
    left_out: tuple[str, ...] = ()
    """Parameters of `SPELLINGS` that are not sent."""

    def after(self, complaint: str, *, greedy: bool = False) -> "Dialect | None":
        """Return the dialect to try after a server rejected a request in this one, None if no other would help.

        A parameter that the complaint names is left out, whatever it says of it. Of a greedy request, temperature and
        top-p are never left out, as its reply would no longer be the likeliest; but of two that a server does not take
        together, top-p is.

        Examples
        --------
        >>> Dialect().after("HTTP 400: Unsupported parameter: 'top_p' is not supported with this model.").left_out
        ('top_p',)
        >>> Dialect().after("HTTP 400: 'temperature' does not support 0.2. Only the default (1) is.").left_out
        ('temperature',)
        >>> Dialect().after("HTTP 400: `temperature` and `top_p` cannot both be specified for this model.").left_out
        ('top_p',)
        >>> Dialect().after("HTTP 400: Use 'max_completion_tokens' instead.").limit
        'max_completion_tokens'
        >>> Dialect().after("HTTP 400: top_logprobs must be at most 5", greedy=True).top_logprobs
        5
        >>> Dialect().after("HTTP 400: image too large") is None
        True
        """
        if "both" in complaint and all(name in complaint for name in _DRAWING) and "top_p" not in self.left_out:
            return replace(self, left_out=(*self.left_out, "top_p"))
        if greedy and "logprobs" in complaint:
            body = re.sub(r"^HTTP \d+", "", complaint)
            fewer = [int(n) for n in re.findall(r"(?<![\w./-])\d{1,2}(?![\w/-]|\.\d)", body)]
            fewer = [n for n in fewer if 0 < n < self.top_logprobs]
            return replace(self, top_logprobs=max(fewer)) if fewer else None
        exempt_names = (*self.left_out, *(_DRAWING if greedy else ()))
        name = named_parameter(
            complaint, {name: words for name, words in SPELLINGS.items() if name not in exempt_names}
        )
        if name == LIMIT == self.limit and ("max_completion_tokens" in complaint or _UNKNOWN.search(complaint)):
            return replace(self, limit="max_completion_tokens")
        return replace(self, left_out=(*self.left_out, name)) if name else None


def image_urls(images: Sequence[Image]) -> list[str]:
    """Return images as data URIs."""
    return [f"data:{image.media_type};base64,{base64.b64encode(image.data).decode('ascii')}" for image in images]


def image_parts(images: Sequence[Image]) -> list[Part]:
    """Return images as the content parts of a message, each a data URI."""
    return [{"type": "image_url", "image_url": {"url": url}} for url in image_urls(images)]


def encode_images(images: Sequence[Image]) -> list[bytes]:
    """Return the content parts of images as JSON, once for all bodies that show them."""
    return [as_json(image_part) for image_part in image_parts(images)]


def white_squares(count: int) -> list[Image]:
    """Return small pictures to find out with what a model can do."""
    file = io.BytesIO()
    PIL.Image.new("RGB", (32, 32), "white").save(file, "PNG")
    return [Image(file.getvalue(), "image/png")] * count


def conversation(images: Sequence[Part], question: Question) -> list[dict[str, object]]:
    """Return the messages of one request: the system message and earlier turns if any, the images, then the text.

    Whatever questions about one image share comes before what tells them apart, byte for byte the same, so that a
    server that keeps prefixes need not look at the image again.
    """
    messages: list[dict[str, object]] = []
    if question.system is not None:
        messages.append({"role": "system", "content": question.system})
    messages += [{"role": role, "content": text} for role, text in question.turns]
    text_part: Part = {"type": "text", "text": question.prompt}
    messages.append({"role": "user", "content": [*images, text_part] if images else question.prompt})
    return messages


def body(
    model: str,
    images: Sequence[bytes],
    question: Question,
    sampling: Sampling,
    seed: int,
    *,
    dialect: Dialect,
    logprobs: bool,
    way: Way | None = None,
    more: Mapping[str, object] | None = None,
) -> bytes:
    """Return the JSON body of one request about images that are `encoded` already.

    With `logprobs` the reply is asked for greedily (temperature 0, the whole nucleus): the path whose alternatives
    are read is then the likeliest one and always the same, and the sampling is applied to what is read. With a `way`
    the reply is constrained to the question's options. What is sent besides is in `more`.
    """
    sent: dict[str, object] = {
        "model": model,
        "messages": conversation([_PLACE] * len(images), question),
        "temperature": 0 if logprobs else sampling.temperature,
        "top_p": 1 if logprobs else sampling.top_p,
        dialect.limit: sampling.max_tokens + (JSON_TOKENS if way is Way.RESPONSE_FORMAT else 0),
        "seed": seed & SEED_BITS,
        **(more or {}),
    }
    for name in dialect.left_out:
        sent.pop(dialect.limit if name == LIMIT else name, None)
    if logprobs:
        sent |= {"logprobs": True, "top_logprobs": dialect.top_logprobs}
    if way is not None:
        sent |= constraint_parameters(way, constrained_texts(question.options))
    first, *others = as_json(sent).split(as_json(_PLACE))
    return b"".join((first, *chain.from_iterable(zip(images, others, strict=True))))


@dataclass(frozen=True, slots=True)
class ServerReply:
    """A chat completion, read."""

    status: Status
    """`OK`, `REFUSED` or `TRUNCATED`."""
    text: str | None
    """What was said; None only if it was withheld."""
    positions: list[Position] | None
    """Its tokens with their alternatives, None if the server gave none."""
    prompt_tokens: int | None
    completion_tokens: int | None
    """As the server counts them."""
    note: str | None
    """Why there is no answer, if there is none."""
    served_by: str = ""
    """Model and build (`system_fingerprint`) as the server names them; empty where it doesn't."""
    thought: bool = False
    """Whether the server keeps what the model thought apart from what it said."""
    cached_tokens: int | None = None
    """Tokens of the prompt that the server had in its cache; None if it doesn't say."""


def status_of(ended: str) -> Status:
    """Say what became of a reply, by the word in which a server says why it ended (`finish_reason`, `stop_reason`).

    Raises
    ------
    ValueError
        The reply was broken off.
    """
    word = ended.lower()
    if word not in _WHOLE | _CUT:
        if is_withheld_end(word):
            return Status.REFUSED
        raise ValueError(f"the reply was broken off ({ended[:40]!r})")
    return Status.TRUNCATED if word in _CUT else Status.OK


def without_cut_thinking(reply: ServerReply) -> ServerReply:
    """Return the reply of a model that was to think, a text that may be thinking which was cut off marked as that.

    Many templates open the thinking themselves: what was said so far can't be told from it.
    """
    text = reply.text or ""
    if reply.status is not Status.TRUNCATED or reply.thought or reply.note or ends_thinking(text):
        return reply
    return replace(reply, text=f"{OPENED}{text}" if after_thinking(text) else text, note=CUT_THINKING)


def refused_by_words(reply: ServerReply, words: Sequence[str]) -> ServerReply:
    """Return a reply as a refusal where it holds any of the user's words for one."""
    if reply.status is Status.REFUSED or not holds_words(after_thinking(reply.text or ""), words):
        return reply
    return replace(reply, status=Status.REFUSED, note="The reply holds a word by which the user knows a refusal.")


def read(payload: Mapping[str, object]) -> ServerReply:
    """Read a chat completion, every field checked before it is believed."""
    choices, usage = payload.get("choices"), payload.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    if not isinstance(choices, list) or not choices:
        if is_refusal(payload, 200):
            return _withheld_reply(payload, counts)
        error = payload.get("error")
        raise ValueError(f"no choices; the server says {error}" if error else "no choices")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise ValueError("a choice without a message")
    if not (message.get("content") or message.get("refusal")) and is_refusal(_outside(choice), 200):
        return _withheld_reply(payload, counts)
    text, refusal, thought = _message_texts(message)
    finish = choice.get("finish_reason")
    if not isinstance(finish, str | None):
        raise ValueError("finish_reason is not text")
    status, note = status_of(finish or "stop"), None
    completion_tokens = count(counts.get("completion_tokens"))
    if refusal or status is Status.REFUSED:
        status = Status.REFUSED
        note = "The model declined." if refusal else "A content filter withheld the reply."
        text = text or refusal
    elif status is Status.OK and not (thought or message.get("tool_calls")) and is_nothing(text, completion_tokens):
        raise ValueError("nothing was said, and no token of it counted")
    else:
        text = text or ""
    is_thought = bool(thought) or _thinking_tokens(counts)
    if status is Status.TRUNCATED and not after_thinking(text or "") and (is_thought or text):
        note = CUT_THINKING
    elif status is Status.OK and thought and not (text or "").strip():
        note = ONLY_THOUGHTS.format(thought)
    return ServerReply(
        status,
        text,
        read_positions(choice.get("logprobs")),
        count(counts.get("prompt_tokens")),
        completion_tokens,
        note,
        _served_by(payload),
        is_thought,
        _cached_tokens(counts),
    )


def _outside(choice: Mapping[str, object]) -> dict[str, object]:
    """Content of a choice besides its message and its tokens."""
    return {name: value for name, value in choice.items() if name not in ("message", "logprobs")}


def _withheld_reply(payload: Mapping[str, object], counts: Mapping[str, object]) -> ServerReply:
    """The reply of a server that declined without saying a word."""
    prompt_tokens, completion_tokens = count(counts.get("prompt_tokens")), count(counts.get("completion_tokens"))
    note = "A content filter withheld the reply."
    return ServerReply(Status.REFUSED, None, None, prompt_tokens, completion_tokens, note, _served_by(payload))


def _served_by(payload: Mapping[str, object]) -> str:
    """Model and build that answered, as far as the server says."""
    names = (payload.get(key) for key in ("model", "system_fingerprint"))
    return ", ".join(name[:100] for name in names if isinstance(name, str) and name)


def is_nothing(text: str | None, tokens: int | None) -> bool:
    """Return whether a reply is a fault of its server's: no text, and no token that was paid for."""
    return not text and (tokens == 0 or (text is None and tokens is None))


def _message_texts(message: Mapping[str, object]) -> tuple[str | None, str | None, str]:
    """Text and refusal of a message, and the field that holds what was thought (empty if none does).

    Raises
    ------
    ValueError
        It is neither a text nor a list of parts.
    """
    content, refusal = message.get("content"), message.get("refusal")
    thought = next((name for name in _THOUGHTS if isinstance(message.get(name), str | list) and message[name]), "")
    if isinstance(content, list):
        texts: list[str] = []
        for item in content:
            kind = item.get("type", "text") if isinstance(item, dict) else None
            if kind in _THINKING_PARTS:
                thought = thought or str(kind)
            elif kind == "refusal":
                refusal = refusal or item.get("refusal")
            elif isinstance(text := item if isinstance(item, str) else item.get("text") if kind else None, str):
                texts.append(text)
            elif kind is None:
                raise ValueError("a part of the content is none")
        content = "".join(texts) if texts else None
    if not isinstance(content, str | None) or not isinstance(refusal, str | None):
        raise ValueError("content or refusal is not text")
    return writable(content), writable(refusal), thought


def _cached_tokens(counts: Mapping[str, object]) -> int | None:
    details = counts.get("prompt_tokens_details")
    return count(details.get("cached_tokens")) if isinstance(details, dict) else None


def _thinking_tokens(counts: Mapping[str, object]) -> bool:
    details = counts.get("completion_tokens_details")
    return isinstance(details, dict) and bool(count(details.get("reasoning_tokens")))


MOST_UNSEEN = 0.01
"""Probability that may lie on replies that were not seen: no option's probability is off by more.

Beyond it, one reply is drawn in place of the probabilities. One and not one per seed, since a trial whose probabilities
were read counts once, too.
"""


def response_of(request: Request, reply: ServerReply, latency_ms: float) -> Response:
    """Return a reply as the response to a request, without probabilities."""
    return Response(
        request.trial,
        request.repeat,
        reply.status,
        reply.text,
        None,
        reply.prompt_tokens,
        reply.completion_tokens,
        latency_ms,
        reply.note,
    )


def exact(request: Request, reply: ServerReply, response: Response) -> Response | str:
    """Read the options' probabilities from the greedy reply to a request.

    Whether they suffice depends on the prompt alone and not on what is drawn, so that drawing a reply where they don't
    favours no option.

    `request`: the request. `reply`: its reply, with the alternatives of each token. `response`: the same as a response
    without probabilities.

    Returns the response with its probabilities; or as an error, where the log-probabilities are missing or are others
    than the reply's; or unchanged, where the model declined. If more than `MOST_UNSEEN` is not seen, the reason why a
    reply must be drawn instead, for people.
    """
    if reply.status is Status.REFUSED:
        return response
    if reply.positions is None:
        problem = "The model sent no top_logprobs, so the options' probabilities are not known."
        return response._replace(status=Status.ERROR, error=problem)
    ended = reply.status is Status.OK
    spelt = spelling(reply.positions, reply.text or "", ended=ended)
    if spelt is None:
        problem = "The logprobs are not those of the reply's text, so no probability can be read from them."
        return response._replace(status=Status.ERROR, error=problem)
    mass = option_probabilities(
        request.question.options, spelt.positions, request.sampling, ended=ended, blanks=spelt.blanks
    )
    if mass.unseen > MOST_UNSEEN:
        return _reason(mass)
    return response._replace(status=Status.OK, probs=mass.probs)


def replace_response(reason: str, scored: Response, sampled: Response) -> Response:
    """Return a drawn reply in place of probabilities that were not all seen; both are paid for, and took their time."""
    return sampled._replace(
        prompt_tokens=_sum(scored.prompt_tokens, sampled.prompt_tokens),
        completion_tokens=_sum(scored.completion_tokens, sampled.completion_tokens),
        latency_ms=scored.latency_ms + sampled.latency_ms,
        error=sampled.error or reason,
    )


def undecided_reason(on: float, share: float) -> str:
    """Say why probabilities of options, `on` all together, are not believed where a share of replies was undecided."""
    return (
        f"Drawn, not read: {share:.1%} of the probability is on replies that were not followed until they "
        f"were decided ({on:.1%} is on the options, {max(0.0, 1 - on - share):.1%} on others)."
    )


def _reason(mass: OptionMass) -> str:
    on = sum(mass.probs)
    return (
        f"Drawn, not read: {mass.unseen:.1%} of the probability is on replies that were not listed ({on:.1%} is on the "
        f"options, {mass.other_mass:.1%} on others)."
    )


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
