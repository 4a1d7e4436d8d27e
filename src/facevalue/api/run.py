"""Run: a run folder in Python, and the report that was written of it, as notebooks show it."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from facevalue.api.study import Study
from facevalue.arguments import check_arguments, checked_path
from facevalue.errors import DataError, FaceValueError
from facevalue.printable import html_table
from facevalue.report.data import ReportData
from facevalue.report.html import first_screen
from facevalue.report.page_builder import build_page
from facevalue.runs.export import wide_chunks
from facevalue.runs.joined_runs import estimate
from facevalue.runs.kept_estimates import are_kept
from facevalue.runs.pictures import NO_PICTURE, load_shown
from facevalue.runs.settings import RunSummary
from facevalue.runs.storage.mirror import mirror_run
from facevalue.runs.stored_run import StoredRun
from facevalue.runs.verify import Sound, verify
from facevalue.store.reader import count_replied
from facevalue.types import Image

if TYPE_CHECKING:
    import altair

_AT_ONCE = 20_000
"""Requests of a run whose estimates are taken only to show it."""


class Run:
    """A run folder: what a model was asked and what it said. Made by `run` and `open_run`, never by hand.

    Nothing is held in memory: answers and estimates are read and taken from the folder when they are asked for.

    Examples
    --------
    >>> import facevalue as fv
    >>> run = fv.open_run("runs/first")
    >>> run
    Run('runs/first', study='stylisticbias', model='sim/default', answered=600, requests=600)
    >>> run.study.name, run.model
    ('stylisticbias', 'sim/default')
    """

    def __init__(self, stored: StoredRun, summary: RunSummary | None = None) -> None:
        self.stored = stored
        """What the engine knows of it; may change from version to version."""
        self.summary = summary
        """What the call of `run` that returned it did; None for one that was opened."""

    @property
    def folder(self) -> Path:
        """Folder of the run; of one in object storage, the folder of the cache that it was brought into.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.open_run("runs/first").folder.name
        'first'
        """
        return self.stored.folder

    @property
    def model(self) -> str:
        """Name of the model that answered.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.open_run("runs/first").model
        'sim/default'
        """
        return self.stored.model

    @property
    def study(self) -> Study:
        """Study that was asked.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.open_run("runs/first").study.settings["faces"]
        '1M,1F'
        """
        return Study(self.stored.protocol, self.stored.study)

    @property
    def complete(self) -> bool:
        """True if every request has a reply; those that failed have none, and the same call asks them again.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.open_run("runs/first").complete
        True
        """
        return self.stored.facts.end is not None and not self.stored.facts.counts.errors

    @check_arguments
    def answers(self, limit: int | None = None) -> pl.DataFrame:
        """Every reply that counts, with its factors, verbatim text or probabilities, and what it meant.

        Parameters
        ----------
        limit:
            So many rows at most, the first ones. A large run fits no memory: use `answer_chunks`.

        Returns
        -------
        One row per trial and seed: factor columns, `repeat`, `weight` (the answer, in [0, 1]; null for none) or the
        scores that the study declares, `na` (why there is no answer), `prompt`, `text`, `probs`, and more.

        Raises
        ------
        RunError
            Nothing is stored yet, or a file is damaged.

        Examples
        --------
        >>> import facevalue as fv
        >>> run = fv.open_run("runs/first")
        >>> run.answers(limit=2).select("trial", "scenario", "preference").columns
        ['trial', 'scenario', 'preference']
        """
        chunks, rows = [], 0
        for chunk in self.answer_chunks():
            chunks.append(chunk if limit is None else chunk.head(limit - rows))
            rows += chunks[-1].height
            if limit is not None and rows >= limit:
                break
        return pl.concat(chunks, how="vertical_relaxed")

    def answer_chunks(self) -> Iterator[pl.DataFrame]:
        """The rows of `answers`, up to a million at a time.

        Examples
        --------
        >>> import facevalue as fv
        >>> sum(chunk.height for chunk in fv.open_run("runs/first").answer_chunks())
        600
        """
        return wide_chunks(self.stored)

    @check_arguments
    def estimates(self, margins: Mapping[str, float] | None = None, others: Sequence["Run"] = ()) -> pl.DataFrame:
        """Every measure of the study, with n, interval, noise floor, p, q and verdict.

        Parameters
        ----------
        margins:
            Largest differences that would not matter, by measure, if chosen after the run.
        others:
            Runs of the same study by other models, or of its other parts, to be estimated together.

        Raises
        ------
        RunError
            There is nothing to measure, or the runs don't go together.

        Examples
        --------
        >>> import facevalue as fv
        >>> found = fv.open_run("runs/first").estimates(margins={"shift": 0.05})
        >>> found.filter(measure="shift").select("value", "low", "high", "clusters").width
        4
        """
        return estimate([self.stored, *(run.stored for run in others)], margins)[0]

    @check_arguments
    def pictures(self, trial: int) -> tuple[Image, ...]:
        """Return what a trial showed: none, one or several pictures, displayed by notebooks.

        Pictures of the user's own are shown from the folder that was named (`open_run(..., pictures=...)`) or from the
        run folder, and only if they are those that were shown.

        Raises
        ------
        DataError
            There is no such picture any more, it was changed since, or no folder was named.

        Examples
        --------
        >>> import facevalue as fv
        >>> (portrait,) = fv.open_run("runs/first").pictures(0)
        >>> portrait.media_type
        'image/png'
        >>> import io, PIL.Image
        >>> PIL.Image.open(io.BytesIO(portrait.data)).format
        'PNG'
        """
        content = load_shown(self.stored, trial)
        if not content.images and content.why != NO_PICTURE:
            raise DataError(f"Trial {trial}: {content.why}.")
        return content.images

    @check_arguments
    def report(
        self,
        path: str | PathLike[str] | None = None,
        margins: Mapping[str, float] | None = None,
        others: Sequence["Run"] = (),
    ) -> "Report":
        """Write the report as one HTML file that needs no network; notebooks show its first screen.

        Parameters
        ----------
        path:
            Where to write; report.html in the run folder by default.
        margins, others:
            As `estimates` takes them.

        Returns
        -------
        The report, which is a path as well.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.open_run("runs/first").report("report.html").path.name
        'report.html'
        """
        from facevalue.report.collect import report  # noqa: PLC0415

        out = self.folder / "report.html" if path is None else checked_path(path)
        stored = [self.stored, *(run.stored for run in others)]
        return Report(out, report(stored, out, margins).data)

    @check_arguments
    def plot(
        self, measure: str, by: str | Sequence[str] = (), where: Mapping[str, str] | None = None, *, rows: int = 40,
        margins: Mapping[str, float] | None = None, others: Sequence["Run"] = (),
    ) -> "altair.TopLevelMixin":  # fmt: skip
        """Draw a measure as an Altair chart: values, both intervals, noise and verdict, as the report has them.

        Thick is the interval of the row, thin the one at the level at which the report judges it, shaded what lies
        within noise; filled where a difference is found. Several models, or the same one under interventions, stand in
        one row.

        Parameters
        ----------
        measure:
            Name of a measure, as in `estimates`.
        by:
            One factor or two; the first breakdown of the measure by default. The second one makes panels.
        where:
            Levels at which other factors are held, such as {"score": "honest"}.
        rows:
            Rows of a panel at most, those farthest from none.
        margins, others:
            As `estimates` takes them.

        Raises
        ------
        UnknownNameError, DataError
            There is no such measure, factor or level, or the measure has no value by these.
        DependencyError
            Altair is not installed: pip install '.[plot]'.

        Examples
        --------
        >>> import facevalue as fv
        >>> run = fv.open_run("runs/first")
        >>> chart = run.plot("shift", by=["attribute", "variation"])
        >>> run.plot("shift", by="colour")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        facevalue.errors.UnknownNameError: Unknown factor of shift 'colour'. Known: attribute, ...
        """
        from facevalue.report.altair_charts import chart, view_of  # noqa: PLC0415 - an extra

        runs = [self.stored, *(run.stored for run in others)]
        view = view_of(runs, estimate(runs, margins)[0])
        return chart(view, measure, (by,) if isinstance(by, str) else by, where, rows)

    def verify(self) -> Sound:
        """Check the folder: settings, table of pictures and every file by its digest, every row by the design.

        Raises
        ------
        RunError
            Names the first file that is missing, damaged, or of another run.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.open_run("runs/first").verify().replies
        600
        """
        if self.stored.url:
            mirror_run(self.stored.url, again=True)
        return verify(StoredRun.open(self.folder, protocol=self.stored.given))

    def __repr__(self) -> str:
        return f"Run({self._place()!r}, {', '.join(f'{name}={value!r}' for name, value in self._facts())})"

    def _repr_html_(self) -> str:
        """The first screen of the report where that takes no time, and facts in any case."""
        return self._first_screen() + html_table(
            {"folder": self._place(), **{name: f"{value}" for name, value in self._facts()}}
        )

    def _first_screen(self) -> str:
        if self.stored.facts.counts.requests > _AT_ONCE and not are_kept(self.stored):
            return "<p><code>run.report()</code> takes the estimates and shows what they amount to.</p>"
        from facevalue.report.collect import gather_report  # noqa: PLC0415

        try:
            return frame_page(first_screen(gather_report([self.stored]).data))
        except FaceValueError:  # nothing is stored yet, or files are damaged: `estimates` says what
            return ""

    def _place(self) -> str:
        return self.stored.url or self.folder.as_posix()

    def _facts(self) -> list[tuple[str, str | int]]:
        facts, counts = self.stored.facts, self.stored.facts.counts
        answered = count_replied(self.folder, facts.repeats)  # what `facts` counts is as of the last orderly end
        pairs: list[tuple[str, str | int]] = [("study", facts.study), ("model", self.model), ("answered", answered)]
        pairs += [("requests", counts.requests)]
        return pairs + ([("errors", counts.errors)] if counts.errors else [])


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
        return frame_page(first_screen(self._data))


def frame_page(page: str) -> str:
    """A page in a frame, so that its style and the notebook's don't meet."""
    return (
        f'<iframe srcdoc="{escape(page)}" sandbox title="First screen" '
        f'style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
    )
