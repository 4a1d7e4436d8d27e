"""Pictures behind stored replies: shown again only if they are the ones that were shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError, FaceValueError
from facevalue.generators.base import NULL_EDIT
from facevalue.protocol.making import IMAGE, PATH, SOURCE
from facevalue.protocol.sources import root_of
from facevalue.protocol.study import Study
from facevalue.runs.requests import RequestBuilder
from facevalue.runs.stored_run import StoredRun
from facevalue.statistics.sets import OTHER_PATH
from facevalue.stimuli.images import image_files
from facevalue.store import read_responses
from facevalue.types import Image

# Pictures of one unit that are the same: edits that changed nothing, of which no comparison can tell anything.


MOST = 1_000
"""Pictures that are compared before a run; of more, so many in whole units."""
SAME, COMPARED = "same_pictures", "pictures_compared"
"""What a session's findings call the number of pictures that are the same as another of their unit, of how many."""
_SIZES = ("set", "identity")


@dataclass(frozen=True, slots=True)
class SamePictures:
    """Pictures that are the same as an earlier one of their unit."""

    compared: int
    """Pictures in units of several, which were compared."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Ids of each such picture, and of the one that it is the same as."""
    unit: str = "set"

    @property
    def images(self) -> tuple[str, ...]:
        """Ids of the later ones."""
        return tuple(dict.fromkeys(image for image, _ in self.pairs))

    @property
    def sentence(self) -> str:
        """Sentence on the same pictures; empty if there are none.

        Examples
        --------
        >>> SamePictures(90, (("f1/cap", "f1"),)).sentence.partition(":")[0]
        '1 of 90 pictures is the same as another of its set, such as f1/cap and f1'
        """
        if not self.pairs:
            return ""
        count, (image, twin) = len(self.images), self.pairs[0]
        verb, whose = ("is", "its") if count == 1 else ("are", "their")
        return (
            f"{count:,} of {self.compared:,} pictures {verb} the same as another of {whose} {self.unit}, such as "
            f"{image} and {twin}: nothing differs between them that a model could judge."
        )


def same_made(pictures: pl.DataFrame, place: Path | str) -> SamePictures:
    """Find pictures of a making that are the same as another of their set: their source, or another edit of it.

    `pictures`: its manifest. Of those in object storage only files that hold the same are found.
    """
    origin = dict(pictures.filter(pl.col(SOURCE).is_not_null()).select(IMAGE, SOURCE).iter_rows())

    def root(image: str) -> str:
        while image in origin:
            image = origin[image]
        return image

    units = pl.Series("unit", [root(image) for image in pictures[IMAGE]], pl.String)
    return _find_same_pictures(pictures, units, None if isinstance(place, str) else place, "set")


def same_shown(study: Study) -> SamePictures:
    """Find pictures among those of a study's own list that are the same as another of their set, or of their identity.

    Nothing is compared where the study shows no files, or they cannot be read: that is said elsewhere.
    """
    table = study.manifest
    names = [name for name in _SIZES if name in table.columns and table[name].null_count() < table.height]
    if PATH not in table.columns or not names or not study.options.get("manifest"):
        return SamePictures(0)
    several = table.filter(pl.col(names[0]).is_not_null(), pl.col(PATH).is_not_null())
    several = several.filter(pl.struct(PATH, _own_row(table)).is_first_distinct())
    several = several.filter(pl.len().over(names[0]) > 1)
    if several.height > MOST:
        units = several[names[0]].unique(maintain_order=True)
        share = max(int(len(units) * MOST / several.height), 1)
        places = np.unique(np.linspace(0, len(units) - 1, share).astype(np.int64))
        several = several.filter(pl.col(names[0]).is_in(units[places].implode()))
    try:
        return _find_same_pictures(several, several[names[0]], root_of(study.options), names[0])
    except DataError:
        return SamePictures(0)


