"""Findings of a run's page as statements that people judge: who and what, without model, size or certainty."""

from collections.abc import Sequence

import polars as pl

from facevalue.annotations.review_cards import item_id
from facevalue.errors import DataError
from facevalue.protocol.lookup import Estimate
from facevalue.report.collect import gather_report
from facevalue.report.findings import LeadComparison, findings, row
from facevalue.report.page_builder import build_page
from facevalue.runs.stored_run import StoredRun


def found_statements(runs: Sequence[StoredRun]) -> pl.DataFrame:
    """Associations that were found, the strongest first: `item`, `statement`.

    Raises
    ------
    DataError
        Nothing was found.
    """
    comparisons = build_page(gather_report(runs).data).comparisons
    found_of = [
        finding for model in comparisons.view.numbers.plain
        for finding in findings([*comparisons.of_model(model), *comparisons.without_answer(model)])
    ]  # fmt: skip
    statements = list(dict.fromkeys(_statement(comparison, e) for comparison, e in found_of))
    if not statements:
        raise DataError("No difference was found in this run: there is no association to judge.")
    items = [item_id("f", (statement,)) for statement in statements]
    return pl.DataFrame({"item": items, "statement": statements})


def _statement(comparison: LeadComparison, e: Estimate) -> str:
    """A finding without how far and how sure."""
    form = comparison.lead.moved[(e.value or 0.0) < 0]
    more = {"row": row(comparison.lead, comparison.view, e)}
    if comparison.lead.even is not None:
        more["even"] = comparison.lead.even(comparison.view, e)
    for sized in (" by {size}", " {size}", "{size} ", "{size}"):
        form = form.replace(sized, "")
    return f"{comparison.subject(e)}, {comparison.view.said(form, e, more)}"
