"""Trial of sharing among questions: compared with plain passes, on the study's own questions.

Nothing is known of a model by its name. What is shared is read in trees that hold the questions at their beginning, in
their middle and at their end, between neighbours that change from tree to tree, with replies that branch, before and
after the prefix of another picture of another size. All must give what plain passes of whole prompts give.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from facevalue.errors import DataError
from facevalue.models.hf.calls import Rejected, is_device_failure
from facevalue.models.hf.chat import Group, Row
from facevalue.models.hf.decoding import Decoding
from facevalue.models.hf.loading import Loaded
from facevalue.models.hf.prefix import joinable
from facevalue.models.hf.processors import first_line
from facevalue.models.hf.reference_pass import gap, largest, plain_logits

if TYPE_CHECKING:
    from torch import Tensor

Reply = tuple[int, ...]
Read = dict[tuple[int, Reply], "Tensor"]
"""Logits by question, counted as it was chosen, and by the reply so far."""
Begin = Callable[[Sequence[Row], Sequence[int]], Decoding]
Way = Callable[[Sequence[Group]], Begin]
"""Runs what each group shares, in one pass, and then begins a decoding of suffixes, each after one group's prefix."""

TREE, COPIES, STEPS = "", "by copies of a state", "by copies of a state, token by token"
"""Ways to share a prefix: trees of tokens after it; copies of what `generate` keeps of it, the rest of prompts at once,
or one token of each at a time: some layers forget their state where they read several."""

_REPLY, _ROOM = 3, 16  # tokens
_TOGETHER = "prefixes in one pass"
_GROWTH = 1.25
"""A kind of request is tried again when prompts are so much longer: a window may be shorter than they are."""


@dataclass(frozen=True, slots=True)
class TrialVerdict:
    """Largest difference of a probability in each check, and why nothing is shared; empty if it may be.

    `alone` says that each prefix must be run by itself. `way` is how it is shared: `TREE`, `COPIES` or `STEPS`.
    """

    differences: Mapping[str, float]
    failed: str = ""
    alone: bool = False
    way: str = TREE

    def __str__(self) -> str:
        checks = ", ".join(f"{check} {value:.1g}" for check, value in self.differences.items())
        return self.failed or ", ".join(filter(None, (self.way, checks)))


