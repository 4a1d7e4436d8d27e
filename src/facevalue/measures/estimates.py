"""Table of estimates: no value without n, interval and method, nor without the labels that identify it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.adjustment import within
from facevalue.measures.base import Measure, change_of
from facevalue.measures.cluster_bootstrap import LEVEL, Array, Estimates, Floor, only_values
from facevalue.measures.interval_method import (
    BOOTSTRAP,
    NOT_MEASURABLE,
    IntervalKind,
    T,
    describe_method,
    split_method,
)
from facevalue.measures.missing_data_bounds import Bounds
from facevalue.measures.terms import record
from facevalue.measures.unseen import ALIKE, EQUAL, FLAT, alike

TYPED = ("intervention", "versus", "other_model", "word", "score")
"""Labels of every table: what was done to the requests (null: nothing), what the value is a difference from
(`base.change_of`; null: it is no difference), the model that `model` is compared with, a word of the answers, and which
of several scores of an answer is measured. Null means "not one of them", as for all labels.
"""

_WHAT: dict[str, pl.DataType] = {"study": pl.String(), "measure": pl.String(), "model": pl.String()}
_FOUND: dict[str, pl.DataType] = {
    "value": pl.Float64(),
    "low": pl.Float64(),
    "high": pl.Float64(),
    "level": pl.Float64(),
    "se": pl.Float64(),
    "n": pl.UInt64(),
    "clusters": pl.UInt64(),
    "p": pl.Float64(),
    "q": pl.Float64(),
    "q_page": pl.Float64(),
    "page_low": pl.Float64(),
    "page_high": pl.Float64(),
    "page_level": pl.Float64(),
    "p_least": pl.Float64(),
    "p_paper": pl.Float64(),
    "q_paper": pl.Float64(),
    "family": pl.String(),
    "kind": pl.String(),
    "floor": pl.Float64(),
    "floor_high": pl.Float64(),
    "mde": pl.Float64(),
    "margin": pl.Float64(),
    "declared": pl.Boolean(),
    "verdict": pl.String(),
    "why": pl.String(),
    "bound_low": pl.Float64(),
    "bound_high": pl.Float64(),
    "bound_se": pl.Float64(),
    "unit": pl.String(),
    "method": pl.String(),
    "detail": pl.String(),
    "source": pl.String(),
}
FIXED: Mapping[str, pl.DataType] = {**_WHAT, **_FOUND}
"""Columns of every table of estimates that are no labels.

`value` with its interval `low` to `high` at `level`; null is *not measurable*, never zero. `n` observations in
`clusters` units that were sampled. `p` tests the value that is shown and agrees with its interval; `q` is adjusted
within `family`, and `q_page` for all families of the page besides (`page_error`): it decides the verdict. `page_low`
to `page_high`: the interval at `page_level`, at which the page judges the row (`page_interval`); it leaves out what `p`
tests against, zero, exactly where a difference is found. Null where the page tests nothing. `p_least`:
smallest p that the test could have given, null where any could come. `p_paper` and `q_paper`: by the protocol's own
test and its own correction, as published; they decide nothing. `floor` and `floor_high`: mean and 95th percentile of
the measure where there is no effect, for unsigned measures. `se`: standard error over clusters. `mde`: smallest effect
that would be detected with 80% power at the family's level. `margin`: largest difference that would not matter,
`declared` before the run or not; `verdict` and `why`: what may be said, see `verdicts`; `kind` of the family,
confirmatory or exploratory. `bound_low`, `bound_high`: the value if all missing answers had gone one way or the other,
and `bound_se` the standard error of these two, null where it is that of the value. `method`: the kind of method by
which the interval was made, one of `interval_method.IntervalKind`, and `detail`: over what, and how; with "none" it
says why there is no interval, or why nothing could be measured.
"""


def schema(labels: Iterable[str] = ()) -> dict[str, pl.DataType]:
    """Columns of a table of estimates, in their order.

    `labels`: the labels that the study declares (`Study.estimates.labels`), after those that every table has.

    Raises
    ------
    DataError
        A label has the name of another column, or two have the same.
    """
    out = {**_WHAT, **{name: pl.String() for name in TYPED}}
    for name in labels:
        if name in out or name in FIXED:
            raise DataError(f"The label {name!r} would be a second column of that name: call it something else.")
        out[name] = pl.String()
    return out | _FOUND


def label_columns(estimates: pl.DataFrame) -> list[str]:
    """Columns that say what estimates are of, the model apart: all that are not `FIXED`.

    Examples
    --------
    >>> label_columns(pl.DataFrame(schema=schema(["descriptor"])))
    ['intervention', 'versus', 'other_model', 'word', 'score', 'descriptor']
    """
    return [name for name in estimates.columns if name not in FIXED]


def complete(rows: pl.DataFrame, labels: Iterable[str] | None = None) -> pl.DataFrame:
    """The rows with every column of a table of estimates; null where they have none, or are not a number.

    `labels`: those of the study; by default the ones that the rows have.
    """
    if labels is None:
        labels = [name for name in label_columns(rows) if name not in TYPED]
    columns = schema(labels)
    missing = [pl.lit(None).alias(name) for name in columns if name not in rows.columns]
    numbers = [name for name, dtype in columns.items() if dtype == pl.Float64()]
    filled = rows.with_columns(missing).select(list(columns)).cast(columns)  # type: ignore[arg-type]
    return filled.with_columns(pl.col(numbers).fill_nan(None))


def stacked(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Tables of estimates one below the other, with the labels of all of them."""
    labels = dict.fromkeys(name for table in tables for name in label_columns(table) if name not in TYPED)
    return pl.concat(tables, how="diagonal").select(list(schema(labels)))


