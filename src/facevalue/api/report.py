"""Report: a page that was written, as notebooks show it."""

from html import escape
from os import PathLike
from pathlib import Path

from facevalue.report.data import ReportData
from facevalue.report.html import first_screen
from facevalue.report.page_builder import build_page

_HEIGHT = 620  # pixels


class Report(PathLike[str]):
    """A report that was written: its path, and its first screen in a notebook. Made by `Run.report`.

    Examples
    --------
    >>> import facevalue as fv
    >>> report = fv.open_run("runs/first").report("report.html")
    >>> report
    Report('report.html')
    >>> report.path.stat().st_size > 10_000
    True
    """

    def __init__(self, path: Path, data: ReportData) -> None:
        self.path = path
        """The HTML file, which needs no network."""
        self._data = data

    @property
    def answer(self) -> str:
        """Finding of the report, in the words of the first screen.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.open_run("runs/first").report("report.html").answer.endswith(".")
        True
        """
        return build_page(self._data).answer.sentence

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"Report({self.path.as_posix()!r})"

    def _repr_html_(self) -> str:
        return frame_first_screen(self._data)


def frame_first_screen(data: ReportData) -> str:
    """The first screen of a report in a frame, so that its style and the notebook's don't meet."""
    page = escape(first_screen(data))
    return (
        f'<iframe srcdoc="{page}" sandbox title="First screen" style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
    )
