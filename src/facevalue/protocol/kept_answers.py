"""Answers of one condition, kept to be analysed again and again: whole, of some trials, or without what was sampled."""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.design import Design
from facevalue.measures.cells import UNIT_KEYS, unit_of
from facevalue.measures.cluster_bootstrap import values_only
from facevalue.measures.definitions import measures_wanted
from facevalue.measures.group_shares import people_on_images
from facevalue.measures.paired_changes import JACKKNIFE_GROUPS, PAIRS, Deletion, deal_units, reduce_estimates
from facevalue.protocol.study import Study

# What was sampled in a study's answers: one unit, or those on either side of a pair, by name.


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

    def study_units(self, study: Study) -> "StudyUnits":
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
    """Partition of the sampled units into groups that are left out in turn.

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
        """Mask of the answers that remain without a group, by its place in `layers`."""
        first, second = (self._ranks[answers[name].to_numpy()] for name in COLUMNS)
        if self.layers[left_out][0] != PAIRS:
            return (self._unit[first] != left_out) & (self._unit[second] != left_out)
        key = np.minimum(first, second) * self._size + np.maximum(first, second)
        return self._pair_group[np.searchsorted(self._pairs, key)] != left_out


def _parts(pairs: Codes, size: int) -> Codes:
    """Number the units by the parts that are dealt as a whole."""
    links = scipy.sparse.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(size, size))
    component = scipy.sparse.csgraph.connected_components(links, directed=False)[1].astype(np.int64)
    alone = pairs[:, 0] == pairs[:, 1]
    joined = np.unique(pairs[~alone])
    count = np.unique(component[joined]).size
    only_beside = not np.isin(pairs[alone, 0], joined).any()
    return component if count >= JACKKNIFE_GROUPS or (only_beside and 2 * count == joined.size) else np.arange(size)


def _joined_if_single(belongs: Codes) -> list[int]:
    """Return the layers; the only member of a layer is put into the largest one, in place."""
    kinds, sizes = np.unique(belongs[belongs > 0], return_counts=True)
    for kind, size in zip(kinds.tolist(), sizes.tolist(), strict=True):
        if size == 1:
            belongs[belongs == kind] = kinds[sizes.argmax()]
    return [int(kind) for kind in np.unique(belongs[belongs > 0])]


SEED = 20260
"""Of the groups that units are dealt into: the same answers always give the same estimates."""
MOST_ROWS = 3_000_000
"""Answers of one model that are kept in memory; what is more waits on the disk."""
MANY_ROWS = 12_000_000
"""Answers of one model from which fewer groups are left out, as each takes another pass over all of them."""
FEWER_GROUPS = 10


class KeptAnswers:
    """One model's answers in one condition, as answers of a plain study.

    Parameters
    ----------
    study, model:
        What they answer, and who.
    units:
        Names what was sampled.
    folder:
        Where answers wait that are too many for the memory.
    """

    def __init__(self, study: Study, model: str, units: StudyUnits, folder: Path) -> None:
        self.study, self.model = study, model
        self.units, self._folder = units, folder
        self._parts: list[pl.DataFrame | Path] = []
        self.rows = 0
        self.unseen = False
        """True if nothing shows that the model sees the pictures, as far as that was looked at."""
        self._trials: list[npt.NDArray[np.uint64]] = []
        self._pairs: list[pl.DataFrame] = []
        self._only: npt.NDArray[np.uint64] | None = None
        self._shared: npt.NDArray[np.bool_] | None = None

    def add(self, chunk: pl.DataFrame, *, to_disk: bool = False) -> None:
        """Keep a chunk."""
        coded = self.units.add_to(chunk)
        self.rows += coded.height
        self._trials.append(coded["trial"].unique().to_numpy())
        self._pairs.append(coded.select(pl.col("block").cast(pl.String), *COLUMNS).unique())
        if not to_disk:
            self._parts.append(coded)
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{len(self._parts)}.arrow"
        coded.write_ipc(path)
        self._parts.append(path)

    def raw(self) -> Iterator[pl.DataFrame]:
        """All chunks that count, with their units."""
        for stored in self._parts:
            chunk = stored if isinstance(stored, pl.DataFrame) else pl.read_ipc(stored.read_bytes())
            if self._only is not None:
                chunk = chunk.filter(np.isin(chunk["trial"].to_numpy(), self._only))
            if self._shared is not None:
                first, second = (self._shared[chunk[name].to_numpy()] for name in COLUMNS)
                chunk = chunk.filter(first & second)
            if chunk.height:
                yield chunk

    def of_trials(self, only: npt.NDArray[np.uint64]) -> "KeptAnswers":
        """The same answers, those of some trials alone."""
        out = copy(self)
        out._only = only
        return out

    def of_units(self, shared: npt.NDArray[np.bool_]) -> "KeptAnswers":
        """The same answers, those about some units alone, by code."""
        out = copy(self)
        out._shared = shared
        return out

    def trials(self) -> npt.NDArray[np.uint64]:
        """Trials that were answered, ascending."""
        return np.unique(np.concatenate(self._trials)) if self._trials else np.zeros(0, dtype=np.uint64)

    def pairs(self) -> Codes:
        """Distinct pairs of units that its answers are about, shape (pairs, 2)."""
        tables = [np.zeros((0, 2), dtype=np.int64), *(table.select(COLUMNS).to_numpy() for table in self._pairs)]
        out = np.unique(np.concatenate(tables), axis=0)
        return out if self._shared is None else out[self._shared[out].all(axis=1)]

    def units_by_block(self) -> dict[str, Codes]:
        """Units that the answers to each block are about, by code."""
        pairs = pl.concat(self._pairs).unique()
        return {str(block): np.unique(table.select(COLUMNS).to_numpy()) for (block,), table in pairs.group_by("block")}

    def chunks(self) -> Iterator[pl.DataFrame]:
        """All chunks that count, as the study's `analyse` takes them."""
        for chunk in self.raw():
            yield chunk.drop(COLUMNS)

    def estimates(self, measures: Iterable[str] | None = None) -> pl.DataFrame:
        """Estimates of the study; of these measures at least, where they are named."""
        with measures_wanted(measures):
            return self.study.analyse({self.model: self.chunks()})

    def without(self, groups: Groups, measures: Iterable[str] | None = None) -> Iterator[pl.DataFrame]:
        """Values of the estimates (`reduced`) without each group of what was sampled; as `estimates`."""
        for group in range(len(groups.layers)):
            chunks = (chunk.filter(groups.kept(chunk, group)).drop(COLUMNS) for chunk in self.raw())
            with values_only(), measures_wanted(measures):
                taken = self.study.analyse({self.model: (rest for rest in chunks if rest.height)})
            yield reduce_estimates(taken)


def grouped(conditions: Sequence[KeptAnswers], *, paired: bool) -> Groups:
    """Partition the units sampled for some conditions into groups; `paired` where all are about the same units."""
    rows = sum(answers.rows for answers in conditions)
    pairs = [answers.pairs() for answers in conditions]
    ranks = conditions[0].units.names.ranks()
    many = JACKKNIFE_GROUPS if rows <= MANY_ROWS else FEWER_GROUPS
    return Groups([np.concatenate(pairs)] if paired else pairs, many, SEED, ranks)


def left_out(first: Iterable[pl.DataFrame], second: Iterable[pl.DataFrame], groups: Groups) -> Iterator[Deletion]:
    """Both conditions without each group, from the estimates of either."""
    for (layer, _), before, after in zip(groups.layers, first, second, strict=True):
        yield Deletion(layer, before, after)
