"""Growth of a run: a larger sample of the same study, of which all that was asked is a part."""

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np

from facevalue.errors import RunError
from facevalue.protocol.study import Study
from facevalue.store.files import MANIFEST
from facevalue.store.lease import Lease
from facevalue.store.lock import RunLock
from facevalue.store.manifest import RunManifest, read_manifest, write_manifest
from facevalue.store.objects import Objects
from facevalue.store.remote import RUN, read_run, run_data

_LOG = logging.getLogger(__name__)


def grow(place: Path | str, study: Study, sample: int) -> None:
    """Let a run ask more; it goes on with the larger sample. Nothing is done to one of this size, or not begun.

    Parameters
    ----------
    place:
        Folder or URL of the run; one that is not there yet is begun later.
    study:
        What it is a run of.
    sample:
        Requests wanted.

    Raises
    ------
    RunError
        The run asks more already, or something that is not in the larger sample; or another process drives it.
    """
    if isinstance(place, str):
        _grow_objects(place, study, sample)
    elif (place / MANIFEST).exists():
        with RunLock(place):
            run = read_manifest(place)
            if (larger := _larger(run, study, sample, place)) != run:
                write_manifest(place, larger)


def _grow_objects(url: str, study: Study, sample: int) -> None:
    """The same of a run in object storage, whose units stay as they were cut."""
    objects = Objects.at(url, make=True)
    stored = read_run(objects, missing=True)
    if stored is None or _larger(stored[0], study, sample, url) == stored[0]:
        return
    with Lease(objects, _LOG.info):
        run, tag = read_run(objects)
        larger = _larger(run, study, sample, url)
        if run.sample is not None and larger.sample != run.sample:
            larger = replace(larger, grown=(*run.grown, run.sample))
        if objects.replace(RUN, run_data(larger), tag) is None:
            raise RunError(f"{objects.called(RUN)} was changed by another process: give the command again.")


def _larger(run: RunManifest, study: Study, sample: int, place: Path | str) -> RunManifest:
    """A run with a larger sample; the same run where it has that sample."""
    if run.sample is None or run.sample == sample:
        return run
    repeats = 1 if run.exact else study.repeats
    smaller, larger = (study.sample(size, run.seed, repeats) for size in (run.sample, sample))
    if run.sample > sample or not np.isin(smaller, larger).all():
        raise RunError(
            f"{place} was begun with a sample of {run.sample:,} requests, of which not all are in one of "
            f"{sample:,}: name another {'prefix' if isinstance(place, str) else 'folder'}."
        )
    return replace(run, sample=sample, end=None)
