"""Stimuli of several tasks: one image, two of them, a form, or nothing."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import numpy as np

from facevalue.errors import DataError
from facevalue.stimuli.base import Kind, Source, factors_of
from facevalue.stimuli.forms import FormSource
from facevalue.stimuli.manifest_rows import PicturesError
from facevalue.stimuli.pairs import COMPOSER, compose, decode, encode
from facevalue.types import Image, Stimulus

_TOGETHER = "two images"
Load = Callable[[], tuple[Image, ...]]
Named = tuple[str, Stimulus]


class MixedSource:
    """Shows what each task needs: levels `image`, `image_1` and `image_2`, or `form` say which.

    Pairs are shown in the order in which they are asked about: `image_2` comes first where the level of `order` is
    `swapped`. As a `composite` they are one picture, side by side, for models that take one image. The factors of such
    a stimulus are those of the design, in its order.
    """

    def __init__(
        self,
        images: Sequence[tuple[Collection[str], Source]],
        kind: Kind,
        forms: FormSource | None = None,
        *,
        composite: bool = False,
        swapped: str = "swapped",
    ) -> None:
        self.kind = kind
        self._images = list(images)
        self._of = {name: source for names, source in images for name in names}
        self._forms = forms
        self._composite = composite
        self._swapped = swapped

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return what is shown at these levels; nothing is decoded or drawn before it is looked at."""
        if levels.get("form") is not None:
            return self._form_source().stimulus(number, levels)
        if levels.get("image_1") is not None:
            names = [str(levels["image_1"]), str(levels["image_2"])]
            if levels["order"] == self._swapped:
                names.reverse()
            first, second = ((name, self._source(name).stimulus(number, {"image": name})) for name in names)
            return _two(number, factors_of(levels), first, second, composite=self._composite)
        return self._source(levels.get("image")).stimulus(number, levels)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Look at every image and form that a run will show, each once."""
        check_images(self._source, levels)
        forms = [i for i, form in enumerate(levels.get("form", ())) if form is not None]
        if forms:
            self._form_source().check({c: [levels[c][i] for i in forms] for c in ("form", "shown") if c in levels})

    def _source(self, image: str | None) -> Source:
        return self._of.get(str(image), self._images[0][1])

    def _form_source(self) -> FormSource:
        if self._forms is None:
            raise DataError("The study has no forms.")
        return self._forms


def check_images(source_of: Callable[[str], Source], levels: Mapping[str, list[str | None]]) -> None:
    """Let its source look at each image, once; a `PicturesError` names all that cannot be shown."""
    by_source: dict[int, tuple[Source, list[str | None]]] = {}
    columns = (levels.get(name, ()) for name in ("image", "image_1", "image_2"))
    for image in dict.fromkeys(image for column in columns for image in column if image is not None):
        source = source_of(image)
        by_source.setdefault(id(source), (source, []))[1].append(image)
    problems: dict[str, str] = {}
    for source, images in by_source.values():
        try:
            source.check({"image": images})
        except PicturesError as error:
            problems |= error.problems
    if problems:
        raise PicturesError(problems)


def _two(number: int, factors: Mapping[str, str | None], first: Named, second: Named, *, composite: bool) -> Stimulus:
    """Show two named images, the first first; or as one composite for models that take one, the first on the left."""
    pictures = [first[1], second[1]]
    digest_lines = [COMPOSER if composite else _TOGETHER, *(picture.digest for picture in pictures)]
    digest = hashlib.blake2b("\n".join(digest_lines).encode(), digest_size=16).hexdigest()
    loads = [picture.load for picture in pictures]
    load = partial(_compose_images, loads, [first[0], second[0]]) if composite else partial(_load_all, loads)
    return Stimulus(str(number), digest, factors, load, 1 if composite else 2)


def _load_all(loads: list[Load]) -> tuple[Image, ...]:
    return tuple(image for load in loads for image in load())


def _compose_images(loads: list[Load], names: list[str]) -> tuple[Image, ...]:
    left, right = (decode(image.data, name) for load, name in zip(loads, names, strict=True) for image in load())
    return (Image(encode(compose(np.asarray(left), np.asarray(right))), "image/jpeg"),)
