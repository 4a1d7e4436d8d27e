"""Readers of published counterfactual sets: SocialCounterfactuals and CulturalCounterfactuals.

The data set is published as Parquet shards. The authors' scripts write flat files instead, `{set}_{image}.jpg` in
parts: "a_photo_of_race_gender_nurse_0_11_3761796350.jpg" is image 11 of the set "a_photo_of_race_gender_nurse",
rank 0, seed 3761796350. What image 11 shows, the column `caption_11` of their metadata says; its numbers have gaps.

It is published as Parquet shards in three folders, each a subset: in `religion` a set shows somebody at six places of
worship, in `nationality` in eight surroundings, in `socioeconomic` in three. Within a set age, race and gender are the
same, and what differs is the `context`: that is the group.
"""

import io
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import polars as pl

from facevalue.errors import DataError
from facevalue.stimuli.folders import files_below
from facevalue.stimuli.manifest import SUFFIXES
from facevalue.stimuli.manifest_rows import Listing, image_ids
from facevalue.stimuli.shards import SUFFIX, read_shards, shards_below
from facevalue.untrusted_files import read_file

ATTRIBUTES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "physical": ("skinny", "obese", "young", "old", "tattooed"),
        "race": ("White", "Black", "Indian", "Asian", "Middle Eastern", "Latino"),
        "gender": ("male", "female"),
    }
)
"""Attributes and their levels, in the order in which a group names them: "old Asian", "Black male"."""
SOCIAL_SUBSETS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "race-gender": ("race", "gender"),
        "physical-gender": ("physical", "gender"),
        "physical-race": ("physical", "race"),
    }
)
"""Subsets, each with the two attributes in which its sets differ."""
METADATA = tuple(f"metadata_{name.replace('-', '_')}.csv" for name in SOCIAL_SUBSETS)

_KINDS = {level.lower(): (kind, level) for kind, levels in ATTRIBUTES.items() for level in levels}
_LEVEL = "|".join(sorted(_KINDS, key=len, reverse=True))
_CAPTION = re.compile(
    rf"(?:(?:a (?:picture|photo)|an image) of )?(?:an? )?({_LEVEL}) ({_LEVEL}) (\S.*?)\.?", re.IGNORECASE
)
_SHORT = {"ceo": "CEO", "dj": "DJ", "pr": "PR"}
_IN_SHARDS = ("caption", "counterfactual_set")
_ALSO = ("a1", "a2")
_SHOWN = 80  # characters of a caption
_MOST_METADATA = 64 * 2**20
_FORM = ("image", "path", "subset", "set", "group", "occupation", *("race", "gender", "physical"))


class Caption(NamedTuple):
    """Levels that a caption names."""

    race: str | None
    gender: str | None
    physical: str | None
    """Two of the three; the third is None."""
    occupation: str
    """In lower case but for abbreviations, as data sets have one in several cases."""


def parse_caption(text: str) -> Caption | None:
    """Read who a caption shows; None if it doesn't say that in the words of the data set.

    Examples
    --------
    >>> parse_caption("A photo of an obese male Civil Engineer")
    Caption(race=None, gender='male', physical='obese', occupation='civil engineer')
    >>> parse_caption("a Middle Eastern female CEO").occupation
    'CEO'
    >>> parse_caption("A man at work") is None
    True
    """
    match = _CAPTION.fullmatch(" ".join(text.split()))
    if match is None:
        return None
    levels = dict(_KINDS[level.lower()] for level in match.group(1, 2))
    if len(levels) < 2:
        return None
    occupation = " ".join(_SHORT.get(word, word) for word in match[3].lower().split())
    return Caption(levels.get("race"), levels.get("gender"), levels.get("physical"), occupation)


def read_social_counterfactuals(root: Path) -> Listing:
    """List the images below a folder: of its Parquet shards, or flat files beside the authors' metadata.

    The attributes are those of the caption, and of the columns `a1` and `a2` where a shard has them.

    Returns its `table`, by subset in the order of `SUBSETS`, has the text columns `image`, `path`, `subset`, `set`,
    `group`, `occupation` (null where a caption is not understood), `race`, `gender` and `physical`, of which a subset
    has two.
    """
    if shards_below(root):
        return _read_captions(read_shards(root, _IN_SHARDS, _ALSO).rename({"counterfactual_set": "set"}), [])
    files = list(files_below(root))
    tables = [path for path in files if path.rpartition("/")[2] in METADATA]
    if not tables:
        raise DataError(
            f"{root}: holds neither Parquet files (*{SUFFIX}) nor pictures with the authors' {METADATA[0]} beside them."
        )
    return _flat(root, files, pl.concat([_metadata(root / path) for path in tables]))


