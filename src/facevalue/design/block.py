"""Block: one full crossing of what is shown with what is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt

from facevalue.design.axes import Axis, Index
from facevalue.errors import DataError

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Block:
    """A full crossing of stimulus axes with prompt axes.

    The stimulus axes are the outer digits of a trial number, so that all prompts about one stimulus are neighbours;
    within each group the first axis is the outermost digit.
    """

    name: str  # distinct within the design
    stimulus: tuple[Axis, ...]
    prompt: tuple[Axis, ...] = ()
    constants: Mapping[str, str] = field(default_factory=dict)  # factor levels that hold in the whole block
    baseline: bool = False  # whether the block only serves others as their reference; plans count it apart
    added: bool = False  # whether the block serves so, and the published protocol has no such one

    def __post_init__(self) -> None:
        names = [c.name for axis in self.axes for c in axis.columns()] + list(self.constants)
        for name in names:
            if name in ("trial", "block") or names.count(name) > 1:
                raise DataError(f"Block {self.name!r} has the column {name!r} twice, or a reserved name.")

    @property
    def axes(self) -> tuple[Axis, ...]:
        """All axes, outermost first."""
        return (*self.stimulus, *self.prompt)

    @cached_property
    def stimuli(self) -> int:
        """Number of stimuli."""
        return prod(len(axis) for axis in self.stimulus)

    @cached_property
    def prompts(self) -> int:
        """Number of prompts that each stimulus gets."""
        return prod(len(axis) for axis in self.prompt)

    @property
    def size(self) -> int:
        """Number of trials: stimuli x prompts."""
        return self.stimuli * self.prompts

    def __len__(self) -> int:
        """Number of trials."""
        return self.size

    def digits(self, local: Numbers) -> list[Index]:
        """Mixed-radix digits of block-local numbers, one array per axis."""
        out: list[Index] = []
        for axis in reversed(self.axes):
            rest = local // len(axis)
            out.append(local - rest * len(axis))
            local = rest
        return out[::-1]

    def select_levels(self, selection: Mapping[str, Sequence[str]]) -> "Block | None":
        """The block with only the selected levels; None if nothing of it is left.

        Names that the block doesn't have select nothing away. A selection of a paired factor holds for both members.
        """
        if any(name in selection and value not in selection[name] for name, value in self.constants.items()):
            return None
        stimulus = _select(self.stimulus, selection)
        prompt = _select(self.prompt, selection)
        return None if stimulus is None or prompt is None else replace(self, stimulus=stimulus, prompt=prompt)

    def choices(self) -> dict[str, set[str]]:
        """Names that `select_levels` can select by, and the levels of each."""
        out = {name: {value} for name, value in self.constants.items()}
        for axis in self.axes:
            for name, values in axis.choices().items():
                out.setdefault(name, set()).update(value for value in values if value is not None)
        return out


def _select(axes: tuple[Axis, ...], selection: Mapping[str, Sequence[str]]) -> tuple[Axis, ...] | None:
    out: list[Axis] = []
    for axis in axes:
        narrowed: Axis | None = axis
        for name in axis.choices().keys() & selection.keys():
            narrowed = narrowed and narrowed.only(name, selection[name])
        if narrowed is None:
            return None
        out.append(narrowed)
    return tuple(out)
