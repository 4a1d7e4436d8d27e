"""The editor of a study's pictures: which it was, and what its audit found, beside what is said of the model."""

from pathlib import Path

import polars as pl

from facevalue.errors import FaceValueError
from facevalue.parquet import read_table
from facevalue.printable import printable
from facevalue.protocol.study import Study
from facevalue.report.answer import answered
from facevalue.report.checks import AUDIT
from facevalue.report.data import EditorFacts
from facevalue.report.findings import PageComparisons
from facevalue.report.headline import HeadlineKind
from facevalue.report.sections import page_of
from facevalue.report.stored import view_of
from facevalue.runs.kept_estimates import taken
from facevalue.runs.reply_counts import counts_by_model
from facevalue.runs.stored import StoredRun
from facevalue.store.files import STIMULI as MANIFEST

AUDITED_BY = "editor"
"""Study that audits editors, and the column of a manifest that names one."""
_LONGEST, _MOST = 120, 3  # characters of an editor's name, and editors that are named


def editor_facts(study: Study) -> EditorFacts | None:
    """The editor of a study's pictures, as the manifest that `make` wrote names it; None where none is named."""
    root = study.options.get("root")
    if not root or study.name == AUDITED_BY:
        return None
    folder = Path(str(root))
    try:
        column = read_table(folder / MANIFEST, (AUDITED_BY,))[AUDITED_BY]
    except (OSError, pl.exceptions.PolarsError):
        return None
    names = tuple(printable(str(name))[:_LONGEST] for name in column.drop_nulls().unique(maintain_order=True)[:_MOST])
    if not names:
        return None
    try:
        run = StoredRun.open(folder / AUDIT)
        if run.study.name != AUDITED_BY:
            return EditorFacts(names)
        page, (estimates, tallies) = page_of(run.study), taken([run])
        counts = counts_by_model([run], tallies)
        headline = answered(PageComparisons(page, view_of(page, [run], estimates)), counts)
    except (FaceValueError, OSError):  # no audit, or none that can be read
        return EditorFacts(names)
    return EditorFacts(names, headline.sentence, headline.verdict is HeadlineKind.FOUND)
