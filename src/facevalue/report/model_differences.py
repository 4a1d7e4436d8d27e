"""Differences between the models of a report, for people and as JSON."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from facevalue.measures.caveats import add_caveat, counted_caveats
from facevalue.measures.definitions import unit_name
from facevalue.printable import finite
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Findings
from facevalue.report.formatting import DASH, Titles, number, share_of_chance
from facevalue.report.headline import Headline, Passage, verdict_of_row
from facevalue.report.sizes import ToldScale, scale_of
from facevalue.runs.comparisons.model_differences import ModelDifferences, answer

if TYPE_CHECKING:  # scipy.stats takes a second to import
    from facevalue.measures.definitions import Measure
    from facevalue.runs.comparisons.cells import RunAgreement

_TOLD, _CELLS = 2, 2
"""Models that the answer compares with the first one, and cells that it names: of each one where there are several."""
MOST = 40
"""Cells that are shown of two models, differences found first."""
OVERALL_HEADS = ("All cells together", "Difference", "95% interval", "Without any difference", "p", "Verdict")
CELL_HEADS = ("Of", "First", "Second", "Difference", "95% interval", "Interval of the page", "p", "Verdict")
"""Columns of the tables of statistics and of cells."""
STATISTICS = {
    "mean_signed_delta": "mean difference",
    "mean_absolute_error": "mean size of a difference",
    "rmse": "root mean square",
    "max_absolute_delta": "largest size of a difference",
}


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """A cell, or a statistic of all cells; numbers as texts."""

    of: str
    first: str
    second: str
    difference: str
    interval: str
    page: str
    """Interval at the page's level, of a cell; of a statistic, what chance gives."""
    p: str
    verdict: str
    found: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """Differences between one model and the first one."""

    title: str
    sentences: tuple[str, ...]
    overall: tuple[DifferenceRow, ...]
    cells: tuple[DifferenceRow, ...]
    measured: int
    """Number of cells that were compared."""


def report_differences(between: ModelDifferences, names: Mapping[str, str], titles: Titles) -> tuple[Difference, ...]:
    """Return what a report shows of the differences between its models.

    `names`: of models, for people.
    """
    first = names.get(between.first, between.first)
    return tuple(
        _report_difference(agreement, (first, names.get(model, model)), titles)
        for model, agreement in (between.others or {}).items()
    )


def before(answer: Headline, between: ModelDifferences, names: Mapping[str, str], titles: Titles) -> Headline:
    """The answer of a report with the differences between its models before it."""
    first = names.get(between.first, between.first)
    others = list((between.others or {}).items())
    cells = _CELLS if len(others) == 1 else 1
    texts = [
        _describe_differences(agreement, (first, names.get(model, model)), titles, cells)
        for model, agreement in others[:_TOLD]
    ]
    if (left := len(others) - len(texts)) > 0:
        texts.append(f"{left} more model{'s are' if left > 1 else ' is'} compared below.")
    return replace(answer, passages=(*map(Passage, texts), *answer.passages))


def _describe_differences(agreement: "RunAgreement", names: tuple[str, str], titles: Titles, cells: int) -> str:
    """Describe how two models differ: the largest differences that were found, or that none was."""
    clearness = pl.col("delta").abs() / pl.col("se") if agreement.several else pl.col("delta").abs()
    differing = agreement.differing.sort(clearness, descending=True, nulls_last=True)
    if not differing.height:
        return f"No difference between {names[0]} and {names[1]} was found{_missable_size(agreement)}."
    texts = []
    for row in differing.head(cells).iter_rows(named=True):
        measure = agreement.measure_of(row)
        e = Estimate("", "", value=row["delta"], low=row["low"], high=row["high"], unit=measure.unit)
        labels = [titles.get(name, row[name]) for name in agreement.compared.cells if row[name] is not None]
        ends, by = _scale(measure).passage(e, row["first"], row["second"], signed=measure.signed)
        texts.append(add_caveat(f"{', '.join(labels) or 'overall'} from {ends}, {by}", row["caveat"]))
    left = differing.height - len(texts)
    rest = f"; and {left:,} more differ{counted_caveats(differing['caveat'][len(texts) :])}" if left else ""
    return f"{names[0]} to {names[1]}: {'; '.join(texts)}{rest}."


