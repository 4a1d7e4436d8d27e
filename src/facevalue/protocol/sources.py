"""Sources of a study's pictures: a list, one of which the user's settings name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from facevalue.places import is_url
from facevalue.protocol.making import IMAGE, PATH, SOURCE
from facevalue.protocol.picture_checks import without_failed
from facevalue.protocol.settings import EXCLUDE, Options
from facevalue.protocol.study import LeftOut
from facevalue.statistics.sets import OTHER_PATH
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.images import FileSource
from facevalue.stimuli.manifest import read_manifest
from facevalue.stimuli.manifest_rows import Column, Faults, Listing

Shows = Callable[[pl.DataFrame, Options], Source]
"""From the table of pictures and the settings to what shows them."""


def files(usual: Kind = Kind.UNSTATED, *, sure: bool = False) -> Shows:
    """Show files below the folder `root`. Their kind is what the user states, or `usual`; `sure`: it is that one."""
    return lambda table, options: FileSource(table, root_of(options), usual if sure else kind_of(options, usual))


def kind_of(options: Options, usual: Kind) -> Kind:
    """Return what the user states that pictures are, or what they usually are."""
    kind = Kind(str(options["kind"]))
    return usual if kind is Kind.UNSTATED else kind


def root_of(options: Options) -> Path:
    """Return the folder that paths of pictures are relative to."""
    return Path(str(options["root"]))


@dataclass(frozen=True)
class PictureSource:
    """One place that pictures come from.

    Attributes
    ----------
    setting:
        The setting that names it; "" for what is shown where none is named, the last of a list.
    listed:
        Lists the pictures, and says what is not shown.
    shows:
        Shows them.
    lacks:
        What it never shows of what the paper does, and why.

    Examples
    --------
    >>> drawn = PictureSource("", lambda _: Listing(pl.DataFrame({"image": ["a"]})), lacks=(("race", "Not drawn."),))
    >>> table, left_out = list_pictures([PictureSource("manifest", Listing), drawn], {"manifest": ""})
    >>> table["image"].to_list(), [omission.what for omission in left_out]
    (['a'], ['race'])
    """

    setting: str
    listed: Callable[[Options], Listing]
    shows: Shows = field(default_factory=files)
    lacks: tuple[tuple[str, str], ...] = ()


def source_of(sources: Sequence[PictureSource], options: Options) -> PictureSource:
    """Return the first source that the settings name."""
    return next(source for source in sources if not source.setting or options[source.setting])


def list_pictures(
    sources: Sequence[PictureSource], options: Options, stored: pl.DataFrame | None = None
) -> tuple[pl.DataFrame, tuple[LeftOut, ...]]:
    """List the pictures that the settings name, and what is left out; the table of a stored run is used as it is."""
    source = source_of(sources, options)
    listing = Listing(stored) if stored is not None else source.listed(options)
    return listing.table, tuple(LeftOut(*omission) for omission in (*source.lacks, *listing.left_out))


def show_pictures(sources: Sequence[PictureSource], options: Options, table: pl.DataFrame) -> Source:
    """Return what shows pictures that `list_pictures` listed."""
    return source_of(sources, options).shows(table, options)


def source_paths(listed: pl.DataFrame, faults: Faults) -> pl.Series:
    """The path of what each picture of a list was edited from, by its column `source`; null where that is empty.

    `faults`: takes note of a source that is no picture of the list, or the picture itself.
    """
    origin, paths = listed[SOURCE], dict(listed.select(IMAGE, PATH).iter_rows())
    faults.add_rows("the source is no picture of the list", origin.is_not_null() & ~origin.is_in(list(paths)), origin)
    faults.add_rows("a picture is its own source", origin == listed[IMAGE], listed[IMAGE])
    return origin.replace_strict(paths, default=None, return_dtype=pl.String).alias(OTHER_PATH)


def own_manifest(
    options: Options, columns: Sequence[Column], setting: str = "manifest", root: str = "root"
) -> pl.DataFrame:
    """Read the user's manifest, without pictures that failed their checks where these are to be left out."""
    folder = Path(str(options[root])) if options[root] else None
    table = read_manifest(Path(str(options[setting])), root=folder, columns=columns)
    checks = options.get(EXCLUDE) if setting == "manifest" else None
    return without_failed(table, str(checks) if is_url(checks) else Path(str(checks))) if checks else table
