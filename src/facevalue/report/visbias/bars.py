"""Bars of shares: one bar of the whole width per group, each choice a part of it with its letter and share."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from facevalue.report.markup import tag

_HEIGHT = 26
_LETTER, _BOTH = 5.0, 13.0
"""Least width in percent in which a letter fits, or a letter and a number."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar.

    Attributes
    ----------
    letter:
        Which choice.
    share:
        In percent; None for not measurable.
    class_:
        Its colour.
    title:
        Tooltip.
    """

    letter: str
    share: float | None
    class_: str
    title: str


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of the legend."""

    letter: str
    text: str
    class_: str


def bar(parts: Sequence[Part], label: str) -> Markup | None:
    """Draw a bar; None if no part is known.

    Parameters
    ----------
    parts:
        In the order of the choices.
    label:
        What it shows, for those who can't see it.
    """
    if not any(part.share is not None for part in parts):
        return None
    drawn, at = [], 0.0
    for part in parts:
        share = min(part.share or 0.0, 100.0 - at)
        if share <= 0:
            continue
        rect = tag("rect", x=f"{at:.2f}%", y=3, width=f"{share:.2f}%", height=_HEIGHT - 6, class_=f"part {part.class_}")
        children: list[Markup] = [tag("title", part.title), rect]
        if share >= _LETTER:
            text = f"{part.letter} {share:.0f}" if share >= _BOTH else part.letter
            middle = f"{at + share / 2:.2f}%"
            children.append(tag("text", text, x=middle, y=17, text_anchor="middle", class_=f"parttext {part.class_}"))
        drawn.append(tag("g", *children))
        at += share
    return tag("svg", *drawn, class_="strip", width="100%", height=_HEIGHT, role="img", aria_label=label)


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
