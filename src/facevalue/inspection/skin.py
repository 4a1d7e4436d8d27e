"""Skin of a face in a picture: where it is, its lightness, typology angle and hue, and what an edit did to them.

Where skin is, is told by colour alone, around the commonest hue in the middle of the picture (or of the face, where one
is seen), so that no tone is taken for the usual one. A change is the median of differences at the same places: what
covers less than half of the skin, such as glasses, leaves it as it is.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from facevalue.inspection.views import Box
from facevalue.stimuli.cielab import Floats, hue, typology_angle

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
    part = lab[rows, columns]
    if min(part.shape[:2]) < 4:
        return None
    lightness, redness, yellowness = (part[..., at] for at in range(3))
    chroma, angle = np.hypot(redness, yellowness), np.degrees(np.arctan2(yellowness, redness))
    able = (
        ((angle > _HUES[0]) & (angle < _HUES[1]))
        & ((chroma > _CHROMAS[0]) & (chroma < _CHROMAS[1]))
        & ((lightness > _SHADES[0]) & (lightness < _SHADES[1]))
    )
    if able.sum() < LEAST_SHARE * height * width:
        return None
    down, across = (np.linspace(-1, 1, side, dtype=np.float32) for side in part.shape[:2])
    weights = np.exp(-(down[:, None] ** 2 + across**2) / 0.5)[able]
    centre = _commonest(part[able], weights)
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
