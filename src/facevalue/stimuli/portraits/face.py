"""Bare head: ears, face, eyes, brows, nose, mouth, and what age adds."""

from facevalue.stimuli.portraits.anatomy import Head, head
from facevalue.stimuli.portraits.levels import Identity
from facevalue.stimuli.portraits.palette import EYES, Skin, base_hair, mix, scale, skin
from facevalue.stimuli.portraits.shapes import (
    Nodes,
    Shape,
    contour,
    curve,
    disc,
    fill,
    glow,
    line,
    loop,
    mirror,
    outline,
    oval,
    symmetric,
)
from facevalue.stimuli.portraits.streams import Stream


def face_outline(h: Head) -> str:
    """Return the closed outline of the face."""
    return symmetric(h.right_half())


def ears(identity: Identity) -> Nodes:
    """Return both ears, bare."""
    h, s = head(identity), skin(identity.skin_tone)
    x, y, w, t = h.temple - 3, h.ear_y, h.ear_w, h.ear_h
    shell = loop(
        [
            (x - 2, y - t * 0.75),
            (x + w * 0.75, y - t),
            (x + w + 2, y - t * 0.45),
            (x + w * 0.85, y + t * 0.25),
            (x + w * 0.48, y + t * 0.95),
            (x - 2, y + t * 0.75),
        ]
    )
    rim = curve([(x + 3, y - t * 0.55), (x + w * 0.72, y - t * 0.62), (x + w * 0.6, y), (x + 4, y + t * 0.42)])
    inner = curve([(x + 4, y - t * 0.2), (x + w * 0.42, y - t * 0.12), (x + 5, y + t * 0.25)])
    return mirror(
        contour(shell, mix(s.fill, s.edge, 0.55), s.line, 1.6),
        line(rim, s.line, 1.8, 0.55),
        line(inner, s.line, 1.5, 0.4),
    )


def face(identity: Identity) -> Nodes:
    """Return the face's surface: fill, soft shading, outline."""
    h, s = head(identity), skin(identity.skin_tone)
    d = face_outline(h)
    right = h.right_half()
    side = [(x * k, y) for k, (x, y) in zip((0.99, 0.93, 0.87, 0.83, 0.82, 0.9), right[2:8], strict=True)]
    rim = outline(right[2:8], [(x, y) for x, y in reversed(side)])
    left = [(-x * k, y) for k, (x, y) in zip((0.99, 0.94, 0.92, 0.93, 0.98), right[3:8], strict=True)]
    far = outline([(-x, y) for x, y in right[3:8]], list(reversed(left)))
    brow = outline([(-52, 146), (0, 132), (46, 144)], [(46, 144), (40, 178), (0, 186), (-46, 178)])
    nodes: list[Shape] = [
        Shape(d, s.fill, s.line, 1.8),
        fill(brow, s.light, 0.15),
        fill(rim, s.edge, 0.55),
        fill(far, s.edge, 0.4),
        *mirror(*glow(h.cheek * 0.60, h.nose_y - 1, 25, s.blush, 0.30)),
    ]
    hollow = 0.42 if identity.build == "thin" else 0.0
    if hollow:
        cheek = outline(
            [(h.cheek - 1, 232), (h.cheek * 0.80, 256), (h.cheek * 0.62, 284)],
            [(h.cheek * 0.62, 284), (h.jaw * 0.92, 286), (h.cheek - 1, 250)],
        )
        nodes += mirror(fill(cheek, s.shadow, hollow, clip=d))
    if identity.build == "obese":
        y = h.chin
        fold = curve(
            [(-h.jaw * 0.52, y - 15), (-h.jaw * 0.26, y - 7), (0, y - 6), (h.jaw * 0.26, y - 7), (h.jaw * 0.52, y - 15)]
        )
        nodes.append(line(fold, s.shadow, 2.2, 0.55))
    return tuple(nodes)


