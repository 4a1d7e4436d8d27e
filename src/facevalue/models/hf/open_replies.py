"""Open replies of an engine: drawn in one continuous batch, checked, and read off the model's thread."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

from facevalue.models.hf.attending import SequenceDecoding, Sequences
from facevalue.models.hf.chat import Group, after_pictures
from facevalue.models.hf.check import Schedule, SelfCheck
from facevalue.models.hf.continuous import BatchLimits, ContinuousBatch
from facevalue.models.hf.loading import Loaded
from facevalue.models.hf.prefix import Prefix
from facevalue.models.hf.sampling import Draw, Drawn
from facevalue.models.hf.scoring import DrawnReply, Failed, PreparedPrompts, Wish
from facevalue.models.hf.trial import TREE, Begin, Trials, Way

SHORT = 32
"""Replies of no more tokens are drawn in packs of their prompts, which then are most of the work."""
Tag = TypeVar("Tag")


@dataclass(frozen=True, slots=True, eq=False)
class Opening:
    """State shared by all sessions of one engine: trials of going on from token sequences, limits, self-checks.

    `draw` says what is to be drawn for a wish about a place of a group, `read` makes a reply of what was drawn after a
    prompt of so many tokens, and `note` is told the largest share of tokens that stand for pictures.
    """

    loaded: Loaded
    check: SelfCheck
    draw: Callable[[int, Wish], Draw]
    read: Callable[[Drawn, int], DrawnReply]
    note: Callable[[float], None]
    limits: BatchLimits
    trials: Trials
    schedule: Schedule

    @classmethod
    def for_model(
        cls,
        loaded: Loaded,
        check: SelfCheck,
        draw: Callable[[int, Wish], Draw],
        finish: Callable[[Drawn, int], DrawnReply],
        note: Callable[[float], None],
    ) -> "Opening":
        """Return what a new engine has."""
        limits = BatchLimits(loaded)
        return cls(
            loaded, check, draw, finish, note, limits, Trials(loaded, {TREE: _way(loaded, limits.width)}), Schedule()
        )


@dataclass(slots=True)
class _Entry(Generic[Tag]):
    """A reply that is on its way: whose it is, to which place of which group, and whether it is to be checked."""

    tag: Tag
    number: int
    group: Group
    place: int
    checked: bool


class OpenReplies(Generic[Tag]):
    """A session in which replies about any number of stimuli are drawn together, each as soon as there is room."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self.batch = ContinuousBatch(opening.loaded, opening.limits, opening.note)
        self._entries: dict[int, _Entry[Tag]] = {}
        self._count = self._finished = 0
        self._reader = ThreadPoolExecutor(1, "replies")
        self._read: deque[tuple[_Entry[Tag], Future[DrawnReply], float]] = deque()

    def close(self) -> None:
        """End the thread that reads."""
        self._reader.shutdown(cancel_futures=True)

    def add(self, tag: Tag, prepared: PreparedPrompts[Wish]) -> PreparedPrompts[Wish]:
        """Take what can be drawn so of the wishes about one stimulus; return the others."""
        others: list[tuple[Group, dict[int, int]]] = []
        for group, places in prepared.groups:
            open_jobs = {n: place for n, place in places.items() if prepared.jobs[n].sampling.max_tokens > SHORT}
            if not open_jobs or group.inputs is None or not self._may_share(group, prepared, open_jobs):
                others.append((group, places))
                continue
            rest = {n: place for n, place in places.items() if n not in open_jobs}
            if rest:
                others.append((group, rest))
            self._enter(tag, after_pictures(self._opening.loaded, group), open_jobs, prepared)
        return replace(prepared, groups=others)

    def _may_share(self, group: Group, prepared: PreparedPrompts[Wish], places_of_group: dict[int, int]) -> bool:
        held = any(prepared.jobs[number].constrain for number in places_of_group)
        kind = f"{group.kind}, open replies{' held to options' if held else ''} drawn"
        return self._opening.trials.allow(kind, group)

    def _enter(self, tag: Tag, group: Group, places: dict[int, int], prepared: PreparedPrompts[Wish]) -> None:
        schedule = self._opening.schedule
        schedule.stimuli += 1
        chosen = schedule.draw(list(places))
        keys = {}
        for number, place in places.items():
            self._count += 1
            keys[self._count] = number, place
            self._entries[self._count] = _Entry(tag, number, group, place, number == chosen)
        draw = self._opening.draw
        begin = {key: partial(draw, place, prepared.jobs[number]) for key, (number, place) in keys.items()}
        self.batch.add(group, {key: place for key, (_, place) in keys.items()}, begin)

    @property
    def hungry(self) -> bool:
        """True if there is room for more than waits."""
        return self.batch.hungry

    def replies(self, *, to_the_end: bool) -> Iterator[tuple[Tag, int, DrawnReply | Failed, float]]:
        """Draw until there is room for more, or to the end; yield tags, numbers, replies and their seconds.

        A `ModelError` says that the self-check found what rounding cannot explain.
        """
        while self.batch.busy and (to_the_end or not self.hungry):
            for finished in self.batch.step():
                entry = self._entries.pop(finished.key)
                if not isinstance(finished.result, Drawn):
                    yield entry.tag, entry.number, Failed(str(finished.result)), finished.seconds
                    continue
                prompt = len(entry.group.prefix_ids) + len(entry.group.suffixes[entry.place])
                self._check(entry, finished.result, prompt)
                pending = self._reader.submit(self._opening.read, finished.result, prompt)
                self._read.append((entry, pending, finished.seconds))
            yield from self._finished_replies(wait=False)
        yield from self._finished_replies(wait=to_the_end)

    def _finished_replies(self, *, wait: bool) -> Iterator[tuple[Tag, int, DrawnReply | Failed, float]]:
        while self._read and (wait or self._read[0][1].done()):
            entry, pending, seconds = self._read.popleft()
            yield entry.tag, entry.number, pending.result(), seconds

    def _check(self, entry: _Entry[Tag], draw: Drawn, prompt: int) -> None:
        """Compare a reply with a plain pass: the first, the second, the fourth, and so on; longer ones; drawn ones."""
        schedule, key = self._opening.schedule, (0, 0)
        self._finished += 1
        first = self._finished >= 2 * schedule.largest
        if first:
            schedule.largest = self._finished
        if entry.checked | first | bool(schedule.longest_question({key: prompt + len(draw.tokens)})):
            check = self._opening.check
            check.compare(self._opening.loaded, entry.group, entry.place, draw.evidence)


def _way(loaded: Loaded, width: int) -> Way:
    """Return how prompts and replies that go on from token sequences are tried."""

    def over(groups: list[Group]) -> Begin:
        cut = [after_pictures(loaded, group) for group in groups]
        prefixes = [Prefix.read_prefixes(loaded, group.inputs) for group in cut if group.inputs is not None]
        between = [g.prefix_ids[len(c.prefix_ids) :] for g, c in zip(groups, cut, strict=True)]

        def begin(rows: list[list[int]], of: list[int]) -> SequenceDecoding:
            suffixes = [[*between[at], *row] for at, row in zip(of, rows, strict=True)]
            return SequenceDecoding(Sequences(loaded, width), [prefixes[at] for at in of], suffixes)

        return begin  # type: ignore[return-value]

    return over  # type: ignore[return-value]