def _flat(root: Path, files: list[str], metadata: pl.DataFrame) -> Listing:
    images = pl.DataFrame({"path": [path for path in files if path.lower().endswith(SUFFIXES)]}, {"path": pl.String})
    pictures = images.with_columns(name=pl.col("path").str.extract(r"([^/]*)\.[^.]*$"))
    left_out = []
    once = metadata.unique("name", keep="first", maintain_order=True)
    if once.height < metadata.height:
        left_out.append((f"{metadata.height - once.height:,} images of the metadata", "Listed more than once."))
    matched = pictures.join(once.select("name"), on="name", how="semi", maintain_order="left")
    twice = matched.filter(pl.col("name").is_duplicated()).sort("name", "path")["path"]
    if len(twice):
        raise DataError(f"{root}: {twice[0]} and {twice[1]} could both be the same picture. Keep one.")
    located = once.join(matched, on="name", how="left", maintain_order="left")
    lacking = located.filter(pl.col("path").is_null())["name"]
    if len(lacking) == located.height:
        raise DataError(
            f"{root}: none of the {located.height:,} pictures of the metadata is there, such as {lacking[0]}.jpg."
        )
    if len(lacking):
        left_out.append(
            (f"{len(lacking):,} of {located.height:,} images, such as {lacking[0]}.jpg", "Not in the folder.")
        )
    others = pictures.join(matched, on="path", how="anti")["path"]
    if len(others):
        left_out.append((f"{len(others):,} files, such as {others[0]}", "Not in the metadata."))
    return _read_captions(located.drop_nulls("path"), left_out)


def _metadata(path: Path) -> pl.DataFrame:
    """A row per image that the metadata list: `set`, `name` (of its file, without the ending) and `caption`."""
    data = read_file(path, _MOST_METADATA, "metadata of SocialCounterfactuals")
    try:
        frame = pl.read_csv(io.BytesIO(data), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path.name}: is no CSV that can be read: {str(error).splitlines()[0]}.") from None
    missing = [name for name in ("filename", "rank", "seed") if name not in frame.columns]
    captions = [name for name in frame.columns if re.fullmatch(r"caption_\d{1,4}", name)]
    if missing or not captions:
        lacking = repr(missing[0]) if missing else "'caption_0' or of another number"
        raise DataError(f"{path.name}: lacks the column {lacking}; it has: {', '.join(frame.columns[:20])}.")
    bare = frame.select(pl.any_horizontal(pl.col("filename", "rank", "seed").is_null())).to_series()
    if bare.any():
        raise DataError(f"{path.name}: row {bare.arg_true()[0] + 1} lacks a filename, rank or seed.")
    rows = frame.with_row_index("row").unpivot(
        captions, index=["row", "filename", "rank", "seed"], value_name="caption"
    )
    number = pl.col("variable").str.strip_prefix("caption_")
    return rows.sort("row", maintain_order=True).select(
        pl.concat_str("filename", "rank", "seed", separator="_").alias("set"),
        pl.concat_str("filename", "rank", number, "seed", separator="_").alias("name"),
        "caption",
    )


