"""Selection of the estimates that a limit is about; one that is about nothing is an error, never passed over."""

from collections.abc import Sequence

import polars as pl

from facevalue.errors import DataError
from facevalue.limits.declared import DeclaredLimit
from facevalue.measures.estimates import label_columns
from facevalue.measures.multitest import leads_page

_INTERVENTION, _VERSUS = "intervention", "versus"


def selected(limit: DeclaredLimit, estimates: pl.DataFrame, lead: Sequence[str] = ()) -> pl.DataFrame:
    """Rows of a table of estimates that a limit is about.

    Parameters
    ----------
    estimates:
        Of one model, with the limit's measure among them.
    lead:
        Families that the study's answer is about, for a limit that names no measure.

    Notes
    -----
    The rows are those of the coarsest breakdown that has all labels of the limit: `by = ["variation"]` are the rows by
    attribute and variation, as no row has the variation alone, and not those by attribute, variation and scenario.
    Without labels they are the measure as a whole. A limit without a measure is about what leads the page: no row where
    nothing of that was tested. Requests under an intervention count where `intervention` is one of
    the labels, or nothing else is measured; differences where `versus` is.

    Raises
    ------
    DataError
        An unknown label or level, or no row of its measure.

    Examples
    --------
    >>> none = pl.Series([None] * 3, dtype=pl.String)
    >>> rows = pl.DataFrame({"measure": ["shift"] * 3, "intervention": none, "versus": none,
    ...                      "attribute": [None, "eyewear", "eyewear"], "variation": [None, "shades", "shades"],
    ...                      "scenario": [None, None, "kind"], "value": [0.0, 0.1, 0.2]})
    >>> selected(DeclaredLimit("", 0, "", measure="shift", by=("variation",)), rows)["value"].to_list()
    [0.1]
    >>> selected(DeclaredLimit("", 0, "", measure="shift"), rows)["value"].to_list()
    [0.0]
    >>> selected(DeclaredLimit("", 0, "", measure="shift", by=("variaton",)), rows)
    Traceback (most recent call last):
    facevalue.errors.DataError: Unknown label of shift 'variaton'. Did you mean 'scenario' or 'variation'? Known: \
attribute, scenario, variation.
    """
    if not limit.measure:
        return _leading(estimates, lead)
    rows = estimates.filter(measure=limit.measure)
    names = [name for name in label_columns(rows) if rows[name].null_count() < rows.height]
    for name in limit.labels:
        if name not in names:
            raise limit.unknown(f"label of {limit.measure}", name, names)
    labels, needed = ([name for name in of if name != _INTERVENTION] for of in (names, limit.labels))
    rows = _conditions(limit, rows).filter(*(pl.col(name).is_not_null() for name in needed))
    rows = _coarsest(rows, labels)
    for name, levels in limit.where.items():
        present = rows[name].drop_nulls().unique().to_list()
        for level in levels:
            if level not in present:
                raise limit.unknown(f"level of {name} ({limit.measure})", level, present)
        rows = rows.filter(pl.col(name).is_in(levels))
    if not rows.height:
        raise _nothing(limit, estimates)
    if limit.findings is not None and rows["verdict"].null_count() == rows.height:
        raise limit.error(f"{limit.measure} compares nothing, so that nothing is found of it: limit its values.")
    return rows


def _conditions(limit: DeclaredLimit, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of the requests as they are, or of those under interventions; differences only where they are named."""
    rows = rows.filter(pl.col(_VERSUS).is_not_null() == (_VERSUS in limit.labels))
    if _INTERVENTION in limit.labels:
        return rows.filter(pl.col(_INTERVENTION).is_not_null())
    plain = rows.filter(pl.col(_INTERVENTION).is_null())
    return plain if plain.height else rows


def _coarsest(rows: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Rows of the breakdowns that hold no other breakdown of the rows."""
    if not labels or not rows.height:
        return rows
    flags = rows.select(pl.col(name).is_not_null() for name in labels)
    breakdowns = [frozenset(name for name in labels if row[name]) for row in flags.unique().iter_rows(named=True)]
    coarsest = [names for names in breakdowns if not any(coarser < names for coarser in breakdowns)]
    of_coarsest = [pl.all_horizontal(pl.col(name) == (name in names) for name in labels) for names in coarsest]
    return rows.filter(flags.select(pl.any_horizontal(of_coarsest)).to_series())


def _leading(estimates: pl.DataFrame, lead: Sequence[str]) -> pl.DataFrame:
    """Comparisons of the families that lead the page; those that were declared before the run go first."""
    compared = estimates.filter(
        pl.col("verdict").is_not_null(), pl.col(_INTERVENTION).is_null(), pl.col("family").is_not_null()
    )
    return compared.filter(leads_page(compared, lead, compared.filter(pl.col("q_page").is_not_null())))


def _nothing(limit: DeclaredLimit, estimates: pl.DataFrame) -> DataError:
    """The error of a limit that is about no estimate: a limit that matches nothing would always be kept."""
    rows = estimates.filter(measure=limit.measure)
    labels = [name for name in label_columns(rows) if rows[name].null_count() < rows.height]
    breakdowns = rows.select(
        pl.concat_str(
            [pl.when(pl.col(name).is_not_null()).then(pl.lit(name)) for name in labels],
            separator=" and ", ignore_nulls=True,
        ).alias("by")
        if labels else pl.lit("").alias("by")
    )["by"]  # fmt: skip
    listed = "; ".join(name or "nothing, as a whole" for name in breakdowns.unique(maintain_order=True)[:10])
    return limit.error(f"no estimate of {limit.measure} is broken down by {' and '.join(limit.labels)}: by {listed}.")
