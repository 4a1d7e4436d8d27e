"""History of runs in words and rows."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from facevalue.measures.caveats import add_caveat, counted_caveats
from facevalue.measures.definitions import Measure, definition_of, unit_name
from facevalue.report.formatting import DASH, Titles, number, share_of_chance
from facevalue.runs.trend import DRIFT, STEP, StudyTrend, Trend

HEADS = ("Of", "First", "Last", "What became of it", "Change", "95% interval", "At the level of all", "Worst case",
         "p")  # fmt: skip
MOST = 40
"""Cells that are listed of each study, changes first."""


def sentence(history: StudyTrend) -> str:
    """How many cells drifted or changed at a date, in a sentence."""
    counts = dict(history.cells["became"].value_counts().iter_rows())
    total, drifts, steps = history.cells.height, counts.get(DRIFT, 0), counts.get(STEP, 0)
    over = f"{len(history.runs)} runs from {_date(history, 0)} to {_date(history, len(history.runs) - 1)}"
    if not drifts + steps:
        return f"No change was found in any of {total:,} cells over {over}."
    kinds_of_change = [
        *([f"{steps:,} changed at one date"] if steps else []),
        *([f"{drifts:,} drifted"] if drifts else []),
    ]
    return (
        f"Of {total:,} cells {' and '.join(kinds_of_change)}, over {over}{counted_caveats(history.changed['caveat'])}."
    )


def summary(trend: Trend) -> str:
    """The same over all studies."""
    several = len(trend.studies) > 1
    return " ".join(f"{history.study.name}: {sentence(history)}" if several else sentence(history)
                    for history in trend.studies)  # fmt: skip


def listed(history: StudyTrend) -> pl.DataFrame:
    """Cells in the order in which people are shown them: changes first, then those that are clearest."""
    return history.cells.sort(pl.col("became").is_in([DRIFT, STEP]), -pl.col("p").fill_null(1.0), descending=True,
                              maintain_order=True)  # fmt: skip


def rows(history: StudyTrend, most: int = MOST) -> Iterator[tuple[str, ...]]:
    """Cells as rows of texts."""
    for row in listed(history).head(most).iter_rows(named=True):
        measure = measure_of(history, row)
        level, apart = unit_name(measure.unit, apart=measure.apart), unit_name(measure.unit, apart=True)
        yield (
            cell_name(history, row), number(row["first"], level), number(row["last"], level), became(history, row),
            number(row["change"], apart, signed=True), _interval(row["change_low"], row["change_high"], apart),
            _interval(row["page_low"], row["page_high"], apart), _interval(row["bound_low"], row["bound_high"], apart),
            share_of_chance(row["p"]),
        )  # fmt: skip


def measure_of(history: StudyTrend, row: Mapping[str, Any]) -> Measure:
    """The measure that a cell is of."""
    measure = definition_of({measure.key: measure for measure in history.measures}, row["measure"], row.get("score"))
    assert measure is not None
    return measure


def cell_name(history: StudyTrend, row: Mapping[str, Any]) -> str:
    """What a cell is called, from its labels."""
    titles = Titles(history.study.about.titles)
    several = len(history.measures) > 1
    names = [name for name in history.labels if row[name] is not None and (several or name != "measure")]
    return ", ".join(titles.get(name, row[name]) for name in names) or "all"


def became(history: StudyTrend, row: Mapping[str, Any]) -> str:
    """What became of a cell, a drift, or a step and since when, and the caveat of that."""
    return add_caveat(_change(history, row), row["caveat"])


def _change(history: StudyTrend, row: Mapping[str, Any]) -> str:
    if row["since"] is not None:
        best = f"step, best placed before {_date(history, row['since'])} ({history.names[row['since']]})"
        if row["since_first"] is None:
            return f"{best}; no single date fits"
        first, last = (history.names[at] for at in (row["since_first"] - 1, row["since_last"]))
        return f"{best}; if one step, between {first} and {last} (95%)"
    return str(row["became"])


def _date(history: StudyTrend, at: int) -> str:
    return f"{history.dates[at]:%Y-%m-%d}"


def _interval(low: float | None, high: float | None, unit: str) -> str:
    if low is None or high is None:
        return DASH
    return f"[{', '.join(number(end, unit, signed=True, bare=True) for end in (low, high))}]"
