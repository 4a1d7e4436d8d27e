"""History of runs in Python."""

from os import PathLike

from facevalue.api.calls import place_of, stored_runs
from facevalue.api.run import Run
from facevalue.arguments import checked, checked_path
from facevalue.runs.audit_folder import unasked
from facevalue.runs.history import audits_below, runs_below
from facevalue.runs.trend import Trend
from facevalue.runs.trend import trend as trend_of


@checked
def trend(
    first: Run | str | PathLike[str],
    *others: Run | str | PathLike[str],
    page: str | PathLike[str] | None = None,
) -> Trend:
    """Say what drifted over the dates of runs of one model, and what changed at one of them.

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
    >>> study = fv.study("stylisticbias", faces="4M,4F", attributes=["eyewear"], scenarios=["wealthy"], seeds=["1"])
    >>> for month in ("may", "june", "july"):
    ...     _ = fv.run(study, "sim/default", f"history/{month}", progress=False)
    >>> fv.trend("history").studies[0].cells.select("variation", "became").rows()
    [('thick-rimmed', 'no change found'), ('sunglasses', 'no change found')]
    """
    folders = [place_of(place) for place in (first, *others) if not isinstance(place, Run)]
    waiting = unasked(audit for folder in folders for audit in audits_below(folder))
    history = trend_of(list(stored_runs((first, *others), runs_below)), waiting)
    if page is not None:
        from facevalue.report.trend_page import write_trend  # noqa: PLC0415 - templates take their time

        write_trend(checked_path(page), history)
    return history
