"""Mirrors: estimates of two groups that tell one difference from either side, value and interval negated."""

from collections.abc import Sequence
from dataclasses import replace
from math import isclose
from typing import Any

from facevalue.protocol.lookup import Estimate

_OPPOSITES = {
    "value": "value", "low": "high", "high": "low", "page_low": "page_high", "page_high": "page_low",
    "bound_low": "bound_high", "bound_high": "bound_low",
}  # fmt: skip
"""Numbers of an estimate, each with the one that it is the negative of where the two groups change places."""
_COMPARED = ("value", "low", "high")
_ABSOLUTE, _RELATIVE = 1e-9, 1e-6


def negative_of(estimate: Estimate) -> Estimate:
    """The negative of an estimate: the same difference, told of the other group.

    Examples
    --------
    >>> other = negative_of(Estimate("gap", "m", value=0.25, low=0.125, high=0.5))
    >>> other.value, other.low, other.high
    (-0.25, -0.5, -0.125)
    """
    numbers: dict[str, Any] = {
        name: None if (end := getattr(estimate, opposite)) is None else -end for name, opposite in _OPPOSITES.items()
    }
    return replace(estimate, **numbers)


def mirror_of(e: Estimate, rows: Sequence[Estimate], form: str) -> Estimate | None:
    """Of some estimates the one that tells the same difference from the side of the other group; None without one.

    The group is what `form` names ("{group}"): there are two of it, or two labels have changed places.

    Examples
    --------
    >>> she = Estimate("gap", "m", {"group": "female"}, value=0.25, low=0.125, high=0.5)
    >>> he = Estimate("gap", "m", {"group": "male"}, value=-0.25, low=-0.5, high=-0.125)
    >>> mirror_of(she, [she, he], "{group}") is he, mirror_of(she, [she, he], "{job}") is he
    (True, False)
    >>> third = Estimate("gap", "m", {"group": "other"}, value=0.0, low=-0.1, high=0.1)
    >>> mirror_of(she, [she, he, third], "{group}") is None
    True
    """
    if not e.value:
        return None
    negative = negative_of(e)
    return next((other for other in rows if _is_same(negative, other) and _changes_places(e, other, rows, form)), None)


def _is_same(e: Estimate, other: Estimate) -> bool:
    """Whether two estimates of one measure have the same value and interval."""
    if (e.measure, e.model) != (other.measure, other.model):
        return False
    pairs = ((getattr(e, name), getattr(other, name)) for name in _COMPARED)
    return all(
        a is b if a is None or b is None else isclose(a, b, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE) for a, b in pairs
    )


def _changes_places(e: Estimate, other: Estimate, rows: Sequence[Estimate], form: str) -> bool:
    """Whether two estimates are of the two sides of one comparison of groups."""
    names = [name for name in {**e.labels, **other.labels} if e[name] != other[name]]
    if not any(f"{{{name}}}" in form or f"{{{name}:" in form for name in names):
        return False
    if len(names) == 2:
        return e[names[0]] == other[names[1]] and e[names[1]] == other[names[0]]
    levels = {row[names[0]] for row in rows if row.measure == e.measure and _rest(row, names[0]) == _rest(e, names[0])}
    return len(names) == 1 and len(levels) == 2


def _rest(e: Estimate, name: str) -> dict[str, str]:
    """Labels of an estimate but one."""
    return {label: level for label, level in e.labels.items() if label != name and level is not None}
