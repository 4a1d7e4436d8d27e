"""Tasks of Inspect's from studies: their options, samples, and what asks, reads and estimates."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl
from inspect_ai import Epochs, Task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import Content, GenerateConfig, ModelOutput
from inspect_ai.scorer import NOANSWER, Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from facevalue import studies
from facevalue.arguments import split_names
from facevalue.design import Order
from facevalue.errors import FaceValueError, SettingError, UnknownNameError
from facevalue.measures.estimates import label_columns
from facevalue.measures.multitest import leading_families
from facevalue.models._chat import SEED_BITS, exact, image_urls, response_of
from facevalue.models.inspect.calls import messages
from facevalue.models.inspect.providers import AskedModel
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.settings import Setting, to_setting_type
from facevalue.protocol.study import Study
from facevalue.protocol.toml_tables import find_variants
from facevalue.protocol.variants import add_interventions
from facevalue.records.base import RecordedReply, StudyAsked, content_of
from facevalue.records.inspect_log import ASKED, CONTENT, DRAWN, recorded_reply
from facevalue.records.model import response_to
from facevalue.runs.checks import check_options, check_shown
from facevalue.runs.outside_runs import asked_of, study_asked
from facevalue.runs.requests import RequestBuilder, TrialNumbers, draw_seed, picture_share
from facevalue.runs.settings import RunSettings
from facevalue.store.schema import PICTURE_SHARE
from facevalue.store.writer import to_frame
from facevalue.thinking import remove_thinking
from facevalue.types import OptionValue, Question, Request, Response, Status

MOST = 20_000
"""Most requests of a task: each costs Inspect tens of milliseconds and two kilobytes, and FaceValue a thousandth."""


class _Trial(NamedTuple):
    question: Question
    stimulus: int
    levels: Mapping[str, str | None]


class AskedTrials:
    """Trials of a task, in the order of asking.

    Pictures are made when a sample begins, and not kept.
    """

    def __init__(self, study_asked: StudyAsked, study: Study) -> None:
        self.asked, self.study = study_asked, study
        self.repeats = 1 if study_asked.exact else study.repeats
        if study.draws.reasks:
            raise SettingError(
                f"{study.name} with these settings asks again after a reply without an answer, which no epoch of "
                "Inspect's does: 'facevalue run' asks it."
            )
        chosen = (
            None if study_asked.sample is None else study.sample(study_asked.sample, study_asked.seed, self.repeats)
        )
        count = (study.design.size if chosen is None else chosen.size) * self.repeats
        if count > MOST:
            raise SettingError(
                f"{count:,} requests are more than the {MOST:,} that a task of Inspect's takes here: choose a part "
                f"(-T sample={MOST}), or ask by 'facevalue run', which takes any number."
            )
        self._builder = RequestBuilder(study, study_asked.exact)
        order = Order(study.design, study.asked_together, study_asked.seed, chosen)
        places = np.concatenate([np.empty(0, np.int64), *order.pieces(MOST)]).astype(np.int64)
        self._trials: dict[int, _Trial] = {}
        if places.size:
            numbers = places if chosen is None else chosen[places]
            chunk = self._builder.chunk(numbers, np.ones((numbers.size, 1), dtype=np.bool_))
            for first, stop, stimulus, levels in chunk.shown:
                for row in range(first, stop):
                    self._trials[int(numbers[row])] = _Trial(chunk.questions[row], stimulus, levels)

    def request(self, trial: int, repeat: int) -> Request:
        """The request of a sample.

        Raises
        ------
        SettingError
            The study draws fewer replies to a trial.
        """
        if not 0 <= repeat < self.repeats:
            raise SettingError(
                f"{self.study.name} asks each trial {self.repeats} times here, with seeds of its own: leave out "
                "--epochs, or choose other seeds (-T seeds=1,2,3)."
            )
        question, stimulus, levels = self._trials[trial]
        draws, seed = self.study.draws, self._builder.seeds[repeat]
        return Request(
            trial, repeat, draw_seed(seed, question.draw) if question.draw else seed,
            self.study.source.stimulus(stimulus, levels), question, question.sampling or draws.sampling,
            self.asked.exact, draws.constrain,
        )  # fmt: skip

    def samples(self) -> Iterator[Sample]:
        """One sample per trial: what is said, the trial number as its id, factors as its metadata; no picture yet."""
        for trial, entry in self._trials.items():
            request = self.request(trial, 0)
            factors = {**entry.levels, **entry.question.factors}
            facts = {name: level for name, level in factors.items() if level is not None}
            yield Sample(input=messages((), entry.question), id=trial, metadata={**facts, CONTENT: content_of(request)})

    def read_responses(self, responses: Sequence[Response]) -> pl.DataFrame:
        """Answers as the study understands them, one row each."""
        shares: list[float | None] | None = None
        if PICTURE_SHARE in self.study.reading.columns:
            stimuli = [self.request(response.trial, response.repeat).stimulus for response in responses]
            shares = [
                picture_share(row, stimulus.picture_share) for row, stimulus in zip(responses, stimuli, strict=True)
            ]
        frame = to_frame(responses, np.zeros(len(responses), dtype=np.uint64), None, shares)
        frame = frame.sort("trial", "repeat", maintain_order=True).with_columns(remove_thinking(pl.col("text")))
        factors = self.study.design.trials(frame["trial"].to_numpy())
        return self.study.answer(pl.concat([factors, frame.select(self.study.reading.columns)], how="horizontal"))


def content_shown(request: Request) -> str | list[Content]:
    """The last message of a request: its pictures as data URLs, then its prompt; the prompt alone without pictures."""
    return messages(image_urls(request.stimulus.load()), request.question)[-1].content


def trials_of(document: Mapping[str, Any]) -> AskedTrials:
    """The trials of a task, from what its parts hold of it: a scorer may be called long after the task was asked."""
    return _trials(json.dumps(document, sort_keys=True))


@lru_cache(maxsize=8)
def _trials(document: str) -> AskedTrials:
    described = StudyAsked.from_document(json.loads(document), "The task")
    return AskedTrials(described, study_asked(described, "The task", outside=True))


MOST_ESTIMATES = 100
"""Most leading estimates among the metrics of a task; an imported run has all."""
_TOP_LOGPROBS = 20
_GREEDY = {"temperature": 0.0, "top_p": 1.0, "logprobs": True, "top_logprobs": _TOP_LOGPROBS}

REQUEST: ContextVar[Request | None] = ContextVar("facevalue_request", default=None)
"""The request that is being asked, for models of FaceValue's own in this process, which may look at its factors."""


