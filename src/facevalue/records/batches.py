"""Results of batches, of OpenAI's kind (also vLLM, Together and others) and of Anthropic's."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from facevalue.errors import DataError
from facevalue.models._chat import ServerReply, status_of
from facevalue.models._chat import read as read_completion
from facevalue.models._recorded import digest
from facevalue.records.base import Record, RecordedReply
from facevalue.records.fields import checked_dict, checked_list, count_of, text_of
from facevalue.records.lines import indexed, loader
from facevalue.store.manifest import RECORDED_BY
from facevalue.types import Status

OPENAI, ANTHROPIC = "OpenAI batch", "Anthropic batch"
_WITHHELD = frozenset({"content_filter", "content_policy_violation", "moderation_blocked"})


def openai_batch(path: Path) -> Record:
    """Open the output or error file of a batch of chat completions."""
    return _record(path, OPENAI, _completion)


def anthropic_batch(path: Path) -> Record:
    """Open the results of a message batch."""
    return _record(path, ANTHROPIC, _message)


def _record(path: Path, tool: str, reader: Any) -> Record:
    places = indexed(path, f"results of an {tool}", lambda line: line.get("custom_id"))
    findings = {"record": path.name, "record_sha256": digest(path)}
    return Record(path, "", {RECORDED_BY: tool}, places, loader(path, reader), findings=findings)


def _completion(line: Mapping[str, Any], name: str) -> RecordedReply | str:
    response = line.get("response")
    if not isinstance(response, Mapping):
        return f"{name}: {_error(line.get('error')) or 'no response'}"
    body = response.get("body")
    if response.get("status_code") != 200 or not isinstance(body, Mapping):
        error = body.get("error") if isinstance(body, Mapping) else line.get("error")
        if isinstance(error, Mapping) and error.get("code") in _WITHHELD:
            return RecordedReply(ServerReply(Status.REFUSED, None, None, None, None, _error(error)))
        return f"{name}: HTTP {str(response.get('status_code'))[:10]}: {_error(error) or 'no reason given'}"
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
    return RecordedReply(
        ServerReply(
            status,
            "".join(text or "" for text in texts),
            None,
            None if prompt_counts[0] is None else sum(count or 0 for count in prompt_counts),
            count_of(counts.get("output_tokens")),
            "The model declined." if status is Status.REFUSED else None,
            text_of(message.get("model")) or "",
        )
    )


def _error(error: object) -> str:
    text = text_of(error.get("message")) if isinstance(error, Mapping) else text_of(error)
    return (text or "").strip()[:500]
