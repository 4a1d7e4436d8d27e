"""The inspector, a model that is shown a picture and replies with quantities, and the aids that it takes."""

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from facevalue.errors import DataError, ModelSpecError, UnknownNameError
from facevalue.inspection.edits import Edit
from facevalue.inspection.quantities import QUANTITIES, Expectation, Need
from facevalue.inspection.views import Box, PictureView, blankness, place_means
from facevalue.models.base import Capabilities, ModelOptions
from facevalue.stimuli.images import content_hash
from facevalue.stimuli.pixels import Floats, difference_hash, hue, typology_angle
from facevalue.types import Image, Request, Response, Status

NONE = "default"
"""What follows "inspect/" where no model is taken."""
PEERS = "peers"
"""A table of sources by whom an identity is ranked; no model, and stands beside one for identity."""
_KINDS = (*(need.value for need in Need if need), PEERS)


class Aid(Protocol):
    """A model that gives some of the quantities."""

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Facts that change its numbers."""
        ...

    def quantities(
        self, picture: PictureView, source: PictureView | None, expectation: Expectation
    ) -> Mapping[str, float | None]:
        """Quantities by name; None, or none at all, where it can tell none."""
        ...


def places_of(name: str) -> dict[str, str]:
    """Read the name of an inspector: "default", or aids such as "identity=dlib,objects=models/detr".

    Raises
    ------
    ModelSpecError, UnknownNameError
        It is neither, or names an aid twice.

    Examples
    --------
    >>> places_of("identity=dlib")
    {'identity': 'dlib'}
    """
    if name == NONE:
        return {}
    places: dict[str, str] = {}
    for piece in name.split(","):
        kind, sign, place = (text.strip() for text in piece.partition("="))
        if kind not in _KINDS and not sign:
            raise UnknownNameError("inspector", kind, [NONE, *(f"{aid}=..." for aid in _KINDS)])
        if kind not in _KINDS:
            raise UnknownNameError("aid of an inspector", kind, _KINDS)
        if not place:
            example = {Need.IDENTITY.value: "dlib", PEERS: "FILE.parquet"}.get(kind, "FOLDER")
            raise ModelSpecError(f"{piece.strip()!r} names no model: write {kind}={example}.")
        if kind in places:
            raise ModelSpecError(f"An inspector has one model for {kind}, not both {places[kind]} and {place}.")
        places[kind] = place
    if PEERS in places and Need.IDENTITY.value not in places:
        raise ModelSpecError(f"{PEERS} are for ranks of identity: name a model for it too, such as identity=dlib.")
    return places


def name_of(places: Mapping[str, str]) -> str:
    """The name of an inspector with these aids, in their order.

    Examples
    --------
    >>> name_of({"objects": "models/detr", "identity": "dlib"}), name_of({})
    ('inspect/identity=dlib,objects=models/detr', 'inspect/default')
    """
    pieces = [f"{kind}={places[kind]}" for kind in _KINDS if kind in places]
    return f"inspect/{','.join(pieces) or NONE}"


def load_aids(places: Mapping[str, str], device: str | None = None) -> list[Aid]:
    """Load each of the models.

    Raises
    ------
    ModelError, DependencyError
        One is not there, cannot be read, or needs a package that is missing.
    """
    aids: list[Aid] = []
    for kind, place in places.items():
        if kind == Need.IDENTITY:
            from facevalue.inspection.identity import IdentityAid, Peers  # noqa: PLC0415 - imported when asked for

            aids.append(IdentityAid(place, Peers.read(Path(places[PEERS])) if PEERS in places else None))
        elif kind == Need.EXPRESSION:
            from facevalue.inspection.model_aids import load_expression_aid  # noqa: PLC0415

            aids.append(load_expression_aid(Path(place), device))
        elif kind != PEERS:
            from facevalue.inspection.model_aids import of_folder  # noqa: PLC0415

            aids.append(of_folder(Need(kind), place, device))
    return aids


# Skin of a face in a picture: where it is, its lightness, typology angle and hue, and what an edit did to them.


LEAST_SHARE = 0.01
"""Share of the picture below which there is no skin to speak of."""
_MIDDLE = Box(0.25, 0.1, 0.75, 0.75)  # where a portrait has its face
_HUES, _CHROMAS, _SHADES = (15, 95), (5, 65), (8, 97)  # degrees, C* and L* that any skin can have
_REACH, _DEPTH = 8.0, 22.0  # from the commonest colour, in the plane of a* and b* and in L*
_BIN = 3


@dataclass(frozen=True)
class SkinTone:
    """Medians over the skin in a picture."""

    lightness: float
    redness: float
    yellowness: float

    @property
    def angle(self) -> float:
        """Individual typology angle in degrees."""
        return typology_angle(self.lightness, self.yellowness)

    @property
    def hue(self) -> float:
        """Hue in degrees."""
        return hue(self.redness, self.yellowness)


def skin_region(lab: Floats, face: Box | None = None) -> npt.NDArray[np.bool_] | None:
    """Pixels of a view that show the face's skin; None where there is none."""
    height, width = lab.shape[:2]
    box = _inner(face) if face else _MIDDLE
    rows = slice(max(int(box.top * height), 0), max(int(box.bottom * height), 0))
    columns = slice(max(int(box.left * width), 0), max(int(box.right * width), 0))
    crop = lab[rows, columns]
    if min(crop.shape[:2]) < 4:
        return None
    lightness, redness, yellowness = (crop[..., at] for at in range(3))
    chroma, angle = np.hypot(redness, yellowness), np.degrees(np.arctan2(yellowness, redness))
    able = (
        ((angle > _HUES[0]) & (angle < _HUES[1]))
        & ((chroma > _CHROMAS[0]) & (chroma < _CHROMAS[1]))
        & ((lightness > _SHADES[0]) & (lightness < _SHADES[1]))
    )
    if able.sum() < LEAST_SHARE * height * width:
        return None
    down, across = (np.linspace(-1, 1, side, dtype=np.float32) for side in crop.shape[:2])
    weights = np.exp(-(down[:, None] ** 2 + across**2) / 0.5)[able]
    centre = _commonest(crop[able], weights)
    apart = np.hypot(redness - centre[1], yellowness - centre[2])
    region = np.zeros((height, width), dtype=bool)
    region[rows, columns] = able & (apart < _REACH) & (np.abs(lightness - centre[0]) < _DEPTH)
    return region if region.sum() >= LEAST_SHARE * height * width else None


