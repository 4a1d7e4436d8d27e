"""Make-up, lipstick, and facial hair: everything laid on the face that comes off again."""

from facevalue.stimuli.portraits.anatomy import TRAITS, Head, head
from facevalue.stimuli.portraits.face import brow_colour, face_outline, lip_paths
from facevalue.stimuli.portraits.levels import Identity
from facevalue.stimuli.portraits.palette import lightness, mix, scale, shift, skin
from facevalue.stimuli.portraits.shapes import Nodes, Shape, curve, fill, flip, glow, line, mirror, outline
from facevalue.stimuli.portraits.streams import Stream


def _lid(h: Head, rise: float, wing: float) -> str:
    x, y, w, t = h.eye_x, h.eye_y, h.eye_w, h.eye_h
    outer = (x + w, y - h.eye_tilt)
    low = [
        (x - w, y + 1),
        (x - w * 0.5, y - t * 0.72),
        (x + w * 0.05, y - t),
        (x + w * 0.62, y - t * 0.68 - h.eye_tilt * 0.5),
        outer,
    ]
    top = [
        (outer[0] + wing, outer[1] - wing * 0.55),
        (x + w * 0.55, y - t - rise),
        (x - w * 0.1, y - t - rise),
        (x - w - 1, y - t * 0.5),
    ]
    return outline(low, top)


def makeup(identity: Identity, value: str) -> Nodes:
    """Return eye shadow, liner, lashes and blush; lips are another attribute."""
    h, s = head(identity), skin(identity.skin_tone)
    heavy = value == "heavy"
    x, y, w, t = h.eye_x, h.eye_y, h.eye_w, h.eye_h
    outer = (x + w, y - h.eye_tilt)
    if heavy:
        shade = Stream(identity.seed, "makeup:heavy").choice(("#6a3fb0", "#2b62b5", "#a8327d"))
        shade, blush = (mix(shade, "#ffffff", 0.22) if s.dark else shade), ("#d8486a" if s.dark else "#d63a62")
    else:
        shade, blush = ("#b9705f", "#c4584f") if s.dark else (mix(s.fill, "#8d4a4a", 0.62), mix(s.fill, "#dd4f5e", 0.8))
    liner = [
        (x - w, y + 1),
        (x - w * 0.5, y - t * 0.72),
        (x + w * 0.05, y - t),
        (x + w * 0.62, y - t * 0.68 - h.eye_tilt * 0.5),
        outer,
    ]
    tip = (x + w + (13 if heavy else 6), y - h.eye_tilt - (9 if heavy else 4.5))
    nodes: list[Shape] = [
        *glow(h.cheek * 0.64, h.nose_y - 9, 26 if heavy else 24, blush, 0.30 if heavy else 0.24),
        fill(_lid(h, 11.5 if heavy else 8.5, 10 if heavy else 5), shade, 0.82 if heavy else 0.8),
        line(curve([*liner, tip]), "#0f0a0c", 4.6 if heavy else 3.4),
    ]
    for i in range(5 if heavy else 3):
        k = i / (4 if heavy else 2)
        bx, by = x + w * (-0.35 + 1.25 * k), y - t * (1.0 - 0.55 * k * k)
        nodes.append(line(curve([(bx, by), (bx + 2 + 4 * k, by - (6.5 if heavy else 5))]), "#0f0a0c", 1.9))
    if heavy:
        under = [(x - w * 0.6, y + t * 0.6), (x, y + t * 0.86), (x + w * 0.6, y + t * 0.5), outer]
        nodes.append(line(curve(under), "#0f0a0c", 2.4))
    return mirror(*nodes)


def lipstick(identity: Identity, value: str) -> Nodes:
    """Return lips in a colour: a matt nude, red, or a vivid one."""
    h, s = head(identity), skin(identity.skin_tone)
    upper, lower, seam = lip_paths(h)
    if value == "neutral":
        colour = shift(s.lip, 52, 26, 24) if lightness(s.fill) < 0.6 else shift(s.lip, -40, -28, -16)
    elif value == "red-lipstick":
        colour = "#c4122b"
    else:
        colour = Stream(identity.seed, "lip_makeup:bold").choice(("#6d1a86", "#d4149a", "#3b2fb3"))
    deep = scale(colour, 0.55)
    y, w, low = h.mouth_y, h.mouth_w, h.lip_low
    gloss = curve([(-w * 0.34, y + low * 0.46), (0, y + low * 0.58), (w * 0.34, y + low * 0.46)])
    return (
        Shape(lower, colour, scale(colour, 0.8), 2.2),
        Shape(upper, scale(colour, 0.9), scale(colour, 0.8), 2.2),
        line(seam, deep, 2.2),
        line(gloss, mix(colour, "#ffffff", 0.5), 2.2, 0.4 if value == "neutral" else 0.75),
    )


