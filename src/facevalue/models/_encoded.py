"""Encoded pictures that are asked about again: the stimuli of a unit take turns, question by question."""

from collections.abc import Callable
from typing import Generic, TypeVar

from facevalue.stimuli.kept import Kept
from facevalue.types import Image, Stimulus

Content = TypeVar("Content")
_KEPT_BYTES = 128 * 2**20
"""Of pictures whose encoded form is kept: those of the units that are being asked."""


class EncodedStimuli(Generic[Content]):
    """What requests show, loaded and encoded once for as long as it is asked about."""

    def __init__(self, encode: Callable[[tuple[Image, ...]], Content]) -> None:
        self._encode = encode
        self._kept: Kept[tuple[str, str], Content] = Kept(_KEPT_BYTES)

    def content(self, stimulus: Stimulus) -> Content:
        """The encoded pictures of a stimulus; errors are those of loading it."""
        at = (stimulus.key, stimulus.digest)
        content = self._kept.get(at)
        if content is None:
            images = stimulus.load()
            content = self._encode(images)
            self._kept.put(at, content, sum(len(image.data) for image in images))
        return content

    def clear(self) -> None:
        """Forget them."""
        self._kept = Kept(_KEPT_BYTES)
