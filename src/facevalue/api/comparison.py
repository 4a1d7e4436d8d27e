"""Comparison of runs in Python."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl

from facevalue.api.calls import place_of, stored_runs, unasked_of
from facevalue.api.run import Run, frame_page
from facevalue.arguments import check_arguments, checked_path
from facevalue.errors import SettingError
from facevalue.limits.gate import Gate
from facevalue.limits.gate import gate as held
from facevalue.limits.limits_file import read_limits, stated_limits
from facevalue.report.html import render_page
from facevalue.report.profile import Profile, profile_of
from facevalue.report.profile.page import (
    ComparisonRow,
    ContrastRow,
    comparison_rows,
    contrast_rows,
    profile_answer,
    render,
    write,
)
from facevalue.runs.audits.folder import describe_unasked, waiting_runs, whole_runs_of
from facevalue.runs.comparisons.comparison import FIRST, RunComparison, compare_all
from facevalue.runs.comparisons.trend import Trend, audits_below, runs_below
from facevalue.runs.comparisons.trend import trend as trend_of

if TYPE_CHECKING:
    from facevalue.report.html import PlainPage

# Gate in Python: runs checked against limits.


Place = Run | str | PathLike[str]


@check_arguments
def gate(
    runs: Place | Sequence[Place],
    limits: str | PathLike[str] | Sequence[Mapping[str, object]],
    *,
    baseline: Place | Sequence[Place] = (),
    allow_incomplete: bool = False,
) -> Gate:
    """Check runs against limits: whether all lie within, some beyond, or nobody can tell yet.

    Parameters
    ----------
    runs:
        A run, an audit, which stands for its runs, or several.
    limits:
        The file of limits, or its tables, each as a mapping with the same keys.
    baseline:
        What changes are taken against: a run, an audit, or several, of which one is of each study.
    allow_incomplete:
        Whether a run that has not ended may lie within, by what was asked; else there is not enough data.

    Returns
    -------
    The gate: its `outcome` is the worst of all limits, and `cells` has each estimate with its own.

    Raises
    ------
    DataError
        An unknown study, measure, label or level; a limit that is about nothing, or that nothing can lie beyond.
    RunError
        A run that cannot be read, or a baseline that does not go with it.

    Examples
    --------
    >>> import facevalue as fv
    >>> gate = fv.gate("runs/first", [{"measure": "shift", "by": ["variation"], "absolute": 0.1}])
    >>> gate.within, str(gate.outcome)
    (False, 'not enough data')
    """
    is_file = isinstance(limits, str | PathLike)
    declared = read_limits(checked_path(limits)) if is_file else stated_limits(limits)  # type: ignore[arg-type]
    run_places, compared = _place_list(runs), _place_list(baseline)
    waiting = waiting_runs(place_of(place) for place in run_places if not isinstance(place, Run))
    return held(
        list(stored_runs(run_places)), declared, list(stored_runs(compared, whole_runs_of)), waiting,
        allow_incomplete=allow_incomplete,
    )  # fmt: skip


def _place_list(places: Place | Sequence[Place]) -> Sequence[Place]:
    return [places] if isinstance(places, Run | str | PathLike) else places


# History of runs in Python.


@check_arguments
def trend(
    first: Run | str | PathLike[str],
    *others: Run | str | PathLike[str],
    page: str | PathLike[str] | None = None,
) -> Trend:
    """Find drifts over the dates of runs of one model, and changes at one of them.

    Parameters
    ----------
    first, others:
        Runs, or their folders; a folder of runs or audits stands for all of them.
    page:
        HTML file to which a page about the history is written.

    Raises
    ------
    RunError, DataError
        Fewer than two runs of any study, or runs that cannot be compared.

    Examples
    --------
    >>> import facevalue as fv
    >>> study = fv.study("stylisticbias", faces="4M,4F", attributes=["eyewear"], scenario=["wealthy"], seeds=["1"])
    >>> for month in ("may", "june", "july"):
    ...     _ = fv.run(study, "sim/default", f"history/{month}", progress=False)
    >>> fv.trend("history").studies[0].cells.select("variation", "became").rows()
    [('thick-rimmed', 'no change found'), ('sunglasses', 'no change found')]
    """
    folders = [place_of(place) for place in (first, *others) if not isinstance(place, Run)]
    waiting = describe_unasked(audit for folder in folders for audit in audits_below(folder))
    history = trend_of(list(stored_runs((first, *others), runs_below)), waiting)
    if page is not None:
        from facevalue.report.comparison_page import write_trend  # noqa: PLC0415 - templates take their time

        write_trend(checked_path(page), history)
    return history


# Profile in Python: what several studies say of the same groups.


class AuditProfile:
    """A profile of runs: what all of their studies say, judged at one level. Made by `profile`.

    Examples
    --------
    >>> import facevalue as fv
    >>> built = fv.profile("runs/first")
    >>> built
    AuditProfile(['stylisticbias'])
    """

    def __init__(self, built: Profile) -> None:
        self._made = built

    @property
    def answer(self) -> str:
        """The profile in a few sentences.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.profile("runs/first").answer.endswith(".")
        True
        """
        return " ".join(profile_answer(self._made))

    def comparisons(self) -> pl.DataFrame:
        """Return a row for every comparison: group, question, direction, size, interval, verdict at the audit's level.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.profile("runs/first").comparisons()["dimension"].unique().to_list()
        ['visual cue']
        """
        rows = [asdict(row) for row in comparison_rows(self._made)]
        return pl.DataFrame(rows, schema=_schema(ComparisonRow), orient="row")

    def side_by_side(self) -> pl.DataFrame:
        """Return what two kinds of question, two models, or a request with an intervention and without say of a group.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.profile("runs/first").side_by_side().columns[:4]
        ['model', 'first', 'second', 'group']
        """
        rows = [asdict(row) for row in contrast_rows(self._made)]
        return pl.DataFrame(rows, schema=_schema(ContrastRow), orient="row")

    @check_arguments
    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page and return its path.

        Raises
        ------
        SettingError
            The file's name does not end in .html.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.profile("runs/first").save("profile.html").stat().st_size > 10_000
        True
        """
        target = Path(path)
        if target.suffix.lower() != ".html":
            raise SettingError(f"{target.name} is not a .html file.")
        write(target, self._made)
        return target

    def __repr__(self) -> str:
        return f"AuditProfile({[study.name for study in self._made.studies]})"

    def _repr_html_(self) -> str:
        return frame_page(render(self._made))


