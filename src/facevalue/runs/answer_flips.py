"""Answers that flipped between two runs: how many, beside chance, which, and all of them as a file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.errors import DataError
from facevalue.measures.answer_matches import (
    IDENTICAL_SUMS,
    IdenticalAnswers,
    chance_agreement,
    identical_answers,
    pair_agreement,
    reading_counts,
    repeat_agreement,
)
from facevalue.measures.cells import unit_of
from facevalue.measures.paired_changes import JACKKNIFE_GROUPS
from facevalue.protocol.kept_answers import SEED
from facevalue.protocol.sampled_units import COLUMNS, Groups
from facevalue.runs.answer_pairs import AnswerPairs, AnswerSide

MOST_LISTED = 24
"""Flips that are listed as the most telling ones."""
_OF_ONE_QUESTION = 4
_VALID = pl.all_horizontal(pl.col("reading", "reading_2").is_not_null())
_PLACES = ("trial", "trial_2", "reply", "reply_2")


@dataclass(frozen=True, slots=True)
class AnswerFlips:
    """Single answers of two runs to the same trials, compared."""

    unit: str
    """What was sampled."""
    units: int
    exact: bool
    """Whether probabilities were read, so that an answer is the likeliest option."""
    trials: int
    """Pairs of valid answers to one trial under one seed."""
    flipped: int
    """How many of them differ."""
    lost: int
    gained: int
    """Answers that only the first run, and only the second, gave."""
    shares: IdenticalAnswers
    chance: float
    """Share of identical answers had they nothing to do with the picture; NaN where no question is asked twice."""
    telling: pl.DataFrame
    """The most telling flips: `trial`, `trial_2`, `reply`, `reply_2`, `seed`, `shift` (how far the chances of answers
    to this trial lie apart, 0 to 1), `rare` (share of the second answer among the first run's to this question)."""


@dataclass(frozen=True, slots=True)
class ComparedAnswers:
    """Answers of two runs, and the flips among them while the files last that they wait in."""

    flips: AnswerFlips
    pairs: AnswerPairs

    def all_flips(self) -> Iterator[pl.DataFrame]:
        """All flips, part by part, in the order of trials."""
        for rows in self.pairs:
            yield _flipped(rows, exact=self.pairs.exact).select(*_PLACES, "seed", "shift").sort("trial", "seed")


def compared_answers(first: AnswerSide, second: AnswerSide, folder: Path) -> ComparedAnswers:
    """Compare single answers of two runs of one study, or of its interventions; `folder`: where they wait.

    Raises
    ------
    DataError
        Runs whose single answers cannot be compared.
    """
    pairs = AnswerPairs(first, second, folder)
    if not any(rows.select(_VALID.any()).item() for rows in pairs):
        raise DataError("No trial has a valid answer of both runs: single answers are not compared.")
    groups, codes = _groups(pairs)
    layers = [layer for layer, _ in groups.layers]
    sums = [dict.fromkeys(IDENTICAL_SUMS, 0.0) for _ in range(1 + len(layers))]
    lost = gained = flipped = 0
    first_counts: list[pl.DataFrame] = []
    second_counts: list[pl.DataFrame] = []
    question_counts: list[pl.DataFrame] = []
    for rows in pairs:
        lost += rows.filter(pl.col("reading").is_not_null(), pl.col("reading_2").is_null()).height
        gained += rows.filter(pl.col("reading").is_null(), pl.col("reading_2").is_not_null()).height
        valid = rows.filter(_VALID).with_columns(same=pl.col("reading") == pl.col("reading_2"))
        flipped += valid.height - int(valid["same"].sum())
        _add(sums, valid, _drawn(valid, exact=pairs.exact), groups)
        first_counts.append(valid.group_by("question", "reading").len("count"))
        second_counts.append(valid.group_by("question", reading="reading_2").len("count"))
        question_counts.append(valid.group_by("question").agg(pl.len().alias("n"), pl.col("same").sum()))
    firsts, seconds = (_summed(tables, "question", "reading") for tables in (first_counts, second_counts))
    of_questions = _summed(question_counts, "question")
    unit = unit_of(first.plain.estimates.measures)
    shares = identical_answers(sums, layers, codes.size, unit)
    flips = AnswerFlips(
        unit, int(codes.size), pairs.exact, int(sums[0]["n"]), flipped, lost, gained, shares,
        chance_agreement(firsts, seconds, of_questions), _telling(pairs, firsts, of_questions),
    )  # fmt: skip
    return ComparedAnswers(flips, pairs)


def _groups(pairs: AnswerPairs) -> tuple[Groups, np.ndarray]:
    """What was sampled, dealt into groups, and its codes."""
    distinct = pl.concat([rows.select(COLUMNS).unique() for rows in pairs]).unique().to_numpy()
    return Groups([np.unique(distinct, axis=0)], JACKKNIFE_GROUPS, SEED, pairs.names.ranks()), np.unique(distinct)


def _summed(tables: Sequence[pl.DataFrame], *by: str) -> pl.DataFrame:
    return pl.concat(tables).group_by(by).agg(pl.all().sum())


def _drawn(valid: pl.DataFrame, *, exact: bool) -> pl.DataFrame:
    """A row per trial: the chances that draws agree, within either run and between them, and its units."""
    if exact:
        return valid.select(
            *COLUMNS, within_first=pair_agreement("probs", "probs"), within_second=pair_agreement("probs_2", "probs_2"),
            between=pair_agreement("probs", "probs_2"),
        )  # fmt: skip
    return repeat_agreement(valid).join(valid.unique("key").select("key", *COLUMNS), on="key").drop("key")


def _add(sums: Sequence[dict[str, float]], valid: pl.DataFrame, drawn: pl.DataFrame, groups: Groups) -> None:
    """Add what rows sum to, in all and without each group."""
    for at, total in enumerate(sums):
        rows, draws = valid, drawn
        if at:
            rows, draws = (table.filter(groups.kept(table, at - 1)) for table in (valid, drawn))
        total["n"] += rows.height
        total["same"] += int(rows["same"].sum())
        first, second, between = (float(draws[name].sum()) for name in ("within_first", "within_second", "between"))
        total["within_first"] += first
        total["within_second"] += second
        total["between"] += between
        total["within"] += (first + second) / 2
        for name in ("n_first", "n_second", "n_between"):
            total[name] += draws.height


def _flipped(rows: pl.DataFrame, *, exact: bool) -> pl.DataFrame:
    """Flips among pairs of answers, with how far the chances of answers lie apart."""
    valid = rows.filter(_VALID)
    if exact:
        flips = valid.filter(pl.col("reading") != pl.col("reading_2"))
        return flips.with_columns(
            shift=(pl.col("probs") - pl.col("probs_2")).list.eval(pl.element().abs()).list.sum() / 2
        )
    c, d = pl.col("count_first"), pl.col("count_second")
    apart = reading_counts(valid).group_by("key").agg(shift=(c - d).abs().sum() / (c + d).sum())
    return valid.filter(pl.col("reading") != pl.col("reading_2")).join(apart, on="key")


def _telling(pairs: AnswerPairs, firsts: pl.DataFrame, of_questions: pl.DataFrame) -> pl.DataFrame:
    """The most telling flips: of the trials whose answers moved furthest, to answers that were rarest before.

    A few of each question; what is alike in all of this is taken as if by lot.
    """
    shares = firsts.join(of_questions.select("question", "n"), on="question").select(
        "question", reading_2="reading", rare=pl.col("count") / pl.col("n")
    )
    best: pl.DataFrame | None = None
    for rows in pairs:
        flips = _flipped(rows, exact=pairs.exact).unique("key", maintain_order=True)
        flips = flips.join(shares, on=["question", "reading_2"], how="left", maintain_order="left")
        flips = flips.select(
            *_PLACES, "seed", "question", "shift", pl.col("rare").fill_null(0.0), lot=pl.col("key").hash(1)
        )
        joined = flips if best is None else pl.concat([best, flips])
        ordered = joined.sort(-pl.col("shift").round(6), "rare", "lot")
        best = ordered.group_by("question", maintain_order=True).head(_OF_ONE_QUESTION)
        best = best.sort(-pl.col("shift").round(6), "rare", "lot").head(MOST_LISTED).select(joined.columns)
    assert best is not None
    return best.drop("question", "lot")
