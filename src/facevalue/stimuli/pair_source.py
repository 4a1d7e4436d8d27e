"""Pairs of pictures as stimuli, composed when they are looked at; and questions without a picture."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.errors import DataError
from facevalue.stimuli.base import Kind, factors_of
from facevalue.stimuli.decoding import picture_on_white
from facevalue.stimuli.images import FileSource, Kept, content_hash
from facevalue.stimuli.individuals import Individuals
from facevalue.stimuli.pairs import Composition, encode, first_is_left, side_by_side
from facevalue.types import Image, Stimulus

KEPT_BYTES = 32 * 2**20
"""Most memory for composed pairs."""
TEXT = "text"
"""Level of the factor `shown` that means that there is no picture; the digest of a stimulus without one."""

Pictures = Callable[[Mapping[str, str | None]], tuple[str, str]]
"""Names the picture of option 1 and that of option 2 from a stimulus' levels."""


class PairSource:
    """Shows two people in one picture: `side_by_side`, squeezed to a size if there is one, or in another composition.

    `pictures` names that of option 1, then that of option 2, from a stimulus' levels; `sides` is the seed of the side
    that option 1 is on (`left_first`); None: always the left. Where a stimulus has the level "text" of a factor
    `shown`, no picture is shown and none is looked for.
    """

    def __init__(
        self,
        individuals: Individuals,
        pictures: Pictures,
        sides: int | None,
        size: tuple[int, int] | None = None,
        composition: Composition | None = None,
    ) -> None:
        self._individuals = individuals
        self._pictures = pictures
        self._sides = sides
        self._composition = composition or side_by_side(size)
        self._kept: Kept[str, bytes] = Kept(KEPT_BYTES)
        self._checked: set[str] = set()

    @property
    def kind(self) -> Kind:
        """Kind of pictures that the pairs are made of."""
        return self._individuals.kind

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return the pair with these levels, its sides by its number; nothing is decoded before it is looked at."""
        if levels.get("shown") == TEXT:
            return _without_picture(number, levels)
        left, right = self._pictures(levels)
        if self._sides is not None and not first_is_left(int(number), self._sides):
            left, right = right, left
        digests = self._individuals.digest(left), self._individuals.digest(right)
        # Left before right: the side of option 1 is part of the digest.
        digest_lines = "\n".join((self._composition.name, *digests)).encode()
        digest = hashlib.blake2b(digest_lines, digest_size=16).hexdigest()
        return Stimulus(str(number), digest, factors_of(levels), partial(self._load, (left, right), digests, digest), 1)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Look at every picture that is shown, once however many pairs it is in; or at those named by `image`."""
        if "image" in levels:
            self._individuals.check([str(image) for image in levels["image"]])
            return
        names = list(levels)
        pictures: dict[str, None] = {}
        for values in zip(*levels.values(), strict=True):
            row = dict(zip(names, values, strict=True))
            if row.get("shown") != TEXT:
                pictures.update(dict.fromkeys(self._pictures(row)))
        new = [picture for picture in pictures if picture not in self._checked]
        if new:
            self._individuals.check(new)
            self._checked.update(new)

    def _load(self, pictures: tuple[str, str], digests: tuple[str, str], digest: str) -> tuple[Image, ...]:
        data = self._kept.get(digest)
        if data is None:
            left, right = (self._individuals.pixels(picture) for picture in pictures)
            for picture, expected in zip(pictures, digests, strict=True):
                if self._individuals.digest(picture) != expected:
                    raise DataError(f"{picture}: was changed while the run was going on. Start the command again.")
            data = encode(self._composition.compose(left, right))
            self._kept.put(digest, data, len(data))
        return (Image(data, "image/jpeg"),)


class NoPicture:
    """Stimuli without a picture, for questions that name the people in words."""

    kind = Kind.UNSTATED

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return a stimulus that shows nothing; all have one digest."""
        return _without_picture(number, levels)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Do nothing: no picture can be missing."""


class ComposedPairs(FileSource):
    """Pairs in one file each, squeezed to a size if there is one; nothing is shown where no picture is wanted."""

    def __init__(self, manifest: pl.DataFrame, root: Path, kind: Kind, size: tuple[int, int] | None) -> None:
        super().__init__(manifest, root, kind)
        self._size = size

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return the stimulus that shows the image `levels["image"]`."""
        if levels.get("shown") == TEXT:
            return _without_picture(number, levels)
        stimulus = super().stimulus(number, levels)
        if self._size is None:
            return stimulus
        digest = content_hash(f"{stimulus.digest} {self._size[0]} x {self._size[1]}".encode())
        return replace(stimulus, digest=digest, load=partial(_resize_picture, stimulus, self._size))


def _resize_picture(stimulus: Stimulus, size: tuple[int, int]) -> tuple[Image, ...]:
    """The picture of a stimulus in another size, as VIGNETTE's code resizes it (bilinear)."""
    import PIL.Image  # noqa: PLC0415 - a study that is read opens no picture

    (image,) = stimulus.load()
    small = picture_on_white(image.data, "a pair of pictures").resize(size, PIL.Image.Resampling.BILINEAR)
    return (Image(encode(np.asarray(small)), "image/jpeg"),)


def _without_picture(number: int, levels: Mapping[str, str | None]) -> Stimulus:
    return Stimulus(str(number), TEXT, factors_of(levels), tuple)
