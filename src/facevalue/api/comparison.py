"""Comparison of runs in Python."""

from os import PathLike
from typing import Literal

from facevalue.api.calls import stored_runs, unasked_of
from facevalue.api.run import Run
from facevalue.arguments import checked, checked_path
from facevalue.errors import SettingError
from facevalue.runs.comparison import FIRST, RunComparison, compare_all


@checked
def compare(
    first: Run | str | PathLike[str],
    second: Run | str | PathLike[str],
    *others: Run | str | PathLike[str],
    margin: float | None = None,
    pairs: Literal["first", "all"] = FIRST,
    flips: str | PathLike[str] | None = None,
    page: str | PathLike[str] | None = None,
) -> RunComparison:
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
    flips:
        File to which all single answers that differ are written, in words: .parquet, .csv or .jsonl.
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
    table = None if flips is None else checked_path(flips)
    comparison = compare_all(list(stored_runs(places)), margin, pairs, table, unasked_of(places))
    if target is not None:
        from facevalue.report.comparison_page import write_comparison  # noqa: PLC0415 - templates take their time

        write_comparison(target, comparison)
    return comparison
