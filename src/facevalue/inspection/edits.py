"""What an edit changed in a picture, and what it left: places, structure, border and background after registration."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from facevalue.inspection.registration import Registration, registered
from facevalue.inspection.views import PLACES, PictureView, of_places, place_means
from facevalue.stimuli.cielab import Floats, lab

CHANGED = 5.0
"""Difference of a place's mean colour from which it has changed (CIE 1976)."""
_LOCAL = 0.5
"""Share of the picture up to which a region that changed is an edit in one place."""
_BORDER = 0.1
_LEAST_PIXELS = 64


@dataclass(frozen=True, eq=False)
class Edit:
    """A picture and its source, laid on each other.

    Attributes
    ----------
    source, picture:
        As they are.
    """

    source: PictureView
    picture: PictureView

    @cached_property
    def registration(self) -> Registration | None:
        """How the picture lies on its source; None where nothing can be laid on anything."""
        return registered(self.source.lab[..., 0], self._plain[..., 0])

    @cached_property
    def _plain(self) -> Floats:
        """The picture's view at the size of its source's."""
        return (
            self.picture.lab if self.picture.shape == self.source.shape else lab(self.picture.sized(self.source.shape))
        )

    @cached_property
    def _laid(self) -> tuple[Floats, npt.NDArray[np.bool_]]:
        return (self.registration or Registration()).laid(self._plain)

    @property
    def lab(self) -> Floats:
        """The picture at its source's pixels."""
        return self._laid[0]

    @property
    def inside(self) -> npt.NDArray[np.bool_]:
        """Pixels of the source's view that the picture shows too."""
        return self._laid[1]

    @cached_property
    def differences(self) -> Floats:
        """Difference of colour at each pixel (CIE 1976)."""
        apart: Floats = np.linalg.norm(self.lab - self.source.lab, axis=-1)
        return apart

    @cached_property
    def place_changes(self) -> Floats:
        """Difference of mean colour of each place; NaN where the picture doesn't show all of it."""
        apart = np.linalg.norm(place_means(self.lab) - place_means(self.source.lab), axis=-1)
        apart[place_means(self.inside.astype(np.float32)) < 1] = np.nan
        changes: Floats = apart
        return changes

    @cached_property
    def region(self) -> npt.NDArray[np.bool_]:
        """Pixels of the largest connected region that changed, a place around it included.

        None are, where it is so large that the edit is not in one place.
        """
        changed = np.nan_to_num(self.place_changes) > CHANGED
        numbers, count = ndimage.label(changed, np.ones((3, 3)))
        if not count:
            return np.zeros(self.inside.shape, dtype=bool)
        largest = numbers == 1 + int(np.argmax(np.bincount(numbers.ravel())[1:]))
        filled = ndimage.binary_dilation(ndimage.binary_fill_holes(largest), np.ones((3, 3), dtype=bool))
        if filled.sum() > _LOCAL * PLACES**2:
            return np.zeros(self.inside.shape, dtype=bool)
        return of_places(filled, self.source.shape)

    def numbers(self) -> dict[str, float | None]:
        """Quantities of the frame and of what is in it."""
        fit, width = self.registration, self.inside.shape[1]
        changes = self.place_changes[~np.isnan(self.place_changes)]
        return {
            "shift": 100 * fit.distance / width if fit else None,
            "zoom": 100 * (fit.zoom - 1) if fit else None,
            "structure": self.structure() if fit else None,
            "changed_share": float((changes > CHANGED).mean()) if changes.size else None,
            "greatest_change": float(changes.max()) if changes.size else None,
            "border_change": self.border_change(),
            "background_change": self.background_change(),
        }

    def structure(self) -> float | None:
        """Mean structural similarity outside the changed region."""
        outside = self.inside & ~self.region
        return (
            float(similarity_map(self.source.lab[..., 0], self.lab[..., 0])[outside].mean()) if outside.any() else None
        )

    def border_change(self) -> float | None:
        """Median difference of colour along the border."""
        height, width = self.inside.shape
        border = np.ones((height, width), dtype=bool)
        high, wide = max(round(height * _BORDER), 1), max(round(width * _BORDER), 1)
        border[high:-high, wide:-wide] = False
        return self._median(border)

    def background_change(self) -> float | None:
        """Median difference of colour beside head and shoulders."""
        height, width = self.inside.shape
        face = self.source.face
        left, right = (face.left - face.width, face.right + face.width) if face else (0.25, 0.75)
        beside = np.zeros((height, width), dtype=bool)
        beside[: round(height * 2 / 3)] = True
        beside[:, max(round(left * width), 0) : max(round(right * width), 0)] = False
        return self._median(beside)

    def _median(self, where: npt.NDArray[np.bool_]) -> float | None:
        values = self.differences[where & self.inside]
        return float(np.median(values)) if values.size >= _LEAST_PIXELS else None


def similarity_map(first: Floats, second: Floats, span: float = 100.0) -> Floats:
    """Structural similarity at each pixel, with a Gaussian window of 1.5 pixels (Wang et al. 2004, equation 13).

    `span`: greatest difference that values can have.
    """

    def window(values: Floats) -> Floats:
        blurred: Floats = ndimage.gaussian_filter(values, 1.5, truncate=3.5)
        return blurred

    mean, other_mean = window(first), window(second)
    variance = window(first * first) - mean**2
    other_variance = window(second * second) - other_mean**2
    joint = window(first * second) - mean * other_mean
    light, contrast = (0.01 * span) ** 2, (0.03 * span) ** 2
    apart = (mean**2 + other_mean**2 + light) * (variance + other_variance + contrast)
    similarity: Floats = np.asarray((2 * mean * other_mean + light) * (2 * joint + contrast) / apart, dtype=np.float32)
    return similarity
