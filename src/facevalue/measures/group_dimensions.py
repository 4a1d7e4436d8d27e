"""Dimensions: groups of people that are compared, and who was sampled, the person on an image or its set."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from scipy import sparse
from scipy.sparse import csgraph

UNIT = "unit"
PERSON = "person"
GROUP = "group"


@dataclass(frozen=True, slots=True)
class Dimension:
    """Groups that are compared: the levels of one factor, or of two that are crossed."""

    factors: tuple[str, ...]

    @property
    def name(self) -> str:
        """As in the column `dimension`.

        Examples
        --------
        >>> Dimension(("skin_tone", "gender")).name
        'skin tone x gender'
        """
        return " x ".join(factor.replace("_", " ") for factor in self.factors)

    def of(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows that belong to one of the groups, with `group` and `unit`.

        A unit is a person (`people`) where all images of a person are in one group: five drawings that differ in skin
        tone alone are one drawing of a woman, not five of them. Otherwise it is an image.
        """
        if any(factor not in frame.columns for factor in self.factors):
            return frame.clear().with_columns(pl.lit(None, pl.String).alias(c) for c in (GROUP, UNIT))
        named = frame.drop_nulls(list(self.factors)).with_columns(
            pl.concat_str([pl.col(f).cast(pl.String) for f in self.factors], separator=" ").alias(GROUP),
            pl.col("image").cast(pl.String).alias(UNIT),
        )
        if PERSON not in frame.columns:
            return named
        whole = pl.col(PERSON).is_not_null() & (pl.col(GROUP).n_unique().over(PERSON) == 1)
        return named.with_columns(pl.when(whole).then(PERSON).otherwise(UNIT).alias(UNIT))


def people(manifest: pl.DataFrame) -> tuple[str, ...]:
    """Name who is on each image: images of one identity, or of one counterfactual set, are of one person.

    Examples
    --------
    >>> people(pl.DataFrame({"image": ["a", "b", "c"], "identity": ["x", "x", "y"], "set": [None, "s", "s"]}))
    ('person 0', 'person 0', 'person 0')
    """
    size = manifest.height
    links = []
    for name in ("identity", "set"):
        if name in manifest.columns:
            known = manifest.select(row=pl.int_range(pl.len()), key=pl.col(name)).drop_nulls()
            first = known.select("row", first=pl.col("row").first().over("key"))
            links.append(first.to_numpy())
    joined = np.concatenate(links) if links else np.empty((0, 2), dtype=np.int64)
    graph = sparse.coo_array((np.ones(len(joined)), (joined[:, 0], joined[:, 1])), shape=(size, size))
    _, codes = csgraph.connected_components(graph, directed=False)
    return tuple(f"person {code}" for code in codes.tolist())


def dimensions(groups: Sequence[str], alone: Collection[str] = ()) -> tuple[Dimension, ...]:
    """Each factor by itself, and each two of them crossed but those that stand `alone`.

    Examples
    --------
    >>> [one.name for one in dimensions(("race", "gender", "species"), alone=("species",))]
    ['race', 'gender', 'species', 'race x gender']
    """
    crossed = combinations((name for name in groups if name not in alone), 2)
    return (*(Dimension((name,)) for name in groups), *(Dimension(pair) for pair in crossed))
