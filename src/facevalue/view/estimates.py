"""Estimates as a table that filters and sorts, written as the report writes them."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.definitions import Measure, title_of_scores, unit_name
from facevalue.measures.verdicts import Verdict
from facevalue.printable import short
from facevalue.protocol.lookup import Estimate, rows_to_estimates
from facevalue.report import charts
from facevalue.report.blocks.view import View
from facevalue.report.formatting import label_of, share_of_chance, tick
from facevalue.report.sections.headline import SHORT, verdict_of
from facevalue.view.open_runs import RunState
from facevalue.view.query import Query

_FACETS = 60
"""Levels of a label that are listed to choose from."""
MEASURE, VERDICT, INTERVENTION = "measure", "verdict", "intervention"
_NUMBERS = ("value", "low", "high", "n", "clusters", "p", "q", "floor_high", "se")
_FOUND, _TICKS = "found", 5
QUERY = ("run", "q", MEASURE, VERDICT, "sort", "from", "n")


@dataclass(frozen=True, slots=True)
class LevelTitle:
    """A level of a label, and its wording."""

    level: str
    title: str


@dataclass(frozen=True, slots=True)
class FacetLevel(LevelTitle):
    """A level to choose, and how many rows have it; null where they were not counted."""

    count: int | None


@dataclass(frozen=True, slots=True)
class ColumnTitle:
    """A label or factor, and its wording."""

    name: str
    title: str


@dataclass(frozen=True, slots=True)
class EstimateTexts:
    """An estimate as the report writes it."""

    value: str
    interval: str
    p: str


@dataclass(frozen=True, slots=True)
class AxisTick:
    """A number that is written on an axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class AxisOfMeasure:
    """Ends of the axis on which a measure's intervals are drawn; `zero` is null where it means nothing."""

    min: float
    max: float
    zero: float | None
    ticks: "tuple[AxisTick, ...]" = ()


@dataclass(frozen=True, slots=True)
class ViewedEstimate:
    """An estimate."""

    key: str
    measure: str
    title: str
    labels: Mapping[str, LevelTitle]
    value: float | None
    low: float | None
    high: float | None
    page_low: float | None
    page_high: float | None
    level: float | None
    n: int | None
    clusters: int | None
    unit: str
    p: float | None
    floor: float | None
    verdict: str | None
    caveat: str
    """What else could explain the verdict; empty for nothing."""
    text: EstimateTexts
    scale: AxisOfMeasure | None


@dataclass(frozen=True, slots=True)
class EstimatesPage:
    """A page of estimates, and what there is to choose from."""

    total: int
    labels: tuple[ColumnTitle, ...]
    measures: tuple[LevelTitle, ...]
    facets: Mapping[str, tuple[FacetLevel, ...]]
    rows: tuple[ViewedEstimate, ...]


def key_of(measure: str, intervention: str | None, labels: Mapping[str, str | None]) -> str:
    """Short name of an estimate, the same in every session: of its measure, intervention and labels.

    Examples
    --------
    >>> key_of("gap", None, {"scenario": "polite"}) == key_of("gap", None, {"scenario": "polite", "attribute": None})
    True
    """
    levels = sorted((name, level) for name, level in labels.items() if level is not None)
    return blake2b(json.dumps([measure, intervention, levels]).encode(), digest_size=8).hexdigest()


