"""Hashes of what a model was shown and told.

Strings are hashed once per shared object with BLAKE2b; what differs from row to row is then combined as 64-bit words,
vectorised, so that a run over millions of trials never hashes a string per trial. The values are stored: a change here
makes every run folder refuse to be resumed, and needs a new `schema.FORMAT`.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from facevalue.design import mix
from facevalue.types import Question, Sampling, Stimulus

Hashes: TypeAlias = npt.NDArray[np.uint64]


def question_hash(question: Question) -> int:
    """Hash prompt, system message, labels and texts of the options, the conversation before it, and how it is drawn.

    What the options mean to the study has no part in it. A question without a conversation, drawn once and as the study
    says, keeps the hash that it had before there could be another.
    """
    data = _QUESTION + _piece(question.prompt) + _piece(question.system)
    data += b"".join([_option(option.label, option.text) for option in question.options])
    if question.turns:  # one part after pairs: no option can stand for it
        data += _piece(f"{_hash(('turns', *(text for turn in question.turns for text in turn))):016x}")
    if question.sampling or question.draw:
        sampling = _hash(_sampling_texts(question.sampling)) if question.sampling else 0
        data += _piece(f"draw {question.draw} {sampling:016x}")
    return _digest(data)


def stimulus_hash(stimulus: Stimulus) -> int:
    """Hash the digest of what is shown."""
    return _digest(_STIMULUS + _piece(stimulus.digest))


def conditions_hash(sampling: Sampling, seed: int, exact: bool, constrain: bool = False, asked_of: int = 0) -> int:
    """Hash how the reply is drawn: sampling, seed, whether probabilities are read instead, whether it is constrained.

    A reply that isn't constrained keeps the hash that it had before replies could be; likewise one of a run that began
    before the model that is asked (`asked_of`, a `model_hash`) had a part in it.
    """
    values = (*_sampling_texts(sampling), repr(int(seed)), repr(bool(exact)))
    of = [f"of {asked_of:016x}"] if asked_of else []
    return _hash(("conditions", *values, *(["constrained"] if constrain else []), *of))


def model_hash(name: str, settings: Mapping[str, str | int | float | bool]) -> int:
    """Hash who is asked: the model's name, and what else changes what it says."""
    return _hash(("model", name, *(piece for key in sorted(settings) for piece in (key, repr(settings[key])))))


def _sampling_texts(sampling: Sampling) -> tuple[str, str, str]:
    return repr(float(sampling.temperature)), repr(float(sampling.top_p)), repr(int(sampling.max_tokens))


def combined_hash(stimuli: Hashes, questions: Hashes, conditions: Hashes) -> Hashes:
    """Combine the three hashes of each request; their order matters.

    Examples
    --------
    >>> one, two = np.array([1], np.uint64), np.array([2], np.uint64)
    >>> bool(combined_hash(one, two, two) == combined_hash(two, one, two))
    False
    """
    with np.errstate(over="ignore"):
        return mix(mix(mix(stimuli) ^ questions) ^ conditions)


def _hash(pieces: Iterable[str | None]) -> int:
    return _digest(b"".join(map(_piece, pieces)))


def _digest(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def _piece(piece: str | None) -> bytes:
    """A part after its length, so that moving a character from one part to the next changes the hash."""
    if piece is None:
        return b"-"
    data = piece.encode("utf-8", "surrogatepass")
    return len(data).to_bytes(8, "little") + data


_QUESTION, _STIMULUS = _piece("question"), _piece("stimulus")


@lru_cache(maxsize=4096)  # options come again and again
def _option(label: str, text: str) -> bytes:
    return _piece(label) + _piece(text)
