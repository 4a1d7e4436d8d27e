"""Sight of a model, as a run knows it before its first question: replies about pictures with known right answers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

LEAST_TOKENS = 16
"""Tokens that a picture adds at least, where it is looked at: a mark in its place takes fewer."""


@dataclass(frozen=True, slots=True)
class Sight:
    """Replies to a few questions about pictures that were made on the spot, and tokens that a picture takes."""

    asked: int = 0
    """Questions about these pictures that were answered."""
    right: int = 0
    """Of these: answered rightly."""
    tokens: float | None = None
    """Tokens that a picture adds to the prompt of a question, as the model counts them; None if it does not say."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    """Tokens of all these requests, as far as the model says."""
    answers: tuple[str, ...] = field(default=())
    """Each question in short, its right answer, and the reply."""
    why_not: str = ""
    """Why nothing was asked; empty if something was."""


def sight_document(sight: Sight | None) -> dict[str, Any] | None:
    """The table `sight` of `run.toml`; None where the run says nothing of it.

    Examples
    --------
    >>> sight_of_document(sight_document(Sight(10, 9, 576.0))) == Sight(10, 9, 576.0)
    True
    """
    if sight is None:
        return None
    return {name: value for name, value in asdict(sight).items() if value is not None} | {
        "answers": list(sight.answers)
    }


def sight_of_document(table: Mapping[str, Any] | None) -> Sight | None:
    """Understand the table `sight` of `run.toml`.

    Raises
    ------
    TypeError, ValueError, KeyError
        It is not as FaceValue writes it.
    """
    if table is None:
        return None
    return Sight(
        asked=int(table["asked"]),
        right=int(table["right"]),
        tokens=float(table["tokens"]) if "tokens" in table else None,
        prompt_tokens=int(table["prompt_tokens"]),
        completion_tokens=int(table["completion_tokens"]),
        answers=tuple(map(str, table["answers"])),
        why_not=str(table["why_not"]),
    )
