"""Two pictures for one question: as two images of one request, or composed into one for models that take one.

Which is first matters to the question ("the person in the first image"), so the order is part of every digest.
"""

import hashlib
from collections.abc import Mapping
from functools import partial

import numpy as np
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.individuals import decode
from facevalue.stimuli.pair_source import Pictures
from facevalue.stimuli.pairs import COMPOSER, compose, encode
from facevalue.types import Image, Stimulus

_SINGLE = "two images"


class TwoImages:
    """Shows two images of a source of single ones.

    Parameters
    ----------
    source:
        Of single images; each is found by its id under `image`.
    pictures:
        Names the first and the second image of a stimulus from its levels; `ordered` for the columns `image_1`,
        `image_2` and, where it is there, `swapped`.
    composite:
        Whether the two are composed into one picture, the first on the left (`pairs.compose`). Else the stimulus loads
        two images, each as it is.
    """

    def __init__(self, source: Source, pictures: Pictures, *, composite: bool = False) -> None:
        self._source = source
        self._pictures = pictures
        self._composite = composite

    @property
    def kind(self) -> Kind:
        """What kind of pictures these are."""
        return self._source.kind

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return the two images with these levels; nothing is looked at before it is loaded.

        Raises
        ------
        DataError
            As of the source of single images; when loaded, also as of `pairs.compose`.
        """
        names = self._pictures(levels)
        both = [self._source.stimulus(number, {"image": name}) for name in names]
        made = "\n".join((COMPOSER if self._composite else _SINGLE, *(one.digest for one in both)))
        digest = hashlib.blake2b(made.encode(), digest_size=16).hexdigest()
        factors = {name: level for name, level in levels.items() if name not in ("trial", "block")}
        load = partial(_composed if self._composite else _separate, names, both[0], both[1])
        return Stimulus(str(number), digest, factors, load)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Look at every image that a run will show, once however many pairs it is in.

        Raises
        ------
        DataError
            As of the source of single images.
        """
        rows = (dict(zip(levels, row, strict=True)) for row in zip(*levels.values(), strict=True))
        images = dict.fromkeys(name for row in rows for name in self._pictures(row))
        self._source.check({"image": list(images)})


def ordered(levels: Mapping[str, str | None]) -> tuple[str, str]:
    """Name the first and second image from `image_1` and `image_2`, in the other order where `swapped` is "yes".

    Raises
    ------
    DataError
        A level is missing.

    Examples
    --------
    >>> ordered({"image_1": "a", "image_2": "b", "swapped": "yes"})
    ('b', 'a')
    """
    first, second, swapped = levels.get("image_1"), levels.get("image_2"), levels.get("swapped") or "no"
    if first is None or second is None:
        raise DataError("A pair needs the levels 'image_1' and 'image_2'.")
    if swapped not in ("yes", "no"):
        raise UnknownNameError("level of swapped", swapped, ("yes", "no"))
    return (second, first) if swapped == "yes" else (first, second)


def pairs_within(
    manifest: pl.DataFrame, by: str = "occupation", count: int | None = None, seed: int = 0
) -> pl.DataFrame:
    """Draw pairs of images that share a level, as the paper does within occupations (10 of each: section 2.1 II).

    Parameters
    ----------
    manifest:
        One row per image, with `image` and `by`. Images without a level are in no pair.
    by:
        The factor whose level the two of a pair share.
    count:
        Pairs of each level, drawn without replacement; all there are by default.
    seed:
        Of the draw, and of which image is the first.

    Returns
    -------
    One row per pair: `by`, `image_1`, `image_2`. No two images are a pair twice, in either order.

    Raises
    ------
    UnknownNameError
        A column is missing.
    DataError
        A level has fewer pairs than `count`.

    Examples
    --------
    >>> people = pl.DataFrame({"image": ["a", "b", "c", "d"], "occupation": ["cook", "cook", "cook", "nurse"]})
    >>> pairs_within(people, count=1, seed=2).height
    Traceback (most recent call last):
    facevalue.errors.DataError: occupation nurse: 1 images make 0 pairs, not 1.
    """
    for name in ("image", by):
        if name not in manifest.columns:
            raise UnknownNameError("column", name, manifest.columns)
    parts = []
    for (level,), rows in manifest.drop_nulls(by).group_by([by], maintain_order=True):
        images = rows["image"].cast(pl.String).to_list()
        first, second = (at.tolist() for at in np.triu_indices(len(images), 1))
        pairs = [(level, images[a], images[b]) for a, b in zip(first, second, strict=True)]
        wanted = len(pairs) if count is None else count
        if wanted > len(pairs):
            raise DataError(f"{by} {level}: {len(images)} images make {len(pairs)} pairs, not {wanted}.")
        words = {pair: _word(seed, pair) for pair in pairs}
        parts += [
            (level, b, a) if words[level, a, b] & 1 else (level, a, b)
            for level, a, b in sorted(pairs, key=words.__getitem__)[:wanted]
        ]
    return pl.DataFrame(parts, schema=dict.fromkeys((by, "image_1", "image_2"), pl.String), orient="row")


def _word(seed: int, pair: tuple[object, str, str]) -> int:
    return int.from_bytes(hashlib.blake2b(repr((seed, *pair)).encode(), digest_size=8).digest(), "big")


def _separate(_: tuple[str, str], first: Stimulus, second: Stimulus) -> tuple[Image, ...]:
    return (*first.load(), *second.load())


def _composed(names: tuple[str, str], first: Stimulus, second: Stimulus) -> tuple[Image, ...]:
    left, right = (decode(one.load()[0].data, name) for one, name in zip((first, second), names, strict=True))
    return (Image(encode(compose(left, right)), "image/jpeg"),)
