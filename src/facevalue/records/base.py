"""Record: what an answer that somebody else asked for gives, whoever wrote it down."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from facevalue.checked_replies import LONGEST
from facevalue.errors import DataError
from facevalue.hashing import combined_hash, conditions_hash, question_hash, stimulus_hash
from facevalue.models._chat import ServerReply
from facevalue.printable import short
from facevalue.types import OptionValue, Request

# Fields of strangers' JSON, each looked at before it is believed.


_MOST_TOKENS = 2**32 - 1
_SLOWEST = 1e12


def checked_dict(value: object, place: str) -> Mapping[str, Any]:
    """Return an object with names and values."""
    if not isinstance(value, Mapping):
        raise DataError(f"{place} is {short(value)}, not an object with names and values.")
    return value


def checked_list(value: object, place: str) -> list[Any]:
    """Return a list."""
    if not isinstance(value, list):
        raise DataError(f"{place} is {short(value)}, not a list.")
    return value


def text_of(value: object) -> str | None:
    """A text of bounded length; None for anything else."""
    return value if isinstance(value, str) and len(value) <= LONGEST else None


def count_of(value: object) -> int | None:
    """A number of tokens; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None


def milliseconds(time: object) -> float:
    """A time in seconds as milliseconds; 0 for what is no time."""
    if not isinstance(time, int | float) or isinstance(time, bool) or not 0 <= time <= _SLOWEST:
        return 0.0
    return float(time) * 1000


Fact = str | int | float | bool
Key = tuple[int, int]
"""Trial and repeat."""
_TEXTS = 2**20  # characters of a study's own file


@dataclass(frozen=True)
class StudyAsked:
    """Study that was asked: enough to build it again, and to check that it is the same."""

    study: str
    version: int
    """Name of the study, and version of its declaration."""
    options: Mapping[str, OptionValue]
    """The user's choices, that of interventions among them."""
    trials: int
    """Trials of the whole design."""
    stimuli: str
    """SHA-256 of the study's table of pictures."""
    sample: int | None
    seed: int
    exact: bool
    """As of `RunSettings`."""

    def document(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {
            "study": self.study, "version": self.version, "options": dict(self.options), "trials": self.trials,
            "stimuli": self.stimuli, "sample": self.sample, "seed": self.seed, "exact": self.exact,
        }  # fmt: skip

    @classmethod
    def from_document(cls, document: object, place: str) -> "StudyAsked":
        """Understand the document of a stranger's file."""
        if not isinstance(document, Mapping):
            raise DataError(f"{place} does not say which of FaceValue's studies was asked.")
        kinds: dict[str, type | tuple[type, ...]] = {
            "study": str, "version": int, "options": dict, "trials": int, "stimuli": str,
            "sample": (int, type(None)), "seed": int, "exact": bool,
        }  # fmt: skip
        for name, kind in kinds.items():
            value = document.get(name)
            odd = name not in document or (isinstance(value, bool) and kind is not bool)
            if odd or not isinstance(value, kind) or (isinstance(value, int) and value < (name == "sample")):
                raise DataError(f"{place}: what was asked has no {name!r} as FaceValue writes it.")
        options = document["options"]
        if not all(isinstance(name, str) and _is_option(value) for name, value in options.items()):
            raise DataError(f"{place}: the options of the study are not as FaceValue writes them.")
        return cls(**{name: document[name] for name in kinds})


def _is_option(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, str) and len(item) <= _TEXTS for item in value)
    return isinstance(value, int | float | bool) or (isinstance(value, str) and len(value) <= _TEXTS)


@dataclass(frozen=True)
class RecordedReply:
    """One answer."""

    reply: ServerReply
    """What was said and how it ended, with the alternatives of each token if there are any."""
    latency_ms: float = 0.0
    probs: tuple[float, ...] | None = None
    """Probabilities of the options, where the record holds these themselves."""
    drawn_because: str = ""
    """Why it was drawn where probabilities were wanted; empty where it wasn't."""
    content: str | None = None
    """`content_of` the request that it answers; None where the record doesn't say."""
    prompt: str | None = None
    """Last thing that the model was told; None where the record doesn't say."""
    asker: str | None = None
    """`asker_of` the request that it answers; None where the record doesn't say."""


@dataclass(frozen=True)
class Record:
    """A file of answers by one model."""

    path: Path
    model: str
    """Who answered, as the record calls it; empty where it doesn't say."""
    facts: Mapping[str, Fact]
    """What else changes what the model says, and who wrote it down (`store.manifest.RECORDED_BY`)."""
    places: Mapping[Key, object]
    """Where each answer is."""
    reply: Callable[[Any], RecordedReply | str]
    """From a place to its answer; or why there is none."""
    study_asked: StudyAsked | None = None
    """What was asked; None where the record doesn't say."""
    sampling: Mapping[str, object] = field(default_factory=dict)
    """How replies were drawn (`temperature`, `top_p`, `max_tokens`), as far as the record says."""
    findings: Mapping[str, Fact] = field(default_factory=dict)
    """What else is known of it: versions of the tool, its digest."""


def content_of(request: Request) -> str:
    """Hash of what a request shows, says and how its reply is drawn, whatever the model and the seed.

    An answer that carries it belongs to this request, and to none with another picture, prompt or temperature.
    """
    conditions = conditions_hash(request.sampling, 0, request.exact, request.constrain)
    hashes = (stimulus_hash(request.stimulus), question_hash(request.question), conditions)
    words = (np.array([hash_value], dtype=np.uint64) for hash_value in hashes)
    return f"{int(combined_hash(*words)[0]):016x}"


def asker_of(request: Request, asked_of: int) -> str:
    """Hash of the seed that a request is drawn with and of the model that is asked (`asked_of`, a `model_hash`).

    An answer that carries it was asked of this model with this seed.
    """
    return f"{conditions_hash(request.sampling, request.seed, request.exact, request.constrain, asked_of):016x}"
