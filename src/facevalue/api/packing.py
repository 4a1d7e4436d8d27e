"""Function of the Python API that hands an audit on."""

from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path

from facevalue.api.calls import stored_runs
from facevalue.api.run import Run
from facevalue.arguments import check_arguments, checked_path
from facevalue.runs.audit_folder import whole_runs_of


@check_arguments
def pack(
    *runs: Run | str | PathLike[str],
    to: str | PathLike[str],
    organization: str = "not stated",
    limits: str | PathLike[str] | None = None,
    baseline: Iterable[Run | str | PathLike[str]] = (),
) -> Path:
    """Pack everything that runs rest on: reports, estimates, settings, digests, in forms that others' tools read.

    Parameters
    ----------
    runs:
        Runs, or their folders; the folder of an audit stands for all its runs.
    to:
        A folder that is not there, is empty, or holds an earlier pack; or a .zip file.
    organization:
        Who asked, for forms that say so.
    limits:
        A file of limits that the runs are held against, as `gate` does; what becomes of each is packed, too.
    baseline:
        Runs or audits that changes are taken against.

    Returns
    -------
    The folder or file. docs/how-to/pack.md says what is in it.

    Raises
    ------
    RunError, SettingError
        No run, one twice, or a place that cannot be used.

    Examples
    --------
    >>> import facevalue as fv
    >>> fv.pack("runs/first", to="first.zip").name
    'first.zip'
    """
    from facevalue.packing.contents import pack as write_pack  # noqa: PLC0415 - reports take a second to import

    places: list[Path | str] = [run.stored.place if isinstance(run, Run) else fspath(run) for run in runs]
    declared = None if limits is None else checked_path(limits)
    compared = list(stored_runs(baseline, whole_runs_of))
    return write_pack(places, checked_path(to), organization, declared, compared).place
