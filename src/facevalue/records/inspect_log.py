"""Logs of Inspect (`.eval`, `.json`) as records, read without Inspect and as a stranger's file."""

import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import nan
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import pyarrow as pa

from facevalue.errors import DataError
from facevalue.models._chat import ServerReply, without_cut_thinking
from facevalue.models._recorded_answers import digest
from facevalue.models.inspect.providers import AskedModel
from facevalue.models.inspect.replies import PROBS, reply_of, text_said
from facevalue.printable import without_secrets
from facevalue.records.base import (
    Fact,
    Key,
    Record,
    RecordedReply,
    StudyAsked,
    checked_dict,
    checked_list,
    milliseconds,
    text_of,
)
from facevalue.servers.replies import is_refusal
from facevalue.store.manifest import RECORDED_BY
from facevalue.types import Status
from facevalue.untrusted_files import check_file, to_json

# Members of a zip file from strangers: sizes bounded, checksums compared, Zstandard read where Python cannot.


MEMBERS = 200_000
"""Most members of a file."""
_ZSTANDARD = 93  # method of compression that Inspect's logs have; Python knows it from 3.14 on
_WAYS = {ZIP_STORED: None, ZIP_DEFLATED: "deflate", _ZSTANDARD: "zstd"}
_HEAD = 30  # bytes of a member's own head before its name
_ENCRYPTED = 1
_MIB = 2**20


class Zipped:
    """A zip file whose members are read one at a time.

    Raises
    ------
    DataError
        It is no zip file, or has more than `MEMBERS` members.
    """

    def __init__(self, path: Path, noun: str) -> None:
        check_file(path, noun)
        self._path = path
        try:
            with ZipFile(path) as file:
                listed = file.infolist()
        except (BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise DataError(f"{path.name} is cut short or damaged: {error}.") from None
        if len(listed) > MEMBERS:
            raise DataError(f"{path.name} holds {len(listed):,} files; at most {MEMBERS:,} are read.")
        self.members: Mapping[str, ZipInfo] = {member.filename: member for member in listed}
        """By name; of several of one name the last, which replaced the others."""

    def content(self, name: str, limit: int) -> bytes:
        """Return what a member holds: at most `limit` bytes, whatever its head promises."""
        member, place = self.members[name], f"{self._path.name}, {name[:80]}"
        if member.compress_type not in _WAYS or member.flag_bits & _ENCRYPTED:
            raise DataError(f"{place} is compressed or encrypted in a way that is not read.")
        if member.file_size > limit:
            raise DataError(f"{place} is larger than {limit // _MIB} MiB, the most that is read of one.")
        try:
            with self._path.open("rb") as file:
                file.seek(member.header_offset)
                head = file.read(_HEAD)
                if head[:4] != b"PK\x03\x04" or len(head) < _HEAD:
                    raise DataError(f"{place} is cut short or damaged.")
                file.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
                packed = file.read(min(member.compress_size, limit + _MIB))
            data = _decompress(packed, _WAYS[member.compress_type], limit)
        except (OSError, ValueError, zlib.error, pa.ArrowException) as error:
            raise DataError(f"{place} is cut short or damaged: {str(error).splitlines()[0]}.") from None
        if len(data) != member.file_size or zlib.crc32(data) != member.CRC:
            raise DataError(f"{place} is cut short or damaged: its checksum is another one.")
        return data


def _decompress(packed: bytes, way: str | None, limit: int) -> bytes:
    """Decompress at most a byte more than the limit: enough to see that there is too much."""
    if way is None:
        return packed
    if way == "deflate":
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, limit + 1)
    with pa.CompressedInputStream(pa.BufferReader(packed), way) as stream:
        return bytes(stream.read(limit + 1))


ASKED, CONTENT, DRAWN = "facevalue", "facevalue_content", "facevalue_drawn"
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
_NUMBER = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)
_EPOCH = re.compile(r"[1-9]\d{0,2}", re.ASCII)


def inspect_log(path: Path) -> Record:
    """Open a log of one of FaceValue's tasks, a zip file.

    Raises
    ------
    DataError
        It is damaged, too large, of another format or of another task.
    """
    return _record(path, *_open_zip(path))


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
    study_asked = StudyAsked.from_document(metadata[ASKED], path.name)
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
        _places(path, samples),
        partial(_load_reply, path.name, AskedModel.of_provider(*model.partition("/")[::2]), _thinks(config)),
        study_asked,
        {name: config.get(name) for name in ("temperature", "top_p", "max_tokens")},
        findings,
    )


def _places(path: Path, samples: "Iterator[tuple[Key, Load]]") -> dict[Key, "tuple[Key, Load]"]:
    places: dict[Key, tuple[Key, Load]] = {}
    for key, load in samples:
        if key in places:
            raise DataError(f"{path.name}: a second answer to sample {key[0]}, epoch {key[1] + 1}.")
        places[key] = key, load
    return places


def _thinks(config: Mapping[str, Any]) -> bool:
    """Return whether the model was to think before it replied."""
    return config.get("reasoning_effort") not in (None, "none") or bool(config.get("reasoning_tokens"))


Load = Callable[[], Mapping[str, Any]]
"""A sample that is read when it is called for."""


