"""Rasterisation of SVG to PNG and pixel arrays, and the key under which a picture is cached."""

from hashlib import blake2b

import resvg_py

from facevalue.errors import DataError
from facevalue.stimuli.portraits.levels import Identity, check_change, resolve_framing

RENDERER_VERSION = 1
"""Raised whenever any picture changes: a part of every content key."""


def png(svg_text: str, size: int = 512) -> bytes:
    """Return the picture as PNG, ``size`` pixels wide and high."""
    if size < 1:
        raise DataError(f"A picture's size must be at least 1 pixel, not {size}.")
    try:
        return resvg_py.svg_to_bytes(svg_string=svg_text, width=size, height=size, skip_system_fonts=True)
    except ValueError as error:
        raise DataError(f"This SVG cannot be drawn: {error}.") from error


def key(identity: Identity, change: tuple[str, str] | None = None, framing: str | None = None, size: int = 512) -> str:
    """Return a hash of everything the picture depends on, without drawing it.

    The identity's ``id`` is not among it: two names for one person share a picture.
    """
    if change is not None:
        check_change(identity, change)
    fields = (
        RENDERER_VERSION,
        identity.seed,
        identity.gender,
        identity.age,
        identity.skin_tone,
        identity.build,
        *(change or ("", "")),
        resolve_framing(change, framing),
        size,
    )
    return blake2b("\x1f".join(str(value) for value in fields).encode(), digest_size=20).hexdigest()
