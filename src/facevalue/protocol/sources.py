"""Sources of a study's pictures: a list, one of which the user's settings name, and tables of pictures to be made."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

import polars as pl

from facevalue.errors import DataError
from facevalue.generators.base import NULL_EDIT
from facevalue.places import is_url
from facevalue.protocol.making import IMAGE, PATH, PICTURE_SEED, PROMPT, SOURCE
from facevalue.protocol.picture_checks import without_failed
from facevalue.protocol.settings import EXCLUDE, Options, Setting, whole
from facevalue.protocol.study import LeftOut
from facevalue.statistics.sets import OTHER_PATH
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.images import FileSource
from facevalue.stimuli.manifest import SHARD_ROW, read_manifest
from facevalue.stimuli.manifest_rows import Column, Faults, Listing, ManifestError, lacking

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


def check_listed(table: pl.DataFrame, columns: Iterable[Column], options: Options, apart: Sequence[str] = ()) -> None:
    """Refuse a manifest of the user's that lacks columns which a study needs; `apart`: what the study itself added."""
    listed = [name for name in table.columns if name not in (IMAGE, "identity", *apart)]
    listed = [name for name in listed if table[name].null_count() < table.height]
    if faults := lacking(columns, listed):
        raise ManifestError(Path(str(options["manifest"])).name, faults)


ATTEMPT = "attempt"
"""Column that numbers candidates of one base, where several are made."""
EDIT = "edit"
"""Column of a table of edits: what an edited picture is called after its base."""
NOTHING_CHANGED = "Change nothing. Return the picture as it is."
"""Prompt for an editor of a null edit."""
SEED = Setting("picture_seed", "The seed that those of all pictures follow from.", 1)
"""The setting by which the same pictures are asked for with other seeds."""
DRAWS = Setting("draws", "Candidates made of each, to keep the one that passes checks best.", 1)
"""The setting by which bases are over-generated."""
MOST_DRAWS = 100
EXISTING = (
    Setting("sources", "Edit these pictures, which exist, instead: a CSV, JSONL or Parquet manifest.", ""),
    Setting("root", "The folder that paths of --sources are relative to; that of the list by default.", "",
            needs=("sources",)),
    Setting("null_edits", "Have each base edited, too, with nothing to change: what an editor does by itself.",
            default=False),
)  # fmt: skip
"""Settings of what takes cues: pictures that exist as bases, and null edits."""


def existing(options: Options, columns: Sequence[Column] = ()) -> pl.DataFrame:
    """Bases that exist: the user's manifest with an id without its ending, `path` as found from anywhere, no `prompt`.

    Raises
    ------
    DataError
        It cannot be read, or lacks a column that is needed.
    """
    table = own_manifest(options, columns, "sources")
    rows_of_shards = table.filter(pl.col(PATH).str.contains(SHARD_ROW))[PATH]
    if rows_of_shards.len():
        raise DataError(f"{rows_of_shards[0]} is a row of a Parquet file: what is edited is a file of its own.")
    folder = Path(str(options["root"] or Path(str(options["sources"])).parent)).resolve().as_posix()
    bare = pl.col(IMAGE).str.replace(r"(?i)\.(png|jpe?g|webp|gif)$", "")
    return table.with_columns(
        bare,
        pl.when(pl.col("identity") == pl.col(IMAGE)).then(bare).otherwise("identity").alias("identity"),
        pl.format("{}/{}", pl.lit(folder), PATH).alias(PATH),
        pl.lit(None, pl.String).alias(PROMPT),
    )


def null_edit(cue: Sequence[str]) -> pl.DataFrame:
    """The edit that changes nothing, as a row of a table of edits with these columns of cues.

    Examples
    --------
    >>> null_edit(["cue"]).row(0)
    ('no-change', 'no change', 'Change nothing. Return the picture as it is.')
    """
    return pl.DataFrame({EDIT: "no-change", **dict.fromkeys(cue, NULL_EDIT), PROMPT: NOTHING_CHANGED})


def candidates(bases: pl.DataFrame, draws: int, *names: str) -> pl.DataFrame:
    """Bases as often as they are over-generated, numbered in `attempt` and at the end of these columns of names.

    Examples
    --------
    >>> candidates(pl.DataFrame({"image": ["f1"]}), 2, "image")["image"].to_list()
    ['f1/1', 'f1/2']
    """
    if draws == 1:
        return bases
    attempts = pl.DataFrame({ATTEMPT: [str(number) for number in range(1, draws + 1)]})
    table = bases.join(attempts, how="cross", maintain_order="left_right")
    return table.with_columns(pl.format("{}/{}", name, ATTEMPT).alias(name) for name in names)


def with_edits(bases: pl.DataFrame, edits: pl.DataFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    """Each base, and after it what is edited from it.

    Parameters
    ----------
    bases:
        `image`, `prompt`, perhaps `path`, and factors.
    edits:
        `edit`, `prompt`, and columns of their own that bases lack or leave empty.
    by:
        Columns that a base and its edits agree in; where there are none every base has every edit.

    Examples
    --------
    >>> bases = pl.DataFrame({"image": ["f1", "f2"], "prompt": ["A man.", "A woman."]})
    >>> edits = pl.DataFrame({"edit": ["cap"], "cue": ["cap"], "prompt": ["Add a cap."]})
    >>> with_edits(bases, edits)["image"].to_list()
    ['f1', 'f1/cap', 'f2', 'f2/cap']
    """
    cues = [name for name in edits.columns if name not in (EDIT, PROMPT, *by)]
    numbered = bases.drop(cues, strict=False).with_row_index("base").with_columns(place=pl.lit(-1, pl.Int64))
    changes = edits.with_columns(place=pl.int_range(pl.len()))
    sources = numbered.drop(PROMPT, PATH, "place", strict=False)
    crossed = sources.join(changes, on=list(by), nulls_equal=True) if by else sources.join(changes, how="cross")
    changed = crossed.with_columns(pl.col(IMAGE).alias(SOURCE), pl.format("{}/{}", IMAGE, EDIT).alias(IMAGE)).drop(EDIT)
    table = pl.concat([numbered, changed], how="diagonal").sort("base", "place").drop("base", "place")
    return table if SOURCE in table.columns else table.with_columns(pl.lit(None, pl.String).alias(SOURCE))


def in_form(table: pl.DataFrame, options: Options, *factors: str) -> pl.DataFrame:
    """The table as a `PicturePlan` has it, each picture with a seed that follows from its id and `picture_seed`.

    A picture has the same seed however a plan is narrowed.
    """
    start = whole(options, SEED.name, 0)
    images = table[IMAGE].to_list()
    seeds = [int.from_bytes(blake2b(f"{start}\x1f{image}".encode(), digest_size=4).digest()) >> 1 for image in images]
    if SOURCE not in table.columns:
        table = table.with_columns(pl.lit(None, pl.String).alias(SOURCE))
    first = [IMAGE, SOURCE, PROMPT, PICTURE_SEED, *([PATH] if PATH in table.columns else [])]
    return table.with_columns(pl.Series(PICTURE_SEED, seeds, pl.Int64)).select(*first, *factors)
