"""Dimensions: groups of people that are compared, and who was sampled, the person on an image or its set."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.measures.table_entries import codes

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
        with_groups = frame.drop_nulls(list(self.factors)).with_columns(
            pl.concat_str([pl.col(f).cast(pl.String) for f in self.factors], separator=" ").alias(GROUP),
            pl.col("image").cast(pl.String).alias(UNIT),
        )
        if PERSON not in frame.columns:
            return with_groups
        of_one_person = pl.col(PERSON).is_not_null() & (pl.col(GROUP).n_unique().over(PERSON) == 1)
        return with_groups.with_columns(pl.when(of_one_person).then(PERSON).otherwise(UNIT).alias(UNIT))


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
            units = manifest.select(row=pl.int_range(pl.len()), key=pl.col(name)).drop_nulls()
            first = units.select("row", first=pl.col("row").first().over("key"))
            links.append(first.to_numpy())
    joined = np.concatenate(links) if links else np.empty((0, 2), dtype=np.int64)
    graph = scipy.sparse.coo_array((np.ones(len(joined)), (joined[:, 0], joined[:, 1])), shape=(size, size))
    _, numbers = scipy.sparse.csgraph.connected_components(graph, directed=False)
    return tuple(f"person {code}" for code in numbers.tolist())


def dimensions(groups: Sequence[str], alone: Collection[str] = ()) -> tuple[Dimension, ...]:
    """Each factor by itself, and each two of them crossed but those that stand `alone`.

    Examples
    --------
    >>> [one.name for one in dimensions(("race", "gender", "species"), alone=("species",))]
    ['race', 'gender', 'species', 'race x gender']
    """
    crossed = combinations((name for name in groups if name not in alone), 2)
    return (*(Dimension((name,)) for name in groups), *(Dimension(pair) for pair in crossed))


def sampled(rows: pl.DataFrame, by: str = "occupation") -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | None]:
    """Who each unit is, and its stratum where every group has the same share of each; in the order of units' names.

    Then strata make no difference between groups, and what they do to answers is no noise of these either.

    Examples
    --------
    >>> rows = {"unit": ["a", "b", "c", "d"], "group": ["f", "m", "f", "m"], "occupation": ["cook"] * 2 + ["nurse"] * 2}
    >>> [found.tolist() for found in sampled(pl.DataFrame(rows))]
    [[1, 2, 3, 4], [0, 0, 1, 1]]
    """
    columns = [c for c in (UNIT, PERSON, GROUP, by) if c in rows.columns]
    units = rows.select(columns).unique(UNIT, keep="first").sort(UNIT)
    person = codes(units[PERSON].fill_null("") if PERSON in columns else units[UNIT]) + 1
    if by not in columns or units[by].null_count():
        return person, None
    stratum, group = (codes(units[c]) for c in (by, GROUP))
    counts = np.zeros((stratum.max() + 1, group.max() + 1))
    np.add.at(counts, (stratum, group), 1)
    shares = counts / counts.sum(axis=1, keepdims=True)
    return person, stratum if np.allclose(shares, shares[0]) else None
