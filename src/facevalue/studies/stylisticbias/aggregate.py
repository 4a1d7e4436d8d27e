"""The faces of a manifest, and their answers gathered into arrays."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.protocol import aggregate
from facevalue.protocol.aggregate import Aggregate, Axes, level_codes
from facevalue.protocol.sets import Sets
from facevalue.stimuli.drawn import CONTROL, FULL_BODY
from facevalue.stimuli.stylisticbias_folders import known_attribute
from facevalue.studies.stylisticbias.measures import UNIT


@dataclass(frozen=True)
class Faces(Sets):
    """The manifest as arrays: base faces, their variations, and controls."""

    unit: str = UNIT
    cue: tuple[str, ...] = ("attribute", "variation")

    @cached_property
    def control(self) -> npt.NDArray[np.int64]:
        """Row of each identity's full-body picture in plain clothes; -1 where there is none."""
        rows = np.flatnonzero((self.manifest["attribute"] == CONTROL[0]).fill_null(value=False).to_numpy())
        out = np.full(len(self.identities), -1, dtype=np.int64)
        out[self.identity[rows]] = rows
        return out

    @cached_property
    def varied(self) -> npt.NDArray[np.int64]:
        """Rows of the variations: neither base nor control."""
        return np.flatnonzero((self.manifest["attribute"] != CONTROL[0]).fill_null(value=False).to_numpy())

    @cached_property
    def base_of(self) -> npt.NDArray[np.int64]:
        """Row of the picture that each variation is compared with; -1 where there is none.

        The identity's base; for what is shown full-body (`FULL_BODY`) its control, if it has one.
        """
        who, attribute = self.identity[self.varied], self.manifest["attribute"][self.varied]
        full = {name: known_attribute(name) in FULL_BODY for name in attribute.unique()}
        controlled = attribute.replace_strict(full, return_dtype=pl.Boolean).to_numpy() & (self.control[who] >= 0)
        return np.where(controlled, self.control[who], self.base[who])


def collect(
    chunks: Iterable[pl.DataFrame], faces: Faces, scenarios: list[str], orderings: list[str], repeats: int
) -> Aggregate:
    """Scatter answers into arrays, chunk by chunk.

    Parameters
    ----------
    chunks:
        Answer frames with image, scenario, ordering, repeat, weight, mass and na; one row per trial and repeat.
    faces:
        The manifest.
    scenarios, orderings:
        Levels in the order of the arrays.
    repeats:
        Seeds per prompt.
    """

    def items(chunk: pl.DataFrame) -> npt.NDArray[np.int64]:
        return level_codes(chunk["scenario"], scenarios)

    axes = Axes(faces.manifest["image"].to_list(), items, orderings, repeats, len(scenarios))
    return aggregate.collect(chunks, axes)["weight"]