def _eye(h: Head, s: Skin, side: int) -> Nodes:
    x, y, w, t, tilt = h.eye_x, h.eye_y, h.eye_w, h.eye_h, h.eye_tilt
    inner, outer = (x - w, y + 1.5), (x + w, y - tilt)
    top = [inner, (x - w * 0.5, y - t * 0.72), (x + w * 0.05, y - t), (x + w * 0.62, y - t * 0.68 - tilt * 0.5), outer]
    low = [outer, (x + w * 0.45, y + t * 0.62), (x - w * 0.25, y + t * 0.66), inner]
    d = outline(top, low)
    colour = EYES[h.iris]
    r = max(6.2, t * 0.94)
    look = x - side * 0.4
    ink = mix(s.deep, "#150d0b", 0.6)
    nodes: list[Shape] = [
        fill(d, mix("#fbf8f4", s.fill, 0.10)),
        fill(oval(look, y - 1, r, r), colour, clip=d),
        disc(look, y - 0.6, r * 0.50, "#130e0c"),
        disc(look + side * 2.2, y - 3.0, 1.8, "#ffffff", 0.92),
        line(curve(top), ink, 2.7 + 0.9 * h.lash),
        line(curve(low), s.line, 1.1, 0.6),
        line(
            curve([(x - w * 0.8, y - t * 0.95 - 1), (x, y - t - 6 + h.lid), (x + w * 0.95, y - t * 0.55 - tilt - 3)]),
            s.line,
            1.5,
            0.5 + 0.2 * h.lid,
        ),
    ]
    if h.lash:
        nodes.append(
            line(curve([(x + w * 0.55, y - t * 0.75 - tilt * 0.5), outer, (x + w + 2.6, y - tilt - 2.6)]), ink, 2.2)
        )
    return tuple(nodes)


def eyes(identity: Identity) -> Nodes:
    """Return both eyes."""
    h, s = head(identity), skin(identity.skin_tone)
    left = tuple(Shape(n.d, n.fill, n.stroke, n.width, n.opacity, n.clip, mirrored=True) for n in _eye(h, s, -1))
    return left + _eye(h, s, 1)


def brow_colour(identity: Identity) -> str:
    """Return the colour of brows and beard: the natural hair's, a little deeper, never lost on the skin."""
    hair, s = base_hair(identity), skin(identity.skin_tone)
    colour = scale(hair, 0.82)
    return mix(colour, "#0d0a09", 0.72) if s.dark and identity.age != "elderly" else colour


def brows(identity: Identity) -> Nodes:
    """Return both brows."""
    h = head(identity)
    x, y, k, a, n = h.eye_x, h.brow_y, h.brow_thick, h.brow_arch, h.brow_length
    top = [
        (x - n, y - k * 0.5 - a * 0.36),
        (x - n * 0.2, y - k * 0.5 - a * 0.55),
        (x + n * 0.45, y - k * 0.4 - a),
        (x + n + 3, y + 4),
    ]
    low = [
        (x + n + 3, y + 4),
        (x + n * 0.45, y + k * 0.38 - a),
        (x - n * 0.2, y + k * 0.5 - a * 0.36),
        (x - n, y + k * 0.42 - a * 0.36),
    ]
    return mirror(fill(outline(top, low), brow_colour(identity), 0.92))


def nose(identity: Identity) -> Nodes:
    """Return the nose, drawn by its shadow side, wings and base."""
    h, s = head(identity), skin(identity.skin_tone)
    w, y, b = h.nose_w, h.nose_y, h.nose_bridge
    side = outline(
        [(b + 2, h.brow_y + 12), (b - 1.5, h.eye_y + 10), (b + 1, y - 18), (w * 0.72, y - 9), (w, y - 2)],
        [(w, y - 2), (w * 0.5, y + 3), (w * 0.35, y - 8), (b * 0.5, y - 22), (b * 0.45, h.eye_y + 8)],
    )
    wing = curve([(w * 0.78, y - 13), (w + 0.8, y - 5), (w * 0.82, y + 2), (w * 0.52, y + 1)])
    nostril = outline(
        [(w * 0.28, y + 2.6), (w * 0.5, y - 0.8), (w * 0.74, y + 1.2)], [(w * 0.74, y + 1.2), (w * 0.5, y + 4)]
    )
    base = curve([(-w * 0.36, y + 3), (-w * 0.16, y + 6), (w * 0.16, y + 6), (w * 0.36, y + 3)])
    return (
        fill(side, s.shadow, 0.36),
        Shape(side, s.shadow, opacity=0.14, mirrored=True),
        *glow(0, y - 8, 9, s.light, 0.8),
        *mirror(line(wing, s.line, 1.9, 0.75), fill(nostril, s.deep, 0.8)),
        line(base, s.line, 1.7, 0.7),
    )


