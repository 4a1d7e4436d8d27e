"""Limits of how many differences may be found, by the verdicts of a run's page."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from facevalue.limits.declared import DeclaredLimit
from facevalue.measures.multitest import leads_page
from facevalue.measures.pairs import to_array
from facevalue.measures.power import clusters_needed
from facevalue.measures.verdicts import LimitOutcome, Verdict, trusted_error


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
        units[lacking] = _needed(cells.filter(lacking), limit.detects, alpha / cells.height)
    return cells.with_columns(
        pl.Series("outcome", outcome.tolist(), pl.String),
        pl.Series("units", units).fill_nan(None),
        pl.col("page_low").alias("gate_low"),
        pl.col("page_high").alias("gate_high"),
    )


def why_untested(estimates: pl.DataFrame, lead: Sequence[str]) -> str:
    """Why nothing was tested of what leads a run's page: what is said of most of its comparisons.

    `lead`: families that the study's answer is about.
    """
    compared = estimates.filter(pl.col("family").is_not_null(), pl.col("verdict") == str(Verdict.NOT_MEASURABLE))
    of_lead = compared.filter(leads_page(compared, lead, compared))
    sentences = (of_lead if of_lead.height else compared)["why"].drop_nulls()
    return str(sentences.mode().sort()[0]) if sentences.len() else "It compares nothing that leads its page."


def _needed(cells: pl.DataFrame, size: float, level: float) -> np.ndarray:
    """Units with which a difference of this size would be found, at the level that most other units were found by."""
    clusters, mde = to_array(cells["clusters"]), to_array(cells["mde"])
    error = trusted_error(to_array(cells["value"]), to_array(cells["se"]))
    return np.where(
        np.isfinite(mde), np.ceil(clusters * (mde / size) ** 2), clusters_needed(error * np.sqrt(clusters), size, level)
    )
