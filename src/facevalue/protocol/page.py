"""Page: what a study's report shows, as data."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """The report of a study.

    Examples
    --------
    >>> page = Page()
    """
