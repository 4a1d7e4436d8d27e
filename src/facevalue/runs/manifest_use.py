"""What a study would do with the pictures of a manifest: which it would show, in what, and why it would not others."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.design import Block
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.sources import own_manifest
from facevalue.protocol.study import LeftOut, Study
from facevalue.runs.checks import check_shown
from facevalue.runs.requests import stimulus_columns
from facevalue.stimuli.columns import FORM, Column
from facevalue.stimuli.faults import Fault, Faults
from facevalue.stimuli.images import noting

_MOST = 2**20  # stimuli of a block that are gone through; of more, so many drawn at random
_BATCH = 2**16


@dataclass(frozen=True)
class BlockUse:
    """A block of a study: how many of the user's pictures it shows, and its requests."""

    name: str
    pictures: int
    requests: int


@dataclass(frozen=True)
class ManifestUse:
    """What a study would ask about the pictures of a manifest, with its usual settings.

    Attributes
    ----------
    pictures, used:
        Pictures in the manifest, and those of them that the study would show.
    blocks:
        Its blocks.
    sample:
        What would be sampled, such as "6 faces with 25 scenarios each"; empty where the study does not say.
    unused:
        Pictures that it would not show, by reason.
    left_out:
        What the study says of what it leaves out.
    alone:
        The option that asks about the user's pictures alone, where the study has blocks that show none of them.
    """

    pictures: int
    used: int
    blocks: tuple[BlockUse, ...]
    sample: str
    unused: tuple[Fault, ...]
    left_out: tuple[LeftOut, ...]
    alone: str = ""

    @property
    def requests(self) -> int:
        """Requests about the user's pictures."""
        return sum(block.requests for block in self.blocks if block.pictures)

    @property
    def requests_about_others(self) -> int:
        """Requests about none of them: drawings, or nothing at all."""
        return sum(block.requests for block in self.blocks if not block.pictures)


def use_of(study: Study, frame: pl.DataFrame, protocol: Protocol) -> ManifestUse:
    """Find out which pictures of a manifest the trials of a study show; no picture is opened.

    `frame`: the manifest as it was read, whether the study keeps all of it or not.

    Raises
    ------
    DataError
        Nothing of the study can be shown.
    """
    check_shown(study)
    paths = set(frame["path"])
    blocks, used = [], set[str]()
    for number, block in enumerate(study.design.blocks):
        with noting() as noted:
            for levels in _stimuli(study, number, block):
                study.source.check(levels)
        of_block = {path for _, path in noted} & paths
        used |= of_block
        blocks.append(BlockUse(block.name, len(of_block), len(block) * study.repeats))
    precision = study.planned.precision
    sample = ""
    if precision is not None and precision.clusters:
        sample = precision.sample_of(precision.clusters, precision.items)
    unused = _reasons(frame, used, protocol.columns()) if len(used) < len(paths) else ()
    alone = _alone(study, [block.pictures > 0 for block in blocks])
    return ManifestUse(len(paths), len(used), tuple(blocks), sample, unused, study.planned.left_out, alone)


def warning_of(study: Study, protocol: Protocol) -> str:
    """Say that a study passes over pictures of its manifest; empty if it has none, or shows all of it."""
    file = str(study.options.get("manifest") or "")
    if not file or study.planned.unshown:
        return ""
    use = use_of(study, own_manifest(study.options, ()), protocol)
    if use.used == use.pictures:
        return ""
    many = f"{use.pictures - use.used:,} of the" if use.used else "None of the"
    says = " would not be shown" if use.used else " would be shown"
    which = f"{many} {use.pictures:,} pictures of {Path(file).name}{says}"
    return f"{which} with these settings: `facevalue manifest check` says why."


def _alone(study: Study, shows: Sequence[bool]) -> str:
    """The setting whose levels tell blocks that show the user's pictures from those that do not, as an option."""
    facts = [block.constants for block in study.design.blocks]
    for name in study.options:
        if not all(name in constants for constants in facts):
            continue
        levels: dict[bool, dict[str, None]] = {True: {}, False: {}}
        for constants, shows_any in zip(facts, shows, strict=True):
            levels[shows_any][constants[name]] = None
        if levels[True] and levels[False] and levels[True].keys().isdisjoint(levels[False]):
            return f"--{name.replace('_', '-')} {','.join(levels[True])}"
    return ""


def _stimuli(study: Study, number: int, block: Block) -> Iterator[dict[str, list[str | None]]]:
    """Levels of a block's stimuli, in batches."""
    stimuli = np.arange(block.stimuli, dtype=np.int64)
    if stimuli.size > _MOST:
        stimuli = np.sort(np.random.default_rng(0).choice(stimuli.size, _MOST, replace=False))
    columns = stimulus_columns(study)
    for start in range(0, stimuli.size, _BATCH):
        firsts = study.design.offsets[number] + stimuli[start : start + _BATCH] * block.prompts
        yield study.design.trials(firsts).select(columns).to_dict(as_series=False)


def _reasons(frame: pl.DataFrame, used: set[str], columns: Sequence[Column]) -> tuple[Fault, ...]:
    """Why pictures are not shown, as far as their rows tell: what is empty, and levels that the study does not know."""
    factors = [column for column in columns if column.name not in FORM]
    present = [column.name for column in factors if column.name in frame.columns]
    unused = ~frame["path"].is_in(list(used))
    kinds = frame.filter(unused).select(present or "path").unique(maintain_order=True)
    reasons: dict[str, list[int]] = {}
    for number, levels in enumerate(kinds.iter_rows(named=True)):
        reasons.setdefault(_reason(levels, factors), []).append(number)
    kind_of_row = frame.join(kinds.with_row_index("kind"), on=present or "path", how="left", nulls_equal=True,
                             maintain_order="left")["kind"]  # fmt: skip
    faults = Faults()
    for reason, numbers in reasons.items():
        faults.where(f"not shown: {reason}", unused & kind_of_row.is_in(numbers), frame["path"])
    return tuple(faults.listed())


def _reason(levels: Mapping[str, str | None], columns: Sequence[Column]) -> str:
    if columns and all(levels.get(column.name) is None for column in columns):
        return f"it has none of {', '.join(column.name for column in columns)}"
    for column in columns:
        if column.needed and column.name in levels and levels[column.name] is None:
            return f"{column.name!r} is empty"
    for column in columns:
        level, spellings = levels.get(column.name), column.levels()
        accepted = [*spellings, *(text for texts in spellings.values() for text in texts)]
        if level is not None and accepted and not column.role and level.casefold() not in map(str.casefold, accepted):
            near = get_close_matches(level, accepted, n=1, cutoff=0.6)
            return f"the study knows no {column.name} {level!r}{f'; is {near[0]!r} meant?' if near else ''}"
    return "there is nothing to compare it with"
