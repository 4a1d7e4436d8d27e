"""Runs that somebody else asks: files of requests to send, and a run folder of the answers that come back."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from facevalue import studies
from facevalue.design import Order
from facevalue.errors import DataError, SettingError, UnknownNameError
from facevalue.protocol.settings import defaults
from facevalue.protocol.study import Study
from facevalue.protocol.toml_tables import interventions_of
from facevalue.protocol.variants import add_interventions
from facevalue.records.base import Fact, Record, StudyAsked
from facevalue.records.batches import FORMS, CustomId, RequestForm
from facevalue.records.model import RecordModel
from facevalue.runs.checks import check_images, check_shown
from facevalue.runs.open_requests import Completion, RequestStream
from facevalue.runs.preparation import Prepared, model_in_path
from facevalue.runs.requests import RequestBuilder, TrialNumbers
from facevalue.runs.runner import begin_run
from facevalue.runs.settings import RunSettings, table_digest
from facevalue.servers.replies import checked_words
from facevalue.store.files import ASIDE, MANIFEST, PLACES, make_folder, unwritable
from facevalue.store.journal import recover
from facevalue.store.lease import RunLock
from facevalue.store.manifest import INTERVENTIONS, RECORDED_BY, RunManifest, read_manifest, write_manifest
from facevalue.types import STUDY_TEXT, Request, Sampling

_LONGEST = 300  # characters of a name
FOLDER = "requests"
"""Folder of a run in which its requests lie."""


@dataclass(frozen=True, slots=True)
class Requested:
    """Requests that were written for somebody else to ask, as `fv.write_requests` returns them.

    Examples
    --------
    >>> written = Requested(Path("runs/batch"), 1_500, (Path("runs/batch/requests/0.jsonl"),), answered=0)
    >>> f"{written.requests:,} requests in {len(written.files)} file"
    '1,500 requests in 1 file'
    """

    folder: Path
    """The run's, which waits for the answers."""
    requests: int
    """Requests written."""
    files: tuple[Path, ...]
    """In which they are."""
    answered: int
    """Requests of the run that have an answer already, and were not written again."""


def write_requests(
    study: Study, model: str, form: str, folder: Path, settings: RunSettings, max_tokens: int | None = None
) -> Requested:
    """Begin a run folder for answers that somebody else will bring, and write its open requests as files.

    A folder that is there goes on: what has an answer is not written again.

    Raises
    ------
    UnknownNameError, SettingError
        There is no such form, or it takes no such requests.
    RunError
        The folder was begun with other settings, for another tool, or is written by another process.
    """
    if form not in FORMS:
        raise UnknownNameError("form of requests", form, FORMS)
    if not model.strip() or len(model) > _LONGEST or not model.isprintable():
        raise SettingError(f"The name of the model that will be asked is a text of up to {_LONGEST} characters.")
    written = FORMS[form]
    check_shown(study)
    _check(study, written, form, settings)
    numbers = TrialNumbers(study.design.size)
    if settings.sample is not None:
        numbers = TrialNumbers.select(
            study.sample(settings.sample, settings.seed, 1 if settings.exact else study.repeats)
        )
    facts: dict[str, Fact] = {RECORDED_BY: written.tool} | ({} if max_tokens is None else {"max_tokens": max_tokens})
    facts |= {"structured": False} if study.draws.constrain and not settings.exact else {}
    with RunLock(folder):
        manifest = begin_run(study, model, facts, folder, settings)
        recover(folder, manifest.id)
        asking = RequestBuilder(study, settings.exact, manifest.asked_of)
        completion = Completion(numbers, asking.repeats, asking.rounds)
        completion.load(folder, manifest, study)
        write_manifest(folder, replace(manifest, counts=replace(manifest.counts, requests=completion.requests)))
        if settings.check:
            check_images(study, completion)
        order = Order(study.design, study.asked_together, settings.seed, numbers.chosen)
        stream = RequestStream(study, completion, asking, order, settings.chunk)
        write = partial(_write_request, written, model, max_tokens, manifest.asked_of)
        files = tuple(_files(written, stream, write, folder / FOLDER, form))
        if stream.failure is not None:
            raise stream.failure
        return Requested(folder, stream.planned, files, completion.count_stored())


def _check(study: Study, form: RequestForm, name: str, settings: RunSettings) -> None:
    if study.draws.reasks:
        raise SettingError(
            f"{study.name} with these settings asks again after a reply without an answer, which no file of requests "
            "does: 'facevalue run' asks it."
        )
    if settings.exact and not form.exact:
        raise SettingError(f"No probabilities come back in the form {name!r}: leave out --exact, or write openai.")


