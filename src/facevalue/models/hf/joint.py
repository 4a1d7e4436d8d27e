"""Questions about several pictures that go through the model together, and how many do."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby

from facevalue.models.hf.chat import Group
from facevalue.models.hf.decoding import CopiedDecoding, Decoding, PlainDecoding, SharedDecoding
from facevalue.models.hf.loading import Loaded
from facevalue.models.hf.packing import Row, kept_bytes
from facevalue.models.hf.prefix import Prefix, joinable
from facevalue.models.hf.resumption import ModelState
from facevalue.models.hf.trial import STEPS, TREE

Key = tuple[int, int]
"""A question: the number of its stimulus, and its own among those about it."""

_CPU, _GPU = 2048, 16_384
"""Tokens of prefixes in one pass, at most: beyond that a machine is busy anyway, and more would only take memory."""
_SHARE = 0.25
"""Part of the free memory that such a pass, and the keys and values that it leaves, may take."""
_COPIES = 3
"""Copies of a state for each reply: after its prompt, after its last token, and after the next while that is read."""
_FILLED = 1.25
"""A batch may be so many times as large as what is in it: shorter rows are filled up."""


@dataclass(frozen=True, slots=True, eq=False)
class JointUnit:
    """Questions of one group, about one stimulus: their places in the group by their numbers.

    `way` is how they share what they have in common, as `trial.TrialVerdict` has it.
    """

    stimulus: int
    group: Group
    places: dict[int, int]
    way: str = TREE

    @property
    def worth_sharing(self) -> bool:
        """True if sharing takes fewer passes than there are prompts.

        Copies are not made where a prompt's rest is one token: some models read that in another way (Zamba2).
        """
        lengths = [len(self.group.suffixes[place]) for place in set(self.places.values())]
        if self.way == STEPS:
            return max(lengths) <= len(lengths)
        return self.way == TREE or min(lengths) > 1 < len(lengths)

    @property
    def without_sharing(self) -> "JointUnit":
        """The same questions, each to be asked by itself."""
        return JointUnit(self.stimulus, replace(self.group, inputs=None), self.places)

    def read_at_once(self, place: int) -> list[int]:
        """Return the tokens of a question that one pass takes."""
        suffix = self.group.suffixes[place]
        return suffix[-1:] if self.way == STEPS else suffix


class Joint:
    """Units whose questions are numbered through: `members`, and the `rows` of the batch that each stands in."""

    def __init__(self, units: Sequence[JointUnit]) -> None:
        self._units = units
        self._suffixes = [suffix for unit in units for suffix in unit.group.suffixes]
        self.rows = [row for row, unit in enumerate(units) for _ in unit.group.suffixes]
        self.members: dict[Key, int] = {}
        first = 0
        for unit in units:
            self.members |= {(unit.stimulus, number): first + place for number, place in unit.places.items()}
            first += len(unit.group.suffixes)

    def unit(self, key: Key) -> JointUnit:
        """Return the unit that a question is of."""
        return self._units[self.rows[self.members[key]]]

    def lots(self, loaded: Loaded, prefix: Prefix | ModelState | None, rows: Mapping[Key, Row]) -> list[list[Key]]:
        """Return the questions that memory holds together: without a prefix the replies to one, of copies so many."""
        if prefix is None:
            return [list(lot) for _, lot in groupby(self.members, self.members.__getitem__)]
        if isinstance(prefix, Prefix):
            return [list(self.members)]
        limit = kept_bytes(loaded) / (_COPIES * max(1, prefix.size))
        lots, copies = list[list[Key]](), limit
        for key in self.members:
            copies += rows[key].more  # a copy for each beginning of a reply, or fewer
            if copies > limit:
                lots.append([])
                copies = rows[key].more
            lots[-1].append(key)
        return lots

    def decoding(self, loaded: Loaded, prefix: Prefix | ModelState | None, pack: Sequence[Key]) -> Decoding:
        """Return what reads the replies to some questions, over the prefixes that they need."""
        if prefix is None:
            return PlainDecoding(loaded, self._units[0].group)
        if isinstance(prefix, ModelState):
            return CopiedDecoding([prefix], self._suffixes, steps=self._units[0].way == STEPS)
        rows = [self.rows[self.members[key]] for key in pack]
        first = min(rows)
        return SharedDecoding(prefix.part(first, max(rows) + 1), self._suffixes, [row - first for row in self.rows])


class Room:
    """Number of prefix tokens that go through the model at once: as many as memory was measured to hold."""

    def __init__(self, loaded: Loaded) -> None:
        self._device = loaded.device
        self._limit = _GPU if loaded.device.type == "cuda" else _CPU
        self._each = 0.0  # bytes

    def tokens(self) -> int:
        """Return how many tokens there may be; 0 as long as memory must be measured with a single prefix first."""
        if self._device.type != "cuda":
            return self._limit
        import torch  # noqa: PLC0415

        free, _ = torch.cuda.mem_get_info(self._device)
        return min(self._limit, int(_SHARE * free / self._each)) if self._each else 0

    @contextmanager
    def measure_memory(self, tokens: int) -> Iterator[None]:
        """Measure the memory that so many tokens take on a GPU."""
        if self._device.type != "cuda":
            yield
            return
        import torch  # noqa: PLC0415

        torch.cuda.reset_peak_memory_stats(self._device)
        before = torch.cuda.memory_allocated(self._device)
        yield
        self._each = max(self._each, (torch.cuda.max_memory_allocated(self._device) - before) / tokens)

    def halve(self, tokens: int) -> None:
        """Record that so many tokens didn't fit."""
        self._limit = min(self._limit, tokens) // 2


def joints(units: Sequence[JointUnit], tokens: int) -> Iterator[list[JointUnit]]:
    """Yield units that can go through the model together, no more than so many tokens of prefixes, or one unit.

    Those of about the same length go together, so that few tokens are there to fill rows up.
    """
    together: list[JointUnit] = []
    total = 0
    for unit in sorted(units, key=lambda unit: len(unit.group.prefix_ids)):
        inputs, length = unit.group.inputs, len(unit.group.prefix_ids)
        size = (len(together) + 1) * length
        if together and not (
            inputs is not None
            and unit.way == together[0].way == TREE
            and together[0].group.inputs is not None
            and joinable(together[0].group.inputs, inputs)
            and size <= tokens
            and size <= _FILLED * (total + length)
        ):
            yield together
            together, total = [], 0
        together.append(unit)
        total += length
    if together:
        yield together
