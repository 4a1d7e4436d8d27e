"""Results of batches, of OpenAI's kind (also vLLM, Together and others) and of Anthropic's."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from facevalue.errors import DataError
from facevalue.models._chat import ONLY_THOUGHTS, ServerReply, is_nothing, status_of
from facevalue.models._chat import read as read_completion
from facevalue.models._recorded import digest
from facevalue.records.base import Record, RecordedReply
from facevalue.records.fields import checked_dict, checked_list, count_of, text_of
from facevalue.records.lines import indexed, loader
from facevalue.servers.refusals import is_refusal
from facevalue.store.manifest import RECORDED_BY
from facevalue.types import Status

OPENAI, ANTHROPIC = "OpenAI batch", "Anthropic batch"
_THINKING = ("thinking", "redacted_thinking")


def openai_batch(path: Path) -> Record:
    """Open the output or error file of a batch of chat completions."""
    return _record(path, OPENAI, _completion)


def anthropic_batch(path: Path) -> Record:
    """Open the results of a message batch."""
    return _record(path, ANTHROPIC, _message)


def _record(path: Path, tool: str, reader: Any) -> Record:
    places = indexed(path, f"results of an {tool}")
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