class Trials:
    """Verdicts of one engine, by kind of request: the first of some ways of sharing that gives what plain passes do."""

    def __init__(self, loaded: Loaded, ways: Mapping[str, Way]) -> None:
        self._loaded = loaded
        self._ways = ways
        self._longest: dict[str, int] = {}
        self.verdicts: dict[str, TrialVerdict] = {}

    def allow(self, kind: str, group: Group) -> bool:
        """Return whether a group's questions may share their prefix; tried for a kind that is new or now longer."""
        fit = [n for n in range(len(group.members)) if not group.excess(n, _ROOM, self._loaded.context)]
        if not fit:
            return False
        by_length = sorted(fit, key=lambda n: len(group.suffixes[n]))
        length = len(group.prefix_ids) + len(group.suffixes[by_length[-1]])
        verdict = self.verdicts.get(kind)
        if verdict is None or not (verdict.failed or length <= _GROWTH * self._longest[kind]):
            try:
                assert group.varied is not None
                some = group.varied(sorted({by_length[0], by_length[-1]}), False)
                self.verdicts[kind] = verdict = self._judge_group(some)
            except DataError:  # the processor or the model refuses these, shared or not
                return False
            self._longest[kind] = length
        return not verdict.failed

    def _judge_group(self, group: Group) -> TrialVerdict:
        verdicts = []
        for way, over in self._ways.items():
            verdicts.append(replace(judge_sharing(self._loaded, group, over), way=way))
            if not verdicts[-1].failed:
                return verdicts[-1]
        return verdicts[0]

    def way(self, kind: str) -> str:
        """Return how questions of a kind share what they have in common."""
        return self.verdicts[kind].way if kind in self.verdicts else TREE

    @property
    def needs_single_prefixes(self) -> bool:
        """True if no two prefixes may go through the model together."""
        return any(verdict.alone for verdict in self.verdicts.values() if verdict.way == TREE)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user: reasons why nothing is shared."""
        reasons = dict.fromkeys(verdict.failed for verdict in self.verdicts.values() if verdict.failed)
        return tuple(f"Every question is asked by itself, with the same result but more slowly: {r}." for r in reasons)


def judge_sharing(loaded: Loaded, group: Group, way: Way) -> TrialVerdict:
    """Try a way of sharing on some questions of a group."""
    differences: dict[str, float] = {}
    alone = True
    if group.inputs is None:
        return TrialVerdict(differences, "what differs between questions comes before the pictures")
    try:
        for check, difference in _checks(loaded, group, way):
            differences[check] = max(difference, differences.get(check, 0.0))
            if check == _TOGETHER:
                alone = not difference <= loaded.tolerance
            elif not difference <= loaded.tolerance:
                return TrialVerdict(
                    differences,
                    f"sharing was tried, and in the check of {check} a probability differs by {difference:.2g} from "
                    f"plain passes, where rounding explains {loaded.tolerance:.2g}",
                )
    except DataError:
        raise
    except Exception as error:  # models raise what they like, and so does code that meets one it was not made for
        if is_device_failure(error):
            raise
        return TrialVerdict(
            differences, f"sharing was tried, and the model's code is not made for it ({first_line(error)[:200]})"
        )
    return TrialVerdict(differences, alone=alone)


def _checks(loaded: Loaded, group: Group, way: Way) -> Iterable[tuple[str, float]]:
    """Yield the name of a check and its largest difference, one after the other."""
    rows = group.suffixes
    replies = [_replies(row, branches=not at) for at, row in enumerate(rows)]
    want = _plain(loaded, group, replies)
    begin = way([group])
    near = [[*row[turn:], *row[:turn]] for turn in (1, 2) for row in (rows[0], rows[-1])]
    first = _read(begin, rows, replies, after=near[:2])
    yield "places in the tree", largest_difference(first, want)
    yield "neighbours", rounding_difference(_read(begin, rows, replies, before=near[2:3], after=near[3:]), first)
    yield "neighbours", rounding_difference(_read(begin, rows, replies, before=[*near[2:], near[1]]), first)
    assert group.varied is not None
    with suppress(DataError):  # the processor wants pictures of one shape
        varied_pictures = group.varied([0], True)
        its = [_replies(varied_pictures.suffixes[-1], branches=True)]
        plain = _plain(loaded, varied_pictures, its, last=True)
        shared = _read(way([varied_pictures]), varied_pictures.suffixes[-1:], its, before=near[:1])
        yield "another prefix", largest_difference(shared, plain)
        yield (
            _TOGETHER,
            _compare_joint_prefixes(
                way, [varied_pictures, group], [varied_pictures.suffixes[-1], *rows], [*its, *replies], plain, want
            ),
        )
    yield "state", rounding_difference(_read(begin, rows, replies, after=near[:2]), first)


def _compare_joint_prefixes(
    way: Way, groups: Sequence[Group], rows: Sequence[Row], replies: Sequence[Sequence[Reply]], others: Read, want: Read
) -> float:
    """Compare what is read after two prefixes that go through the model in one pass; infinity if they cannot."""
    first, second = (group.inputs for group in groups)
    if first is None or second is None or not joinable(first, second):
        return math.inf
    try:
        shared = _read(way(groups), rows, replies, of=[0] + [1] * (len(rows) - 1))
    except Rejected:
        return math.inf
    return largest_difference(shared, others | {(at + 1, reply): logits for (at, reply), logits in want.items()})


def _replies(row: Row, *, branches: bool) -> list[Reply]:
    """Return replies to try: words of the prompt, which every model knows."""
    forwards, backwards = tuple((row * _REPLY)[:_REPLY]), tuple((row[::-1] * _REPLY)[:_REPLY])
    return [forwards, backwards] if branches else [forwards]


def _plain(loaded: Loaded, group: Group, replies: Sequence[Sequence[Reply]], *, last: bool = False) -> Read:
    """Compute by plain passes what follows each beginning of the replies, to all questions or the last one."""
    logits_of: Read = {}
    for at, replies_of_row in enumerate(replies):
        member = len(group.members) - 1 if last else at
        inputs = group.full(group.members[member])
        if inputs["input_ids"][0].tolist() != [*group.prefix_ids, *group.suffixes[member]]:
            raise AssertionError("the prompt is not made of the tokens that its processor makes")
        for reply in replies_of_row:
            try:
                logits = plain_logits(loaded, inputs, reply, range(len(reply) + 1))
            except Rejected as error:  # which says nothing of sharing
                raise DataError(str(error)) from error
            logits_of |= {(at, reply[:n]): row for n, row in enumerate(logits)}
    return logits_of


def _read(
    begin: Begin,
    rows: Sequence[Row],
    replies: Sequence[Sequence[Reply]],
    before: Sequence[Row] = (),
    after: Sequence[Row] = (),
    of: Sequence[int] = (),
) -> Read:
    """Read the same in a tree, between neighbours with replies of their own; in three passes.

    `of` says which prefix each row comes after, the first if it isn't given.
    """
    all_rows, shift = [*before, *rows, *after], len(before)
    decoding = begin(all_rows, of or [0] * len(all_rows))
    near = [*range(shift), *range(shift + len(rows), shift + len(rows) + len(after))]
    sequences = [
        *((member, tuple([*before, *after][at][:1] * _REPLY)) for at, member in enumerate(near)),
        *((shift + at, reply) for at, replies_of_row in enumerate(replies) for reply in replies_of_row),
    ]
    sequences.sort(key=lambda path: path[0])
    logits_of: Read = {}
    for depths in ((0, 1), (2,), (3,)) if before else ((0,), (1,), (2, 3)):
        paths = dict.fromkeys((member, reply[:n]) for member, reply in sequences for n in depths if n <= len(reply))
        for (member, reply), logits in zip(paths, decoding.read(list(paths)), strict=True):
            logits_of[member - shift, reply] = logits
    return {path: logits for path, logits in logits_of.items() if 0 <= path[0] < len(rows)}


def largest_difference(logits: Read, want: Read) -> float:
    """Return the largest difference of a probability; infinity where there is none."""
    first, second = _rows(logits, want)
    return largest(first.softmax(1) - second.softmax(1))


def rounding_difference(logits: Read, want: Read) -> float:
    """Return the same where nothing should differ but by rounding: logs of the likeliest tokens count as well."""
    return gap(*_rows(logits, want))


def _rows(logits: Read, want: Read) -> "tuple[Tensor, Tensor]":
    import torch  # noqa: PLC0415

    return torch.stack([logits[path] for path in want]), torch.stack(list(want.values()))
