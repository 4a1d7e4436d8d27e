"""Reader of CulturalCounterfactuals (arXiv 2603.02370): one person in different places, generated.

It is published as Parquet shards in three folders, each a subset: in `religion` a set shows somebody at six places of
worship, in `nationality` in eight surroundings, in `socioeconomic` in three. Within a set age, race and gender are the
same, and what differs is the `context`: that is the group.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import polars as pl

from facevalue.errors import DataError
from facevalue.stimuli.sets import Listing, image_ids
from facevalue.stimuli.shards import read_shards

SUBSETS: Mapping[str, tuple[int, int]] = MappingProxyType(
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
    pattern = rf"(?i)({'|'.join(SUBSETS)})"
    folder_subset = pl.lit(root.resolve().name).str.extract(pattern)
    table = frame.with_columns(
        pl.coalesce(pl.col("path").str.extract(pattern), folder_subset).str.to_lowercase().alias("subset")
    )
    nameless = table.filter(pl.col("subset").is_null())
    if nameless.height:
        raise DataError(
            f"{nameless['path'][0]}: nothing says of which subset it is: name its folder {' or '.join(SUBSETS)}."
        )
    table = table.rename({"ctf_set": "set", "context": "group"}).with_columns(occupation=pl.lit(None, pl.String))
    grouped = table.drop_nulls("group")
    if not grouped.height:
        raise DataError(f"{root}: no image has a context.")
    bare = table.filter(pl.col("group").is_null())["path"]
    left_out = ((f"{len(bare):,} images, such as {bare[0]}", "Without a context."),) if len(bare) else ()
    form = ("image", "path", "subset", "set", "group", "occupation", *_ATTRIBUTES)
    return Listing(grouped.with_columns(image_ids()).select(form), left_out)