def _write_request(form: RequestForm, model: str, max_tokens: int | None, asked_of: int, request: Request) -> bytes:
    return form.write(model, request, max_tokens, CustomId.of_request(request, asked_of))


def _files(
    form: RequestForm, stream: RequestStream, write: Callable[[Request], bytes], folder: Path, name: str
) -> Iterator[Path]:
    """Write files one after the other, each as large as may be; those of an earlier time are replaced."""
    make_folder(folder)
    for old in folder.glob(f"{name}-*.{form.ending}"):
        old.unlink()
    current: _File | None = None
    number = 0
    for request in stream.requests(0):
        data = write(request)
        stream.close_requests(np.array([request.trial]), np.array([request.repeat]))  # forgotten: nothing answers here
        if current is not None and not current.takes(data):
            yield current.close()
            current = None
        if current is None:
            number += 1
            current = _File(folder / f"{name}-{number:03}.{form.ending}", form)
        current.add(data)
    if current is not None:
        yield current.close()


class _File:
    """A file of requests that is being written under a name aside."""

    def __init__(self, path: Path, form: RequestForm) -> None:
        self._path, self._form = path, form
        self._aside = path.with_name(f".{path.name}{ASIDE}")
        self._count = self._size = 0
        try:
            self._file = self._aside.open("wb")
        except OSError as error:
            raise unwritable(path, error) from error
        self._write(form.start)

    def takes(self, data: bytes) -> bool:
        """Return whether one more request fits."""
        return (
            self._count < self._form.most_requests and self._size + len(data) + len(self._form.end) <= self._form.size
        )

    def add(self, data: bytes) -> None:
        """Write a request."""
        self._write(self._form.between * bool(self._count) + data)
        self._count += 1

    def close(self) -> Path:
        """End the file, and give it its name."""
        self._write(self._form.end)
        try:
            self._file.close()
            self._aside.replace(self._path)
        except OSError as error:
            raise unwritable(self._path, error) from error
        return self._path

    def _write(self, data: bytes) -> None:
        try:
            self._size += self._file.write(data)
        except OSError as error:
            raise unwritable(self._path, error) from error


def asked_of(study: Study, settings: RunSettings) -> StudyAsked:
    """Description of a run's questions, so that somebody else may ask them."""
    return StudyAsked(
        study.name, study.version, study.options, study.design.size, table_digest(study),
        settings.sample, settings.seed, settings.exact,
    )  # fmt: skip


def asked_before(manifest: RunManifest) -> StudyAsked:
    """Study that a run folder says it asks."""
    return StudyAsked(
        manifest.study, manifest.study_version, manifest.options, manifest.trials, manifest.stimuli or "",
        manifest.sample, manifest.seed, manifest.exact,
    )  # fmt: skip


def study_asked(described: StudyAsked, place: str, *, outside: bool = False) -> Study:
    """Build the study that was asked.

    `described`: what is said of it. `place`: what says so, for messages. `outside`: whether it may name files and
    folders of this machine.

    Raises
    ------
    DataError
        There is no such study, it has another version now, or its pictures are others; or it names files.
    """
    options = {k: v for k, v in described.options.items() if k != INTERVENTIONS}
    try:
        protocol = studies.protocol_of_run(described.study, options)
    except UnknownNameError as error:
        raise DataError(f"{place}: {error}") from None
    empty = {setting.name for setting in protocol.settings if setting.default == ""}
    stated = defaults(protocol.settings) if STUDY_TEXT in options else {}  # a stranger's file may state paths, too
    paths = [
        f"{name} = {value}" for name, value in {**stated, **options}.items() if value and name in (*PLACES, *empty)
    ]
    if paths and not outside:
        raise DataError(
            f"{place} names files or folders of this machine ({'; '.join(paths)[:300]}). If these are yours: --outside."
        )
    study = add_interventions(studies.build(described.study, options), interventions_of(described.options))
    if study.version != described.version or study.design.size != described.trials:
        raise DataError(
            f"{place} was asked by version {described.version} of {described.study} ({described.trials:,} trials); "
            f"this FaceValue has version {study.version} ({study.design.size:,} trials). Use the one that asked."
        )
    if table_digest(study) != described.stimuli:
        raise DataError(
            f"{place} was asked about other pictures than {described.study} shows now: trial numbers would mean others."
        )
    return study


