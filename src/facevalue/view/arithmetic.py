"""Arithmetic of an estimate, in the sums that its estimator added up: steps to its value, and what each unit adds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.cluster_bootstrap import values_only
from facevalue.measures.clusters import UNITS
from facevalue.measures.terms import EstimateTerm, TermRecord, terms_kept
from facevalue.protocol.lookup import Estimate
from facevalue.report.formatting import number
from facevalue.runs.stored import StoredRun, answers
from facevalue.view.opened import RunState

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
_CHUNK = 100_000
"""Answers that are understood at a time: the process that serves pages has little memory to spare."""
WAITING = "They are being added up."


@dataclass(frozen=True)
class Arithmetic:
    """Terms of an estimate, checked against it.

    Attributes
    ----------
    term:
        What it is made of.
    names:
        Units with answers behind it; numbers where they have no names.
    added:
        What the estimate would move by without each of them; NaN where nothing would be left.
    means:
        Mean of each alone; NaN where the estimate is no mean over units.
    sums, counts:
        Sums and counts of each; empty where it takes several columns of them.
    value:
        The estimate, from the totals.
    """

    term: EstimateTerm
    names: tuple[str, ...]
    added: npt.NDArray[np.float64]
    means: npt.NDArray[np.float64]
    sums: npt.NDArray[np.float64]
    counts: npt.NDArray[np.float64]
    value: float

    @classmethod
    def of(cls, term: EstimateTerm, e: Estimate) -> "Arithmetic | None":
        """The arithmetic of an estimate; None where the sums do not give its value, as after a further step."""
        value = term.value()
        if e.value is None or not abs(value - e.value) <= CLOSE * max(1.0, abs(e.value)):
            return None
        used: list[int] = np.flatnonzero(term.used()).tolist()
        names = term.of.names or [f"unit {place + 1}" for place in range(term.of.sums.shape[0])]
        sums, counts = term.sums() or (np.full(0, np.nan), np.full(0, np.nan))
        means = np.full(len(used), np.nan)
        if sums.size:
            sums, counts = sums[used], counts[used]
            means = sums / counts * term.factor - term.less
        with np.errstate(invalid="ignore", divide="ignore"):
            added = value - term.without_each()[used]
        return cls(term, tuple(str(names[at]) for at in used), added, means, sums, counts, value)

    def ranked(self) -> npt.NDArray[np.int64]:
        """Units in the order of what they add; those without which nothing is left come first."""
        size = np.where(np.isfinite(self.added), np.abs(self.added), np.inf)
        return np.lexsort((np.arange(size.size), -size))


def terms_of_run(state: RunState) -> TermRecord:
    """Terms of a run's estimates, which the first call begins to add up.

    Raises
    ------
    NotYetError
        They are being added up.
    DataError
        They cannot be added up.
    """
    return state.soon("terms", lambda: _taken_again(state.whole), FAILED, WAITING)


def _taken_again(run: StoredRun) -> TermRecord:
    """Take the estimates of a run again, values alone, and keep their terms."""
    with values_only(), terms_kept() as record:
        run.study.analyse({run.model: answers(run, at_once=_CHUNK)})
        return record


def term_of(record: TermRecord, e: Estimate, intervention: str | None) -> EstimateTerm | None:
    """Terms of an estimate; None where its estimator has none."""
    return record.terms.get((e.measure, intervention, frozenset(e.labels.items())))


def lines(of: Arithmetic, e: Estimate, *, signed: bool) -> tuple[str, list[tuple[str, ...]]]:
    """The totals in words, and a row for each of the first units: sum, count, mean."""
    term = of.term
    total_sums, total_counts = (float(totals[term.column]) for totals in term.of.total)
    steps = [f"{figures(total_sums)} / {figures(total_counts)} = {figures(total_sums / total_counts)}"]
    if term.factor != 1.0:
        steps.append(f"times {figures(term.factor)}")
    if term.less:
        steps.append(f"less {figures(term.less)}")
    if term.unsigned:
        steps.append("without its sign")
    text = f"{', '.join(steps)}: {figures(of.value)}, which is {number(e.value, e.written, signed=signed)}."
    order = of.ranked()[:_LINES]
    rows: list[tuple[str, ...]] = [
        (of.names[at], *map(figures, (of.sums[at], of.counts[at], of.means[at])), _moves(float(of.added[at])))
        for at in order
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


def unit_column(run: StoredRun, names: Sequence[str]) -> str | None:
    """Factor of the trials whose levels these units are; None where there is none."""
    if not names:
        return None
    columns = run.study.design.columns
    candidates = dict.fromkeys(["identity", "set", *(name for of in UNITS.values() for name in of), *columns])
    first = run.study.design.trials([0])
    for name in candidates:
        if name not in columns or not isinstance(dtype := first.schema[name], pl.Enum):
            continue
        if set(names) <= set(dtype.categories):
            return name
    return None
