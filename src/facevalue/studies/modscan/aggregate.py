"""Aggregation of answers: what each block's trials are about, and sums of their answers by pair or scene."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Design
from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.estimators import PEOPLE_KEYS, Codes, Sums, TrialSums
from facevalue.protocol.reproduction import read_columns
from facevalue.studies.modscan.parsing import WEIGHTS, options
from facevalue.studies.modscan.settings import GROUPS, VISION, instances
from facevalue.studies.modscan.statistics import GroupChoices

# Real shares of groups, as the user gives them.


COLUMNS = ("instance", "group", "share", "source")
_SLACK = 0.011  # shares are printed in whole percent


def real_shares(file: str) -> dict[tuple[str | None, str | None], tuple[float, str]]:
    """Share of each instance and group, and where it is from."""
    rows = read_real(file).iter_rows()
    return {(name, group): (share, f"real share: {source}") for name, group, share, source in rows}


def read_real(file: str, groups: Collection[str] = ()) -> pl.DataFrame:
    """Read a CSV file of real shares: `instance`, `group`, `share` (of 1), `source`; all groups by default."""
    path = Path(file)
    frame = read_columns(path, COLUMNS).with_columns(pl.all().str.strip_chars())
    names = [i.name for i in instances()]
    for name in frame["instance"].unique(maintain_order=True):
        if name not in names:
            raise UnknownNameError(f"instance in {path.name}", str(name), names)
    for name in frame["group"].unique(maintain_order=True) if groups else ():
        if name not in groups:
            raise UnknownNameError(f"group in {path.name}", str(name), groups)
    number = frame["share"].cast(pl.Float64, strict=False)
    wrong = frame.filter(number.is_null() | ~number.is_between(0, 1))
    if wrong.height:
        name, group, share, _ = wrong.row(0)
        raise DataError(f"{path.name}: the share of {group} among {name} is {share!r}, not a number from 0 to 1.")
    out = frame.with_columns(number.alias("share"))
    for name, total in out.group_by("instance", maintain_order=True).agg(pl.col("share").sum()).iter_rows():
        if abs(total - 1) > _SLACK:
            raise DataError(f"{path.name}: the shares of {name} sum to {total:g}, not to 1.")
    return out


NOT_ASKED = -2
NO_ANSWER = "no answer"
"""Level of `group` that stands for replies without a valid answer."""
REASON = "reason: "
"""Prefix of columns of sums that count replies without a valid answer by their reason."""
_KEYS = (*PEOPLE_KEYS, "instance")
_Taken = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class AskedBlock:
    """One block as its measures need it.

    Attributes
    ----------
    labels:
        As estimates name it: modality, attribute and kind of scenario.
    trials:
        Its trials in the design.
    about:
        Of each trial the pair or scene (`unit`), the people on either side, one twice where nobody is beside, the
        instance, and the groups of the options in the order shown (`group_1`, ...).
    """

    labels: dict[str, str]
    trials: slice
    about: pl.DataFrame

    @property
    def groups(self) -> tuple[str, ...]:
        """Groups that could be chosen, in their order."""
        return tuple(self.about.schema["group_1"].categories)[:-1]  # type: ignore[attr-defined]

    @property
    def instances(self) -> list[str]:
        """Instances that are asked about, in their order."""
        return self.about.schema["instance"].categories.to_list()  # type: ignore[attr-defined]

    @cached_property
    def options(self) -> int:
        """Number of options of a trial."""
        return sum(name.startswith("group_") for name in self.about.columns)

    @property
    def rivals(self) -> bool:
        """True if answers choose between two of several groups."""
        return self.options < len(self.groups)

    @property
    def even_share(self) -> float:
        """Share of each group without bias."""
        return 1 / self.options

    @cached_property
    def _replies(self) -> "_SumRows":
        return _SumRows.from_table(self.about, [*_KEYS])

    @cached_property
    def _option_rows(self) -> "_SumRows":
        """Rows of options, one after the other, each with the group beside it where there are two."""
        tables = []
        for at in range(self.options):
            rival = pl.col(f"group_{2 - at}") if self.options == 2 else pl.lit(None, self.about.schema["group_1"])
            tables.append(
                self.about.select(*_KEYS, pl.col(f"group_{at + 1}").alias("group"), rival.alias("other_group"))
            )
        return _SumRows.from_table(pl.concat(tables), [*_KEYS, "group", "other_group"])

    @cached_property
    def _outcomes(self) -> tuple[Sums, Codes, Codes]:
        """Rows of replies by group, no answer last; the row of replies of each, and of each chosen option its row."""
        replies, levels = self._replies.sums, (*self.groups, NO_ANSWER)
        size, count = len(levels), replies.units["unit"].size
        row = np.repeat(np.arange(count), size)
        labels = {name: (of_name, at[row]) for name, (of_name, at) in replies.labels.items()}
        labels["group"] = levels, np.tile(np.arange(size), count)
        units = {name: column[row] for name, column in replies.units.items()}
        reply = np.tile(self._replies.row, self.options)
        first = np.unique(self._option_rows.row, return_index=True)[1]
        return (
            Sums({}, units, labels, replies.names, replies.people),
            row,
            reply[first] * size + self._option_rows.sums.labels["group"][1],
        )

    def sums(self, answers: "TrialAnswers", only: _Taken | None = None) -> dict[str, Sums]:
        """Tables of sums.

        `replies`, by instance: `requests`, `valid`, `lost`, `first` (choices of the first option), by reason; of two
        groups, `ahead`: half of what was asked and of the first group's choices less the second's. `chosen`, by
        instance, group and the one beside it: `chosen`, and `valid` and `requests` where it could be. `outcomes`, by
        instance and group, no answer being one of these: `count`, and `requests` of all replies.
        """
        columns = {
            name: answers.sums_of_block(self, name, only) for name in ("requests", "valid", *WEIGHTS[: self.options])
        }
        weights = np.concatenate([columns.pop(name) for name in WEIGHTS[: self.options]])
        reasons = {name: answers.sums_of_block(self, name, only) for name in answers.reasons}
        replies = self._replies.add_up(**columns, first=weights[: self.about.height], **reasons)
        lost = replies.numbers["requests"] - replies.numbers["valid"]
        chosen = self._option_rows.add_up(chosen=weights, **{n: np.tile(x, self.options) for n, x in columns.items()})
        outcomes, reply, at = self._outcomes
        count = np.bincount(at, chosen.numbers["chosen"], reply.size).astype(np.float64)
        count[outcomes.labels["group"][1] == len(self.groups)] = lost
        first, second = count[:: len(self.groups) + 1], count[1 :: len(self.groups) + 1]
        ahead = (replies.numbers["requests"] + first - second) / 2
        return {
            "replies": replies.counting(**replies.numbers, lost=lost, ahead=ahead), "chosen": chosen,
            "outcomes": outcomes.counting(count=count, requests=replies.numbers["requests"][reply]),
        }  # fmt: skip

    def by_trial(self, **values: Array) -> Sums:
        """Values of trials, added up by unit and instance."""
        return self._replies.add_up(**values)

    def choices(self, sums: dict[str, Sums]) -> GroupChoices:
        """The same as arrays by unit, instance and group."""
        units = self._replies.sums.units
        first = np.unique(units["unit"], return_index=True)[1]
        people = units["person_1"][first], units["person_2"][first]
        size = first.size, len(self.instances), len(self.groups)

        def dense(table: Sums, name: str, *labels: str) -> Array:
            shape = size[: len(labels) + 1]
            at = np.ravel_multi_index([table.units["unit"], *(table.labels[label][1] for label in labels)], shape)
            return np.bincount(at, table.numbers[name], int(np.prod(shape))).astype(np.float64).reshape(shape)

        of_group = [dense(sums["chosen"], name, "instance", "group") for name in ("chosen", "valid", "requests")]
        valid, requests = (dense(sums["replies"], name, "instance") for name in ("valid", "requests"))
        return GroupChoices(of_group[0], of_group[1], valid, requests, self.even_share, people, of_group[2])


@dataclass(frozen=True)
class _SumRows:
    """Rows that differ in what they are about, and the row of each answer."""

    sums: Sums
    row: Codes

    @classmethod
    def from_table(cls, about: pl.DataFrame, keys: list[str]) -> "_SumRows":
        distinct = about.select(keys).unique(maintain_order=True)
        row = about.join(distinct.with_row_index("_row"), on=keys, how="left", nulls_equal=True, maintain_order="left")
        labels = [name for name in keys if name not in PEOPLE_KEYS]
        return cls(
            replace(Sums.from_frame(distinct, labels, PEOPLE_KEYS), numbers={}), row["_row"].cast(pl.Int64).to_numpy()
        )

    def add_up(self, **columns: Array) -> Sums:
        """Values of answers, added up."""
        size = self.sums.units["unit"].size
        return self.sums.counting(**{n: np.bincount(self.row, x, size).astype(np.float64) for n, x in columns.items()})


def asked_blocks(design: Design) -> list[AskedBlock]:
    """Contents of each block of a design."""
    return [
        _asked_block(dict(block.constants), slice(int(start), int(start) + block.size), design)
        for block, start in zip(design.blocks, design.offsets, strict=False)
    ]


def _asked_block(labels: dict[str, str], trials: slice, design: Design) -> AskedBlock:
    rows = design.trials(np.arange(trials.start, trials.stop))
    modality, attribute = labels["modality"], labels["attribute"]
    stimulus, people = ("pair", PEOPLE_KEYS[1:]) if modality == VISION else ("image", ("identity",) * 2)
    groups = rows.select(group.alias(f"group_{at + 1}") for at, group in enumerate(options(rows, modality, attribute)))
    present = {name for column in groups for name in column.unique()}
    listed = [name for name in GROUPS.get(attribute, ()) if name in present]
    levels = pl.Enum([*listed, *sorted(present.difference(listed)), NO_ANSWER])
    in_block = set(rows["instance"].unique())
    instance_levels = pl.Enum([i.name for i in instances() if i.name in in_block])
    stimulus_levels = pl.Enum(rows[stimulus].unique().sort().cast(pl.String))
    person_levels = pl.Enum(pl.concat([rows[name].cast(pl.String) for name in people]).unique().sort())
    about = rows.select(
        pl.col(stimulus).cast(pl.String).cast(stimulus_levels).alias("unit"),
        *(
            pl.col(name).cast(pl.String).cast(person_levels).alias(side)
            for name, side in zip(people, PEOPLE_KEYS[1:], strict=True)
        ),
        pl.col("instance").cast(instance_levels), *(column.cast(levels) for column in groups),
    )  # fmt: skip
    return AskedBlock({name: labels[name] for name in ("modality", "attribute", "scenario_kind")}, trials, about)


class TrialAnswers:
    """One model's answers by trial: weights of options, valid answers, replies, reasons, and what was chosen first."""

    def __init__(self, trials: int, chunks: Iterator[pl.DataFrame]) -> None:
        self._sums = TrialSums(trials)
        self._first = np.full(trials, NOT_ASKED, dtype=np.int8)
        for chunk in chunks:
            self._add(chunk)

    @property
    def reasons(self) -> list[str]:
        """Columns of sums that count replies without a valid answer."""
        return sorted(name for name in self._sums.names if name.startswith(REASON))

    def _add(self, chunk: pl.DataFrame) -> None:
        trial = chunk["trial"].to_numpy().astype(np.int64)
        mass = chunk["mass"].fill_null(0.0).clip(0.0, 1.0).to_numpy()
        names = [name for name in WEIGHTS if chunk[name].null_count() < chunk.height] or [WEIGHTS[0]]
        weights = chunk.select(pl.col(names).cast(pl.Float64).fill_null(0.0)).to_numpy()
        chosen = {name: weights[:, at] * mass for at, name in enumerate(names)}
        self._sums.add(trial, requests=np.ones(trial.size), valid=mass, **chosen)
        best = np.where(mass > 0, weights.argmax(axis=1), -1).astype(np.int8)
        earliest = (chunk["repeat"].to_numpy() == 0) if "repeat" in chunk.columns else np.ones(trial.size, dtype=bool)
        self._first[trial[earliest]] = best[earliest]
        for (reason,), rows in chunk.select("trial", "reason").drop_nulls().group_by("reason"):
            self._sums.add(rows["trial"].to_numpy().astype(np.int64), **{f"{REASON}{reason}": np.ones(rows.height)})

    def sums_of_block(self, block: AskedBlock, name: str, only: _Taken | None = None) -> Array:
        """Sums of a column by trial of a block; of some trials or all."""
        values = self._sums[name][block.trials]
        return values if only is None else values * only

    def groups_chosen(self, block: AskedBlock) -> npt.NDArray[np.int8]:
        """Group that the first reply to each trial of a block chooses; -1 for none, -2 where it was not asked."""
        option = self._first[block.trials]
        codes = [block.about[f"group_{at + 1}"].to_physical().to_numpy() for at in range(block.options)]
        group = np.stack(codes)[np.maximum(option, 0), np.arange(option.size)]
        return np.where(option >= 0, group, option).astype(np.int8)
