"""Pages of runs that are compared, and of their history: what got better or worse, and when."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from facevalue.measures.caveats import add_caveat, counted_caveats, shared_caveat
from facevalue.measures.definitions import Measure, definition_of, unit_name
from facevalue.measures.run_comparison import RankAgreement
from facevalue.measures.uncertainty import Estimates
from facevalue.report import charts
from facevalue.report.blocks.content import (
    CaptionedPicture,
    Content,
    Figure,
    PartContent,
    PictureRow,
    TextContent,
    data_uri,
)
from facevalue.report.formatting import DASH, Titles, html_element, number, share_of_chance, shown_settings, tick
from facevalue.report.html import FoldedSection, PlainPage, page_cautions, text_table, write_page
from facevalue.report.sections.differences import (
    CELL_HEADS,
    OVERALL_HEADS,
    Difference,
    DifferenceRow,
    report_differences,
)
from facevalue.runs.comparisons.answer_flips import AnswerFlips, FlipInWords
from facevalue.runs.comparisons.comparison import ComparedPair, RunComparison
from facevalue.runs.comparisons.model_differences import ModelDifferences, answer, became_sentence, name_cells
from facevalue.runs.comparisons.trend import DRIFT, STEADY, STEP, StudyTrend, Trend

# Correlations of effects between two runs, for people.


RANK_HEADS = ("Order of effects", "Cells", "Spearman's ρ", "By chance, same pictures", "Without noise", "Interval")
RANK_NOTE = (
    "By chance: the correlation of two runs without any effect, which share pictures. Without noise: the correlation "
    "of the effects themselves, corrected for noise. "
    "All intervals of all runs and studies hold together."
)


def rank_rows(ranks: Sequence[RankAgreement]) -> list[tuple[str, ...]]:
    """A row for each measure."""
    return [
        (rank.measure, f"{rank.cells:,}", _number(rank.rho), _interval(rank.chance_low, rank.chance_high),
         _number(rank.value), _interval(rank.low, rank.high))
        for rank in ranks
    ]  # fmt: skip


def rank_sentence(ranks: Sequence[RankAgreement]) -> str:
    """Sentence on the measures whose effects have the same, or the opposite, order in both runs."""
    same, opposite = ([r.measure for r in ranks if (r.low > 0 if up else r.high < 0)] for up in (True, False))
    parts = [
        *([f"Effects in {', '.join(same)} are in much the same order in both runs."] if same else []),
        *([f"Effects in {', '.join(opposite)} are in the opposite order."] if opposite else []),
    ]
    rest = [r.measure for r in ranks if r.measure not in (*same, *opposite)]
    if rest:
        parts.append(f"Whether effects in {', '.join(rest)} are in the same order remains open.")
    return " ".join(parts)


def _number(value: float) -> str:
    return DASH if math.isnan(value) else f"{value:.2f}".replace("-", "−")


def _interval(low: float, high: float) -> str:
    return DASH if math.isnan(low) else f"[{_number(low)}, {_number(high)}]"


# Answers that flipped between two runs, for people.


ROW_HEADS = ("Identical answers", "Share", "95% interval")
_LONGEST = 300


def flip_sentences(flips: AnswerFlips, names: tuple[str, str], *, asked_alike: bool = True) -> tuple[str, ...]:
    """Sentences on answers that differ, answers that only one run gave, and the runs' own noise.

    `names`: of the runs. `asked_alike`: whether both were asked the same; else an intervention lies between them.
    """
    likeliest = " (the likeliest option counts)" if flips.exact else ""
    share = flips.flipped / flips.trials
    differ = f"{flips.flipped:,} of {flips.trials:,} single answers differ, {number(share, 'share')}{likeliest}"
    alike = f"{names[0]} and {names[1]} were asked the same about the same picture."
    out = [f"{differ}: {alike}" if asked_alike else f"{differ}, between “{names[0]}” and “{names[1]}”, trial by trial."]
    if flips.lost or flips.gained:
        out.append(
            f"{flips.lost:,} questions that {names[0]} answered have no valid answer from {names[1]}; for "
            f"{flips.gained:,} it is the other way round."
            if asked_alike
            else f"Valid answers on one side alone: {flips.lost:,} of “{names[0]}”, {flips.gained:,} of “{names[1]}”."
        )
    return (*out, _describe_excess(flips))


def _describe_excess(flips: AnswerFlips) -> str:
    beyond = flips.shares.beyond
    value, low, high = (float(end[0]) for end in (beyond.value, beyond.low, beyond.high))
    if math.isnan(value):
        return (
            "How many answers would change in a repeated run is unknown: that takes two seeds of each run, or exact "
            "probabilities."
        )
    if math.isnan(low):
        return f"Beyond the changes of a repeated run: {_points(value)} (no interval: too few units)."
    ends = ", ".join(number(end, "share apart", signed=True, bare=True) for end in (low, high))
    size = f"differ than when a run is repeated: {_points(value)} [{ends}]."
    if low <= 0 <= high:
        return f"As far as these data tell, no more answers {size}"
    return f"{'More' if value > 0 else 'Fewer'} answers {size}"


def _points(value: float) -> str:
    return f"{number(value, 'share apart', signed=True, bare=True)} points"


def flip_rows(flips: AnswerFlips, names: tuple[str, str]) -> list[tuple[str, str, str]]:
    """Shares of identical answers, beside chance and beside what each run repeats itself."""
    shares = flips.shares
    rows = [
        ("the two runs, same trial", *_ends(shares.identical)),
        ("by chance: answers that ignore the picture", _share(flips.chance), DASH),
    ]
    if not math.isnan(shares.between.value[0]):
        rows += [
            ("the two runs, different seeds", *_ends(shares.between)),
            (f"{names[0]} repeated", *_ends(shares.within_first)),
            (f"{names[1]} repeated", *_ends(shares.within_second)),
        ]
    return rows


def _ends(estimate: Estimates) -> tuple[str, str]:
    value, low, high = (float(np.asarray(end)[0]) for end in (estimate.value, estimate.low, estimate.high))
    interval = DASH if math.isnan(low) else f"[{', '.join(number(end, 'share', bare=True) for end in (low, high))}]"
    return _share(value), interval


def _share(value: float) -> str:
    return DASH if math.isnan(value) else number(value, "share")


def shorten_text(text: str, longest: int = _LONGEST) -> str:
    r"""A text in one line, cut at so many characters.

    Examples
    --------
    >>> shorten_text("one\n two three", 8)
    'one two…'
    """
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


_PICTURED, _SIDE = 12, 160
"""Flips that are shown with their pictures, and the longest side of these in pixels."""
_NAMES = 3


def write_comparison(path: Path, comparison: RunComparison) -> None:
    """Write the page of a comparison as one HTML file."""
    write_page(path, comparison_page(comparison))


def comparison_page(comparison: RunComparison) -> PlainPage:
    """Make the page of a comparison."""
    pairs = comparison.pairs
    differing = [pair for pair in pairs if pair.agreement.differing.height]
    several = len(comparison.settings) > 1
    answered = differing or pairs
    sentences = [(f"{pair.study}: " if several else "") + _answer(pair) for pair in answered[:_NAMES]]
    rest = len(answered) - len(sentences)
    more = f"{rest:,} more comparison{'s' if rest > 1 else ''} below." if rest > 0 else ""
    names = list(dict.fromkeys(name for pair in pairs for name in (pair.first, pair.second)))
    return PlainPage(
        "Comparison of",
        " and ".join(names) if len(names) <= _NAMES else f"{len(names)} runs",
        _title(differing),
        sentences[0],
        [*sentences[1:], *([more] if more else []), *comparison.left_out],
        [
            *(section for at, pair in enumerate(pairs) for section in _sections(pair, at, pairs)),
            *_settings(comparison),
        ],
        kind="found" if differing else "nothing",
        notes=list(dict.fromkeys(note for pair in pairs for note in page_cautions(pair.runs))),
    )


def _title(differing: Sequence[ComparedPair]) -> str:
    """Kind of answer, with the caveat of all that differs."""
    caveats = [caveat for pair in differing for caveat in pair.agreement.differing["caveat"]]
    return add_caveat("Difference found", shared_caveat(caveats)) if differing else "No difference found"


def _answer(pair: ComparedPair) -> str:
    sentences = answer(pair.agreement, (pair.first, pair.second)), became_sentence(pair.agreement.differing)
    return " ".join(sentences).strip()


def _settings(comparison: RunComparison) -> Iterator[FoldedSection]:
    contents: list[Content] = []
    for study, settings in comparison.settings.items():
        if settings:
            rows = [[name, *values] for name, values in shown_settings(settings).items()]
            heads = ["Setting", *comparison.names[study]]
            contents.append(TextContent(study, "h3"))
            contents.append(text_table(f"Settings that differ: {study}", heads, rows, numbers=False))
    if contents:
        yield FoldedSection("settings", "Settings that differ", "Each with its value in every run.", contents)


def _sections(pair: ComparedPair, at: int, pairs: tuple[ComparedPair, ...]) -> Iterator[FoldedSection]:
    names = (pair.first, pair.second)
    title = f"{pair.study}: {pair.second} minus {pair.first}" if len(pairs) > 1 else f"{pair.second} minus {pair.first}"
    titles = Titles(pair.runs[0].study.about.titles)
    (difference,) = report_differences(ModelDifferences(pair.first, {pair.second: pair.agreement}), {}, titles)
    became = [became_sentence(pair.agreement.differing)] if pair.agreement.became else []
    yield FoldedSection(f"cells-{at}", title, "Cell by cell, on the questions and pictures of both.", [
        *(TextContent(sentence, "plain") for sentence in (*difference.sentences, *became)),
        *_tables(difference),
        *_ranks(pair),
    ], open=at == 0)  # fmt: skip
    yield FoldedSection(
        f"flips-{at}", f"Answers that changed{f' ({title})' if len(pairs) > 1 else ''}",
        "Single answers to the same question about the same picture.", list(_flips(pair, names)), open=at == 0,
    )  # fmt: skip


def _tables(difference: Difference) -> Iterator[Content]:
    if difference.overall:
        yield text_table("All cells together", OVERALL_HEADS, [_texts(row) for row in difference.overall])
    table = text_table("Cells", CELL_HEADS, [_texts(row, row.first, row.second) for row in difference.cells])
    note = f"the {len(difference.cells)} clearest of {difference.measured:,}"
    yield PartContent("Cells", [table], note=note, fold="open", class_="numbers")


def _texts(row: DifferenceRow, *sides: str) -> list[str]:
    """A row of a table; `sides`: what either run measured."""
    return [row.of, *sides, row.difference, row.interval, row.page, row.p, row.verdict]


def _ranks(pair: ComparedPair) -> Iterator[Content]:
    if pair.ranks:
        yield TextContent("Are effects in the same order?", "h3")
        yield TextContent(rank_sentence(pair.ranks), "plain")
        yield text_table("Correlations of effects", RANK_HEADS, rank_rows(pair.ranks))
        yield TextContent(RANK_NOTE, "small")


def _flips(pair: ComparedPair, names: tuple[str, str]) -> Iterator[Content]:
    if pair.flips is None:
        yield TextContent(pair.why_no_flips, "plain")
        return
    for sentence in flip_sentences(pair.flips, names):
        yield TextContent(sentence, "plain")
    yield text_table("Identical answers", ROW_HEADS, flip_rows(pair.flips, names))
    if pair.telling_flips:
        pictures = tuple(_flip_picture(flip, pair) for flip in pair.telling_flips[:_PICTURED])
        yield PictureRow(f"The most telling flips: {names[0]} → {names[1]}", pictures)
        rows = [
            (
                flip.picture or flip.factors,
                shorten_text(flip.asked),
                shorten_text(flip.first),
                shorten_text(flip.second),
            )
            for flip in pair.telling_flips
        ]
        table = text_table("Flips", ("Picture", "Asked", *names), rows, numbers=False)
        yield PartContent("The same in words", [table], note=f"{len(rows)} flips", fold="closed", class_="numbers")


def _flip_picture(flip: FlipInWords, pair: ComparedPair) -> CaptionedPicture:
    loaded = flip.pictures(pair.runs[0])
    uri = data_uri(loaded.images[0].data, _SIDE) if loaded.images else None
    name = shorten_text(flip.picture or flip.factors, 60)
    return CaptionedPicture(name, uri, loaded.why, f"{shorten_text(flip.first, 60)} → {shorten_text(flip.second, 60)}")


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
        return f"No change was found in {name_cells(total)} over {over}."
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


def cell_rows(history: StudyTrend, limit: int = MOST) -> Iterator[tuple[str, ...]]:
    """Cells as rows of texts."""
    for row in listed_cells(history).head(limit).iter_rows(named=True):
        measure = measure_of(history, row)
        level, apart = unit_name(measure.unit, apart=measure.is_distance), unit_name(measure.unit, apart=True)
        yield (
            cell_name(history, row), number(row["first"], level), number(row["last"], level),
            describe_course(history, row), number(row["change"], apart, signed=True),
            _trend_interval(row["change_low"], row["change_high"], apart),
            _trend_interval(row["page_low"], row["page_high"], apart),
            _trend_interval(row["bound_low"], row["bound_high"], apart),
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


def _trend_interval(low: float | None, high: float | None, unit: str) -> str:
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
    sections = [section for at, history in enumerate(trend.studies) for section in _trend_sections(history, at)]
    notes = dict.fromkeys(note for history in trend.studies for note in page_cautions(history.runs))
    return PlainPage(
        "History of", subject, _verdict(trend), trend_summary(trend), trend.left_out,
        sections, kind="found" if trend.changed else "nothing", notes=list(notes),
    )  # fmt: skip


def _verdict(trend: Trend) -> str:
    """Verdict on whether anything changed, with the caveat of all that did."""
    caveats = [caveat for history in trend.studies for caveat in history.changed["caveat"]]
    return add_caveat("Change found", shared_caveat(caveats)) if trend.changed else "No change found"


def _trend_sections(history: StudyTrend, at: int) -> Iterator[FoldedSection]:
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
