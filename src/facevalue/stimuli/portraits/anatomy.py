"""Anatomy: measures of one head and body, with seeded individual variation and the effect of each level."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from facevalue.stimuli.portraits.levels import Identity
from facevalue.stimuli.portraits.streams import Stream


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
