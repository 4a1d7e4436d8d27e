"""Replies of a server with one part that is not as it should be."""

import copy
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from facevalue.errors import ModelError
from facevalue.models.base import ModelOptions
from facevalue.models.openai import OpenAIModel
from facevalue.servers.server import Waits
from facevalue.types import Option, Question, Request, Response, Sampling, Status, Stimulus
from tests.models.misbehaving import Misbehaving, fine

OPTIONS = (Option("(a)", "left", "l"), Option("(b)", "right", "r"))
QUESTION = Question("Who? (a) left (b) right", OPTIONS)
WHOLE: dict[str, Any] = {
    "id": "x",
    "model": "m",
    "system_fingerprint": "fp",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "(a)", "refusal": None},
            "logprobs": {
                "content": [
                    {
                        "token": "(a)",
                        "logprob": math.log(0.75),
                        "top_logprobs": [
                            {"token": "(a)", "logprob": math.log(0.75)},
                            {"token": "(b)", "logprob": math.log(0.25)},
                        ],
                    }
                ]
            },
        }
    ],
    "usage": {"prompt_tokens": 10, "completion_tokens": 1},
}
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**32, 2**63, 10**400, -(10**400), 1e308, "", "(b)", "\x1b[2J", "\ud83d", "abort", "length",
    "x" * 100_000, [], {}, [[]], [None], {"a": 1},
)  # fmt: skip


def broken(rng: random.Random, cases: int, place: Path) -> Iterator[str]:
    """Replace or remove one part of a reply."""
    with Misbehaving().served() as server:
        for case in range(cases):
            exact = case % 2 == 1
            said = json.dumps(_spoilt(rng)).encode()
            server.script = [fine, lambda exchange, said=said: exchange.raw(200, said)]  # type: ignore[misc]
            server.otherwise = fine
            yield _asked(server, exact)


def _spoilt(rng: random.Random) -> Any:
    whole = copy.deepcopy(WHOLE)
    places = list(_places(whole))
    parent, key = rng.choice(places)
    if rng.random() < 0.2:
        del parent[key]
    else:
        parent[key] = rng.choice(VALUES)
    return whole


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in list(node.items()) if isinstance(node, dict) else list(enumerate(node)):
        yield node, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _asked(server: Misbehaving, exact: bool) -> str:
    """Ask three times: before, with, and after the broken reply."""
    options = ModelOptions(retries=0, concurrency=1, timeout=10)
    model = OpenAIModel(server.spec, options, waits=Waits(first=0.0))
    stimulus = Stimulus("s", "d", {}, tuple)
    requests = [Request(number, 0, 0, stimulus, QUESTION, Sampling(1.0), exact and number == 1) for number in range(3)]
    try:
        first, spoilt, last = model.respond(requests)
    except ModelError:
        return "named error"
    except Exception as error:  # what this looks for
        return f"{type(error).__name__}"
    if not first.status == last.status == Status.OK:
        return "another reply was lost"
    return _became(spoilt)


def _became(spoilt: Response) -> str:
    if spoilt.status is not Status.OK or spoilt.error:
        return "named error"
    probs = None if spoilt.probs is None else round(spoilt.probs[0], 3)
    if probs is not None and not (all(0 <= p <= 1 for p in spoilt.probs or ()) and sum(spoilt.probs or ()) <= 1.001):
        return "no probabilities"
    return "as without the fault"
