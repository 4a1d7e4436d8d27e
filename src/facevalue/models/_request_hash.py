"""The hashes that a run stores with its answers, of single requests.

They are those of `facevalue.store.hashing`, which models must not import: in the order of the folders they come before
the store. tests/models/test_replay.py holds the two to each other.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from facevalue.design import mix
from facevalue.types import Question, Request, Sampling

_KEPT = 65_536  # questions whose hashes are remembered


class RequestHashes:
    """Hashes requests as one run did.

    A question may have a sampling of its own and several draws. The stored hash then holds the study's sampling and
    seed besides, which a request doesn't tell and the run does.

    Parameters
    ----------
    sampling, seeds:
        Of the run's study.
    """

    def __init__(self, sampling: Sampling, seeds: tuple[int, ...]) -> None:
        self._sampling = sampling
        self._seeds = seeds
        self._known: OrderedDict[int, tuple[Question, int]] = OrderedDict()

    def of(self, requests: Sequence[Request]) -> list[int]:
        """Hashes as signed integers."""
        stimuli = np.array([stimulus(request.stimulus.digest) for request in requests], dtype=np.uint64)
        questions = np.array([self._question(request.question) for request in requests], dtype=np.uint64)
        drawn = np.array([self._drawn(request) for request in requests], dtype=np.uint64)
        with np.errstate(over="ignore"):
            hashes: list[int] = mix(mix(mix(stimuli) ^ questions) ^ drawn).view(np.int64).tolist()
        return hashes

    def _drawn(self, request: Request) -> int:
        one = request.question
        sampling = self._sampling if one.sampling is not None else request.sampling
        seed = self._seeds[request.repeat] if one.draw and request.repeat < len(self._seeds) else request.seed
        return conditions(sampling, seed, request.exact, request.constrain)

    def _question(self, asked: Question) -> int:
        known = self._known.get(id(asked))  # by identity, as hashing a long prompt takes longer than all the rest
        if known is None:
            known = self._known[id(asked)] = (asked, question(asked))
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return known[1]


def question(asked: Question) -> int:
    """Hash what is said, and how its reply is drawn where that differs from the study's."""
    options = [part for option in asked.options for part in (option.label, option.text)]
    said = [part for turn in asked.turns for part in turn]
    turns = [f"{_hash(('turns', *said)):016x}"] if said else []
    own = asked.sampling
    drawn = [f"draw {asked.draw} {_hash(_sampled(own)) if own else 0:016x}"] if own or asked.draw else []
    return _hash(("question", asked.prompt, asked.system, *options, *turns, *drawn))


@lru_cache(maxsize=1024)
def stimulus(content: str) -> int:
    """Hash the digest of what is shown."""
    return _hash(("stimulus", content))


@lru_cache(maxsize=1024)
def conditions(sampling: Sampling, seed: int, exact: bool, constrain: bool) -> int:
    """Hash how the study draws the reply."""
    values = (*_sampled(sampling), repr(int(seed)), repr(bool(exact)))
    return _hash(("conditions", *values, *(["constrained"] if constrain else [])))


def _sampled(sampling: Sampling) -> tuple[str, str, str]:
    return repr(float(sampling.temperature)), repr(float(sampling.top_p)), repr(int(sampling.max_tokens))


def _hash(parts: Iterable[str | None]) -> int:
    state = blake2b(digest_size=8)
    for part in parts:
        data = b"" if part is None else part.encode("utf-8", "surrogatepass")
        state.update(b"-" if part is None else len(data).to_bytes(8, "little"))
        state.update(data)
    return int.from_bytes(state.digest(), "little")