@solver
def show_pictures(document: dict[str, Any]) -> Solver:
    """Put the pictures of a trial before its prompt, as data URLs."""
    trials = trials_of(document)

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001 - Inspect's
        content = content_shown(_request(trials, state))
        state.messages[-1] = state.messages[-1].model_copy(update={"content": content})
        return state

    return solve


@solver
def ask(document: dict[str, Any]) -> Solver:
    """Ask a trial with the seed of its epoch; where probabilities are wanted, greedily with log-probabilities."""
    trials = trials_of(document)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        request = _request(trials, state)
        token = REQUEST.set(request)
        try:
            sampled = {"seed": request.seed & SEED_BITS, **_own_sampling(request)}
            if not request.exact:
                return await generate(state, tool_calls="none", **cast(Any, sampled))
            state = await generate(state, tool_calls="none", **cast(Any, {**sampled, **_GREEDY}))
            if reason := _unseen(request, state):
                state.metadata[DRAWN] = reason
                state.messages.pop()
                state.output = ModelOutput()  # a limit on what follows must not leave the greedy reply
                state = await generate(state, tool_calls="none", **cast(Any, sampled))
            return state
        finally:
            REQUEST.reset(token)

    return solve


def _own_sampling(request: Request) -> dict[str, Any]:
    sampling = request.question.sampling
    if sampling is None:
        return {}
    return {"temperature": sampling.temperature, "top_p": sampling.top_p, "max_tokens": sampling.max_tokens}


def _unseen(request: Request, state: TaskState) -> str:
    """Reason why a reply must be drawn, as too much probability was not listed; empty where it need not be."""
    recorded = _to_recorded_reply(state)
    if isinstance(recorded, str) or recorded.probs is not None:
        return ""
    weighed = exact(request, recorded.reply, response_of(request, recorded.reply, 0.0))
    return weighed if isinstance(weighed, str) else ""


@metric(scores="unreduced")
def estimates(document: dict[str, Any]) -> Metric:
    """Estimates that lead the study's page, each with its interval over what was sampled, from all replies."""
    trials = trials_of(document)

    def compute(scores: list[SampleScore]) -> Value:
        if not scores:
            return {}
        return _estimate_answers(trials, [_response(score) for score in scores])

    return compute


def _estimate_answers(trials: AskedTrials, responses: list[Response]) -> dict[str, float | None]:
    answered = trials.read_responses(responses)
    counts: dict[str, float | None] = {
        "replies": float(answered.filter(pl.col("status") != "error").height),
        "valid": float(answered["na"].null_count()),
    }
    if not counts["valid"]:
        return counts
    study = trials.study
    try:
        table = study.analyse({"model": iter([answered])})
    except FaceValueError:  # too few answers yet to estimate anything
        return counts
    measured = table.filter(pl.col("value").is_not_null())
    leading = measured.filter(leading_families(pl.col("family"), study.estimates.lead, measured)).head(MOST_ESTIMATES)
    labels = label_columns(leading)
    for row in leading.iter_rows(named=True):
        levels = ", ".join(str(row[name]) for name in labels if row[name] is not None)
        name = f"{row['measure']}: {levels}" if levels else str(row["measure"])
        counts |= {name: row["value"], f"{name} (low)": row["low"], f"{name} (high)": row["high"]}
    return counts


