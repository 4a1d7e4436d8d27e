"""CIELAB, there and back, for simulated editors: shared with no inspector, so that a mistake in either shows."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_WHITE = _TO_XYZ.sum(axis=1)  # of sRGB, the illuminant D65
_BEND = 6 / 29


def to_lab(rgb: npt.NDArray[np.uint8]) -> Array:
    """L* (0 to 100), a* and b* of sRGB, by IEC 61966-2-1 and CIE 15; any shape that ends in 3 channels.

    Examples
    --------
    >>> to_lab(np.array([[255, 255, 255], [119, 119, 119]], np.uint8)).round(1)[:, 0].tolist()
    [100.0, 50.0]
    """
    steps = np.arange(256) / 255
    linear = np.where(steps <= 0.04045, steps / 12.92, ((steps + 0.055) / 1.055) ** 2.4)[rgb]
    xyz = linear @ _TO_XYZ.T / _WHITE
    f = np.where(xyz > _BEND**3, np.cbrt(xyz), xyz / (3 * _BEND**2) + 4 / 29)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def to_rgb(lab: Array) -> npt.NDArray[np.uint8]:
    """The inverse of `to_lab`; what sRGB cannot show is shown as its nearest channels.

    Examples
    --------
    >>> to_rgb(to_lab(np.array([[12, 200, 99]], np.uint8))).tolist()
    [[12, 200, 99]]
    """
    y = (lab[..., 0] + 16) / 116
    f = np.stack([y + lab[..., 1] / 500, y, y - lab[..., 2] / 200], axis=-1)
    xyz = np.where(f > _BEND, f**3, 3 * _BEND**2 * (f - 4 / 29)) * _WHITE
    linear = np.clip(xyz @ np.linalg.inv(_TO_XYZ).T, 0.0, 1.0)
    steps = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.rint(steps * 255).astype(np.uint8)