def _beard(h: Head, drop: float, low: float = 0.0) -> str:
    """Return the bearded part of the face: cheeks, jaw, chin, upper lip.

    ``low`` moves its upper edge from the sideburns (0) towards the mouth (1).
    """
    y, w = h.mouth_y, h.mouth_w
    start = 208.0 + (y - 232) * low
    half = [p for p in h.right_half() if p[1] > start + 12]
    side = drop * (0.3 if drop > 0 else 1.4)
    outer = [(x + side if x else 0.0, v + (drop if v > y else drop * 0.2)) for x, v in half]
    if low == 0:
        outer = [(h.temple - 2, start), *outer]
    inner = [(0.0, h.nose_y + 12), (w * 0.45, h.nose_y + 11), (w + 8, y - 8), (h.jaw * 0.76, y - 14 + 10 * low)]
    inner += (
        [(h.cheek * 0.86, 250.0), (h.temple - 11, start)]
        if low == 0
        else [(outer[0][0] - 4, max(start, 236 + 40 * low))]
    )
    return outline(inner, outer + flip(outer)[1:], flip(inner))


def base_shadow(identity: Identity) -> Nodes:
    """Return the light beard shadow of the base picture."""
    if not TRAITS[identity.gender].beard_shadow:
        return ()
    s, h = skin(identity.skin_tone), head(identity)
    colour = shift(s.fill, -31, -21, -15) if s.dark else shift(s.fill, -44, -38, -30)
    return (fill(_beard(h, -1, 0.2), colour, 0.14), fill(_beard(h, -1, 0.68), colour, 0.84))


def facial_hair(identity: Identity, value: str) -> Nodes:
    """Return what replaces the base's light shadow."""
    h, s = head(identity), skin(identity.skin_tone)
    r = Stream(identity.seed, f"facial_hair:{value}")
    hair = brow_colour(identity)
    y, w = h.mouth_y, h.mouth_w
    clip = face_outline(h)
    if value == "clean-shaven":
        return ()
    if value == "stubble":
        tone = "#0f0b0a" if s.dark else mix(shift(s.fill, -62, -58, -54), hair, 0.25)
        dots, count = "", 0
        while count < 520:
            px, py = r.spread(h.jaw * 1.15), r.uniform(y - 26, h.chin - 1)
            dots += f"M{px:.1f} {py:.1f}l0.3 2"
            count += 1
        area = _beard(h, 0)
        ink = shift(s.fill, 20) if s.dark and lightness(hair) > 0.3 else mix(hair, "#0a0807", 0.45)
        return (fill(area, tone, 0.62 if s.dark else 0.8, clip=clip), line(dots, ink, 1.5, 0.8, clip=area))
    strands: list[Shape] = []
    light, dark = mix(hair, "#fff0dd", 0.22), scale(hair, 0.6)
    top = h.nose_y + 9
    whisker = outline(
        [(0, top + 1), (w * 0.4, top), (w * 0.95, y - 5), (w + 12, y + 9)],
        [(w + 12, y + 9), (w * 0.6, y + 1.5), (0, y - 1)],
    )
    hairs = [
        line(curve([(k * 6 + 2, top + 3 + k), (k * 7.5 + 3, y - 3 + k)]), light if k % 2 else dark, 1.4, 0.6)
        for k in range(4)
    ]
    moustache = (*mirror(Shape(whisker, hair, dark, 1.2)), *mirror(*hairs))
    if value == "mustache":
        return moustache
    for i in range(9):
        x = (i - 4) * 13.0
        y0 = y + 24 + abs(x) * -0.12
        strands.append(
            line(
                curve([(x, y0), (x * 1.02, y0 + 14), (x * 0.95, min(h.chin + 10, y0 + 28))]),
                light if i % 2 else dark,
                1.6,
                0.55,
            )
        )
    area = _beard(h, 15)
    mouth = outline(
        [(-w - 1, y + 1), (0, y - h.lip_up - 1), (w + 1, y + 1)],
        [(w + 1, y + 1), (0, y + h.lip_low + 2), (-w - 1, y + 1)],
    )
    upper, lower, seam = lip_paths(h)
    lips = (fill(mouth, s.fill), fill(lower, s.lip_low), fill(upper, s.lip), line(seam, s.deep, 2.0, 0.85))
    return (Shape(area, hair, dark, 1.6), *strands, *lips, *moustache)
