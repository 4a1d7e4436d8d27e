"""Ratings by people, kept beside the answers, and reviews of a reader of replies against their label."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from facevalue.annotations.review_answers import SCHEMA as ANSWER_SCHEMA
from facevalue.annotations.review_answers import failed_checks
from facevalue.annotations.review_cards import Packet, checks_of, is_check
from facevalue.errors import DataError, RunError
from facevalue.measures.intervals import split_method
from facevalue.measures.judges import majority_category, reader_accuracy
from facevalue.measures.rater_agreement import all_agreements
from facevalue.measures.uncertainty import Estimates
from facevalue.parquet import parquet_bytes, read_metadata, read_table
from facevalue.seals import digest_of
from facevalue.store.files import make_folder, write_whole
from facevalue.store.lease import RunLock

RATINGS_FOLDER = Path("annotations", "ratings")
"""Where ratings lie in a run folder."""
RATINGS, REPLIES, FINDINGS = "ratings", "replies", "findings"
"""Of which kind ratings are: of a study's own statements and of pictures; of how replies are read; of findings."""
_RATINGS_SEAL = "facevalue.sha256"
_MOST = 200  # number of an answer


def keep(folder: Path, ratings: pl.DataFrame, kind: str = RATINGS) -> int:
    """Keep ratings in a run folder, in place of those by the same raters of the same packet; returns how many of these.

    A rater's name begins with the packet's (`annotations.review_answers`), so that packets stand beside each other.
    """
    with RunLock(folder):
        path, before = _ratings_path(folder, kind), _before(folder, kind)
        same = before["rater"].is_in(ratings["rater"].unique().to_list())
        make_folder(path.parent)
        rows = _complete_columns(pl.concat([before.filter(~same), _complete_columns(ratings)]))
        write_whole(path, parquet_bytes(rows, {_RATINGS_SEAL: _ratings_digest(rows)}))
        return int(same.sum())


