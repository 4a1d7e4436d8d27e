"""Images of one stimulus, two of them: one after the other, or side by side in one picture."""

import hashlib
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from facevalue.stimuli.individuals import decode
from facevalue.stimuli.pairs import COMPOSER, compose, encode
from facevalue.types import Image, Stimulus

_TOGETHER = "two images"
Load = Callable[[], tuple[Image, ...]]
Named = tuple[str, Stimulus]


def two_images(
    number: int, factors: Mapping[str, str | None], first: Named, second: Named, *, composite: bool
) -> Stimulus:
    """Show two named images, the first first; or as one composite for models that take one, the first on the left."""
    shown = [first[1], second[1]]
    made = [COMPOSER if composite else _TOGETHER, *(one.digest for one in shown)]
    digest = hashlib.blake2b("\n".join(made).encode(), digest_size=16).hexdigest()
    loads = [one.load for one in shown]
    load = partial(_composed, loads, [first[0], second[0]]) if composite else partial(_both, loads)
    return Stimulus(str(number), digest, factors, load)


def _both(loads: list[Load]) -> tuple[Image, ...]:
    return tuple(image for load in loads for image in load())


def _composed(loads: list[Load], names: list[str]) -> tuple[Image, ...]:
    left, right = (decode(image.data, name) for load, name in zip(loads, names, strict=True) for image in load())
    return (Image(encode(compose(np.asarray(left), np.asarray(right))), "image/jpeg"),)
