"""Drift card: whether the model changed during the run, in one direction or to and fro."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite

import polars as pl

from facevalue.measures.definitions import SHARES, Measure, key_of
from facevalue.measures.instrument import DRIFT, WAVERING
from facevalue.protocol.lookup import Estimate, EstimateIndex
from facevalue.report.checks import Card, CardStatus
from facevalue.report.data import RunFacts
from facevalue.report.formatting import NOT_MEASURABLE, interval, number

ALPHA = 0.05
_SCALES = (*SHARES, "", "1", "score", "points", "1 or 0")
"""Units of scales, of which a drift is told in points of a hundred."""
_TITLE = "Drift while the run lasted"
_ORDER = (
    "What is compared was asked together, question by question and in an order drawn by seed, so that a change with "
    "time adds noise to every number and moves none of them to one side."
)
_WITHIN = "Change from the first to the last answer, and SD of slow waves beyond chance, within the same questions."


def drift_card(
    numbers: EstimateIndex, runs: Sequence[RunFacts], measures: Mapping[str, Measure] | None = None
) -> list[Card]:
    """Say for each model whether its answers drifted, or why that can't be told.

    `measures`: their definitions, by which numbers with a unit are told in it.
    """
    rows_by_model = {run.model: [in_own_unit(e, measures or {}) for e in _rows(numbers, run.model)] for run in runs}
    if not any(rows_by_model.values()):
        return []
    moved = {
        model: [e for e in rows if e.p is not None and e.p * sum(o.p is not None for o in rows) < ALPHA]
        for model, rows in rows_by_model.items()
    }
    unknown = [run for run in runs if not any(e.value is not None for e in rows_by_model[run.model])]
    many = len(runs) > 1
    lines = [
        f"{model + ': ' if many else ''}{_what(e)} {number(e.value, e.written, signed=_signed(e))} "
        f"{interval(e, signed=_signed(e))}"
        for model, rows in rows_by_model.items() for e in rows if e.value is not None
    ]  # fmt: skip
    lines += [f"{run.model + ': ' if many else ''}{_why(rows_by_model[run.model])}" for run in unknown]
    note = f"{_WITHIN} {_ORDER}"
    if sum(run.replayed for run in unknown) == len(runs):
        note = "Recorded answers are replayed: when each was given, and in which order, is not known."
    clear = [model for model, rows in moved.items() if rows]
    if clear:
        value = "Found" + (f": {', '.join(clear)}" if many else "")
    else:
        value = NOT_MEASURABLE if len(unknown) == len(runs) else "None found"
    status = CardStatus.CAUTION if clear else CardStatus.NOTE if unknown else CardStatus.OK
    return [Card("drift", _TITLE, value[:1].upper() + value[1:], note, status, tuple(lines))]


def _rows(numbers: EstimateIndex, model: str) -> list[Estimate]:
    return list(numbers.where(pl.col("measure").is_in([DRIFT.name, WAVERING.name]) & (pl.col("model") == model)))


def in_own_unit(e: Estimate, measures: Mapping[str, Measure]) -> Estimate:
    """Drift of a number with a unit, in it: it is measured as a share of the scale. Of others, as it is.

    Examples
    --------
    >>> age = Measure("mean", "Perceived age", "mean", "years", "image", "", limits=(0.0, 120.0), score="age")
    >>> drift = Estimate(DRIFT.name, "m", {"score": "age"}, value=0.01, low=-0.01, high=0.03)
    >>> in_own_unit(drift, {age.key: age}).value
    1.2
    """
    measure = measures.get(key_of("mean", e["score"]))
    if measure is None or measure.unit in _SCALES or not all(map(isfinite, measure.limits)):
        return e
    span = measure.limits[1] - measure.limits[0]
    value, low, high = (None if number is None else span * number for number in (e.value, e.low, e.high))
    return replace(e, value=value, low=low, high=high, unit=measure.unit)


def _what(e: Estimate) -> str:
    name = (e["score"] or "answers").replace("_", " ")
    return name if _signed(e) else f"{name}, to and fro"


def _signed(e: Estimate) -> bool:
    return e.measure == DRIFT.name


def _why(rows: Sequence[Estimate]) -> str:
    """The reason that was given for the answers themselves."""
    detail = next((e.detail for e in rows if e.detail), NOT_MEASURABLE)
    return detail.removeprefix(f"{NOT_MEASURABLE}: ")
