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
    from facevalue.stimuli.portraits.composition import MARGIN, PortraitCache, mask_svg, svg
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
        sample_identities,
    )
    from facevalue.stimuli.portraits.shapes import RENDERER_VERSION, key, png

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
        "facevalue.stimuli.portraits.composition": ("MARGIN", "PortraitCache", "mask_svg", "svg"),
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
            "sample_identities",
        ),
        "facevalue.stimuli.portraits.shapes": ("RENDERER_VERSION", "key", "png"),
    },
)
