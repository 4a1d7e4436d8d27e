"""Page of the history of runs: what changed when, charts of cells over the dates, and what differs between runs."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from facevalue.measures.caveats import add_caveat, counted_caveats, shared_caveat
from facevalue.measures.definitions import Measure, definition_of, unit_name
from facevalue.report import charts
from facevalue.report.blocks.content import Content, Figure, PartContent, TextContent
from facevalue.report.formatting import DASH, Titles, html_element, number, share_of_chance, shown_settings, tick
from facevalue.report.html import FoldedSection, PlainPage, page_cautions, text_table, write_page
from facevalue.runs.comparisons.trend import DRIFT, STEADY, STEP, StudyTrend, Trend

# History of runs in words and rows.


HEADS = ("Of", "First", "Last", "What became of it", "Change", "95% interval", "At the level of all", "Worst case",
         "p")  # fmt: skip
MOST = 40
"""Cells that are listed of each study, changes first."""


def trend_sentence(history: StudyTrend) -> str:
    """Sentence on the number of cells that drifted, or changed at a date."""
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


def trend_summary(trend: Trend) -> str:
    """The same over all studies."""
    several = len(trend.studies) > 1
    return " ".join(f"{history.study.name}: {trend_sentence(history)}" if several else trend_sentence(history)
                    for history in trend.studies)  # fmt: skip


def listed_cells(history: StudyTrend) -> pl.DataFrame:
    """Cells in the order in which people are shown them: changes first, then those that are clearest."""
    return history.cells.sort(pl.col("became").is_in([DRIFT, STEP]), -pl.col("p").fill_null(1.0), descending=True,
                              maintain_order=True)  # fmt: skip


def cell_rows(history: StudyTrend, most: int = MOST) -> Iterator[tuple[str, ...]]:
    """Cells as rows of texts."""
    for row in listed_cells(history).head(most).iter_rows(named=True):
        measure = measure_of(history, row)
        level, apart = unit_name(measure.unit, apart=measure.is_distance), unit_name(measure.unit, apart=True)
        yield (
            cell_name(history, row), number(row["first"], level), number(row["last"], level),
            describe_course(history, row), number(row["change"], apart, signed=True),
            _interval(row["change_low"], row["change_high"], apart),
            _interval(row["page_low"], row["page_high"], apart), _interval(row["bound_low"], row["bound_high"], apart),
            share_of_chance(row["p"]),
        )  # fmt: skip


def measure_of(history: StudyTrend, row: Mapping[str, Any]) -> Measure:
    """The measure that a cell is of."""
    measure = definition_of({measure.key: measure for measure in history.measures}, row["measure"], row.get("score"))
    assert measure is not None
    return measure


def cell_name(history: StudyTrend, row: Mapping[str, Any]) -> str:
    """Name of a cell, from its labels."""
    titles = Titles(history.study.about.titles)
    several = len(history.measures) > 1
    names = [name for name in history.labels if row[name] is not None and (several or name != "measure")]
    return ", ".join(titles.get(name, row[name]) for name in names) or "all"


def describe_course(history: StudyTrend, row: Mapping[str, Any]) -> str:
    """Describe the course of a cell: its drift, or its step and since when, and the caveat."""
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


_CHARTS = 12
"""Cells of a study that are drawn."""
_TOP, _HEIGHT = 14, 150
_LABEL = 34
"""Percent of the width that the label of a date takes on a phone."""


def write_trend(path: Path, trend: Trend) -> None:
    """Write the page of a history as one HTML file."""
    write_page(path, trend_page(trend))


def trend_page(trend: Trend) -> PlainPage:
    """Make the page of a history."""
    models = dict.fromkeys(run.model for history in trend.studies for run in history.runs)
    subject = next(iter(models)) if len(models) == 1 else f"{len(models)} versions of a model"
    sections = [section for at, history in enumerate(trend.studies) for section in _sections(history, at)]
    notes = dict.fromkeys(note for history in trend.studies for note in page_cautions(history.runs))
    return PlainPage(
        "History of", subject, _verdict(trend), trend_summary(trend), trend.left_out,
        sections, kind="found" if trend.changed else "nothing", notes=list(notes),
    )  # fmt: skip


def _verdict(trend: Trend) -> str:
    """Verdict on whether anything changed, with the caveat of all that did."""
    caveats = [caveat for history in trend.studies for caveat in history.changed["caveat"]]
    return add_caveat("Change found", shared_caveat(caveats)) if trend.changed else "No change found"


def _sections(history: StudyTrend, at: int) -> Iterator[FoldedSection]:
    contents: list[Content] = [TextContent(text, "plain") for text in (trend_sentence(history), history.units)]
    contents += [
        figure for row in listed_cells(history).head(_CHARTS).iter_rows(named=True) for figure in _chart(history, row)
    ]
    table = text_table("Cells", HEADS, list(cell_rows(history)))
    note = f"the {min(MOST, history.cells.height)} clearest of {history.cells.height:,}"
    contents.append(PartContent("In numbers", [table], note=note, fold="open", class_="numbers"))
    yield FoldedSection(f"history-{at}", history.study.name, "What changed, and when.", contents, open=True)
    heads = ["Run", "Date", "Model", *history.settings]
    columns = shown_settings(history.settings).values()
    by_run = [
        [name, f"{date:%Y-%m-%d %H:%M}", run.model, *settings]
        for name, date, run, *settings in zip(history.names, history.dates, history.runs, *columns, strict=True)
    ]
    yield FoldedSection(
        f"runs-{at}", f"Runs of {history.study.name}", "Their dates, and settings in which they differ.",
        [text_table("Runs", heads, by_run, numbers=False)], open=False,
    )  # fmt: skip


def _chart(history: StudyTrend, row: Mapping[str, Any]) -> Iterator[Figure]:
    """One cell over the dates, with its intervals."""
    of_cell = history.values.filter(
        pl.col(name).eq_missing(pl.lit(row[name], pl.String)) for name in dict.fromkeys(("measure", *history.labels))
    )
    points = [point for point in of_cell.sort("at").iter_rows(named=True) if point["value"] is not None]
    if len(points) < 2:
        return
    measure = measure_of(history, row)
    unit = unit_name(measure.unit, apart=measure.is_distance)
    words = describe_course(history, row)
    if row["became"] != STEADY:
        words += f": {number(row['change'], unit_name(measure.unit, apart=True), signed=True)}"
    yield Figure(cell_name(history, row), words, line_chart(history, points, unit, row["since"]), narrow=True)


def line_chart(history: StudyTrend, points: Sequence[Mapping[str, Any]], unit: str, since: int | None) -> Markup:
    """Values over dates, in the order of time to scale, each with its interval; a dashed line where a step lies."""
    ends = [end for p in points for end in (p["value"], p["low"], p["high"]) if end is not None]
    over = charts.scale(min([*ends, 0.0]), max([*ends, 0.0]), 5)
    seconds = [date.timestamp() for date in history.dates]
    span = seconds[-1] - seconds[0]
    count = len(seconds) - 1

    def across(at: int) -> float:
        share = (seconds[at] - seconds[0]) / span if span else at / count
        return round(12 + 82 * share, 2)

    def up(value: float) -> float:
        return round(_TOP + _HEIGHT * (1 - (value - over.low) / (over.high - over.low)), 1)

    shapes = []
    for level in over.ticks:
        line = "zero" if level == 0 else "grid"
        shapes.append(html_element("line", x1="10%", x2="97%", y1=up(level), y2=up(level), class_=line))
        shapes.append(
            html_element("text", tick(level, unit), x="9%", y=up(level) + 4, text_anchor="end", class_="tick")
        )
    if since is not None:
        middle = f"{round((across(since - 1) + across(since)) / 2, 2)}%"
        shapes.append(html_element("line", x1=middle, x2=middle, y1=_TOP, y2=_TOP + _HEIGHT, class_="goal"))
    for point, following in pairwise(points):
        shapes.append(
            html_element("line", x1=f"{across(point['at'])}%", x2=f"{across(following['at'])}%", y1=up(point["value"]),
                y2=up(following["value"]), class_="bar in", stroke="currentColor", stroke_opacity="0.5")
        )  # fmt: skip
    for point in points:
        x = across(point["at"])
        if point["low"] is not None and point["high"] is not None:
            corners = {"x1": f"{x}%", "x2": f"{x}%", "y1": up(point["low"]), "y2": up(point["high"])}
            shapes.append(html_element("line", **corners, class_="ci", stroke="currentColor"))
        title = f"{history.names[point['at']]}, {history.dates[point['at']]:%Y-%m-%d}: {number(point['value'], unit)}"
        dot = charts.mark(x, up(point["value"]))
        shapes.append(html_element("g", html_element("title", title), dot))
    floor = _TOP + _HEIGHT + 18
    for at in _labelled_places([across(at) for at in range(count + 1)]):
        anchor = "start" if at == 0 else "end" if at == count else "middle"
        shapes.append(
            html_element(
                "text", f"{history.dates[at]:%Y-%m-%d}", x=f"{across(at)}%", y=floor, text_anchor=anchor, class_="tick"
            )
        )
    label = f"{len(points)} dates, from {number(points[0]['value'], unit)} to {number(points[-1]['value'], unit)}"
    return html_element("svg", *shapes, width="100%", height=floor + 8, role="img", aria_label=label)


def _labelled_places(places: Sequence[float]) -> list[int]:
    """Dates that have a label: the first, the last, and those between with room for one."""
    out, last = [0], len(places) - 1
    for at in range(1, last):
        if places[at] - places[out[-1]] >= _LABEL and places[last] - places[at] >= _LABEL:
            out.append(at)
    return [*out, last] if last else out