@scorer(metrics=[])
def reply(document: dict[str, Any]) -> Scorer:
    """Scorer by the study's own parser: the answer as a number where the reply has one, else N."""
    trials = trials_of(document)

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - Inspect's
        request = _request(trials, state)
        recorded = _to_recorded_reply(state)
        if isinstance(recorded, str):
            response = Response(request.trial, request.repeat, Status.ERROR, error=recorded)
        else:
            response = response_to(request, recorded)
        answers = trials.read_responses([response])
        share = answers.select(pl.coalesce(*trials.study.watched.followed.values(), 1.0)).item()
        na = answers["na"].item()
        value: float | str = share if na is None else NOANSWER
        facts: dict[str, Any] = {
            "repeat": response.repeat,
            "status": str(response.status),
            "text": response.text,
            "probs": None if response.probs is None else list(response.probs),
        }
        return Score(
            value=value,
            answer=response.text,
            explanation=na or response.error,
            reason="refusal" if response.status is Status.REFUSED else None,
            metadata=facts,
        )

    return score


def _request(trials: AskedTrials, state: TaskState) -> Request:
    return trials.request(int(state.sample_id), state.epoch - 1)


def _to_recorded_reply(state: TaskState) -> RecordedReply | str:
    """The reply as an import of the log reads it."""
    sample = {"id": state.sample_id, "output": state.output.model_dump(), "metadata": state.metadata}
    return recorded_reply(sample, "the reply", AskedModel.of_provider(state.model.api, state.model.name))


def _response(score: SampleScore) -> Response:
    facts = score.score.metadata or {}
    probs = facts.get("probs")
    return Response(
        int(score.sample_id or 0),
        int(facts.get("repeat", 0)),
        Status(facts.get("status", "error")),
        facts.get("text"),
        None if probs is None else tuple(probs),
    )


_OF_RUN = ("sample", "sample_seed", "exact", "with")
"""Options of a run beside those of the study, as `facevalue run` has them."""


def task_of(name: str, options: Mapping[str, Any]) -> Task:
    """The task of a study.

    Parameters
    ----------
    name:
        The study's name, or the file of one's own.
    options:
        What `-T` gave: settings of the study, and `sample`, `sample_seed`, `exact` and `with`.

    Raises
    ------
    PrerequisiteError
        What is wrong with them, in the words of the command line.
    """
    try:
        return _task(studies.protocol(name), {key.replace("-", "_"): value for key, value in options.items()})
    except FaceValueError as error:
        raise PrerequisiteError(str(error)) from error


def _task(protocol: Protocol, options: Mapping[str, Any]) -> Task:
    settings = {setting.name: setting for setting in protocol.settings}
    for option in options:
        if option not in settings and option not in _OF_RUN:
            raise UnknownNameError(f"setting of {protocol.name}", option, [*settings, *_OF_RUN])
    values = {key: _to_option_value(settings[key], value) for key, value in options.items() if key in settings}
    study = add_interventions(protocol.study(values), find_variants(_names(options.get("with", []))))
    asked_settings = RunSettings(
        sample=_whole_number(options, "sample", 1),
        seed=_whole_number(options, "sample_seed", 0) or 0,
        exact=_flag(options, "exact"),
    )
    check_shown(study)
    if asked_settings.exact:
        numbers = TrialNumbers(study.design.size)
        check_options(study, numbers)
    document = asked_of(study, asked_settings).document()
    trials = trials_of(document)
    sampling = study.draws.sampling
    return Task(
        dataset=MemoryDataset(list(trials.samples()), name=study.name),
        setup=show_pictures(document),
        solver=ask(document),
        scorer=reply(document),
        metrics=[estimates(document)],
        epochs=Epochs(trials.repeats),
        config=GenerateConfig(temperature=sampling.temperature, top_p=sampling.top_p, max_tokens=sampling.max_tokens),
        version=study.version,
        metadata={ASKED: document},
        description=study.about.title,
        fail_on_error=False,
    )


def _to_option_value(setting: Setting, value: object) -> OptionValue:
    """A value as Inspect's command line read it: it takes commas for a list, and digits for a number."""
    if isinstance(value, list | tuple) and not isinstance(setting.default, list):
        value = ",".join(map(str, value))
    return to_setting_type(setting, value)


def _names(value: object) -> Sequence[str]:
    return [str(name) for name in value] if isinstance(value, list | tuple) else split_names(str(value))


def _whole_number(options: Mapping[str, Any], name: str, low: int) -> int | None:
    value = options.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < low):
        raise SettingError(f"{name} is a whole number from {low}, not {value!r}.")
    return value


def _flag(options: Mapping[str, Any], name: str) -> bool:
    value = options.get(name, False)
    if not isinstance(value, bool):
        raise SettingError(f"{name} is true or false, not {value!r}.")
    return value
