"""Measures of an edit: places, structure, border and background that it changed or left, after registration.

Editors move the frame by a few pixels or enlarge it by a few per cent, which a comparison pixel by pixel takes for a
change of everything. Coarse by phase correlation, then fine by least squares with weights that local changes lose.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from facevalue.inspection.views import PLACES, PictureView, of_places, place_means
from facevalue.stimuli.pixels import Floats, lab

# Registration: the shift and the zoom that lay a picture on its source, found before the two are compared.


_LEAST_CORRELATION = 0.3
"""Correlation of the registered pictures below which they show nothing in common that could be laid on each other."""
_NEAR = 0.85  # correlation of edges from which least squares find the way by themselves
_STEPS = 8
_FLAT = 0.5  # L*: what varies less shows nothing
_EVERY = 2  # of the pixels along a side, in least squares
_NEARLY = 0.02  # pixels of the view, and what a zoom moves at its border: less is none


@dataclass(frozen=True)
class Registration:
    """Position of a picture on its source: a source point x from the middle lies at zoom * x + shift in the picture.

    Attributes
    ----------
    across, down:
        Shift in pixels of the view, to the right and downwards.
    zoom:
        Factor; above 1 the picture is enlarged.
    """

    across: float = 0.0
    down: float = 0.0
    zoom: float = 1.0

    @property
    def distance(self) -> float:
        """Length of the shift in pixels of the view."""
        return float(np.hypot(self.across, self.down))

    def moves(self, shape: tuple[int, ...]) -> bool:
        """Return whether it moves anything in a view of this height and width."""
        return self.distance > _NEARLY or abs(self.zoom - 1) * max(shape) / 2 > _NEARLY

    def align(self, values: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Values of a picture, (height, width) or with channels, at its source's pixels, and which of them it shows."""
        height, width = values.shape[:2]
        if not self.moves((height, width)):
            return values, np.ones((height, width), dtype=bool)
        middle = np.array([(height - 1) / 2, (width - 1) / 2])
        offset = middle * (1 - self.zoom) + np.array([self.down, self.across])
        planes = values[..., None] if values.ndim == 2 else values
        moved = np.stack(
            [
                ndimage.affine_transform(planes[..., at], [self.zoom, self.zoom], offset, order=1, mode="nearest")
                for at in range(planes.shape[-1])
            ],
            axis=-1,
        )
        inside = []
        for side, start in zip((height, width), offset, strict=True):
            places = self.zoom * np.arange(side) + start
            inside.append((places >= -0.5) & (places <= side - 0.5))
        return moved.reshape(values.shape), np.outer(*inside)


def register_picture(source: Floats, picture: Floats) -> Registration | None:
    """Find how a picture lies on its source; None where the two have nothing in common.

    Parameters
    ----------
    source, picture:
        L* of views of one height and width.

    Examples
    --------
    >>> noise = ndimage.gaussian_filter(np.random.default_rng(1).normal(50, 200, (96, 96)), 3).astype(np.float32)
    >>> registration = register_picture(noise[8:88, 8:88], noise[8:88, 5:85])
    >>> round(registration.across), round(registration.down)
    (3, 0)
    """
    if np.array_equal(source, picture):
        return Registration()
    if min(float(view.std()) for view in (source, picture)) < _FLAT:
        return None
    edges = _edges(source), _edges(picture)
    start = Registration()
    starts = {start: _correlation(start, *edges)}
    if starts[start] < _NEAR:
        for factor in {1.0, _spectral_zoom(*edges)}:
            moved, _ = Registration(zoom=factor).align(edges[1])
            down, across = _phase_shift(edges[0], moved)
            start = Registration(across * factor, down * factor, factor)
            starts[start] = _correlation(start, *edges)
    fit = _refine_registration(max(starts, key=lambda start: starts[start]), *edges)
    return fit if _correlation(fit, *edges) >= _LEAST_CORRELATION else None


def _edges(view: Floats) -> Floats:
    """Edges alone, weak ones beside strong ones: another light, background or sharpness then moves next to nothing."""
    smooth = ndimage.gaussian_filter(view, 1.0)
    slopes = np.hypot(np.gradient(smooth, axis=0), np.gradient(smooth, axis=1))
    edges: Floats = np.sqrt(slopes + _FLAT**2)
    return edges


