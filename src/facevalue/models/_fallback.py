"""Fallback of exact runs: option probabilities of a reply, or a reason to draw a reply instead."""

from facevalue.models._chat import ServerReply
from facevalue.models._spelling import spelling
from facevalue.models._toplogprobs import OptionMass, option_probabilities
from facevalue.types import Request, Response, Status

MOST_UNSEEN = 0.01
"""Probability that may lie on replies that were not seen: no option's probability is off by more.

Beyond it, one reply is drawn in place of the probabilities. One and not one per seed, since a trial whose probabilities
were read counts once, too.
"""


def response_of(request: Request, reply: ServerReply, latency_ms: float) -> Response:
    """Return a reply as the response to a request, without probabilities."""
    return Response(
        request.trial,
        request.repeat,
        reply.status,
        reply.text,
        None,
        reply.prompt_tokens,
        reply.completion_tokens,
        latency_ms,
        reply.note,
    )


def exact(request: Request, reply: ServerReply, response: Response) -> Response | str:
    """Read the options' probabilities from the greedy reply to a request.

    Whether they suffice depends on the prompt alone and not on what is drawn, so that drawing a reply where they don't
    favours no option.

    `request`: the request. `reply`: its reply, with the alternatives of each token. `response`: the same as a response
    without probabilities.

    Returns the response with its probabilities; or as an error, where the log-probabilities are missing or are others
    than the reply's; or unchanged, where the model declined. If more than `MOST_UNSEEN` is not seen, the reason why a
    reply must be drawn instead, for people.
    """
    if reply.status is Status.REFUSED:
        return response
    if reply.positions is None:
        problem = "The model sent no top_logprobs, so the options' probabilities are not known."
        return response._replace(status=Status.ERROR, error=problem)
    ended = reply.status is Status.OK
    spelt = spelling(reply.positions, reply.text or "", ended=ended)
    if spelt is None:
        problem = "The logprobs are not those of the reply's text, so no probability can be read from them."
        return response._replace(status=Status.ERROR, error=problem)
    mass = option_probabilities(
        request.question.options, spelt.positions, request.sampling, ended=ended, blanks=spelt.blanks
    )
    if mass.unseen > MOST_UNSEEN:
        return _reason(mass)
    return response._replace(status=Status.OK, probs=mass.probs)


def replace_response(reason: str, scored: Response, sampled: Response) -> Response:
    """Return a drawn reply in place of probabilities that were not all seen; both are paid for, and took their time."""
    return sampled._replace(
        prompt_tokens=_sum(scored.prompt_tokens, sampled.prompt_tokens),
        completion_tokens=_sum(scored.completion_tokens, sampled.completion_tokens),
        latency_ms=scored.latency_ms + sampled.latency_ms,
        error=sampled.error or reason,
    )


def undecided_reason(on: float, share: float) -> str:
    """Say why probabilities of options, `on` all together, are not believed where a share of replies was undecided."""
    return (
        f"Drawn, not read: {share:.1%} of the probability is on replies that were not followed until they "
        f"were decided ({on:.1%} is on the options, {max(0.0, 1 - on - share):.1%} on others)."
    )


def _reason(mass: OptionMass) -> str:
    on = sum(mass.probs)
    return (
        f"Drawn, not read: {mass.unseen:.1%} of the probability is on replies that were not listed ({on:.1%} is on the "
        f"options, {mass.other_mass:.1%} on others)."
    )


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
