"""Run manifest (`run.toml`): settings, versions, progress and files of a run.

Its first line is the digest of all others, so that a flipped bit or a changed setting is seen before it is believed.
"""

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import chain, islice
from pathlib import Path
from typing import Any

import tomli_w

from facevalue.errors import DataError, RunError
from facevalue.seals import sealed, unsealed
from facevalue.store.files import MANIFEST, write_whole
from facevalue.store.sight import Sight, sight_document, sight_of_document
from facevalue.types import STUDY_TEXT, OptionValue, Sampling
from facevalue.untrusted_files import nearest, read_file, to_toml

FORMAT = 2
MAX_BYTES = 64 * 2**20
"""Largest `run.toml` that is read."""
INTERVENTIONS = "interventions"
"""Option that holds what was done to the requests besides: one JSON object each. In the file they are tables."""
_LISTED = 5
"""Runs of a folder that are named where it is none itself."""
CHOICES = "choices"
"""Option that holds what the user of a making chose: settings of the study that pictures are made for, NAME=VALUE."""
RECORDED_BY = "recorded_by"
"""Setting of a model that says who wrote its answers down; there where a run was not asked by FaceValue."""
_PACKAGES = ("facevalue", "numpy", "polars", "resvg-py")


def versions() -> dict[str, str]:
    """Versions of everything that could matter to a result."""
    installed = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of a run's requests when its last session ended or began; not updated in between."""

    requests: int = 0
    """Requests of the run: trials x repeats, without re-asks."""
    ok: int = 0
    """Stored with status ok, re-asks included; likewise the next three."""
    refused: int = 0
    """Stored as refused by the server or model."""
    truncated: int = 0
    """Stored as cut at the token limit."""
    errors: int = 0
    """Failed, and not answered since; asked again when the run is resumed."""
    prompt_tokens: int = 0
    """Tokens of all stored prompts, as far as the model says."""
    completion_tokens: int = 0
    """Tokens of all stored replies, as far as the model says."""


@dataclass(frozen=True, slots=True)
class Session:
    """One time the command of the run was given."""

    start: datetime
    """When it began, in UTC."""
    end: datetime | None
    """When it ended in an orderly way, also by an interrupt; None if it was killed or is still going on."""
    asked: int
    """Responses it stored."""
    versions: Mapping[str, str]
    """Versions of FaceValue, Python and the libraries that shape prompts and images."""
    findings: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    """What the model found out about itself while it was asked, such as how far a self-check differed."""


