"""Requests and replies of an engine: wishes, drawn replies, and questions made ready for the model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from facevalue.models.hf.chat import Group
from facevalue.models.hf.scoring import Evidence, ScoreJob, Tokens
from facevalue.types import Question, Sampling

Job = TypeVar("Job", ScoreJob, "Wish")


@dataclass(frozen=True, slots=True)
class Wish:
    """A reply that is wanted. The same seed, 0 to 2**64 - 1, gives the same random numbers, whatever else is asked."""

    question: Question
    sampling: Sampling
    seed: int = 0
    constrain: bool = False


@dataclass(frozen=True, slots=True)
class DrawnReply:
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
        """Log-probability that the model gave each token."""
        return tuple(Evidence(self.tokens[:n], self.tokens[n], log) for n, log in enumerate(self.logprobs))


@dataclass(frozen=True, slots=True)
class Failed:
    """A question that could not be asked, and why, for people."""

    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class PreparedPrompts(Generic[Job]):
    """Questions about one stimulus, ready for the model: by their numbers, groups with places, and why some can't be.

    It is made without the model, so that it can be while the model works on others.
    """

    jobs: Mapping[int, Job]
    groups: Sequence[tuple[Group, dict[int, int]]]
    refused: Mapping[int, str]

    @property
    def tokens(self) -> int:
        """Tokens of the prefixes."""
        return sum(len(group.prefix_ids) for group, _ in self.groups)
