"""Drift: whether a model answered the same questions differently at the end of a run than at its beginning."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import scipy

from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import LEVEL, Estimates
from facevalue.measures.estimates import NOT_MEASURABLE, EstimateTable
from facevalue.measures.sum_table import PART, SumTable

DRIFT = Measure(
    name="drift",
    title="Drift of the answers while the run lasted",
    equation=(
        "b = Σ_u x_u r_u / Σ_u x_u², x_u and r_u the means over a unit's answers of t - mean of t and y - mean of y, "
        "both within the same question; t in [0, 1] is the share of the run's answers that had come; b is cut at ±1"
    ),
    unit="probability",
    cluster="unit asked together",
    source="FaceValue",
    limits=(-1.0, 1.0),
)
DRIFT_MISSING = Measure(
    name="drift_missing",
    title="Drift of the share of replies without a valid answer while the run lasted",
    equation="As drift, with y = 1 - mass: the chance that a reply is no valid answer",
    unit="probability",
    cluster="unit asked together",
    source="FaceValue",
    limits=(-1.0, 1.0),
)
MEASURES = (DRIFT, DRIFT_MISSING)
AT_ONCE, ALIKE = "all answers came at one time", "no answers to one question differ"
FEW = "too few units asked together"
"""Why nothing can be said although there are times."""
_MISSING = "(missing)"
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
        self._outcomes = {**outcomes, _MISSING: 1 - pl.col("mass")}
        self._question = list(question)
        self._cells = SumTable(["outcome", "question", "unit"], _SUMS, thinned=True)

    def take(self, answers: pl.DataFrame, unit: pl.Series, run_number: int = 0) -> None:
        """Take a chunk of answers with the column `at`, and the unit of each, of one of several parts of a run."""
        question = [pl.col(name).cast(pl.String) for name in self._question if name in answers.columns]
        keyed = answers.with_columns(
            unit.hash(2 * run_number).alias("unit"),
            pl.struct(*question, pl.lit(run_number).alias("(part)")).hash(1).alias("question"),
            pl.col("at").cast(pl.Int64).cast(pl.Float64).alias("at"),
        ).filter(pl.col("at").is_not_null() & (pl.col("status") != "error"))
        for name, outcome in self._outcomes.items():
            counted = pl.lit(1.0) if name == _MISSING else pl.col("mass")
            rows = keyed.select("unit", "question", "at", outcome.cast(pl.Float64).alias("y"), counted.alias("m"))
            rows = rows.filter(pl.col("y").is_not_null() & (pl.col("m") > 0))
            sums = rows.group_by("unit", "question").agg(
                n=pl.len().cast(pl.Float64), mass=pl.col("m").sum(),
                answer=(pl.col("m") * pl.col("y")).sum(), time=(pl.col("m") * pl.col("at")).sum(),
            )  # fmt: skip
            self._cells.add(sums.with_columns(pl.lit(name).alias("outcome")))

    def estimates(self, study: str, model: str, untimed: str) -> pl.DataFrame:
        """Drift of each outcome and of missing answers.

        `untimed`: why there are no times, if there are none.
        """
        table = EstimateTable(study, model)
        cells = self._cells.frame()
        for name in self._outcomes:
            of_outcome = cells.filter(pl.col("outcome") == name) if cells.height else cells
            estimates, p = _slope(of_outcome, untimed)
            if self._cells.one_of > 1 and np.isfinite(estimates.value[0]):
                estimates.method[0] += f", {PART}"
            labels = {} if name in ("", _MISSING) else {"score": [name]}
            table.add(DRIFT_MISSING if name == _MISSING else DRIFT, labels, estimates, p=p)
        return table.frame()


def _slope(cells: pl.DataFrame, untimed: str) -> tuple[Estimates, np.ndarray]:
    """Regress answers on time.

    Equation
    --------
    Of the answers i of unit u, weighing m: t_i is the share of all answers that had come; r_u = Σ m (y - ȳ_q) / Σ m,
    x_u = Σ m (t - t̄_q) / Σ m with the means of the question over all units. b = Σ x r / Σ x², se² = Σ (r - b x)² /
    (f Σ x²), and t with f degrees of freedom: the units, less one, less what the means of questions take up (for units
    that were all asked the same questions, one).

    Notes
    -----
    Least squares need no more than that times are dealt to units at random (Freedman 2008, "On regression adjustments
    to experimental data": with one regressor that is dealt evenly, the usual standard error holds).
    """
    if not cells.height:
        return _nothing(untimed)
    when = cells.with_columns(pl.col("time") / pl.col("mass"), y=pl.col("answer") / pl.col("mass"))
    clock = when.group_by("time").agg(pl.col("n").sum()).sort("time")
    clock = clock.with_columns(t=(pl.col("n").cum_sum() - pl.col("n") / 2) / pl.col("n").sum())
    if clock.height < 2:
        return _nothing(AT_ONCE)
    when = when.join(clock.select("time", "t"), on="time", maintain_order="left")
    share = pl.col("mass") / pl.col("mass").sum().over("question")
    centred = when.with_columns(
        *((pl.col(c) - (share * pl.col(c)).sum().over("question")).alias(c) for c in ("t", "y")), share=share
    )
    weight = pl.col("mass") / pl.col("mass").sum()
    units = centred.group_by("unit", maintain_order=True).agg(
        x=(weight * pl.col("t")).sum(),
        r=(weight * pl.col("y")).sum(),
        taken=(weight * pl.col("share")).sum(),
        n=pl.col("n").sum(),
    )
    x, r = units["x"].to_numpy(), units["r"].to_numpy()
    free, total = float((1 - units["taken"]).sum()) - 1, float(x @ x)
    if free < 1 or total < 1e-12:
        return _nothing(f"{FEW}: {units.height:,}")
    value = float(x @ r) / total
    squares = float(((r - value * x) ** 2).sum())
    if squares < 1e-24 * units.height:
        return _nothing(ALIKE)
    se = float(np.sqrt(squares / free / total))
    reach = float(scipy.stats.t.ppf(0.5 + LEVEL / 2, free)) * se
    estimates = Estimates(
        np.array([value]), np.array([value - reach]), np.array([value + reach]),
        np.array([int(units["n"].sum())]), np.array([units.height]),
        np.array(["least squares over units asked together, t"], dtype=object), np.array([se]),
    )  # fmt: skip
    estimates.value.clip(-1.0, 1.0, out=estimates.value)  # as its interval is: of few answers a line leads beyond
    return estimates, np.array([2 * scipy.stats.t.sf(abs(value) / se, free)])


def _nothing(reason: str) -> tuple[Estimates, np.ndarray]:
    none, zero = np.array([np.nan]), np.zeros(1, dtype=np.int64)
    method = np.array([f"{NOT_MEASURABLE}: {reason}"], dtype=object)
    return Estimates(none, none, none, zero, zero, method, none), none
