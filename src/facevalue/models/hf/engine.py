"""Engine behind `hf/...`: questions about pictures in, exact probabilities or drawn replies out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing, suppress
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Self, TypeVar

from facevalue.errors import DataError
from facevalue.models._chat import constrained_texts as texts_of
from facevalue.models.hf.calls import Rejected
from facevalue.models.hf.chat import BUSY, Group, prepare
from facevalue.models.hf.check import Schedule, SelfCheck
from facevalue.models.hf.constraints import ConstrainedReader, Constraint, Constraints
from facevalue.models.hf.decoding import CopiedDecoding, Decoding, SharedDecoding, SpokenDecoding
from facevalue.models.hf.joint import Joint, JointUnit, Key, Room, joints
from facevalue.models.hf.loading import Loaded, load_model
from facevalue.models.hf.open_replies import Opening, OpenReplies
from facevalue.models.hf.options import OptionReader, tokenise_options
from facevalue.models.hf.packing import OutOfMemory, Row, TokenBudget, attempt, work_in_packs
from facevalue.models.hf.prefix import Prefix
from facevalue.models.hf.prompts import Prompts
from facevalue.models.hf.resumption import ModelState
from facevalue.models.hf.sampling import Draw, Drawn, draw_pack
from facevalue.models.hf.scoring import (
    DrawnReply,
    Evidence,
    Failed,
    Habits,
    Job,
    OptionScore,
    PreparedPrompts,
    ScoreJob,
    Tokens,
    Wish,
    score_pack,
)
from facevalue.models.hf.trial import COPIES, STEPS, TREE, Trials
from facevalue.models.hf.vocabulary import TokenVocabulary
from facevalue.thinking import unsaid_tokens
from facevalue.types import Option, Question, Sampling

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["DrawnReply", "Engine", "Failed", "PreparedPrompts", "Wish"]

_STEPS = 8
"""So many tokens of a reply weigh as one of a prompt when packs are made: they go through the model one at a time."""

_PLAIN = Question("What is shown?", ())
"""A question that no processor has anything against."""
_MADE_UP = [_PLAIN, Question("What is shown here, and where?", ()), Question("What is it? Answer briefly.", ())]

Result = TypeVar("Result", OptionScore, DrawnReply)


class Engine:
    """A loaded model, asked about one stimulus, or about several at a time.

    What all questions about a picture have in common is run once; what differs is packed, as many questions at a time
    as memory allows, and so are the prefixes of several pictures. Now and then a question is checked by a plain forward
    pass (`facevalue.models.hf.check.Schedule`).

    `undecided` is the largest share of the replies to one question that was not followed until it was decided,
    `unspoken` the largest probability of the tokens that stand for pictures, at any place. These are never drawn nor
    counted: what the others have is scaled up to 1.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.check = SelfCheck(loaded.tolerance)
        self.undecided = self.unspoken = 0.0
        size = int(loaded.model.get_output_embeddings().weight.shape[0])
        self._vocabulary = TokenVocabulary.from_tokenizer(loaded.tokenizer, size, loaded.stop_ids)
        self._budget = TokenBudget(loaded)
        self.room = Room(loaded)
        self._prompts = Prompts(loaded)
        self._habits = Habits()
        self._schedules = {"score": Schedule(), "generate": Schedule()}  # each works in its own way
        self.trials = Trials(
            loaded,
            {TREE: self._share_prefixes, COPIES: self._copy_states, STEPS: partial(self._copy_states, steps=True)},
        )
        self._read = lru_cache(maxsize=1024)(self._options)
        self.opening = Opening.for_model(loaded, self.check, self._draw, self._reply, self._note_unspoken)

    @classmethod
    def load(cls, path: str, **options: Any) -> Self:
        """Load a model as `facevalue.models.hf.loading.load_model` does."""
        return cls(load_model(path, **options))

    @cached_property
    def _constraints(self) -> Constraints:
        return Constraints(self._vocabulary)

    def _options(self, options: tuple[Option, ...], constrain: bool = False) -> tuple[OptionReader, list[list[Tokens]]]:
        reader = (ConstrainedReader if constrain else OptionReader)(options, self._vocabulary)
        return reader, tokenise_options(options, self.loaded.tokenizer, self._vocabulary)

    def score(
        self,
        images: "Sequence[Image]",
        questions: Sequence[Question],
        sampling: Sampling | Sequence[Sampling],
        constrain: bool | Sequence[bool] = False,
    ) -> Iterator[tuple[int, OptionScore | Failed, float]]:
        """Weigh the options of questions about the same pictures; `sampling` and `constrain` are of all or of each.

        Yields a question's number, its score, and its part of the seconds it took, in any order. A `DataError` says
        that the pictures cannot be processed, a `ModelError` that the self-check found what rounding cannot explain.
        """
        for (_, number), score, seconds in self.scores([self.to_score(images, questions, sampling, constrain)]):
            yield number, score, seconds

    def to_score(
        self,
        images: "Sequence[Image]",
        questions: Sequence[Question],
        sampling: Sampling | Sequence[Sampling],
        constrain: bool | Sequence[bool] = False,
    ) -> PreparedPrompts[ScoreJob]:
        """Prepare what `scores` takes; parameters and `DataError` as of `score`."""
        samplings = [sampling] * len(questions) if isinstance(sampling, Sampling) else sampling
        held = [constrain] * len(questions) if isinstance(constrain, bool) else constrain
        readers: dict[int, tuple[OptionReader, list[list[Tokens]]]] = {}
        refused: dict[int, str] = {}
        for number, question in enumerate(questions):
            try:
                readers[number] = self._read(question.options, held[number])
            except DataError as error:
                refused[number] = str(error)
        groups, more = self._groups(images, {number: questions[number] for number in readers})
        refused |= more
        jobs: dict[int, ScoreJob] = {}
        for group, numbers in groups:
            for place, number in enumerate(numbers):
                reader, ways = readers[number]
                longest = max(samplings[number].max_tokens, *(len(way) for spelled in ways for way in spelled))
                if reason := group.excess(place, longest, self.loaded.context):
                    refused[number] = reason
                else:
                    jobs[number] = ScoreJob(place, reader, ways, samplings[number], _prompt_tokens(group, place))
        groups_asked: list[tuple[Group, dict[int, int]]] = []
        for group, numbers in groups:
            places = {number: jobs[number].member for number in numbers if number in jobs}
            order = sorted(places, key=lambda number: group.suffixes[places[number]])
            groups_asked.append((group, {number: places[number] for number in order}))
        return PreparedPrompts(jobs, groups_asked, refused)

    def scores(self, batch: Sequence[PreparedPrompts[ScoreJob]]) -> Iterator[tuple[Key, OptionScore | Failed, float]]:
        """Weigh the options of questions about several stimuli, those that memory allows in one pass.

        Yields as `score` does, the number of the stimulus before that of the question.
        """

        def row(job: ScoreJob, suffix: list[int]) -> Row:
            return Row(suffix, len(self._habits.guess(job)))

        def work(decoding: Decoding, pack: dict[Key, int]) -> list[OptionScore]:
            jobs = [replace(batch[at].jobs[number], member=member) for (at, number), member in pack.items()]
            return score_pack(decoding, jobs, self._vocabulary, self._habits)

        def kind(job: ScoreJob) -> str:
            return "held replies weighed" if job.reader.alone else "replies weighed"

        for key, score, seconds in self._work_jointly("score", batch, row, kind, work):
            if isinstance(score, OptionScore):
                self.undecided = max(self.undecided, score.undecided)
            yield key, score, seconds

    def generate(
        self, images: "Sequence[Image]", wishes: Sequence[Wish]
    ) -> Iterator[tuple[int, DrawnReply | Failed, float]]:
        """Draw replies to questions about the same pictures; several wishes may be of the same question.

        Yields a wish's number, the reply, and its part of the seconds it took, in any order. Errors as of `score`.
        """
        for (_, number), reply, seconds in self.replies([self.to_reply(images, wishes)]):
            yield number, reply, seconds

    def to_reply(self, images: "Sequence[Image]", wishes: Sequence[Wish]) -> PreparedPrompts[Wish]:
        """Prepare what `replies` takes; parameters and `DataError` as of `generate`."""
        same: dict[object, list[int]] = {}
        for number, wish in enumerate(wishes):
            question = wish.question
            same.setdefault((question.system, question.turns, question.prompt), []).append(number)
        alike = {numbers[0]: numbers for numbers in same.values()}
        groups, more = self._groups(images, {first: wishes[first].question for first in alike})
        refused = {n: reason for first, reason in more.items() for n in alike[first]}
        groups_asked: list[tuple[Group, dict[int, int]]] = []
        for group, firsts in groups:
            places: dict[int, int] = {}
            for place, first in enumerate(firsts):
                for number in alike[first]:
                    if reason := self._hindrance(group, place, wishes[number]):
                        refused[number] = reason
                    else:
                        places[number] = place
            # Replies of about the same length, to questions that begin alike, go into one pack.
            keys = {n: (wishes[n].sampling.max_tokens, group.suffixes[p]) for n, p in places.items()}
            groups_asked.append((group, {number: places[number] for number in sorted(places, key=keys.__getitem__)}))
        return PreparedPrompts(dict(enumerate(wishes)), groups_asked, refused)

    def replies(self, batch: Sequence[PreparedPrompts[Wish]]) -> Iterator[tuple[Key, DrawnReply | Failed, float]]:
        """Draw replies to questions about several stimuli, as `scores` weighs them, and open ones together."""
        with closing(OpenReplies[int](self.opening)) as session:
            packs = [session.add(at, prepared) for at, prepared in enumerate(batch)]
            yield from self.replies_in_packs(packs)
            for at, number, reply, seconds in session.replies(to_the_end=True):
                yield (at, number), reply, seconds

    def replies_in_packs(
        self, batch: Sequence[PreparedPrompts[Wish]]
    ) -> Iterator[tuple[Key, DrawnReply | Failed, float]]:
        """Draw replies that no session of open ones has taken."""
        groups = [(at, *group) for at, prepared in enumerate(batch) for group in prepared.groups]
        prompts = {(at, n): _prompt_tokens(group, p) for at, group, places in groups for n, p in places.items()}

        def row(wish: Wish, suffix: list[int]) -> Row:
            return Row(suffix, 1 + wish.sampling.max_tokens // _STEPS)

        def work(decoding: Decoding, pack: dict[Key, int]) -> list[DrawnReply]:
            wishes = [batch[at].jobs[number] for at, number in pack]
            draws = [self._draw(member, wish) for member, wish in zip(pack.values(), wishes, strict=True)]
            draws_of_pack = draw_pack(decoding, draws, self.loaded.stop_ids)
            return [self._reply(draw, prompts[key]) for key, draw in zip(pack, draws_of_pack, strict=True)]

        def kind(wish: Wish) -> str:
            return "held replies drawn" if wish.constrain else "replies drawn"

        yield from self._work_jointly("generate", batch, row, kind, work)

    def _draw(self, member: int, wish: Wish) -> Draw:
        return Draw(member, wish.sampling, wish.seed, self._start_constraint(wish))

    @cached_property
    def _unsaid(self) -> tuple[frozenset[int], bool]:
        return unsaid_tokens(self.loaded.tokenizer)

    def _reply(self, drawing: Drawn, prompt: int) -> DrawnReply:
        with BUSY:
            words = self.loaded.tokenizer
            left_out, marked = self._unsaid
            tokens = [token for token in drawing.tokens if token not in left_out] if marked else drawing.tokens
            text = words.decode(tokens, skip_special_tokens=not marked, clean_up_tokenization_spaces=False)
        text = text.strip() if drawing.draw.constraint else text
        return DrawnReply(text, drawing.ended, prompt, drawing.count, drawing.tokens, tuple(drawing.logprobs))

    def _hindrance(self, group: Group, place: int, wish: Wish) -> str | None:
        """Reason why a reply cannot be drawn; None if it can."""
        try:
            self._start_constraint(wish)
        except DataError as error:
            return str(error)
        return group.excess(place, wish.sampling.max_tokens, self.loaded.context)

    def _start_constraint(self, wish: Wish) -> Constraint | None:
        return self._constraints.start(texts_of(wish.question.options)) if wish.constrain else None

    def rehearse(self) -> None:
        """Try to share on a made-up picture, so that it is known before the first question whether that is possible."""
        from PIL import Image  # noqa: PLC0415

        with suppress(DataError):  # what the study asks may suit the processor better
            picture = Image.effect_noise((256, 192), 99).convert("RGB")
            for group in prepare(self.loaded, [picture] * self.loaded.sees, _MADE_UP):
                self.trials.allow(f"{group.kind}, a rehearsal", group)

    def _share_prefixes(self, groups: Sequence[Group]) -> Callable[[Sequence[list[int]], Sequence[int]], Decoding]:
        prefix = Prefix.read_prefixes(self.loaded, *(group.inputs for group in groups if group.inputs is not None))
        return partial(SharedDecoding, prefix)

    def _copy_states(
        self, groups: Sequence[Group], *, steps: bool = False
    ) -> Callable[[Sequence[list[int]], Sequence[int]], Decoding]:
        states = [ModelState.after(self.loaded, group.inputs) for group in groups if group.inputs is not None]
        return partial(CopiedDecoding, states, steps=steps)

    def _groups(
        self, images: "Sequence[Image]", questions: Mapping[int, Question]
    ) -> tuple[list[tuple[Group, list[int]]], dict[int, str]]:
        """Return groups with their members' numbers, and why the other questions cannot be asked."""
        numbers, refused = list(questions), dict[int, str]()
        if not numbers:
            return [], refused
        try:
            groups = self._prompts.groups(images, list(questions.values()))
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
        halves = (numbers[:half], numbers[half:])
        return [number for half_numbers in halves for number in self._sound(images, questions, half_numbers, refused)]

    def _work_jointly(
        self,
        mode: str,
        batch: Sequence[PreparedPrompts[Job]],
        row: Callable[[Job, list[int]], Row],
        kind: Callable[[Job], str],
        work: Callable[[Decoding, dict[Key, int]], list[Result]],
    ) -> Iterator[tuple[Key, Result | Failed, float]]:
        """Work on questions about several stimuli; check some of them now and then."""
        schedule, units, chosen_keys = self._schedules[mode], list[JointUnit](), set[Key]()
        rows: dict[Key, Row] = {}
        for at, prepared in enumerate(batch):
            yield from (((at, number), Failed(reason), 0.0) for number, reason in prepared.refused.items())
            schedule.stimuli += bool(prepared.jobs)
            for group, places in prepared.groups:
                if places:
                    request_kind = f"{group.kind}, {min(kind(prepared.jobs[n]) for n in places)}"
                    allowed = group.inputs is None or self.trials.allow(request_kind, group)
                    unit = JointUnit(at, group, places, self.trials.way(request_kind))
                    units.append(unit if allowed and unit.worth_sharing else unit.without_sharing)
                    rows |= {(at, n): row(prepared.jobs[n], unit.read_at_once(place)) for n, place in places.items()}
                    number = schedule.draw(list(places))
                    chosen_keys |= set() if number is None else {(at, number)}
        if self.trials.needs_single_prefixes:
            self.room.halve(0)
        for together in joints(units, self.room.tokens()):
            yield from self._run(schedule, together, chosen_keys, rows, work)

    def _run(
        self,
        schedule: Schedule,
        units: Sequence[JointUnit],
        chosen_keys: AbstractSet[Key],
        rows: Mapping[Key, Row],
        work: Callable[[Decoding, dict[Key, int]], list[Result]],
    ) -> Iterator[tuple[Key, Result | Failed, float]]:
        """Work on units whose prefixes go through the model together, in packs."""
        joint = Joint(units)
        prefix = self._prefix(units)
        if isinstance(prefix, Failed):
            if len(units) == 1:
                yield from ((key, prefix, 0.0) for key in joint.members)
                return
            half = len(units) // 2
            for some in (units[:half], units[half:]):
                yield from self._run(schedule, some, chosen_keys, rows, work)
            return

        def work_on_pack(pack: list[Key]) -> list[Result | Failed]:
            try:
                decoding = SpokenDecoding(joint.decoding(self.loaded, prefix, pack), self.loaded, self._note_unspoken)
                return list(work(decoding, {key: joint.members[key] for key in pack}))
            except DataError as error:  # the processor, where each question goes through it by itself
                if len(pack) == 1:
                    return [Failed(_fault(error))]
                smaller = [[key] for key in pack]
            except Rejected as error:
                smaller = [list(keys) for _, keys in groupby(pack, lambda key: key[0])]
                if len(smaller) == 1:
                    return [Failed(str(error))] * len(pack)
            return [result for keys in smaller for result in work_on_pack(keys)]

        placed = {key: rows[key]._replace(place=joint.rows[member]) for key, member in joint.members.items()}
        length = 0 if prefix is None else prefix.length
        lots = joint.lots(self.loaded, prefix, placed)
        packs = (work_in_packs(lot, [placed[key] for key in lot], length, self._budget, work_on_pack) for lot in lots)
        for pack, results, seconds in chain.from_iterable(packs):
            if isinstance(results, OutOfMemory):
                yield from ((key, Failed(str(results)), seconds) for key in pack)
                continue
            # Questions stay in their places, so that what others may do to them is seen, and none is believed before.
            scored = {
                key: outcome for key, outcome in zip(pack, results, strict=True) if not isinstance(outcome, Failed)
            }
            tokens = {key: outcome.prompt_tokens + _longest(outcome.evidence) for key, outcome in scored.items()}
            checked = schedule.choose(pack, chosen_keys) | (schedule.longest_question(tokens) if prefix else set())
            for key, outcome in scored.items():
                if key in checked:
                    unit = joint.unit(key)
                    self.check.compare(self.loaded, unit.group, unit.places[key[1]], outcome.evidence)
            yield from ((key, result, seconds) for key, result in zip(pack, results, strict=True))

    def _prefix(self, units: Sequence[JointUnit]) -> Prefix | ModelState | Failed | None:
        """Run the prefixes of some units; None if they have none."""
        inputs = [unit.group.inputs for unit in units if unit.group.inputs is not None]
        if not inputs:
            return None

        def run(inputs_of_call: list[dict[str, Any]]) -> Prefix | ModelState:
            return (
                ModelState.after(self.loaded, *inputs_of_call)
                if units[0].way
                else Prefix.read_prefixes(self.loaded, *inputs_of_call)
            )

        tokens = len(units) * max(len(unit.group.prefix_ids) for unit in units)
        try:
            with self.room.measure_memory(tokens):
                prefix = attempt(run, inputs)
        except Rejected as error:
            if len(units) > 1:  # each by itself from here on
                self.room.halve(0)
            return Failed(str(error))
        if isinstance(prefix, OutOfMemory):
            self.room.halve(tokens)
            return Failed(str(prefix))
        return prefix

    def _note_unspoken(self, share: float) -> None:
        self.unspoken = max(self.unspoken, share)


def _fault(error: DataError) -> str:
    """Return what is wrong with a question, where others about the same pictures can be asked."""
    cause = error.__cause__
    return f"The model's processor rejects the question: {type(cause).__name__}: {cause}" if cause else str(error)


def _prompt_tokens(group: Group, place: int) -> int:
    return len(group.prefix_ids) + len(group.suffixes[place])


def _longest(evidence: Sequence[Evidence]) -> int:
    return max((len(step.reply) for step in evidence), default=0)