def lip_paths(h: Head) -> tuple[str, str, str]:
    """Return the outlines of the upper and the lower lip and the line between them."""
    y, w, u, low = h.mouth_y, h.mouth_w, h.lip_up, h.lip_low
    seam = [
        (-w, y - 2.2),
        (-w * 0.5, y + 0.5),
        (-w * 0.14, y + 1.2),
        (0, y + 0.4),
        (w * 0.14, y + 1.2),
        (w * 0.5, y + 0.5),
        (w, y - 2.2),
    ]
    bow = [
        (w, y - 2.2),
        (w * 0.55, y - u * 0.68),
        (w * 0.2, y - u),
        (0, y - u * 0.74),
        (-w * 0.2, y - u),
        (-w * 0.55, y - u * 0.68),
        (-w, y - 2.2),
    ]
    under = [(w * 0.94, y), (w * 0.6, y + low * 0.8), (0, y + low), (-w * 0.6, y + low * 0.8), (-w * 0.94, y)]
    return outline(seam, bow), outline(seam, under), curve(seam)


def mouth(identity: Identity) -> Nodes:
    """Return the closed, neutral mouth."""
    h, s = head(identity), skin(identity.skin_tone)
    upper, lower, seam = lip_paths(h)
    y, w = h.mouth_y, h.mouth_w
    under = curve([(-w * 0.42, y + h.lip_low + 5.5), (0, y + h.lip_low + 7.5), (w * 0.42, y + h.lip_low + 5.5)])
    return (
        fill(lower, s.lip_low),
        fill(upper, s.lip),
        line(seam, s.deep, 2.0, 0.85),
        line(under, s.shadow, 2.4, 0.6),
        *mirror(disc(w + 0.5, y - 2.2, 1.5, s.line, 0.6)),
    )


def age_lines(identity: Identity) -> Nodes:
    """Return wrinkles and folds: none, a few, or many; where exactly is the age stream's business."""
    if identity.age == "young":
        return ()
    h, s = head(identity), skin(identity.skin_tone)
    r = Stream(identity.seed, "age lines")
    old = identity.age == "elderly"
    ink, o = mix(s.line, s.fill, 0.18 if s.dark else 0.0), (0.50 if old else 0.26)
    ny, my, w = h.nose_y, h.mouth_y, h.mouth_w
    fold = curve([(h.nose_w + 3, ny - 6), (h.nose_w + 12, ny + 8), (w + 6, my - 7 + r.spread(2)), (w + 7, my + 3)])
    bag = curve(
        [
            (h.eye_x - h.eye_w * 0.8, h.eye_y + h.eye_h + 5),
            (h.eye_x, h.eye_y + h.eye_h + 9),
            (h.eye_x + h.eye_w, h.eye_y + h.eye_h + 4),
        ]
    )
    nodes: list[Shape] = [*mirror(line(fold, ink, 2.0, o), line(bag, ink, 1.5, o * 0.85))]
    for i in range(3 if old else 1):
        y = h.brow_y - 20 - 12 * i + r.spread(2)
        k = 40 - 6 * i + r.spread(5)
        nodes.append(
            line(curve([(-k, y + 2), (-k * 0.4, y - 2), (0, y + 1), (k * 0.4, y - 2), (k, y + 2)]), ink, 1.6, o * 0.8)
        )
    x, y = h.eye_x + h.eye_w + 5, h.eye_y
    for i in range(3 if old else 1):
        dy = (i - 1) * 6
        nodes += mirror(
            line(curve([(x + 2, y + dy * 0.5), (x + 7, y + dy * 0.85), (x + 13, y + dy * 1.5)]), ink, 1.4, o * 0.8)
        )
    if old:
        marionette = curve([(w + 4, my + 6), (w + 7, my + 16), (w + 4, my + 25)])
        jowl = curve([(h.jaw * 0.88, h.chin - 44), (h.jaw * 0.78, h.chin - 27), (h.jaw * 0.58, h.chin - 18)])
        nodes += mirror(line(marionette, ink, 1.8, o * 0.9), line(jowl, ink, 1.7, o * 0.7))
        nodes += mirror(*glow(h.eye_x, h.eye_y + 15, 16, s.shadow, 0.28))
    return tuple(nodes)