def by_run(records: Sequence[Record], out: Path, name: str | None = None) -> dict[Path, list[Record]]:
    """Sort records into runs, by who was asked what; of several runs each gets a folder below `out`.

    Raises
    ------
    SettingError
        One name for several runs.
    DataError
        One of several does not say what was asked.
    """
    groups: list[list[Record]] = []
    for record in records:
        group = next((g for g in groups if (g[0].model, g[0].study_asked) == (record.model, record.study_asked)), None)
        groups.append([record]) if group is None else group.append(record)
    if len(groups) == 1:
        return {out: groups[0]}
    if name is not None:
        raise SettingError(f"--name is for one run, and these are {len(groups)}: they are called by their models.")
    folders: dict[Path, list[Record]] = {}
    for group in groups:
        first = group[0]
        if first.study_asked is None:
            raise DataError(f"{first.path.name} does not say which study was asked: import it by itself.")
        folder = out / f"{first.study_asked.study}-{model_in_path(first.model)}"
        numbered = (folder.with_name(f"{folder.name}-{number}") for number in range(2, len(groups) + 2))
        folders[next(place for place in (folder, *numbered) if place not in folders)] = group
    return folders


def prepare_import(
    records: Sequence[Record],
    folder: Path,
    name: str | None = None,
    refusal_words: Sequence[str] = (),
    *,
    outside: bool = False,
    mismatched: bool = False,
) -> tuple[Prepared, RecordModel]:
    """Put together a run that takes its answers from records of one model, and the model that gives them.

    A folder that exists says what was asked; otherwise the records do. `mismatched`: whether answers by another model
    or to other seeds are taken.

    Raises
    ------
    DataError
        The records are about different things, or it is unknown about what.
    """
    first = records[0]
    begun = read_manifest(folder) if (folder / MANIFEST).exists() else None
    descriptions = [record.study_asked for record in records if record.study_asked is not None]
    described = descriptions[0] if descriptions else None if begun is None else asked_before(begun)
    if described is None:
        raise DataError(
            f"{first.path.name} does not say which study was asked: import it into the folder that "
            "'facevalue requests STUDY --out RUN' began."
        )
    if unlike := next((record for record in records if record.study_asked not in (None, described)), None):
        raise DataError(f"{unlike.path.name} was asked something else than {first.path.name}: another study or sample.")
    is_own = not descriptions  # what the user's folder was begun with, and no stranger's record, says what was asked
    study = study_asked(described, str(folder) if is_own else first.path.name, outside=outside or is_own)
    settings = RunSettings(
        sample=described.sample,
        seed=described.seed,
        exact=described.exact,
        max_invalid=1.0,
        sight=True,
        name=name or (begun and begun.name) or None,
    )
    facts = _facts(records, study.draws.sampling)
    if begun is not None and not descriptions:  # `requests` wrote down whom it asks, in which form
        form = begun.model_settings.get(RECORDED_BY)
        if unlike := next((record for record in records if record.facts[RECORDED_BY] != form), None):
            raise DataError(
                f"{unlike.path.name} is of {unlike.facts[RECORDED_BY]}, and {folder} was begun for "
                f"{form or 'a live model'}."
            )
        records = [replace(record, model=begun.model) for record in records]
        facts = dict(begun.model_settings)
    asked_hash = 0 if begun is None else begun.asked_of
    words = checked_words(refusal_words)
    model = RecordModel(records, facts, words, asked_of=asked_hash, mismatched=mismatched)
    return Prepared(study, folder, settings), model


def _facts(records: Sequence[Record], sampling: Sampling) -> dict[str, Fact]:
    """Facts that the records state about the model; the sampling must be the study's.

    A longer reply than the study's limit allows is no other question: models that think need it.
    """
    facts: dict[str, Fact] = {}
    for record in records:
        stated = {**record.facts, **_limit(record.sampling, sampling)}
        if record is not records[0] and stated != facts:
            raise DataError(
                f"{record.path.name} was recorded under other settings than {records[0].path.name}: import each into a "
                "run folder of its own."
            )
        facts = stated
        for name in ("temperature", "top_p"):
            value = record.sampling.get(name)
            if value is not None and value != getattr(sampling, name):
                raise DataError(
                    f"{record.path.name}: replies were drawn with {name} {str(value)[:20]}, and the study's is "
                    f"{getattr(sampling, name):g}. Ask with the study's, or set it as an option of the study."
                )
    return facts


def _limit(recorded: Mapping[str, object], sampling: Sampling) -> dict[str, Fact]:
    limit = recorded.get("max_tokens")
    return {"max_tokens": limit} if isinstance(limit, int) and limit != sampling.max_tokens else {}
