"""Differences between the models of one report: each less the first, on what all were asked about, at one level."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from typing import TYPE_CHECKING, Any

import polars as pl

from facevalue.errors import DataError, RunError
from facevalue.measures.caveats import counted_caveats
from facevalue.measures.definitions import SHARES, change_of
from facevalue.measures.verdicts import Verdict
from facevalue.runs.joined_runs import by_model
from facevalue.runs.stored_run import ReplyTally, StoredRun

if TYPE_CHECKING:
    from facevalue.measures.definitions import Measure
    from facevalue.runs.comparisons.cells import RunAgreement

_COARSE = 50.0  # values that differ by that much, or may and do, are shown with fewer decimals


@dataclass(frozen=True, slots=True)
class ModelDifferences:
    """Differences of models from the first of them."""

    first: str = ""
    others: "Mapping[str, RunAgreement] | None" = None
    """By model. None where a report is of one model alone."""
    why_none: str = ""
    """Why models, or some of them, could not be compared, as a sentence; empty if all were."""


def model_differences(
    runs: Sequence[StoredRun], estimates: pl.DataFrame, tallies: Mapping[str, ReplyTally]
) -> ModelDifferences:
    """Compare each model of a report with the first one that has a valid answer, as `facevalue compare` does.

    `estimates`, `tallies`: of these runs.
    """
    runs_by_model = by_model(runs)
    if len(runs_by_model) < 2:
        return ModelDifferences()
    if any(len(runs) > 1 for runs in runs_by_model.values()):
        return ModelDifferences(why_none="Models that were asked in several runs each are not compared here.")
    answered = {model: run.plain() for model, (run,) in runs_by_model.items() if tallies[str(run.folder)].valid}
    if len(answered) < 2:
        return ModelDifferences(why_none="Fewer than two models gave a valid answer: there is nothing to compare.")
    from facevalue.measures.estimates import estimate_schema  # noqa: PLC0415 - scipy.stats takes a second to import
    from facevalue.runs.comparisons.models import compare_with_first, kept_answers  # noqa: PLC0415

    any_run = next(iter(answered.values()))
    labels = list(
        estimate_schema(any_run.study.estimates.labels)
    )  # what missing answers are by besides is not compared
    plain = estimates.filter(pl.col("intervention").is_null()).select(labels)
    tables = [plain.filter(model=model) for model in answered]
    try:
        with kept_answers(list(answered.values())) as answers:
            agreements = compare_with_first(
                answers, estimates=tables, any_time=any(run.facts.stop_when for run in runs)
            )
    except (DataError, RunError) as error:
        return ModelDifferences(why_none=str(error))
    first, *others = answered
    silent = ", ".join(model for model in runs_by_model if model not in answered)
    note = f"Without a valid answer, and not compared: {silent}." if silent else ""
    return ModelDifferences(first, dict(zip(others, agreements, strict=True)), note)


def digits_of(agreement: "RunAgreement", row: Mapping[str, Any]) -> int:
    """Decimals that a cell, or a statistic of cells, is shown with."""
    low, high = agreement.measure_of(row).limits
    apart = high - low
    if isinf(apart):
        cells = agreement.cells_of(agreement.measure_of(row))
        apart = cells.select(pl.max_horizontal(pl.col("first", "second").abs()).max()).item() or 0.0
    return 1 if apart >= _COARSE else 3


_UNITS = {"%": "percentage points", "pp": "percentage points", "points": "scale points", "1": ""}


def _size(value: float, measure: "Measure", digits: int | None = None) -> str:
    """The size of a difference with its unit: points of a hundred where a share is measured."""
    is_share = measure.unit in SHARES
    size, unit = (100 * value, "points") if is_share else (value, _UNITS.get(measure.unit, measure.unit))
    text = f"{size:g}" if digits is None else f"{size:.{max(digits - 2 * is_share, 0)}f}"
    return f"{text} {unit}".strip()


def name_cells(total: int) -> str:
    """Name the cells in none of which there is something: "any of 12 cells", "the one cell"."""
    return "the one cell" if total == 1 else f"any of {total:,} cells"


def answer(agreement: "RunAgreement", names: tuple[str, str]) -> str:
    """Sentences on the cells that differ, and on the margin by which none does."""
    total, differing = agreement.cells.height, agreement.differing
    if differing.height:
        cells = f"{differing.height:,} of {total:,} {'cells' if total > 1 else 'cell'}"
        sentence = f"{names[1]} differs from {names[0]} in {cells}"
        sentence += f"{counted_caveats(differing['caveat'])}."
    elif total and (agreement.cells["verdict"] == str(Verdict.NOT_MEASURABLE)).all():
        sentence = (
            f"No difference between {names[1]} and {names[0]} can be judged in {name_cells(total)}: not measurable."
        )
    else:
        sentence = f"No difference between {names[1]} and {names[0]} was found in {name_cells(total)}."
    margins = agreement.cells["margin"].drop_nulls().to_list()
    if margins:
        alike = agreement.cells.filter(pl.col("verdict") == "equivalent within the margin")["caveat"]
        margin = _size(margins[0], agreement.measures[0])
        sentence += f" {alike.len():,} are equivalent within {margin}{counted_caveats(alike)}."
    limits: dict[str, tuple[float, str]] = {}
    for row in agreement.overall.filter(pl.col("statistic") == "max_absolute_delta").iter_rows(named=True):
        measure = agreement.measure_of(row)
        largest = max(row["high"] or 0.0, limits.get(measure.title, (0.0, ""))[0])
        if largest < change_of(measure).limits[1]:  # else it excludes nothing
            limits[measure.title] = largest, _size(largest, measure, digits_of(agreement, row))
    if agreement.several and limits:
        texts = "; ".join(f"{name} by {text}" for name, (_, text) in limits.items())
        sentence += f" None of each score differs by more than (95%): {texts}."
    elif limits:
        sentence += f" None differs by more than {next(iter(limits.values()))[1]} (all of them together, 95%)."
    return sentence


def became_sentence(differing: pl.DataFrame) -> str:
    """Sentence on the cells that differ: effects that got smaller are better, larger ones worse.

    `differing`: `became` and `caveat` of each. Empty where none differs.

    Examples
    --------
    >>> became_sentence(pl.DataFrame({"became": ["gone", "smaller effect", "turned round"], "caveat": [""] * 3}))
    'Better: 1 effect is gone (its interval now holds zero); 1 effect is smaller. 1 effect turned round.'
    >>> became_sentence(pl.DataFrame({"became": ["higher", "higher", "lower"], "caveat": [""] * 3}))
    '2 are higher; 1 is lower.'
    """
    caveats: dict[str, list[str]] = {}
    for name, caveat in differing.select("became", "caveat").iter_rows():
        caveats.setdefault(name, []).append(caveat)
    sentences: dict[str, list[str]] = {}
    for kind, names in _KINDS.items():
        for name in names:
            if of_name := caveats.get(name):
                clause = f"{_counted_effects(name, len(of_name))}{counted_caveats(of_name)}"
                sentences.setdefault(kind, []).append(clause)
    return " ".join(
        f"{f'{kind}: ' if kind.strip() else ''}{'; '.join(clauses)}." for kind, clauses in sentences.items()
    )


def _counted_effects(name: str, count: int) -> str:
    """Number of effects, or other numbers, that changed in a certain way."""
    several = count > 1
    if name in ("higher", "lower"):
        return f"{count:,} {'are' if several else 'is'} {name}"
    effects = f"{count:,} {'effects' if several else 'effect'}"
    if name == "turned round":
        return f"{effects} {name}"
    holds = "their intervals now hold zero" if several else "its interval now holds zero"
    text = f"{effects} {'are' if several else 'is'} {name.removesuffix(' effect')}"
    return f"{text} ({holds})" if name == "gone" else text


_KINDS = {
    "Better": ("gone", "smaller effect"), "Worse": ("larger effect",), "": ("turned round",), " ": ("higher", "lower")
}  # fmt: skip
"""What may become of a cell, by what that means: better, worse, or neither, an effect or any other number."""
