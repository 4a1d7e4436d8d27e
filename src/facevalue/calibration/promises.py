"""Promises on numbers of a calibration: where they have to lie, and which of them are broken.

A promise is broken, and marked, only where the Monte-Carlo interval excludes it.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

CERTAIN = "all replies are the same"
"""Name of the condition without any chance, in which intervals are not promised to cover."""
ALPHA = 0.05
LEAST_POWER = 0.8
"""Share of the rival's power below which a family's is a defect."""
MOST_FALSE, MOST_UNEXPLAINED = 0.06, 0.05
"""Promised shares of audits with a false finding: any, and where answers are withheld one without "unless"."""
COVERED, DETECTED = (0.93, 0.97), (0.75, 0.90)
"""Promised shares of intervals that hold what should be found, and of effects found that are said to be."""
Cells = dict[str, str | float | int | None]
"""A row of a table, by column."""


class Promise(NamedTuple):
    """A promise on numbers of a table."""

    table: str
    text: str
    columns: tuple[str, ...]
    """The numbers; their intervals are columns ending in `_low` and `_high`."""
    low: float
    high: float
    below: str = ""
    above: str = ""
    """Marks of a number whose interval ends below, or begins above."""
    about: Callable[[Mapping[str, Any]], bool] = lambda _: True
    """From a row to whether the promise is made of it."""

    def broken(self, row: Mapping[str, Any]) -> tuple[str, str]:
        """Mark and column of the first number that breaks it; empty where none does."""
        for column in self.columns if self.about(row) else ():
            low, high = row[f"{column}_low"], row[f"{column}_high"]
            if high is not None and high < self.low:
                return self.below, column
            if low is not None and low > self.high:
                return self.above, column
        return "", ""

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Whether all numbers lie within with their intervals; what is not known doesn't lie beyond."""
        ends = [(row[f"{column}_low"], row[f"{column}_high"]) for column in self.columns]
        return all((low is None or low >= self.low) and (high is None or high <= self.high) for low, high in ends)


def _withheld(row: Mapping[str, Any]) -> bool:
    return "withheld" in row["condition"]


def _answered(row: Mapping[str, Any]) -> bool:
    return not _withheld(row)


def _by_chance(row: Mapping[str, Any]) -> bool:
    return _answered(row) and row["condition"] != CERTAIN


_FALSE = (0.0, MOST_FALSE, "", "false findings")
_COVERS = (*COVERED, "covers too little", "covers too much")
PROMISES = (
    Promise("families", "false findings in a family, .06 at most", ("false",), *_FALSE),
    Promise("families", "coverage of a family, .93 to .97", ("coverage", "coverage_effects"), *_COVERS),
    Promise("families", f"power of a family, {LEAST_POWER:g} of a rival's at least", ("ahead",), 0.0, 1.0, "power"),
    Promise("conditions", "false findings on a page, .06 at most", ("page",), *_FALSE, _answered),
    Promise(
        "conditions", 'the same without "unless", answers withheld, .05 at most', ("page_without_unless",), 0.0,
        MOST_UNEXPLAINED, "", "false findings", _withheld,
    ),
    Promise("conditions", "coverage of a page, .93 to .97", ("coverage",), *_COVERS, _by_chance),
    Promise(
        "detectable", "effects that are said to be found, .75 to .90 are", ("found",), *DETECTED, "finds less",
        "finds more",
    ),
    Promise(
        "detectable", "what few people make, called equivalent, .05 at most", ("equivalent",), 0.0, ALPHA, "",
        "equivalent",
    ),
    Promise("comparisons", "two models alike that differ, .06 at most", ("any",), *_FALSE),
    Promise("comparisons", "coverage of their differences, .93 to .97", ("coverage",), *_COVERS),
)  # fmt: skip


def marked(table: str, cells: Cells, *unmarked: str) -> Cells:
    """A row with the marks of the promises that it breaks (`defect`), but for those that say nothing of it."""
    marks = (promise.broken(cells)[0] for promise in PROMISES if promise.table == table)
    return {**cells, "defect": "; ".join(mark for mark in marks if mark and mark not in unmarked)}


def breaks(row: Mapping[str, Any], promise: Promise) -> str:
    """Return the column by which a row of a table breaks a promise, and is marked so; empty if it does not."""
    mark, column = promise.broken(row)
    return column if mark and mark in row["defect"].split("; ") else ""
