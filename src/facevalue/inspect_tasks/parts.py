"""Parts of a task: what shows a sample's pictures, what asks, what reads a reply, what estimates."""

from contextvars import ContextVar
from typing import Any, cast

import polars as pl
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import NOANSWER, Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from facevalue.errors import FaceValueError
from facevalue.inspect_tasks.trials import AskedTrials, content_shown, trials_of
from facevalue.measures.estimates import label_columns
from facevalue.measures.multitest import leading_families
from facevalue.models._chat import SEED_BITS
from facevalue.models._fallback import exact, response_of
from facevalue.models.inspect.providers import AskedModel
from facevalue.records.base import RecordedReply
from facevalue.records.inspect_log import DRAWN, recorded_reply
from facevalue.records.model import response_to
from facevalue.types import Request, Response, Status

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
