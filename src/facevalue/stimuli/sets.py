"""Counterfactual sets: each group once. Those that lack a group or have one twice are named."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

SHOWN = 3
"""Partial sets that are named."""


class Listing(NamedTuple):
    """Images of counterfactual sets that were found."""

    table: pl.DataFrame
    """A row per image."""
    left_out: tuple[tuple[str, str], ...]
    """What was found and is not shown, or lacks something: what, and why, for people."""


@dataclass(frozen=True)
class Checked:
    """What was found of the sets of a subset."""

    sets: int
    """How many there are."""
    partial: tuple[str, ...]
    """Those that lack a group or have one more than once, in their order."""
    told: str
    """The first of them and what is wrong with each, for people; empty if nothing is."""


def check_sets(frame: pl.DataFrame, groups: Sequence[str] = ()) -> Checked:
    """Look for sets that don't have each group once.

    `frame`: a row per image: `set` (null for an image of none) and `group`. `groups`: those that a set should have,
    beside all that occur. A set of a single group compares nothing: it is partial.

    Examples
    --------
    >>> frame = pl.DataFrame({"set": ["a", "a", "b", None], "group": ["male", "female", "male", "male"]})
    >>> check_sets(frame)
    Checked(sets=2, partial=('b',), told='b lacks female')
    """
    own = frame.select("set", "group").drop_nulls("set")
    known = list(dict.fromkeys([*groups, *own["group"].unique(maintain_order=True)]))
    found = own.group_by("set", maintain_order=True).agg(images=pl.len(), groups=pl.col("group").n_unique())
    whole = (pl.col("images") == len(known)) & (pl.col("groups") == len(known)) & (len(known) > 1)
    partial = found.filter(~whole)["set"]
    named = (_wrong(name, own.filter(pl.col("set") == name)["group"].to_list(), known) for name in partial[:SHOWN])
    more = f"; and {len(partial) - SHOWN:,} more" if len(partial) > SHOWN else ""
    return Checked(found.height, tuple(partial), "; ".join(named) + more)


def image_ids() -> pl.Expr:
    """Ids of images by `set` and `group`; by their `path` too where a set has a group twice or there is no set."""
    name = pl.concat_str("set", "group", separator="/")
    apart = pl.when(name.is_duplicated()).then(pl.concat_str(name, "path", separator="/")).otherwise(name)
    return pl.coalesce(apart, "path").alias("image")


def _wrong(name: str, there: list[str], known: list[str]) -> str:
    lacks = [group for group in known if group not in there]
    twice = [group for group in dict.fromkeys(there) if there.count(group) > 1]
    parts = [f"lacks {_few(lacks)}"] * bool(lacks) + [f"has {_few(twice)} more than once"] * bool(twice)
    return f"{name} {' and '.join(parts) or 'has a single group'}"


def _few(groups: list[str]) -> str:
    return ", ".join(groups[:SHOWN]) + (f" and {len(groups) - SHOWN} more" if len(groups) > SHOWN else "")
