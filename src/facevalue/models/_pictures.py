"""Encoded images as pictures for models that run in this process."""

from collections.abc import Callable
from typing import Generic, TypeVar

import PIL.Image

from facevalue.errors import DataError
from facevalue.stimuli.images import MAX_BYTES, Kept
from facevalue.stimuli.pixels import picture_on_white
from facevalue.types import Image, Stimulus

# Encoded pictures that are asked about again: the stimuli of a unit take turns, question by question.


Content = TypeVar("Content")
_KEPT_BYTES = 128 * 2**20
"""Of pictures whose encoded form is kept: those of the units that are being asked."""


class EncodedStimuli(Generic[Content]):
    """Stimuli of requests, loaded and encoded once for as long as they are asked about."""

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


def picture(image: Image, name: str) -> PIL.Image.Image:
    """Decode an image: upright as its EXIF says, the first picture of several in a file, transparency on white.

    `image`: as it is stored. `name`: what it is called in messages.
    """
    if len(image.data) > MAX_BYTES:
        raise DataError(f"{name}: {len(image.data) / 1e6:.0f} MB; an image has at most {MAX_BYTES / 1e6:.0f}.")
    return picture_on_white(image.data, name)
