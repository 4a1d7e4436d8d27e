"""Simulated editors whose side effects are planted, so that an audit of editors can be checked against the truth.

Whom an effect meets is drawn at random from a seed over the levels of factors: it means nothing about any people. An
editor works on the pixels of whatever picture it is given. For what it is asked to change stands a dark stripe across
the chest of FaceValue's portraits; a null edit (`base.NULL_EDIT`) writes the picture again, and nothing else.
"""

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import PIL.Image
import PIL.ImageDraw

from facevalue.errors import DataError, ModelSpecError, UnknownNameError
from facevalue.generators.base import (
    NULL_EDIT,
    GeneratedPicture,
    GeneratorCapabilities,
    GeneratorOptions,
    PictureRequest,
)
from facevalue.models._pictures import picture
from facevalue.stimuli.pixels import lab, to_rgb
from facevalue.stimuli.portraits.levels import Stream
from facevalue.types import Image, Status

Pixels = npt.NDArray[np.uint8]
Array = npt.NDArray[np.float64]

LIGHTEN, DRIFT, SHIFT, ZOOM, REFUSE = "lighten", "drift", "shift", "zoom", "refuse"
_KINDS = {LIGHTEN: (6.0, -60.0, 60.0), DRIFT: (0.01, 0.0, 0.1), SHIFT: (0.05, -0.5, 0.5), ZOOM: (1.1, 0.5, 2.0),
          REFUSE: (0.3, 0.0, 1.0)}  # fmt: skip
"""Usual, least and greatest strength of what can be planted."""
_MET = 0.5  # share of a factor's levels that are drawn to be met
_PLANT = re.compile(r"([a-z]+)(?:=(-?[0-9.]+))?((?::[A-Za-z_][A-Za-z0-9_]*)*)")
# Centre of a face and half of its axes, and a stripe below it, as shares of the picture: FaceValue's portraits
_FACE, _AXES = (0.5, 0.43), (0.2, 0.25)
_STRIPE = (0.3, 0.86, 0.7, 0.94)  # left, top, right, bottom
_AROUND = 1.2  # how far beyond the outline of the face skin is looked for
_WARM = (10.0, 100.0)  # hues of skin in CIELAB, degrees
_QUALITY = 95
_WAVES, _CYCLES = 2, (1.0, 2.5)  # of what moves features: how many, and their length across the picture


@dataclass(frozen=True, slots=True)
class Jitter:
    """Standard deviations of what every edit does to every picture, a null edit too.

    Attributes
    ----------
    lightness:
        Of the whole picture, L*.
    frame:
        Of its shift, as a share of its width.
    scale:
        Of its scale.
    """

    lightness: float = 0.7
    frame: float = 0.005
    scale: float = 0.005


@dataclass(frozen=True, slots=True)
class Plant:
    """One planted side effect.

    Attributes
    ----------
    kind:
        `LIGHTEN`: L* added to skin; `DRIFT`: how far the features of a face move, as a share of the picture's width;
        `SHIFT`: the frame to the right, as a share of the width; `ZOOM`: the scale; `REFUSE`: the chance of a refusal.
    strength:
        How much of it.
    factors:
        It meets the pictures whose level of each of these was drawn; all pictures where there are none.

    Examples
    --------
    >>> Plant("lighten", 6.0, ("gender",)).is_met({"gender": "female"}, seed=1)
    True
    """

    kind: str
    strength: float
    factors: tuple[str, ...] = ()

    def is_met(self, levels: Mapping[str, str | None], seed: int) -> bool:
        """Return whether it applies to a picture with these levels; each level is drawn with probability one half."""
        return all(
            (level := levels.get(name)) is not None and Stream(seed, f"{self.kind} {name}={level}").unit() < _MET
            for name in self.factors
        )


