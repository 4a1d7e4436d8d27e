"""Colours as people see them: CIELAB of pictures, there and back, and the angles by which skin is described."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

_WHITE = np.array([0.95047, 1.0, 1.08883])  # D65, 2 degrees
_TO_XYZ = np.array(
    [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]
)  # sRGB's primaries (ITU-R BT.709)
_SHADES = np.arange(256) / 255
_LINEAR = np.where(_SHADES <= 0.04045, _SHADES / 12.92, ((_SHADES + 0.055) / 1.055) ** 2.4)
_PARTS = (_TO_XYZ / _WHITE[:, None])[:, :, None] * _LINEAR  # (XYZ, RGB, shade): what a shade adds, by the white


def lab(pixels: npt.NDArray[np.uint8]) -> Floats:
    """L*, a* and b* of pixels in sRGB, (..., 3), seen under D65 (IEC 61966-2-1, CIE 15).

    Examples
    --------
    >>> white, red = lab(np.array([[255, 255, 255], [255, 0, 0]], dtype=np.uint8)).round(1).tolist()
    >>> [round(value, 1) for value in red]
    [53.2, 80.1, 67.2]
    """
    parts = _PARTS.astype(np.float32)
    xyz = [sum(parts[axis, channel][pixels[..., channel]] for channel in range(3)) for axis in range(3)]
    x, y, z = (np.where(value > 0.008856, np.cbrt(value), 7.787 * value + 16 / 116) for value in xyz)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1).astype(np.float32)


def to_rgb(colours: npt.NDArray[np.floating]) -> npt.NDArray[np.uint8]:
    """Pixels in sRGB, the inverse of `lab`; what sRGB cannot show is shown as its nearest channels.

    Examples
    --------
    >>> to_rgb(lab(np.array([[12, 200, 99]], dtype=np.uint8))).tolist()
    [[12, 200, 99]]
    """
    y = (colours[..., 0] + 16) / 116
    roots = np.stack([y + colours[..., 1] / 500, y, y - colours[..., 2] / 200], axis=-1)
    xyz = np.where(roots > 0.008856 ** (1 / 3), roots**3, (roots - 16 / 116) / 7.787) * _WHITE
    linear = np.clip(xyz @ np.linalg.inv(_TO_XYZ).T, 0.0, 1.0)
    shades = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.rint(shades * 255).astype(np.uint8)


def typology_angle(lightness: float, yellowness: float) -> float:
    """Individual typology angle in degrees, of L* and b* (Chardon, Cretois and Hourseau 1991).

    Examples
    --------
    >>> typology_angle(50, 15), round(typology_angle(65, 15))
    (0.0, 45)
    """
    return float(np.degrees(np.arctan((lightness - 50) / max(yellowness, 1e-6))))


def hue(redness: float, yellowness: float) -> float:
    """Hue angle in degrees, of a* and b*.

    Examples
    --------
    >>> hue(0, 10)
    90.0
    """
    return float(np.degrees(np.arctan2(yellowness, redness)))
