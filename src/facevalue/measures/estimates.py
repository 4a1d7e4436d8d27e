"""Table of estimates: no value without n, interval and method, nor without the labels that identify it."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.cluster_bootstrap import LEVEL, only_values
from facevalue.measures.definitions import Measure, change_of, value_by_measure
from facevalue.measures.intervals import (
    EQUAL_CLUSTERS,
    EQUAL_WITHIN,
    FLAT_CLUSTERS,
    NOT_MEASURABLE,
    STUDENTISED_BOOTSTRAP,
    T_OVER_MEANS,
    IntervalKind,
    describe_method,
    equal_interval,
    split_method,
)
from facevalue.measures.multitest import adjust_within
from facevalue.measures.uncertainty import Estimates, term_record

Level = str | None
Labels = Mapping[str, Level | Sequence[Level] | pl.Series]
"""Level that estimates are of: one of all of them, or one each."""
TYPED_LABELS = ("intervention", "versus", "other_model", "word", "score")
"""Labels of every table: what was done to the requests (null: nothing), what the value is a difference from
(`definitions.change_of`; null: it is no difference), the model that `model` is compared with, a word of the answers,
and which of several scores of an answer is measured. Null means "not one of them", as for all labels.
"""

_WHAT: dict[str, pl.DataType] = {"study": pl.String(), "measure": pl.String(), "model": pl.String()}
_FOUND: dict[str, pl.DataType] = {
    "value": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(), "level": pl.Float64(), "se": pl.Float64(),
    "n": pl.UInt64(), "clusters": pl.UInt64(), "p": pl.Float64(), "q": pl.Float64(), "q_page": pl.Float64(),
    "page_low": pl.Float64(), "page_high": pl.Float64(), "page_level": pl.Float64(), "p_least": pl.Float64(),
    "p_paper": pl.Float64(), "q_paper": pl.Float64(), "family": pl.String(), "kind": pl.String(), "floor": pl.Float64(),
    "floor_high": pl.Float64(), "mde": pl.Float64(), "margin": pl.Float64(), "declared": pl.Boolean(),
    "verdict": pl.String(), "why": pl.String(), "bound_low": pl.Float64(), "bound_high": pl.Float64(),
    "bound_se": pl.Float64(), "unit": pl.String(), "method": pl.String(), "detail": pl.String(), "source": pl.String(),
}  # fmt: skip
FIXED_COLUMNS: Mapping[str, pl.DataType] = {**_WHAT, **_FOUND}
"""Columns of every table of estimates that are no labels.

