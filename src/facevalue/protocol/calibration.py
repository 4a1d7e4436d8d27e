"""Audits of models whose bias is known: what calibration has in common in all studies."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from facevalue.design import Design, Order
from facevalue.protocol.offers import CalibrationRequest

C = TypeVar("C")
S = TypeVar("S")
A = TypeVar("A")
Array = npt.NDArray[np.float64]
CONDITIONS = ("default", "null", "drift")
"""What is planted: a preset of `models.sim`; "drift": nothing, in a model that drifts while the run lasts."""
DRIFT = 0.3
"""Logits by which it drifts."""


def sized(asked: CalibrationRequest, conditions: Iterable[C]) -> list[tuple[C, int]]:
    """Each condition in each size."""
    return [(condition, size) for condition in conditions for size in asked.sizes]


def audit_each(asked: CalibrationRequest, cases: Sequence[C], audit: Callable[[C], tuple[S, A]]) -> tuple[list[S], A]:
    """Summaries of all cases, and the first audit of the first for a closer look."""
    both = [audit(case) for case in asked.track(cases, "Auditing")]
    return [summary for summary, _ in both], both[0][1]


def named(summaries: Iterable[Any]) -> list[dict[str, Any]]:
    """Summaries as rows of a table for people, by what was planted."""
    rows = [asdict(summary) for summary in summaries]
    return [{**row, "condition": "nothing"} if row["condition"] == "null" else row for row in rows]


def fit(planted: Array, found: Array, least: float = 0.0) -> tuple[float | None, float | None]:
    """Correlation and slope of what was found on what was planted; None where no more than `least` tells these apart.

    Examples
    --------
    >>> fit(np.zeros(3), np.arange(3.0))
    (None, None)
    """
    if not np.ptp(planted) > least:
        return None, None
    return float(np.corrcoef(planted, found)[0, 1]), float(np.polyfit(planted, found, 1)[0])


def asked_at(design: Design, together: Sequence[str], seed: int, *, ordered: bool = True) -> Array:
    """When each trial is asked, from 0 at the first to 1 at the last.

    They are asked in the order of a run or, unless `ordered`, in that of their numbers, as runs once were.
    """
    places = np.arange(design.size)
    if ordered:
        places[np.concatenate(list(Order(design, together, seed).pieces(2**16)))] = np.arange(design.size)
    return places / (design.size - 1)
