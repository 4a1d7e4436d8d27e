"""Illustrated portraits in which one attribute changes at a time and every other pixel stays.

Examples
--------
>>> from facevalue.stimuli.portraits import Identity, png, svg
>>> anne = Identity("f-0001", 1, "female", "young", "monk-05", "normal")
>>> png(svg(anne, ("eyewear", "sunglasses")), size=64)[1:4]
b'PNG'
"""

from typing import TYPE_CHECKING

from facevalue.lazy_names import lazy_names

if TYPE_CHECKING:
    from facevalue.stimuli.portraits.cache import PortraitCache
    from facevalue.stimuli.portraits.compose import MARGIN, mask_svg, svg
    from facevalue.stimuli.portraits.levels import (
        AGES,
        ATTRIBUTES,
        BUILDS,
        FRAMINGS,
        GENDERS,
        SKIN_TONES,
        Attribute,
        Framing,
        Identity,
    )
    from facevalue.stimuli.portraits.raster import RENDERER_VERSION, key, png
    from facevalue.stimuli.portraits.sampling import sample_identities

__all__ = [
    "AGES",
    "ATTRIBUTES",
    "BUILDS",
    "FRAMINGS",
    "GENDERS",
    "MARGIN",
    "RENDERER_VERSION",
    "SKIN_TONES",
    "Attribute",
    "Framing",
    "Identity",
    "PortraitCache",
    "key",
    "mask_svg",
    "png",
    "sample_identities",
    "svg",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "facevalue.stimuli.portraits.cache": ("PortraitCache",),
        "facevalue.stimuli.portraits.compose": ("MARGIN", "mask_svg", "svg"),
        "facevalue.stimuli.portraits.levels": (
            "AGES",
            "ATTRIBUTES",
            "BUILDS",
            "FRAMINGS",
            "GENDERS",
            "SKIN_TONES",
            "Attribute",
            "Framing",
            "Identity",
        ),
        "facevalue.stimuli.portraits.raster": ("RENDERER_VERSION", "key", "png"),
        "facevalue.stimuli.portraits.sampling": ("sample_identities",),
    },
)