def read_kept(folder: Path, kind: str = RATINGS) -> pl.DataFrame | None:
    """Read the ratings of a run folder, as `keep` takes them; None if there are none."""
    path = _ratings_path(folder, kind)
    if not path.is_file():
        return None
    again = "Give the raters' files to `facevalue review RUN --collect FILE` again."
    try:
        rows = _complete_columns(read_table(path))  # kept without durations before there were any
        if read_metadata(path).get(_RATINGS_SEAL, _ratings_digest(rows)) != _ratings_digest(rows):
            raise DataError("its content is not what was written")
    except (OSError, DataError, pl.exceptions.PolarsError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise RunError(f"{path} cannot be read: {reason}. {again}") from error
    sound = rows["rating"].is_between(1, _MOST).all() and not rows.select("rater", "item").is_duplicated().any()
    if not sound or sum(rows.drop("duration").null_count().row(0)):
        raise RunError(f"{path} holds no ratings from 1 on, one by each rater of an item. {again}")
    return rows


def kept_at(folder: Path, kind: str = RATINGS) -> int | None:
    """Time when ratings were last kept, in nanoseconds; None where there are none."""
    path = _ratings_path(folder, kind)
    return path.stat().st_mtime_ns if path.is_file() else None


def _ratings_path(folder: Path, kind: str) -> Path:
    return folder / RATINGS_FOLDER / f"{kind}.parquet"


def _ratings_digest(ratings: pl.DataFrame) -> str:
    """Digest of all ratings, whatever their file looks like."""
    return digest_of(ratings.write_json().encode())


def _complete_columns(ratings: pl.DataFrame) -> pl.DataFrame:
    """The columns that are kept; durations are unknown where there are none."""
    if "duration" not in ratings.columns:
        ratings = ratings.with_columns(duration=pl.lit(None, pl.Float64))
    return ratings.select(ANSWER_SCHEMA.names()).cast(ANSWER_SCHEMA)


def _before(folder: Path, kind: str) -> pl.DataFrame:
    """Ratings that are there; none where they are damaged: sealed anew they would pass for what raters gave."""
    try:
        rows = read_kept(folder, kind)
    except RunError:
        rows = None
    return pl.DataFrame(schema=ANSWER_SCHEMA) if rows is None else rows


# Keys of packets: what their items are, kept in the run and from those who review it, so that answers can be read.


FOLDER = Path("annotations", "reviews")
"""Where keys lie in a run folder."""
_TEXTS = pl.List(pl.String())
SCHEMA = pl.Schema(
    {
        "item": pl.String(), "choices": _TEXTS, "read": pl.String(), "labels": _TEXTS, "stratum": pl.String(),
        "trial": pl.UInt64(), "repeat": pl.Int64(),
    }
)  # fmt: skip
"""Items: answers that there are; what the reader (a parser, a judge) made of it, and the label that each answer stands
for ("" for none), where a reader is reviewed; its kind, of which the sample was drawn; and which reply it is."""
_FACTS, _SEAL = "facevalue.review", "facevalue.sha256"


@dataclass(frozen=True)
class ReviewKey:
    """Key of a packet: what is known of its items.

    Attributes
    ----------
    packet, task:
        Name of the packet, and what people do.
    items:
        A row per item (`SCHEMA`), checks of attention among them; of a reply that was drawn several times, or that
        several trials have alike, a row each time.
    sizes:
        How many there are of each kind, those that were not drawn included; empty where no reader is reviewed.
    of:
        What is reviewed, where that is not the whole of the run: "sorted" or "texts" to a name.
    """

    packet: str
    task: str
    items: pl.DataFrame
    sizes: Mapping[str, int] = field(default_factory=dict)
    of: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_packet(
        cls,
        packet: Packet,
        hidden: pl.DataFrame | None = None,
        sizes: Mapping[str, int] | None = None,
        of: Mapping[str, str] | None = None,
    ) -> "ReviewKey":
        """The key of a packet; `hidden`: what raters are not told, columns of `SCHEMA`."""
        checks = {q.item: q.choices for card in checks_of(packet) for q in card.questions}
        choices = {**packet.choices(), **checks}
        items = pl.DataFrame({"item": list(choices), "choices": [list(texts) for texts in choices.values()]})
        if hidden is not None:
            items = items.join(hidden, on="item", how="left", maintain_order="left")
        missing = [pl.lit(None, kind).alias(name) for name, kind in SCHEMA.items() if name not in items.columns]
        items = items.with_columns(missing).select(SCHEMA.names()).cast(SCHEMA)
        return cls(packet.name, packet.task, items, sizes or {}, of or {})

    def choices(self) -> dict[str, Sequence[str]]:
        """Answers that there are, by item."""
        return dict(self.items.select("item", "choices").iter_rows())


def keep_key(folder: Path, key: ReviewKey) -> None:
    """Keep the key of a packet in a run folder."""
    with RunLock(folder):
        path = _path(folder, key.packet)
        make_folder(path.parent)
        facts = json.dumps({"task": key.task, "sizes": dict(key.sizes), "of": dict(key.of)})
        write_whole(path, parquet_bytes(key.items, {_FACTS: facts, _SEAL: _digest(key.items, facts)}))


def read_key(folder: Path, packet: str) -> ReviewKey:
    """Read the key of a packet.

    Raises
    ------
    DataError
        The packet is not of this run.
    RunError
        The key was damaged.
    """
    path = _path(folder, packet)
    if not path.is_file():
        raise DataError(f"Packet {packet} is not of {folder}: collect its answers in the run that it was made of.")
    try:
        items, metadata = read_table(path).select(SCHEMA.names()).cast(SCHEMA), read_metadata(path)
        facts = metadata.get(_FACTS, "")
        if metadata.get(_SEAL) != _digest(items, facts):
            raise DataError("its content is not what was written")
        fields = json.loads(facts)
    except (OSError, ValueError, DataError, pl.exceptions.PolarsError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise RunError(f"{path} cannot be read: {reason}. The same `facevalue review` writes it again.") from error
    return ReviewKey(packet, fields["task"], items, fields["sizes"], fields["of"])


def _path(folder: Path, packet: str) -> Path:
    return folder / FOLDER / f"{packet}.parquet"


def _digest(items: pl.DataFrame, facts: str) -> str:
    return digest_of(items.write_json().encode() + facts.encode())


SEED = 20260
ALL = "all"
"""Label of what is said of all replies: the share that is read as most people do."""
_ACCURACY = pl.Schema(
    {
        "label": pl.String(), "measure": pl.String(), "value": pl.Float64(), "low": pl.Float64(),
        "high": pl.Float64(), "n": pl.Int64(), "method": pl.String(), "detail": pl.String(),
    }
)  # fmt: skip


@dataclass(frozen=True)
class CountedAnswers:
    """Answers that count.

    Attributes
    ----------
    answers:
        `rater`, `item`, `rating`, `duration`, without checks of attention.
    raters:
        A row per rater: `rater`, `answered`, `of` (items), `seconds` (null where nobody knows), `checks` of attention
        that they answered, `failed` of these, and whether the rater `counts`.
    """

    answers: pl.DataFrame
    raters: pl.DataFrame

    @property
    def notes(self) -> Iterator[str]:
        """Notes on raters who are left out, and on those who left items out."""
        for row in self.raters.iter_rows(named=True):
            rater = row["rater"].partition("-")[2] or row["rater"]  # after the name of the packet
            if not row["counts"]:
                yield (f"Left out: {rater}, who got {row['failed']} of {row['checks']} checks of attention wrong.")
            elif row["answered"] < row["of"]:
                yield f"{rater} answered {row['answered']:,} of {row['of']:,} questions."


def count_answers(answers: pl.DataFrame, choices: Mapping[str, Sequence[str]]) -> CountedAnswers:
    """Leave out checks of attention, and raters who got half of them wrong, or more."""
    is_checked = pl.col("item").is_in([item for item in choices if is_check(item)])
    size = sum(not is_check(item) for item in choices)
    per_rater = answers.group_by("rater", maintain_order=True).agg(
        answered=(~is_checked).sum(), of=pl.lit(size), seconds=pl.col("duration").max()
    )
    fails = (pl.col("checks") > 0) & (2 * pl.col("failed") >= pl.col("checks"))
    raters = per_rater.join(failed_checks(answers, choices), on="rater", maintain_order="left").with_columns(
        counts=~fails
    )
    counting = answers.filter(~is_checked).join(raters.filter("counts"), on="rater", how="semi", maintain_order="left")
    return CountedAnswers(counting, raters)


@dataclass(frozen=True)
class ReaderReview:
    """Agreement of a reader of replies with people.

    Attributes
    ----------
    agreement:
        Of people, by name of the coefficient.
    accuracy:
        A row per label and measure ("precision", "recall"; "accuracy" of `ALL`): `value`, `low`, `high`, `n`, `method`,
        `detail`.
    replies:
        A row per reply that was drawn: `item`, `trial`, `repeat`, `read`, `people` (the label that most give; null
        where there is none) and `raters`.
    unseen:
        Kinds of replies of which none counts, as none was drawn, holds words, or has a label that most people give;
        with how many replies of the run are of each. Precision and recall are those of all other kinds.
    """

    agreement: Mapping[str, Estimates]
    accuracy: pl.DataFrame
    replies: pl.DataFrame
    unseen: Mapping[str, int] = field(default_factory=dict)

    @property
    def undecided_replies(self) -> int:
        """Replies of which people give no label more often than others."""
        return int(self.replies["people"].null_count())

    @property
    def notes(self) -> Iterator[str]:
        """Notes on what precision and recall leave out."""
        if self.unseen:
            kinds = ", ".join(f"{kind} ({count:,})" for kind, count in self.unseen.items())
            yield (
                f"Accuracy, precision and recall are without {sum(self.unseen.values()):,} replies of kinds of which "
                f"none counts here: {kinds}."
            )


def reader_review(key: ReviewKey, answers: pl.DataFrame) -> ReaderReview:
    """Compare what a reader made of replies with what most people say.

    `answers`: those that count (`count_answers`). Replies were drawn by kind; precision and recall count each kind by
    how many replies it has. A rater who says that it cannot be told gives no label.
    """
    items = key.items.filter(pl.col("read").is_not_null())
    labels_of = dict(items.select("item", "labels").iter_rows())
    names = sorted({label for labels in labels_of.values() for label in labels if label} | set(items["read"]))
    code = {label: float(place) for place, label in enumerate(names)}
    place = {item: at for at, item in enumerate(labels_of)}
    raters = {rater: at for at, rater in enumerate(answers["rater"].unique(maintain_order=True))}
    table = np.full((max(len(raters), 1), len(place)), np.nan)
    for rater, item, rating in answers.select("rater", "item", "rating").iter_rows():
        if item in place:
            table[raters[rater], place[item]] = code.get(labels_of[item][rating - 1], np.nan)
    gold = majority_category(table)
    labels_given = {item: names[int(gold[at])] for item, at in place.items() if np.isfinite(gold[at])}
    counts = dict(zip(place, np.isfinite(table).sum(axis=0).tolist(), strict=True))
    replies = items.select("item", "trial", "repeat", "read", "stratum").with_columns(
        pl.col("item").replace_strict(labels_given, default=None, return_dtype=pl.String).alias("people"),
        pl.col("item").replace_strict(counts, default=0, return_dtype=pl.Int64).alias("raters"),
    )
    counting = replies.drop_nulls("people")
    accuracy, kinds = _accuracy(counting, key.sizes), set(counting["stratum"])
    unseen = {kind: size for kind, size in key.sizes.items() if kind not in kinds}
    return ReaderReview(all_agreements(table, SEED), accuracy, replies.drop("stratum"), unseen)


def _accuracy(replies: pl.DataFrame, sizes: Mapping[str, int]) -> pl.DataFrame:
    """Precision and recall by label, and the share that is read right of all."""
    strata = {stratum: at for at, stratum in enumerate(sizes)}
    stratum = replies["stratum"].replace_strict(strata, return_dtype=pl.Int64).to_numpy()
    weight = np.array(list(sizes.values()), dtype=np.float64)
    by_reader, people = replies["read"].to_numpy(), replies["people"].to_numpy()
    right = by_reader == people
    rows = list(_rows(ALL, ("accuracy",), reader_accuracy(np.ones_like(right), right, stratum, weight, SEED)))
    for label in sorted(set(by_reader) | set(people)):
        estimates = reader_accuracy(by_reader == label, people == label, stratum, weight, SEED)
        rows += _rows(str(label), ("precision", "recall"), estimates)
    return pl.DataFrame(rows, schema=_ACCURACY, orient="row")


def _rows(label: str, measures: Sequence[str], estimates: Estimates) -> Iterator[tuple[object, ...]]:
    for at, measure in enumerate(measures):
        ends = (
            float(end[at]) if np.isfinite(end[at]) else None for end in (estimates.value, estimates.low, estimates.high)
        )
        yield (label, measure, *ends, int(estimates.n[at]), *split_method(str(estimates.method[at])))


# How replies of a run were read, by the people who reviewed them: what its page says of the parser.


_NAME = 10  # characters of a packet's name, with which a rater's begins


class ReviewedReading(NamedTuple):
    """Share of replies that are read as most people read them, with its interval."""

    raters: int
    replies: int
    value: float
    low: float
    high: float


def reviewed_reading(folder: Path) -> ReviewedReading | None:
    """Review of the parser by people, from the packet with most answers; None where nobody reviewed replies."""
    ratings = read_kept(folder, REPLIES)
    if ratings is None:
        return None
    reviews = sorted(_of_parser(folder, ratings), key=lambda review: -review[1].height)
    for key, answers in reviews:
        row = reader_review(key, answers).accuracy.row(0, named=True)
        if row["value"] is not None:
            return ReviewedReading(answers["rater"].n_unique(), row["n"], row["value"], row["low"], row["high"])
    return None


def replies_by_people(folder: Path) -> dict[int, dict[int, Counter[str]]]:
    """Number of people who gave each reading of a reply, by trial and repeat; empty where nobody reviewed any."""
    ratings = read_kept(folder, REPLIES)
    counts: dict[int, dict[int, Counter[str]]] = {}
    for key, answers in () if ratings is None else _of_parser(folder, ratings):
        rows = key.items.drop_nulls("trial").join(answers, on="item").select("trial", "repeat", "choices", "rating")
        for trial, repeat, choices, rating in rows.iter_rows():
            if rating <= len(choices):
                counts.setdefault(trial, {}).setdefault(repeat, Counter())[choices[rating - 1]] += 1
    return counts


def _of_parser(folder: Path, ratings: pl.DataFrame) -> Iterator[tuple[ReviewKey, pl.DataFrame]]:
    """Packets of replies that the parser read, with the answers that are kept."""
    return ((key, answers) for key, answers in packets_of(folder, ratings) if not key.of)


def packets_of(folder: Path, ratings: pl.DataFrame) -> Iterator[tuple[ReviewKey, pl.DataFrame]]:
    """Packets that ratings are of, each with those that are of it."""
    packets = ratings["rater"].str.slice(0, _NAME)
    for packet in packets.unique(maintain_order=True):
        try:
            key = read_key(folder, packet)
        except DataError:
            continue  # its key is gone: what its items are is not known any more
        yield key, ratings.filter(packets == packet)


# Findings that people judged: stereotypes, sound inferences, or neither.


FINDING_KINDS = ("A stereotype", "A sound inference", "Neither")
"""What an association may be, by the words of the people who judge it."""
OF_PAGE = {"statements": "of the page"}
"""What keys of packets say that are about findings of the page, not about a study's own statements."""


def judged_findings(key: ReviewKey, answers: pl.DataFrame) -> pl.DataFrame:
    """Statements of a packet: `item`, `statement`, `raters`, how many said each kind, and what `most` of them said.

    `answers`: those that count. `most` is null where no kind was said more often than the others.
    """
    statements = key.items.drop_nulls("read").select("item", statement="read")
    counts = [(pl.col("rating") == number).sum().alias(kind) for number, kind in enumerate(FINDING_KINDS, start=1)]
    per_item = answers.group_by("item").agg(pl.len().alias("raters"), *counts)
    largest = pl.max_horizontal(FINDING_KINDS)
    alone = pl.sum_horizontal(pl.col(kind) == largest for kind in FINDING_KINDS) == 1
    kind = pl.coalesce(pl.when(pl.col(kind) == largest).then(pl.lit(kind)) for kind in FINDING_KINDS)
    judged = per_item.with_columns(pl.when(alone).then(kind).alias("most"))
    return statements.join(judged, on="item", how="left", maintain_order="left")


def reviewed_findings(folder: Path) -> pl.DataFrame | None:
    """Judgments of a run's findings by people, from the packet with most answers; None where nobody judged any."""
    ratings = read_kept(folder, FINDINGS)
    if ratings is None:
        return None
    reviews = [(key, answers) for key, answers in packets_of(folder, ratings) if key.of == OF_PAGE]
    if not reviews:
        return None
    return judged_findings(*max(reviews, key=lambda review: review[1].height)).drop_nulls("raters")