def _read_captions(frame: pl.DataFrame, left_out: list[tuple[str, str]]) -> Listing:
    """Levels in the captions and their columns; images on which both say nothing or differ are left out."""
    captions = frame["caption"].drop_nulls().unique()
    parsed_captions = [(text, *levels) for text in captions if (levels := parse_caption(text))]
    readings = pl.DataFrame(parsed_captions, dict.fromkeys(("caption", *Caption._fields), pl.String()), orient="row")
    frame = frame.join(readings, on="caption", how="left", maintain_order="left")
    stated_levels = {
        kind: pl.coalesce(_levels("a1", kind), _levels("a2", kind)).alias(f"{kind} beside") for kind in ATTRIBUTES
    }
    frame = frame.with_columns(pl.lit(None, pl.String).alias(name) for name in _ALSO if name not in frame.columns)
    frame = frame.with_columns(stated_levels.values())
    parsed = pl.col("occupation").is_not_null()
    stated = pl.sum_horizontal(pl.col(f"{kind} beside").is_not_null() for kind in ATTRIBUTES) == 2
    differs = pl.any_horizontal(pl.col(kind).ne_missing(pl.col(f"{kind} beside")) for kind in ATTRIBUTES)
    for mask, reason in (
        (~parsed & ~stated, "Nothing says whom they show; the caption is {}."),
        (parsed & stated & differs, "The caption {} is not of whom the columns beside it name."),
        (~parsed & stated, "Shown without an occupation, as the caption is not understood: {}."),
    ):
        some = frame.filter(mask).select("path", "caption")
        if some.height:
            path, caption = some.row(0)
            example = f"{some.height:,} {'image' if some.height == 1 else 'images'}, such as {path}"
            left_out.append((example, reason.format(repr(str(caption or "")[:_SHOWN]))))
    usable = frame.filter((parsed | stated) & ~(parsed & stated & differs))
    if not usable.height:
        raise DataError(f"No caption says whom its image shows, such as {str(frame['caption'][0])[:_SHOWN]!r}.")
    table = usable.with_columns(pl.coalesce(kind, f"{kind} beside") for kind in ATTRIBUTES).with_columns(
        pl.concat_str(*ATTRIBUTES, separator=" ", ignore_nulls=True).alias("group"),
        _subset().alias("subset"),
    )
    place = pl.col("subset").replace_strict(list(SOCIAL_SUBSETS), range(len(SOCIAL_SUBSETS)))
    return Listing(table.with_columns(image_ids()).sort(place, maintain_order=True).select(_FORM), tuple(left_out))


def _levels(column: str, kind: str) -> pl.Expr:
    levels = {level.lower(): level for level in ATTRIBUTES[kind]}
    return pl.col(column).str.to_lowercase().replace_strict(levels, default=None, return_dtype=pl.String)


def _subset() -> pl.Expr:
    subset = pl.lit(None, pl.String)
    for name, (first, second) in SOCIAL_SUBSETS.items():
        subset = (
            pl.when(pl.col(first).is_not_null() & pl.col(second).is_not_null()).then(pl.lit(name)).otherwise(subset)
        )
    return subset


CULTURAL_SUBSETS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"religion": (5163, 6), "nationality": (2669, 8), "socioeconomic": (2499, 3)}
)
"""Subsets, each with its sets and the images of one: 59,827 images."""

_COLUMNS = ("ctf_set", "context")
_ATTRIBUTES = ("age", "race", "gender")


def read_cultural_counterfactuals(root: Path) -> Listing:
    """List the images of the shards below a folder, which is that of the data set or of one subset.

    Returns its `table` has the text columns `image`, `path`, `subset`, `set`, `group`, `occupation` (null), `age`,
    `race` and `gender`, as the data set has them.
    """
    frame = read_shards(root, _COLUMNS, _ATTRIBUTES)
    pattern = rf"(?i)({'|'.join(CULTURAL_SUBSETS)})"
    folder_subset = pl.lit(root.resolve().name).str.extract(pattern)
    table = frame.with_columns(
        pl.coalesce(pl.col("path").str.extract(pattern), folder_subset).str.to_lowercase().alias("subset")
    )
    nameless = table.filter(pl.col("subset").is_null())
    if nameless.height:
        raise DataError(
            f"{nameless['path'][0]}: nothing says of which subset it is: "
            f"name its folder {' or '.join(CULTURAL_SUBSETS)}."
        )
    table = table.rename({"ctf_set": "set", "context": "group"}).with_columns(occupation=pl.lit(None, pl.String))
    grouped = table.drop_nulls("group")
    if not grouped.height:
        raise DataError(f"{root}: no image has a context.")
    bare = table.filter(pl.col("group").is_null())["path"]
    left_out = ((f"{len(bare):,} images, such as {bare[0]}", "Without a context."),) if len(bare) else ()
    form = ("image", "path", "subset", "set", "group", "occupation", *_ATTRIBUTES)
    return Listing(grouped.with_columns(image_ids()).select(form), left_out)
