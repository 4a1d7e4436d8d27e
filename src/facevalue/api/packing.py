"""Function of the Python API that hands an audit on."""

from os import PathLike, fspath
from pathlib import Path

from facevalue.api.run import Run
from facevalue.arguments import checked, checked_path


@checked
def pack(*runs: Run | str | PathLike[str], to: str | PathLike[str], organization: str = "not stated") -> Path:
    """Pack everything that runs rest on: reports, estimates, settings, digests, in forms that others' tools read.

    Parameters
    ----------
    runs:
        Runs, or their folders; the folder of an audit stands for all its runs.
    to:
        A folder that is not there, is empty, or holds an earlier pack; or a .zip file.
    organization:
        Who asked, for forms that say so.

    Returns
    -------
    The folder or file. docs/pack.md says what is in it.

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
    return write_pack(places, checked_path(to), organization).place
