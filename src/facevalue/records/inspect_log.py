"""Logs of Inspect (`.eval`, `.json`) as records, read without Inspect and as a stranger's file."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from facevalue.errors import DataError
from facevalue.given import to_json
from facevalue.models._chat import ServerReply
from facevalue.models._recorded import digest
from facevalue.models._toplogprobs import read_positions
from facevalue.records.base import Fact, Key, Record, RecordedReply, StudyAsked
from facevalue.records.fields import checked_dict, checked_list, count_of, milliseconds, text_of
from facevalue.records.zipped import Zipped
from facevalue.store.manifest import RECORDED_BY
from facevalue.types import Status

ASKED, CONTENT, DRAWN, PROBS = "facevalue", "facevalue_content", "facevalue_drawn", "facevalue_probs"
"""What was asked, in a log's metadata; what each sample asked and why it was drawn, in its own; probabilities of the
options, in the metadata of an output."""
INSPECT = "Inspect"
_FORMAT = 2  # of logs
_HEADER, _STARTED, _SAMPLES = "header.json", "_journal/start.json", "samples/"
_MOST_HEADER = 64 * 2**20
_MOST_SAMPLE = 64 * 2**20
_LONGEST_FACT = 2_000
_OF_STUDY = frozenset({"temperature", "top_p", "max_tokens", "seed", "logprobs", "top_logprobs"})
_OF_TRANSPORT = frozenset({
    "max_retries", "timeout", "attempt_timeout", "max_connections", "adaptive_connections", "batch", "cache",
})  # fmt: skip
"""Settings of Inspect's that change nothing of what a model says."""
_ENDS = {
    "stop": Status.OK,
    "tool_calls": Status.OK,
    "max_tokens": Status.TRUNCATED,
    "model_length": Status.TRUNCATED,
    "content_filter": Status.REFUSED,
}


def inspect_log(path: Path) -> Record:
    """Open a log of one of FaceValue's tasks, a zip file.

    Raises
    ------
    DataError
        It is damaged, too large, of another format or of another task.
    """
    return _record(path, *_zipped(path))


def inspect_document(path: Path, document: Mapping[str, Any]) -> Record:
    """Open a log that is one JSON document, which has been read."""
    return _record(path, document, _samples(path, document))


def _record(path: Path, head: Mapping[str, Any], samples: "Iterator[tuple[Key, Load]]") -> Record:
    version = head.get("version")
    if version != _FORMAT:
        raise DataError(
            f"{path.name} has log format {str(version)[:20]}; {_FORMAT} is read: 'inspect log convert' writes it."
        )
    spec = checked_dict(head.get("eval"), f"{path.name}: the head of the log")
    task, model = text_of(spec.get("task")) or "", text_of(spec.get("model")) or ""
    metadata = spec.get("metadata")
    if not isinstance(metadata, Mapping) or ASKED not in metadata:
        raise DataError(
            f"{path.name} is a log of the task {task[:80]!r}, which is none of FaceValue's: 'inspect eval "
            "facevalue/STUDY' writes those that can be imported."
        )
    study_asked = StudyAsked.of(metadata[ASKED], path.name)
    plan = head.get("plan")
    config = {
        name: value
        for place in (spec.get("model_generate_config"), plan.get("config") if isinstance(plan, Mapping) else None)
        for name, value in checked_dict(place or {}, f"{path.name}: its settings").items()
        if value is not None
    }
    packages = spec.get("packages")
    findings: dict[str, Fact] = {"record": path.name, "record_sha256": digest(path)}
    findings |= {"log_status": text_of(head.get("status")) or "started"}
    if isinstance(packages, Mapping):
        findings |= {f"version_{name}"[:80]: text[:80] for name, text in packages.items() if isinstance(text, str)}
    return Record(
        path,
        model,
        {RECORDED_BY: INSPECT, **_facts(spec, config)},
        {key: (key, load) for key, load in samples},
        partial(_loaded, path.name),
        study_asked,
        {name: config.get(name) for name in ("temperature", "top_p", "max_tokens")},
        findings,
    )


Load = Callable[[], Mapping[str, Any]]
"""A sample that is read when it is called for."""


def _zipped(path: Path) -> tuple[Mapping[str, Any], Iterator[tuple[Key, Load]]]:
    file = Zipped(path, "a log of Inspect")
    name = next((name for name in (_HEADER, _STARTED) if name in file.members), None)
    if name is None:
        raise DataError(f"{path.name} is no log of Inspect: it has no {_HEADER}.")

    def sample(member: str) -> Mapping[str, Any]:
        return _parsed(file.content(member, _MOST_SAMPLE), f"{path.name}, {member[:80]}")

    def samples() -> Iterator[tuple[Key, Load]]:
        for member in file.members:
            if member.startswith(_SAMPLES) and member.endswith(".json"):
                trial, _, epoch = member[len(_SAMPLES) : -len(".json")].rpartition("_epoch_")
                if (key := _key(trial, epoch)) is not None:
                    yield key, partial(sample, member)

    return _parsed(file.content(name, _MOST_HEADER), f"{path.name}, {name}"), samples()


def _samples(path: Path, document: Mapping[str, Any]) -> Iterator[tuple[Key, Load]]:
    for sample in checked_list(document.get("samples") or [], f"{path.name}: its samples"):
        place = checked_dict(sample, f"{path.name}: a sample")
        if (key := _key(str(place.get("id")), str(place.get("epoch")))) is not None:
            yield key, partial(_same, place)


