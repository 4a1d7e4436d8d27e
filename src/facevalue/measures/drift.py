"""Drift and wavering: whether a model answered the same questions differently at other times of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import scipy

from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.interval_method import IntervalKind, name_method, name_unmeasured
from facevalue.measures.sum_table import PART, SumTable
from facevalue.measures.uncertainty import Estimates

DRIFT = Measure(
    "drift", "Drift of the answers while the run lasted",
    "b = Σ_u x_u r_u / Σ_u x_u², x_u and r_u the means over a unit's answers of t - mean of t and y - mean of y, "
    "both within the same question; t in [0, 1] is the share of the run's answers that had come; b is cut at ±1",
    "probability", "unit asked together", "FaceValue", limits=(-1.0, 1.0),
)  # fmt: skip
WAVERING = Measure(
    "wavering", "Wavering of the answers while the run lasted",
    "sqrt(max(0, F - 1) k s² / Σ_u 1): the SD over the run of r_u as fitted by cos(π j t_u), j = 1 to k, without "
    "what chance adds; F tests all of them together, with r_u and t_u as of drift, s² the variance beside the fit",
    "probability", "unit asked together", "FaceValue", limits=(0.0, 1.0),
)  # fmt: skip
UNANSWERED = "no valid answer"
"""Score whose drift is that of missing answers; and why nothing can be said."""
MEASURES = (
    DRIFT,
    replace(
        DRIFT, title="Drift of the share of questions without a valid answer while the run lasted", score=UNANSWERED,
        equation="As drift, with y = 1 - mass: the chance that there is no valid answer, failed requests among them",
    ),
    WAVERING,
    replace(
        WAVERING, title="Wavering of the share of replies without a valid answer while the run lasted",
        equation="As wavering, with y = 1 - mass: the chance that a reply is no valid answer", score=UNANSWERED,
    ),
)  # fmt: skip
_LINE = name_method(IntervalKind.T, "least squares over units asked together")
_NONCENTRAL = name_method(IntervalKind.INVERSION, "noncentral F over units asked together")
AT_ONCE, ALIKE = "all answers came at one time", "no answers to one question differ"
FEW = "too few units asked together"
UNTIMED = "these answers had been recorded before, and when each was given is not known"
"""Why nothing can be said."""
_WAVES, _UNITS_EACH = 6, 4
"""Cosines that answers are fitted by, and units that there are for each at least."""
_UPPER = 0.99
"""Of the interval of a wavering, which is never below zero: below it ends where its test does."""
_SUMS = ("n", "mass", "answer", "time")


class Course:
    """What one model answered in the course of a run.

    Units are asked in an order drawn by seed, so their times are dealt at random whatever they are and whatever their
    answers share: times are what is randomised, units are what they are dealt to, so units are the clusters.

    Parameters
    ----------
    outcomes:
        By name, columns in [0, 1] whose mean is followed; null for answers of another kind.
    question:
        Columns that say what was asked.
    """

    def __init__(self, outcomes: Mapping[str, pl.Expr], question: Sequence[str]) -> None:
        self._outcomes = {**outcomes, UNANSWERED: 1 - pl.col("mass").fill_null(0.0)}
        self._question = list(question)
        self._cells = SumTable(["outcome", "question", "unit"], _SUMS, thinned=True)

    def take(self, answers: pl.DataFrame, unit: pl.Series, run_number: int = 0) -> None:
        """Take a chunk of answers with the column `at`, and the unit of each, of one of several parts of a run."""
        question = [pl.col(name).cast(pl.String) for name in self._question if name in answers.columns]
        keyed = answers.with_columns(
            unit.hash(2 * run_number).alias("unit"),
            pl.struct(*question, pl.lit(run_number).alias("(part)")).hash(1).alias("question"),
            pl.col("at").cast(pl.Int64).cast(pl.Float64).alias("at"),
        ).filter(pl.col("at").is_not_null())
        for name, outcome in self._outcomes.items():
            counted = pl.lit(1.0) if name == UNANSWERED else pl.col("mass")
            rows = keyed.select("unit", "question", "at", outcome.cast(pl.Float64).alias("y"), counted.alias("m"))
            rows = rows.filter(pl.col("y").is_not_null() & (pl.col("m") > 0))
            self._cells.add(
                rows.select(
                    "unit", "question", pl.lit(name).alias("outcome"), n=pl.lit(1.0), mass="m",
                    answer=pl.col("m") * pl.col("y"), time="at",
                )
            )  # fmt: skip

    def estimates(self, study: str, model: str) -> pl.DataFrame:
        """Drift and wavering of each outcome and of missing answers."""
        table = EstimateTable(study, model)
        cells = self._cells.frame()
        for name in self._outcomes:
            of_outcome = cells.filter(pl.col("outcome") == name) if cells.height else cells
            units = _by_unit(of_outcome) if of_outcome.height else UNANSWERED if cells.height else UNTIMED
            labels = {"score": [name]} if name else {}
            for measure, taken in ((DRIFT, _slope), (WAVERING, _waves)):
                estimates, p = _nothing(units) if isinstance(units, str) else taken(units)
                if self._cells.one_of > 1 and np.isfinite(estimates.value[0]):
                    estimates.method[0] += f", {PART}"
                table.add(measure, labels, replace(estimates, p=p))
        return table.frame()


@dataclass(frozen=True, slots=True)
class _Units:
    """Mean times and answers of units, both less the means of their questions."""

    time: Array
    answer: Array
    clock: Array
    """Mean time from 0 to 1."""
    free: float
    """Degrees of freedom of their mean."""
    n: int
    """Answers."""


def _by_unit(cells: pl.DataFrame) -> _Units | str:
    """Sum up units, all answers of one to a question at their mean time; or say why nothing can be said of them.

    Equation
    --------
    Of the answers i of unit u, weighing m: t_i is the share of all answers that had come; r_u = Σ m (y - ȳ_q) / Σ m,
    x_u = Σ m (t - t̄_q) / Σ m with the means of the question over all units. f: the units, less what the means of
    questions take up (for units that were all asked the same questions, one).
    """
    when = cells.with_columns(pl.col("time") / pl.col("n"), y=pl.col("answer") / pl.col("mass"))
    clock = when.group_by("time").agg(pl.col("n").sum()).sort("time")
    clock = clock.with_columns(t=(pl.col("n").cum_sum() - pl.col("n") / 2) / pl.col("n").sum())
    if clock.height < 2:
        return AT_ONCE
    when = when.join(clock.select("time", "t"), on="time", maintain_order="left")
    share = pl.col("mass") / pl.col("mass").sum().over("question")
    centred = when.with_columns(
        *((pl.col(c) - (share * pl.col(c)).sum().over("question")).alias(c) for c in ("t", "y")),
        share=share,
        clock=pl.col("t"),
    )
    weight = pl.col("mass") / pl.col("mass").sum()
    units = centred.group_by("unit", maintain_order=True).agg(
        x=(weight * pl.col("t")).sum(),
        clock=(weight * pl.col("clock")).sum(),
        r=(weight * pl.col("y")).sum(),
        taken=(weight * pl.col("share")).sum(),
        n=pl.col("n").sum(),
    )
    x, r = units["x"].to_numpy(), units["r"].to_numpy()
    free = float((1 - units["taken"]).sum())
    if free < 2 or float(x @ x) < 1e-12:
        return f"{FEW}: {units.height:,}"
    return _Units(x, r, units["clock"].to_numpy(), free, int(units["n"].sum()))


def _slope(units: _Units) -> tuple[Estimates, np.ndarray]:
    """Regress answers on time.

    Equation
    --------
    b = Σ x r / Σ x², se² = Σ (r - b x)² / ((f - 1) Σ x²), and t with f - 1 degrees of freedom.

    Notes
    -----
    Least squares need no more than that times are dealt to units at random (Freedman 2008, "On regression adjustments
    to experimental data": with one regressor that is dealt evenly, the usual standard error holds).
    """
    x, r, free = units.time, units.answer, units.free - 1
    total = float(x @ x)
    value = float(x @ r) / total
    squares = float(((r - value * x) ** 2).sum())
    if squares < 1e-24 * x.size:
        return _nothing(ALIKE)
    se = float(np.sqrt(squares / free / total))
    reach = float(scipy.stats.t.ppf(0.5 + LEVEL / 2, free)) * se
    estimates = Estimates(
        np.array([value]), np.array([value - reach]), np.array([value + reach]),
        np.array([units.n]), np.array([x.size]),
        np.array([_LINE], dtype=object), np.array([se]),
    )  # fmt: skip
    estimates.value.clip(-1.0, 1.0, out=estimates.value)  # as its interval is: of few answers a line leads beyond
    return estimates, np.array([2 * scipy.stats.t.sf(abs(value) / se, free)])


def _waves(units: _Units) -> tuple[Estimates, np.ndarray]:
    """Fit answers by slow waves of time.

    Equation
    --------
    F = Σ fit² / k / s², s² = Σ (r - fit)² / (f - k), k = min(6, f / 4); the interval holds the sizes w with
    F ~ F'(k, f - k; Σ_u w² / s²) above its 5th percentile from below and its 1st from above.

    Notes
    -----
    Cosines of half a wave to three waves: any slow change of a model, a straight line among them. Times are dealt to
    units at random, so that F holds its level whatever units are.
    """
    many = min(_WAVES, int(units.free) // _UNITS_EACH)
    if many < 2:
        return _nothing(f"{FEW}: {units.clock.size:,}")
    size = units.clock.size
    places = scipy.stats.rankdata(units.clock) / size
    waves = np.cos(np.pi * np.arange(1, many + 1) * (places[:, None] - 0.5 / size))
    waves, r = waves - waves.mean(axis=0), units.answer - units.answer.mean()
    fit = waves @ np.linalg.lstsq(waves, r, rcond=None)[0]
    free = units.free - many
    rest = float(((r - fit) ** 2).sum()) / free
    if rest < 1e-24:
        return _nothing(ALIKE)
    f = float(fit @ fit) / many / rest
    p = float(scipy.stats.f.sf(f, many, free))
    low, high = (
        0.0 if scipy.stats.f.cdf(f, many, free) <= share else float(scipy.special.ncfdtrinc(many, free, share, f))
        for share in (LEVEL, 1 - _UPPER)
    )
    value = max(f - 1, 0.0) * many
    value, low, high = (min(float(np.sqrt(x * rest / size)), 1.0) for x in (value, low, max(high, value)))
    estimates = Estimates(
        np.array([value]), np.array([low]), np.array([high]), np.array([units.n]), np.array([size]),
        np.array([_NONCENTRAL], dtype=object), np.array([np.nan]),
    )  # fmt: skip
    return estimates, np.array([p])


def _nothing(reason: str) -> tuple[Estimates, np.ndarray]:
    none, zero = np.array([np.nan]), np.zeros(1, dtype=np.int64)
    method = np.array([name_unmeasured(reason)], dtype=object)
    return Estimates(none, none, none, zero, zero, method, none), none
