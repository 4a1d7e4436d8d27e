"""Anatomy: measures and colours of one head and body, with seeded individual variation."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from facevalue.stimuli.portraits.levels import Identity, Stream

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


@dataclass(frozen=True, slots=True)
class Traits:
    """The separate markers by which one perceived gender is drawn; each could be varied alone."""

    jaw: float
    chin: float
    chin_length: float
    brow_thick: float
    brow_gap: float
    eye_size: float
    lash: float
    nose: float
    lip: float
    neck: float
    shoulder: float
    chest: float
    waist: float
    hip: float
    limb: float
    beard_shadow: bool
    nape_hair: bool


TRAITS: Mapping[str, Traits] = {
    "male": Traits(
        jaw=72, chin=34, chin_length=4, brow_thick=8.6, brow_gap=23.5, eye_size=1.0, lash=0, nose=1.06, lip=0.86,
        neck=47, shoulder=184, chest=142, waist=124, hip=132, limb=1.0, beard_shadow=True, nape_hair=False,
    ),
    "female": Traits(
        jaw=64, chin=26, chin_length=-2, brow_thick=5.2, brow_gap=25, eye_size=1.1, lash=1, nose=0.92, lip=1.14,
        neck=36, shoulder=156, chest=120, waist=100, hip=138, limb=0.84, beard_shadow=False, nape_hair=True,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Girth:
    """Width that a build adds to each measure."""

    cheek: float
    jaw: float
    chin: float
    neck: float
    shoulder: float
    chest: float
    waist: float
    hip: float
    limb: float


GIRTH: Mapping[str, Girth] = {
    "thin": Girth(-5, -8, -3, -6, -14, -16, -16, -18, 0.80),
    "normal": Girth(0, 0, 0, 0, 0, 0, 0, 0, 1.0),
    "obese": Girth(16, 12, 8, 18, 22, 46, 84, 62, 1.42),
}


@dataclass(frozen=True, slots=True)
class Head:
    """Positions and sizes in the face, in drawing units; ``x`` values are distances from the axis."""

    top: float
    chin: float
    temple: float
    cheek: float
    jaw: float
    chin_half: float
    brow_y: float
    brow_thick: float
    brow_arch: float
    brow_length: float
    eye_y: float
    eye_x: float
    eye_w: float
    eye_h: float
    eye_tilt: float
    iris: int
    lash: float
    nose_y: float
    nose_w: float
    nose_bridge: float
    mouth_y: float
    mouth_w: float
    lip_up: float
    lip_low: float
    ear_w: float
    ear_y: float
    ear_h: float
    neck: float
    lid: float

    def right_half(self) -> list[tuple[float, float]]:
        """Return the outline of the face from the top of the skull to the chin."""
        t, c, j, h = self.temple, self.cheek, self.jaw, self.chin_half
        top, chin = self.top, self.chin
        return [
            (0, top),
            (t * 0.50, top + 10),
            (t * 0.86, top + 39),
            (t, top + 80),
            (c, top + 126),
            (c * 0.52 + j * 0.46, top + 164),
            (j * 0.90, chin - 34),
            (j * 0.40 + h * 0.46, chin - 12),
            (h * 0.62, chin - 2.5),
            (0, chin),
        ]


@lru_cache(maxsize=4096)
def head(identity: Identity) -> Head:
    """Return the measures of an identity's head."""
    g, b = TRAITS[identity.gender], GIRTH[identity.build]
    seed = identity.seed
    shape, eyes, brows = Stream(seed, "face shape"), Stream(seed, "eyes"), Stream(seed, "brows")
    nose, mouth, ears = Stream(seed, "nose"), Stream(seed, "mouth"), Stream(seed, "ears")
    temple = 78 + shape.spread(5) + b.cheek * 0.25
    cheek = 78 + shape.spread(6) + b.cheek
    jaw = g.jaw + shape.spread(8) + b.jaw
    chin = 328 + g.chin_length + shape.spread(7) + b.cheek * 0.25
    eye_y = 220 + shape.spread(4)
    eye_w = (16.4 + eyes.spread(2.0)) * (0.5 + 0.5 * g.eye_size)
    old = {"young": 0.0, "middle-aged": 0.4, "elderly": 1.0}[identity.age]
    return Head(
        top=102,
        chin=chin,
        temple=temple,
        cheek=cheek,
        jaw=jaw,
        chin_half=g.chin + shape.spread(7) + b.chin,
        brow_y=eye_y - g.brow_gap - brows.spread(2.5),
        brow_thick=g.brow_thick + brows.spread(1.8),
        brow_arch=3.6 + brows.spread(3) + g.lash * 3,
        brow_length=22 + brows.spread(3),
        eye_y=eye_y,
        eye_x=34.5 + eyes.spread(4),
        eye_w=eye_w,
        eye_h=(8.4 + eyes.spread(2.0)) * g.eye_size * (1 - 0.14 * old),
        eye_tilt=eyes.uniform(-2.0, 3.2),
        iris=eyes.index(12),
        lash=g.lash,
        nose_y=eye_y + 47 + nose.spread(5),
        nose_w=(17.5 + nose.spread(5)) * g.nose,
        nose_bridge=7.5 + nose.spread(2.5),
        mouth_y=eye_y + 76 + mouth.spread(4),
        mouth_w=29 + mouth.spread(4.5),
        lip_up=(6.2 + mouth.spread(2.4)) * g.lip * (1 - 0.22 * old),
        lip_low=(8.6 + mouth.spread(2.6)) * g.lip * (1 - 0.15 * old),
        ear_w=14 + ears.spread(3),
        ear_y=eye_y + 8 + ears.spread(4),
        ear_h=(29 + ears.spread(4)) * (1 + 0.08 * old),
        neck=g.neck + b.neck,
        lid=old,
    )


@dataclass(frozen=True, slots=True)
class Body:
    """Half widths and heights of the body, in drawing units."""

    neck: float
    shoulder: float
    chest: float
    waist: float
    hip: float
    arm: float
    leg: float
    elbow_x: float
    wrist_x: float
    female: bool
    shoulder_y = 408
    chest_y = 560
    waist_y = 742
    hip_y = 880
    knee_y = 1240
    ankle_y = 1560
    sole_y = 1634
    wrist_y = 912


@lru_cache(maxsize=4096)
def body(identity: Identity) -> Body:
    """Return the measures of an identity's body."""
    g, b = TRAITS[identity.gender], GIRTH[identity.build]
    frame = Stream(identity.seed, "frame")
    shoulder = g.shoulder + b.shoulder + frame.spread(9)
    waist = g.waist + b.waist + frame.spread(6)
    hip = g.hip + b.hip + frame.spread(6)
    arm = 33 * g.limb * (0.45 + 0.55 * b.limb)
    return Body(
        neck=g.neck + b.neck,
        shoulder=shoulder,
        chest=g.chest + b.chest,
        waist=waist,
        hip=hip,
        arm=arm,
        leg=g.limb * (0.4 + 0.6 * b.limb),
        elbow_x=max(shoulder - arm * 0.45, waist + arm * 1.12),
        wrist_x=max(shoulder - arm * 0.30, hip + arm * 0.95),
        female=identity.gender == "female",
    )
