"""The inspector: a model that is shown a picture, after its source if there is one, and replies with quantities."""

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol, runtime_checkable

from facevalue.errors import DataError
from facevalue.inspection.aids import load_aids, places_of
from facevalue.inspection.edits import Edit
from facevalue.inspection.expectation import Expectation
from facevalue.inspection.quantities import QUANTITIES
from facevalue.inspection.skin import changed_skin, skin, skin_region
from facevalue.inspection.surface import blankness
from facevalue.inspection.views import Box, PictureView, place_means
from facevalue.models.base import Capabilities, ModelOptions
from facevalue.stimuli.images import content_hash
from facevalue.stimuli.lookalikes import difference_hash
from facevalue.types import Image, Request, Response, Status

VERSION = 1
"""Of how quantities are computed; another one makes other numbers."""
Numbers = dict[str, float | None]
_SOURCES = 8  # views of sources that are kept: those of edits that are looked at together


@runtime_checkable
class Facing(Protocol):
    """An aid that looks for faces."""

    def box(self, view: PictureView) -> Box | None:
        """Box around the largest face; None where none is seen."""
        ...


class Inspector:
    """A model that measures instead of seeing.

    A reply has a line for each quantity, "skin_lightness: 61.204"; what cannot be computed is left out. It reads from
    the prompt what the picture shall show (`Expectation`).

    Parameters
    ----------
    spec:
        "inspect/default", or with models, each named by what it is for (`facevalue.inspection.quantities.Need`):
        "inspect/identity=dlib,objects=FOLDER".

    Examples
    --------
    >>> Inspector("inspect/default").settings()
    {'inspection': 1}
    """

    capabilities = Capabilities(images_per_request=2, sight="stated")

    def __init__(self, spec: str, options: ModelOptions | None = None) -> None:
        self.name = spec
        self._aids = load_aids(places_of(spec.partition("/")[2]), options.device if options else None)
        self._identity = next((aid for aid in self._aids if isinstance(aid, Facing)), None)
        self._sources: dict[str, PictureView] = {}

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Version of the quantities, and of each model it takes."""
        facts: dict[str, str | int | float | bool] = {"inspection": VERSION}
        for aid in self._aids:
            facts.update(aid.settings())
        return facts

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Inspect one picture after the other."""
        for request in requests:
            started = time.perf_counter()
            try:
                images = request.stimulus.load()
                if not 1 <= len(images) <= 2:
                    raise DataError(f"An inspector is shown a picture, or its source and a picture, not {len(images)}.")
                text = lines_of(self.inspected(images[-1], images[0] if images[1:] else None, request.question.prompt))
                status, error = Status.OK, None
            except DataError as problem:
                status, error, text = Status.ERROR, str(problem), None
            latency = (time.perf_counter() - started) * 1000
            yield Response(request.trial, request.repeat, status, text, latency_ms=latency, error=error)

    def inspected(self, image: Image, source: Image | None = None, prompt: str = "") -> Numbers:
        """Quantities of a picture by name; None, or none at all, where they cannot be computed.

        Of a picture that cannot be decoded there is one, that it is not readable; beside a source that cannot be,
        there are those of the picture alone.
        """
        expectation = Expectation.of(prompt)
        try:
            picture = self._faced(PictureView.of(image, "the picture"))
        except DataError:
            return {"readable": 0.0}
        origin = self._source(source) if source else None
        numbers = of_picture(picture)
        if origin is not None:
            numbers |= of_edit(picture, origin)
        for aid in self._aids:
            numbers |= aid.quantities(picture, origin, expectation)
        return numbers

    def close(self) -> None:
        """Let go of what was kept."""
        self._sources.clear()

    def _source(self, image: Image) -> PictureView | None:
        """A source, decoded once for edits that come together; None if it cannot be."""
        digest = content_hash(image.data)
        try:
            view = self._sources.pop(digest, None) or self._faced(PictureView.of(image, "its source"))
        except DataError:
            return None
        self._sources[digest] = view
        if len(self._sources) > _SOURCES:
            del self._sources[next(iter(self._sources))]
        return view

    def _faced(self, view: PictureView) -> PictureView:
        """The picture with the box around its face, where faces are looked for."""
        return replace(view, face=self._identity.box(view)) if self._identity else view


def of_picture(picture: PictureView) -> Numbers:
    """Quantities of a picture alone."""
    width, height = picture.picture.size
    numbers: Numbers = {
        "readable": 1.0,
        "width": width,
        "height": height,
        "sharpness": picture.sharpness,
        "blankness": blankness(place_means(picture.lab)),
    }
    region = skin_region(picture.lab, picture.face)
    if region is not None:
        tone = skin(picture.lab, region)
        numbers |= {"skin_lightness": tone.lightness, "skin_ita": tone.angle, "skin_hue": tone.hue}
    return numbers


def of_edit(picture: PictureView, source: PictureView) -> Numbers:
    """Quantities of a picture against its source."""
    edit = Edit(source, picture)
    (width, height), (source_width, source_height) = picture.picture.size, source.picture.size
    before, after = source.sharpness, picture.sharpness
    numbers: Numbers = {
        "size_change": 100 * ((width * height / (source_width * source_height)) ** 0.5 - 1),
        "aspect_change": 100 * (width / height / (source_width / source_height) - 1),
        "format_same": float(picture.media_type == source.media_type),
        "sharpness_change": None if before is None or after is None else after - before,
        "hash_distance": float(hash_distance(picture, source)),
        **edit.numbers(),
    }
    region = skin_region(source.lab, source.face) if edit.registration else None
    skins = changed_skin(source.lab, edit.lab, region & edit.inside) if region is not None else None
    if skins is not None:
        was, became = skins
        numbers |= {
            "skin_lightness_change": became.lightness - was.lightness,
            "skin_ita_change": became.angle - was.angle,
            "skin_hue_change": (became.hue - was.hue + 180) % 360 - 180,
        }
    return numbers


def hash_distance(picture: PictureView, source: PictureView) -> int:
    """Bits that differ between the difference hashes of two pictures."""
    first, second = (difference_hash(view.small[None])[0] for view in (picture, source))
    return int(first ^ second).bit_count()


def lines_of(numbers: Mapping[str, float | None]) -> str:
    r"""Quantities as the lines of a reply, in their order; those that there are, cut to their bounds.

    Examples
    --------
    >>> lines_of({"shift": 0.98123, "skin_lightness": 61.0, "zoom": None})
    'skin_lightness: 61.0\nshift: 0.981'
    """
    lines = []
    for quantity in QUANTITIES:
        value = numbers.get(quantity.name)
        if value is not None and not math.isnan(value):
            number = round(min(max(float(value), quantity.least), quantity.greatest), 3) + 0.0
            lines.append(f"{quantity.name}: {number}")
    return "\n".join(lines)