def _scale(measure: "Measure") -> ToldScale:
    """Scale on which differences in a measure are told."""
    return scale_of(Findings(of=()), Estimate("", "", unit=measure.unit), measure)


def _missable_size(agreement: "RunAgreement") -> str:
    """The size of a difference that could typically have been missed, in each score where there are several."""
    texts = []
    for measure in agreement.measures:
        cells = agreement.cells_of(measure)
        if cells.is_empty():
            continue
        size = float(cells["mde"].fill_null(math.inf).median() or 0.0)  # type: ignore[arg-type] # of numbers
        of = f" in {measure.key}" if agreement.several else ""
        texts.append(f"up to about {_scale(measure).up_to(size)}{of}" if size < math.inf else f"any{of}")
    return f" ({', '.join(texts[:_CELLS])} could have been missed)" if texts else ""


def as_json(between: ModelDifferences) -> list[dict[str, Any]]:
    """The same for machines: a comparison each, as `facevalue compare --json` prints it."""
    others = (between.others or {}).items()
    return [{"first": between.first, "second": model, **finite(agreement.json())} for model, agreement in others]


def _report_difference(agreement: "RunAgreement", names: tuple[str, str], titles: Titles) -> Difference:
    clearest = agreement.cells.sort(
        pl.col("verdict") != "difference found", "p", descending=False, nulls_last=True, maintain_order=True
    )
    return Difference(
        f"{names[1]} less {names[0]}: {'all scores' if agreement.several else agreement.measures[0].title}",
        (answer(agreement, names), agreement.units.sentence, *agreement.notes),
        tuple(_statistic(row, agreement) for row in agreement.overall.iter_rows(named=True)),
        tuple(_cell(row, agreement, titles) for row in clearest.head(MOST).iter_rows(named=True)),
        agreement.cells.height,
    )


def _statistic(row: Mapping[str, Any], agreement: "RunAgreement") -> DifferenceRow:
    signed = row["statistic"] == "mean_signed_delta"
    within = [str(row[name]) for name in agreement.labels_within if row[name] is not None]
    unit = _unit(agreement, row)
    chance = "" if row["floor"] is None else f"chance gives {number(row['floor'], unit)}"
    return DifferenceRow(
        ", ".join([STATISTICS[row["statistic"]], *within]), "", "", number(row["value"], unit, signed=signed),
        _interval(row["low"], row["high"], unit, signed=signed), chance, share_of_chance(row["p"]),
        verdict_of_row(row), row["verdict"] == "difference found",
    )  # fmt: skip


def _cell(row: Mapping[str, Any], agreement: "RunAgreement", titles: Titles) -> DifferenceRow:
    labels = [titles.get(name, row[name]) for name in agreement.compared.cells if row[name] is not None]
    measure, change = agreement.measure_of(row), _unit(agreement, row)
    unit = unit_name(measure.unit, apart=measure.is_distance)
    return DifferenceRow(
        ", ".join(labels) or "all", number(row["first"], unit), number(row["second"], unit),
        number(row["delta"], change, signed=True), _interval(row["low"], row["high"], change, signed=True),
        _interval(row["page_low"], row["page_high"], change, signed=True), share_of_chance(row["p"]),
        verdict_of_row(row), row["verdict"] == "difference found",
    )  # fmt: skip


def _unit(agreement: "RunAgreement", row: Mapping[str, Any]) -> str:
    """Unit of a difference."""
    unit = agreement.measure_of(row).unit
    return "pp" if unit == "%" else unit_name(unit, apart=True)


def _interval(low: float | None, high: float | None, unit: str, *, signed: bool) -> str:
    if low is None or high is None:
        return DASH
    return f"[{', '.join(number(end, unit, signed=signed, bare=True) for end in (low, high))}]"
