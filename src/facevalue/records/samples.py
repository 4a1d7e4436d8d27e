"""Samples of other evaluation tools: lmms-eval's JSON lines, promptfoo's JSON."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from facevalue.errors import DataError
from facevalue.models._chat import ServerReply, status_of
from facevalue.models._recorded import digest
from facevalue.records.base import Fact, Key, Record, RecordedReply
from facevalue.records.fields import checked_dict, checked_list, count_of, milliseconds, text_of
from facevalue.records.lines import CustomId, indexed, loader
from facevalue.store.manifest import RECORDED_BY
from facevalue.types import Status

LMMS_EVAL, PROMPTFOO = "lmms-eval", "promptfoo"
_FAILED = "[LMMS_EVAL_"
"""What lmms-eval writes in place of a reply begins so; some of its models write nothing."""


def lmms_samples(path: Path) -> Record:
    """Open the samples of a task of lmms-eval's whose `doc_to_target` is the id of a request."""
    places = indexed(path, "samples of lmms-eval", _target)
    return Record(path, "", {RECORDED_BY: LMMS_EVAL}, places, loader(path, _sample), findings=_findings(path))


def _target(line: Mapping[str, Any]) -> object:
    document = line.get("doc")
    custom_id = document.get("custom_id") if isinstance(document, Mapping) else None
    return line.get("target") if custom_id is None else custom_id


def _sample(line: Mapping[str, Any], name: str) -> RecordedReply | str:
    reply = line.get("resps", line.get("filtered_resps"))
    while isinstance(reply, list) and len(reply) == 1:
        reply = reply[0]
    if isinstance(reply, list):
        return f"{name}: the sample has {len(reply):,} replies, and one was asked"
    text = text_of(reply)
    if text is None:
        return f"{name}: the sample has no reply that is a text"
    if not text.strip() or text.startswith(_FAILED):
        return f"{name}: the request failed: {text[:200].strip() or 'its reply is empty'}"
    listed = line.get("token_counts")
    first = listed[0] if isinstance(listed, list) and listed else None
    counts = first if isinstance(first, Mapping) else {}
    tokens = (count_of(counts.get("input_tokens")), count_of(counts.get("output_tokens")))
    return RecordedReply(ServerReply(Status.OK, text, None, *tokens, None))


def promptfoo_output(path: Path, document: Mapping[str, Any]) -> list[Record]:
    """Open an output of promptfoo's, a record for each provider; `document`: what the file holds."""
    summary = document.get("results")
    summary = summary if isinstance(summary, Mapping) else document
    results = checked_list(summary.get("results"), f"{path.name}: its results")
    places: dict[str, dict[Key, tuple[Mapping[str, Any], CustomId]]] = {}
    for number, result in enumerate(results, 1):
        place = f"{path.name}, result {number}"
        row = checked_dict(result, place)
        name = CustomId.read(_own(row), place)
        provider = row.get("provider")
        model = (text_of(provider.get("id")) if isinstance(provider, Mapping) else text_of(provider)) or ""
        answers = places.setdefault(model, {})
        if name.key in answers:
            raise DataError(f"{place}: a second answer to {name}.")
        answers[name.key] = (row, name)
    if not places:
        raise DataError(f"{path.name} holds no answer.")
    findings = _findings(path)
    facts = {RECORDED_BY: PROMPTFOO}
    return [
        Record(path, model, facts, answers, partial(_result, path.name), findings=findings)
        for model, answers in places.items()
    ]


def _own(row: Mapping[str, Any]) -> object:
    """Id of the request that a result is to, wherever promptfoo keeps it."""
    case = row.get("testCase")
    inner = case if isinstance(case, Mapping) else {}
    for holder in (row.get("vars"), inner.get("vars"), row.get("metadata"), inner.get("metadata")):
        if isinstance(holder, Mapping) and holder.get("custom_id") is not None:
            return holder["custom_id"]
    return None


def _result(name: str, place: tuple[Mapping[str, Any], CustomId]) -> RecordedReply | str:
    row, custom_id = place
    response = row.get("response")
    answer = response if isinstance(response, Mapping) else {}
    output = answer.get("output")
    guardrails = answer.get("guardrails")
    flagged = isinstance(guardrails, Mapping) and guardrails.get("flagged") is True
    try:
        status = status_of(text_of(answer.get("finishReason")) or "stop")
    except ValueError as broken:
        return f"{name}: {broken}"
    status = Status.REFUSED if flagged or answer.get("isRefusal") is True else status
    error = text_of(answer.get("error")) or (None if isinstance(output, str) else text_of(row.get("error")))
    text = text_of(output)
    if status is not Status.REFUSED and (error or text is None):
        return f"{name}: {error.strip()[:500] if error else f'the answer to {custom_id} is no text'}"
    usage = answer.get("tokenUsage") or row.get("tokenUsage")
    counts = usage if isinstance(usage, Mapping) else {}
    return RecordedReply(
        ServerReply(
            status, text, None, count_of(counts.get("prompt")), count_of(counts.get("completion")),
            "The model declined." if status is Status.REFUSED else None,
        ),
        milliseconds(row.get("latencyMs"), each=1.0),
        content=custom_id.content,
    )  # fmt: skip


def _findings(path: Path) -> dict[str, Fact]:
    return {"record": path.name, "record_sha256": digest(path)}
