"""Differences by interventions, and between the models of a report: for people and as JSON."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from facevalue.measures.caveats import add_caveat, counted_caveats
from facevalue.measures.cells import MISSING_SHARE
from facevalue.measures.definitions import NO_INTERVENTION, Measure, definition_of, key_of, unit_name
from facevalue.printable import finite
from facevalue.protocol.lookup import Estimate, EstimateIndex
from facevalue.protocol.page import Findings
from facevalue.report.formatting import (
    DASH,
    Titles,
    interval,
    is_signed,
    label_of,
    number,
    share_of_chance,
    why_no_interval,
)
from facevalue.report.sections.headline import Headline, Passage, verdict_of_row
from facevalue.report.sections.sizes import ToldScale, scale_of
from facevalue.runs.comparisons.model_differences import ModelDifferences, answer

if TYPE_CHECKING:
    from facevalue.runs.comparisons.cells import RunAgreement

MOST = 40
"""Changes of one intervention that are shown, of those that were found and of what had been found without it."""
MOST_ALIKE = 10
"""Changes of one measure among them."""
_RATES = ("refusal_rate", "na_rate")
_IS_CHANGE = pl.col("versus") == NO_INTERVENTION
_FORMAL = ("_z", "published")
"""Endings of keys of measures whose changes are those of another measure."""


def change_lines(numbers: EstimateIndex, titles: Titles, measures: Sequence[Measure], limit: int = 3) -> list[str]:
    """Lines on the estimates that each intervention changed, the clearest, and the change in missing answers.

    `numbers`, `titles`, `measures`: estimates, wording of levels, definitions. `limit`: how many changes to name.

    Returns lines; none where there was no intervention.
    """
    definitions = {m.key: m for m in measures}
    out = []
    for model in numbers.models:
        rows = list(numbers.filter_estimates(_IS_CHANGE & (pl.col("model") == model)))
        if not rows:
            continue
        tests = [e for e in rows if e.q is not None and e.measure != MISSING_SHARE.name]
        changes = sorted((e for e in tests if numbers.is_found(e)), key=_clearness, reverse=True)
        missing = next((e for e in rows if e.measure == MISSING_SHARE.name), None)
        out.append(
            f"{model}: {len(changes) or 'none'} of {len(tests):,} estimates changed, as the page judges them. "
            f"Replies without a valid answer: {_value(missing) if missing else 'not measured'}."
        )
        for e in changes[:limit]:
            definition = definition_of(definitions, e.measure, e["score"])
            title = definition.title if definition else e.measure
            out.append(f"  {title}, {label_of(e, titles)}: {_value(e)}, q {share_of_chance(e.verdict_q)}")
    return out


def _clearness(e: Estimate) -> float:
    return abs(e.value or 0.0) / e.se if e.se else 0.0


def _value(e: Estimate) -> str:
    return "not measurable" if e.value is None else " ".join(_change_texts(e))


def _change_texts(e: Estimate) -> tuple[str, str]:
    """A change and its interval."""
    return number(e.value, e.written_unit, signed=True), interval(e, signed=True) or why_no_interval(e)


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One estimate without and with an intervention; each value is followed by its interval."""

    measure: str
    of: str
    plain: tuple[str, str]
    changed: tuple[str, str]
    change: tuple[str, str]
    q: str
    missing: tuple[str, str]
    found: bool


@dataclass(frozen=True, slots=True)
class Changed:
    """Changes that one intervention made in one model."""

    model: str
    title: str
    """Name of the model and of the intervention."""
    missing: str
    """Change in replies without a valid answer."""
    missing_found: bool
    """Whether that change was found."""
    tested: int
    found: int
    """Numbers of changes that were tested, and that were found."""
    became: list[ChangeRow]
    """Rows of differences that had been found without the intervention."""
    rows: list[ChangeRow]
    """The changes that were found, clearest first."""
    readings: list[tuple[str, str]]
    """Shares of the ways in which replies to a ciphered question were written."""


