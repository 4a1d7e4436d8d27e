"""Selection of the estimates that a limit is about; one that is about nothing is an error, never passed over."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from facevalue.errors import DataError
from facevalue.limits.limits_file import DeclaredLimit
from facevalue.measures.estimates import label_columns
from facevalue.measures.multitest import leads_page
from facevalue.measures.pairs import to_array
from facevalue.measures.power import clusters_needed
from facevalue.measures.verdicts import LimitOutcome, Verdict, trusted_error

# Limits of how many differences may be found, by the verdicts of a run's page.


def findings_decided(cells: pl.DataFrame, limit: DeclaredLimit, alpha: float) -> pl.DataFrame:
    """Decide a limit of findings.

    Parameters
    ----------
    cells:
        Comparisons of one limit, as their pages judged them.
    alpha:
        Level at which something is found here: that of a page, or a share of it where a gate decides by several pages.

    Notes
    -----
    *Beyond* are the differences that were found, where they are more than the limit allows, of each run. *Not
    measurable* is as on the page. *Not enough data* are comparisons that would have missed a difference of the size
    that the limit says must be detected, or, where it says none, any difference at all (of units that all answered
    alike that is not known; all of a run lack data where it is known of none); and what is found on its page but not at
    the level of the gate. All others are within.
    """
    verdict, q_page, mde = cells["verdict"], to_array(cells["q_page"]), to_array(cells["mde"])
    on_page = (verdict == str(Verdict.DIFFERENCE)).fill_null(value=False).to_numpy()
    is_finding = on_page & (q_page < alpha)
    unmeasured = ((verdict == str(Verdict.NOT_MEASURABLE)) | verdict.is_null()).to_numpy()
    runs = cells["run"].to_numpy()
    too_many, blind = (np.zeros(cells.height, dtype=np.bool_) for _ in range(2))
    for run in np.unique(runs):
        of_run = runs == run
        too_many[of_run] = is_finding[of_run].sum() > (limit.findings or 0)
        blind[of_run] = not np.isfinite(mde[of_run]).any()
    blind |= np.isnan(mde) & np.isfinite(to_array(cells["se"]))
    missed = (blind if limit.detects is None else ~(mde <= limit.detects)) & ~on_page
    kinds = [
        (is_finding & too_many, LimitOutcome.BEYOND),
        (unmeasured, LimitOutcome.NOT_MEASURABLE),
        (missed | (on_page & ~is_finding), LimitOutcome.UNDECIDED),
    ]
    outcome = np.select([flags for flags, _ in kinds], [str(kind) for _, kind in kinds], str(LimitOutcome.WITHIN))
    units = np.full(cells.height, np.nan)
    lacking = (outcome == LimitOutcome.UNDECIDED) & missed
    if limit.detects is not None and lacking.any():
        units[lacking] = _needed_units(cells.filter(lacking), limit.detects, alpha / cells.height)
    return cells.with_columns(
        pl.Series("outcome", outcome.tolist(), pl.String),
        pl.Series("units", units).fill_nan(None),
        pl.col("page_low").alias("gate_low"),
        pl.col("page_high").alias("gate_high"),
    )


def why_untested(estimates: pl.DataFrame, lead: Sequence[str]) -> str:
    """Reason why nothing was tested of what leads a run's page: that of most of its comparisons.

    `lead`: families that the study's answer is about.
    """
    compared = estimates.filter(pl.col("family").is_not_null(), pl.col("verdict") == str(Verdict.NOT_MEASURABLE))
    of_lead = compared.filter(leads_page(compared, lead, compared))
    sentences = (of_lead if of_lead.height else compared)["why"].drop_nulls()
    return str(sentences.mode().sort()[0]) if sentences.len() else "It compares nothing that leads its page."


def _needed_units(cells: pl.DataFrame, size: float, level: float) -> np.ndarray:
    """Units with which a difference of this size would be found, at the level that most other units were found by."""
    clusters, mde = to_array(cells["clusters"]), to_array(cells["mde"])
    error = trusted_error(to_array(cells["value"]), to_array(cells["se"]))
    return np.where(
        np.isfinite(mde), np.ceil(clusters * (mde / size) ** 2), clusters_needed(error * np.sqrt(clusters), size, level)
    )


_INTERVENTION, _VERSUS = "intervention", "versus"


def select_estimates(limit: DeclaredLimit, estimates: pl.DataFrame, lead: Sequence[str] = ()) -> pl.DataFrame:
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
    attribute and variation, as no row has the variation alone, and not those by attribute, variation and scenario; of
    a score that is named, the coarsest of its own. Without labels they are the measure as a whole. A limit without a
    measure is about what leads the page: no row where nothing of that was tested. Requests under an intervention count
    where `intervention` is one of
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
    >>> select_estimates(DeclaredLimit("", 0, "", measure="shift", by=("variation",)), rows)["value"].to_list()
    [0.1]
    >>> select_estimates(DeclaredLimit("", 0, "", measure="shift"), rows)["value"].to_list()
    [0.0]
    >>> scored = rows.with_columns(score=pl.Series(["warmth", "words", "words"]))
    >>> by_score = DeclaredLimit("", 0, "", measure="shift", where={"score": ["words"]})
    >>> select_estimates(by_score, scored)["value"].to_list()
    [0.1]
    >>> select_estimates(DeclaredLimit("", 0, "", measure="shift", by=("variaton",)), rows)
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
            raise limit.unknown_name_error(f"label of {limit.measure}", name, names)
    labels, needed = ([name for name in of if name != _INTERVENTION] for of in (names, limit.labels))
    rows = _conditions(limit, rows).filter(*(pl.col(name).is_not_null() for name in needed))
    by_score = rows.partition_by("score", maintain_order=True) if "score" in limit.labels else []
    rows = pl.concat(_coarsest(part, labels) for part in by_score or [rows])
    for name, levels in limit.where.items():
        present = rows[name].drop_nulls().unique().to_list()
        for level in levels:
            if level not in present:
                raise limit.unknown_name_error(f"level of {name} ({limit.measure})", level, present)
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