`value` with its interval `low` to `high` at `level`; null is *not measurable*, never zero. `n` observations in
`clusters` units that were sampled. `p` tests the value that is shown and agrees with its interval; `q` is adjusted
within `family`, and `q_page` for all families of the page besides (`multitest`): it decides the verdict. `page_low`
to `page_high`: the interval at `page_level`, at which the page judges the row (`page_interval`); it leaves out what `p`
tests against, zero, exactly where a difference is found. Null where the page tests nothing. `p_least`:
smallest p that the test could have given, null where any could come. `p_paper` and `q_paper`: by the protocol's own
test and its own correction, as published; they decide nothing. `floor` and `floor_high`: mean and 95th percentile of
the measure where there is no effect, for unsigned measures. `se`: standard error over clusters. `mde`: smallest effect
that would be detected with 80% power at the family's level. `margin`: largest difference that would not matter,
`declared` before the run or not; `verdict` and `why`: what may be said, see `verdicts`; `kind` of the family,
confirmatory or exploratory. `bound_low`, `bound_high`: the value if all missing answers had gone one way or the other,
and `bound_se` the standard error of these two, null where it is that of the value. `method`: the kind of method by
which the interval was made, one of `intervals.IntervalKind`, and `detail`: over what, and how; with "none" it
says why there is no interval, or why nothing could be measured.
"""


def estimate_schema(labels: Iterable[str] = ()) -> dict[str, pl.DataType]:
    """Columns of a table of estimates, in their order.

    `labels`: the labels that the study declares (`Study.estimates.labels`), after those that every table has.

    Raises
    ------
    DataError
        A label has the name of another column, or two have the same.
    """
    out = {**_WHAT, **{name: pl.String() for name in TYPED_LABELS}}
    for name in labels:
        if name in out or name in FIXED_COLUMNS:
            raise DataError(f"The label {name!r} would be a second column of that name: call it something else.")
        out[name] = pl.String()
    return out | _FOUND


def label_columns(estimates: pl.DataFrame) -> list[str]:
    """Columns that say what estimates are of, the model apart: all that are not `FIXED_COLUMNS`.

    Examples
    --------
    >>> label_columns(pl.DataFrame(schema=estimate_schema(["descriptor"])))
    ['intervention', 'versus', 'other_model', 'word', 'score', 'descriptor']
    """
    return [name for name in estimates.columns if name not in FIXED_COLUMNS]


def complete_columns(rows: pl.DataFrame, labels: Iterable[str] | None = None) -> pl.DataFrame:
    """The rows with every column of a table of estimates; null where they have none, or are not a number.

    `labels`: those of the study; by default the ones that the rows have.
    """
    if labels is None:
        labels = [name for name in label_columns(rows) if name not in TYPED_LABELS]
    columns = estimate_schema(labels)
    missing = [pl.lit(None).alias(name) for name in columns if name not in rows.columns]
    numbers = [name for name, dtype in columns.items() if dtype == pl.Float64()]
    filled = rows.with_columns(missing).select(list(columns)).cast(columns)  # type: ignore[arg-type]
    return filled.with_columns(pl.col(numbers).fill_nan(None))


def stack_estimates(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Tables of estimates one below the other, with the labels of all of them."""
    labels = dict.fromkeys(name for table in tables for name in label_columns(table) if name not in TYPED_LABELS)
    return pl.concat(tables, how="diagonal").select(list(estimate_schema(labels)))


def fact_of_rows(
    measures: Iterable[Measure], fact: Callable[[Measure], float | bool | str], default: float | bool | str
) -> pl.Expr:
    """A fact of the measure of each row of a table of estimates, or of the change in it; of others the default.

    Examples
    --------
    >>> from facevalue.measures.definitions import Measure
    >>> share = Measure("share", "Share chosen", "n / N", "%", "image", "", limits=(0, 100))
    >>> rows = pl.DataFrame({"measure": ["share", "share", "gap"], "versus": [None, "no intervention", None]})
    >>> rows = rows.with_columns(score=pl.lit(None, pl.String))
    >>> rows.select(unit=fact_of_rows([share], lambda measure: measure.unit, ""))["unit"].to_list()
    ['%', 'pp', '']
    """
    definitions = list(measures)
    of_level = value_by_measure({m.key: fact(m) for m in definitions}, default)
    of_change = value_by_measure({m.key: fact(change_of(m)) for m in definitions}, default)
    return pl.when(pl.col("versus").is_null()).then(of_level).otherwise(of_change)


def condition() -> pl.Expr:
    """Name of a model under an intervention, for people: "m", or "m + cipher"."""
    return pl.concat_str("model", "intervention", separator=" + ", ignore_nulls=True)


def with_adjusted(estimates: pl.DataFrame, p: str, q: str) -> pl.DataFrame:
    """Fill the column `q` where it is null by Benjamini and Hochberg's over model, measure, score and family."""
    judged = pl.all_horizontal(pl.col(p, "family").is_not_null()) & pl.col(q).is_null()
    code = pl.when(judged).then(pl.struct("model", "measure", "score", "family").rank("dense").cast(pl.Int64))
    adjusted = adjust_within(estimates[p].to_numpy(), estimates.select(code.fill_null(0))["model"].to_numpy() - 1)
    return estimates.with_columns(pl.col(q).fill_null(pl.Series(adjusted).fill_nan(None)))


TableEntry = tuple[Measure, Labels, Estimates, str | None]
"""A measure, labels, estimates and their family: arguments of `EstimateTable.add`."""


