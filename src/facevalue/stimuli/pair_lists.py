"""Lists of picture pairs where there are several pictures of an identity and activity."""

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import mix
from facevalue.errors import DataError

MAX_PAIRS = 5_000_000
"""Longest list."""

_KEYS = ("dimension", "activity", "gender")
_U64 = np.uint64


def identity_pairs(frame: pl.DataFrame, seed: int, per_cell: int, *, across_genders: bool = False) -> pl.DataFrame:
    """Pair pictures of two different identities that do the same activity.

    A cell is an activity and two identities (and their genders). Of its n_1 x n_2 possible pairs at most `per_cell` are
    drawn, none twice, and every picture is drawn as often as any other of its identity, or once more. The k-th pair has
    pictures (a + k) mod n_1 and (b + k + floor(k / lcm(n_1, n_2))) mod n_2, counted in an order shuffled by the
    seed, with a and b drawn for the cell.

    The frame has one row per picture, in any order: `image` (unique), `identity` and `activity` (null for portraits),
    and `gender` and `dimension` if there are any. People of different genders are paired with `across_genders` only,
    and dimensions are never mixed. There is one row per pair: `image_1`, `image_2`, `identity_1`, `identity_2`,
    `gender_1`, `gender_2`, `activity`, and `dimension` if the frame has it, sorted; identity_1 comes first in the
    alphabet.

    >>> faces = pl.DataFrame({"image": ["a", "b", "c"], "identity": ["x", "y", "y"], "activity": ["cooking"] * 3})
    >>> identity_pairs(faces, seed=1, per_cell=5).select("image_1", "identity_1", "identity_2").rows()
    [('a', 'x', 'y'), ('a', 'x', 'y')]
    """
    if per_cell < 1:
        raise DataError(f"At least one pair of each two identities is needed, not {per_cell}.")
    pictures = _check_columns(frame)
    groups = (
        pictures.with_row_index("first")
        .group_by(*_KEYS, "identity", maintain_order=True)
        .agg(pl.col("first").first().cast(pl.Int64), pl.len().cast(pl.Int64).alias("count"))
    )
    cells = _cells(groups, across_genders)
    sizes = np.minimum(per_cell, cells["count_1"].to_numpy() * cells["count_2"].to_numpy())
    total = int(sizes.sum())
    if not total:
        raise DataError("No two identities do the same activity: there is nothing to pair.")
    _refuse_more(total)
    cell = np.repeat(np.arange(cells.height), sizes)
    k = np.arange(total) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    n_1, n_2, first_1, first_2 = (cells[name].to_numpy()[cell] for name in ("count_1", "count_2", "first_1", "first_2"))
    a, b = (_words(cell, seed, side) % n.astype(np.uint64) for side, n in ((1, n_1), (2, n_2)))
    at_1 = first_1 + (a.astype(np.int64) + k) % n_1
    at_2 = first_2 + (b.astype(np.int64) + k + k // np.lcm(n_1, n_2)) % n_2
    shuffled = _shuffle_groups(pictures, groups, seed)
    chosen = cells.select("identity_1", "identity_2", "gender_1", "gender_2", "activity", "dimension")[cell]
    pairs = pl.DataFrame([shuffled.gather(at_1).alias("image_1"), shuffled.gather(at_2).alias("image_2")])
    pairs = pairs.hstack(chosen)
    return pairs if "dimension" in frame.columns else pairs.drop("dimension")


def _check_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns that matter as text, those that are not there null, in an order that follows from the content."""
    missing = [name for name in ("image", "identity", "activity") if name not in frame.columns]
    if missing:
        msg = f"To pair pictures, a manifest needs the column {missing[0]!r}; it has: {', '.join(frame.columns)}."
        raise DataError(msg)
    names = ("image", "identity", *_KEYS)
    text = frame.select(
        (pl.col(name).cast(pl.String) if name in frame.columns else pl.lit(None, pl.String)).alias(name)
        for name in names
    )
    for name in ("image", "identity"):
        if text[name].null_count():
            raise DataError(f"To pair pictures, each needs an {name}; {text[name].null_count():,} have none.")
    twice = text["image"].is_duplicated()
    if twice.any():
        raise DataError(f"The image {text['image'].filter(twice)[0]!r} is in the manifest twice.")
    return text.sort(*_KEYS, "identity", "image")


def _cells(groups: pl.DataFrame, across_genders: bool) -> pl.DataFrame:
    """Two groups of pictures each, of different identities in one context."""
    keys = [name for name in _KEYS if name != "gender" or not across_genders]
    # Counted before they are joined, which might not fit into memory.
    _refuse_more(_twos(groups, keys) - _twos(groups, [*keys, "identity"]))
    joined = groups.join(groups, on=keys, nulls_equal=True, suffix="_2").filter(
        pl.col("identity") < pl.col("identity_2")
    )
    if not across_genders:
        joined = joined.with_columns(pl.col("gender").alias("gender_2"))
    cells = joined.rename({name: f"{name}_1" for name in ("identity", "gender", "first", "count")})
    return cells.sort("dimension", "activity", "identity_1", "identity_2", "gender_1", "gender_2")


def _twos(groups: pl.DataFrame, keys: list[str]) -> int:
    """Number of ways to take two groups that have the keys in common."""
    sizes = groups.group_by(keys).len()["len"].to_numpy().astype(np.int64)
    return int((sizes * (sizes - 1) // 2).sum())


def _shuffle_groups(pictures: pl.DataFrame, groups: pl.DataFrame, seed: int) -> pl.Series:
    """The images, each group in an order of its own, at the places where the groups stand."""
    group = np.repeat(np.arange(groups.height), groups["count"].to_numpy())
    order = np.lexsort((_words(np.arange(pictures.height), seed, 0), group))
    return pictures["image"].gather(order)


def _words(numbers: npt.NDArray[np.int64], seed: int, purpose: int) -> npt.NDArray[np.uint64]:
    """A word for each number that follows from the seed."""
    with np.errstate(over="ignore"):
        key = mix(mix(np.array([seed & (2**64 - 1)], np.uint64)) ^ _U64(purpose))
        return mix(mix(numbers.astype(np.uint64)) ^ key)


def _refuse_more(pairs: int) -> None:
    if pairs > MAX_PAIRS:
        raise DataError(
            f"That would be at least {pairs:,} pairs; a list has at most {MAX_PAIRS:,}. Choose fewer pairs of each two "
            "identities, or fewer identities, activities or pictures."
        )
