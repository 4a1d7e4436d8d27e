"""Stored answers that a page shows: questions, answers, sentences, pictures."""

from collections.abc import Sequence

import polars as pl

from facevalue.protocol.examples import Compared
from facevalue.protocol.page import Page
from facevalue.report.blocks.view import View, page_view
from facevalue.report.data import AnyExample
from facevalue.report.stored.changed_answers import find_compared
from facevalue.report.stored.quoted_answers import find_galleries, find_quotes, find_wanted, find_widest
from facevalue.runs.stored_run import StoredRun


def examples(page: Page, runs: Sequence[StoredRun], view: View) -> list[AnyExample]:
    """Stored answers behind the findings, sentences with marked words, whole sets, and what was shown."""
    out: list[AnyExample] = []
    if isinstance(page.examples, Compared):
        out += find_compared(page.examples, runs, view)
    elif page.examples is not None:
        out += find_wanted(page.examples, runs, view)
    if page.quoted is not None:
        out += find_quotes(page.quoted, runs[0], view)
    if page.widest is not None:
        out += find_widest(page.widest, runs[0], view)
    if page.gallery is not None:
        out += find_galleries(page.gallery, runs[0], view.titles)
    return out


def view_of(page: Page, runs: Sequence[StoredRun], estimates: pl.DataFrame) -> View:
    """Estimates of runs as a page's own texts see them."""
    return page_view(page, estimates, runs[0].measures, runs[0].study.about.titles, [run.model for run in runs])
