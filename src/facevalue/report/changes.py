"""Changes by interventions: a few lines for the terminal, and a section of every study's page."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from facevalue.measures.definitions import NO_INTERVENTION, Measure, definition_of, key_of
from facevalue.measures.missing_answers import MISSING_SHARE
from facevalue.protocol.lookup import Estimate, EstimateIndex
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
            out.append(f"  {title}, {label_of(e, titles)}: {_value(e)}, q {share_of_chance(e.q)}")
    return out


def _clearness(e: Estimate) -> float:
    return abs(e.value or 0.0) / e.se if e.se else 0.0


def _value(e: Estimate) -> str:
    if e.value is None:
        return "not measurable"
    return " ".join(_change_texts(e))


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
            self._pair(self._numbers.companion(e.measure, level), measure), _change_texts(e), share_of_chance(e.q),
            (DASH, "") if missing is None else _change_texts(missing), self._numbers.is_found(e),
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
