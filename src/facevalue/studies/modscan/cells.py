"""Pairs of faces that differ in one attribute: up to 20 of each cell, no face twice in one (section 4)."""

from collections.abc import Sequence
from hashlib import blake2b
from itertools import combinations

import numpy as np
import polars as pl

from facevalue.protocol.study import LeftOut
from facevalue.stimuli.pairs import left_first

MOST = 20
"""Pairs of a cell (section 4)."""
PAIR = ("pair", "image_1", "image_2", "group_1", "group_2", "cell", "left")
"""Columns of a list of pairs. `group_1` is that of `image_1`; `left` is the number of the one on the left."""


def face_pairs(
    faces: pl.DataFrame, attribute: str, same: Sequence[str], groups: Sequence[str], most: int, seed: int
) -> tuple[pl.DataFrame, tuple[LeftOut, ...]]:
    """Pair faces that differ in an attribute and agree in the others.

    A cell is a level of each of the others and two groups. A face may stand in cells of other pairs of groups. Sides
    follow from the pair's number and the seed.

    `faces`: `image`, the attribute, and what is kept the same. `attribute`, `same`: columns. `groups`: levels of the
    attribute, in order. `most`: pairs of a cell at most. `seed`: which faces, who stands beside whom, and who is on the
    left.

    Returns a row per pair (`PAIR` and the columns of `same`), and the cells that are short of pairs, by name.

    Examples
    --------
    >>> faces = pl.DataFrame({"image": ["a", "b", "c"], "age": ["18"] * 3, "gender": ["male", "female", "male"]})
    >>> pairs, short = face_pairs(faces, "gender", ("age",), ("male", "female"), 20, seed=1)
    >>> pairs["image_2"].to_list(), [one.what for one in short]
    (['b'], ['gender pairs of 18'])
    """
    rows: list[tuple[str, ...]] = []
    short: list[LeftOut] = []
    known = faces.drop_nulls([attribute, *same]).sort(*same, "image")
    for key, part in known.group_by(same, maintain_order=True):
        levels = tuple(map(str, key))
        images = {name: own["image"].to_list() for (name,), own in part.group_by(attribute, maintain_order=True)}
        for one, other in combinations(groups, 2):
            named = " ".join([*levels, *([one, other] if len(groups) > 2 else [])])
            sizes = len(images.get(one, ())), len(images.get(other, ()))
            count = min(most, *sizes)
            if count < most and any(sizes):
                why = f"{count} of {most}: the pictures have {sizes[0]} {one}, {sizes[1]} {other}."
                short.append(LeftOut(f"{attribute.replace('_', ' ')} pairs of {named}", why))
            rng = np.random.default_rng(_words(seed, attribute, named))
            sides = [rng.permutation(size)[:count].tolist() for size in sizes]
            rows += [(images[one][i], images[other][j], one, other, *levels) for i, j in zip(*sides, strict=True)]
    schema = dict.fromkeys(("image_1", "image_2", "group_1", "group_2", *same), pl.String())
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return _numbered(frame, same, seed), tuple(short)


def _numbered(frame: pl.DataFrame, same: Sequence[str], seed: int) -> pl.DataFrame:
    left = np.where(left_first(np.arange(frame.height), seed), "1", "2")
    return frame.with_columns(
        pl.concat_str("image_1", "image_2", separator=" + ").alias("pair"),
        pl.concat_str(same, separator=" ").alias("cell") if frame.height else pl.lit(None, pl.String).alias("cell"),
        pl.Series("left", left, dtype=pl.String),
    ).select(*PAIR, *same)


def _words(seed: int, *parts: str) -> list[int]:
    """Seed of one cell's draw: other cells don't change it."""
    text = "\x1f".join(parts).encode()
    return [seed, int.from_bytes(blake2b(text, digest_size=8).digest(), "little")]


def turned(frame: pl.DataFrame) -> pl.DataFrame:
    """Groups on the left and on the right of each pair."""
    one, two = pl.col("group_1").cast(pl.String), pl.col("group_2").cast(pl.String)
    first = pl.col("left").cast(pl.String) == "1"
    return frame.select(left=pl.when(first).then(one).otherwise(two), right=pl.when(first).then(two).otherwise(one))
