"""What people say of a reader of replies: a parser or a judge, against the label that most of them give."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from facevalue.annotations.review_answers import failed_checks
from facevalue.annotations.review_cards import is_check
from facevalue.measures.intervals import split_method
from facevalue.measures.judges import majority_category, reader_accuracy
from facevalue.measures.rater_agreement import all_agreements
from facevalue.measures.uncertainty import Estimates
from facevalue.runs.review_keys import ReviewKey

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
        """Who is left out and who left things out, in words."""
        for row in self.raters.iter_rows(named=True):
            rater = row["rater"].partition("-")[2] or row["rater"]  # after the name of the packet
            if not row["counts"]:
                yield (f"Left out: {rater}, who got {row['failed']} of {row['checks']} checks of attention wrong.")
            elif row["answered"] < row["of"]:
                yield f"{rater} answered {row['answered']:,} of {row['of']:,} questions."


def counted(answers: pl.DataFrame, choices: Mapping[str, Sequence[str]]) -> CountedAnswers:
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
    """How a reader fares against people.

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
    def undecided(self) -> int:
        """Replies of which people give no label more often than others."""
        return int(self.replies["people"].null_count())

    @property
    def notes(self) -> Iterator[str]:
        """What precision and recall leave out, in words."""
        if self.unseen:
            kinds = ", ".join(f"{kind} ({count:,})" for kind, count in self.unseen.items())
            yield (
                f"Accuracy, precision and recall are without {sum(self.unseen.values()):,} replies of kinds of which "
                f"none counts here: {kinds}."
            )


def reader_review(key: ReviewKey, answers: pl.DataFrame) -> ReaderReview:
    """Compare what a reader made of replies with what most people say.

    `answers`: those that count (`counted`). Replies were drawn by kind; precision and recall count each kind by how
    many replies it has. A rater who says that it cannot be told gives no label.
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
