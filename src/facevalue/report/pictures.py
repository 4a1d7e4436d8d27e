"""Pictures of a page: decoded, made small and re-encoded, so that only pixels get in."""

import base64
import io

from facevalue.errors import DataError
from facevalue.stimuli.decoding import picture_on_white

LONGEST = 288
"""Longest side of an embedded picture in pixels."""
MOST_BYTES = 60_000
"""Largest embedded picture; what does not fit is made smaller."""
_TRIES = ((1.0, 82), (1.0, 60), (0.7, 60), (0.5, 50), (0.3, 40))
"""Sizes, as shares of what is wanted, and qualities, until the picture fits."""


def smaller(data: bytes | None, longest: int = LONGEST) -> bytes | None:
    """Return a picture as a small WebP; None for what is no picture, or stays too large."""
    if not data:
        return None
    try:
        small = picture_on_white(data, "a picture")
        for share, quality in _TRIES:
            small.thumbnail((round(longest * share), round(longest * share)))
            out = io.BytesIO()
            small.save(out, "WEBP", quality=quality)
            if out.tell() <= MOST_BYTES:
                return out.getvalue()
    except (DataError, OSError, ValueError):
        return None
    return None


def data_uri(data: bytes | None, longest: int = LONGEST) -> str | None:
    """Return a picture as a small WebP data URI; None for what is no picture."""
    small = smaller(data, longest)
    return None if small is None else "data:image/webp;base64," + base64.b64encode(small).decode("ascii")
