"""Page of the history of runs: what changed when, charts of cells over the dates, and what differs between runs."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from facevalue.measures.caveats import add_caveat, shared_caveat
from facevalue.measures.definitions import unit_name
from facevalue.report import charts
from facevalue.report.blocks.content import Content, Figure, PartContent, TextContent
from facevalue.report.folds import FoldedSection
from facevalue.report.formatting import number, shown_settings, tick
from facevalue.report.markup import tag
from facevalue.report.plain_page import PlainPage, cautions, text_table, write_page
from facevalue.report.trend_rows import HEADS, MOST, became, cell_name, listed, measure_of, rows, sentence, summary
from facevalue.runs.trend import STEADY, StudyTrend, Trend

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
    notes = dict.fromkeys(note for history in trend.studies for note in cautions(history.runs))
    return PlainPage(
        "History of", subject, _verdict(trend), summary(trend), trend.left_out,
        sections, kind="found" if trend.changed else "nothing", notes=list(notes),
    )  # fmt: skip


def _verdict(trend: Trend) -> str:
    """Whether anything changed, with the caveat of all that did."""
    caveats = [caveat for history in trend.studies for caveat in history.changed["caveat"]]
    return add_caveat("Change found", shared_caveat(caveats)) if trend.changed else "No change found"


def _sections(history: StudyTrend, at: int) -> Iterator[FoldedSection]:
    contents: list[Content] = [TextContent(text, "plain") for text in (sentence(history), history.units)]
    contents += [
        figure for row in listed(history).head(_CHARTS).iter_rows(named=True) for figure in _chart(history, row)
    ]
    table = text_table("Cells", HEADS, list(rows(history)))
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
    unit = unit_name(measure.unit, apart=measure.apart)
    words = became(history, row)
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
        shapes.append(tag("line", x1="10%", x2="97%", y1=up(level), y2=up(level), class_=line))
        shapes.append(tag("text", tick(level, unit), x="9%", y=up(level) + 4, text_anchor="end", class_="tick"))
    if since is not None:
        middle = f"{round((across(since - 1) + across(since)) / 2, 2)}%"
        shapes.append(tag("line", x1=middle, x2=middle, y1=_TOP, y2=_TOP + _HEIGHT, class_="goal"))
    for point, following in pairwise(points):
        shapes.append(
            tag("line", x1=f"{across(point['at'])}%", x2=f"{across(following['at'])}%", y1=up(point["value"]),
                y2=up(following["value"]), class_="bar in", stroke="currentColor", stroke_opacity="0.5")
        )  # fmt: skip
    for point in points:
        x = across(point["at"])
        if point["low"] is not None and point["high"] is not None:
            shapes.append(tag("line", x1=f"{x}%", x2=f"{x}%", y1=up(point["low"]), y2=up(point["high"]), class_="ci",
                              stroke="currentColor"))  # fmt: skip
        title = f"{history.names[point['at']]}, {history.dates[point['at']]:%Y-%m-%d}: {number(point['value'], unit)}"
        dot = charts.mark(x, up(point["value"]))
        shapes.append(tag("g", tag("title", title), dot))
    floor = _TOP + _HEIGHT + 18
    for at in _labelled([across(at) for at in range(count + 1)]):
        anchor = "start" if at == 0 else "end" if at == count else "middle"
        shapes.append(
            tag("text", f"{history.dates[at]:%Y-%m-%d}", x=f"{across(at)}%", y=floor, text_anchor=anchor, class_="tick")
        )
    label = f"{len(points)} dates, from {number(points[0]['value'], unit)} to {number(points[-1]['value'], unit)}"
    return tag("svg", *shapes, width="100%", height=floor + 8, role="img", aria_label=label)


def _labelled(places: Sequence[float]) -> list[int]:
    """Dates that have a label: the first, the last, and those between with room for one."""
    out, last = [0], len(places) - 1
    for at in range(1, last):
        if places[at] - places[out[-1]] >= _LABEL and places[last] - places[at] >= _LABEL:
            out.append(at)
    return [*out, last] if last else out
