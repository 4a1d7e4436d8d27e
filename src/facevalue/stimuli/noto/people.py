"""People of the Noto Emoji artwork: occupations, ages, headwear and a wheelchair, in five skin tones."""

from collections.abc import Mapping
from types import MappingProxyType

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.noto.artwork import body, document
from facevalue.stimuli.noto.colours import TONES, recolour

PRESENTATIONS: tuple[str, ...] = ("man", "woman", "person")

OCCUPATIONS: tuple[str, ...] = (
    "health-worker", "student", "teacher", "judge", "farmer", "cook", "mechanic", "factory-worker", "office-worker",
    "scientist", "technologist", "singer", "artist", "pilot", "astronaut", "firefighter", "police-officer",
    "detective", "guard", "construction-worker",
)  # fmt: skip

# What the emoji is called for a man, a woman, a person; None where the artwork has no such picture.
FIGURES: Mapping[str, tuple[str | None, str | None, str | None]] = MappingProxyType(
    {
        "child": ("boy", "girl", "child"),
        "adult": ("man", "woman", "person"),
        "older": ("old-man", "old-woman", "older-person"),
        "headscarf": (None, "woman-with-headscarf", None),
        "turban": ("man-wearing-turban", "woman-wearing-turban", "person-wearing-turban"),
        "tuxedo": ("man-in-tuxedo", "woman-in-tuxedo", "person-in-tuxedo"),
        "manual-wheelchair": ("man-in-manual-wheelchair", "woman-in-manual-wheelchair", "person-in-manual-wheelchair"),
        "white-cane": ("man-with-white-cane", "woman-with-white-cane", "person-with-white-cane"),
    }
)


def artwork_name(role: str, presentation: str) -> str:
    """Return the name of the emoji that shows an occupation or a figure.

    >>> artwork_name("cook", "woman"), artwork_name("older", "man"), artwork_name("cook", "person")
    ('woman-cook', 'old-man', 'cook')
    """
    if presentation not in PRESENTATIONS:
        raise UnknownNameError("presentation", presentation, PRESENTATIONS)
    if role in OCCUPATIONS:
        return role if presentation == "person" else f"{presentation}-{role}"
    if role not in FIGURES:
        raise UnknownNameError("occupation", role, (*OCCUPATIONS, *FIGURES))
    name = FIGURES[role][PRESENTATIONS.index(presentation)]
    if name is None:
        raise DataError(f"The artwork has no {presentation} with a {role}.")
    return name


def person_svg(occupation: str, presentation: str, tone: str) -> str:
    """Return an occupation, or a figure of `FIGURES`, as an SVG document of 128 x 128 units with no background.

    The tone changes the skin and nothing else. The artwork draws astronauts alike in all three presentations.
    """
    return document(recolour(body(artwork_name(occupation, presentation)), tone))


__all__ = ["FIGURES", "OCCUPATIONS", "PRESENTATIONS", "TONES", "artwork_name", "person_svg"]
