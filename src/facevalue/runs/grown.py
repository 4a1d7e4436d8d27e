"""Growth of a run in a folder: a larger sample of the same study, of which all that was asked is a part."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from facevalue.errors import RunError
from facevalue.protocol.study import Study
from facevalue.store.files import MANIFEST
from facevalue.store.lock import RunLock
from facevalue.store.manifest import read_manifest, write_manifest


def grow(folder: Path, study: Study, sample: int) -> None:
    """Let a run ask more; it goes on with the larger sample. Nothing is done to one of this size, or not begun.

    Parameters
    ----------
    folder:
        Of the run; one that is not there yet is begun later.
    study:
        What it is a run of.
    sample:
        Requests wanted.

    Raises
    ------
    RunError
        The run asks more already, or something that is not in the larger sample.
    """
    if not (folder / MANIFEST).exists():
        return
    with RunLock(folder):
        run = read_manifest(folder)
        if run.sample is None or run.sample == sample:
            return
        repeats = 1 if run.exact else study.repeats
        smaller, larger = (study.sample(size, run.seed, repeats) for size in (run.sample, sample))
        if run.sample > sample or not np.isin(smaller, larger).all():
            raise RunError(
                f"{folder} was begun with a sample of {run.sample:,} requests, of which not all are in one of "
                f"{sample:,}: name another folder."
            )
        write_manifest(folder, replace(run, sample=sample, end=None))
