"""Plots: scatter, cumulative curves, agreement of models, lines between choices."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from markupsafe import Markup

from facevalue.measures.definitions import POOLED
from facevalue.protocol import blocks, contents
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate
from facevalue.report import charts
from facevalue.report.blocks.content import BarRow, Bars, Content, Figure, Key, PartContent, TextContent
from facevalue.report.blocks.intervals import kind_look, lines_of, numbers, said_verdict, wrap_chart
from facevalue.report.blocks.view import View
from facevalue.report.formatting import NOT_MEASURABLE, html_element, in_unit, number, writing

# Bars of shares, and bars that count.


_HEIGHT = 26
_LETTER, _BOTH = 5.0, 13.0
"""Least width in percent in which a letter fits, or a letter and a number."""
_TOP, _TALL = 18, 130

Drawn = tuple[str, float | None, str, str]
"""Letter, share in percent, colour and tooltip of a part."""


def stacked_bars(block: blocks.Stacked, view: View) -> list[Content]:
    """Bars of shares, one per set of labels, under one legend."""
    rows = [(of, e) for of in block.of for e in view.rows(of)]
    if not rows:
        return [TextContent(block.empty, "empty")] if block.empty else []
    keys = _legend(block, view, rows)
    bars: dict[str, list[Estimate]] = {}
    for of, e in rows:
        bars.setdefault(view.row_label(of, e), []).append(e)
    beside_rows = {view.row_label(block.beside, e): e for e in view.rows(block.beside)} if block.beside else {}
    bar_rows = [_row(view, block, label, estimates, keys, beside_rows.get(label)) for label, estimates in bars.items()]
    judged = any(row.verdict for row in bar_rows)
    heading: list[Content] = [TextContent(block.heading, "h4")] if block.heading else []
    lead: list[Content] = [TextContent(block.lead)] if block.lead else []
    units = [row.of.written_unit for row in bar_rows if row.of is not None]
    what = in_unit(block.what, units) if block.what and units else ""  # no column where nothing stands beside a bar
    bar = Bars(block.title, tuple(keys.values()) if block.legend else (), bar_rows, what, block.first, judged)
    behind = (
        numbers(blocks.Numbers(of=block.number_rows(block.of), title=block.numbers, heads=block.heads), view)
        if block.numbers
        else []
    )
    return [*heading, *lead, bar, *behind]


def _part(block: blocks.Stacked, e: Estimate) -> str:
    return e[block.part] or ""


def _legend(block: blocks.Stacked, view: View, rows: Sequence[tuple[Of, Estimate]]) -> dict[str, Key]:
    """A letter and a colour of each part, in the order of the declaration or of the estimates."""
    seen = list(dict.fromkeys([_part(block, e) for _, e in rows]))
    levels = [*(name for name in block.parts if name in seen), *(name for name in seen if name not in block.parts)]
    ordered = block.ordered is not None and rows[0][1][block.ordered[0]] in block.ordered[1]
    looks = classes(len(levels), ordered=ordered)
    keys = {}
    for place, (level, look) in enumerate(zip(levels, looks, strict=True)):
        text, style = block.parts.get(level, ("", ""))
        title = text or (level if block.plain else view.titles.get(block.part, level))
        letter = title[:1].upper() if block.initials else chr(ord("A") + place % 26)
        keys[level] = Key(letter, title, style or look)
    return keys


def _row(
    view: View, block: blocks.Stacked, label: str, estimates: Sequence[Estimate], keys: Mapping[str, Key],
    measured: Estimate | None,
) -> BarRow:  # fmt: skip
    order = list(keys)
    segments = []
    for e in sorted(estimates, key=lambda e: order.index(_part(block, e))):
        key = keys[_part(block, e)]
        share = None if e.value is None else (writing(e.written_unit).per * e.value)
        segments.append((key.letter, share, key.class_, f"{key.text}: {view.detail(e, brief=True)}"))
    summary = ", ".join(f"{keys[_part(block, e)].text} {view.value(e)}" for e in estimates if e.value)
    svg = bar(segments, f"{label}: {summary}")
    pairs = tuple((_part(block, e), e) for e in estimates)
    if measured is None and block.first_beside:
        measured = next((e for e in estimates if _part(block, e) == block.first_beside), None)
    if measured is None:
        return BarRow(label, svg, "", "", "", "", Markup(""), "", pairs)
    word, icon = said_verdict(measured)
    high = measured.floor_high
    floor = "" if high is None else f"{_bare(measured.floor, measured)}, 95% below {_bare(high, measured)}"
    return BarRow(
        label, svg, view.value(measured, bare=True), view.interval(measured), floor, word, icon, view.detail(measured),
        pairs, measured,
    )  # fmt: skip


def _bare(value: float | None, e: Estimate) -> str:
    return number(value, e.written_unit, bare=True)


def bar(segments: Sequence[Drawn], label: str) -> Markup | None:
    """Draw a bar; None if no part is known."""
    if not any(share is not None for _, share, _, _ in segments):
        return None
    shapes, start = [], 0.0
    for letter, value, look, title in segments:
        share = min(value or 0.0, 100.0 - start)
        if share <= 0:
            continue
        rect = html_element(
            "rect", x=f"{start:.2f}%", y=3, width=f"{share:.2f}%", height=_HEIGHT - 6, class_=f"part {look}"
        )
        children: list[Markup] = [html_element("title", title), rect]
        if share >= _LETTER:
            text = f"{letter} {share:.0f}" if share >= _BOTH else letter
            middle = f"{start + share / 2:.2f}%"
            children.append(html_element("text", text, x=middle, y=17, text_anchor="middle", class_=f"parttext {look}"))
        shapes.append(html_element("g", *children))
        start += share
    return html_element("svg", *shapes, class_="strip", width="100%", height=_HEIGHT, role="img", aria_label=label)


def classes(size: int, *, ordered: bool) -> list[str]:
    """Colours of so many choices: steps of one colour where they have an order, else different ones.

    Examples
    --------
    >>> classes(4, ordered=True), classes(3, ordered=False)
    (['o0', 'o2', 'o3', 'o5'], ['n0', 'n1', 'n2'])
    """
    if not ordered:
        return [f"n{place % 6}" for place in range(size)]
    return [f"o{round(place * 5 / max(size - 1, 1))}" for place in range(size)]


def distribution(block: blocks.Distribution, view: View) -> list[Content]:
    """Make a histogram of estimates."""
    measurable = [e for e in view.rows(block.of) if e.value is not None]
    if not measurable:
        return [TextContent(block.empty, "empty")] if block.empty else []
    enough = [e for e in measurable if (e.n or 0) >= block.least]
    values = [e.value for e in enough if e.value is not None]
    above = sum(v >= block.flag for v in values)
    flag = number(block.flag, measurable[0].written_unit, bare=True)
    sentence = f"{above:,} of {len(values):,} {block.what} have {flag} or more"
    few = len(measurable) - len(enough)
    sentence += f"; {few:,} with fewer than {block.least} observations are left out." if few else "."
    svg = histogram(values, block)
    if svg is None:
        return [TextContent(sentence, "empty")]
    return [Figure(block.title, sentence, svg, tuple(enough), narrow=True)]


def histogram(values: Sequence[float], block: blocks.Distribution) -> Markup | None:
    """Draw how many values lie where; None of none. A bar counts those from its own mark up to the next."""
    if not values:
        return None
    size = round((block.high - block.low) / block.step) + 1
    counts = [0] * size
    for value in values:
        counts[min(int((value - block.low) / block.step + 1e-9), size - 1)] += 1
    wide = 100 / size
    shapes = []
    for index, count in enumerate(counts):
        low = block.low + index * block.step
        tall = round(_TALL * count / max(counts), 1)
        side = "marked" if low >= block.flag - 1e-9 else "sound"
        if count:
            y = _TOP + _TALL - tall
            rect = html_element("rect", x=f"{index * wide + 0.4:.2f}%", y=y, width=f"{wide - 0.8:.2f}%", height=tall,
                        class_=f"countbar {side}")  # fmt: skip
            text = html_element("text", f"{count:,}", x=f"{(index + 0.5) * wide:.2f}%", y=y - 4,
                       text_anchor="middle", class_="tick")  # fmt: skip
            until = "" if index == size - 1 else f" up to {low + block.step:.2f}"
            shapes.append(html_element("g", html_element("title", f"{low:.2f}{until}: {count:,}"), rect, text))
        if abs(low - round(low)) < 1e-9:
            shapes.append(html_element("text", f"{low:g}", x=f"{(index + 0.5) * wide:.2f}%", y=_TOP + _TALL + 16,
                             text_anchor="middle", class_="tick"))  # fmt: skip
    edge = f"{(block.flag - block.low) / block.step * wide:.2f}%"
    shapes.append(html_element("line", x1=edge, y1=4, x2=edge, y2=_TOP + _TALL, class_="margin"))
    shapes.append(html_element("line", x1="0", y1=_TOP + _TALL, x2="100%", y2=_TOP + _TALL, class_="zero"))
    label = f"{len(values):,} {block.what}; {block.title.lower()}"
    return html_element(
        "svg", *shapes, class_="plot", width="100%", height=_TOP + _TALL + 24, role="img", aria_label=label
    )


_ROW, _LEFT, _RIGHT = 40, 40, 60
_CUT = 22


def scatter(block: blocks.Scatter, view: View) -> list[Content]:
    """Two measures of the same cells against each other; nothing for fewer than three."""
    pairs = [(e, partner) for e in view.rows(block.x) if (partner := view.beside(block.y, e)) is not None]
    measurable = [(e, o) for e, o in pairs if e.value is not None and o.value is not None]
    if len(measurable) < 3:
        return []
    measurable.sort(key=lambda pair: -abs(pair[1].value or 0.0))
    points = []
    for place, (e, partner) in enumerate(measurable):
        up = (partner.value or 0.0) + (e.value or 0.0) * block.added
        title = f"{view.row_label(block.x, e)}: {view.measure_title(e)} {view.value(e)}, "
        title += f"{view.measure_title(partner)} {view.value(partner)} {view.interval(partner)}"
        if partner.floor is not None:
            title += f", by chance {number(partner.floor, partner.written_unit)}"
        label = view.said(block.label or block.x.label, e) if place < block.labelled else ""
        shape = kind_look(view, e, block.kinds)[0] if block.kinds else 0
        points.append(charts.Point(e.value or 0.0, up, title, label, shape))
    xs, ys = [p.x for p in points], [p.y for p in points]
    units = (measurable[0][0].written_unit, measurable[0][1].written_unit)
    if block.added:
        scale = charts.scale(min(xs + ys), max(xs + ys), 6)
        plot = charts.scatter(points, scale, scale, block.names, units, diagonal=True)
    else:
        x, y = charts.scale(min([*xs, 0.0]), max([*xs, 0.0]), 6), charts.scale(0.0, max(ys), 5)
        plot = charts.scatter(points, x, y, block.names, units)
    words = ""
    if block.beside:
        words = "; ".join(f"{view.value(e)} {view.interval(e)}" for e in view.rows(block.beside))
        words = f"r = {words}; line: no difference" if words else ""
    figure = Figure(block.title, words, plot, tuple(e for pair in measurable for e in pair))
    return wrap_chart(block, [figure], lines_of(block, view))


def cumulative(block: blocks.Cumulative, view: View) -> list[Content]:
    """Plot how a total adds up, largest part first."""
    steps = view.find(block.count)
    of = block.pooled if block.pooled and view.model == POOLED else block.of
    rows = view.rows(of)
    measurable = sorted((e for e in rows if e.value is not None), key=lambda e: -(e.value or 0.0))
    lead: list[Content] = [TextContent(_describe_concentration(block, view, steps, len(rows)))]
    total = sum(e.value or 0.0 for e in measurable)
    if len(measurable) < 2 or total <= 0:
        return lead
    shares = [running / total for running in accumulate(e.value or 0.0 for e in measurable)]
    titles = [
        f"{i + 1}. {view.row_label(of, e)}: {view.value(e)}; {s:.0%} so far"
        for i, (e, s) in enumerate(zip(measurable, shares, strict=True))
    ]
    reached = (None, None, None) if steps is None else (steps.value, steps.low, steps.high)
    plot = charts.cumulative(shares, titles, reached, (block.noun, block.total))
    note = f"Dark: {block.noun} needed to reach 80% (dashed line). Shaded: 95% interval of their number. {block.note}"
    single = blocks.Numbers(of=(Of(block.count, label="{measure}"),), title="The number behind this chart",
                            heads=("Measure",))  # fmt: skip
    return [*lead, Figure("", "", plot, tuple(measurable)), TextContent(note.strip(), "small"), *numbers(single, view)]


def _describe_concentration(block: blocks.Cumulative, view: View, e: Estimate | None, total: int) -> str:
    if e is None or e.value is None:
        return "How concentrated the effects are is not measurable."
    averaged = ", averaged over the models" if view.model == POOLED else ""
    text = f"{view.value(e, bare=True)} {view.interval(e)} of {total} {block.noun}"
    text += f" make up 80% of the total {block.total}{averaged}."
    if e.floor is not None:
        chance = number(round(e.floor, 1), e.written_unit, bare=True)
        text += f" Without any effect it would be about {chance}: fewer than that is concentration."
    return text


def agreement(block: blocks.Agreement, view: View) -> list[Content]:
    """A plot for each two models."""
    models = list(view.models)
    pairs = [figures for i, model in enumerate(models) for second in models[i + 1 :]
             if (figures := _pair(block, view, model, second))]  # fmt: skip
    if not pairs:
        return []
    heading: list[Content] = [TextContent(block.heading, "h3")] if block.heading else []
    lead: list[Content] = [TextContent(block.lead)] if block.lead else []
    first, rest = ([content for pair in group for content in pair] for group in (pairs[:3], pairs[3:]))
    return [*heading, *lead, *first, *([PartContent("More pairs of models", rest)] if rest else [])]


def _pair(block: blocks.Agreement, view: View, first: str, second: str) -> list[Content]:
    firsts = {view.row_label(block.of, e): e for e in view.narrow(first).rows(block.of) if e.value is not None}
    seconds = {view.row_label(block.of, e): e for e in view.narrow(second).rows(block.of) if e.value is not None}
    points = [
        charts.Point(
            a.value or 0.0, b.value or 0.0, f"{name}: {view.value(a)} and {view.value(b)}",
            view.said(block.dot or block.of.label, a), kind_look(view, a, block.kinds)[0] if block.kinds else 0,
        )
        for name, a in firsts.items() if (b := seconds.get(name)) is not None
    ]  # fmt: skip
    if len(points) < 3:
        return []
    ends = [v for p in points for v in (p.x, p.y)]
    scale, unit = charts.scale(min(ends), max(ends), 6), next(iter(firsts.values())).written_unit
    loud = sorted(points, key=lambda p: -abs(p.x) - abs(p.y))[:7]
    labelled = [p if p in loud else charts.Point(p.x, p.y, p.title, "", p.group) for p in points]
    summaries = [(name, _of_pair(view, measure, first, second), _of_pair(view, free, first, second))
             for name, measure, free in block.summed]  # fmt: skip
    line = next((e.value for name, e, _ in summaries if name == "slope" and e is not None), None)
    plot = charts.scatter(labelled, scale, scale, (first, second), (unit, unit), line=line)
    words = "; ".join(_describe_sum(view, name, e, free) for name, e, free in summaries)
    title = f"{second} against {first}"
    contents: list[Content] = [Figure(title, words, plot, (*firsts.values(), *seconds.values()))]
    if block.smaller:
        name, of = block.smaller
        selections = tuple(Of(o.measure, o.by, {**o.where, "other_model": first}, label=o.label) for o in of)
        table = blocks.Numbers(of=selections, title=f"{name}: {title}", heads=block.smaller_heads)
        contents += numbers(table, view.narrow(second))
    return contents


def _of_pair(view: View, measure: str, first: str, second: str) -> Estimate | None:
    """A measure of two models, whichever of them comes first."""
    return view.narrow(second).find(measure, other_model=first) or view.narrow(first).find(measure, other_model=second)


def _describe_sum(view: View, name: str, published: Estimate | None, corrected: Estimate | None) -> str:
    if published is None or published.value is None:
        return f"{name} {(published and published.method_words) or NOT_MEASURABLE}"
    text = f"{name} = {view.value(published)}"
    if published.floor_high is not None:
        text += f" (by chance up to {number(published.floor_high, published.written_unit)} either way)"
    if corrected is not None and corrected.value is not None:
        text += f", without the part of chance {view.value(corrected)} {view.interval(corrected)}"
    return text


def links(chart: contents.Links) -> Figure | None:
    """Draw lines from what is on the left to what is on the right, wider for larger ones; None for fewer than two."""
    if len(chart.lines) < 2:
        return None
    left = list(dict.fromkeys(line.left for line in chart.lines))
    right = list(dict.fromkeys(line.right for line in chart.lines))
    right.sort(key=lambda node: _middle(node, chart.lines, left))
    height = _ROW * max(len(left), len(right)) + 6
    places = [
        {node: (index + 0.5) * (height - 6) / len(nodes) for index, node in enumerate(nodes)} for nodes in (left, right)
    ]
    largest = max(line.size for line in chart.lines) or 1.0
    shapes = []
    for line in chart.lines:
        y1, y2 = places[0][line.left], places[1][line.right]
        width = round(1 + 5 * line.size / largest, 1)
        edge = html_element("line", x1=f"{_LEFT}%", y1=f"{y1:.1f}", x2=f"{_RIGHT}%", y2=f"{y2:.1f}", stroke_width=width,
                    class_="edge")  # fmt: skip
        shapes.append(html_element("g", html_element("title", line.tooltip), edge))
    for nodes, x, anchor in ((places[0], f"{_LEFT - 1}%", "end"), (places[1], f"{_RIGHT + 1}%", "start")):
        for (above, name), y in nodes.items():
            shapes.append(html_element("text", _cut(above), x=x, y=f"{y - 3:.1f}", text_anchor=anchor, class_="tick"))
            shapes.append(html_element("text", _cut(name), x=x, y=f"{y + 11:.1f}", text_anchor=anchor, class_="node"))
    label = f"{len(chart.lines)} {chart.what}; the table has their numbers."
    svg = html_element("svg", *shapes, class_="plot", width="100%", height=height, role="img", aria_label=label)
    return Figure(chart.title, chart.note, svg, narrow=True)


def _middle(node: tuple[str, str], lines: Sequence[contents.Link], left: Sequence[tuple[str, str]]) -> float:
    """Return the mean place at which the lines of a node begin on the other side, so that few of them cross."""
    places = [left.index(line.left) for line in lines if line.right == node]
    return sum(places) / len(places)


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else f"{text[: _CUT - 1]}…"


def ring(look: str, size: float, title: str) -> Markup:
    """A round mark, the larger the size in [0, 1]."""
    circle = html_element("circle", cx=13, cy=13, r=f"{4 + 7 * min(size, 1.0):.1f}", class_=f"part kl {look}")
    return html_element("svg", html_element("title", title), circle, width=26, height=26, class_="klmark", role="img")
