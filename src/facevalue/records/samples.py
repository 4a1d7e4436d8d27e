"""Samples of other evaluation tools: lmms-eval's JSON lines, promptfoo's JSON."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from facevalue.errors import DataError
from facevalue.models._chat import ServerReply
from facevalue.models._recorded import digest
from facevalue.records.base import Fact, Key, Record, RecordedReply
from facevalue.records.fields import checked_dict, checked_list, count_of, milliseconds, text_of
from facevalue.records.lines import CustomId, indexed, loader
from facevalue.store.manifest import RECORDED_BY
from facevalue.types import Status

LMMS_EVAL, PROMPTFOO = "lmms-eval", "promptfoo"
_CUT = frozenset({"length", "max_tokens"})
_WITHHELD = frozenset({"content_filter", "refusal", "safety"})


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
    for _ in range(2):  # one answer is a list, or a list of one
        reply = reply[0] if isinstance(reply, list) and reply else reply
    text = text_of(reply)
    if text is None:
        return f"{name}: the sample has no reply that is a text"
    return RecordedReply(ServerReply(Status.OK, text, None, None, None, None))


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
    refused = answer.get("isRefusal") is True or answer.get("finishReason") in _WITHHELD
    error = text_of(answer.get("error")) or (None if isinstance(output, str) else text_of(row.get("error")))
    if error and not refused:
        return f"{name}: {error.strip()[:500]}"
    text = text_of(output)
    if text is None and not refused:
        return f"{name}: the answer to {custom_id} is no text"
    status = Status.REFUSED if refused else Status.TRUNCATED if answer.get("finishReason") in _CUT else Status.OK
    usage = answer.get("tokenUsage") or row.get("tokenUsage")
    counts = usage if isinstance(usage, Mapping) else {}
    latency = row.get("latencyMs")
    return RecordedReply(
        ServerReply(
            status, text, None, count_of(counts.get("prompt")), count_of(counts.get("completion")),
            "The model declined." if refused else None,
        ),
        milliseconds(latency / 1000 if isinstance(latency, int | float) else None),
        content=custom_id.content,
    )  # fmt: skip


def _findings(path: Path) -> dict[str, Fact]:
    return {"record": path.name, "record_sha256": digest(path)}
