"""Plots: scatter, cumulative curves, agreement of models, lines between choices."""

from collections.abc import Sequence
from itertools import accumulate

from markupsafe import Markup

from facevalue.measures.definitions import POOLED
from facevalue.protocol import blocks, contents
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate
from facevalue.report import charts
from facevalue.report.blocks.content import Content, Figure, PartContent, TextContent
from facevalue.report.blocks.intervals import kind_look, lines_of, numbers, wrapped
from facevalue.report.blocks.view import View
from facevalue.report.formatting import NOT_MEASURABLE, number
from facevalue.report.markup import tag

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
            title += f", by chance {number(partner.floor, partner.written)}"
        label = view.said(block.label or block.x.label, e) if place < block.labelled else ""
        shape = kind_look(view, e, block.kinds)[0] if block.kinds else 0
        points.append(charts.Point(e.value or 0.0, up, title, label, shape))
    xs, ys = [p.x for p in points], [p.y for p in points]
    units = (measurable[0][0].written, measurable[0][1].written)
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
    return wrapped(block, [figure], lines_of(block, view))


def cumulative(block: blocks.Cumulative, view: View) -> list[Content]:
    """Plot how a total adds up, largest part first."""
    steps = view.one(block.count)
    of = block.pooled if block.pooled and view.model == POOLED else block.of
    rows = view.rows(of)
    measurable = sorted((e for e in rows if e.value is not None), key=lambda e: -(e.value or 0.0))
    lead: list[Content] = [TextContent(_concentrated(block, view, steps, len(rows)))]
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


def _concentrated(block: blocks.Cumulative, view: View, e: Estimate | None, total: int) -> str:
    if e is None or e.value is None:
        return "How concentrated the effects are is not measurable."
    averaged = ", averaged over the models" if view.model == POOLED else ""
    text = f"{view.value(e, bare=True)} {view.interval(e)} of {total} {block.noun}"
    text += f" make up 80% of the total {block.total}{averaged}."
    if e.floor is not None:
        chance = number(round(e.floor, 1), e.written, bare=True)
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
    firsts = {view.row_label(block.of, e): e for e in view.at(first).rows(block.of) if e.value is not None}
    seconds = {view.row_label(block.of, e): e for e in view.at(second).rows(block.of) if e.value is not None}
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
    scale, unit = charts.scale(min(ends), max(ends), 6), next(iter(firsts.values())).written
    loud = sorted(points, key=lambda p: -abs(p.x) - abs(p.y))[:7]
    labelled = [p if p in loud else charts.Point(p.x, p.y, p.title, "", p.group) for p in points]
    summaries = [(name, _of_pair(view, measure, first, second), _of_pair(view, free, first, second))
             for name, measure, free in block.summed]  # fmt: skip
    line = next((e.value for name, e, _ in summaries if name == "slope" and e is not None), None)
    plot = charts.scatter(labelled, scale, scale, (first, second), (unit, unit), line=line)
    words = "; ".join(_summed(view, name, e, free) for name, e, free in summaries)
    title = f"{second} against {first}"
    contents: list[Content] = [Figure(title, words, plot, (*firsts.values(), *seconds.values()))]
    if block.smaller:
        name, of = block.smaller
        selections = tuple(Of(o.measure, o.by, {**o.where, "other_model": first}, label=o.label) for o in of)
        table = blocks.Numbers(of=selections, title=f"{name}: {title}", heads=block.smaller_heads)
        contents += numbers(table, view.at(second))
    return contents


def _of_pair(view: View, measure: str, first: str, second: str) -> Estimate | None:
    """A measure of two models, whichever of them comes first."""
    return view.at(second).one(measure, other_model=first) or view.at(first).one(measure, other_model=second)


def _summed(view: View, name: str, published: Estimate | None, corrected: Estimate | None) -> str:
    if published is None or published.value is None:
        return f"{name} {(published and published.method_words) or NOT_MEASURABLE}"
    text = f"{name} = {view.value(published)}"
    if published.floor_high is not None:
        text += f" (by chance up to {number(published.floor_high, published.written)} either way)"
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
        edge = tag("line", x1=f"{_LEFT}%", y1=f"{y1:.1f}", x2=f"{_RIGHT}%", y2=f"{y2:.1f}", stroke_width=width,
                    class_="edge")  # fmt: skip
        shapes.append(tag("g", tag("title", line.said), edge))
    for nodes, x, anchor in ((places[0], f"{_LEFT - 1}%", "end"), (places[1], f"{_RIGHT + 1}%", "start")):
        for (above, name), y in nodes.items():
            shapes.append(tag("text", _cut(above), x=x, y=f"{y - 3:.1f}", text_anchor=anchor, class_="tick"))
            shapes.append(tag("text", _cut(name), x=x, y=f"{y + 11:.1f}", text_anchor=anchor, class_="node"))
    label = f"{len(chart.lines)} {chart.what}; the table has their numbers."
    svg = tag("svg", *shapes, class_="plot", width="100%", height=height, role="img", aria_label=label)
    return Figure(chart.title, chart.note, svg, narrow=True)


def _middle(node: tuple[str, str], lines: Sequence[contents.Link], left: Sequence[tuple[str, str]]) -> float:
    """Return the mean place at which the lines of a node begin on the other side, so that few of them cross."""
    places = [left.index(line.left) for line in lines if line.right == node]
    return sum(places) / len(places)


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else f"{text[: _CUT - 1]}…"


def ring(look: str, size: float, title: str) -> Markup:
    """A round mark, the larger the size in [0, 1]."""
    circle = tag("circle", cx=13, cy=13, r=f"{4 + 7 * min(size, 1.0):.1f}", class_=f"part kl {look}")
    return tag("svg", tag("title", title), circle, width=26, height=26, class_="klmark", role="img")