class Comparison(RunComparison):
    """Runs compared cell by cell; in a notebook, the beginning of their page. Made by `compare`.

    Examples
    --------
    >>> import facevalue as fv
    >>> study = fv.study("vignette", paradigm="decision", dimension="age", gender="male", people=2)
    >>> one, two = (fv.run(study, f"sim/{name}", f"runs/{name}", sample=200) for name in ("default", "strong"))
    >>> repr(fv.compare(one, two)).startswith("Comparison('")
    True
    """

    @property
    def answer(self) -> str:
        """Sentences on what differs.

        Examples
        --------
        >>> import facevalue as fv
        >>> study = fv.study("vignette", paradigm="decision", dimension="age", gender="male", people=2)
        >>> one, two = (fv.run(study, f"sim/{name}", f"of/{name}", sample=200) for name in ("default", "strong"))
        >>> "No difference" in fv.compare(one, two).answer
        True
        """
        page = self._page()
        return " ".join([page.answer, *page.more])

    def _page(self) -> "PlainPage":
        from facevalue.report.comparison_page import comparison_page  # noqa: PLC0415 - templates take their time

        return comparison_page(self)

    def __repr__(self) -> str:
        return f"Comparison({self.answer!r})"

    def _repr_html_(self) -> str:
        page = self._page()
        return frame_page(render_page(replace(page, sections=page.sections[:1])))


@check_arguments
def profile(*runs: Run | str | PathLike[str]) -> AuditProfile:
    """Set side by side what runs of several studies say of the same groups, and judge all of it at one level.

    Parameters
    ----------
    runs:
        Runs of any studies and of one or several models, their folders, or the folder of an audit.

    Raises
    ------
    RunError
        No run, the same run twice, runs of one study that were not asked the same, or no valid answer.

    Examples
    --------
    >>> import facevalue as fv
    >>> fv.profile("runs/first").answer.split(":")[0][-29:]
    'That is no proof of fairness.'
    """
    return AuditProfile(profile_of(list(stored_runs(runs)), unasked_of(runs)))


def _schema(row: type[ComparisonRow] | type[ContrastRow]) -> dict[str, pl.DataType]:
    """Types of columns, from those of a row's fields."""
    kinds = {"str": pl.String(), "bool": pl.Boolean(), "int": pl.Int64(), "float": pl.Float64()}
    texts = {name: str(kind) for name, kind in row.__annotations__.items()}
    return {
        name: pl.List(pl.String()) if "tuple" in text else next(kinds[k] for k in kinds if k in text)
        for name, text in texts.items()
    }


@check_arguments
def compare(
    first: Run | str | PathLike[str],
    second: Run | str | PathLike[str],
    *others: Run | str | PathLike[str],
    margin: float | None = None,
    pairs: Literal["first", "all"] = FIRST,
    page: str | PathLike[str] | None = None,
) -> Comparison:
    """Compare runs of one or several studies cell by cell: models, versions, prompts, or photographs and drawings.

    Parameters
    ----------
    first, second, others:
        Runs, or their folders; the folder of an audit stands for all its runs. Runs are compared with others of their
        study.
    margin:
        Largest difference that would not matter, in the unit of the measure.
    pairs:
        "first": each run less the first one of its study. "all": each with each.
    page:
        HTML file to which a page about the comparison is written.

    Raises
    ------
    RunError, DataError
        The runs cannot be compared, or share no cell.
    SettingError
        The page's name does not end in .html.

    Examples
    --------
    >>> import facevalue as fv
    >>> study = fv.study("vignette", paradigm="decision", dimension="age", gender="male", people=2)
    >>> one = fv.run(study, "sim/default", "runs/one", sample=200, progress=False)
    >>> two = fv.run(study, "sim/default", "runs/two", sample=200, seed=1, progress=False)
    >>> fv.compare(one, two).overall.columns[:6]
    ['study', 'first_run', 'second_run', 'paradigm', 'statistic', 'value']
    """
    target = None if page is None else checked_path(page)
    if target is not None and target.suffix.lower() != ".html":
        raise SettingError(f"{target.name} is not a .html file.")
    places = first, second, *others
    comparison = Comparison(**vars(compare_all(list(stored_runs(places)), margin, pairs, unasked_of(places))))
    if target is not None:
        from facevalue.report.comparison_page import write_comparison  # noqa: PLC0415 - templates take their time

        write_comparison(target, comparison)
    return comparison
