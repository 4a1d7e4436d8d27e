"""Arithmetic of an estimate, in the sums that its estimator added up: steps to its value, and what each unit adds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.cells import UNIT_KEYS
from facevalue.protocol.lookup import Estimate
from facevalue.report.formatting import number
from facevalue.runs.stored import StoredRun
from facevalue.view.opened import RunState
from facevalue.view.unit_sums import EstimateSums, RunSums, sums_of

CLOSE = 1e-9
"""How far what the sums give may lie from the estimate, of the larger of it and 1."""
_LINES = 12
"""Units in the table of sums; all that move the estimate most are in the list beside."""
_WHOLE = 1e15
"""Numbers above are written by their power of ten."""
NOT_SUMS = (
    "This estimator is no function of sums over single units that is kept, so what each unit adds is not shown. Its "
    "equation is above, and every answer behind it is in the list of answers."
)
TOO_MANY = "The run has more sums than are kept to show."
FAILED = "The sums behind the estimates could not be added up"
WAITING = "They are being added up."


@dataclass(frozen=True)
class Arithmetic:
    """Sums behind an estimate that give its value.

    Attributes
    ----------
    of:
        The sums.
    means:
        Mean of each unit alone; NaN where the estimate is no mean over units.
    """

    of: EstimateSums
    means: npt.NDArray[np.float64]

    @classmethod
    def checked(cls, of: EstimateSums, e: Estimate) -> "Arithmetic | None":
        """The arithmetic of an estimate; None where the sums do not give its value, as after a further step."""
        if e.value is None or not abs(of.value - e.value) <= CLOSE * max(1.0, abs(e.value)):
            return None
        means = of.sums / of.counts * of.factor - of.less if of.total else np.full(len(of.units), np.nan)
        return cls(of, means)

    def ranked(self) -> npt.NDArray[np.int64]:
        """Units in the order of what they add; those without which nothing is left come first."""
        size = np.where(np.isfinite(self.of.added), np.abs(self.of.added), np.inf)
        return np.lexsort((np.arange(size.size), -size))


def sums_of_run(state: RunState) -> RunSums:
    """Sums behind a run's estimates, which the first call begins to add up.

    Raises
    ------
    NotYetError
        They are being added up.
    DataError
        They cannot be added up.
    """
    return state.soon("sums", lambda: sums_of(state.run), FAILED, WAITING)


def lines(arithmetic: Arithmetic, e: Estimate, *, signed: bool) -> tuple[str, list[tuple[str, ...]]]:
    """The totals in words, and a row for each of the first units: sum, count, mean."""
    of = arithmetic.of
    total_sum, total_count = of.total or (np.nan, np.nan)
    steps = [f"{figures(total_sum)} / {figures(total_count)} = {figures(total_sum / total_count)}"]
    if of.factor != 1.0:
        steps.append(f"times {figures(of.factor)}")
    if of.less:
        steps.append(f"less {figures(of.less)}")
    if of.unsigned:
        steps.append("without its sign")
    value = f": {figures(of.value)}" if len(steps) > 1 else ""
    text = f"{', '.join(steps)}{value}, which is {number(e.value, e.written, signed=signed)}."
    rows: list[tuple[str, ...]] = [
        (of.units[at], *map(figures, (of.sums[at], of.counts[at], arithmetic.means[at])), _moves(float(of.added[at])))
        for at in arithmetic.ranked()[:_LINES]
    ]
    return text, rows


def figures(value: float) -> str:
    """A number of a step, to six digits; whole ones are whole, however large.

    Examples
    --------
    >>> figures(-2.41666666667), figures(1_250_000.0), figures(-0.0)
    ('-2.41667', '1,250,000', '0')
    """
    is_whole = np.isfinite(value) and value == round(value) and abs(value) < _WHOLE
    return f"{value + 0.0:,.0f}" if is_whole else f"{value:.6g}"


def _moves(added: float) -> str:
    return f"{added:+.6g}" if np.isfinite(added) else "all of it"


def unit_columns(run: StoredRun, names: Sequence[str]) -> tuple[str, ...]:
    """Factor of trials whose levels these units are, or those of both sides of a pair; empty for none."""
    if not names:
        return ()
    first = run.study.design.trials([0])
    levels = {name: set(dtype.categories) for name, dtype in first.schema.items() if isinstance(dtype, pl.Enum)}
    candidates = dict.fromkeys(["identity", "set", *(name for of in UNIT_KEYS.values() for name in of), *levels])
    sides = [(name, f"{name[:-1]}2") for name in levels if name.endswith("_1")]
    for columns in (*((name,) for name in candidates), *sides):
        if set(names) <= set().union(*(levels.get(name, ()) for name in columns)):
            return columns
    return ()
