"""What was sampled in a study's answers: one unit, or those on either side of a pair, by name."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.design import Design
from facevalue.measures.cells import UNIT_KEYS, unit_of
from facevalue.measures.group_shares import people_on_images
from facevalue.measures.paired_changes import JACKKNIFE_GROUPS, PAIRS, deal_units
from facevalue.protocol.study import Study

Codes = npt.NDArray[np.int64]
COLUMNS = ("(unit 1)", "(unit 2)")
"""Columns of answers that hold the codes of what was sampled; both the same where it is one."""


class UnitNames:
    """Numbers what was sampled by name, alike in all studies that it is given.

    What a study says was sampled (`Changes.sampled`) goes first; then the columns of its measures' unit, where the
    answers have them; then the pictures, those of one identity or counterfactual set being one person; else what is
    shown, with and without a picture alike.
    """

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def of(self, study: Study) -> "StudyUnits":
        """Read them from answers of a study."""
        return StudyUnits(study, self)

    def coded(self, units: pl.Series) -> pl.Series:
        """Names as codes."""
        names = units.unique(maintain_order=True)
        codes = [self._codes.setdefault(name, len(self._codes)) for name in names.to_list()]
        return units.replace_strict(names, codes, return_dtype=pl.Int64)

    def ranks(self) -> Codes:
        """Place of each code in the order of the names, which is not that in which answers came."""
        out = np.empty(len(self._codes), dtype=np.int64)
        out[[self._codes[name] for name in sorted(self._codes)]] = np.arange(out.size)
        return out


class StudyUnits:
    """Names of what was sampled in answers of one study."""

    def __init__(self, study: Study, names: UnitNames) -> None:
        self._study, self.names = study, names
        self._shift = _twins(study.design)
        self._people = _named_people(study.manifest)

    def add_to(self, answers: pl.DataFrame) -> pl.DataFrame:
        """The answers with the columns `COLUMNS`."""
        sides = self._declared(answers)
        rest = sides[0].is_null()
        if rest.any():
            pictured = self._shown(answers)
            sides = [side.zip_with(~rest, picture) for side, picture in zip(sides, pictured, strict=True)]
        return answers.with_columns(
            self.names.coded(side).alias(name) for side, name in zip(sides, COLUMNS, strict=True)
        )

    def _declared(self, answers: pl.DataFrame) -> list[pl.Series]:
        declared = self._study.changes.sampled
        if not declared:
            column = UNIT_KEYS.get(unit_of(self._study.estimates.measures), ("image",))[0]
            has_column = column in answers.columns and not column.startswith("image")  # pictures may be of one person
            declared = (pl.col(column) if has_column else pl.lit(None, pl.String),)
        lacking = {name for expression in declared for name in expression.meta.root_names()} - set(answers.columns)
        frame = answers.with_columns(pl.lit(None, pl.String).alias(name) for name in sorted(lacking))
        sides = frame.with_columns(
            e.cast(pl.String).alias(name) for e, name in zip((declared[0], declared[-1]), COLUMNS, strict=True)
        )
        return [sides[name] for name in COLUMNS]

    def _shown(self, answers: pl.DataFrame) -> list[pl.Series]:
        """The people in the pictures, or else what is shown, by number."""
        numbers = answers["trial"].to_numpy().astype(np.int64)
        block = np.searchsorted(self._study.design.offsets, numbers, side="right") - 1
        stimulus = self._study.design.stimulus_numbers(numbers) - self._shift[block]
        number = pl.Series("stimulus " + pl.Series(stimulus).cast(pl.String))
        sides = []
        for columns in (("image", "image_1"), ("image", "image_2")):
            pictures = [pl.col(name).cast(pl.String) for name in columns if name in answers.columns]
            units = answers.select(pl.coalesce(*pictures, pl.lit(None, pl.String)).alias("unit"))["unit"]
            sides.append(units.replace(self._people).fill_null(number))
        return sides


def _named_people(manifest: pl.DataFrame) -> dict[str, str]:
    """From images to the first image of whoever is on them."""
    if "image" not in manifest.columns:
        return {}
    frame = manifest.select(pl.col("image").cast(pl.String), person=pl.Series(people_on_images(manifest)))
    first = frame.select(pl.col("image").min().over("person"))["image"]
    return dict(zip(frame["image"].to_list(), first.to_list(), strict=True))


def _twins(design: Design) -> Codes:
    """By how much each block's stimulus numbers lie behind those of the first block that shows the same."""
    first: dict[tuple[object, ...], int] = {}
    shift = np.zeros(len(design.blocks), dtype=np.int64)
    for at, block in enumerate(design.blocks):
        fixed = sorted((name, value) for name, value in block.constants.items() if name != "shown")
        key = (*fixed, block.stimuli, *((id(axis)) for axis in block.stimulus))
        twin = first.setdefault(key, at)
        shift[at] = design.stimulus_offsets[at] - design.stimulus_offsets[twin]
    return shift


