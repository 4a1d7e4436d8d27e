"""Hashes of single requests, as a run stores them with its answers."""

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from facevalue.hashing import combined_hash, conditions_hash, question_hash, stimulus_hash
from facevalue.types import Question, Request, Sampling

_KEPT = 65_536  # questions whose hashes are remembered


class RequestHashes:
    """Hashes requests as one run did.

    A question may have a sampling of its own and several draws. The stored hash then holds the study's sampling and
    seed besides, which a request doesn't tell and the run does.

    `sampling`, `seeds`: of the run's study. `asked_of`: hash of the model that the run asked.
    """

    def __init__(self, sampling: Sampling, seeds: tuple[int, ...], asked_of: int = 0) -> None:
        self._asked_of = asked_of
        self._sampling = sampling
        self._seeds = seeds
        self._known: OrderedDict[int, tuple[Question, int]] = OrderedDict()

    def of(self, requests: Sequence[Request]) -> list[int]:
        """Hashes as signed integers."""
        stimuli = np.array([stimulus_hash(request.stimulus) for request in requests], dtype=np.uint64)
        questions = np.array([self._question(request.question) for request in requests], dtype=np.uint64)
        draw_hashes = np.array([self._drawn(request) for request in requests], dtype=np.uint64)
        hashes: list[int] = combined_hash(stimuli, questions, draw_hashes).view(np.int64).tolist()
        return hashes

    def _drawn(self, request: Request) -> int:
        asked_question = request.question
        sampling = self._sampling if asked_question.sampling is not None else request.sampling
        seed = (
            self._seeds[request.repeat] if asked_question.draw and request.repeat < len(self._seeds) else request.seed
        )
        return conditions_hash(sampling, seed, request.exact, request.constrain, self._asked_of)

    def _question(self, question: Question) -> int:
        known_hash = self._known.get(
            id(question)
        )  # by identity, as hashing a long prompt takes longer than all the rest
        if known_hash is None:
            known_hash = self._known[id(question)] = (question, question_hash(question))
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return known_hash[1]
