"""Texts sorted by people: a sample drawn for them, and what they say, kept as a judge's judgments are."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.annotations.ratings import read_ratings
from facevalue.answers.sorting import OPEN, Sorting
from facevalue.errors import DataError, UnknownNameError
from facevalue.runs.judged import SCHEMA, Doubts, ReplyKind
from facevalue.runs.kept_judgments import JudgmentWriter, parts, read_rows
from facevalue.runs.stored import StoredRun, answers
from facevalue.store.lock import RunLock

FOLDER = Path("annotations", "people")
"""Where what people say lies in a run folder."""
MOST = 50
"""Texts that people sort, unless more are asked for."""
Labels = Mapping[str, Mapping[str, float]]
"""By rater the place of the category of each text; -1 where the rater names none."""


def sorting_of(run: StoredRun, name: str) -> Sorting:
    """A question to the judge of a run, by its name.

    Raises
    ------
    DataError, UnknownNameError
        The study asks a judge nothing, or nothing by this name.
    """
    sortings = {sorting.name: sorting for sorting in run.study.reading.sortings}
    if not sortings:
        raise DataError(f"{run.place} ({run.study.name}) has no texts that a judge sorts into categories of the study.")
    if name not in sortings:
        raise UnknownNameError("sorting", name, sortings)
    return sortings[name]


def texts_of(run: StoredRun) -> Doubts:
    """All texts of a run that a judge sorts, each once."""
    doubts = Doubts()
    for _ in answers(run.reopened(doubts.judge)):
        pass  # reading the replies is what raises the doubts
    return doubts


def sampled(texts: Iterable[str], size: int) -> list[str]:
    """Draw texts at random, the same ones each time: those whose digests are the least.

    Examples
    --------
    >>> sampled(["a", "b", "c"], 2) == sampled(["c", "b", "a", "a"], 2)
    True
    """
    return sorted(set(texts), key=lambda text: hashlib.blake2b(text.encode(), digest_size=8).digest())[:size]


def drawn(folder: Path, name: str, size: int = MOST) -> pl.DataFrame:
    """Texts for people, in an order that says nothing: `item`, `statement` (what the judge is shown), `text`."""
    run = StoredRun.open(folder)
    sorting = sorting_of(run, name)
    texts = sampled((doubt.text for doubt in texts_of(run).texts if doubt.sorting == sorting), size)
    if not texts:
        raise DataError(f"{folder} holds no text to be sorted yet.")
    items = [f"t-{hashlib.blake2b(text.encode(), digest_size=5).hexdigest()}" for text in texts]
    statements = [text[: sorting.longest] for text in texts]
    return pl.DataFrame({"item": items, "statement": statements, "text": texts})


def keep(folder: Path, name: str, paths: Sequence[Path]) -> tuple[int, int]:
    """Keep what people's files say, in place of what was kept of this sorting; returns raters and texts.

    Raises
    ------
    DataError
        A file holds no sorting of these texts, and where.
    """
    sorting = sorting_of(StoredRun.open(folder), name)
    items = drawn(folder, name, 2**31)
    choices = (*sorting.categories, OPEN)
    rated = read_ratings(paths, set(items["item"]), choices).join(items, on="item", how="left", maintain_order="left")
    place = folder / FOLDER
    with RunLock(folder):
        before, files = read_rows(place, SCHEMA), parts(place)
        with JudgmentWriter(place, SCHEMA) as writer:
            for row in () if before is None else before.filter(pl.col("attribute") != name).iter_rows():
                writer.add(*row)
            for rater, number, text in rated.select("rater", "rating", "text").iter_rows():
                category = sorting.categories[number - 1] if number <= len(sorting.categories) else None
                verdict = ReplyKind.CATEGORY if category else ReplyKind.DECLINED
                writer.add(rater, name, text, verdict, category, choices[number - 1])
        for path in files:
            path.unlink(missing_ok=True)
    return rated["rater"].n_unique(), rated["item"].n_unique()


def read_people(folder: Path, sorting: Sorting) -> Labels:
    """What people say of the texts of a run."""
    rows = read_rows(folder / FOLDER, SCHEMA)
    labels: dict[str, dict[str, float]] = {}
    if rows is None:
        return labels
    places = {category: float(at) for at, category in enumerate(sorting.categories)}
    of_sorting = rows.filter(pl.col("attribute") == sorting.name)
    for rater, text, category in of_sorting.select("judge", "text", "category").iter_rows():
        labels.setdefault(rater, {})[text] = places.get(category, -1.0)
    return labels


def table_of(labels: Labels, texts: Sequence[str]) -> np.ndarray:
    """Labels as an array of shape (raters, texts); NaN where a rater did not sort a text, or named no category."""
    table = np.array([[of_rater.get(text, np.nan) for text in texts] for of_rater in labels.values()])
    return np.where(table < 0, np.nan, table)