class Groups:
    """What was sampled, dealt into groups that are left out in turn.

    Parameters
    ----------
    conditions:
        Of each condition, the distinct pairs of codes that its answers have, shape (pairs, 2).
    groups:
        At most so many of each layer.
    ranks:
        Place of each code in the order in which units are dealt (`UnitNames.ranks`).

    Notes
    -----
    Units that hang together by pairs are one where enough such parts remain, or where they are never apart: then no
    pair has units of two groups. Else units are dealt one by one, and pairs besides (`paired_changes.Changes`).
    """

    def __init__(self, conditions: Sequence[Codes], groups: int, seed: int, ranks: Codes) -> None:
        self._ranks = ranks
        conditions = [ranks[pairs] for pairs in conditions]
        distinct = np.unique(np.concatenate(conditions), axis=0)
        size = int(distinct.max(initial=-1)) + 1
        used = np.zeros((len(conditions), size), dtype=np.bool_)
        for at, pairs in enumerate(conditions):
            used[at, pairs.ravel()] = True
        component = _parts(distinct, size)
        self.layers: list[tuple[str, int]] = []
        """Layers and groups within them, one after the other."""
        self._unit = np.full(size, -1)
        kinds = used.T @ (1 << np.arange(len(conditions)))  # which conditions have it
        belongs = np.zeros(int(component.max(initial=-1)) + 1, dtype=np.int64)
        np.bitwise_or.at(belongs, component, kinds)
        for kind in _joined_if_single(belongs):
            members = np.flatnonzero(belongs == kind)
            group = deal_units(members.size, groups, seed)
            start = len(self.layers)
            place = np.full(belongs.size, -1)
            place[members] = start + group
            self._unit = np.where(place[component] >= 0, place[component], self._unit)
            self.layers += [(f"units {kind}", g) for g in range(int(group.max()) + 1)]
        apart = distinct[component[distinct[:, 0]] != component[distinct[:, 1]]]
        self._size, self._pairs = size, np.zeros(0, dtype=np.int64)
        self._pair_group = self._pairs
        if apart.size:
            sorted_pairs = np.unique(np.sort(distinct, axis=1), axis=0)
            self._pairs = sorted_pairs[:, 0] * size + sorted_pairs[:, 1]
            self._pair_group = len(self.layers) + deal_units(self._pairs.size, groups, seed + 1)
            self.layers += [(PAIRS, g) for g in range(int(self._pair_group.max()) - len(self.layers) + 1)]

    def kept(self, answers: pl.DataFrame, left_out: int) -> npt.NDArray[np.bool_]:
        """Which answers remain without a group, by its place in `layers`."""
        first, second = (self._ranks[answers[name].to_numpy()] for name in COLUMNS)
        if self.layers[left_out][0] != PAIRS:
            return (self._unit[first] != left_out) & (self._unit[second] != left_out)
        key = np.minimum(first, second) * self._size + np.maximum(first, second)
        return self._pair_group[np.searchsorted(self._pairs, key)] != left_out


def _parts(pairs: Codes, size: int) -> Codes:
    """What is dealt together: a number for each unit."""
    links = scipy.sparse.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(size, size))
    component = scipy.sparse.csgraph.connected_components(links, directed=False)[1].astype(np.int64)
    alone = pairs[:, 0] == pairs[:, 1]
    joined = np.unique(pairs[~alone])
    count = np.unique(component[joined]).size
    only_beside = not np.isin(pairs[alone, 0], joined).any()
    return component if count >= JACKKNIFE_GROUPS or (only_beside and 2 * count == joined.size) else np.arange(size)


def _joined_if_single(belongs: Codes) -> list[int]:
    """Which layers there are; what would be a layer by itself is put into the largest, in place."""
    kinds, sizes = np.unique(belongs[belongs > 0], return_counts=True)
    for kind, size in zip(kinds.tolist(), sizes.tolist(), strict=True):
        if size == 1:
            belongs[belongs == kind] = kinds[sizes.argmax()]
    return [int(kind) for kind in np.unique(belongs[belongs > 0])]
