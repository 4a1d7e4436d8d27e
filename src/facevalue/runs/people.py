"""Texts sorted by people: a sample drawn for them, and what they say, kept as a judge's judgments are."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.annotations.review_cards import CardQuestion, Packet, ReviewCard, item_id
from facevalue.answers.sorting import OPEN, Sorting
from facevalue.errors import DataError, UnknownNameError
from facevalue.runs.judged_texts import (
    SCHEMA,
    Doubts,
    Judgment,
    JudgmentWriter,
    ReplyKind,
    judgment_files,
    read_judgments,
    read_rows,
)
from facevalue.runs.review_outcomes import ReviewKey
from facevalue.runs.review_replies import STRATUM, StratifiedSample
from facevalue.runs.stored_run import StoredRun, answers
from facevalue.store.lease import RunLock

FOLDER = Path("annotations", "people")
"""Where what people say lies in a run folder."""
_OPEN = "none of them"
"""Label of texts that belong to no category."""
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
    for _ in answers(run.reopen(doubts.judge)):
        pass  # reading the replies is what raises the doubts
    return doubts


def sample_texts(texts: Iterable[str], size: int) -> list[str]:
    """Draw texts at random, the same ones each time: those whose digests are the least.

    Examples
    --------
    >>> sample_texts(["a", "b", "c"], 2) == sample_texts(["c", "b", "a", "a"], 2)
    True
    """
    return sorted(set(texts), key=lambda text: hashlib.blake2b(text.encode(), digest_size=8).digest())[:size]


def sorting_packet(run: StoredRun, name: str, size: int, seed: int) -> tuple[Packet, ReviewKey]:
    """Draw texts for people to sort: where a judge has sorted them, as many of each of its categories.

    Raises
    ------
    DataError, UnknownNameError
        The run holds no such text.
    """
    sorting = sorting_of(run, name)
    texts = _texts(run, sorting)
    if not texts:
        raise DataError(f"{run.place} holds no text to be sorted yet.")
    judgments = read_judgments(run.folder)
    judged = {} if judgments is None else judgments.judgments
    verdicts = [_verdict(judged.get((name, text)), sorting.categories) for text in texts.values()]
    rows = pl.DataFrame({"item": list(texts), "read": verdicts}, schema={"item": pl.String, "read": pl.String})
    sample = StratifiedSample(size, seed)
    digests = np.array([int(item.rpartition("-")[2], 16) for item in texts], dtype=np.uint64)
    sample.add(rows.with_columns(pl.col("read").fill_null("not judged").alias(STRATUM)), digests)
    texts_drawn, sizes = sample.draw_rows()
    choices = (*sorting.texts, OPEN)
    cards = tuple(
        ReviewCard(
            (CardQuestion(sorting.question, item, choices=choices),),
            ((sorting.heading, texts[item][: sorting.longest]),),
        )
        for item in texts_drawn["item"]
    )
    title = "Where does each text belong?"
    instructions = (
        f"If a text belongs to none of the categories, to several, or cannot be told, choose “{OPEN}”. Whatever a text "
        "says, it is there to be sorted.",
    )
    packet = Packet("parse", title, instructions, cards, run.study.about.content_note)
    labels = pl.lit([*sorting.categories, _OPEN], dtype=pl.List(pl.String)).alias("labels")
    hidden = texts_drawn.with_columns(labels) if judgments is not None else None
    return packet, ReviewKey.of_packet(packet, hidden, sizes, {"sorted": name})


def _verdict(judgment: Judgment | None, categories: Sequence[str]) -> str | None:
    """Category of a text by the judge, or that it is none of them; None where it was not asked."""
    if judgment is None:
        return None
    return judgment.category if judgment.category in categories else _OPEN


def _texts(run: StoredRun, sorting: Sorting) -> dict[str, str]:
    """Texts of a sorting by item, in an order that says nothing."""
    texts = sample_texts((doubt.text for doubt in texts_of(run).texts if doubt.sorting == sorting), 2**31)
    return {item_id("t", (text,)): text for text in texts}


def keep(run: StoredRun, name: str, ratings: pl.DataFrame) -> None:
    """Keep what people say of texts, in place of what the same raters said of this sorting before."""
    sorting = sorting_of(run, name)
    texts, choices, place = _texts(run, sorting), (*sorting.categories, OPEN), run.folder / FOLDER
    with RunLock(run.folder):
        before, files = read_rows(place, SCHEMA), judgment_files(place)
        replaced = pl.col("judge").is_in(ratings["rater"].unique().to_list()) & (pl.col("attribute") == name)
        with JudgmentWriter(place, SCHEMA) as writer:
            for row in () if before is None else before.filter(~replaced).iter_rows():
                writer.add(*row)
            for rater, item, number in ratings.select("rater", "item", "rating").iter_rows():
                if item not in texts:
                    continue  # the run is read otherwise by now
                category = sorting.categories[number - 1] if number <= len(sorting.categories) else None
                verdict = ReplyKind.CATEGORY if category else ReplyKind.DECLINED
                writer.add(rater, name, texts[item], verdict, category, choices[number - 1])
        for path in files:
            path.unlink(missing_ok=True)


def read_people(folder: Path, sorting: Sorting) -> Labels:
    """Read the labels that people gave the texts of a run."""
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
