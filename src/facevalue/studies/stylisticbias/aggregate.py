"""Answers gathered into arrays: stimuli x scenarios x prompts, once per model."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers import NA, NA_DTYPE
from facevalue.measures.clusters import clusters
from facevalue.measures.slicing import Slicing
from facevalue.stimuli.drawn import CONTROL, FULL_BODY
from facevalue.stimuli.stylisticbias_folders import known_attribute
from facevalue.studies.stylisticbias.measures import UNIT

RESERVED = ("image", "path", "identity", "set", "attribute", "variation", "seed")
"""Manifest columns that are no identity factor."""
NOT_ASKED = 255
_REASONS = {reason: code + 1 for code, reason in enumerate(NA)}


@dataclass(frozen=True)
class Faces:
    """The manifest as arrays.

    Attributes
    ----------
    manifest:
        One row per image, base faces (null `attribute`) included.
    """

    manifest: pl.DataFrame

    @cached_property
    def _clusters(self) -> tuple[npt.NDArray[np.int64], list[str]]:
        return clusters(self.manifest, UNIT)

    @property
    def identities(self) -> list[str]:
        """Identities in order of first appearance: the clusters."""
        return self._clusters[1]

    @property
    def identity(self) -> npt.NDArray[np.int64]:
        """Cluster of each image."""
        return self._clusters[0]

    @cached_property
    def base(self) -> npt.NDArray[np.int64]:
        """Row of each identity's base image."""
        rows = np.flatnonzero(self.manifest["attribute"].is_null().to_numpy())
        out = np.full(len(self.identities), -1, dtype=np.int64)
        out[self.identity[rows]] = rows
        return out

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

    @cached_property
    def dimensions(self) -> list[str]:
        """Identity factors with at least two levels."""
        names = [n for n in self.manifest.columns if n not in RESERVED]
        return [n for n in names if self.manifest[n].drop_nulls().n_unique() > 1]

    def slicing(self, rows: npt.NDArray[np.int64], *columns: str) -> Slicing:
        """Partition images by manifest columns, in order of first appearance; null is in no cell."""
        part = self.manifest[rows].select(columns)
        cells = part.unique(maintain_order=True).drop_nulls()
        places = {row: i for i, row in enumerate(cells.iter_rows())}
        codes = np.array([places.get(row, -1) for row in part.iter_rows()], dtype=np.int64)
        return Slicing(codes, {name: cells[name].to_list() for name in columns})

    def level(self, dimension: str) -> list[str | None]:
        """Level of each identity; None where its pictures have none."""
        known = self.manifest.select("identity", dimension).drop_nulls().unique("identity", keep="first")
        levels = dict(known.iter_rows())
        return [levels.get(name) for name in self.identities]

    def groups(self, rows: npt.NDArray[np.int64], dimension: str) -> Slicing:
        """Partition images by an identity factor, labelled by `dimension` and `group`."""
        part = self.slicing(rows, dimension)
        levels = part.labels[dimension]
        return Slicing(part.codes, {"dimension": [dimension] * len(levels), "group": levels})


@dataclass(frozen=True)
class Scores:
    """One model's answers.

    Attributes
    ----------
    weights:
        Shape (images, scenarios, prompts), in [0, 1]: weight of the favourable pole among valid answers; NaN where
        there are none. Prompts are orderings x repeats, orderings outermost.
    mass:
        Same shape: expected number of valid answers, 0 or 1 for a sampled reply, the probability of a valid answer
        where probabilities were read; NaN where nothing was asked.
    reasons:
        Same shape: 0 valid, `NOT_ASKED`, else why there is no answer (see `reason_code`).
    """

    weights: npt.NDArray[np.float32]
    mass: npt.NDArray[np.float32]
    reasons: npt.NDArray[np.uint8]

    @cached_property
    def phi(self) -> npt.NDArray[np.float64]:
        """Preference score phi_i(x), shape (images, scenarios); NaN without any valid answer.

        Section 4.4: the mean over valid answers. Probabilities count as the valid answers to be expected of them, so
        that exact and sampled runs of a model agree.
        """
        seen = np.isfinite(self.weights)
        mass = np.where(seen, self.mass, 0)
        total = np.where(seen, self.weights * mass, 0).sum(axis=2, dtype=np.float64)
        n = mass.sum(axis=2, dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(n > 0, total / n, np.nan)

    @cached_property
    def totals(self) -> tuple[npt.NDArray[np.float64], ...]:
        """Weight of the favourable pole, mass of valid answers and number asked, each of shape (images, scenarios)."""
        asked = self.reasons != NOT_ASKED
        valid = np.where(asked, self.mass, 0).astype(np.float64)
        weight = np.where(np.isfinite(self.weights), self.weights * valid, 0.0)
        return weight.sum(axis=2), valid.sum(axis=2), asked.sum(axis=2).astype(np.float64)

    @cached_property
    def na_rate(self) -> npt.NDArray[np.float64]:
        """Expected share of an image-scenario pair's replies without a valid answer; NaN if not asked."""
        asked = self.reasons != NOT_ASKED
        valid = np.where(asked, self.mass, 0).sum(axis=2, dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(asked.any(axis=2), 1 - valid / asked.sum(axis=2), np.nan)

    @cached_property
    def refusal_rate(self) -> npt.NDArray[np.float64]:
        """Share of an image-scenario pair's replies that refuse; NaN if not asked, or if probabilities were read.

        Probabilities of the options don't say what the rest of the replies would be.
        """
        asked = self.reasons != NOT_ASKED
        refused = (self.reasons == reason_code(NA.REFUSED)).sum(axis=2)
        partial = (asked & (self.mass > 0) & (self.mass < 1)).any()
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(asked.any(axis=2) & ~partial, refused / asked.sum(axis=2), np.nan)


def reason_code(reason: NA) -> int:
    """Code of a reason in `Scores.reasons`."""
    return _REASONS[reason]


def collect(
    chunks: Iterable[pl.DataFrame], faces: Faces, scenarios: list[str], orderings: list[str], repeats: int
) -> Scores:
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
    shape = (faces.manifest.height, len(scenarios), len(orderings) * repeats)
    weights = np.full(shape, np.nan, dtype=np.float32)
    mass = np.full(shape, np.nan, dtype=np.float32)
    reasons = np.full(shape, NOT_ASKED, dtype=np.uint8)
    for chunk in chunks:
        image = _codes(chunk["image"], faces.manifest["image"].to_list())
        scenario = _codes(chunk["scenario"], scenarios)
        prompt = _codes(chunk["ordering"], orderings) * repeats + chunk["repeat"].to_numpy().astype(np.int64)
        weights[image, scenario, prompt] = chunk["weight"].to_numpy()
        mass[image, scenario, prompt] = chunk["mass"].to_numpy()
        why = chunk["na"].cast(NA_DTYPE).to_physical().cast(pl.UInt8) + 1
        reasons[image, scenario, prompt] = why.fill_null(0).to_numpy()
    return Scores(weights, mass, reasons)


def _codes(column: pl.Series, levels: list[str]) -> npt.NDArray[np.int64]:
    """Place of each value in `levels`; the categories are translated once, the rows by lookup."""
    places = {level: i for i, level in enumerate(levels)}
    assert isinstance(column.dtype, pl.Enum)
    categories = column.dtype.categories.to_list()
    table = np.array([places.get(name, -1) for name in categories], dtype=np.int64)
    return table[column.to_physical().to_numpy()]
