"""Readers of the folders in which VIGNETTE's authors keep their pictures.

A picture of one person is `individual_images/{gender}/{axis}/{descriptor}_{activity}.png`, a portrait
`{descriptor}.png`; a pair is `{contrast}/{gender}/{axis}/{descriptor}_{activity}--{descriptor}_{activity}.png`, such as
`little-boy_babysitting--male-adolescent_babysitting.png`. Spaces of names may be hyphens, and descriptors and
activities may have hyphens of their own, so that a file name is cut where both parts are names that are known.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.manifest import SUFFIXES

CONTRASTS: Mapping[str, str] = MappingProxyType(
    {
        "identity_contrast": "identity",
        "same_activity": "identity",
        "activity_contrast": "activity",
        "same_descriptor": "activity",
        "activity_identity_contrast": "identity-activity",
        "different_activity": "identity-activity",
    }
)
"""Folders of pairs, and the contrast that each holds. Pairs without activities are of the contrast "portrait"."""

MAX_FILES = 2_000_000
"""Most files that are listed at once."""

_GENDERS = ("male", "female")
_INDIVIDUALS = "individual_images"
_SHOWN = 5
_SPACES = re.compile(r"[-_\s]+")


@dataclass(frozen=True)
class Names:
    """What the parts of paths stand for. Spaces, hyphens, underscores and case make no difference.

    `dimensions`: folders of axes, such as "physical_traits", and the dimensions that they stand for. `identities`: per
    gender and dimension: the descriptors, such as "little boy" or "little-boy", and the identities that they stand for.
    `activities`: spellings of activities, and the activities that they stand for.
    """

    dimensions: Mapping[str, str]
    identities: Mapping[tuple[str, str], Mapping[str, str]]
    activities: Mapping[str, str]

    def dimension(self, axis: str) -> str:
        """Return the dimension of a folder."""
        level = self._axes.get(_folded(axis))
        if level is None:
            raise UnknownNameError("folder of an axis", axis, self.dimensions)
        return level

    def descriptors(self, gender: str, dimension: str) -> Mapping[str, str]:
        """Return the folded descriptors of a gender and dimension, and the identities that they stand for."""
        return self._descriptors.get((gender, dimension), {})

    @cached_property
    def folded_activities(self) -> Mapping[str, str]:
        """Folded spellings of activities, and the activities that they stand for."""
        return {_folded(spelling): name for spelling, name in self.activities.items()}

    @cached_property
    def _axes(self) -> Mapping[str, str]:
        return {_folded(axis): dimension for axis, dimension in self.dimensions.items()}

    @cached_property
    def _descriptors(self) -> Mapping[tuple[str, str], Mapping[str, str]]:
        return {
            place: {_folded(descriptor): name for descriptor, name in table.items()}
            for place, table in self.identities.items()
        }


class _Half(NamedTuple):
    identity: str
    activity: str | None


def read_individuals(root: Path, names: Names) -> pl.DataFrame:
    """List the pictures of one person each.

    `root`: the folder that holds `individual_images`, or `male` and `female` themselves. `names`: what the parts of
    paths stand for.

    Returns one row per picture, sorted by path: `image` (the path without its suffix), `path` (relative to `root`),
    `gender`, `dimension`, `identity`, `activity` (null for portraits). Files that are no pictures are left alone.
    """
    top = _INDIVIDUALS if (root / _INDIVIDUALS).is_dir() else ""
    rows, wrong = [], []
    for path, gender, dimension, stem in _files(root, top, names):
        half = _half(stem, names.descriptors(gender, dimension), names.folded_activities)
        if isinstance(half, str):
            wrong.append(f"{path}: {half}")
        else:
            rows.append((_image(path), path, gender, dimension, *half))
    _refuse(wrong)
    return _frame(rows, ("gender", "dimension", "identity", "activity"), root)


def read_pairs(root: Path, names: Names) -> pl.DataFrame:
    """List pictures of two people each, composed by the authors.

    `root`: the folder that holds folders of contrasts, such as `identity_contrast`. `names`: what the parts of paths
    stand for.

    Returns one row per picture, sorted by path: `image`, `path`, `gender`, `dimension`, `contrast` ("identity",
    "activity", "identity-activity" or "portrait"), `identity_1`, `identity_2`, `activity_1`, `activity_2` (null for
    portraits). The person on the left is 1.
    """
    rows, wrong = [], []
    for folder, contrast in CONTRASTS.items():
        halves_read: dict[tuple[str, str, str], _Half | str] = {}  # the same halves are in many pairs
        for path, gender, dimension, stem in _files(root, folder, names):
            halves: list[tuple[_Half, _Half]] = []
            problem = "not two people with '--' between them"
            for cut in re.finditer("(?=--)", stem):
                two: list[_Half | str] = []
                for part in (stem[: cut.start()], stem[cut.start() + 2 :]):
                    place = (gender, dimension, part)
                    if place not in halves_read:
                        halves_read[place] = _half(part, names.descriptors(gender, dimension), names.folded_activities)
                    two.append(halves_read[place])
                if isinstance(two[0], _Half) and isinstance(two[1], _Half):
                    halves.append((two[0], two[1]))
                elif not halves:
                    problem = next(one for one in two if isinstance(one, str))
            if not halves:
                wrong.append(f"{path}: {problem}")
                continue
            shown = _contrast(*halves[0])
            if shown != contrast and (shown, contrast) != ("portrait", "identity"):
                wrong.append(f"{path}: not of the contrast of its folder")
                continue
            (one, does), (other, other_does) = halves[0]
            rows.append((_image(path), path, gender, dimension, shown, one, other, does, other_does))
    _refuse(wrong)
    columns = ("gender", "dimension", "contrast", "identity_1", "identity_2", "activity_1", "activity_2")
    return _frame(rows, columns, root)


def missing_pictures(manifest: pl.DataFrame, names: Names) -> pl.DataFrame:
    """Say which identities and activities have no picture at all.

    `manifest`: as `read_individuals` or `read_pairs` returns it. `names`: what there could be.

    Returns columns `gender`, `dimension`, `identity`, `activity`. A row with an identity and no activity: no picture
    shows that identity. A row with an activity and no identity: no picture of this gender and dimension shows that
    activity, though some show others. A gender and dimension without any picture is there with each of its identities.
    """
    columns = ["identity", "activity"]
    if "identity_1" in manifest.columns:
        sides = [
            manifest.select("gender", "dimension", *(pl.col(f"{name}_{side}").alias(name) for name in columns))
            for side in (1, 2)
        ]
        manifest = pl.concat(sides)
    identities = set(manifest.select("gender", "dimension", "identity").unique().iter_rows())
    activities = set(manifest.select("gender", "dimension", "activity").drop_nulls().unique().iter_rows())
    doing = {(gender, dimension) for gender, dimension, _ in activities}
    rows: list[tuple[str, str, str | None, str | None]] = []
    for (gender, dimension), table in names.identities.items():
        for identity in dict.fromkeys(table.values()):
            if (gender, dimension, identity) not in identities:
                rows.append((gender, dimension, identity, None))
        for activity in dict.fromkeys(names.activities.values()):
            if (gender, dimension) in doing and (gender, dimension, activity) not in activities:
                rows.append((gender, dimension, None, activity))
    return pl.DataFrame(rows, schema=dict.fromkeys(("gender", "dimension", *columns), pl.String()), orient="row")


def _files(root: Path, top: str, names: Names) -> Iterator[tuple[str, str, str, str]]:
    """Path, gender, dimension and stem of each picture two folders below `top`, sorted."""
    seen = 0
    for gender in _GENDERS:
        for axis in _entries(root / top / gender, folders=True):
            dimension = names.dimension(axis)
            for name in _entries(root / top / gender / axis, folders=False):
                stem, suffix = os.path.splitext(name)  # noqa: PTH122  a million of them
                if name.startswith(".") or suffix.lower() not in SUFFIXES:
                    continue
                seen += 1
                if seen > MAX_FILES:
                    raise DataError(f"{root / top}: more than {MAX_FILES:,} pictures. Read a part of them at a time.")
                yield "/".join(part for part in (top, gender, axis, name) if part), gender, dimension, stem


def _entries(folder: Path, *, folders: bool) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir() is folders)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise DataError(f"{folder}: cannot be read: {error.strerror or error}.") from error


def _half(text: str, descriptors: Mapping[str, str], activities: Mapping[str, str]) -> _Half | str:
    """Return who is shown doing what; a string says what is unknown."""
    alone = descriptors.get(_folded(text))
    if alone is not None:
        return _Half(alone, None)
    cuts = [at for at, letter in enumerate(text) if letter == "_"]
    for at in cuts:
        identity, activity = descriptors.get(_folded(text[:at])), activities.get(_folded(text[at + 1 :]))
        if identity is not None and activity is not None:
            return _Half(identity, activity)
    for at in cuts:
        if _folded(text[:at]) in descriptors:
            return _unknown("activity", text[at + 1 :], activities)
    return _unknown("identity", text[: cuts[0]] if cuts else text, descriptors)


def _unknown(kind: str, text: str, names: Mapping[str, str]) -> str:
    near = get_close_matches(_folded(text), names, n=1, cutoff=0.5)
    return f"unknown {kind} {_folded(text)!r}" + (f", did you mean {near[0]!r}?" if near else "")


def _contrast(one: _Half, other: _Half) -> str | None:
    """Return the contrast of two people; None if they are none."""
    if (one.activity is None) != (other.activity is None):
        return None
    same = one.identity == other.identity, one.activity == other.activity
    if one.activity is None:
        return None if same[0] else "portrait"
    return {(False, True): "identity", (True, False): "activity", (False, False): "identity-activity"}.get(same)


def _folded(text: str) -> str:
    return _SPACES.sub(" ", text).strip().lower()


def _image(path: str) -> str:
    return path.rpartition(".")[0]


def _refuse(wrong: list[str]) -> None:
    if wrong:
        more = f"; and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
        files = "1 file" if len(wrong) == 1 else f"{len(wrong):,} files"
        raise DataError(f"{files} with names that are not understood: {'; '.join(wrong[:_SHOWN])}{more}.")


def _frame(rows: Sequence[tuple[str | None, ...]], factors: tuple[str, ...], root: Path) -> pl.DataFrame:
    if not rows:
        raise DataError(f"{root}: holds no pictures in folders male and female with folders of axes in them.")
    frame = pl.DataFrame(rows, schema=dict.fromkeys(("image", "path", *factors), pl.String()), orient="row")
    twice = frame.filter(pl.struct(factors).is_duplicated())
    if twice.height:
        first = twice.row(0, named=True)
        same = twice.join(twice.head(1).select(factors), on=factors, nulls_equal=True)["path"].to_list()
        levels = ", ".join(str(first[name]) for name in factors if first[name] is not None)
        raise DataError(f"{' and '.join(same[:_SHOWN])} show the same: {levels}. Keep one.")
    return frame
