"""Pages of studies, by name."""

from facevalue.protocol.page import Page
from facevalue.studies.registry import page


def page_of(study: str) -> Page:
    """The page of a study; one that shows every measure as charts and tables where it declares none.

    Examples
    --------
    >>> page_of("a study of tomorrow").sections
    ()
    """
    return page(study) or Page()
