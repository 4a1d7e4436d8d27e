"""Colours: skin from the Monk scale and the shades that follow from it, hair, cloth."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from facevalue.stimuli.portraits.levels import Identity
from facevalue.stimuli.portraits.streams import Stream

MONK: Mapping[str, str] = {
    "monk-01": "#f6ede4",
    "monk-02": "#f3e7db",
    "monk-03": "#f7ead0",
    "monk-04": "#eadaba",
    "monk-05": "#d7bd96",
    "monk-06": "#a07e56",
    "monk-07": "#825c43",
    "monk-08": "#604134",
    "monk-09": "#3a312a",
    "monk-10": "#292420",
}

# How far the lit plane of the face is lifted from the swatch, so that features can be read on dark skin,
# and lowered, so that pale skin parts from the white background.
_LIFT = (-0.10, -0.12, -0.12, -0.10, -0.04, 0.04, 0.10, 0.17, 0.26, 0.28)

HAIR_VALUES: Mapping[str, str] = {
    "black": "#1b191d",
    "brown": "#8a5530",
    "blonde": "#e2bf70",
    "red": "#bf481d",
    "gray": "#b9bcc2",
}
UNNATURAL = ("#2f8fd6", "#dd4aa0", "#7d4fd6", "#17a589")
NATURAL = ("#4a2f23", "#553628", "#45322b", "#5c3d2c", "#63452f")
_GRAYING = {"young": 0.0, "middle-aged": 0.16, "elderly": 0.55}
SHIRTS = ("#7d8fa3", "#8a9a83", "#a58f7c", "#6f8790", "#9a8698", "#8c8c84", "#758a9b", "#a08478")
EYES = (
    "#4b2f1d", "#5d3d24", "#3d2a1e", "#6a5a32", "#4f6b52", "#4a6d8c", "#5c4a35", "#4f3320", "#402a1c", "#563a28",
    "#483022", "#614526",
)  # fmt: skip


def rgb(colour: str) -> tuple[int, int, int]:
    """Return the channels of a colour.

    >>> rgb("#0a141e")
    (10, 20, 30)
    """
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _hex(channels: tuple[float, float, float]) -> str:
    r, g, b = (max(0, min(255, round(c))) for c in channels)
    return f"#{r:02x}{g:02x}{b:02x}"


@lru_cache(maxsize=2**14)
def mix(a: str, b: str, t: float) -> str:
    """Return the colour a share ``t`` of the way from ``a`` to ``b``.

    >>> mix("#000000", "#ffffff", 0.5)
    '#808080'
    """
    (ar, ag, ab), (br, bg, bb) = rgb(a), rgb(b)
    return _hex((ar + (br - ar) * t, ag + (bg - ag) * t, ab + (bb - ab) * t))


@lru_cache(maxsize=2**14)
def shift(colour: str, r: float, g: float | None = None, b: float | None = None) -> str:
    """Return the colour with an amount added to each channel: a visible step on any tone.

    >>> shift("#101010", 16)
    '#202020'
    """
    x, y, z = rgb(colour)
    return _hex((x + r, y + (r if g is None else g), z + (r if b is None else b)))


@lru_cache(maxsize=2**14)
def scale(colour: str, factor: float) -> str:
    """Return the colour with its channels multiplied."""
    x, y, z = rgb(colour)
    return _hex((x * factor, y * factor, z * factor))


def lightness(colour: str) -> float:
    """Return the luma of a colour, 0 to 1."""
    r, g, b = rgb(colour)
    return (0.299 * r + 0.587 * g + 0.114 * b) / 255


@dataclass(frozen=True, slots=True)
class Skin:
    """The shades of one skin, all of them functions of the Monk swatch."""

    fill: str
    light: str
    edge: str
    shadow: str
    line: str
    deep: str
    lip: str
    lip_low: str
    blush: str

    @property
    def dark(self) -> bool:
        """True if marks must be lighter, not darker, to be seen well."""
        return lightness(self.fill) < 0.42


def skin(tone: str) -> Skin:
    """Return the shades of a skin tone.

    >>> skin("monk-01").dark, skin("monk-10").dark
    (False, True)
    """
    swatch = MONK[tone]
    lift = _LIFT[int(tone[-2:]) - 1]
    fill = mix(swatch, "#d9a582", lift) if lift >= 0 else mix(swatch, "#e0a888", -lift)
    light = lightness(fill)
    warm = mix(fill, "#b4573c", 0.10 + 0.16 * light)
    edge = scale(mix(fill, warm, 0.55), 0.90)
    shadow = scale(mix(fill, warm, 0.85), 0.80 if light > 0.42 else 0.72)
    line = scale(mix(fill, "#8c4630", 0.30), 0.58 if light > 0.42 else 0.42)
    deep = scale(mix(fill, "#6e2a20", 0.5), 0.42 if light > 0.42 else 0.30)
    lip = mix(scale(fill, 0.90), "#b3474a", 0.20 + 0.24 * light)
    low = mix(lip, "#e58a86", 0.16)
    return Skin(fill, mix(fill, "#ffffff", 0.16), edge, shadow, line, deep, lip, low, mix(fill, "#d2544a", 0.45))


@dataclass(frozen=True, slots=True)
class HairColour:
    """The shades of one head of hair."""

    fill: str
    dark: str
    light: str
    line: str


def hair_shades(colour: str) -> HairColour:
    """Return the shades that go with a hair colour."""
    bright = lightness(colour)
    return HairColour(
        colour,
        scale(colour, 0.78 if bright > 0.3 else 0.66),
        mix(colour, "#fff1dc", 0.20 if bright > 0.12 else 0.16),
        scale(colour, 0.58 if bright > 0.12 else 0.30),
    )


def base_hair(identity: Identity) -> str:
    """Return the natural hair colour: between the named values, tinted gray with age."""
    colour = Stream(identity.seed, "hair tint").choice(NATURAL)
    return mix(colour, "#9b9792", _GRAYING[identity.age])


def hair_colour(identity: Identity, value: str | None) -> HairColour:
    """Return the hair's shades: the natural ones, or those of a value of ``hair_color``."""
    if value is None:
        return hair_shades(base_hair(identity))
    if value == "unnatural":
        return hair_shades(Stream(identity.seed, "hair_color:unnatural").choice(UNNATURAL))
    return hair_shades(HAIR_VALUES[value])