def fact_of_rows(
    measures: Iterable[Measure], fact: Callable[[Measure], float | bool | str], default: float | bool | str
) -> pl.Expr:
    """A fact of the measure of each row of a table of estimates, or of the change in it; of others the default.

    Examples
    --------
    >>> from facevalue.measures.base import Measure
    >>> share = Measure("share", "Share chosen", "n / N", "%", "image", "", limits=(0, 100))
    >>> rows = pl.DataFrame({"measure": ["share", "share", "gap"], "versus": [None, "no intervention", None]})
    >>> rows.select(unit=fact_of_rows([share], lambda measure: measure.unit, ""))["unit"].to_list()
    ['%', 'pp', '']
    """
    own, changes = {}, {}
    for measure in measures:
        own[measure.name], changes[measure.name] = fact(measure), fact(change_of(measure))
    name = pl.col("measure")
    return (
        pl.when(pl.col("versus").is_null())
        .then(name.replace_strict(own, default=default))
        .otherwise(name.replace_strict(changes, default=default))
    )


def condition() -> pl.Expr:
    """What a model is called under an intervention, for people: "m", or "m + cipher"."""
    return pl.concat_str("model", "intervention", separator=" + ", ignore_nulls=True)


def with_adjusted(estimates: pl.DataFrame, p: str, q: str) -> pl.DataFrame:
    """Fill the column `q` where it is null by Benjamini and Hochberg's over model, measure and family."""
    judged = pl.all_horizontal(pl.col(p, "family").is_not_null()) & pl.col(q).is_null()
    code = pl.when(judged).then(pl.struct("model", "measure", "family").rank("dense").cast(pl.Int64))
    adjusted = within(estimates[p].to_numpy(), estimates.select(code.fill_null(0))["model"].to_numpy() - 1)
    return estimates.with_columns(pl.col(q).fill_null(pl.Series(adjusted).fill_nan(None)))


