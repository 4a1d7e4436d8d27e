"""Continuous batching: open replies about any pictures, to any prompts, drawn together and refilled token by token.

Every pass takes one token of each reply that is being drawn, and fills up with tokens of the prompts that come next. A
reply that ends makes room for another in the following pass (as Orca's iterations and vLLM's chunked prefill do: Yu et
al., 2022; Kwon et al., 2023). A picture is run once for all prompts about it, and a prompt once for all its replies.

A reply's numbers depend on its own picture, prompt and seed: see `facevalue.models.hf.attending`. What has to make room
when memory is short is therefore simply drawn again, and comes out the same.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from facevalue.errors import FaceValueError
from facevalue.models.hf.attending import Sequences, TokenSequence, shelf_length
from facevalue.models.hf.calls import Rejected
from facevalue.models.hf.chat import Group
from facevalue.models.hf.decoding import mask_picture_tokens
from facevalue.models.hf.loading import Loaded
from facevalue.models.hf.packing import OutOfMemory, attempt, kept_bytes
from facevalue.models.hf.prefix import Prefix
from facevalue.models.hf.sampling import Draw, Drawn, extend

if TYPE_CHECKING:
    from torch import Tensor

_CPU, _GPU = 128, 256
"""Tokens in a pass: so many that reading the weights costs no more than the arithmetic."""


@dataclass(slots=True)
class BatchCounts:
    """Passes so far, their tokens, and how many of these were of replies.

    `full_passes` are those for which at least as much waited as a pass has room for.
    """

    passes: int = 0
    tokens: int = 0
    drawn: int = 0
    full_passes: int = 0
    full_tokens: int = 0


@dataclass(slots=True, eq=False)
class _Picture:
    """Prefix that several prompts share; `users` are the unfinished replies that need it."""

    group: Group
    prefix: Prefix | FaceValueError | None = None
    users: int = 0


@dataclass(slots=True, eq=False)
class _Prompt:
    """A prompt that waits, or is being read; `begin` makes a reply to it, by key, from nothing."""

    picture: _Picture
    suffix: list[int]
    begin: dict[int, Callable[[], Draw]]
    sequence: TokenSequence | None = None
    waiting: int = 0

    @property
    def left(self) -> list[int]:
        """Tokens that are to be read."""
        return self.suffix[self.sequence.length :] if self.sequence else self.suffix


@dataclass(slots=True, eq=False)
class _Going:
    """A reply that is being drawn."""

    key: int
    prompt: _Prompt
    drawn: Drawn
    seconds: float
    sequence: TokenSequence | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Finished:
    """A reply, or why there is none, and its part of the seconds that were taken."""

    key: int
    result: Drawn | FaceValueError
    seconds: float


class BatchLimits:
    """Limits of a batch that fits into memory, learnt over all sessions of an engine."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self.width = _CPU if loaded.device.type == "cpu" else _GPU
        self.tokens = 0
        """Tokens whose keys and values may be kept; 0 before a picture has been run."""

    def measure(self, prefix: Prefix) -> None:
        """Learn from a first prefix how many bytes a token takes."""
        if self.tokens:
            return
        size = sum(tensor.nbytes for pair in prefix.layers for tensor in pair if tensor is not None)
        self.tokens = max(1, int(kept_bytes(self._loaded) * prefix.length / max(1, size)))


