"""Requests of a run for somebody else to ask: a folder that is begun, and the files to send."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from facevalue.design import Order
from facevalue.errors import SettingError, UnknownNameError
from facevalue.protocol.study import Study
from facevalue.records.base import Fact
from facevalue.records.batches import FORMS, RequestForm
from facevalue.records.lines import CustomId
from facevalue.runs.checks import check_images, check_shown
from facevalue.runs.completion import Completion
from facevalue.runs.requests import RequestBuilder, TrialNumbers
from facevalue.runs.runner import begin_run
from facevalue.runs.settings import RunSettings
from facevalue.runs.stream import RequestStream
from facevalue.store.files import ASIDE, make_folder, unwritable
from facevalue.store.journal import recover
from facevalue.store.lease import RunLock
from facevalue.store.manifest import RECORDED_BY, write_manifest
from facevalue.types import Request

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