def _phase_shift(source: Floats, picture: Floats) -> tuple[float, float]:
    """Whole pixels by which a picture is moved down and to the right, by phase correlation."""
    height, width = source.shape
    window = np.outer(np.hanning(height), np.hanning(width))
    spectra = [np.fft.rfft2((view - view.mean()) * window) for view in (source, picture)]
    power = np.conj(spectra[0]) * spectra[1]
    correlation = np.fft.irfft2(power / (np.abs(power) + 1e-9), s=source.shape)
    down, across = np.unravel_index(int(np.argmax(correlation)), correlation.shape)
    return (
        float(down if down <= height // 2 else down - height),
        float(across if across <= width // 2 else across - width),
    )


def _spectral_zoom(source: Floats, picture: Floats) -> float:
    """Zoom by phase correlation of spectra whose radii are logarithmic, which no shift moves."""
    height, width = source.shape
    window = np.outer(np.hanning(height), np.hanning(width))
    greatest = min(height, width) / 2 - 1
    steps, angles = 192, 90
    radii = np.exp(np.linspace(np.log(4), np.log(greatest), steps))
    turns = np.linspace(0, np.pi, angles, endpoint=False)
    rows = height / 2 + np.outer(radii, np.sin(turns)) * (height / min(height, width))
    columns = width / 2 + np.outer(radii, np.cos(turns)) * (width / min(height, width))
    polar = []
    for view in (source, picture):
        spectrum = np.log1p(np.abs(np.fft.fftshift(np.fft.fft2((view - view.mean()) * window))))
        sampled = ndimage.map_coordinates(spectrum, [rows, columns], order=1)
        sampled -= ndimage.gaussian_filter1d(sampled, 12, axis=0)  # spectra fall alike: what is left has places
        polar.append(np.fft.rfft2(sampled * np.hanning(steps)[:, None]))
    power = np.conj(polar[0]) * polar[1]
    correlation = np.fft.irfft2(power / (np.abs(power) + 1e-9), s=(steps, angles))[:, 0]
    lags = np.arange(-24, 25)
    near = correlation[lags]
    lag = int(lags[int(np.argmax(near))])
    return float(np.exp(-lag * np.log(greatest / 4) / (steps - 1)))


def _refine_registration(start: Registration, source: Floats, picture: Floats) -> Registration:
    """Least squares over shift, zoom and a change of light as a whole, with weights that large differences lose."""
    height, width = source.shape
    down, across = (np.arange(0, side, _EVERY, dtype=np.float32) - (side - 1) / 2 for side in (height, width))
    fit = start
    for _ in range(_STEPS):
        moved, inside = fit.align(picture)
        if inside.sum() < 0.2 * inside.size:
            return start
        slope_down = np.gradient(moved[:, ::_EVERY], axis=0)[::_EVERY]
        slope_across = np.gradient(moved[::_EVERY], axis=1)[:, ::_EVERY]
        turn = slope_across * across + slope_down * down[:, None]
        sampled = inside[::_EVERY, ::_EVERY]
        columns = np.stack([slope_across, slope_down, turn, np.ones_like(turn)])[:, sampled]
        differences = (source - moved)[::_EVERY, ::_EVERY][sampled]
        differences = differences - np.median(differences)
        spread = max(1.4826 * float(np.median(np.abs(differences))), 0.02)
        weights = 1 / (1 + (differences / (2 * spread)) ** 2) ** 2
        weighted = columns * weights
        try:
            step = np.linalg.solve(weighted @ columns.T + 1e-6 * np.eye(4), weighted @ differences)
        except np.linalg.LinAlgError:
            return start
        # A step is in the moved picture's pixels; the warp scales it
        fit = Registration(
            fit.across + float(step[0]) * fit.zoom,
            fit.down + float(step[1]) * fit.zoom,
            fit.zoom * (1 + float(step[2])),
        )
        if not 0.5 <= fit.zoom <= 1.5 or fit.distance > max(height, width) / 2:
            return start
        if max(abs(step[0]), abs(step[1]), abs(step[2]) * max(height, width) / 2) < _NEARLY / 4:
            break
    return fit


def _correlation(fit: Registration, source: Floats, picture: Floats) -> float:
    moved, inside = fit.align(picture)
    if inside.sum() < 0.2 * inside.size:
        return -1.0
    pair = source[inside], moved[inside]
    if min(float(values.std()) for values in pair) < 1e-6:
        return -1.0
    return float(np.corrcoef(*pair)[0, 1])


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
        """Registration of the picture on its source; None where the two cannot be aligned."""
        return register_picture(self.source.lab[..., 0], self._plain[..., 0])

    @cached_property
    def _plain(self) -> Floats:
        """The picture's view at the size of its source's."""
        return (
            self.picture.lab
            if self.picture.shape == self.source.shape
            else lab(self.picture.resize_picture(self.source.shape))
        )

    @cached_property
    def _aligned_picture(self) -> tuple[Floats, npt.NDArray[np.bool_]]:
        return (self.registration or Registration()).align(self._plain)

    @property
    def lab(self) -> Floats:
        """The picture at its source's pixels."""
        return self._aligned_picture[0]

    @property
    def inside(self) -> npt.NDArray[np.bool_]:
        """Pixels of the source's view that the picture shows too."""
        return self._aligned_picture[1]

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
