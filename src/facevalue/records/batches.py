"""Results of batches, of OpenAI's kind (also vLLM, Together and others) and of Anthropic's."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from facevalue.errors import DataError, SettingError
from facevalue.models._chat import ONLY_THOUGHTS, Dialect, ServerReply, body, encode_images, is_nothing, status_of
from facevalue.models._chat import read as read_completion
from facevalue.models._recorded_answers import digest
from facevalue.records.base import Record, RecordedReply, checked_dict, checked_list, count_of, text_of
from facevalue.records.lines import CustomId, index_answers, loader
from facevalue.servers.payload import as_json
from facevalue.servers.refusals import is_refusal
from facevalue.store.manifest import RECORDED_BY
from facevalue.types import Request, Status

OPENAI, ANTHROPIC = "OpenAI batch", "Anthropic batch"
_THINKING = ("thinking", "redacted_thinking")


def openai_batch(path: Path) -> Record:
    """Open the output or error file of a batch of chat completions."""
    return _record(path, OPENAI, _completion)


def anthropic_batch(path: Path) -> Record:
    """Open the results of a message batch."""
    return _record(path, ANTHROPIC, _message)


def _record(path: Path, tool: str, reader: Any) -> Record:
    places = index_answers(path, f"results of an {tool}")
    findings = {"record": path.name, "record_sha256": digest(path)}
    return Record(path, "", {RECORDED_BY: tool}, places, loader(path, reader), findings=findings)


def _completion(line: Mapping[str, Any], name: str) -> RecordedReply | str:
    response = line.get("response")
    if not isinstance(response, Mapping):
        error = line.get("error")
        return _refusal(error) if is_refusal(error) else f"{name}: {_error(error) or 'no response'}"
    body, status = response.get("body"), response.get("status_code")
    if status != 200 or not isinstance(body, Mapping):
        error = body.get("error", body) if isinstance(body, Mapping) else body or line.get("error")
        if is_refusal([error, line.get("error")], status if isinstance(status, int) else None):
            return _refusal(error)
        return f"{name}: HTTP {str(status)[:10]}: {_error(error) or 'no reason given'}"
    try:
        return RecordedReply(read_completion(body))
    except ValueError as error:
        return f"{name}: the reply is no chat completion: {error}"


def _message(line: Mapping[str, Any], name: str) -> RecordedReply | str:
    result = checked_dict(line.get("result"), f"{name}: a result")
    kind = text_of(result.get("type")) or "none"
    if kind != "succeeded":
        error = result.get("error")
        inner = error.get("error") if isinstance(error, Mapping) and isinstance(error.get("error"), Mapping) else error
        if is_refusal(inner):
            return _refusal(inner)
        return f"{name}: {kind[:20]}{': ' if inner else ''}{_error(inner)}"
    message = checked_dict(result.get("message"), f"{name}: a message")
    try:
        status = status_of(text_of(message.get("stop_reason")) or "none")
    except ValueError as error:
        return f"{name}: {error}"
    blocks = checked_list(message.get("content"), f"{name}: the content of a message")
    text_blocks = [block for block in blocks if isinstance(block, Mapping) and block.get("type") == "text"]
    texts = [text_of(block.get("text")) for block in text_blocks]
    if None in texts:
        raise DataError(f"{name}: a text of a message is none.")
    usage = message.get("usage")
    counts = usage if isinstance(usage, Mapping) else {}
    prompt_counts = [count_of(counts.get(f"{kind}input_tokens")) for kind in ("", "cache_read_", "cache_creation_")]
    text, tokens = "".join(text or "" for text in texts), count_of(counts.get("output_tokens"))
    note = "The model declined." if status is Status.REFUSED else None
    if status is Status.OK and not text.strip():
        if any(isinstance(block, Mapping) and block.get("type") in _THINKING for block in blocks):
            note = ONLY_THOUGHTS.format("thinking")
        elif is_nothing(text, tokens):
            return f"{name}: nothing was said, and no token of it counted"
    return RecordedReply(
        ServerReply(
            status,
            text,
            None,
            None if prompt_counts[0] is None else sum(count or 0 for count in prompt_counts),
            tokens,
            note,
            text_of(message.get("model")) or "",
        )
    )


def _refusal(error: object) -> RecordedReply:
    return RecordedReply(ServerReply(Status.REFUSED, None, None, None, None, _error(error) or "The provider declined."))


def _error(error: object) -> str:
    text = text_of(error.get("message")) if isinstance(error, Mapping) else text_of(error)
    return (text or "").strip()[:500]


# Requests as files for batches, of OpenAI's and Anthropic's kinds.


_DIALECT = Dialect(limit="max_completion_tokens")
_HOTTEST = 1.0  # of Anthropic's


@dataclass(frozen=True)
class RequestForm:
    """A form in which requests are written.

    Attributes
    ----------
    tool:
        Who takes them, as a run's settings call it (`RECORDED_BY`).
    most_requests:
        Most requests of a file.
    size:
        Most bytes of a file.
    start, between, end:
        What a file begins with, has between two requests, and ends with.
    ending:
        Of its name.
    write:
        From the model's name, a request, the most tokens of its reply (None for the study's) and its id to the request
        in this form.
    exact:
        Whether log-probabilities come with the answers.
    """

    tool: str
    most_requests: int
    size: int
    start: bytes
    between: bytes
    end: bytes
    ending: str
    write: Callable[[str, Request, int | None, CustomId], bytes]
    exact: bool


def _limit_tokens(request: Request, limit: int | None) -> Request:
    return request if limit is None else request._replace(sampling=replace(request.sampling, max_tokens=limit))


def _openai(model: str, request: Request, limit: int | None, name: CustomId) -> bytes:
    sampling = _limit_tokens(request, limit).sampling
    sent = body(
        model, encode_images(request.stimulus.load()), request.question, sampling, request.seed,
        dialect=_DIALECT, logprobs=request.exact,
    )  # fmt: skip
    return (
        as_json({"custom_id": str(name), "method": "POST", "url": "/v1/chat/completions"})[:-1]
        + b',"body":' + sent + b"}"
    )  # fmt: skip


def _anthropic(model: str, request: Request, limit: int | None, name: CustomId) -> bytes:
    sampling = _limit_tokens(request, limit).sampling
    if sampling.temperature > _HOTTEST:
        raise SettingError(
            f"Anthropic's models take temperatures up to {_HOTTEST:g}, and this study draws at "
            f"{sampling.temperature:g}."
        )
    question = request.question
    pictures = [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": image.media_type, "data": b64encode(image.data).decode("ascii")},
        }
        for image in request.stimulus.load()
    ]
    messages: list[object] = [{"role": role, "content": text} for role, text in question.turns]
    messages.append({"role": "user", "content": [*pictures, {"type": "text", "text": question.prompt}]})
    # Newer models refuse top_p beside a temperature; a whole nucleus is none.
    nucleus = {"top_p": sampling.top_p} if sampling.top_p < 1 else {"temperature": sampling.temperature}
    system = {} if question.system is None else {"system": question.system}
    sent = {"model": model, "max_tokens": sampling.max_tokens, **nucleus, **system, "messages": messages}
    return as_json({"custom_id": str(name), "params": sent})


FORMS: dict[str, RequestForm] = {
    "openai": RequestForm(OPENAI, 50_000, 190_000_000, b"", b"\n", b"\n", "jsonl", _openai, exact=True),
    "anthropic": RequestForm(
        ANTHROPIC, 100_000, 250_000_000, b'{"requests":[\n', b",\n", b"\n]}\n", "json", _anthropic, exact=False
    ),
}
"""By name. Sizes are a little below what the interfaces take: 200 MB and 50,000 requests, 256 MB and 100,000."""