def _same(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    return sample


def _parsed(data: bytes, place: str) -> Mapping[str, Any]:
    # Inspect writes NaN of scores that are none; nothing that is read here is a number that may be one.
    return checked_dict(to_json(data, place), place)


def _key(trial: str, epoch: str) -> Key | None:
    """Trial and repeat of a sample; None for one that has no number, which is none of ours."""
    if not (trial.isdecimal() and epoch.isdecimal() and len(trial) < 19 and len(epoch) < 4 and int(epoch)):
        return None
    return int(trial), int(epoch) - 1


def _facts(spec: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Fact]:
    """What was set besides what the study says, where the model was reached, and what asked in place of our solver."""
    stated = {name: value for name, value in config.items() if name not in _OF_STUDY | _OF_TRANSPORT}
    stated |= {name: spec.get(name) or None for name in ("model_base_url", "model_args", "solver")}
    facts: dict[str, Fact] = {}
    for name, value in stated.items():
        if isinstance(value, str | int | float | bool):
            facts[name] = value[:_LONGEST_FACT] if isinstance(value, str) else value
        elif value is not None:
            facts[name] = json.dumps(value, sort_keys=True)[:_LONGEST_FACT]
    return facts


def _loaded(log: str, place: tuple[Key, Load]) -> RecordedReply | str:
    key, load = place
    sample = load()
    if _key(str(sample.get("id")), str(sample.get("epoch"))) != key:
        raise DataError(f"{log}: sample {key[0]}, epoch {key[1] + 1} is filed under another number than its own.")
    if sample.get("invalidation") is not None:
        return f"{log}: the sample was invalidated."
    return reply_of(sample, log)


def reply_of(sample: Mapping[str, Any], log: str) -> RecordedReply | str:
    """Read the answer of a sample; or say why it has none.

    `log`: what the sample is of, for messages.
    """
    if error := sample.get("error"):
        return f"{log}: {_message(error)}"
    output = sample.get("output")
    choices = output.get("choices") if isinstance(output, Mapping) else None
    if not isinstance(choices, list) or not choices:
        limit = sample.get("limit")
        kind = text_of(limit.get("type")) if isinstance(limit, Mapping) else None
        return f"{log}: a limit ended the sample ({kind[:40]})." if kind else f"{log}: the sample has no answer."
    assert isinstance(output, Mapping)
    place = f"{log}, sample {str(sample.get('id'))[:20]}"
    if fallback := output.get("fallback"):
        name = text_of(fallback.get("fallback_model")) if isinstance(fallback, Mapping) else None
        return f"{log}: another model than the one asked answered ({(name or 'unnamed')[:80]})."
    choice = checked_dict(choices[0], f"{place}: its choice")
    ended = text_of(choice.get("stop_reason")) or "unknown"
    if ended not in _ENDS:
        return f"{log}: the reply was broken off (stop_reason {ended[:40]!r})."
    attachments = sample.get("attachments")
    texts = attachments if isinstance(attachments, Mapping) else {}
    text = _text(checked_dict(choice.get("message"), f"{place}: its message").get("content"), texts)
    if text is None:
        raise DataError(f"{place}: its reply is no text.")
    status, note = _ENDS[ended], None
    if status is Status.REFUSED:
        note = (
            _why(choice.get("stop_details")) or text_of(output.get("error")) or "A content filter withheld the reply."
        )
    usage = output.get("usage")
    counts = usage if isinstance(usage, Mapping) else {}
    stated = sample.get("metadata")
    metadata = stated if isinstance(stated, Mapping) else {}
    output_metadata = output.get("metadata")
    try:
        positions = read_positions(choice.get("logprobs"))
    except ValueError as error:
        raise DataError(f"{place}: {error}.") from None
    return RecordedReply(
        ServerReply(
            status, text, positions, _prompt_tokens(counts), count_of(counts.get("output_tokens")), note,
            text_of(output.get("model")) or "",
        ),
        milliseconds(output.get("time")),
        _probs(output_metadata.get(PROBS) if isinstance(output_metadata, Mapping) else None),
        text_of(metadata.get(DRAWN)) or "",
        text_of(metadata.get(CONTENT)) or "",
        _prompt(sample.get("input"), texts),
    )  # fmt: skip


def _message(error: object) -> str:
    text = text_of(error.get("message")) if isinstance(error, Mapping) else None
    return (text or "the sample failed").strip()[:500]


def _why(details: object) -> str | None:
    return text_of(details.get("explanation")) if isinstance(details, Mapping) else None


def _prompt_tokens(counts: Mapping[str, Any]) -> int | None:
    """All of the prompt: Inspect counts apart what a cache had."""
    counted = [
        count_of(counts.get(name)) for name in ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
    ]
    return None if counted[0] is None else sum(count or 0 for count in counted)


def _probs(value: object) -> tuple[float, ...] | None:
    if not isinstance(value, list) or not all(isinstance(p, int | float) and not isinstance(p, bool) for p in value):
        return None
    return tuple(float(p) for p in value)


def _prompt(messages: object, texts: Mapping[str, Any]) -> str | None:
    """Last text that the model was told."""
    if isinstance(messages, str):
        return messages
    last = messages[-1] if isinstance(messages, list) and messages else None
    return _text(last.get("content"), texts) if isinstance(last, Mapping) else None


def _text(content: object, texts: Mapping[str, Any]) -> str | None:
    """Text of a message, what it thought before left out."""
    if isinstance(content, str):
        return _resolved(content, texts)
    if not isinstance(content, list):
        return None
    blocks = [block for block in content if isinstance(block, Mapping) and block.get("type") == "text"]
    lines = [text_of(block.get("text")) for block in blocks]
    return None if None in lines else "\n".join(_resolved(line, texts) for line in lines if line is not None)


def _resolved(text: str, texts: Mapping[str, Any]) -> str:
    """A text itself, where the log keeps it apart."""
    start = "attachment://"
    apart = texts.get(text[len(start) :]) if text.startswith(start) else None
    return apart if isinstance(apart, str) else text
