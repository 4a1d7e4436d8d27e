"""Which page a study has: the one place that knows studies by name."""

from collections.abc import Mapping

from facevalue.report.changes import with_changes
from facevalue.report.generic import PAGE as GENERIC
from facevalue.report.page import StudyPage
from facevalue.report.stylisticbias.page import PAGE as STYLISTICBIAS
from facevalue.report.vignette.page import PAGE as VIGNETTE
from facevalue.report.visbias.page import PAGE as VISBIAS

PAGES: Mapping[str, StudyPage] = {"stylisticbias": STYLISTICBIAS, "vignette": VIGNETTE, "visbias": VISBIAS}
"""Pages by the study's name."""


def page_of(study: str) -> StudyPage:
    """The page of a study; one that shows every measure as charts and tables where it has none of its own.

    Examples
    --------
    >>> [section.id for section in page_of("a study of tomorrow").sections]
    ['measures', 'interventions']
    """
    return with_changes(PAGES.get(study, GENERIC))