def _own_row(table: pl.DataFrame) -> pl.Expr:
    """The id of a picture; of pairs only where both sides have one file, as each side stands in several pairs.

    Files of a making are named by what they hold, so that an edit that changed nothing has the file of its source.
    """
    if OTHER_PATH in table.columns:
        return pl.when(pl.col(PATH) == pl.col(OTHER_PATH)).then(IMAGE)
    return pl.col(IMAGE)


def _find_same_pictures(pictures: pl.DataFrame, units: pl.Series, root: Path | None, unit: str) -> SamePictures:
    """Compare the pictures of each unit: by their files, and by their views where they lie in a folder."""
    paths, names = pictures[PATH].to_list(), pictures[IMAGE].to_list()
    exempt = _null_edits(pictures)
    if root is None:
        digests: Sequence[object] = paths  # files of a making are named by what they hold
        pairs = []
    else:
        from facevalue.stimuli.pixels import facts_of, lookalikes  # noqa: PLC0415 - a plan without pictures opens none

        seen = facts_of(image_files(pictures, root), paths)
        digests = [facts.digest or f"row {row}" for row, facts in enumerate(seen.facts)]
        pairs = lookalikes(seen.views) if len(seen.views) == len(paths) else []
    of_unit, first = units.to_list(), dict[tuple[object, object], int]()
    for row, digest in enumerate(digests):
        if (first_row := first.setdefault((of_unit[row], digest), row)) != row:
            pairs.append((first_row, row))
    matches = sorted(
        (later, earlier) for earlier, later in set(pairs)
        if of_unit[earlier] == of_unit[later] and not (exempt[earlier] or exempt[later])
    )  # fmt: skip
    several = units.is_duplicated() & ~pl.Series(exempt)
    return SamePictures(int(several.sum()), tuple((names[later], names[earlier]) for later, earlier in matches), unit)


def _null_edits(pictures: pl.DataFrame) -> npt.NDArray[np.bool_]:
    """Mask of pictures edited to change nothing: these may be the same as what they were edited from."""
    texts = [
        name for name, dtype in pictures.schema.items() if dtype == pl.String and name not in (IMAGE, PATH, SOURCE)
    ]
    if not texts:
        return np.zeros(pictures.height, dtype=np.bool_)
    return pictures.select(pl.any_horizontal(pl.col(texts) == NULL_EDIT).fill_null(value=False)).to_series().to_numpy()


NO_PICTURE = "no picture"
NOT_NAMED = "no picture: pictures are shown only from folders named with --pictures"
CHANGED = "no picture: it was changed since it was shown"
GONE = "no picture: it is not there any more"


class TrialPictures(NamedTuple):
    """Picture and text that a trial showed."""

    images: tuple[Image, ...]
    """The pictures; none where there are none to show."""
    why: str = NO_PICTURE
    """Why there are none, in a few words."""


def load_shown(run: StoredRun, trial: int, rows: pl.DataFrame | None = None) -> TrialPictures:
    """Load what a stored trial showed.

    A run folder says where its pictures lie, and may come from a stranger: only folders that the user named are read
    (`StoredRun.open`), and only what has the digest that was shown, which is a part of the stored request's hash.
    `rows`: what is stored of the trial, where it was read already.
    """
    study = run.study
    rows = read_responses(run.folder, trial, trial) if rows is None else rows
    stored = rows.filter(pl.col("status") != "error").head(1)
    if not stored.height:
        return TrialPictures(())
    asking = RequestBuilder(study, run.facts.exact, run.facts.asked_of)
    try:
        chunk = asking.chunk(np.array([trial]), np.ones((1, 1), dtype=np.bool_))
        ((_, _, stimulus),) = asking.stimuli(chunk)
        repeat = stored["repeat"].to_numpy().astype(np.int64)
        now = asking.request_hashes(chunk.stimulus_hashes, chunk.question_hashes, repeat)
        if int(now[0]) != stored["request"][0]:
            return TrialPictures((), CHANGED if run.pictures_named else NOT_NAMED)
        images = stimulus.load()
        return TrialPictures(images, "" if images else NO_PICTURE)
    except FaceValueError:
        return TrialPictures((), GONE if run.pictures_named else NOT_NAMED)
