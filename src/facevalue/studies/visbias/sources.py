"""What is shown: one image, two of them, a form, or nothing."""

import hashlib
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from facevalue.errors import DataError
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.forms import FormSource
from facevalue.stimuli.individuals import decode
from facevalue.stimuli.pairs import COMPOSER, compose, encode
from facevalue.studies.visbias.design import PEOPLE, SPECIES, SWAPPED
from facevalue.types import Image, Stimulus

_TOGETHER = "two images"
_NOT_FACTORS = ("trial", "block")


class TaskSource:
    """Shows what each task needs.

    Pairs are shown in the order in which they are asked about: the image that the question calls the first comes first.
    The factors of such a stimulus are those of the design, in its order: `image_2` is shown first where the order is
    swapped.

    Parameters
    ----------
    images:
        Where images of people, and those of species, come from.
    beings:
        Names of the images of species.
    forms:
        Where forms come from; None if none are asked about.
    composite:
        Whether pairs are one picture, side by side, for models that take one image.
    """

    def __init__(
        self, images: Mapping[str, Source], beings: frozenset[str], forms: FormSource | None, composite: bool
    ) -> None:
        self._images = dict(images)
        self._beings = beings
        self._forms = forms
        self._composite = composite

    @property
    def kind(self) -> Kind:
        """What kind of pictures these are: those of people."""
        return self._images[PEOPLE].kind if PEOPLE in self._images else Kind.ILLUSTRATED

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return what is shown at these levels; nothing is decoded or drawn before it is looked at.

        Raises
        ------
        DataError
            An image is missing, or there is no such form.
        """
        if levels.get("form") is not None:
            return self._form_source().stimulus(number, levels)
        if levels.get("image_1") is not None:
            return self._pair(number, levels)
        return self._of(levels.get("image")).stimulus(number, levels)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Look at every image and form that a run will show, each once.

        Raises
        ------
        DataError
            Names what is missing or unreadable.
        """
        shown = {i: None for c in ("image", "image_1", "image_2") for i in levels.get(c, ()) if i is not None}
        for who, source in self._images.items():
            images: list[str | None] = [image for image in shown if (image in self._beings) == (who == SPECIES)]
            if images:
                source.check({"image": images})
        forms = [i for i, form in enumerate(levels.get("form", ())) if form is not None]
        if forms:
            self._form_source().check({c: [levels[c][i] for i in forms] for c in ("form", "shown") if c in levels})

    def _of(self, image: str | None) -> Source:
        return self._images[SPECIES if image in self._beings else PEOPLE]

    def _form_source(self) -> FormSource:
        if self._forms is None:
            raise DataError("The study has no forms.")
        return self._forms

    def _pair(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        factors = {name: level for name, level in levels.items() if name not in _NOT_FACTORS}
        names = [levels["image_1"], levels["image_2"]]
        if levels["order"] == SWAPPED:
            names.reverse()
        shown = [self._of(name).stimulus(number, {"image": name}) for name in names]
        made = [COMPOSER if self._composite else _TOGETHER, *(one.digest for one in shown)]
        digest = hashlib.blake2b("\n".join(made).encode(), digest_size=16).hexdigest()
        loads = [one.load for one in shown]
        load = partial(_composed, loads, [str(name) for name in names]) if self._composite else partial(_both, loads)
        return Stimulus(str(number), digest, factors, load)


Load = Callable[[], tuple[Image, ...]]


def _both(loads: list[Load]) -> tuple[Image, ...]:
    return tuple(image for load in loads for image in load())


def _composed(loads: list[Load], names: list[str]) -> tuple[Image, ...]:
    """The two images side by side, the first on the left."""
    left, right = (decode(image.data, name) for load, name in zip(loads, names, strict=True) for image in load())
    return (Image(encode(compose(np.asarray(left), np.asarray(right))), "image/jpeg"),)
