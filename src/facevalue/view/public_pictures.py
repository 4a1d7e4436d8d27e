"""Pictures of a run that may be shown to anybody: drawings, and those of which their list says so."""

from functools import cached_property
from pathlib import Path

import polars as pl

from facevalue.places import is_url
from facevalue.protocol.variant_trials import ConditionStimuli
from facevalue.runs.remote_pictures import own_folder
from facevalue.runs.shown_pictures import PICTURES
from facevalue.runs.stored import StoredRun
from facevalue.stimuli.base import Kind
from facevalue.stimuli.images import FileSource
from facevalue.stimuli.manifest import public_images
from facevalue.stimuli.mixed import MixedSource

_LIST = "manifest"
"""Setting that names the list of pictures."""


class PublicPictures:
    """Which pictures of a run may be shown to anybody.

    FaceValue's own drawings may. Of others the list of pictures says so, in its column `public`, as it is now: a
    permission may be taken back after the run. The list is read beside the pictures that the user named, or where the
    settings of the run say that it lies.

    Parameters
    ----------
    run:
        The run.

    Raises
    ------
    DataError
        The list cannot be read.
    """

    def __init__(self, run: StoredRun) -> None:
        self._run = run
        source = run.study.source
        self._is_drawn = source.kind is Kind.ILLUSTRATED
        plain = source.plain if isinstance(source, ConditionStimuli) else source
        self._names_all = type(plain) in (FileSource, MixedSource)

    @cached_property
    def _images(self) -> set[str]:
        run, manifest = self._run, self._run.facts.options.get(_LIST)
        if not run.pictures_named or not isinstance(manifest, str) or is_url(manifest):
            return set()
        root = own_folder(run.facts.options)
        candidates = [] if root is None else [root / Path(manifest).name]
        path = next((path for path in (*candidates, Path(manifest)) if path.is_file()), None)
        return set() if path is None else public_images(path, root=root)

    def may_show(self, trial: str) -> bool:
        """Whether all pictures of a trial may be shown.

        Where the levels of a trial do not name all that it shows, as when a base stands beside it, and of what is no
        trial, all pictures of the run must be such.
        """
        if self._is_drawn:
            return True
        design = self._run.study.design
        names = [name for name in PICTURES if name in design.columns]
        if not trial.isdigit() or not names or not self._names_all:
            listed = self._run.study.manifest
            return "image" in listed.columns and set(listed["image"]) <= self._images
        image_levels = design.trials([int(trial)], names).select(pl.col(names).cast(pl.String)).row(0)
        images = {image for image in image_levels if image is not None}
        return bool(images) and images <= self._images
