"""Requests to chat-completions servers, and their replies."""

import base64
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import PIL.Image

from facevalue.models._spelling import Position
from facevalue.models._structured import JSON_TOKENS, Way, constraint, wanted
from facevalue.models._toplogprobs import read_positions
from facevalue.servers.payload import as_json, count, unknown_parameter, writable
from facevalue.thinking import THOUGHT, after_thinking
from facevalue.types import Image, Question, Sampling, Status

_WHOLE = frozenset({"stop", "eos", "eos_token", "end_turn", "stop_sequence", "tool_calls", "function_call", "complete"})
_CUT = frozenset({"length", "max_tokens", "model_length", "model_context_window_exceeded"})
_WITHHELD = frozenset({"content_filter", "safety", "recitation", "prohibited_content", "refusal"})

_THOUGHTS = ("reasoning_content", "reasoning")
"""Fields of a message in which servers give what the model thought before it replied."""

CUT_THINKING = "Cut off at the token limit before the model had ended thinking."

SEED_BITS = 0x7FFF_FFFF
"""Seeds are sent modulo 2**31: some servers take 32 bits, and to llama.cpp the largest of them means "at random"."""

_DRAWING = ("temperature", "top_p")
OPTIONAL = (*_DRAWING, "seed", "chat_template_kwargs")
"""Parameters that some servers refuse whatever their value."""
Part = dict[str, object]

_PLACE: Part = {"picture": 0}
"""Stands for a picture until the rest of a body is encoded. No text looks like it, as quotation marks are escaped."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which of the parameters that servers disagree on this one takes."""

    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the token limit is called."""
    top_logprobs: int = 20
    """How many alternatives to ask for."""
    left_out: tuple[str, ...] = ()
    """Parameters of `OPTIONAL` that are not sent."""

    def after(self, complaint: str, *, greedy: bool = False) -> "Dialect | None":
        """Return the dialect to try after a server rejected a request in this one, None if no other would help.

        A parameter that the server doesn't know is left out; a value that it doesn't take is no reason to ask otherwise
        than planned. Of a greedy request, temperature and top-p are never left out; but of two that a server does not
        take together, top-p is.

        Examples
        --------
        >>> Dialect().after("HTTP 400: Unsupported parameter: 'top_p' is not supported with this model.").left_out
        ('top_p',)
        >>> Dialect().after("HTTP 400: 'temperature' does not support 0.2. Only the default (1) is.") is None
        True
        >>> Dialect().after("HTTP 400: `temperature` and `top_p` cannot both be specified for this model.").left_out
        ('top_p',)
        >>> Dialect().after("HTTP 400: Use 'max_completion_tokens' instead.").limit
        'max_completion_tokens'
        >>> Dialect().after("HTTP 400: top_logprobs must be at most 5").top_logprobs
        5
        >>> Dialect().after("HTTP 400: image too large") is None
        True
        """
        if "both" in complaint and all(name in complaint for name in _DRAWING) and "top_p" not in self.left_out:
            return replace(self, left_out=(*self.left_out, "top_p"))
        if "max_completion_tokens" in complaint and self.limit == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        if "logprobs" in complaint:
            body = re.sub(r"^HTTP \d+", "", complaint)
            fewer = [int(n) for n in re.findall(r"(?<![\w./-])\d{1,2}(?![\w/-]|\.\d)", body)]
            fewer = [n for n in fewer if 0 < n < self.top_logprobs]
            return replace(self, top_logprobs=max(fewer)) if fewer else None
        droppable = [name for name in OPTIONAL if name not in self.left_out and not (greedy and name in _DRAWING)]
        name = unknown_parameter(complaint, droppable)
        return replace(self, left_out=(*self.left_out, name)) if name else None


def image_urls(images: Sequence[Image]) -> list[str]:
    """Return images as data URIs."""
    return [f"data:{image.media_type};base64,{base64.b64encode(image.data).decode('ascii')}" for image in images]


def image_parts(images: Sequence[Image]) -> list[Part]:
    """Return images as the content parts of a message, each a data URI."""
    return [{"type": "image_url", "image_url": {"url": url}} for url in image_urls(images)]


def encoded(images: Sequence[Image]) -> list[bytes]:
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
        sent.pop(name, None)
    if logprobs:
        sent |= {"logprobs": True, "top_logprobs": dialect.top_logprobs}
    if way is not None:
        sent |= constraint(way, wanted(question.options))
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
    if word in _WITHHELD:
        return Status.REFUSED
    if word not in _WHOLE | _CUT:
        raise ValueError(f"the reply was broken off ({ended[:40]!r})")
    return Status.TRUNCATED if word in _CUT else Status.OK


def without_cut_thinking(reply: ServerReply) -> ServerReply:
    """Return the reply of a model that was to think, without a text that may be thinking which was cut off.

    Many templates open the thinking themselves: what was said so far can't be told from it.
    """
    unended = not (reply.thought or reply.note) and THOUGHT not in (reply.text or "")
    return replace(reply, text="", note=CUT_THINKING) if reply.status is Status.TRUNCATED and unended else reply


def read(payload: Mapping[str, object]) -> ServerReply:
    """Read a chat completion, every field checked before it is believed."""
    choices = payload.get("choices")
    if not isinstance(choices, list) or not choices:
        error = payload.get("error")
        raise ValueError(f"no choices; the server says {error}" if error else "no choices")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise ValueError("a choice without a message")
    text, refusal, finish = message.get("content"), message.get("refusal"), choice.get("finish_reason")
    if not isinstance(text, str | None) or not isinstance(refusal, str | None) or not isinstance(finish, str | None):
        raise ValueError("content, refusal or finish_reason is not text")
    status, note = status_of(finish or "stop"), None
    text, refusal = writable(text), writable(refusal)
    if refusal or status is Status.REFUSED:
        status = Status.REFUSED
        text = text or refusal
        note = "The model declined." if refusal else "A content filter withheld the reply."
    else:
        text = text or ""
    usage = payload.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    thought = any(isinstance(message.get(name), str) and message[name] for name in _THOUGHTS) or _thinking_tokens(
        counts
    )
    if status is Status.TRUNCATED and not after_thinking(text or "") and (thought or text):
        note = CUT_THINKING
    served_by = ", ".join(
        name[:100] for key in ("model", "system_fingerprint") if isinstance(name := payload.get(key), str) and name
    )
    return ServerReply(
        status,
        text,
        read_positions(choice.get("logprobs")),
        count(counts.get("prompt_tokens")),
        count(counts.get("completion_tokens")),
        note,
        served_by,
        thought,
        _cached(counts),
    )


def _cached(counts: Mapping[str, object]) -> int | None:
    details = counts.get("prompt_tokens_details")
    return count(details.get("cached_tokens")) if isinstance(details, dict) else None


def _thinking_tokens(counts: Mapping[str, object]) -> bool:
    details = counts.get("completion_tokens_details")
    return isinstance(details, dict) and bool(count(details.get("reasoning_tokens")))