class EstimateRows:
    """Estimates of a run with what the table shows beside them.

    Parameters
    ----------
    view:
        The estimates as the report has them.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        numbers = view.numbers
        frame = numbers.frame
        changes = [numbers.condition(name).intervention for name in frame["model"].to_list()]
        frame = frame.with_columns(pl.Series(INTERVENTION, changes, pl.String))
        self.labels = [name for name in numbers.labels if frame[name].is_not_null().any()]
        if frame[INTERVENTION].is_not_null().any():
            self.labels = [INTERVENTION, *self.labels]
        levels = frame.select(numbers.labels).iter_rows(named=True)
        keys = [
            key_of(measure, change, row)
            for measure, change, row in zip(frame["measure"].to_list(), changes, levels, strict=True)
        ]
        beyond = pl.col("value").abs() / pl.coalesce("floor_high", "se", pl.col("high") - pl.col("low"))
        words = pl.concat_str([pl.col(n) for n in ("measure", *self.labels)], separator=" ", ignore_nulls=True)
        self.frame = frame.with_columns(
            pl.Series("key", keys, pl.String),
            (pl.col(VERDICT) == Verdict.DIFFERENCE.value).fill_null(value=False).alias("(found)"),
            pl.when(beyond.is_finite()).then(beyond).alias("(beyond)"),
            words.str.to_lowercase().alias("(words)"),
        )
        self._axes: dict[tuple[str, bool], AxisOfMeasure | None] = {}

    def row_of(self, key: str) -> tuple[Estimate, ViewedEstimate]:
        """An estimate by its key.

        Raises
        ------
        DataError
            There is none.
        """
        rows = self.frame.filter(key=key)
        if not rows.height:
            raise DataError("There is no estimate of that key: the run may have grown, or is another one.")
        return next(rows_to_estimates(self._plain(rows))), self.rows(rows)[0]

    def _plain(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.drop("key", "(found)", "(beyond)", "(words)", INTERVENTION, strict=False)

    def rows(self, frame: pl.DataFrame) -> tuple[ViewedEstimate, ...]:
        """Rows of a few estimates."""
        estimates = rows_to_estimates(self._plain(frame))
        keys, changes = frame["key"].to_list(), frame[INTERVENTION].to_list()
        return tuple(self._row(e, key, change) for e, key, change in zip(estimates, keys, changes, strict=True))

    def _row(self, e: Estimate, key: str, change: str | None) -> ViewedEstimate:
        view = self.view
        levels = {**({} if change is None else {INTERVENTION: change}), **e.labels}
        labels = {name: LevelTitle(level, view.title(name, level, e)) for name, level in levels.items()}
        chance = share_of_chance(e.p if e.verdict_q is None else e.verdict_q)
        title = view.measure_title(e)
        return ViewedEstimate(
            key, e.measure, f"{title}: {label_of(e, view.titles)}" if e.cell_versus(None).labels else title, labels,
            e.value, e.low, e.high, e.page_low, e.page_high, e.level, e.n, e.clusters, e.unit, e.p,
            view.numbers.floor(e), e.verdict, e.caveat,
            EstimateTexts(view.value(e), view.interval(e), chance), self.axis(e),
        )  # fmt: skip

    def axis(self, e: Estimate) -> AxisOfMeasure | None:
        """Axis of an estimate, over all of its measure or all changes in it; None where none has a value."""
        definition, is_change = self.view.definition(e), e["versus"] is not None
        key = (e.measure if definition is None else definition.key), is_change
        if key not in self._axes:
            is_of = pl.col("measure") == e.measure if definition is None else definition.rows
            of_kind = self.frame.filter(is_of & (pl.col("versus").is_not_null() == is_change))
            rows = of_kind.select("value", "low", "high")
            ends = [end for name in rows.columns for end in (rows[name].min(), rows[name].max()) if end is not None]
            signed = self.view.is_signed(e)
            numbers = [float(str(end)) for end in ends] + ([0.0] if signed else [])
            self._axes[key] = self._axis(definition, numbers, signed=signed) if ends else None
        return self._axes[key]

    def _axis(self, definition: Measure | None, numbers: Sequence[float], *, signed: bool) -> AxisOfMeasure:
        unit = "" if definition is None else unit_name(definition.unit, apart=definition.is_distance)
        axis = charts.scale(min(numbers), max(numbers), _TICKS)
        ticks = tuple(AxisTick(at, tick(at, unit, signed=signed)) for at in axis.ticks)
        return AxisOfMeasure(axis.low, axis.high, 0.0 if signed else None, ticks)

    def by_clearness(self, frame: pl.DataFrame | None = None) -> pl.DataFrame:
        """Estimates in the order of the report: found first, then by the page's test; those without a test last."""
        rows = self.frame if frame is None else frame
        by = ["(found)", "q_page", "p", "(beyond)"]
        return rows.sort(by, descending=[True, False, False, True], nulls_last=True, maintain_order=True)

    def title(self, column: str, level: str) -> str:
        """Wording of a level, of a measure's name, or of a verdict."""
        if column == MEASURE:
            definitions = [measure for measure in self.view.measures.values() if measure.name == level]
            return title_of_scores(definitions) if definitions else level
        if column == VERDICT:
            verdict = verdict_of(level)
            return level if verdict is None else SHORT[verdict]
        return self.view.title(column, level)