class PlantedEditor:
    """`sim/PLANTS`: an editor with planted side effects.

    `PLANTS` is "null", or `KIND`, `KIND=STRENGTH` or `KIND=STRENGTH:FACTOR` (several factors too), joined by "+", with
    `@SEED` for other draws. "sim/lighten=6:gender+refuse=0.2:age@7" lightens skin by 6 L* for the genders that the seed
    7 draws, and refuses one edit in five for the ages that it draws.

    Examples
    --------
    >>> editor = PlantedEditor("sim/lighten=6:gender+zoom=1.1@1")
    >>> editor.truth({"gender": "female", "cue": "glasses"})
    {'lighten': 6.0, 'zoom': 1.1}
    >>> editor.truth({"gender": "female", "cue": "no change"})
    {}
    """

    def __init__(self, spec: str, options: GeneratorOptions | None = None, jitter: Jitter | None = None) -> None:
        if options is not None and (options.size or options.settings):
            raise ModelSpecError(f"{spec} keeps the size of a picture and has no settings but those in its name.")
        self.name = spec
        self.jitter = jitter or Jitter()
        plants, _, seed = spec.removeprefix("sim/").partition("@")
        if seed and not (seed.isascii() and seed.isdigit()):
            raise ModelSpecError(f"The seed in {spec!r} is not a whole number: write sim/{plants}@7.")
        self.seed = int(seed or 0)
        self.plants = () if plants == "null" else tuple(_plant(spec, text) for text in plants.split("+"))
        kinds = [plant.kind for plant in self.plants]
        if twice := next((kind for kind in kinds if kinds.count(kind) > 1), ""):
            raise ModelSpecError(f"{spec!r} plants {twice} twice: name each side effect once.")
        self.capabilities = GeneratorCapabilities(generates=False, edits=True, seeds=True, kind=None)

    def truth(self, levels: Mapping[str, str | None]) -> dict[str, float]:
        """Strength of each side effect that an edit of a picture with these levels has; none of a null edit."""
        if NULL_EDIT in levels.values():
            return {}
        return {plant.kind: plant.strength for plant in self.plants if plant.is_met(levels, self.seed)}

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Planted side effects; the pictures that they apply to follow from the seed."""
        planted = {plant.kind: plant.strength for plant in self.plants}
        of = {f"{plant.kind}_of": ", ".join(plant.factors) for plant in self.plants if plant.factors}
        jitter = {f"jitter_{name}": getattr(self.jitter, name) for name in ("lightness", "frame", "scale")}
        return {"seed": self.seed, **planted, **of, **jitter}

    def generate(self, requests: Iterable[PictureRequest]) -> Iterator[GeneratedPicture]:
        """Edit each picture; one that is to be made from nothing fails."""
        for request in requests:
            if request.source is None:
                error = f"{self.name} changes pictures, and makes none: name another generator for those"
                yield GeneratedPicture(request.number, Status.ERROR, error=error)
                continue
            truth = self.truth(request.factors)
            draws = Stream(request.seed, request.prompt)
            if draws.unit() < truth.get(REFUSE, 0.0):
                yield GeneratedPicture(request.number, Status.REFUSED, error="a refusal that is planted")
                continue
            try:
                pixels = np.asarray(picture(request.source, "the source picture"))
            except DataError as error:
                yield GeneratedPicture(request.number, Status.ERROR, error=str(error))
                continue
            if drift := truth.get(DRIFT, 0.0):
                pixels = _drift_features(pixels, drift, draws)
            if NULL_EDIT not in request.factors.values():
                pixels = _add_stripe(pixels)
            data = _encode_pixels(self._edit_pixels(pixels, truth, draws))
            yield GeneratedPicture(request.number, Status.OK, Image(data, "image/jpeg"), seed=request.seed)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _edit_pixels(self, pixels: Pixels, truth: Mapping[str, float], draws: Stream) -> Pixels:
        """A picture with its side effects and what every edit does."""
        colours = lab(pixels).astype(np.float64)
        colours[..., 0] += self.jitter.lightness * _normal(draws)
        if amount := truth.get(LIGHTEN, 0.0):
            colours[..., 0] += np.where(_is_skin(colours), amount, 0.0)
        right = truth.get(SHIFT, 0.0) + self.jitter.frame * _normal(draws)
        scale = truth.get(ZOOM, 1.0) * (1 + self.jitter.scale * _normal(draws))
        return to_rgb(_move_picture(colours, right, scale))


def _plant(spec: str, text: str) -> Plant:
    """One of the plants that a spec names."""
    form = _PLANT.fullmatch(text)
    kind = form[1] if form else re.split("[=:]", text)[0]
    if kind not in _KINDS:
        raise UnknownNameError("planted side effect", kind, (*_KINDS, "null"))
    usual, least, greatest = _KINDS[kind]
    try:
        strength = float(form[2]) if form and form[2] else usual
    except ValueError:
        form = None
    if form is None:
        raise ModelSpecError(f"{text!r} in {spec!r} is no plant: write {kind}={usual:g} or {kind}={usual:g}:FACTOR.")
    if not least <= strength <= greatest:
        raise ModelSpecError(f"{kind} in {spec!r} goes from {least:g} to {greatest:g}, not to {strength:g}.")
    return Plant(kind, strength, tuple(form[3].split(":")[1:]))


def _encode_pixels(pixels: Pixels) -> bytes:
    out = io.BytesIO()
    PIL.Image.fromarray(pixels).save(out, "JPEG", quality=_QUALITY, subsampling=0)
    return out.getvalue()


def _add_stripe(pixels: Pixels) -> Pixels:
    """A picture with a dark stripe, which stands for whatever was to be changed."""
    striped = PIL.Image.fromarray(pixels)
    width, height = striped.size
    left, top, right, bottom = _STRIPE
    PIL.ImageDraw.Draw(striped).rectangle((left * width, top * height, right * width, bottom * height), (40, 44, 90))
    return np.asarray(striped)


def _is_skin(colours: Array) -> npt.NDArray[np.bool_]:
    """Pixels of the hue of skin around the place of a face."""
    hue = np.degrees(np.arctan2(colours[..., 2], colours[..., 1]))
    return (_away(*colours.shape[:2]) < _AROUND) & (hue > _WARM[0]) & (hue < _WARM[1])


def _away(height: int, width: int) -> Array:
    """Distance of each pixel from the middle of the face: 1 on its outline."""
    y, x = (np.mgrid[0:height, 0:width] + 0.5) / np.array([height, width])[:, None, None]
    return np.asarray(np.hypot((x - _FACE[0]) / _AXES[0], (y - _FACE[1]) / _AXES[1]))


def _move_picture(colours: Array, right: float, scale: float) -> Array:
    """A picture scaled about its middle and shifted; its edges are drawn out."""
    height, width = colours.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    return _sample_colours(
        colours, (x - width / 2 - right * width) / scale + width / 2, (y - height / 2) / scale + height / 2
    )


def _drift_features(pixels: Pixels, drift: float, draws: Stream) -> Pixels:
    """A picture in which the features of the face have moved, and nothing around it."""
    height, width = pixels.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    inside = np.clip(1 - _away(height, width) ** 2, 0.0, 1.0) * drift * width
    moves = np.zeros((2, height, width))
    for _ in range(_WAVES):
        along, across = (draws.uniform(*_CYCLES) * draws.choice((-1, 1)) for _ in range(2))
        phase = 2 * np.pi * (along * x / width + across * y / height)
        moves += [np.sin(phase + 2 * np.pi * draws.unit()) for _ in range(2)]
    return (
        _sample_colours(pixels.astype(np.float64), x + inside * moves[0], y + inside * moves[1])
        .round()
        .astype(np.uint8)
    )


def _sample_colours(colours: Array, x: Array, y: Array) -> Array:
    """Colours at places between pixels, by bilinear interpolation."""
    height, width = colours.shape[:2]
    x, y = np.clip(x, 0, width - 1), np.clip(y, 0, height - 1)
    left, top = np.minimum(x.astype(int), width - 2), np.minimum(y.astype(int), height - 2)
    across, down = (x - left)[..., None], (y - top)[..., None]
    upper = colours[top, left] * (1 - across) + colours[top, left + 1] * across
    lower = colours[top + 1, left] * (1 - across) + colours[top + 1, left + 1] * across
    return np.asarray(upper * (1 - down) + lower * down)


def _normal(draws: Stream) -> float:
    """A number of about a normal distribution: twelve uniform ones, less their mean."""
    return sum(draws.unit() for _ in range(12)) - 6.0
