"""Intervals as dots and bars, and the tables of numbers behind them."""

from collections.abc import Sequence

from markupsafe import Markup

from facevalue.measures.caveats import add_caveat
from facevalue.measures.definitions import APART, POOLED
from facevalue.measures.verdicts import Verdict
from facevalue.protocol import blocks
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate
from facevalue.report import charts
from facevalue.report.blocks.content import Content, Line, Lines, StripRow, StripsContent, TextContent
from facevalue.report.blocks.view import View
from facevalue.report.formatting import (
    DASH,
    any_missed,
    common_word,
    count,
    in_unit,
    number,
    page_interval,
    share_of_chance,
    tick,
    when_declared,
    worst_case,
)
from facevalue.report.sections.headline import LOOKS, verdict_of, verdict_words

_FAR = 1.5
"""A margin farther out than this many times the rest of a plot is not drawn."""
_KEY = (
    "Dot: value; thick: 95% interval of the row; thin: its interval at the level at which the page judges it, clear of "
    "zero exactly where a difference is found; shaded: where 95 of 100 would lie without any effect; filled or hollow, "
    "and the word: the verdict, explained under How far to trust it."
)
_KEY_UNJUDGED = (
    "Dot: value; bar: 95% interval; shaded: where 95 of 100 would lie without any effect; bold: beyond chance."
)


def strips(block: blocks.Strips, view: View) -> list[Content]:
    """An interval plot, with the numbers behind it."""
    rows = [(of, e) for of in block.of for e in view.rows(of)]
    plot = plot_intervals(view, rows, block)
    if plot is None:
        return wrap_chart(block, [], lines_of(block, view)) if block.empty else []
    if nothing := _nothing(view, [e for _, e in rows if e.value is not None], block):
        return wrap_chart(block, [TextContent(nothing)], lines_of(block, view))
    averaged = "Averaged over the models. " if view.model == POOLED else ""
    key = [TextContent(averaged + (_KEY if plot.judged else _KEY_UNJUDGED))] if block.key else []
    return wrap_chart(block, [*key, plot], lines_of(block, view))


def _nothing(view: View, measurable: Sequence[Estimate], block: blocks.Strips) -> str:
    """A sentence in place of a chart of shares that are all none; empty where there is something to see."""
    unit = measurable[0].written_unit
    none = number(0.0, unit)
    if (
        unit not in ("share", "%", APART)
        or view.is_signed(measurable[0])
        or any(number(e.value, unit) != none for e in measurable)
    ):
        return ""
    place = (
        f"in each of {len(measurable)} rows"
        if len(measurable) > 1
        else f"({view.row_label(block.of[0], measurable[0])})"
    )
    title = _title(view, block, measurable[0])
    high = max((e.high for e in measurable if e.high is not None), default=0.0)
    reach = "" if number(high, unit) == none else f"; no interval reaches beyond {number(high, unit)}"
    return f"{f'{title}: ' if title else ''}{none} {place}{reach}."


def wrap_chart(block: blocks.AnyChart, plots: Sequence[Content], lines: Sequence[Content]) -> list[Content]:
    """A chart with its heading, paragraph, note and numbers; what is said if there is nothing to show."""
    heading: list[Content] = [TextContent(block.heading, "h3")] if block.heading else []
    if not plots:
        return [*heading, TextContent(block.empty, "empty"), *lines] if block.empty else []
    lead = [TextContent(block.lead)] if block.lead else []
    note = [TextContent(block.note, "small")] if block.note else []
    return [*heading, *lead, *plots, *note, *lines]


def lines_of(block: blocks.Strips | blocks.Scatter, view: View) -> list[Content]:
    """The numbers behind a chart."""
    of = block.number_rows(block.of if isinstance(block, blocks.Strips) else (block.x,))
    return numbers(blocks.Numbers(of=of, title=block.numbers, heads=block.heads), view) if block.numbers else []


