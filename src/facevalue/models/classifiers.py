"""Classifiers of texts."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol


class Classified(NamedTuple):
    """Scores of some texts by label, in their order, and the places of those that were scored in pieces."""

    scores: dict[str, list[float]]
    cut: frozenset[int]


class TextClassifier(Protocol):
    """Classifier that gives a text a score for each of its labels, independent of other texts.

    Examples
    --------
    >>> class Loud:
    ...     name, digest, labels, at_once = "loud", "", ("loud",), 1000
    ...
    ...     def scores(self, texts):
    ...         return Classified({"loud": [float(text.isupper()) for text in texts]}, frozenset())
    >>> classifier: TextClassifier = Loud()
    """

    @property
    def name(self) -> str:
        """Name in tables."""
        ...

    @property
    def digest(self) -> str:
        """Digest of the weights and settings."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the classifier."""
        ...

    @property
    def at_once(self) -> int:
        """Number of texts it takes at once."""
        ...

    def scores(self, texts: Sequence[str]) -> Classified:
        """Score texts."""
        ...


def load_classifier(folder: Path) -> TextClassifier:
    """Load a text classifier that transformers knows from a folder on this machine."""
    from facevalue.models.hf.text_classifier import HFTextClassifier  # noqa: PLC0415 - torch takes seconds to import

    return HFTextClassifier(folder)
