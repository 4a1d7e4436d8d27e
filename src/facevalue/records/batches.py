"""Results of batches: files of JSON lines, of OpenAI's kind (also vLLM, Together and others) and of Anthropic's."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from facevalue.errors import DataError, SettingError
from facevalue.models._chat import ONLY_THOUGHTS, Dialect, ServerReply, body, encode_images, is_nothing, status_of
from facevalue.models._chat import read as read_completion
from facevalue.models._recorded_answers import digest
from facevalue.records.base import (
    Key,
    Record,
    RecordedReply,
    asker_of,
    checked_dict,
    checked_list,
    content_of,
    count_of,
    text_of,
)
from facevalue.servers.replies import as_json, is_refusal
from facevalue.store.manifest import RECORDED_BY
from facevalue.types import Request, Status
from facevalue.untrusted_files import check_file, to_json

LINE = 16 * 2**20
"""Most bytes of a line."""
_ID = re.compile(r"(\d{1,19})-(\d{1,3})-([0-9a-f]{16})-([0-9a-f]{16})", re.ASCII)


class CustomId(NamedTuple):
    """Content of a request's id: trial, repeat, digest of what is shown and said, and model."""

    trial: int
    repeat: int
    content: str
    """`content_of` the request."""
    asker: str
    """`asker_of` the request."""

    @classmethod
    def of_request(cls, request: Request, asked_of: int) -> "CustomId":
        """Name a request, in characters that every batch interface takes (at most 57 letters, digits and hyphens)."""
        return cls(request.trial, request.repeat, content_of(request), asker_of(request, asked_of))

    @classmethod
    def read(cls, value: object, place: str) -> "CustomId":
        """Understand what an answer says it is to."""
        match = _ID.fullmatch(value) if isinstance(value, str) else None
        if match is None or int(match[2]) > 255 or int(match[1]) >= 2**63:
            raise DataError(
                f"{place}: {str(value)[:40]!r} is no id of a request that FaceValue wrote ('facevalue requests STUDY')."
            )
        return cls(int(match[1]), int(match[2]), match[3], match[4])

    def __str__(self) -> str:
        return f"{self.trial}-{self.repeat}-{self.content}-{self.asker}"

    @property
    def key(self) -> Key:
        """Trial and repeat."""
        return self.trial, self.repeat


def first_object(path: Path, noun: str) -> Mapping[str, Any]:
    """Return the first object of a file, by which its kind is known."""
    for place, _, line in _lines(path, noun):
        return _object(line, place)
    raise DataError(f"{path.name} is empty.")


def index_answers(path: Path, noun: str) -> dict[Key, tuple[int, CustomId]]:
    """Places of answers in a file, by what they are to.

    Raises
    ------
    DataError
        A line is no JSON or too long, has no id of ours, or answers what another line answers.
    """
    places: dict[Key, tuple[int, CustomId]] = {}
    for place, offset, line in _lines(path, noun):
        name = CustomId.read(_object(line, place).get("custom_id"), place)
        if name.key in places:
            raise DataError(f"{place}: a second answer to {name}.")
        places[name.key] = (offset, name)
    if not places:
        raise DataError(f"{path.name} is empty.")
    return places


def loader(
    path: Path, reader: Callable[[Mapping[str, Any], str], RecordedReply | str]
) -> Callable[[tuple[int, CustomId]], RecordedReply | str]:
    """A reader of one answer at its place."""
    return partial(_load_reply, path, reader)


def _load_reply(
    path: Path, reader: Callable[[Mapping[str, Any], str], RecordedReply | str], place: tuple[int, CustomId]
) -> RecordedReply | str:
    with path.open("rb") as file:
        file.seek(place[0])
        line = file.readline(LINE)
    reply = reader(_object(line, f"{path.name}, answer to {place[1]}"), path.name)
    return reply if isinstance(reply, str) else replace(reply, content=place[1].content, asker=place[1].asker)


def _lines(path: Path, noun: str) -> Iterator[tuple[str, int, bytes]]:
    check_file(path, noun)
    with path.open("rb") as file:
        offset = number = 0
        while line := file.readline(LINE):
            number += 1
            place = f"{path.name}, line {number}"
            if len(line) == LINE and not line.endswith(b"\n"):
                raise DataError(f"{place}: longer than {LINE // 2**20} MiB.")
            if line.strip():
                yield place, offset, line
            offset += len(line)


def _object(line: bytes, place: str) -> Mapping[str, Any]:
    return checked_dict(to_json(line, place), place)


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
