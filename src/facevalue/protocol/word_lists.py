"""Lists of words that a judge looks through."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from facevalue.types import Question, Sampling

if TYPE_CHECKING:
    import polars as pl

    from facevalue.answers.listed_words import Flagged


class WordList(NamedTuple):
    """Words of a group's texts, the strongest first; `group` is what a judge is told of it."""

    group: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JudgedWords:
    """Lists of words that a judge looks through, such as those that a group's texts have more often than others'."""

    lists: "Callable[[pl.DataFrame], Sequence[WordList]]"
    """From estimates of one model to its lists."""
    question: Callable[[WordList], Question]
    """What the judge is asked of one, as often as there are `seeds`."""
    sampling: Sampling
    """How it replies."""
    beside: "Callable[[pl.DataFrame, Callable[[WordList], Flagged | None]], pl.DataFrame]"
    """(estimates of one model, what was said of each of its lists; None where nothing was) to rows to add."""
    seeds: tuple[int, ...] = (0, 1, 2)
