"""Pages of studies."""

from facevalue.protocol import Study
from facevalue.protocol.page import Page
from facevalue.studies.registry import STUDIES


def page_of(study: Study | str) -> Page:
    """Return the page of a study, or of a published study by its name; every measure where neither declares one.

    Examples
    --------
    >>> page_of("a study of tomorrow").sections
    ()
    """
    if isinstance(study, str):
        published = STUDIES.get(study)
        make = None if published is None else published.page
    else:
        make = study.page
    return Page() if make is None else make()
