"""The estimates as rows that can be asked for by measure, model and factors."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

import polars as pl

from facevalue.measures.estimates import FACTORS, SCHEMA
from facevalue.measures.verdicts import Verdict

POOLED = "(all models)"
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Estimate:
    """One row of the estimates. Null is not measurable, never zero."""

    measure: str
    model: str
    other_model: str | None = None
    attribute: str | None = None
    variation: str | None = None
    category: str | None = None
    scenario: str | None = None
    dimension: str | None = None
    group: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    se: float | None = None
    n: int | None = None
    clusters: int | None = None
    p: float | None = None
    q: float | None = None
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
    source: str | None = None

    @property
    def has_interval(self) -> bool:
        """Whether both ends of the interval are known."""
        return self.low is not None and self.high is not None

    @property
    def has_bounds(self) -> bool:
        """Whether it is known what missing answers could have changed."""
        return self.bound_low is not None and self.bound_high is not None

    @property
    def sign_open(self) -> bool:
        """Whether missing answers, had they all gone one way, could have turned the sign round."""
        return self.bound_low is not None and self.bound_high is not None and self.bound_low < 0 < self.bound_high


_NAMES = [f.name for f in fields(Estimate)]
_FLOATS = [name for name in _NAMES if SCHEMA[name] == pl.Float64()]
_BESIDE = ("abs_sbs", "abs_sbs_corrected", "vs_corrected")
_LABELS = [name for name in FACTORS if name != "model"]


class Numbers:
    """Looks estimates up.

    Parameters
    ----------
    frame:
        The table of estimates.
    models:
        Who was asked, in the order in which to show them; models of the table that are missing follow.
    """

    def __init__(self, frame: pl.DataFrame, models: Iterable[str] = ()) -> None:
        missing = [pl.lit(None).cast(SCHEMA[name]).alias(name) for name in _NAMES if name not in frame.columns]
        frame = frame.with_columns(missing).select(_NAMES)
        finite = [pl.when(pl.col(c).is_finite()).then(pl.col(c)).alias(c) for c in _FLOATS]
        frame = frame.with_columns(pl.col(_FLOATS).cast(pl.Float64)).with_columns(finite)
        self._index: dict[tuple[str, str, frozenset[str]], list[Estimate]] = {}
        for row in frame.iter_rows():
            estimate = Estimate(*row)
            labels = frozenset(name for name in _LABELS if getattr(estimate, name) is not None)
            self._index.setdefault((estimate.measure, estimate.model, labels), []).append(estimate)
        seen = [m for m in frame["model"].drop_nulls().unique(maintain_order=True) if m != POOLED]
        self._beside = {
            (measure, e.model, frozenset((name, getattr(e, name)) for name in labels)): e
            for (measure, _, labels), rows in self._index.items()
            if measure in _BESIDE
            for e in rows
        }
        self.models: tuple[str, ...] = tuple(dict.fromkeys([*models, *seen]))
        """Models asked, the mean over them not included."""
        shifts = frame.filter((pl.col("measure") == "sbs") & pl.col("value").is_not_null())["model"].to_list()
        self.measured = tuple(model for model in self.models if model in shifts)
        """Those of them whose answers allow any shift to be measured."""
        self.pooled = POOLED in frame["model"]
        """Whether there are estimates of the mean over models."""
        self.judged: bool = frame["verdict"].is_not_null().any()
        """Whether the estimates say what may be said of them."""

    @property
    def primary(self) -> str:
        """Whose numbers come first: the mean over models, or the first model with any."""
        if self.pooled:
            return POOLED
        return next(iter(self.measured), self.models[0] if self.models else "")

    def all(self, measure: str, model: str, *by: str, **fixed: str) -> list[Estimate]:
        """Return the estimates that vary over `by` alone, `fixed` factors at these levels.

        Parameters
        ----------
        measure, model:
            What of whom.
        by:
            Factor columns that are set.
        fixed:
            Factor columns that are set to a level.
        """
        rows = self._index.get((measure, model, frozenset([*by, *fixed])), [])
        return [row for row in rows if all(getattr(row, k) == v for k, v in fixed.items())]

    def one(self, measure: str, model: str, **fixed: str) -> Estimate | None:
        """Return the estimate at these levels, over everything else; None if there is none."""
        rows = self.all(measure, model, **fixed)
        return rows[0] if rows else None

    def everything(self) -> Iterator[Estimate]:
        """Go through all estimates."""
        for rows in self._index.values():
            yield from rows

    def moved(self, estimate: Estimate) -> bool:
        """Whether a signed shift is a finding.

        Its verdict says so. Tables without verdicts: q < .05, and beyond the noise floor of its size.
        """
        if estimate.verdict is not None:
            return estimate.verdict == Verdict.DIFFERENCE
        if not self.tested(estimate):
            return False
        floor = self.floor(estimate)
        return floor is None or abs(estimate.value or 0.0) > floor

    def tested(self, estimate: Estimate) -> bool:
        """Whether a difference was found by its test alone; by its verdict, where there is one."""
        if estimate.verdict is not None:
            return estimate.verdict == Verdict.DIFFERENCE
        return estimate.value is not None and estimate.q is not None and estimate.q < ALPHA

    def floor(self, estimate: Estimate) -> float | None:
        """95th percentile of the size that a shift has without any effect; None if unknown."""
        size = self.size(estimate)
        return None if size is None else size.floor_high

    def size(self, estimate: Estimate) -> Estimate | None:
        """The |SBS| that goes with a signed shift."""
        return self.beside("abs_sbs", estimate)

    def corrected(self, estimate: Estimate) -> Estimate | None:
        """The same size without the part that chance adds; None if there is none."""
        names = {"sbs": "abs_sbs_corrected", "abs_sbs": "abs_sbs_corrected", "vs": "vs_corrected"}
        return self.beside(names.get(estimate.measure, ""), estimate)

    def beside(self, measure: str, estimate: Estimate) -> Estimate | None:
        """Another measure of the same cell."""
        fixed = {name: getattr(estimate, name) for name in _LABELS if getattr(estimate, name) is not None}
        return self._beside.get((measure, estimate.model, frozenset(fixed.items())))