@dataclass(eq=False)
class ContinuousBatch:
    """Replies that are being drawn, and those that wait.

    Parameters
    ----------
    loaded:
        A model that may go on from token sequences as `facevalue.models.hf.trial` found.
    limits:
        What fits into memory.
    note:
        Is told the largest share of tokens that stand for pictures, as by `decoding.SpokenDecoding`.
    """

    loaded: Loaded
    limits: BatchLimits
    note: Callable[[float], None]
    tally: BatchCounts = field(default_factory=BatchCounts)
    _waiting: deque[_Prompt] = field(default_factory=deque)
    _reading: list[_Prompt] = field(default_factory=list)
    _ready: deque[_Going] = field(default_factory=deque)
    _going: list[_Going] = field(default_factory=list)
    _pictures: set[_Picture] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._sequences = Sequences(self.loaded, self.limits.width)
        self._waiting_tokens = 0

    def add(self, group: Group, places: Mapping[int, int], begin: Mapping[int, Callable[[], Draw]]) -> None:
        """Have replies drawn to questions of a group whose prefix ends with its pictures.

        Parameters
        ----------
        group:
            The questions.
        places:
            Each reply's question, by the reply's key.
        begin:
            Makes what is to be drawn, each time anew.
        """
        picture, prompts = _Picture(group), dict[int, _Prompt]()
        for key, place in places.items():
            prompt = prompts.setdefault(place, _Prompt(picture, group.suffixes[place], {}))
            prompt.begin[key] = begin[key]
        for prompt in prompts.values():
            picture.users += len(prompt.begin)
            self._queue(prompt)

    @property
    def busy(self) -> bool:
        """True if something is not done."""
        return bool(self._waiting or self._reading or self._ready or self._going)

    @property
    def hungry(self) -> bool:
        """True if the next pass could take more than there is."""
        return len(self._going) + len(self._ready) + self._waiting_tokens < self.limits.width

    def step(self) -> Iterator[Finished]:
        """Extend all replies by one token, and yield those that are done."""
        began = time.perf_counter()
        self._begin()
        steps: list[tuple[TokenSequence, Sequence[int]]] = []
        for going in self._going:
            assert going.sequence is not None
            steps.append((going.sequence, going.drawn.tokens[-1:]))
        count = len(steps)
        room = self.limits.width - count
        yield from self._admit(room)
        prompts: list[_Prompt] = []
        for prompt in self._reading:
            if tokens := prompt.left[:room]:
                assert prompt.sequence is not None
                steps.append((prompt.sequence, tokens))
                prompts.append(prompt)
                room -= len(tokens)
        if not steps:
            return
        enough = not self.hungry
        finished = [n for n, prompt in enumerate(prompts, count) if len(steps[n][1]) == len(prompt.left)]
        try:
            logits = attempt(lambda arguments: self._sequences.read(*arguments), (steps, [*range(count), *finished]))
        except (Rejected, NotImplementedError) as error:
            yield from self._fail(str(error), prompts)
            return
        if isinstance(logits, OutOfMemory):
            yield from self._shrink(logits, prompts)
            return
        self._count(steps, count, enough=enough)
        self._waiting_tokens -= sum(len(tokens) for _, tokens in steps[count:])
        begun = [self._begin_replies(prompts[n - count]) for n in finished]
        yield from self._draw(logits, [*([going] for going in self._going), *begun], began)

    def _draw(self, logits: "Tensor", rows: Sequence[Sequence[_Going]], began: float) -> Iterator[Finished]:
        """Draw the next token of the replies that each row of the logits is of."""
        replies = [reply for row in rows for reply in row]
        logits, share = mask_picture_tokens(self.loaded, logits)
        self.note(share)
        numbers = [number for number, row in enumerate(rows) for _ in row]
        extend([reply.drawn for reply in replies], logits, numbers, self.loaded.stop_ids)
        seconds = (time.perf_counter() - began) / max(1, len(replies))
        for reply in replies:
            reply.seconds += seconds
        self._going = [reply for reply in self._going if not reply.drawn.is_finished]
        for reply in replies:
            if reply.drawn.is_finished:
                self._leave(reply)
                yield Finished(reply.key, reply.drawn, reply.seconds)
            elif reply.sequence is None:
                self._ready.append(reply)

    def _begin(self) -> None:
        """Go on with replies whose first token is drawn, as many as there is room for; send back what has none."""
        while self._going[1:] and self._token_count() > self.limits.tokens:
            self._send_back(self._going.pop())
        while self._ready and len(self._going) < self.limits.width:
            ready = self._ready[0]
            prompt = ready.prompt
            assert prompt.sequence is not None
            more = shelf_length(prompt.sequence.length + 1)
            if self._going and self._token_count() + more > self.limits.tokens:
                break
            ready.sequence = self._sequences.shelves.fork(prompt.sequence)
            self._going.append(self._ready.popleft())
            self._release(prompt)

    def _admit(self, room: int) -> Iterator[Finished]:
        """Begin to read prompts, until they fill what room there is."""
        room -= sum(len(prompt.left) for prompt in self._reading)
        while self._waiting and room > 0:
            prompt = self._waiting[0]
            prefix = prompt.picture.prefix
            tokens = len(prompt.picture.group.prefix_ids) if prefix is None else 0
            more = tokens + 2 * shelf_length(len(prompt.suffix))
            if (self._going or self._reading or self._ready) and self._token_count() + more > self.limits.tokens:
                return
            self._waiting.popleft()
            if prefix is None:
                prefix = prompt.picture.prefix = self._run(prompt.picture)
            if not isinstance(prefix, Prefix):
                self._waiting_tokens -= len(prompt.suffix)
                for key in prompt.begin:
                    yield Finished(key, prefix, 0.0)
                continue
            prompt.sequence = self._sequences.shelves.begin(prefix, len(prompt.suffix))
            self._reading.append(prompt)
            room -= len(prompt.suffix)

    def _run(self, picture: _Picture) -> Prefix | FaceValueError:
        """Run a prefix, by itself: with others its numbers would be rounded in another way."""
        try:
            assert picture.group.inputs is not None
            prefix = attempt(lambda inputs: Prefix.read_prefixes(self.loaded, inputs), picture.group.inputs)
        except Rejected as error:
            return error
        if isinstance(prefix, Prefix):
            self.limits.measure(prefix)
            self._pictures.add(picture)
        return prefix

    def _begin_replies(self, prompt: _Prompt) -> list[_Going]:
        """Return the replies to a prompt that has been read."""
        self._reading.remove(prompt)
        prompt.waiting = len(prompt.begin)
        return [_Going(key, prompt, Drawn.from_draw(begin()), 0.0) for key, begin in prompt.begin.items()]

    def _leave(self, reply: _Going) -> None:
        """Release what a finished reply has kept."""
        if reply.sequence is None:
            self._release(reply.prompt)
        else:
            reply.sequence.free()
        picture = reply.prompt.picture
        picture.users -= 1
        if not picture.users:
            picture.prefix = None
            self._pictures.discard(picture)

    def _release(self, prompt: _Prompt) -> None:
        """Release a prompt's own keys and values when its last reply has a copy."""
        prompt.waiting -= 1
        if not prompt.waiting:
            prompt.sequence = None

    def _send_back(self, reply: _Going) -> None:
        """Have a reply drawn again from its beginning, before all that waits."""
        if reply.sequence is None:
            self._release(reply.prompt)
        else:
            reply.sequence.free()
        prompt = reply.prompt
        self._queue(_Prompt(prompt.picture, prompt.suffix, {reply.key: prompt.begin[reply.key]}), first=True)

    def _queue(self, prompt: _Prompt, *, first: bool = False) -> None:
        (self._waiting.appendleft if first else self._waiting.append)(prompt)
        self._waiting_tokens += len(prompt.suffix)

    def _shrink(self, problem: OutOfMemory, prompts: Sequence[_Prompt]) -> Iterator[Finished]:
        """Keep half as much from here on; what doesn't fit alone has failed."""
        if len(self._going) + len(self._ready) + len(self._reading) <= 1:
            yield from self._fail(str(problem), prompts)
            return
        self.limits.tokens = self._token_count() // 2
        while self._ready:
            self._send_back(self._ready.pop())
        for prompt in self._reading:
            self._waiting_tokens -= len(prompt.left)
            prompt.sequence = None
            self._queue(prompt, first=True)
        self._reading.clear()

    def _fail(self, reason: str, prompts: Sequence[_Prompt]) -> Iterator[Finished]:
        """Abandon the replies of a failed pass."""
        going, self._going = self._going, []
        for reply in going:
            self._leave(reply)
            yield Finished(reply.key, Rejected(reason), reply.seconds)
        for prompt in prompts:
            self._waiting_tokens -= len(prompt.left)
            for reply in self._begin_replies(prompt):
                self._leave(reply)
                yield Finished(reply.key, Rejected(reason), reply.seconds)

    def _token_count(self) -> int:
        """Tokens whose keys and values are kept, rows that are not filled yet included."""
        prompts = {id(ready.prompt): ready.prompt for ready in self._ready}.values()
        single = [prompt.sequence.shelf.length for prompt in (*self._reading, *prompts) if prompt.sequence]
        pictures = sum(picture.prefix.length for picture in self._pictures if isinstance(picture.prefix, Prefix))
        return self._sequences.shelves.tokens + sum(single) + pictures

    def _count(self, steps: Sequence[tuple[TokenSequence, Sequence[int]]], replies: int, *, enough: bool) -> None:
        tokens = sum(len(tokens_of_step) for _, tokens_of_step in steps)
        self.tally.passes += 1
        self.tally.tokens += tokens
        self.tally.drawn += replies
        self.tally.full_passes += enough
        self.tally.full_tokens += enough * tokens