def numbers(block: blocks.Numbers, view: View) -> list[Content]:
    """A table of numbers; nothing where there are none."""
    views = [view.narrow(model) for model in view.models] if block.every_model else [view]
    pairs = [(labels(model_view, of, e), e) for model_view in views for of in block.of for e in model_view.rows(of)]
    if not pairs:
        return []
    heads = block.heads or _heads(block.of[0], pairs[0][0])
    width = max(len(heads), *(len(texts) for texts, _ in pairs))
    heads = (*heads, *[""] * (width - len(heads)))
    rows = [((*texts, *[""] * (width - len(texts))), e) for texts, e in pairs[: block.most]]
    return [lines(view, block.title, heads, rows)]


def labels(view: View, of: Of, e: Estimate) -> tuple[str, ...]:
    """The columns of labels of a row: those of its form, apart at "|", with its note as one more."""
    note = (view.said(of.note, e),) if of.note else ()
    return (*view.row_label(of, e).split("|"), *note)


def _heads(of: Of, row: tuple[str, ...]) -> tuple[str, ...]:
    names = [name.removesuffix("?").replace("_", " ").capitalize() for name in of.by] or ["Over"]
    return tuple((names + [""] * len(row))[: len(row)]) if len(row) <= len(names) and len(row) > 1 else (
        names[0] if len(names) == 1 else "Of", *[""] * (len(row) - 1)
    )  # fmt: skip


def lines(view: View, title: str, heads: tuple[str, ...], pairs: Sequence[tuple[tuple[str, ...], Estimate]]) -> Lines:
    """A table of numbers from labels and estimates."""
    rows = []
    word = common_word(e.written_unit for _, e in pairs)
    for texts, e in pairs:
        noise = view.numbers.size(e)
        floor = DASH
        if noise is not None and noise.floor_high is not None:
            mean, high = (number(v, noise.written_unit, bare=bool(word)) for v in (noise.floor, noise.floor_high))
            floor = f"{mean} (95%: {high})"
        rows.append(
            Line(
                texts,
                view.value(e, bare=bool(word)),
                view.interval(e),
                page_interval(e, signed=view.is_signed(e)) or DASH,
                count(e.n),
                count(e.clusters),
                share_of_chance(e.p),
                share_of_chance(e.verdict_q),
                floor,
                e.method_words or DASH,
                add_caveat(e.verdict or DASH, e.caveat),
                "never" if any_missed(e) else number(e.mde, e.written_unit, bare=bool(word)),
                worst_case(e, signed=view.is_signed(e)),
                e.why or "",
                e,
            )
        )
    judged = any(e.verdict is not None for _, e in pairs)
    return Lines(
        heads, rows, judged, any(e.has_bounds for _, e in pairs), view.unit_name, title,
        in_unit("Value", [e.written_unit for _, e in pairs]),
    )  # fmt: skip


def plot_intervals(view: View, rows: Sequence[tuple[Of, Estimate]], block: blocks.Strips) -> StripsContent | None:
    """An interval plot of these estimates; None if no row has a value."""
    measurable = [e for _, e in rows if e.value is not None]
    if not measurable:
        return None
    ends = [v for e in measurable for v in (e.value, e.low, e.high, *(_band(view, e) or ())) if v is not None]
    farthest = _FAR * max(map(abs, ends))  # what reaches beyond runs to the edge
    ends += [min(max(v, -farthest), farthest) for e in measurable for v in (e.page_low, e.page_high) if v is not None]
    signed = view.is_signed(measurable[0])
    margin = next((e.margin for e in measurable if e.margin is not None), None)
    margins = () if margin is None else (-margin, margin) if signed else (margin,)
    if margin is not None and margin <= _FAR * max(map(abs, ends)):  # else the lines would push the rest together
        ends += margins
    over = charts.scale(min([*ends, 0.0] if block.zero else ends), max([*ends, 0.0] if block.zero else ends))
    ticks = [tick(t, measurable[0].written_unit, signed=signed) for t in over.ticks]
    word = common_word(e.written_unit for e in measurable)
    out = [_row(view, of, e, block, over, margins, bare=bool(word)) for of, e in rows]
    margin_drawn = margin is not None and over.low <= margin <= over.high
    declared = next((e.declared for e in measurable if e.margin is not None), None)
    unit = measurable[0].written_unit
    words = f"{'±' if signed else ''}{number(margin, unit)}, {when_declared(declared)}" if margin_drawn else ""
    keys = tuple((view.titles.get(block.kinds[1], name), icon) for name, icon in kind_keys(view, block.kinds)) if (
        block.kinds) else ()  # fmt: skip
    judged = any(row.verdict for row in out)
    return StripsContent(
        charts.axis(over, ticks), out, in_unit(block.what, [e.written_unit for e in measurable]), judged, words,
        _title(view, block, rows[0][1]), block.first, keys,
    )  # fmt: skip