@dataclass(frozen=True, slots=True)
class RunManifest:
    """Content of `run.toml`, without secrets."""

    study: str
    """Name of the study."""
    study_version: int
    """Version of its declaration. Results of different versions are not mixed."""
    options: Mapping[str, OptionValue]
    """The user's choices from which the study was built."""
    trials: int
    """Trials of the whole design."""
    seeds: tuple[int, ...]
    """Sampling seeds of the protocol."""
    reasks: int
    """How often a reply without a valid answer is asked again."""
    sampling: Sampling
    """How replies are drawn."""
    model: str
    """Name of the model, as the user typed it."""
    model_settings: Mapping[str, str | int | float | bool]
    """What else changes what the model says, as its adapter states it."""
    exact: bool
    """Whether probabilities of the options were read instead of replies drawn."""
    sample: int | None
    """Requests wanted; None for the whole design."""
    seed: int
    """Seed of the sample."""
    start: datetime
    """When the run began, in UTC."""
    end: datetime | None
    """When every request had been asked; None until then."""
    counts: Counts
    """How far it got."""
    sessions: tuple[Session, ...]
    """Each time the run was started or resumed, oldest first."""
    preregistration: str | None = None
    """SHA-256 of what was declared before the run (`preregistration.toml` beside this file); None if nothing was."""
    id: str = ""
    """Random name of the run, which every shard of it holds."""
    asked_of: int = 0
    """Hash of the model's name and settings, a part of every request's hash."""
    stimuli: str | None = None
    """SHA-256 of `manifest.parquet`; None before it is written."""
    shards: tuple[str, ...] = ()
    """Names of the shards, in the order of storing. A last one may be missing here if the run was killed."""
    name: str = ""
    """What the run is called beside others; empty for the model's name. No part of any hash."""
    unit: int | None = None
    """Requests per unit of a run in object storage; None in a folder."""
    grown: tuple[int, ...] = ()
    """Samples of a run in object storage before it grew, smallest first: its units are cut from what each added."""
    stop_when: str = ""
    """Rule by which the run stops once enough is known (`StopRule.text`); empty for none. Its estimates then are those
    that hold at any time."""
    enough: str = ""
    """What was known when that rule ended the run, in a sentence; empty until then."""
    sight: Sight | None = None
    """Whether the model sees what it is shown, as far as was known before the first question; None where that is no
    question: nothing is shown, or the model says of itself what it sees."""

    @property
    def repeats(self) -> int:
        """Requests of each trial, re-asks left out."""
        return 1 if self.exact else len(self.seeds)

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens of all prompts and of all replies, those of the check of its sight among them."""
        sight = self.sight or Sight()
        return (
            self.counts.prompt_tokens + sight.prompt_tokens,
            self.counts.completion_tokens + sight.completion_tokens,
        )

    @property
    def replayed(self) -> bool:
        """True if the answers had been recorded before the run."""
        return self.model.startswith("replay/") or RECORDED_BY in self.model_settings


def differences(folder: RunManifest, request: RunManifest) -> list[str]:
    """Settings that differ, for people; versions, times and counts may.

    Examples
    --------
    >>> from dataclasses import replace
    >>> old = RunManifest("s", 1, {}, 9, (1,), 0, Sampling(0.2), "m", {}, False, None, 0, datetime.now(UTC), None,
    ...                   Counts(), ())
    >>> differences(old, replace(old, sampling=Sampling(0.7)))
    ['temperature: 0.2 in the folder, 0.7 asked']
    >>> faces = [replace(old, options={"choices": [f"faces={count}", "seed=1"]}) for count in (2, 3)]
    >>> differences(*faces)
    ['--faces: 2 in the folder, 3 asked']
    """
    stored, requested = dict(_settings(folder)), dict(_settings(request))
    names = [name for name in dict.fromkeys([*stored, *requested]) if stored.get(name) != requested.get(name)]
    if any(name != _TRIALS for name in names):  # which follow from the options
        names = [name for name in names if name != _TRIALS]
    if not (_SAMPLE_SEED in stored and _SAMPLE_SEED in requested):  # one asks about all, and draws no sample
        names = [name for name in names if name != _SAMPLE_SEED]
    if "model" in names:  # another one has settings of its own
        names = [name for name in names if not name.startswith("model ")]
    return [f"{name}: {_shown(name, stored)} in the folder, {_shown(name, requested)} asked" for name in names]


_TRIALS, _SAMPLE_SEED = "trials of the design", "sample seed"


def _settings(manifest: RunManifest) -> Iterator[tuple[str, object]]:
    yield "study", manifest.study
    yield "study version", manifest.study_version
    for name, value in manifest.options.items():
        if name == INTERVENTIONS and isinstance(value, list):
            for text in value:
                yield f"intervention {json.loads(text)['name']}", _digest(text)
            continue
        if name == STUDY_TEXT:
            yield "file of the study", _digest(str(value))
            continue
        if name == CHOICES and isinstance(value, list):
            for text in value:
                choice, _, chosen_value = str(text).partition("=")
                yield _option(choice), chosen_value
            continue
        yield _option(name), list(value) if isinstance(value, list | tuple) else value
    yield "model", manifest.model
    for name, setting in manifest.model_settings.items():
        yield f"model {name}", setting
    for option in fields(Sampling):
        if option.name not in manifest.options:
            yield option.name.replace("_", " "), getattr(manifest.sampling, option.name)
    yield "answers", "exact probabilities" if manifest.exact else "sampled replies"
    yield "sample", "the whole design" if manifest.sample is None else manifest.sample
    if manifest.sample is not None:
        yield _SAMPLE_SEED, manifest.seed
    if "seeds" not in manifest.options:
        yield "seeds", list(manifest.seeds)
    yield "re-asks", manifest.reasks
    yield _TRIALS, manifest.trials
    yield "pre-registration", manifest.preregistration or "none"
    yield "rule to stop by", manifest.stop_when or "none"


def _shown(name: str, settings: Mapping[str, object]) -> str:
    if name not in settings:
        return "nothing"
    value = settings[name]
    if isinstance(value, list):
        listed = [str(item) for item in value]
        return f"{', '.join(listed[:5])} ... {len(listed)} in all" if len(listed) > 6 else ", ".join(listed) or "none"
    return str(value) if value != "" else "none"


def _option(name: str) -> str:
    """A setting as on the command line."""
    return f"--{name.replace('_', '-')}"


def _digest(text: str) -> str:
    return f"one with the digest {hashlib.sha256(text.encode()).hexdigest()[:12]}"


def write_manifest(folder: Path, manifest: RunManifest) -> None:
    """Write `run.toml`, whole or not at all."""
    data = tomli_w.dumps(to_document(manifest)).encode()
    write_whole(folder / MANIFEST, sealed(data))


def to_document(manifest: RunManifest) -> dict[str, Any]:
    """The entries of `run.toml`."""
    sampling = {setting.name: getattr(manifest.sampling, setting.name) for setting in fields(Sampling)}
    counts = {count.name: getattr(manifest.counts, count.name) for count in fields(Counts)}
    options = dict(manifest.options)
    encoded = options.pop(INTERVENTIONS, [])
    interventions = (
        {INTERVENTIONS: [json.loads(text) for text in encoded]} if isinstance(encoded, list) and encoded else {}
    )
    document = {
        "format": FORMAT,
        "start": manifest.start,
        "end": manifest.end,
        "exact": manifest.exact,
        "sample": manifest.sample,
        "seed": manifest.seed,
        "preregistration": manifest.preregistration,
        "name": manifest.name or None,
        "id": manifest.id or None,
        "asked_of": f"{manifest.asked_of:016x}" if manifest.asked_of else None,
        "stimuli": manifest.stimuli,
        "shards": list(manifest.shards) or None,
        "unit": manifest.unit,
        "grown": list(manifest.grown) or None,
        "stop_when": manifest.stop_when or None,
        "enough": manifest.enough or None,
        "study": {
            "name": manifest.study,
            "version": manifest.study_version,
            "trials": manifest.trials,
            "seeds": list(manifest.seeds),
            "reasks": manifest.reasks,
            "sampling": sampling,
            "options": options,
            **interventions,
        },
        "model": {"name": manifest.model, "settings": dict(manifest.model_settings)},
        "counts": counts,
        "sight": sight_document(manifest.sight),
        "sessions": [
            without_none(
                {
                    "start": s.start,
                    "end": s.end,
                    "asked": s.asked,
                    "versions": dict(s.versions),
                    "findings": dict(s.findings) or None,
                }
            )
            for s in manifest.sessions
        ],
    }
    return without_none(document)


def without_none(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table without what is not known: TOML has no null."""
    return {name: value for name, value in table.items() if value is not None}


