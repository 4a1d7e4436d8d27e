"""Which groups are compared, and what counts as one image among them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import polars as pl

from facevalue.studies.visbias.layout import SPECIES

UNIT = "unit"
GROUP = "group"


@dataclass(frozen=True, slots=True)
class Dimension:
    """Groups that are compared.

    Attributes
    ----------
    factors:
        One factor, or two that are crossed.
    """

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

        A unit is an image, or the images of one counterfactual set where all of them are in one group: five drawings
        that differ in skin tone alone are one drawing of a woman, not five of them.
        """
        if any(factor not in frame.columns for factor in self.factors):
            return frame.clear().with_columns(pl.lit(None, pl.String).alias(c) for c in (GROUP, UNIT))
        named = frame.drop_nulls(list(self.factors)).with_columns(
            pl.concat_str([pl.col(f).cast(pl.String) for f in self.factors], separator=" ").alias(GROUP),
            pl.col("image").cast(pl.String).alias(UNIT),
        )
        if "set" not in frame.columns:
            return named
        whole = pl.col("set").is_not_null() & (pl.col(GROUP).n_unique().over("set") == 1)
        own = pl.concat_str(pl.lit("set "), pl.col("set").cast(pl.String))
        return named.with_columns(pl.when(whole).then(own).otherwise(UNIT).alias(UNIT))


def dimensions(groups: Sequence[str]) -> tuple[Dimension, ...]:
    """Each factor, and each two of them crossed; species, which have no other, by themselves.

    Examples
    --------
    >>> [one.name for one in dimensions(("race", "gender", "species"))]
    ['race', 'gender', 'species', 'race x gender']
    """
    people = [name for name in groups if name != SPECIES]
    single = [Dimension((name,)) for name in groups]
    return (*single, *(Dimension(pair) for pair in combinations(people, 2)))
