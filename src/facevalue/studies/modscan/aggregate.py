"""Aggregation of answers into counts by pair or scene, instance and group, from trial numbers alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from facevalue.design import Block, Design, Factor
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.group_bias import Choices
from facevalue.studies.modscan.design import LEFT, ORDER
from facevalue.studies.modscan.parsing import WEIGHTS
from facevalue.studies.modscan.pictures import PEOPLE
from facevalue.studies.modscan.settings import VISION
from facevalue.studies.modscan.tables import GROUPS, instances

Codes = npt.NDArray[np.int64]
NOT_ASKED = -2


@dataclass(frozen=True)
class Part:
    """One block as its measures need it: which answers mean which group, and what belongs together.

    `place[t]` are the groups of the options of trial t in the order shown, shape (trials, options); `unit` (pair or
    scene) and `instance` are those of each trial. `people` are the persons on either side of each unit; one twice where
    nobody is beside. `rivals` is whether only two groups at a time could be chosen.
    """

    modality: str
    attribute: str
    kind: str
    trials: slice
    instances: tuple[str, ...]
    groups: tuple[str, ...]
    place: Codes
    unit: Codes
    instance: Codes
    people: tuple[Codes, Codes]

    @property
    def units(self) -> int:
        """How many pairs or scenes."""
        return self.people[0].size

    @property
    def rivals(self) -> bool:
        """Whether answers choose between two of several groups."""
        return self.place.shape[1] < len(self.groups)

    @property
    def even(self) -> float:
        """Share of each group without bias."""
        return 1 / self.place.shape[1]

    @property
    def labels(self) -> dict[str, str | None]:
        """As estimates name it."""
        return {"modality": self.modality, "attribute": self.attribute, "scenario_kind": self.kind}

    @cached_property
    def cells(self) -> Codes:
        """Unit and instance of each trial as one number."""
        return self.unit * len(self.instances) + self.instance

    @cached_property
    def pairs(self) -> npt.NDArray[np.bool_]:
        """Which two groups stand beside each other."""
        out = np.zeros((len(self.groups), len(self.groups)), dtype=np.bool_)
        out[self.place[:, 0], self.place[:, 1]] = out[self.place[:, 1], self.place[:, 0]] = True
        return out

    @cached_property
    def _beside(self) -> tuple[Codes, Codes]:
        """Unit, instance, group and the one beside it as one number, for either option."""
        groups, cells = len(self.groups), self.cells * len(self.groups) ** 2
        one, two = self.place[:, 0], self.place[:, 1]
        return cells + one * groups + two, cells + two * groups + one

    def beside(self, values: Array) -> Array:
        """Sums of values of two options by unit, instance, group and the group beside it."""
        shape = self.units, len(self.instances), len(self.groups), len(self.groups)
        one, two = (np.bincount(at, values[:, n], int(np.prod(shape))) for n, at in enumerate(self._beside))
        return (one + two).astype(np.float64).reshape(shape)

    @cached_property
    def _summing(self) -> sparse.csr_matrix:
        """Adds up the options of trials by unit, instance and group."""
        groups = len(self.groups)
        at = (self.cells[:, None] * groups + self.place).ravel()
        shape = self.units * len(self.instances) * groups, at.size
        return sparse.csr_matrix((np.ones(at.size), (at, np.arange(at.size))), shape=shape)

    def summed(self, values: Array) -> Array:
        """Sums of values of options, shape (trials, options), by unit, instance and group."""
        return np.asarray(self._summing @ values.ravel()).reshape(self.units, len(self.instances), len(self.groups))

    def by_instance(self, values: Array) -> Array:
        """Sums of values of trials by unit and instance."""
        size = self.units * len(self.instances)
        sums = np.bincount(self.cells, values, size).astype(np.float64)
        return sums.reshape(self.units, len(self.instances))


def parts(design: Design) -> list[Part]:
    """What each block of a design is about."""
    out = []
    for block, start in zip(design.blocks, design.offsets, strict=False):
        facts = block.constants
        make = _vision if facts["modality"] == VISION else _language
        names, groups, place, unit, instance, people = make(block)
        trials = slice(int(start), int(start) + block.size)
        about = facts["modality"], facts["attribute"], facts["scenario_kind"]
        out.append(Part(*about, trials, names, groups, place, unit, instance, people))
    return out


_Found = tuple[tuple[str, ...], tuple[str, ...], Codes, Codes, Codes, tuple[Codes, Codes]]


def _vision(block: Block) -> _Found:
    """Of a pair, the groups on the left and on the right, on sides drawn for it or on both in turn."""
    axis, *sides = block.stimulus
    instance_axis = block.prompt[0]
    assert isinstance(axis, Factor)
    assert isinstance(instance_axis, Factor)
    faces = pl.DataFrame({name: axis.attributes[name] for name in ("group_1", "group_2", *PEOPLE)})
    left = sides[0].columns()[0].values if sides else axis.attributes[LEFT]
    attribute = block.constants["attribute"]
    present = set(faces["group_1"]) | set(faces["group_2"])
    groups_present = [name for name in GROUPS.get(attribute, ()) if name in present]
    groups = (*groups_present, *sorted(present.difference(groups_present)))
    codes = np.array([faces[f"group_{n}"].replace_strict(groups, range(len(groups))).to_list() for n in (1, 2)]).T
    each, count = len(left) if sides else 1, len(instance_axis)
    codes = np.repeat(codes, each, axis=0)
    second = np.array([side == "2" for side in left] * (len(axis) if sides else 1))
    turned = np.where(second[:, None], codes[:, ::-1], codes)
    unit, instance = np.repeat(np.arange(len(axis)), each * count), np.tile(np.arange(count), len(axis) * each)
    names = np.unique(np.array([faces[name] for name in PEOPLE]), return_inverse=True)[1].reshape(2, -1)
    people = names[0].astype(np.int64), names[1].astype(np.int64)
    return instance_axis.levels, groups, np.repeat(turned, count, axis=0), unit, instance, people


def _language(block: Block) -> _Found:
    """Of a scene, the groups in the order in which they were named."""
    axis = block.stimulus[0]
    assert isinstance(axis, Factor)
    attribute = block.constants["attribute"]
    groups = GROUPS[attribute]
    names = tuple(one.name for one in instances() if one.name in set(axis.attributes["instance"]))
    orders = (
        block.prompt[0].columns()[0].values * len(axis) if block.prompt else axis.attributes[f"{ORDER}_{attribute}"]
    )
    group_orders = {order: [groups.index(name) for name in str(order).split(",")] for order in set(orders)}
    place = np.array([group_orders[order] for order in orders], dtype=np.int64)
    own = np.array([names.index(str(name)) for name in axis.attributes["instance"]], dtype=np.int64)
    prompts = block.prompts
    person = np.unique(np.array(axis.attributes["identity"]), return_inverse=True)[1].astype(np.int64)
    unit = np.repeat(np.arange(len(axis)), prompts)
    return names, groups, place, unit, np.repeat(own, prompts), (person, person)


class Answers:
    """One model's answers: weights, valid answers and replies of each trial, and what was chosen first."""

    def __init__(self, parts: Sequence[Part], chunks: Iterator[pl.DataFrame]) -> None:
        size = parts[-1].trials.stop
        options = max(part.place.shape[1] for part in parts)
        self.weights = np.zeros((size, options))
        self.valid, self.asked = np.zeros(size), np.zeros(size)
        self.first = np.full(size, NOT_ASKED, dtype=np.int8)
        self.reasons: dict[str, Array] = {}
        for chunk in chunks:
            self._add(chunk, options)

    def _add(self, chunk: pl.DataFrame, options: int) -> None:
        trial = chunk["trial"].to_numpy().astype(np.int64)
        mass = chunk["mass"].fill_null(0.0).clip(0.0, 1.0).to_numpy()
        weights = chunk.select(pl.col(WEIGHTS[:options]).cast(pl.Float64).fill_null(0.0)).to_numpy()
        low = int(trial.min(initial=0))
        span = slice(low, int(trial.max(initial=0)) + 1)
        at, size = trial - low, span.stop - low
        self.asked[span] += np.bincount(at, minlength=size)
        self.valid[span] += np.bincount(at, mass, size)
        for option in range(options):
            self.weights[span, option] += np.bincount(at, weights[:, option] * mass, size)
        best = np.where(mass > 0, weights.argmax(axis=1), -1).astype(np.int8)
        earliest = (chunk["repeat"].to_numpy() == 0) if "repeat" in chunk.columns else np.ones(trial.size, dtype=bool)
        self.first[trial[earliest]] = best[earliest]
        lost = chunk.filter(pl.col("reason").is_not_null()).select("trial", "reason")
        for (reason,), own in lost.group_by("reason"):
            rows = own["trial"].to_numpy().astype(np.int64)
            counts = self.reasons.setdefault(str(reason), np.zeros(self.asked.size))
            counts[span] += np.bincount(rows - low, minlength=size)

    def choices(self, part: Part, only: npt.NDArray[np.bool_] | None = None) -> Choices:
        """Choices of a block, of some trials or all."""
        weights, valid, asked = self.weights[part.trials], self.valid[part.trials], self.asked[part.trials]
        if only is not None:
            weights, valid, asked = weights * only[:, None], valid * only, asked * only
        weights = weights[:, : part.place.shape[1]]
        shown, could = (part.summed(np.repeat(x[:, None], weights.shape[1], axis=1)) for x in (valid, asked))
        by_instance = part.by_instance(valid), part.by_instance(asked)
        return Choices(part.summed(weights), shown, *by_instance, part.even, part.people, could)

    def groups_chosen(self, part: Part) -> npt.NDArray[np.int8]:
        """Group that the first reply to each trial of a block chooses; -1 for none, -2 where it was not asked."""
        option = self.first[part.trials]
        group = np.take_along_axis(part.place, np.maximum(option, 0)[:, None].astype(np.int64), axis=1)[:, 0]
        return np.where(option >= 0, group, option).astype(np.int8)