def _no_run(folder: Path) -> str:
    """Message for a folder that is no run's, with the folder that was probably meant."""
    if not folder.exists():
        is_number = str(folder).replace(".", "").isdigit()
        advice = ": give the folder or URL of a run or audit, not a number" if is_number else ""
        return f"There is no folder {folder}{advice}.{nearest(folder)}"
    if folder.suffix == ".zip" or (folder / "SHA256SUMS").exists():
        return f"{folder} is a pack, not the folder of a run: `facevalue pack --verify {folder}` checks it."
    message = f"{folder} is not the folder of a run: it has no {MANIFEST}."
    below = chain.from_iterable(folder.glob(f"{depth}/{MANIFEST}") for depth in ("*", "*/*"))
    runs = [str(path.parent) for path in islice(below, _LISTED + 1)]
    listed = ", ".join(sorted(runs)[:_LISTED]) + (" and more" if len(runs) > _LISTED else "")
    return f"{message} There are runs in it: {listed}." if runs else message


def read_manifest(folder: Path) -> RunManifest:
    """Read `run.toml`."""
    path = folder / MANIFEST
    if not path.exists():
        raise RunError(_no_run(folder))
    try:
        data = read_file(path, MAX_BYTES, "settings of a run")
        rest = unsealed(data, str(path))
        document = to_toml(rest, str(path))
    except DataError as error:
        raise RunError(str(error)) from None
    form = document.get("format")
    if form == FORMAT and rest is data:
        raise RunError(f"{path} lacks the digest in its first line: it was damaged or edited. Restore it from a copy.")
    return of_document(document, str(path))


def of_document(document: dict[str, Any], name: str) -> RunManifest:
    """Understand the entries of `run.toml`."""
    form = document.get("format")
    if form != FORMAT:
        raise RunError(f"{name} has format {form!r}; this FaceValue reads {FORMAT}. Use the one that wrote it.")
    try:
        return _parsed(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(f"{name} is not as FaceValue writes it ({type(error).__name__}: {error}).") from error


def _parsed(document: dict[str, Any]) -> RunManifest:
    study, model = document["study"], document["model"]
    options = dict(study["options"])
    if INTERVENTIONS in study:
        options[INTERVENTIONS] = [
            json.dumps(table, ensure_ascii=False, sort_keys=True) for table in study[INTERVENTIONS]
        ]
    return RunManifest(
        study=str(study["name"]),
        study_version=int(study["version"]),
        options=options,
        trials=int(study["trials"]),
        seeds=tuple(int(seed) for seed in study["seeds"]),
        reasks=int(study["reasks"]),
        sampling=Sampling(**study["sampling"]),
        model=str(model["name"]),
        model_settings=dict(model["settings"]),
        exact=bool(document["exact"]),
        sample=document.get("sample"),
        seed=int(document["seed"]),
        start=utc_time(document["start"]),
        end=utc_time(document["end"]) if "end" in document else None,
        counts=Counts(**document["counts"]),
        sessions=tuple(
            Session(
                start=utc_time(session["start"]),
                end=utc_time(session["end"]) if "end" in session else None,
                asked=int(session["asked"]),
                versions=dict(session["versions"]),
                findings=dict(session.get("findings", {})),
            )
            for session in document["sessions"]
        ),
        preregistration=document.get("preregistration"),
        id=str(document.get("id", "")),
        asked_of=int(document.get("asked_of", "0"), 16),
        stimuli=document.get("stimuli"),
        shards=tuple(map(str, document.get("shards", ()))),
        name=str(document.get("name", "")),
        unit=int(document["unit"]) if "unit" in document else None,
        grown=tuple(map(int, document.get("grown", ()))),
        stop_when=str(document.get("stop_when", "")),
        enough=str(document.get("enough", "")),
        sight=sight_of_document(document.get("sight")),
    )


def utc_time(value: object) -> datetime:
    """A time as a TOML document has it, in UTC."""
    if not isinstance(value, datetime):
        raise TypeError(f"{value!r} is not a time")
    return value.astimezone(UTC)