def _open_zip(path: Path) -> tuple[Mapping[str, Any], Iterator[tuple[Key, Load]]]:
    file = Zipped(path, "a log of Inspect")
    name = next((name for name in (_HEADER, _STARTED) if name in file.members), None)
    if name is None:
        raise DataError(f"{path.name} is no log of Inspect: it has no {_HEADER}.")

    def sample(member: str) -> Mapping[str, Any]:
        return _parse_json(file.content(member, _MOST_SAMPLE), f"{path.name}, {member[:80]}")

    def samples() -> Iterator[tuple[Key, Load]]:
        for member in file.members:
            if member.startswith(_SAMPLES) and member.endswith(".json"):
                trial, _, epoch = member[len(_SAMPLES) : -len(".json")].rpartition("_epoch_")
                if (key := _key(trial, epoch)) is not None:
                    yield key, partial(sample, member)

    return _parse_json(file.content(name, _MOST_HEADER), f"{path.name}, {name}"), samples()


def _samples(path: Path, document: Mapping[str, Any]) -> Iterator[tuple[Key, Load]]:
    for sample in checked_list(document.get("samples") or [], f"{path.name}: its samples"):
        place = checked_dict(sample, f"{path.name}: a sample")
        if (key := _key(str(place.get("id")), str(place.get("epoch")))) is not None:
            yield key, partial(_return_sample, place)


def _return_sample(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    return sample


def _parse_json(data: bytes, place: str) -> Mapping[str, Any]:
    # Inspect writes NaN of scores that are none; nothing that is read here is a number that may be one.
    return checked_dict(to_json(data, place), place)


def _key(trial: str, epoch: str) -> Key | None:
    """Trial and repeat of a sample; None for one that has no number, which is none of ours."""
    return (int(trial), int(epoch) - 1) if _NUMBER.fullmatch(trial) and _EPOCH.fullmatch(epoch) else None


def _facts(spec: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Fact]:
    """Settings besides the study's own, the address of the model, and the solver used in place of ours.

    Inspect leaves out of a log what it knows for a key; whatever else has the name of one is left out here.
    """
    stated = {name: value for name, value in config.items() if name not in _OF_STUDY | _OF_TRANSPORT}
    stated |= {name: spec.get(name) or None for name in ("model_base_url", "model_args", "solver", "solver_args")}
    stated = without_secrets(stated)
    facts: dict[str, Fact] = {}
    for name, value in stated.items():
        if isinstance(value, str | int | float | bool):
            facts[name] = value[:_LONGEST_FACT] if isinstance(value, str) else value
        elif value is not None:
            facts[name] = json.dumps(value, sort_keys=True)[:_LONGEST_FACT]
    return facts


def _load_reply(log: str, asked: AskedModel, thinks: bool, place: tuple[Key, Load]) -> RecordedReply | str:
    key, load = place
    sample = load()
    if _key(str(sample.get("id")), str(sample.get("epoch"))) != key:
        raise DataError(f"{log}: sample {key[0]}, epoch {key[1] + 1} is filed under another number than its own.")
    if sample.get("invalidation") is not None:
        return f"{log}: the sample was invalidated."
    return recorded_reply(sample, log, asked, thinks=thinks)


def recorded_reply(
    sample: Mapping[str, Any], log: str, asked: AskedModel, *, thinks: bool = False
) -> RecordedReply | str:
    """Read the answer of a sample as a live run reads the provider's; or say why it has none.

    `log`: what the sample is of, for messages. `asked`: who was to answer. `thinks`: whether it was to think before.
    """
    if error := sample.get("error"):
        return _explain_unanswered(_message(error), log)
    if (limit := sample.get("limit")) is not None:  # what was said until then may be half of what our solver asks
        kind = text_of(limit.get("type")) if isinstance(limit, Mapping) else None
        return f"{log}: a limit ended the sample ({(kind or 'unnamed')[:40]})."
    output = sample.get("output")
    if not isinstance(output, Mapping) or not output.get("choices"):
        return _explain_unanswered(_provider_message(output), log)
    if problem := asked.another(output):
        return f"{log}: {problem}"
    attachments, metadata = (_mapping(sample.get(name)) for name in ("attachments", "metadata"))
    try:
        reply = reply_of(output, attachments=attachments)
    except ValueError as error:
        return f"{log}: {error}"
    return RecordedReply(
        without_cut_thinking(reply) if thinks else reply,
        milliseconds(output.get("time")),
        _probs(_mapping(output.get("metadata")).get(PROBS)),
        text_of(metadata.get(DRAWN)) or "",
        text_of(metadata.get(CONTENT)) or "",
        _prompt(sample.get("input"), attachments),
    )


def _explain_unanswered(reason: str, log: str) -> RecordedReply | str:
    """A sample without an answer: one that was declined, or why there is none."""
    if is_refusal(reason):
        return RecordedReply(ServerReply(Status.REFUSED, None, None, None, None, reason))
    return f"{log}: {reason}"


def _provider_message(output: object) -> str:
    """Message of the provider in place of an answer."""
    message = text_of(output.get("error")) if isinstance(output, Mapping) else None
    return (message or "the sample has no answer.").strip()[:500]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _message(error: object) -> str:
    text = text_of(error.get("message")) if isinstance(error, Mapping) else None
    return (text or "the sample failed").strip()[:500]


def _probs(value: object) -> tuple[float, ...] | None:
    if not isinstance(value, list) or not all(isinstance(p, int | float) and not isinstance(p, bool) for p in value):
        return None
    return tuple(float(p) if abs(p) <= 1 else nan for p in value)  # what is none is found where all replies are checked


def _prompt(messages: object, attachments: Mapping[str, Any]) -> str | None:
    """Last text that the model was told."""
    if isinstance(messages, str):
        return messages
    last = messages[-1] if isinstance(messages, list) and messages else None
    try:
        return text_said(last.get("content"), attachments) if isinstance(last, Mapping) else None
    except ValueError:
        return None
