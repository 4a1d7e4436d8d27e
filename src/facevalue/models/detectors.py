"""Detectors of people in pictures."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from PIL.Image import Image


class Detector(Protocol):
    """Says how surely a picture shows a person.

    Examples
    --------
    >>> class Nobody:
    ...     name = "nobody"
    ...
    ...     def scores(self, pictures):
    ...         return (0.0 for _ in pictures)
    ...
    ...     def persons(self, pictures):
    ...         return ([] for _ in pictures)
    >>> detector: Detector = Nobody()
    """

    @property
    def name(self) -> str:
        """Name in tables."""
        ...

    def scores(self, pictures: Iterable[Image]) -> Iterator[float]:
        """Highest score of a person in each picture, from 0 (nobody) to 1, one after the other."""
        ...

    def persons(self, pictures: Iterable[Image]) -> Iterator[list[float]]:
        """Score of each person in each picture, one picture after the other."""
        ...


def load_detector(folder: Path) -> Detector:
    """Load a detector that transformers knows from a folder on this machine."""
    from facevalue.models.hf.detector import HFDetector  # noqa: PLC0415 - torch takes seconds to import

    return HFDetector(folder)
