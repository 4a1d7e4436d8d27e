"""Engine behind `hf/...`: questions about pictures in, exact probabilities or drawn replies out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from facevalue.errors import DataError
from facevalue.models._structured import wanted
from facevalue.models.hf._constrain import Constraint, Constraints
from facevalue.models.hf.chat import Group, prepare
from facevalue.models.hf.check import Schedule, SelfCheck
from facevalue.models.hf.constrained import ConstrainedReader
from facevalue.models.hf.decoding import Decoding, PlainDecoding, SharedDecoding, SpokenDecoding
from facevalue.models.hf.loaded import Loaded, load_model
from facevalue.models.hf.options import OptionReader, written
from facevalue.models.hf.packing import Budget, OutOfMemory, Row, attempt, packed
from facevalue.models.hf.prefix import Prefix
from facevalue.models.hf.sampling import Draw, draw_pack
from facevalue.models.hf.scoring import Evidence, Habits, Score, Scored, Tokens, score_pack
from facevalue.models.hf.vocabulary import Vocabulary
from facevalue.types import Option, Question, Sampling

if TYPE_CHECKING:
    from PIL.Image import Image

_STEPS = 8
"""So many tokens of a reply weigh as one of a prompt when packs are made: they go through the model one at a time."""

_PLAIN = Question("What is shown?", ())
"""A question that no processor has anything against."""

Result = TypeVar("Result", Score, "Reply")


@dataclass(frozen=True, slots=True)
class Wish:
    """A reply that is wanted. The same seed, 0 to 2**64 - 1, gives the same random numbers, whatever else is asked."""

    question: Question
    sampling: Sampling
    seed: int = 0
    constrain: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that was drawn, verbatim but for the blanks around it if it was constrained.

    `prompt_tokens` has pictures expanded, and `completion_tokens` the end of the reply; `tokens` doesn't have the one
    that ended it. `logprobs` are natural logs at temperature 1, before any constraint.
    """

    text: str
    ended: bool
    prompt_tokens: int
    completion_tokens: int
    tokens: Tokens
    logprobs: tuple[float, ...]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What the model said of each token."""
        return tuple(Evidence(self.tokens[:n], self.tokens[n], log) for n, log in enumerate(self.logprobs))


@dataclass(frozen=True, slots=True)
class Failed:
    """A question that could not be asked, and why, for people."""

    reason: str


class Engine:
    """A loaded model, asked about one stimulus at a time.

    What all questions about a picture have in common is run once; what differs is packed, as many questions at a time
    as memory allows. Now and then a question is checked by a plain forward pass (`facevalue.models.hf.check.Schedule`).

    `undecided` is the largest share of the replies to one question that was not followed until it was decided,
    `unspoken` the largest probability of the tokens that stand for pictures, at any place. These are never drawn nor
    counted: what the others have is scaled up to 1.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.check = SelfCheck(loaded.tolerance)
        self.undecided = self.unspoken = 0.0
        size = int(loaded.model.get_output_embeddings().weight.shape[0])
        self._vocabulary = Vocabulary.of(loaded.tokenizer, size, loaded.stop_ids)
        self._budget = Budget(loaded)
        self._habits = Habits()
        self._schedules = {"score": Schedule(), "generate": Schedule()}  # each works in its own way
        self._read = lru_cache(maxsize=256)(self._options)

    @classmethod
    def load(cls, path: str, **how: Any) -> Self:
        """Load a model as `facevalue.models.hf.loaded.load_model` does."""
        return cls(load_model(path, **how))

    @cached_property
    def _constraints(self) -> Constraints:
        return Constraints(self._vocabulary)

    def _options(self, options: tuple[Option, ...], constrain: bool = False) -> tuple[OptionReader, list[list[Tokens]]]:
        reader = (ConstrainedReader if constrain else OptionReader)(options, self._vocabulary)
        return reader, written(options, self.loaded.tokenizer, self._vocabulary)

    def score(
        self,
        images: "Sequence[Image]",
        questions: Sequence[Question],
        sampling: Sampling | Sequence[Sampling],
        constrain: bool | Sequence[bool] = False,
    ) -> Iterator[tuple[int, Score | Failed, float]]:
        """Weigh the options of questions about the same pictures; `sampling` and `constrain` are of all or of each.

        Yields a question's number, its score, and its part of the seconds it took, in any order. A `DataError` says
        that the pictures cannot be processed, a `ModelError` that the self-check found what rounding cannot explain.
        """
        samplings = [sampling] * len(questions) if isinstance(sampling, Sampling) else sampling
        held = [constrain] * len(questions) if isinstance(constrain, bool) else constrain
        read: dict[int, tuple[OptionReader, list[list[Tokens]]]] = {}
        for number, question in enumerate(questions):
            try:
                read[number] = self._read(question.options, held[number])
            except DataError as error:
                yield number, Failed(str(error)), 0.0
        schedule = self._schedules["score"]
        schedule.stimuli += bool(read)
        groups, refused = self._groups(images, {number: questions[number] for number in read})
        yield from ((number, Failed(reason), 0.0) for number, reason in refused.items())
        for group, numbers in groups:
            jobs: dict[int, Scored] = {}
            for place, number in enumerate(numbers):
                reader, ways = read[number]
                longest = max(samplings[number].max_tokens, *(len(way) for each in ways for way in each))
                if reason := group.excess(place, longest, self.loaded.context):
                    yield number, Failed(reason), 0.0
                    continue
                jobs[number] = Scored(place, reader, ways, samplings[number], _prompt_tokens(group, place))
            places = {n: jobs[n].member for n in sorted(jobs, key=lambda n: group.suffixes[jobs[n].member])}
            rows = [Row(group.suffixes[place], len(self._habits.guess(jobs[n]))) for n, place in places.items()]
            for number, score, seconds in self._run(schedule, group, places, rows, partial(self._score, jobs)):
                if isinstance(score, Score):
                    self.undecided = max(self.undecided, score.undecided)
                yield number, score, seconds

    def _score(self, jobs: Mapping[int, Scored], decoding: Decoding, pack: list[int]) -> list[Score]:
        return score_pack(decoding, [jobs[number] for number in pack], self._vocabulary, self._habits)

    def generate(
        self, images: "Sequence[Image]", wishes: Sequence[Wish]
    ) -> Iterator[tuple[int, Reply | Failed, float]]:
        """Draw replies to questions about the same pictures; several wishes may be of the same question.

        Yields a wish's number, the reply, and its part of the seconds it took, in any order. Errors as of `score`.
        """
        same: dict[object, list[int]] = {}
        for number, wish in enumerate(wishes):
            question = wish.question
            same.setdefault((question.system, question.turns, question.prompt), []).append(number)
        schedule = self._schedules["generate"]
        schedule.stimuli += bool(same)
        alike = {numbers[0]: numbers for numbers in same.values()}
        groups, refused = self._groups(images, {first: wishes[first].question for first in alike})
        yield from ((n, Failed(reason), 0.0) for first, reason in refused.items() for n in alike[first])
        for group, firsts in groups:
            places: dict[int, int] = {}
            for place, first in enumerate(firsts):
                for number in alike[first]:
                    if reason := self._hindrance(group, place, wishes[number]):
                        yield number, Failed(reason), 0.0
                    else:
                        places[number] = place
            keys = {n: (wishes[n].sampling.max_tokens, group.suffixes[p]) for n, p in places.items()}
            order = {number: places[number] for number in sorted(places, key=keys.__getitem__)}
            rows = [Row(group.suffixes[p], 1 + wishes[n].sampling.max_tokens // _STEPS) for n, p in order.items()]
            yield from self._run(schedule, group, order, rows, partial(self._draw, wishes, places, group))

    def _hindrance(self, group: Group, place: int, wish: Wish) -> str | None:
        """Why a reply cannot be drawn; None if it can."""
        try:
            self._held(wish)
        except DataError as error:
            return str(error)
        return group.excess(place, wish.sampling.max_tokens, self.loaded.context)

    def _held(self, wish: Wish) -> Constraint | None:
        return self._constraints.start(wanted(wish.question.options)) if wish.constrain else None

    def _draw(
        self, wishes: Sequence[Wish], places: Mapping[int, int], group: Group, decoding: Decoding, pack: list[int]
    ) -> list[Reply]:
        draws = [Draw(places[n], wishes[n].sampling, wishes[n].seed, self._held(wishes[n])) for n in pack]
        out = []
        for drawn in draw_pack(decoding, draws, self.loaded.stop_ids):
            text = self.loaded.tokenizer.decode(
                drawn.tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
            )
            prompt = _prompt_tokens(group, drawn.draw.member)
            text = text.strip() if drawn.draw.constraint else text
            out.append(Reply(text, drawn.ended, prompt, drawn.count, drawn.tokens, tuple(drawn.logprobs)))
        return out

    def _groups(
        self, images: "Sequence[Image]", questions: Mapping[int, Question]
    ) -> tuple[list[tuple[Group, list[int]]], dict[int, str]]:
        """Return groups with their members' numbers, and why the other questions cannot be asked."""
        numbers, refused = list(questions), dict[int, str]()
        if not numbers:
            return [], refused
        try:
            groups = prepare(self.loaded, images, list(questions.values()))
        except DataError:
            prepare(self.loaded, images, [_PLAIN])  # it is the pictures: no question is to blame
            numbers = self._sound(images, questions, numbers, refused)
            groups = prepare(self.loaded, images, [questions[number] for number in numbers]) if numbers else []
        return [(group, [numbers[member] for member in group.members]) for group in groups], refused

    def _sound(
        self, images: "Sequence[Image]", questions: Mapping[int, Question], numbers: list[int], refused: dict[int, str]
    ) -> list[int]:
        """Return which questions can be asked; enter what is wrong with the others, found by halving."""
        try:
            prepare(self.loaded, images, [questions[number] for number in numbers])
        except DataError as error:
            if len(numbers) == 1:
                refused[numbers[0]] = _fault(error)
                return []
        else:
            return numbers
        half = len(numbers) // 2
        parts = (numbers[:half], numbers[half:])
        return [number for part in parts for number in self._sound(images, questions, part, refused)]

    def _run(
        self,
        schedule: Schedule,
        group: Group,
        places: Mapping[int, int],
        rows: Sequence[Row],
        work: Callable[[Decoding, list[int]], list[Result]],
    ) -> Iterator[tuple[int, Result | Failed, float]]:
        """Work on numbered questions of one group in packs; check one of them now and then."""
        if not places:
            return
        decoding: Callable[[], Decoding] = partial(PlainDecoding, self.loaded, group)
        length = 0
        if group.inputs is not None:
            prefix = attempt(partial(Prefix.of, self.loaded), group.inputs)
            if isinstance(prefix, OutOfMemory):
                yield from ((number, Failed(str(prefix)), 0.0) for number in places)
                return
            decoding, length = partial(SharedDecoding, prefix, group.suffixes), prefix.length
        drawn = schedule.draw(list(places))

        def grown(pack: list[int]) -> list[Result | Failed]:
            try:
                return list(work(SpokenDecoding(decoding(), self.loaded, self._unspoken), pack))
            except DataError as error:  # the processor, where each question goes through it by itself
                if len(pack) == 1:
                    return [Failed(_fault(error))]
            return [result for number in pack for result in grown([number])]

        for pack, results, seconds in packed(list(places), rows, length, self._budget, grown):
            if isinstance(results, OutOfMemory):
                yield from ((number, Failed(str(results)), seconds) for number in pack)
                continue
            # Questions stay in their places, so that what others may do to them is seen, and none is believed before.
            checked = schedule.choose(pack, drawn)
            for number, result in zip(pack, results, strict=True):
                if number == checked and not isinstance(result, Failed):
                    self.check.compare(self.loaded, group, places[number], result.evidence)
            yield from ((number, result, seconds) for number, result in zip(pack, results, strict=True))

    def _unspoken(self, share: float) -> None:
        self.unspoken = max(self.unspoken, share)


def _fault(error: DataError) -> str:
    """Return what is wrong with a question, where others about the same pictures can be asked."""
    cause = error.__cause__
    return f"The model's processor rejects the question: {type(cause).__name__}: {cause}" if cause else str(error)


def _prompt_tokens(group: Group, place: int) -> int:
    return len(group.prefix_ids) + len(group.suffixes[place])
