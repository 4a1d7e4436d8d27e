"""Bars of shares, and bars that count."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from facevalue.protocol import blocks, contents
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate
from facevalue.report.blocks.content import BarRow, Bars, Content, Figure, Key, TextContent
from facevalue.report.blocks.intervals import numbers, said_verdict
from facevalue.report.blocks.view import View
from facevalue.report.formatting import in_unit, number, writing
from facevalue.report.markup import tag

_HEIGHT = 26
_LETTER, _BOTH = 5.0, 13.0
"""Least width in percent in which a letter fits, or a letter and a number."""
_TOP, _TALL = 18, 130

Drawn = tuple[str, float | None, str, str]
"""Letter, share in percent, colour and tooltip of a part."""


def stacked(block: blocks.Stacked, view: View) -> list[Content]:
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
    what = in_unit(block.what, [row.of.written for row in bar_rows if row.of is not None]) if block.what else ""
    bar = Bars(block.title, tuple(keys.values()) if block.legend else (), bar_rows, what, block.first, judged)
    behind = (
        numbers(blocks.Numbers(of=block.numbered(block.of), title=block.numbers, heads=block.heads), view)
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
        share = None if e.value is None else (writing(e.written).per * e.value)
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
    return number(value, e.written, bare=True)


_ROUTES = {"exact": "o0", "form": "o1", "synonym": "o2", "range": "o3", "judge": "n1"}
_OTHER = ("n2", "n4", "n5", "n3", "n0", "z")


def one_bar(shares: contents.ShareBar, view: View) -> Bars:
    """Shares of a whole as one bar."""
    order = {name: place for place, name in enumerate(_ROUTES)}
    keys: list[Key] = []
    segments: list[Drawn] = []
    others = 0
    for name, e in sorted(shares.parts, key=lambda pair: order.get(pair[0], len(order))):
        look = _ROUTES.get(name)
        if look is None:
            look, others = _OTHER[others % len(_OTHER)], others + 1
        letter = chr(ord("A") + len(keys) % 26)
        keys.append(Key(letter, f"{name} ({view.value(e)})", look))
        share = None if e.value is None else 100 * e.value
        segments.append((letter, share, look, f"{name}: {view.detail(e, brief=True)}"))
    row = BarRow(shares.label, bar(segments, shares.title), "", "", "", "", Markup(""), "", shares.parts)
    return Bars(shares.title, tuple(keys), [row], "", "", judged=False)


def bar(segments: Sequence[Drawn], label: str) -> Markup | None:
    """Draw a bar; None if no part is known."""
    if not any(share is not None for _, share, _, _ in segments):
        return None
    shapes, start = [], 0.0
    for letter, value, look, title in segments:
        share = min(value or 0.0, 100.0 - start)
        if share <= 0:
            continue
        rect = tag("rect", x=f"{start:.2f}%", y=3, width=f"{share:.2f}%", height=_HEIGHT - 6, class_=f"part {look}")
        children: list[Markup] = [tag("title", title), rect]
        if share >= _LETTER:
            text = f"{letter} {share:.0f}" if share >= _BOTH else letter
            middle = f"{start + share / 2:.2f}%"
            children.append(tag("text", text, x=middle, y=17, text_anchor="middle", class_=f"parttext {look}"))
        shapes.append(tag("g", *children))
        start += share
    return tag("svg", *shapes, class_="strip", width="100%", height=_HEIGHT, role="img", aria_label=label)


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
    sentence = (
        f"{above:,} of {len(values):,} {block.what} have {number(block.flag, measurable[0].written, bare=True)} or more"
    )
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
            rect = tag("rect", x=f"{index * wide + 0.4:.2f}%", y=y, width=f"{wide - 0.8:.2f}%", height=tall,
                        class_=f"countbar {side}")  # fmt: skip
            text = tag("text", f"{count:,}", x=f"{(index + 0.5) * wide:.2f}%", y=y - 4,
                       text_anchor="middle", class_="tick")  # fmt: skip
            until = "" if index == size - 1 else f" up to {low + block.step:.2f}"
            shapes.append(tag("g", tag("title", f"{low:.2f}{until}: {count:,}"), rect, text))
        if abs(low - round(low)) < 1e-9:
            shapes.append(tag("text", f"{low:g}", x=f"{(index + 0.5) * wide:.2f}%", y=_TOP + _TALL + 16,
                             text_anchor="middle", class_="tick"))  # fmt: skip
    edge = f"{(block.flag - block.low) / block.step * wide:.2f}%"
    shapes.append(tag("line", x1=edge, y1=4, x2=edge, y2=_TOP + _TALL, class_="margin"))
    shapes.append(tag("line", x1="0", y1=_TOP + _TALL, x2="100%", y2=_TOP + _TALL, class_="zero"))
    label = f"{len(values):,} {block.what}; {block.title.lower()}"
    return tag("svg", *shapes, class_="plot", width="100%", height=_TOP + _TALL + 24, role="img", aria_label=label)
