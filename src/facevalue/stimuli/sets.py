"""Counterfactual sets: each group once. Those that lack a group or have one twice are named."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

SHOWN = 3
"""Partial sets that are named."""


class Listing(NamedTuple):
    """Pictures of a source."""

    table: pl.DataFrame
    """A row per image."""
    left_out: tuple[tuple[str, str], ...] = ()
    """What was found and is not shown, or lacks something: what, and why, for people."""


@dataclass(frozen=True)
class CheckedSets:
    """Whole and partial sets of a subset."""

    sets: int
    """Number of them."""
    partial: tuple[str, ...]
    """Those that lack a group or have one more than once, in their order."""
    faults: str
    """The first of them and what is wrong with each, for people; empty if nothing is."""


def check_sets(frame: pl.DataFrame, groups: Sequence[str] = ()) -> CheckedSets:
    """Look for sets that don't have each group once.

    `frame`: a row per image: `set` (null for an image of none) and `group`. `groups`: those that a set should have,
    beside all that occur. A set of a single group compares nothing: it is partial.

    Examples
    --------
    >>> frame = pl.DataFrame({"set": ["a", "a", "b", None], "group": ["male", "female", "male", "male"]})
    >>> check_sets(frame)
    CheckedSets(sets=2, partial=('b',), faults='b lacks female')
    """
    members = frame.select("set", "group").drop_nulls("set")
    names = list(dict.fromkeys([*groups, *members["group"].unique(maintain_order=True)]))
    counts = members.group_by("set", maintain_order=True).agg(images=pl.len(), groups=pl.col("group").n_unique())
    is_whole = (pl.col("images") == len(names)) & (pl.col("groups") == len(names)) & (len(names) > 1)
    partial = counts.filter(~is_whole)["set"]
    problems = (
        _wrong(name, members.filter(pl.col("set") == name)["group"].to_list(), names) for name in partial[:SHOWN]
    )
    more = f"; and {len(partial) - SHOWN:,} more" if len(partial) > SHOWN else ""
    return CheckedSets(counts.height, tuple(partial), "; ".join(problems) + more)


def image_ids() -> pl.Expr:
    """Ids of images by `set` and `group`; by their `path` too where a set has a group twice or there is no set."""
    name = pl.concat_str("set", "group", separator="/")
    apart = pl.when(name.is_duplicated()).then(pl.concat_str(name, "path", separator="/")).otherwise(name)
    return pl.coalesce(apart, "path").alias("image")


def _wrong(name: str, members: list[str], names: list[str]) -> str:
    lacks = [group for group in names if group not in members]
    twice = [group for group in dict.fromkeys(members) if members.count(group) > 1]
    faults = [f"lacks {_few(lacks)}"] * bool(lacks) + [f"has {_few(twice)} more than once"] * bool(twice)
    return f"{name} {' and '.join(faults) or 'has a single group'}"


def _few(groups: list[str]) -> str:
    return ", ".join(groups[:SHOWN]) + (f" and {len(groups) - SHOWN} more" if len(groups) > SHOWN else "")