def list_changes(numbers: EstimateIndex, titles: Titles, measures: Sequence[Measure]) -> list[Changed]:
    """List what each intervention changed in each model; empty if there was none.

    `numbers`, `titles`, `measures`: estimates, wording of levels, definitions.
    """
    definitions = {m.key: m for m in measures}
    rows: dict[str, list[Estimate]] = {}
    for e in numbers.filter_estimates(_IS_CHANGE):
        rows.setdefault(e.model, []).append(e)
    out = []
    for model, estimates in rows.items():
        base, name = numbers.condition(model)
        maker = _RowMaker(numbers, titles, definitions, base, estimates)
        tested = [e for e in estimates if e.q is not None and e.measure != MISSING_SHARE.name]
        changes = sorted((e for e in tested if numbers.is_found(e)), key=_clearness, reverse=True)
        missing = next((e for e in estimates if e.measure == MISSING_SHARE.name), None)
        readings = [(e["reading"] or "", f"{number(e.value, e.written_unit)} {interval(e)}".strip())
                    for e in numbers.select_estimates("reading_share", model, "reading") if e.value]  # fmt: skip
        out.append(
            Changed(
                base, titles.get("intervention", name), _value(missing) if missing else "not measured",
                missing is not None and numbers.is_found(missing), len(tested), len(changes),
                maker.make_rows(_found_before(numbers, estimates, base)),
                maker.make_rows(e for e in changes if e.measure not in _RATES), readings,
            )
        )  # fmt: skip
    return out


def _found_before(numbers: EstimateIndex, rows: Sequence[Estimate], base: str) -> list[Estimate]:
    """Changes of estimates that were found without the intervention, the clearest of these first."""
    out = []
    for e in rows:
        plain = numbers.companion(e.measure, replace(e.cell_versus(None), model=base))
        if plain is not None and e.measure not in _RATES and numbers.is_found(plain):
            out.append((abs(plain.value or 0.0) / (plain.floor_high or plain.se or 1.0), e))
    return [e for _, e in sorted(out, key=lambda pair: -pair[0])]


class _RowMaker:
    """Makes the rows of one model and intervention."""

    def __init__(
        self,
        numbers: EstimateIndex,
        titles: Titles,
        measures: Mapping[str, Measure],
        base: str,
        rows: Sequence[Estimate],
    ) -> None:
        self._numbers = numbers
        self._titles = titles
        self._known = measures
        self._base = base
        self._rates = [e for e in rows if e.measure in (*_RATES, MISSING_SHARE.name) and e["reason"] is None]

    def make_rows(self, rows: Iterable[Estimate]) -> list[ChangeRow]:
        """Rows of these changes: `MOST` at most, and of no measure so many that no other is seen."""
        counted: Counter[str] = Counter()
        picked: list[Estimate] = []
        for e in rows:
            key = key_of(e.measure, e["score"])
            counted[key] += 1
            if counted[key] <= MOST_ALIKE and not key.endswith(_FORMAL):
                picked.append(e)
        return [self._row(e) for e in picked[:MOST]]

    def _row(self, e: Estimate) -> ChangeRow:
        level, measure = e.cell_versus(None), definition_of(self._known, e.measure, e["score"])
        missing = self._missing(e)
        return ChangeRow(
            measure.title if measure else e.measure, label_of(e, self._titles),
            self._pair(self._numbers.companion(e.measure, replace(level, model=self._base)), measure),
            self._pair(self._numbers.companion(e.measure, level), measure), _change_texts(e),
            share_of_chance(e.verdict_q), (DASH, "") if missing is None else _change_texts(missing),
            self._numbers.is_found(e),
        )  # fmt: skip

    def _pair(self, e: Estimate | None, measure: Measure | None) -> tuple[str, str]:
        if e is None or e.value is None:
            return DASH, ""
        signed = is_signed(measure)
        return number(e.value, e.written_unit, signed=signed), interval(e, signed=signed) or "(no interval)"

    def _missing(self, e: Estimate) -> Estimate | None:
        """The change in missing answers of the same group and question, or of the nearest whole that has one."""

        def fits(rate: Estimate) -> bool:
            return rate.labels.items() <= e.labels.items()

        return max(filter(fits, self._rates), key=lambda rate: len(rate.labels), default=None)


_TOLD, _CELLS = 2, 2
"""Models that the answer compares with the first one, and cells that it names: of each one where there are several."""
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
    """Size of a difference that would typically have gone unnoticed, in each score where there are several."""
    texts = []
    for measure in agreement.measures:
        cells = agreement.cells_of(measure)
        if cells.is_empty():
            continue
        size = float(cells["mde"].fill_null(math.inf).median() or 0.0)  # type: ignore[arg-type] # of numbers
        of = f" in {measure.key}" if agreement.several else ""
        texts.append(f"of up to about {_scale(measure).up_to(size)}{of}" if size < math.inf else f"of any size{of}")
    return f" (differences {', '.join(texts[:_CELLS])} would have gone unnoticed)" if texts else ""


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