class EstimateTable:
    """Collects estimates of one study and model into the table.

    Parameters
    ----------
    labels:
        What estimates may be broken down by (`Study.estimates.labels`), besides what every table has (`TYPED`).
    intervention:
        What was done to the requests; None for nothing.

    Raises
    ------
    DataError
        A label has the name of another column, or two have the same.
    """

    def __init__(self, study: str, model: str, labels: Sequence[str] = (), intervention: str | None = None) -> None:
        self._constants = {"study": study, "model": model, "intervention": intervention}
        self._schema = schema(labels)
        self.labels = tuple(labels)
        """What the study declares that its estimates may be broken down by."""
        self.unit_names: Sequence[str] = ()
        """What the units are called that sums are over, in their order; empty where nobody says."""
        self._parts: list[_Part] = []

    def add(
        self,
        measure: Measure,
        labels: Mapping[str, Sequence[str | None] | pl.Series],
        estimates: Estimates,
        *,
        p: Array | None = None,
        q: Array | None = None,
        p_paper: Array | None = None,
        q_paper: Array | None = None,
        p_least: Array | None = None,
        family: str | Sequence[str] | pl.Series | None = None,
        floor: Floor | None = None,
        bounds: Bounds | None = None,
        keep: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        """Add estimates, one per label row.

        Parameters
        ----------
        labels:
            What they are of: columns of labels, each as long as the estimates; null means "over all of them". A column
            `model` stands for that of the table.
        estimates, p, q, p_paper, q_paper, p_least, floor:
            Arrays of that length; see `FIXED`.
        family:
            With what they are judged: one name for all rows, or one each. Without q it is taken in `frame`.
        keep:
            Which rows apply; all by default. A row that applies but was not measured is stored as not measurable.

        Raises
        ------
        UnknownNameError
            A label that the study does not declare.
        """
        label_names = (*self.labels, *TYPED, "model")
        for name in labels:
            if name not in label_names:
                raise UnknownNameError(f"label of {measure.name} ({self._constants['study']})", name, label_names)
        if (kept_terms := record()) is not None:
            kept_terms.enter(measure.name, self._constants["intervention"], labels, estimates.terms, self.unit_names)
        columns: dict[str, Any] = dict(labels)
        chance = p if p is not None or floor is None else floor.p
        estimates = _with_width(measure, estimates, chance)
        low = np.maximum(estimates.low, measure.limits[0])
        high = np.minimum(estimates.high, measure.limits[1])
        columns |= {"value": estimates.value, "low": low, "high": high}
        columns |= {"n": estimates.n, "clusters": estimates.clusters, **_methods(estimates)}
        if estimates.se is not None:
            columns["se"] = estimates.se
        if bounds is not None:
            columns |= {"bound_low": bounds.low, "bound_high": bounds.high, "bound_se": bounds.se}
        tests = {"p": p, "q": q, "p_paper": p_paper, "q_paper": q_paper, "p_least": p_least}
        columns |= {name: column for name, column in tests.items() if column is not None}
        if family is not None:
            columns["family"] = [family] * estimates.value.size if isinstance(family, str) else family
        if floor is not None:
            columns |= {"floor": floor.mean, "floor_high": floor.high}
            if p is None:
                columns["p"] = floor.p
        constants: dict[str, str | float | None] = {
            "measure": measure.name,
            "unit": measure.unit,
            "source": measure.source,
            "level": LEVEL,
        }
        constants |= {name: value for name, value in self._constants.items() if name not in columns}
        self._parts.append(_Part.of(columns, constants, self._schema, keep))

    def frame(self) -> pl.DataFrame:
        """All estimates so far; q of tests that came without is Benjamini and Hochberg's over measure and family.

        Raises
        ------
        DataError
            Two estimates of one measure have the same labels: nothing would tell them apart.
        """
        if not self._parts:
            return pl.DataFrame(schema=self._schema)
        out = _joined(self._parts, self._schema)
        keys = ["measure", "model", *label_columns(out)]
        twice = out.select(keys).is_duplicated()
        if twice.any():
            first = out.filter(twice).select(keys).row(0, named=True)
            labels = ", ".join(f"{name} {level!r}" for name, level in first.items() if level is not None)
            raise DataError(f"Two estimates have the same labels ({labels}): what tells them apart needs a label, too.")
        if only_values():
            return out
        return with_adjusted(out, "p", "q")


class _Part(NamedTuple):
    """Estimates that were added at once.

    A jackknife adds small tables thousands of times: columns of numbers become Series when all are there.
    """

    texts: pl.DataFrame
    numbers: dict[str, Array]
    constants: Mapping[str, str | float | None]

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Any],
        constants: Mapping[str, str | float | None],
        dtypes: Mapping[str, pl.DataType],
        keep: npt.NDArray[np.bool_] | None,
    ) -> "_Part":
        """The rows that are kept; all if nothing says which."""
        texts = pl.DataFrame([
            pl.Series(name, values if isinstance(values, pl.Series) else list(values), pl.String, strict=False)
            for name, values in columns.items() if not dtypes[name].is_numeric()
        ])  # fmt: skip
        numbers = {
            name: np.asarray(values, dtype=np.float64) for name, values in columns.items() if dtypes[name].is_numeric()
        }
        if keep is None or keep.all():
            return cls(texts, numbers, constants)
        return cls(texts.filter(keep), {name: values[keep] for name, values in numbers.items()}, constants)


