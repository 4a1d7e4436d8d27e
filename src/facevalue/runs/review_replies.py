"""Replies before people who do not know how they were read: does the parser understand what the model says?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from facevalue.annotations.review_cards import CardQuestion, Packet, ReviewCard, item_id
from facevalue.answers.form_fields import READ_FIELDS, fields_read
from facevalue.design.sampling import mix
from facevalue.errors import DataError
from facevalue.runs.read_options import options_read_alike
from facevalue.runs.review_outcomes import ReviewKey
from facevalue.runs.stored_run import StoredRun, answers
from facevalue.store import read_responses
from facevalue.thinking import after_thinking
from facevalue.types import Question

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