def _title(view: View, block: blocks.Strips, e: Estimate) -> str:
    return view.said(block.title, e) if "{" in block.title else block.title


def _row(
    view: View,
    of: Of,
    e: Estimate,
    block: blocks.Strips,
    over: charts.AxisScale,
    margins: Sequence[float],
    *,
    bare: bool,
) -> StripRow:
    verdict = verdict_of(e.verdict)
    shape, class_ = kind_look(view, e, block.kinds) if block.kinds else (0, look(view, e))
    if verdict is not None:
        sign = LOOKS[verdict]
        shape, class_ = shape if block.kinds else sign[0], f"{class_} {sign[1]}"
    text, note = view.label_note(of, e)
    detail = view.detail(e)
    svg = charts.strip(
        over, e.value, e.low, e.high, page=_page(e), band=_band(view, e), margins=margins, shape=shape, class_=class_,
        title=f"{text}: {detail}",
    )  # fmt: skip
    sort = e.value if e.value is not None else float("-inf")
    word, icon = said_verdict(e)
    moved = e.measure == view.numbers.reading.lead and view.numbers.is_moved(e)
    return StripRow(text, note, svg, view.value(e, bare=bare), view.interval(e), detail, sort, moved, word, icon, e)


def _page(e: Estimate) -> tuple[float, float] | None:
    return None if e.page_low is None or e.page_high is None else (e.page_low, e.page_high)


def said_verdict(e: Estimate | None) -> tuple[str, Markup]:
    """An estimate's verdict in words, with its caveat, and its sign; empty for none."""
    verdict = None if e is None else verdict_of(e.verdict)
    return ("", Markup("")) if e is None or verdict is None else (verdict_words(e), verdict_icon(verdict))


def verdict_icon(verdict: Verdict) -> Markup:
    """A verdict's sign, for beside its word."""
    shape, class_ = LOOKS[verdict]
    return Markup('<svg class="key" width="12" height="12" aria-hidden="true">{}</svg>').format(
        charts.mark(50, 6, shape, f"dot {class_}")
    )


def look(view: View, e: Estimate) -> str:
    """The class of a dot: which way it points; for unsigned ones, whether it is above its noise floor."""
    if view.is_signed(e) and e.value is not None:
        return "up" if e.value > 0 else "down"
    if e.verdict is None and e.floor_high is not None and (e.value is None or e.value <= e.floor_high):
        return "within"
    return "plain"


def kind_look(view: View, e: Estimate, kinds: tuple[str, str]) -> tuple[int, str]:
    """Shape and colour by the kind of a label."""
    names = _kinds(view, kinds)
    kind = view.titles.given_wording(f"{kinds[0]}_{kinds[1]}", e[kinds[0]] or "")
    place = names.index(kind) if kind in names else 0
    return place, f"c{place % 4}"


def kind_keys(view: View, kinds: tuple[str, str]) -> list[tuple[str, Markup]]:
    """Shape and colour of each kind."""
    icon = Markup('<svg class="key" width="14" height="14" aria-hidden="true">{}</svg>')
    return [
        (name, icon.format(charts.mark(50, 7, place, f"dot c{place % 4}")))
        for place, name in enumerate(_kinds(view, kinds))
    ]


def _kinds(view: View, kinds: tuple[str, str]) -> list[str]:
    """Kinds of the levels that there are, in the order in which the study has them."""
    present = {view.titles.given_wording(f"{kinds[0]}_{kinds[1]}", level) for level in view.numbers.levels(kinds[0])}
    return [kind for kind in view.titles.levels(kinds[1]) if kind in present]


def _band(view: View, e: Estimate) -> tuple[float, float] | None:
    high = view.numbers.floor(e)
    if high is None:
        return None
    return (-high, high) if view.is_signed(e) else (0.0, high)