def _joined(parts: Sequence[_Part], dtypes: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Parts one below the other, with every column; null where a number is not one."""
    sizes = [part.texts.height for part in parts]
    texts = pl.concat([part.texts for part in parts], how="diagonal", rechunk=True)
    part_of = np.repeat(np.arange(len(parts)), sizes)
    columns = []
    for name, dtype in dtypes.items():
        constants = [part.constants.get(name) for part in parts]
        constant = pl.Series(name, constants, dtype)[part_of]
        if any(name in part.numbers for part in parts):
            missing = ((part.numbers.get(name), size) for part, size in zip(parts, sizes, strict=True))
            values = [np.full(size, np.nan) if array is None else array for array, size in missing]
            columns.append(pl.Series(name, np.concatenate(values), nan_to_null=True).cast(dtype))
        elif name not in texts.columns:
            columns.append(constant)
        elif any(text is not None for text in constants):
            columns.append(texts[name].zip_with(texts[name].is_not_null(), constant))
        else:
            columns.append(texts[name])
    return pl.DataFrame(columns)


def _with_width(measure: Measure, estimates: Estimates, p: Array | None) -> Estimates:
    """The same without intervals of no width, which would say that units that were not seen cannot differ.

    Means and shares to which all clusters give one value get the interval of `unseen.alike`, everything else none,
    unless its test finds a difference: groups that could not lie further apart.
    """
    rounding = EQUAL * np.fmax(np.abs(estimates.value), 1.0)
    flat = estimates.high - estimates.low <= rounding
    if p is not None:
        flat &= ~(p < 1 - LEVEL)
    if not flat.any():
        return estimates
    low, high, method = estimates.low.copy(), estimates.high.copy(), estimates.method.copy()
    low[flat], high[flat], method[flat] = np.nan, np.nan, FLAT
    if not measure.comparison and np.isfinite(measure.limits).all():
        of_means = flat & (estimates.clusters > 1) & np.isin(estimates.method.astype(str), (T, BOOTSTRAP))
        low[of_means], high[of_means] = alike(
            estimates.value[of_means], estimates.clusters[of_means], measure.limits, LEVEL
        )
        method[of_means] = ALIKE
    return replace(estimates, low=low, high=high, method=method)


def _methods(estimates: Estimates) -> dict[str, list[str]]:
    """Say of each estimate by which kind of method its interval was made, with the detail: the columns of these."""
    if only_values():
        return {"method": [IntervalKind.NONE.value] * estimates.value.size}
    # not by an expression: thousands of small tables are added, and each query takes a millisecond
    rows = zip(estimates.method, np.isfinite(estimates.value), np.isfinite(estimates.low), strict=True)
    pairs = [_method(str(method), measured, bounded) for method, measured, bounded in rows]
    return {"method": [kind.value for kind, _ in pairs], "detail": [detail for _, detail in pairs]}


def _method(text: str, measured: bool, bounded: bool) -> tuple[IntervalKind, str]:
    """Say it of one, which has a value and an interval or not."""
    kind, detail = split_method(text)
    if not measured:
        return IntervalKind.NONE, detail if detail.startswith(NOT_MEASURABLE) else NOT_MEASURABLE
    if bounded or kind == IntervalKind.NONE:
        return kind, detail
    return IntervalKind.NONE, f"too few clusters for the {describe_method(kind, detail)}"
