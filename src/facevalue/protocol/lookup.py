"""Lookup of estimates by measure, model and labels."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import NamedTuple

import polars as pl

from facevalue.measures.caveats import MISSING_CAVEAT, caveat_of
from facevalue.measures.definitions import POOLED, Measure, key_of, split_key, unit_name, value_by_measure
from facevalue.measures.estimates import FIXED_COLUMNS, complete_columns, condition, label_columns
from facevalue.measures.intervals import describe_method
from facevalue.measures.verdicts import Verdict

CROSSED = " x "
"""Separator of the dimensions of a level that crosses two."""
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Estimate:
    """One row of the estimates. Null is not measurable, never zero.

    `labels` says what it is of: the level of each label that is set. An estimate is over all levels of the others.

    Examples
    --------
    >>> one = Estimate("shift", "m", {"scenario": "polite"}, value=0.25)
    >>> one["scenario"], one["attribute"]
    ('polite', None)
    """

    measure: str
    model: str
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    se: float | None = None
    n: int | None = None
    clusters: int | None = None
    p: float | None = None
    q: float | None = None
    q_page: float | None = None
    page_low: float | None = None
    page_high: float | None = None
    page_level: float | None = None
    p_least: float | None = None
    p_paper: float | None = None
    family: str | None = None
    kind: str | None = None
    floor: float | None = None
    floor_high: float | None = None
    mde: float | None = None
    margin: float | None = None
    declared: bool | None = None
    verdict: str | None = None
    why: str | None = None
    bound_low: float | None = None
    bound_high: float | None = None
    unit: str = ""
    method: str | None = None
    detail: str | None = None
    source: str | None = None
    apart: bool = False
    """True if it measures a distance between values (`Measure.is_distance`): people read such shares in points."""

    def __getitem__(self, label: str) -> str | None:
        """The level of a label; None if the estimate is over all of them."""
        return self.labels.get(label)

    def cell_versus(self, versus: str | None) -> "Estimate":
        """The same as a difference from something, or as no difference: for `EstimateIndex.companion`."""
        labels = {name: level for name, level in self.labels.items() if name != "versus"}
        return replace(self, labels=labels if versus is None else labels | {"versus": versus})

    @property
    def has_interval(self) -> bool:
        """True if both ends of the interval are known."""
        return self.low is not None and self.high is not None

    @property
    def verdict_q(self) -> float | None:
        """The q that its verdict follows from: that of the page; of its family alone where no page judged it."""
        return self.q if self.q_page is None else self.q_page

    @property
    def method_words(self) -> str:
        """Method of its interval, or the reason why there is none, in words; empty where nobody knows."""
        return describe_method(self.method, self.detail)

    @property
    def has_bounds(self) -> bool:
        """True if it is known what missing answers could have changed."""
        return self.bound_low is not None and self.bound_high is not None

    @property
    def caveat(self) -> str:
        """Other explanation of its verdict ("unless the missing answers say otherwise"); empty for none."""
        return caveat_of(self.why)

    @property
    def open_to_missing(self) -> bool:
        """True if its verdict could be another one had all missing answers gone against it."""
        return MISSING_CAVEAT in self.caveat

    @property
    def written_unit(self) -> str:
        """The unit in which people read its numbers."""
        return unit_name(self.unit, apart=self.apart)


_NUMBERS = tuple(f.name for f in fields(Estimate) if f.name not in ("measure", "model", "labels"))
_FLOATS = tuple(name for name, dtype in FIXED_COLUMNS.items() if dtype == pl.Float64())


class Condition(NamedTuple):
    """Model that was asked, and intervention on the requests; None is nothing."""

    model: str
    intervention: str | None = None

    @property
    def name(self) -> str:
        """Name of the model under the intervention, as `measures.estimates.condition` gives it."""
        return " + ".join(filter(None, self))


@dataclass(frozen=True, slots=True)
class MeasureRoles:
    """Relations between the measures of a study."""

    lead: str = ""
    """The measure that the answer is about: models for which it has a value come first. Empty for any measure."""
    sizes: Mapping[str, str] = field(default_factory=dict)
    """From a signed measure to the unsigned one that has its noise floor, where that is another one."""
    corrected: Mapping[str, str] = field(default_factory=dict)
    """From a measure to its size without the part that chance adds."""


class EstimateIndex:
    """Looks estimates up. A table may have hundreds of thousands of rows: they are made into objects when asked for.

    `frame`: the table of estimates. `models`: who was asked, in the order in which to show them; models of the table
    that are missing follow. `reading`: which of its measures go together. `measures`: their definitions.
    """

    def __init__(
        self, frame: pl.DataFrame, models: Iterable[str] = (), reading: MeasureRoles | None = None,
        measures: Iterable[Measure] = (),
    ) -> None:  # fmt: skip
        self.reading = reading or MeasureRoles()
        frame = complete_columns(frame)
        conditions = frame.select("model", "intervention", condition().alias("shown")).unique(maintain_order=True)
        self._conditions = {name: Condition(model, change) for model, change, name in conditions.iter_rows()}
        differences = value_by_measure({measure.key: measure.is_distance for measure in measures}, default=False)
        self.frame = frame.with_columns(
            (differences | pl.col("versus").is_not_null()).alias("apart"),
            condition().alias("model"),
            *(pl.when(pl.col(c).is_finite()).then(pl.col(c)).alias(c) for c in _FLOATS),
        )
        """The table itself; `model` is what it is called under its intervention, and what is not finite is null."""
        self.labels = _labels(frame)
        """Labels that estimates are broken down by, in the order in which to show them."""
        places = [pl.col(name).is_not_null().cast(pl.UInt64) * 2**i for i, name in enumerate(self.labels)]
        marked = self.frame.with_row_index("row").with_columns(pl.sum_horizontal(places).alias("set"))
        self._parts: dict[tuple[object, ...], pl.DataFrame] = marked.partition_by(
            ["measure", "model", "set"], as_dict=True, maintain_order=True
        )
        self._sets: dict[tuple[object, object], list[int]] = {}
        for of_measure, of_model, marks in self._parts:
            self._sets.setdefault((of_measure, of_model), []).append(int(str(marks)))
        self._rows: dict[tuple[object, ...], list[Estimate]] = {}
        self._levels: dict[str, list[str]] = {}
        self._of: dict[tuple[str, str, int, int], pl.DataFrame] = {}
        self._beside: dict[tuple[object, ...], dict[frozenset[tuple[str, str]], Estimate]] = {}
        seen = [m for m in self.frame["model"].drop_nulls().unique(maintain_order=True) if m != POOLED]
        self.models: tuple[str, ...] = tuple(dict.fromkeys([*models, *seen]))
        """Models asked, the mean over them not included."""
        self.plain: tuple[str, ...] = tuple(m for m in self.models if self.condition(m).intervention is None)
        """Those of them that were asked without an intervention."""
        lead = pl.col("measure") == self.reading.lead if self.reading.lead else pl.lit(value=True)
        measured = set(self.frame.filter(lead & pl.col("value").is_not_null())["model"].unique())
        self.measured = tuple(model for model in self.models if model in measured)
        """Those of them whose answers allow anything to be measured."""
        self.pooled = POOLED in self.frame["model"]
        """True if there are estimates of the mean over models."""
        self.judged: bool = self.frame["verdict"].is_not_null().any()
        """True if the estimates have verdicts."""

    def condition(self, model: str) -> Condition:
        """Model and intervention of a condition, by its name."""
        return self._conditions.get(model, Condition(model))

    def under(self, model: str, intervention: str) -> str | None:
        """Name of a model under an intervention; None if there are no estimates of that."""
        condition = Condition(model, intervention)
        return next((name for name, pair in self._conditions.items() if pair == condition), None)

    @property
    def primary(self) -> str:
        """Model whose numbers come first: the mean over models, or the first model with any."""
        if self.pooled:
            return POOLED
        return next(iter(self.measured), self.models[0] if self.models else "")

    def select_estimates(self, measure: str, model: str, *by: str, **fixed: str) -> list[Estimate]:
        """Return the estimates that vary over `by` alone, `fixed` labels at these levels.

        `measure`, `model`: what, by name or key, of whom. `by`: labels that are set. `fixed`: those set to a level.
        """
        measure, score = split_key(measure)
        fixed |= {"score": score} if score else {}
        labels = {*by, *fixed}
        if not labels <= {*self.labels}:
            return []
        rows = self._estimates((measure, model, self._marks(labels)))
        return [row for row in rows if all(row[k] == v for k, v in fixed.items())]

    def _estimates(self, key: tuple[object, ...]) -> list[Estimate]:
        if key not in self._rows:
            rows = self._parts.get(key)
            self._rows[key] = [] if rows is None else list(rows_to_estimates(rows.drop("row", "set")))
        return self._rows[key]

    def part(
        self, measure: str, model: str, having: Collection[str] = (), lacking: Collection[str] = ()
    ) -> pl.DataFrame:
        """The rows of a measure and model, in the order of the table.

        `having`, `lacking`: labels that are set, and that are not; others may be either.
        """
        key = (measure, model, self._marks(having), self._marks(lacking))
        if key not in self._of:
            _, _, required, excluded = key
            marks = [m for m in self._sets.get((measure, model), ()) if m & required == required and not m & excluded]
            parts = [self._parts[measure, model, m] for m in marks]
            rows = pl.concat(parts).sort("row") if len(parts) > 1 else parts[0] if parts else None
            self._of[key] = self.frame.clear() if rows is None else rows.select(self.frame.columns)
        return self._of[key]

    def _marks(self, labels: Collection[str]) -> int:
        """A set of labels as a number: one bit for each."""
        return sum(2**i for i, name in enumerate(self.labels) if name in labels)

    @cached_property
    def crossing(self) -> frozenset[str]:
        """Labels of which some level crosses two dimensions."""
        return frozenset(name for name in self.labels if any(CROSSED in level for level in self.levels(name)))

    def levels(self, label: str) -> list[str]:
        """Levels of a label that any estimate has."""
        if label not in self._levels:
            has_label = label in self.labels
            self._levels[label] = (
                self.frame[label].drop_nulls().unique(maintain_order=True).to_list() if has_label else []
            )
        return self._levels[label]

    def kinds(self, model: str) -> list[tuple[str, tuple[str, ...]]]:
        """Measures of a model, each with every set of labels that its estimates have."""
        out: dict[tuple[str, tuple[str, ...]], None] = {}
        for measure, answerer, marks in self._parts:
            if answerer == model:
                names = tuple(name for i, name in enumerate(self.labels) if int(str(marks)) & 2**i)
                out[str(measure), names] = None
        return list(out)

    def wholes(self) -> tuple[str, ...]:
        """Measures that have an estimate over everything, be it of one score."""
        unlabelled = (0, self._marks(["score"]))
        return tuple(dict.fromkeys(str(measure) for measure, _, labels in self._parts if labels in unlabelled))

    def filter_estimates(self, predicate: pl.Expr) -> Iterator[Estimate]:
        """Go through the estimates that meet a condition, in the order of the table."""
        yield from rows_to_estimates(self.frame.filter(predicate))

    def find(self, measure: str, model: str, **fixed: str) -> Estimate | None:
        """Return the estimate at these levels, over everything else; None if there is none."""
        rows = self.select_estimates(measure, model, **fixed)
        return rows[0] if rows else None

    def is_moved(self, estimate: Estimate) -> bool:
        """Return whether a signed shift is a finding.

        Its verdict says so. Tables without verdicts: q < .05, and beyond the noise floor of its size.
        """
        if estimate.verdict is not None:
            return estimate.verdict == Verdict.DIFFERENCE
        if not self.is_found(estimate):
            return False
        floor = self.floor(estimate)
        return floor is None or abs(estimate.value or 0.0) > floor

    def is_found(self, estimate: Estimate) -> bool:
        """Return whether a difference was found by its test alone; by its verdict, where there is one."""
        if estimate.verdict is not None:
            return estimate.verdict == Verdict.DIFFERENCE
        return estimate.value is not None and estimate.q is not None and estimate.q < ALPHA

    def floor(self, estimate: Estimate) -> float | None:
        """95th percentile of the size that a shift has without any effect; None if unknown."""
        size = self.size(estimate)
        return None if size is None else size.floor_high

    def size(self, estimate: Estimate) -> Estimate | None:
        """The estimate that has the noise floor of this one's size: itself, or the unsigned one that goes with it."""
        name = self.reading.sizes.get(key_of(estimate.measure, estimate["score"]))
        return estimate if name is None else self.companion(name, estimate)

    def corrected_estimate(self, estimate: Estimate) -> Estimate | None:
        """The same size without the part that chance adds; None if there is none."""
        return self.companion(self.reading.corrected.get(key_of(estimate.measure, estimate["score"]), ""), estimate)

    def companion(self, measure: str, estimate: Estimate) -> Estimate | None:
        """Another measure of the same cell: of its score or, without such, of none; by key of another score."""
        name, score = split_key(measure)
        plain = {label: level for label, level in estimate.labels.items() if label != "score"}
        for labels in ({**plain, "score": score},) if score else (estimate.labels, plain):
            key = (name, estimate.model, self._marks(labels))
            if key not in self._beside:
                self._beside[key] = {frozenset(e.labels.items()): e for e in self._estimates(key)}
            if found := self._beside[key].get(frozenset(labels.items())):
                return found
        return None


def rows_to_estimates(rows: pl.DataFrame) -> Iterator[Estimate]:
    """Rows of an index's table as estimates."""
    labels = _labels(rows)
    size = len(labels)
    # not by `select`: pages ask for a few rows thousands of times, and each query takes a millisecond
    for measure, model, *rest in rows[["measure", "model", *labels, *_NUMBERS]].iter_rows():
        levels = zip(labels, rest, strict=False)
        yield Estimate(measure, model, {name: level for name, level in levels if level is not None}, *rest[size:])


def _labels(frame: pl.DataFrame) -> tuple[str, ...]:
    """Labels that estimates are broken down by; an intervention is part of the model's name."""
    return tuple(name for name in label_columns(frame) if name not in ("intervention", "apart"))
