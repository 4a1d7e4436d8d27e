"""Pictures in the page: decoded, made small and written anew, so that nothing but pixels gets in."""

import base64
import io
import warnings

from PIL import Image, UnidentifiedImageError

LONGEST = 288
"""Longest side of an embedded picture in pixels."""
_MOST_PIXELS = 50_000_000


def data_uri(data: bytes | None) -> str | None:
    """Return a picture as a small WebP data URI; None for what is no picture."""
    if not data:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as image:
                if image.width * image.height > _MOST_PIXELS:
                    return None
                small = image.convert("RGB")
        small.thumbnail((LONGEST, LONGEST))
        out = io.BytesIO()
        small.save(out, "WEBP", quality=82)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError, Warning):
        return None
    return "data:image/webp;base64," + base64.b64encode(out.getvalue()).decode("ascii")