def rows_of(state: RunState) -> EstimateRows:
    """Estimates of a run."""
    return state.make_once("rows", lambda: EstimateRows(state.view))


def estimates(state: RunState, query: Query) -> EstimatesPage:
    """A page of estimates that meet a query."""
    rows = rows_of(state)
    conditions = _conditions(rows, query)
    chosen = _order_rows(rows, _meets(rows.frame, conditions.values()), query)
    start, count = query.page()
    document = page_of_rows(rows, chosen, rows.frame, start, count)
    facets = {
        name: facet(
            _meets(rows.frame, [c for of, c in conditions.items() if of != name])[name], _title_levels(rows, name)
        )
        for name in (MEASURE, VERDICT, *rows.labels)
    }
    return replace(document, facets=facets)


def page_of_rows(
    rows: EstimateRows, chosen: pl.DataFrame, among: pl.DataFrame, start: int, count: int
) -> EstimatesPage:
    """Some of these estimates, with what there is to choose from; levels are counted `among` these."""
    columns = (MEASURE, VERDICT, *rows.labels)
    return EstimatesPage(
        chosen.height,
        tuple(ColumnTitle(name, rows.view.titles.get("label", name)) for name in rows.labels),
        tuple(LevelTitle(name, rows.title(MEASURE, name)) for name in rows.frame[MEASURE].unique(maintain_order=True)),
        {name: facet(among[name], _title_levels(rows, name)) for name in columns},
        rows.rows(chosen[start : start + count]),
    )


def facet(column: pl.Series, title: Callable[[str], str]) -> tuple[FacetLevel, ...]:
    """Levels of a column, the commonest first, with how many rows have each."""
    counted = column.drop_nulls().cast(pl.String).value_counts(sort=True).head(_FACETS)
    return tuple(FacetLevel(level, title(level), count) for level, count in counted.iter_rows())


def _title_levels(rows: EstimateRows, name: str) -> Callable[[str], str]:
    return lambda level: rows.title(name, level)


def _meets(frame: pl.DataFrame, conditions: Iterable[pl.Expr]) -> pl.DataFrame:
    chosen = list(conditions)
    return frame.filter(chosen) if chosen else frame


def _conditions(rows: EstimateRows, query: Query) -> dict[str, pl.Expr]:
    """Conditions of a query for estimates, by the column that it is chosen by; words by themselves."""
    out: dict[str, pl.Expr] = {}
    for name in (MEASURE, VERDICT):
        if level := query.text(name):
            if level not in rows.frame[name].unique().to_list():
                raise UnknownNameError(name, short(level), sorted(rows.frame[name].drop_nulls().unique()))
            out[name] = pl.col(name) == level
    for name, levels in query.levels("L.", rows.labels, "label").items():
        listed = pl.col(name).is_in([level for level in levels if level]).fill_null(value=False)
        out[name] = listed | pl.col(name).is_null() if "" in levels else listed
    for word in query.text("q").lower().split():
        out[f"({word})"] = pl.col("(words)").str.contains(word, literal=True) | _match_wording(rows, word)
    return out


def _order_rows(rows: EstimateRows, chosen: pl.DataFrame, query: Query) -> pl.DataFrame:
    column, largest_first = query.order((_FOUND, MEASURE, VERDICT, *_NUMBERS, *rows.labels), _FOUND)
    if column == _FOUND:
        return rows.by_clearness(chosen)
    return chosen.sort(column, descending=largest_first, nulls_last=True, maintain_order=True)


def _match_wording(rows: EstimateRows, word: str) -> pl.Expr:
    """Rows of which the wording of the measure or of a level has a word."""
    conditions = [pl.lit(value=False)]
    for name in (MEASURE, *rows.labels):
        levels: Sequence[str] = rows.frame[name].drop_nulls().unique().to_list()
        titled = [level for level in levels if word in rows.title(name, level).lower()]
        if titled:
            conditions.append(pl.col(name).is_in(titled).fill_null(value=False))
    return pl.any_horizontal(conditions)
