"""Truth of the reference model: the planted effects of levels of factors on traits, which ship with its weights.

The logit of the favourable answer about a person is the sum of a trait's base and of the effects of that person's
levels, plus `POSITION` for the option shown first, plus `LETTER` for the one labelled (a). How effects are drawn, and
how answers to all other questions follow from them, is in `reference/truth.py`, beside the training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import ModelError
from facevalue.parquet import read_table
from facevalue.stimuli.drawings.portraits import CONTROL

Array = npt.NDArray[np.float64]
POSITION, LETTER = 0.25, 0.10
GROUPS = ("gender", "age", "skin_tone", "build")
"""Factors in which people of portraits differ."""


@dataclass(frozen=True)
class PlantedEffects:
    """A table of planted effects.

    Attributes
    ----------
    traits:
        What effects are on: of `TRAITS` of `reference/truth.py`, in their order.
    effects:
        By factor and level, on each trait; what is common to everybody is that of ("base", "").
    """

    traits: tuple[str, ...]
    effects: Mapping[tuple[str, str], Array]

    @classmethod
    def read(cls, path: Path) -> "PlantedEffects":
        """Read the table that ships with a model's weights.

        Raises
        ------
        ModelError
            The file is missing, or no such table.
        """
        try:
            table = read_table(path).filter(pl.col("factor") != "persona")
            traits = tuple(table.filter(factor="base")["trait"])
            levels = table.group_by("factor", "level", maintain_order=True).agg("trait", "effect")
            if traits and all(tuple(of_level) == traits for of_level in levels["trait"]):
                rows = levels.select("factor", "level", "effect").iter_rows()
                return cls(traits, {(factor, level): np.array(effect) for factor, level, effect in rows})
        except (OSError, LookupError, ValueError, pl.exceptions.PolarsError):
            pass
        raise ModelError(f"{path} is not a table of planted effects of this version of FaceValue.")

    def standing(self, portraits: pl.DataFrame, traits: Sequence[str]) -> Array:
        """Logit of the favourable answer about whoever each portrait shows; shape (portraits, traits)."""
        columns = [self.traits.index(trait) for trait in traits]
        out = np.tile(self.effects["base", ""][columns], (portraits.height, 1))
        for factor in GROUPS:
            out += np.stack([self.effects[factor, level][columns] for level in portraits[factor]])
        for row, cue in enumerate(portraits.select("attribute", "variation").iter_rows()):
            if cue[0] not in (None, CONTROL[0]):
                out[row] += self.effects[cue][columns]
        return out
