"""Comparison of two runs in Python."""

from os import PathLike

from facevalue.api.calls import open_run
from facevalue.api.run import Run
from facevalue.arguments import checked
from facevalue.runs.compare import compare_runs
from facevalue.runs.compared_cells import RunAgreement


@checked
def compare(
    first: Run | str | PathLike[str], second: Run | str | PathLike[str], *, margin: float | None = None
) -> RunAgreement:
    """Compare two runs of one study cell by cell, second minus first: two models, or photographs and drawings.

    Parameters
    ----------
    margin:
        Largest difference that would not matter, in the unit of the measure.

    Raises
    ------
    RunError, DataError
        The runs cannot be compared, or share no cell.

    Examples
    --------
    >>> import facevalue as fv
    >>> study = fv.study("vignette", paradigm="decision", dimension="age", gender="male", people=2)
    >>> one = fv.run(study, "sim/default", "runs/one", sample=200, progress=False)
    >>> two = fv.run(study, "sim/default", "runs/two", sample=200, seed=1, progress=False)
    >>> fv.compare(one, two).overall.columns[:3]
    ['paradigm', 'statistic', 'value']
    """
    run_1, run_2 = (run if isinstance(run, Run) else open_run(run) for run in (first, second))
    return compare_runs(run_1.stored, run_2.stored, margin)
