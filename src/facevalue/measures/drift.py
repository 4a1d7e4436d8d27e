"""Drift and wavering: whether a model answered the same questions differently at other times of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.interval_method import IntervalKind, name_method, name_unmeasured
from facevalue.measures.shares import groups, level_codes
from facevalue.measures.sum_table import PART, UnitTable
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
_DECIMALS = 12  # of a time from 0 to 1: what differs by rounding alone is one time
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
        self._cells = UnitTable(["outcome", "question"], _SUMS)

    def take(self, answers: pl.DataFrame, unit: pl.Series, run_number: int = 0) -> None:
        """Take a chunk of answers with the column `at`, and the unit of each, of one of several parts of a run."""
        timed = answers.with_columns(unit.alias("(unit)"), pl.col("at").cast(pl.Int64).cast(pl.Float64))
        code = pl.col("(unit)").hash(2 * run_number)
        timed = timed.filter(pl.col("at").is_not_null() & (code % self._cells.one_of == 0))
        question = [name for name in self._question if name in answers.columns]
        asked, first_rows = groups(np.zeros(timed.height, np.int64), *(level_codes(timed[name]) for name in question))
        cell, first = groups(level_codes(timed["(unit)"]), asked)
        question_key = pl.struct(
            *(pl.col(name).cast(pl.String) for name in question), pl.lit(run_number).alias("(part)")
        )
        names = timed[first_rows].select(question_key.hash(1).cast(pl.String).cast(pl.Categorical)).to_series()
        cells = timed[first].select(code.alias("unit"), names[asked[first]].alias("question"))
        for name, outcome in self._outcomes.items():
            mass = pl.lit(1.0) if name == UNANSWERED else pl.col("mass").cast(pl.Float64)
            rows = timed.select(outcome.cast(pl.Float64).alias("y"), mass.alias("m"), "at")
            y, m, at = (rows[column].to_numpy() for column in ("y", "m", "at"))
            valid = np.isfinite(y) & (m > 0)
            y, m = np.where(valid, y, 0.0), np.where(valid, m, 0.0)
            sums = dict(zip(_SUMS, (valid, m, m * y, valid * at), strict=True))
            columns = {column: pl.Series(np.bincount(cell, x)) for column, x in sums.items()}
            self._cells.add(cells.with_columns(outcome=pl.lit(name), **columns).filter(pl.col("n") > 0))

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
    n, mass = cells["n"].to_numpy(), cells["mass"].to_numpy()
    when, at = np.unique(cells["time"].to_numpy() / n, return_inverse=True)
    if when.size < 2:
        return AT_ONCE
    come = np.bincount(at, n)
    clock = ((np.cumsum(come) - come / 2) / come.sum())[at]
    unit = level_codes(cells["unit"].rank("dense")) - 1
    question = level_codes(cells["question"])
    share, weight = (mass / _sums(by, mass)[by] for by in (question, unit))

    def centred(values: Array) -> Array:
        """Mean over a unit's answers of what they differ by from the means of their questions."""
        return _sums(unit, weight * (values - _sums(question, share * values)[question]))

    x, r = centred(clock), centred(cells["answer"].to_numpy() / mass)
    free = float((1 - _sums(unit, weight * share)).sum())
    if free < 2 or float(x @ x) < 1e-12:
        return f"{FEW}: {x.size:,}"
    return _Units(x, r, _sums(unit, weight * clock), free, int(n.sum()))


def _sums(by: npt.NDArray[np.int64], values: Array) -> Array:
    return np.bincount(by, values).astype(np.float64, copy=False)


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
    reach = float(scipy.special.stdtrit(free, 0.5 + LEVEL / 2)) * se
    p = float(2 * scipy.special.stdtr(free, -abs(value) / se))
    limits = value - reach, value + reach
    return _entered(np.clip(value, -1.0, 1.0), *limits, units, _LINE, se, p)  # a line through few answers leads beyond


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
    places = pl.Series(units.clock.round(_DECIMALS)).rank().to_numpy() / size
    waves = np.cos(np.pi * np.arange(1, many + 1) * (places[:, None] - 0.5 / size))
    waves, r = waves - waves.mean(axis=0), units.answer - units.answer.mean()
    fit = waves @ np.linalg.lstsq(waves, r, rcond=None)[0]
    free = units.free - many
    rest = float(((r - fit) ** 2).sum()) / free
    if rest < 1e-24:
        return _nothing(ALIKE)
    f = float(fit @ fit) / many / rest
    p = float(scipy.special.fdtrc(many, free, f))
    low, high = (
        0.0 if scipy.special.fdtr(many, free, f) <= share else float(scipy.special.ncfdtrinc(many, free, share, f))
        for share in (LEVEL, 1 - _UPPER)
    )
    value = max(f - 1, 0.0) * many
    value, low, high = (min(float(np.sqrt(x * rest / size)), 1.0) for x in (value, low, max(high, value)))
    return _entered(value, low, high, units, _NONCENTRAL, np.nan, p)


def _entered(
    value: float, low: float, high: float, units: _Units, method: str, se: float, p: float
) -> tuple[Estimates, Array]:
    methods = np.array([method], dtype=object), np.array([se])
    counts = np.array([units.n]), np.array([units.time.size])
    return Estimates(np.array([value]), np.array([low]), np.array([high]), *counts, *methods), np.array([p])


def _nothing(reason: str) -> tuple[Estimates, np.ndarray]:
    none, zero = np.array([np.nan]), np.zeros(1, dtype=np.int64)
    method = np.array([name_unmeasured(reason)], dtype=object)
    return Estimates(none, none, none, zero, zero, method, none), none