class EstimateTable:
    """Collects estimates of one study and model into the table.

    Parameters
    ----------
    labels:
        What estimates may be broken down by (`Study.estimates.labels`), besides what every table has (`TYPED_LABELS`).
    intervention:
        What was done to the requests; None for nothing.

    Raises
    ------
    DataError
        A label has the name of another column, or two have the same.
    """

    def __init__(self, study: str, model: str, labels: Sequence[str] = (), intervention: str | None = None) -> None:
        self._constants = {"study": study, "model": model, "intervention": intervention}
        self._schema = estimate_schema(labels)
        self.labels = tuple(labels)
        """Labels that the study declares its estimates may be broken down by."""
        self.unit_names: Sequence[str] = ()
        """Names of the units that sums are over, in their order; empty where nobody says."""
        self._columns: dict[str, list[Sequence[str | None] | npt.NDArray[Any]]] = {name: [] for name in self._schema}

    def add(
        self,
        measure: Measure,
        labels: Labels,
        estimates: Estimates,
        family: str | Sequence[str | None] | pl.Series | None = None,
        *,
        keep: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        """Add estimates, one per label row.

        Parameters
        ----------
        labels:
            What they are of: columns of labels, each as long as the estimates, or one level for all of them; null means
            "over all of them". A column `model` stands for that of the table.
        family:
            With what they are judged: one name for all rows, which may hold labels in braces (`name_families`), or one
            each. Without q it is taken in `frame`.
        keep:
            Which rows apply; all by default. A row that applies but was not measured is stored as not measurable.

        Raises
        ------
        UnknownNameError
            A label that the study does not declare.
        """
        label_names = (*self.labels, *TYPED_LABELS, "model")
        for name in labels:
            if name not in label_names:
                raise UnknownNameError(f"label of {measure.name} ({self._constants['study']})", name, label_names)
        if measure.score:
            labels = {**labels, "score": measure.score}
        size, rows = estimates.value.size, slice(None) if keep is None else np.flatnonzero(keep)
        texts = {name: _text_column(levels, size) for name, levels in labels.items()}
        if (kept_terms := term_record()) is not None:
            kept_terms.enter(measure.name, self._constants["intervention"], texts, estimates.terms, self.unit_names)
        families = name_families(family, texts, size) if isinstance(family, str) else family
        texts["family"] = _text_column(families, size)
        if keep is not None:
            texts = {name: [levels[row] for row in rows.tolist()] for name, levels in texts.items()}  # type: ignore[union-attr]
            estimates = estimates.at(rows)
        estimates = _with_width(measure, estimates)
        size, floor = estimates.value.size, estimates.floor
        bounds = None if estimates.bounds is None else estimates.bounds.widen_to(estimates.value)
        columns: dict[str, Sequence[str | None] | npt.NDArray[Any] | None] = {
            "value": estimates.value,
            "low": np.maximum(estimates.low, measure.limits[0]),
            "high": np.minimum(estimates.high, measure.limits[1]),
            "level": np.full(size, LEVEL),
            "p": estimates.test,
            **{name: getattr(estimates, name) for name in ("n", "clusters", "se", "q", "p_least", "p_paper")},
            **({} if floor is None else {"floor": floor.mean, "floor_high": floor.high}),
            **({} if bounds is None else {"bound_low": bounds.low, "bound_high": bounds.high, "bound_se": bounds.se}),
            **_methods(estimates),
            **texts,
        }
        for name, text in {**self._constants, "measure": measure.name, "unit": measure.unit,
                           "source": measure.source}.items():  # fmt: skip
            columns.setdefault(name, [text] * size)
        for name, dtype in self._schema.items():
            column = columns.get(name)
            if column is None:
                column = np.full(size, np.nan) if dtype.is_numeric() else [None] * size
            self._columns[name].append(column)

    def frame(self) -> pl.DataFrame:
        """All estimates so far; q of tests that came without is Benjamini and Hochberg's over measure and family.

        Raises
        ------
        DataError
            Two estimates of one measure have the same labels: nothing would tell them apart.
        """
        out = pl.DataFrame([_column(name, pieces, self._schema[name]) for name, pieces in self._columns.items()])
        keys = ["measure", "model", *label_columns(out)]
        twice = out.select(keys).is_duplicated()
        if twice.any():
            first = out.filter(twice).select(keys).row(0, named=True)
            labels = ", ".join(f"{name} {level!r}" for name, level in first.items() if level is not None)
            raise DataError(f"Two estimates have the same labels ({labels}): what tells them apart needs a label, too.")
        if only_values():
            return out
        return with_adjusted(out, "p", "q")


_BRACED = re.compile(r"\{(\w+)\}")


def name_families(form: str, labels: Mapping[str, Sequence[Level]], size: int) -> list[str]:
    """Name the family of each row: the form, with levels in place of labels in braces.

    Of a null level, or a label that the rows do not have, the comma beside it goes, too.

    Examples
    --------
    >>> labels = {"question": ["rich", None], "place": ["home", "home"]}
    >>> name_families("choices, {question}, {place}", labels, 2)
    ['choices, rich, home', 'choices, home']
    """
    names = _BRACED.findall(form)
    columns = [labels[name] if name in labels else [None] * size for name in names]

    @cache
    def fill(*levels: Level) -> str:
        text = form
        for name, level in zip(names, levels, strict=True):
            braced = f"{{{name}}}"
            if level is None:
                text = text.replace(f", {braced}", "").replace(f"{braced}, ", "")
            text = text.replace(braced, level or "")
        return text

    return [fill(*levels) for levels in zip(*columns, strict=True)] if names else [form] * size


def _text_column(levels: Level | Sequence[Level] | pl.Series, size: int) -> list[Level]:
    """A column of texts, of one level or of one each."""
    if levels is None or isinstance(levels, str):
        return [levels] * size
    return levels.cast(pl.String).to_list() if isinstance(levels, pl.Series) else list(levels)


def _column(name: str, pieces: Sequence[Any], dtype: pl.DataType) -> pl.Series:
    """Pieces of a column one below the other; null where a number is not one."""
    if not dtype.is_numeric():
        return pl.Series(name, [text for piece in pieces for text in piece], dtype)
    return pl.Series(name, np.concatenate(pieces) if pieces else [], pl.Float64, nan_to_null=True).cast(dtype)


def _with_width(measure: Measure, estimates: Estimates) -> Estimates:
    """The same without intervals of no width, which would say that units that were not seen cannot differ.

    Means and shares to which all clusters give one value get the interval of `intervals.equal_interval`, everything
    else none, unless its test finds a difference: groups that could not lie further apart.
    """
    rounding = EQUAL_WITHIN * np.fmax(np.abs(estimates.value), 1.0)
    flat = estimates.high - estimates.low <= rounding
    if estimates.test is not None:
        flat &= ~(estimates.test < 1 - LEVEL)
    if not flat.any():
        return estimates
    low, high, method = estimates.low.copy(), estimates.high.copy(), estimates.method.copy()
    low[flat], high[flat], method[flat] = np.nan, np.nan, FLAT_CLUSTERS
    if not measure.comparison and np.isfinite(measure.limits).all():
        of_means = (
            flat
            & (estimates.clusters > 1)
            & np.isin(estimates.method.astype(str), (T_OVER_MEANS, STUDENTISED_BOOTSTRAP))
        )
        low[of_means], high[of_means] = equal_interval(
            estimates.value[of_means], estimates.clusters[of_means], measure.limits, LEVEL
        )
        method[of_means] = EQUAL_CLUSTERS
    return replace(estimates, low=low, high=high, method=method)


def _methods(estimates: Estimates) -> dict[str, list[str]]:
    """Say of each estimate by which kind of method its interval was made, with the detail: the columns of these."""
    if only_values():
        return {"method": [IntervalKind.NONE.value] * estimates.value.size}
    # not by an expression: thousands of small tables are added, and each query takes a millisecond
    rows = zip(estimates.method, *(np.isfinite(x).tolist() for x in (estimates.value, estimates.low)), strict=True)
    pairs = [_method(str(method), measured, bounded) for method, measured, bounded in rows]
    return {"method": [kind.value for kind, _ in pairs], "detail": [detail for _, detail in pairs]}


@lru_cache(maxsize=1024)
def _method(text: str, measured: bool, bounded: bool) -> tuple[IntervalKind, str]:
    """Say it of one, which has a value and an interval or not."""
    kind, detail = split_method(text)
    if not measured:
        return IntervalKind.NONE, detail if detail.startswith(NOT_MEASURABLE) else NOT_MEASURABLE
    if bounded or kind == IntervalKind.NONE:
        return kind, detail
    return IntervalKind.NONE, f"too few clusters for the {describe_method(kind, detail)}"
