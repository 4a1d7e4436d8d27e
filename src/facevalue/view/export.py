"""Export of the viewer: a folder that any static server shows, or, of small runs, one that opens from disk."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow.parquet as pq

from facevalue.errors import DataError, RunError, SettingError
from facevalue.places import is_url
from facevalue.printable import shell_command
from facevalue.protocol.variants import ConditionStimuli
from facevalue.report.formatting import quantity
from facevalue.runs.attention_maps import trials_with_maps
from facevalue.runs.pseudonyms import LEFT_OUT, Pseudonyms
from facevalue.runs.reply_counts import reply_text
from facevalue.runs.reviews.pictures import PICTURES
from facevalue.runs.storage.mirror import own_folder
from facevalue.runs.stored_run import StoredRun
from facevalue.stimuli.base import Kind
from facevalue.stimuli.images import FileSource
from facevalue.stimuli.manifest import public_images
from facevalue.stimuli.mixed_stimuli import MixedSource
from facevalue.store.files import make_folder, write_whole
from facevalue.types import Question
from facevalue.view.answer_index import AnswerIndex, Places, factor_names, index_of
from facevalue.view.answers import LONGEST, answers, factor_words, meanings, parse_replies, reason_of
from facevalue.view.cell import cell_of
from facevalue.view.compared_answers import compare, default_sides
from facevalue.view.documents import STATIC, built_file, plain, to_json
from facevalue.view.documents import page as page_html
from facevalue.view.estimates import page_of_rows, rows_of
from facevalue.view.head import head, lead, missing, profile
from facevalue.view.open_runs import OpenedRuns, RunState
from facevalue.view.pictures import list_pictures, picture_bytes
from facevalue.view.query import MOST_ROWS, Query
from facevalue.view.trial import JudgedReply, attention_notes, judgment_notes, picture_checks, sorted_texts

# Pictures of a run that may be shown to anybody: drawings, and those of which their list says so.


_LIST = "manifest"
"""Setting that names the list of pictures."""


class PublicPictures:
    """Pictures of a run that may be shown to anybody.

    FaceValue's own drawings may. Of others the list of pictures says so, in its column `public`, as it is now: a
    permission may be taken back after the run. The list is read beside the pictures that the user named, or where the
    settings of the run say that it lies.

    Parameters
    ----------
    run:
        The run.

    Raises
    ------
    DataError
        The list cannot be read.
    """

    def __init__(self, run: StoredRun) -> None:
        self._run = run
        source = run.study.source
        self._is_drawn = source.kind is Kind.ILLUSTRATED
        plain = source.plain if isinstance(source, ConditionStimuli) else source
        self._names_all = type(plain) in (FileSource, MixedSource)

    @cached_property
    def _images(self) -> set[str]:
        run, manifest = self._run, self._run.facts.options.get(_LIST)
        if not run.pictures_named or not isinstance(manifest, str) or is_url(manifest):
            return set()
        root = own_folder(run.facts.options)
        candidates = [] if root is None else [root / Path(manifest).name]
        path = next((path for path in (*candidates, Path(manifest)) if path.is_file()), None)
        return set() if path is None else public_images(path, root=root)

    def may_show(self, trial: str) -> bool:
        """Return whether all pictures of a trial may be shown.

        Where the levels of a trial do not name all that it shows, as when a base stands beside it, and of what is no
        trial, all pictures of the run must be such.
        """
        if self._is_drawn:
            return True
        design = self._run.study.design
        names = [name for name in PICTURES if name in design.columns]
        if not trial.isdigit() or not names or not self._names_all:
            listed = self._run.study.manifest
            return "image" in listed.columns and set(listed["image"]) <= self._images
        image_levels = design.trials([int(trial)], names).select(pl.col(names).cast(pl.String)).row(0)
        images = {image for image in image_levels if image is not None}
        return bool(images) and images <= self._images


ROWS = 5_000
"""Answers of a row group: what a browser fetches at a time."""
_EMBEDDED, _MOST_BYTES = 3_000, 12_000_000
"""Answers up to which the page holds its data itself, if these are no more bytes than that."""
_CELLS = 2_000
"""Estimates of a run that get a page of their own, the clearest first."""
_NO_NOTES: Mapping[str, str | None] = dict.fromkeys(("attention", "judged", "checks"))
_PICTURE_OF_TRIAL = re.compile(r"/\d+-\d+\.webp$")
_PICTURE = re.compile(r"picture/(\d+)/(asked|(?:attention-)?\d+)-(\d+)")


@dataclass(frozen=True)
class ExportedFolder:
    """Content of an exported folder. `note`: what was left out; empty for nothing."""

    page: Path
    pictures: int
    answers: int
    note: str = ""


class _Pictures:
    """Pictures of a folder, those of one stimulus once; what may not be shown, or cannot, is left out."""

    def __init__(self, runs: OpenedRuns, folder: Path, *, public: bool) -> None:
        self._states = {state.number: state for state in runs.states()}
        self._public = {number: PublicPictures(state.run) for number, state in self._states.items() if public}
        self._folder, self._written, self._hidden = folder, dict[str, str](), set[str]()
        self._names = {number: Pseudonyms.of_run(state.run) for number, state in self._states.items() if public}
        self._unnamed = 0

    @property
    def note(self) -> str:
        """Note on what was left out."""
        left_out, notes = len(self._hidden), []
        if left_out:
            of_all = left_out + sum(_PICTURE_OF_TRIAL.search(path) is not None for path in self._written.values())
            notes.append(
                f"{left_out:,} of {of_all:,} pictures are left out: nothing says that they may be shown to anybody, as "
                "the column `public` of their list can."
            )
        if any(self._names.values()):
            notes.append("Persons and files have numbers in place of names.")
        if self._unnamed:
            notes.append(f"{quantity(self._unnamed, 'reply that names', 'replies that name')} one left out.")
        return " ".join(notes)

    def without_names(self, value: Any, number: str = "") -> Any:
        """A document with numbers in place of names, of one run or all; none where the folder is not for everybody."""
        for of_run in [self._names[number]] if number in self._names else self._names.values():
            value = of_run.document(value)
        return value

    def reply(self, text: str, number: str) -> str:
        """A reply; that it is left out where it names somebody."""
        if number in self._names and self._names[number].names_one(text):
            self._unnamed += 1
            return LEFT_OUT
        return text

    @property
    def count(self) -> int:
        """Pictures that were written."""
        return sum(bool(path) for path in self._written.values())

    def place_pictures(self, value: Any) -> Any:
        """A document with its pictures as files of the folder; those that are not there are dropped."""
        if isinstance(value, dict):
            return {name: self.place_pictures(inner) for name, inner in value.items()}
        if isinstance(value, list):
            out = []
            for inner in value:
                if isinstance(inner, dict) and isinstance(inner.get("src"), str):
                    if path := self._file(inner["src"]):
                        out.append({**inner, "src": path})
                else:
                    out.append(self.place_pictures(inner))
            return out
        return value

    def _file(self, src: str) -> str:
        match = _PICTURE.fullmatch(src)
        if match is None:
            return ""
        state, name = self._states[match[1]], match[2]
        if name.isdigit():
            name = str(_first_alike(state, int(name)))
        path = f"picture/{match[1]}/{name}-{match[3]}.webp"
        if path in self._written:
            return self._written[path]
        if match[1] in self._public and not self._public[match[1]].may_show(name.rpartition("-")[2]):
            if name.isdigit():  # pictures of the first screen, and maps, are of trials that are counted
                self._hidden.add(path)
            return ""
        self._written[path] = ""
        with suppress(DataError, RunError):
            data = picture_bytes(state, f"{name}-{match[3]}")
            make_folder((self._folder / path).parent)
            write_whole(self._folder / path, data)
            self._written[path] = path
        return self._written[path]


def _first_alike(state: RunState, trial: int) -> int:
    """The first trial that was asked about what a trial shows."""

    def firsts() -> dict[int, int]:
        trials = index_of(state).trials
        numbers, places = np.unique(state.run.study.design.stimulus_numbers(trials), return_index=True)
        return dict(zip(numbers.tolist(), trials[places].tolist(), strict=True))

    number = int(state.run.study.design.stimulus_numbers([trial])[0])
    return state.make_once("first of each stimulus", firsts).get(number, trial)


def export_folder(runs: OpenedRuns, folder: Path, *, public: bool = False) -> ExportedFolder:
    """Write the viewer of some runs into a new folder.

    Parameters
    ----------
    runs:
        What is looked at.
    folder:
        A folder that is not there yet, or is empty.
    public:
        Whether only pictures are written that may be shown to anybody (`PublicPictures`).

    Raises
    ------
    RunError
        The folder holds something, or cannot be written.
    DataError
        The page of the viewer is missing from this installation.
    """
    if built_file("viewer.js") is None:
        raise DataError("The page of the viewer is missing from this installation (view/static/viewer.js).")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RunError(f"{folder} is not an empty folder: name another.")
    make_folder(folder)
    pictures = _Pictures(runs, folder, public=public)
    states = runs.states()
    size = sum(index_of(state).trial.size for state in states)
    html = _embed_data(runs, pictures) if size <= _EMBEDDED else ""
    if not html:
        html = page_html("folder")
        for state in states:
            _write_answers(folder / "data" / f"answers-{state.number}.parquet", _stored_answers(state, pictures))
        for name, make in _makers(runs, pictures):
            value = pictures.without_names(pictures.place_pictures(plain(make())))
            _write(folder / "data" / f"{name}.json", json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    for name in STATIC:
        if (data := built_file(name)) is not None:
            _write(folder / name, data)
    _write(folder / "index.html", html.encode())
    return ExportedFolder(folder / "index.html", pictures.count, size, pictures.note)


def _write(path: Path, data: bytes) -> None:
    make_folder(path.parent)
    write_whole(path, data)


def _embed_data(runs: OpenedRuns, pictures: _Pictures) -> str:
    """The page with all its data in it; empty where these are too many bytes."""
    answers_of = {
        f"rows-{state.number}": [row for rows in _stored_answers(state, pictures) for row in rows]
        for state in runs.states()
    }
    documents = {
        name: pictures.without_names(pictures.place_pictures(plain(make()))) for name, make in _makers(runs, pictures)
    }
    documents |= answers_of
    text = json.dumps(documents, ensure_ascii=False, allow_nan=False)
    return page_html("embedded", text) if len(text) <= _MOST_BYTES else ""


def _makers(runs: OpenedRuns, pictures: _Pictures) -> Iterator[tuple[str, Callable[[], Any]]]:
    states = runs.states()
    if len(states) > 1:
        with suppress(DataError, RunError):
            of_all = profile(runs)
            yield "profile", lambda: of_all
    sides = ",".join(state.number for state in states[:6]) if len(states) > 1 else default_sides(runs)
    with suppress(DataError, RunError, SettingError):  # there may be nothing to compare
        side_by_side = compare(runs, Query([("runs", sides), ("n", str(MOST_ROWS))], ("runs", "n"), ("F.",)))
        yield "compare", lambda: side_by_side
    for state in states:
        yield from _of_run(state)
    # after all pictures and replies, of which it says how many were left out
    yield "head", lambda: {**plain(head(runs)), "exported": True, "note": pictures.note or None}


def _of_run(state: RunState) -> Iterator[tuple[str, Callable[[], Any]]]:
    number, rows = state.number, rows_of(state)
    yield f"lead-{number}", lambda: lead(state)
    yield f"missing-{number}", lambda: missing(state)
    ordered = rows.by_clearness()
    yield f"estimates-{number}", lambda: page_of_rows(rows, ordered, ordered, 0, ordered.height)
    for key in ordered["key"].head(_CELLS):
        yield f"cells/{number}-{key}", lambda key=key: cell_of(state, key)  # type: ignore[misc]
    first = answers(state, Query([("n", "1")], ("n",), ("F.",)))
    command = f"{shell_command('show', state.run.folder.name)} --trial {{trial}}"  # the name alone: no place of ours
    yield f"answers-{number}", lambda: {"factors": first.factors, "facets": first.facets, "command": command}


def _stored_answers(state: RunState, pictures: _Pictures) -> Iterator[list[dict[str, Any]]]:
    """Answers in the order of trials, some at a time."""
    index = index_of(state)
    for places in _parts(index.trial, ROWS):
        yield list(_rows(state, index, places, pictures))


def _parts(trials: npt.NDArray[Any], size: int) -> Iterator[Places]:
    """Places in sorted trials, about so many at a time, those of a trial together.

    Examples
    --------
    >>> [places.tolist() for places in _parts(np.array([4, 4, 5, 5, 7]), 3)]
    [[0, 1, 2, 3], [4]]
    """
    stop = 0
    while (start := stop) < trials.size:
        last = trials[min(start + size, trials.size) - 1]
        stop = int(np.searchsorted(trials, last, side="right"))
        yield np.arange(start, stop)


def _rows(state: RunState, index: AnswerIndex, places: Any, pictures: _Pictures) -> Iterator[dict[str, Any]]:
    run, titles = state.run, state.titles
    rows, factors = parse_replies(run, index, places), run.study.design.trials(index.trials_of(places))
    questions, names = run.study.ask(factors), factor_names(run)
    counted = meanings(run, rows, questions)
    dicts = rows.to_dicts()
    of_trials = {trial: list(replies) for trial, replies in groupby(dicts, lambda row: int(row["trial"]))}
    texts = sorted_texts(state, index, places)
    for row, question, answer, refs in zip(dicts, questions, counted, list_pictures(state, factors), strict=True):
        options = [option.wording for option in question.options]
        probs = row["stored probs"]
        shares = [{"option": o, "share": p} for o, p in zip(options, probs, strict=False)] if probs else None
        of_row = plain(
            {
                "trial": row["trial"],
                "repeat": row["repeat"],
                "status": row["status"],
                "answer": answer,
                "why": reason_of(row, titles),
                "na": row["na"],
                "reply": pictures.reply(reply_text(row["stored text"], probs, question.options), state.number)[
                    :LONGEST
                ],
                "when": row["stored at"],
                "levels": to_json({name: str(row[name]) for name in names if row.get(name) is not None}),
                "factors": to_json(factor_words(row, names, titles)),
                "pictures": to_json(pictures.place_pictures(plain(list(refs)))),
                "prompt": question.prompt,
                "system": question.system,
                "options": to_json(options) if options else None,
                "probs": to_json(shares) if shares else None,
                **_notes(state, of_trials.pop(row["trial"], []), question, pictures, texts),
                "prompt_tokens": row["stored prompt_tokens"],
                "completion_tokens": row["stored completion_tokens"],
                "latency_ms": row["stored latency_ms"],
            }
        )
        yield pictures.without_names(of_row, state.number)


def _notes(
    state: RunState,
    replies: Sequence[Mapping[str, Any]],
    question: Question,
    pictures: _Pictures,
    texts: Mapping[int, Sequence[JudgedReply]],
) -> Mapping[str, str | None]:
    """Notes of others on a trial, which stand beside the first of its replies."""
    if not replies:
        return _NO_NOTES
    trial, mapped = replies[0]["trial"], state.make_once("trials with maps", lambda: trials_with_maps(state.run.folder))
    notes = {
        "attention": pictures.place_pictures(plain(attention_notes(state, trial, question))) if trial in mapped else [],
        "judged": plain(tuple(judgment_notes(state, trial, replies, texts.get(trial, ())))),
        "checks": plain(picture_checks(state, replies[0])),
    }
    return {name: to_json(value) if value else None for name, value in notes.items()}


_SCHEMA: Mapping[str, pl.DataType] = {
    "trial": pl.Int64(), "repeat": pl.Int32(),
    **dict.fromkeys(("status", "answer", "why", "na", "reply", "when", "levels", "factors", "pictures", "prompt",
                     "system", "options", "probs", *_NO_NOTES), pl.String()),
    "prompt_tokens": pl.Int64(), "completion_tokens": pl.Int64(), "latency_ms": pl.Float64(),
}  # fmt: skip


def _write_answers(path: Path, chunks: Iterator[list[dict[str, Any]]]) -> None:
    """Write answers as Parquet of which ranges can be read: a row group for each chunk."""
    make_folder(path.parent)
    schema = pl.DataFrame(schema=_SCHEMA).to_arrow().schema
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for rows in chunks:
            writer.write_table(pl.DataFrame(rows, schema=_SCHEMA).to_arrow().cast(schema))
