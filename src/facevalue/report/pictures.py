"""Pictures in the page: decoded, made small and written anew, so that nothing but pixels gets in."""

import base64
import io
import warnings

from PIL import Image, UnidentifiedImageError

LONGEST = 288
"""Longest side of an embedded picture in pixels."""
MOST_BYTES = 60_000
"""Largest embedded picture; what does not fit is written more coarsely."""
_MOST_PIXELS = 50_000_000
_QUALITIES = (82, 60, 40, 20)


def smaller(data: bytes | None, longest: int = LONGEST) -> bytes | None:
    """Return a picture as a small WebP; None for what is no picture, or stays too large.

    Parameters
    ----------
    data:
        An encoded picture.
    longest:
        Longest side in pixels.
    """
    if not data:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as image:
                if image.width * image.height > _MOST_PIXELS:
                    return None
                small = image.convert("RGB")
        small.thumbnail((longest, longest))
        for quality in _QUALITIES:
            out = io.BytesIO()
            small.save(out, "WEBP", quality=quality)
            if out.tell() <= MOST_BYTES:
                return out.getvalue()
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError, Warning):
        return None
    return None


def data_uri(data: bytes | None, longest: int = LONGEST) -> str | None:
    """Return a picture as a small WebP data URI; None for what is no picture."""
    small = smaller(data, longest)
    return None if small is None else "data:image/webp;base64," + base64.b64encode(small).decode("ascii")