def skin(lab: Floats, region: npt.NDArray[np.bool_]) -> SkinTone:
    """Medians over a region."""
    return SkinTone(*(float(value) for value in np.median(lab[region], axis=0)))


def changed_skin(source: Floats, picture: Floats, region: npt.NDArray[np.bool_]) -> tuple[SkinTone, SkinTone] | None:
    """Skin of the source, and that moved by the median change at the same places; None where none is shown."""
    if not region.any():
        return None
    tone = skin(source, region)
    light, red, yellow = (float(change) for change in np.median(picture[region] - source[region], axis=0))
    return tone, SkinTone(tone.lightness + light, tone.redness + red, tone.yellowness + yellow)


def _inner(face: Box) -> Box:
    """The part of a face's box without its corners, hair and chin."""
    width, height = face.width, face.bottom - face.top
    return Box(
        face.left + 0.12 * width, face.top + 0.15 * height, face.right - 0.12 * width, face.bottom - 0.05 * height
    )


def _commonest(colours: Floats, weights: Floats) -> Floats:
    """The commonest colour, (L*, a*, b*): mean of what is near the fullest place of a smooth histogram."""
    bins = (colours - np.array([0, 0, -10], dtype=np.float32)) / np.array([8, _BIN, _BIN], dtype=np.float32)
    places = np.clip(bins, 0, (12, 24, 28)).astype(np.int32)
    flat = np.ravel_multi_index((places[:, 0], places[:, 1], places[:, 2]), (13, 25, 29))
    counts = np.bincount(flat, weights, 13 * 25 * 29).reshape(13, 25, 29)
    fullest = np.unravel_index(int(np.argmax(ndimage.uniform_filter(counts, 3, mode="constant"))), counts.shape)
    near = (np.abs(places - np.array(fullest)) <= 1).all(axis=1)
    commonest: Floats = np.median(colours[near], axis=0)
    return commonest


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
                text = lines_of(
                    self.inspect_picture(images[-1], images[0] if images[1:] else None, request.question.prompt)
                )
                status, error = Status.OK, None
            except DataError as problem:
                status, error, text = Status.ERROR, str(problem), None
            latency = (time.perf_counter() - started) * 1000
            yield Response(request.trial, request.repeat, status, text, latency_ms=latency, error=error)

    def inspect_picture(self, image: Image, source: Image | None = None, prompt: str = "") -> Numbers:
        """Quantities of a picture by name; None, or none at all, where they cannot be computed.

        Of a picture that cannot be decoded there is one, that it is not readable; beside a source that cannot be,
        there are those of the picture alone.
        """
        expectation = Expectation.from_prompt(prompt)
        try:
            picture = self._add_face_box(PictureView.decode_image(image, "the picture"))
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
        """Release what was kept."""
        self._sources.clear()

    def _source(self, image: Image) -> PictureView | None:
        """A source, decoded once for edits that come together; None if it cannot be."""
        digest = content_hash(image.data)
        try:
            view = self._sources.pop(digest, None) or self._add_face_box(PictureView.decode_image(image, "its source"))
        except DataError:
            return None
        self._sources[digest] = view
        if len(self._sources) > _SOURCES:
            del self._sources[next(iter(self._sources))]
        return view

    def _add_face_box(self, view: PictureView) -> PictureView:
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
