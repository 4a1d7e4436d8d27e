"""Replies before people: does the parser understand the model, and how would people sort its texts?"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from facevalue.annotations.review_cards import CardQuestion, Packet, ReviewCard, item_id
from facevalue.answers.form_fields import READ_FIELDS, fields_read
from facevalue.answers.sorting import OPEN, Sorting
from facevalue.design.sampling import mix
from facevalue.errors import DataError, UnknownNameError
from facevalue.runs.judgments import (
    SCHEMA,
    Doubts,
    Judgment,
    JudgmentWriter,
    ReplyKind,
    judgment_files,
    read_judgments,
    read_rows,
)
from facevalue.runs.reviews.outcomes import ReviewKey
from facevalue.runs.stored_run import StoredRun, answers
from facevalue.store import read_responses
from facevalue.store.lease import RunLock
from facevalue.thinking import after_thinking
from facevalue.types import Question, Status

_EQUAL = 1e-6
_STATUSES = pl.Enum([status.value for status in Status])


def options_read_alike(
    run: StoredRun, rows: pl.DataFrame, questions: Sequence[Question], columns: Sequence[str]
) -> list[list[int]]:
    """Options that are read as the reply of each row was, by their places; none where there is no valid answer.

    An option is read as the study reads an answer with all probability on it.

    Parameters
    ----------
    run:
        The run whose study reads them.
    rows:
        Answers, with their `trial`.
    questions:
        What was asked, a question per row.
    columns:
        Columns that say what was answered, of which those with numbers are compared.
    """
    alike: list[list[int]] = [[] for _ in questions]
    places = [(row, option) for row, question in enumerate(questions) for option in range(len(question.options))]
    if not places:
        return alike
    at = [row for row, _ in places]
    certain = [[float(option == other) for other in range(len(questions[row].options))] for row, option in places]
    answered = run.study.answer(
        run.study.design.trials(rows["trial"].to_numpy().astype(np.int64)[at]).with_columns(
            pl.lit(0, pl.UInt8).alias("repeat"),
            pl.lit(Status.OK.value, _STATUSES).alias("status"),
            pl.lit(None, pl.String).alias("text"),
            pl.Series("probs", certain, pl.List(pl.Float32)),
        )
    )
    schema = answered.schema
    numbers = [name for name in columns if name in schema and (schema[name].is_numeric() or schema[name] == pl.Boolean)]
    if not numbers:
        return alike
    options, replies = (table.select(pl.col(numbers).cast(pl.Float64)).to_numpy() for table in (answered, rows[at]))
    is_said = ~np.isnan(options)
    same = (~is_said | (np.abs(options - replies) < _EQUAL)).all(axis=1) & is_said.any(axis=1)
    for place in np.flatnonzero(same & rows["na"].is_null().to_numpy()[at]):
        row, option = places[place]
        alike[row].append(option)
    return alike


# Samples for review: as many of each kind as of any other, so that rare kinds are among them, with their sizes.


STRATUM = "stratum"
"""Column of what is sampled that says of which kind a row is."""
_RANK = "_rank"
MOST_STRATA = 24
"""Kinds that are told apart; rarer ones than these are one more together."""
REST = "all others"


@dataclass
class StratifiedSample:
    """Rows of each kind with the least ranks, which follow from their number and a seed: a sample, drawn as rows come.

    Attributes
    ----------
    size:
        Rows wanted in all.
    seed:
        Draws the same ones again.
    counts:
        How many rows came of each kind.
    """

    size: int
    seed: int
    counts: dict[str, int] = field(default_factory=dict)
    _rows: pl.DataFrame | None = None

    def add(self, rows: pl.DataFrame, number: np.ndarray) -> None:
        """Take rows with a column `STRATUM`; `number`: a whole number that tells each from all others."""
        for stratum, count in rows.group_by(STRATUM).len().iter_rows():
            self.counts[stratum] = self.counts.get(stratum, 0) + count
        ranks = mix(number.astype(np.uint64) ^ np.uint64(self.seed * 2_654_435_761 % 2**64))
        ranked = rows.with_columns(pl.Series(_RANK, ranks, pl.UInt64))
        tables = [ranked] if self._rows is None else [self._rows, ranked]
        first = pl.concat(tables).sort(_RANK).group_by(STRATUM, maintain_order=True).head(self.size)
        self._rows = first.sort(_RANK)

    def draw_rows(self) -> tuple[pl.DataFrame, Mapping[str, int]]:
        """The rows that are drawn, and the number of rows of each kind that there are.

        Each kind has as many as any other, or all that it has; of kinds beyond `MOST_STRATA` the rarest are one kind.
        """
        if self._rows is None:
            return pl.DataFrame(), {}
        frequent = sorted(self.counts, key=lambda stratum: (-self.counts[stratum], stratum))[:MOST_STRATA]
        sizes = {stratum: self.counts[stratum] for stratum in frequent}
        if rest := sum(self.counts.values()) - sum(sizes.values()):
            sizes[REST] = rest
        kind = pl.when(pl.col(STRATUM).is_in(frequent)).then(pl.col(STRATUM)).otherwise(pl.lit(REST)).alias(STRATUM)
        rows = self._rows.with_columns(kind)
        quotas = sizes_by_kind(sizes, self.size)
        pieces = [rows.filter(pl.col(STRATUM) == stratum).head(count) for stratum, count in quotas.items()]
        return pl.concat(pieces).drop(_RANK), sizes


def sizes_by_kind(sizes: Mapping[str, int], size: int) -> dict[str, int]:
    """Number to draw of each kind: as many of each as of any other, or all that it has.

    Examples
    --------
    >>> sizes_by_kind({"yes": 900, "no": 500, "refused": 3}, 23)
    {'refused': 3, 'no': 10, 'yes': 10}
    """
    out: dict[str, int] = {}
    ascending = sorted(sizes, key=lambda stratum: (sizes[stratum], stratum))
    for place, stratum in enumerate(ascending):
        left = size - sum(out.values())
        out[stratum] = min(sizes[stratum], left // (len(ascending) - place))
    return out


NO_ANSWER, ANSWER, MISREAD = "no answer", "an answer", "another answer than was read"
"""Labels of replies beside the levels of options."""
FORM = "a form"
"""Kind of replies that fill in a form."""
_REASONS = ("It declines to answer", "It names several of them", "It names none of them", "Cannot be told")
_CONFIRMED = ("Yes", "No", "Cannot be told")
_SURROUNDING = ("repeat", "status", "text", "declined", "reply", "mass", "na", "note", "listed_first", "left_first")
"""Columns of answers that do not say what was answered."""
_LONGEST = 400  # characters of what a reply was read as
TITLE = "What does the reply say?"
INSTRUCTIONS = (
    "A program was asked questions about pictures, which you are not shown. Each page shows a question and the reply. "
    "Say which answer the reply gives; not which answer is right or kind, and not what you would say.",
    "A reply that names an option only to deny it does not give it. One that first declines and then answers all the "
    "same gives the answer that it ends with, unless it takes it back.",
)


@dataclass(frozen=True)
class ReviewedReply:
    """A reply that people are to read, and what the parser made of it.

    Attributes
    ----------
    prompt, reply:
        What was asked, and what the model said.
    choices, labels:
        Answers that people can give, and the label that each stands for; "" for none.
    label:
        The parser's label.
    question:
        What people are asked.
    """

    prompt: str
    reply: str
    choices: tuple[str, ...]
    labels: tuple[str, ...]
    label: str
    question: str

    @property
    def item(self) -> str:
        """Name of the item."""
        return item_id("r", (self.prompt, self.reply, self.question, *self.choices, *self.labels))


def reply_packet(run: StoredRun, size: int, seed: int) -> tuple[Packet, ReviewKey]:
    """Draw replies, as many of each kind of answer and of each reason for none, for people to read.

    Raises
    ------
    DataError
        The run holds no replies in words, or none that a question can be asked about.
    """
    if run.facts.exact:
        raise DataError(f"{run.place} holds probabilities of options (--exact): there are no replies to be read.")
    plain = run.plain()
    sample = StratifiedSample(size, seed)
    for chunk in answers(plain):
        rows = chunk.with_columns(_stratum(chunk))
        number = rows["trial"].cast(pl.UInt64).to_numpy() * np.uint64(256) + rows["repeat"].cast(pl.UInt64).to_numpy()
        sample.add(rows, number)
    rows, sizes = sample.draw_rows()
    replies = _review_questions(plain, rows)
    hidden: list[dict[str, Any]] = []
    cards: dict[str, ReviewCard] = {}
    for row, of_reply in zip(rows.select("trial", "reply", STRATUM).iter_rows(named=True), replies, strict=True):
        if not of_reply:
            continue
        texts = (("The question", of_reply[0].prompt), ("The reply", of_reply[0].reply))
        questions = tuple(CardQuestion(of.question, of.item, choices=of.choices) for of in of_reply)
        cards[of_reply[0].item] = ReviewCard(questions, texts)
        hidden += [
            {
                "item": of.item, "read": of.label, "labels": list(of.labels), "stratum": row[STRATUM],
                "trial": row["trial"], "repeat": row["reply"],
            }
            for of in of_reply
        ]  # fmt: skip
    if not cards:
        raise DataError(
            f"{run.place} ({run.study.name}): its replies are texts, of which no single answer is read. People sort "
            "them with --sorted NAME, as a judge does, or with --texts SCORER/LABEL, as a scorer does."
        )
    packet = Packet("parse", TITLE, INSTRUCTIONS, tuple(cards.values()), run.study.about.content_note)
    return packet, ReviewKey.of_packet(packet, pl.DataFrame(hidden), sizes)


def _stratum(chunk: pl.DataFrame) -> pl.Expr:
    """Kind of each answer: why there is none, or what it is, as far as every study says that."""
    valued = [name for name in ("choice", "value", "weight") if name in chunk.columns]
    valid = pl.coalesce([*(pl.col(name).cast(pl.String).str.head(60) for name in valued), pl.lit(ANSWER)])
    if READ_FIELDS in chunk.columns:
        valid = pl.when(pl.col(READ_FIELDS).is_not_null()).then(pl.lit(FORM)).otherwise(valid)
    missing = pl.lit(f"{NO_ANSWER}: ") + pl.col("na").cast(pl.String)
    return pl.when(pl.col("na").is_not_null()).then(missing).otherwise(valid).alias(STRATUM)


def _review_questions(run: StoredRun, rows: pl.DataFrame) -> list[tuple[ReviewedReply, ...]]:
    """Questions for people about each drawn reply: of a form about each field; none where nothing can be asked."""
    trials = rows["trial"].to_numpy().astype(np.int64)
    if not trials.size:
        return []
    factors = run.study.design.trials(trials)
    questions = run.study.ask(factors)
    columns = [name for name in rows.columns if name not in (*factors.columns, *_SURROUNDING, STRATUM)]
    options_alike = options_read_alike(run, rows, questions, columns)
    out: list[tuple[ReviewedReply, ...]] = []
    for row, question, options in zip(rows.iter_rows(named=True), questions, options_alike, strict=True):
        stored = read_responses(run.folder, row["trial"], row["trial"]).filter(pl.col("repeat") == row["reply"])
        text = after_thinking(stored["text"][0] or "") if stored.height else ""
        if not text.strip():
            out.append(())  # nothing was said: there is nothing to be read
        elif row.get(READ_FIELDS) is not None:
            out.append(tuple(_fields(question, text, row[READ_FIELDS])))
        else:
            reply = _reply(question, text, row, columns, options)
            out.append(() if reply is None else (reply,))
    return out


def _fields(question: Question, text: str, fields: str) -> Iterator[ReviewedReply]:
    """A question for each field of a form, with what was read."""
    for name, categories in fields_read(fields):
        words = ", ".join(categories)
        if len(words) > _LONGEST:
            continue
        labels = (ANSWER, MISREAD, "") if words else (NO_ANSWER, ANSWER, "")
        wording = f"“{name}” was read as: {words or 'nothing that counts'}. Is this what the reply says?"
        yield ReviewedReply(question.prompt, text, _CONFIRMED, labels, labels[0], wording)


def _reply(
    question: Question, text: str, row: dict[str, Any], columns: Sequence[str], alike: Sequence[int]
) -> ReviewedReply | None:
    """A question with the options that the model had, and where there are none, one that names what was read."""
    if question.options:
        choices = tuple(option.wording for option in question.options)
        labels = (*(option.level for option in question.options), NO_ANSWER, NO_ANSWER, NO_ANSWER, "")
        if row["na"] is not None or len(alike) == 1:
            label = NO_ANSWER if row["na"] is not None else question.options[alike[0]].level
            wording = "Which of these answers does the reply give?"
            return ReviewedReply(question.prompt, text, (*choices, *_REASONS), labels, label, wording)
    words = "no valid answer" if row["na"] is not None else _words(row, columns)
    if not words or len(words) > _LONGEST:
        return None
    labels = (NO_ANSWER, ANSWER, "") if row["na"] is not None else (ANSWER, MISREAD, "")
    wording = f"The reply was read as: {words}. Is this what it means?"
    return ReviewedReply(question.prompt, text, _CONFIRMED, labels, labels[0], wording)


def _words(row: dict[str, Any], columns: Sequence[str]) -> str:
    """Reading in words: the columns of the answer that are no share or weight of ours."""
    values = {name: row[name] for name in columns if row[name] is not None and not name.startswith("weight")}
    return "; ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in values.items()
    )


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


def keep_labels(run: StoredRun, name: str, ratings: pl.DataFrame) -> None:
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
