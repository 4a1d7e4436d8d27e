"""Headwear and glasses: caps, hats, scarves."""

from facevalue.stimuli.portraits import shapes as s
from facevalue.stimuli.portraits.anatomy import Head, body, head, mix, scale
from facevalue.stimuli.portraits.levels import Identity, Stream


def _lens(h: Head, w: float, up: float, down: float, square: float) -> str:
    x, y = h.eye_x + 1, h.eye_y + 2
    k = square
    return s.loop(
        [
            (x - w, y - up * 0.1),
            (x - w * k, y - up * k),
            (x, y - up),
            (x + w * k, y - up * k * 1.02),
            (x + w, y - up * 0.2),
            (x + w * k * 0.98, y + down * k),
            (x, y + down),
            (x - w * k * 0.92, y + down * k),
        ]
    )


def eyewear(identity: Identity, value: str) -> s.Nodes:
    """Return glasses with thick rims, thin metal ones, or sunglasses."""
    h, r = head(identity), Stream(identity.seed, f"eyewear:{value}")
    y, edge = h.eye_y, h.temple - 1
    if value == "thin-metal":
        w = min(27.0, h.eye_x - 5)
        d = _lens(h, w, 23, 25, 0.74)
        bridge = s.curve([(-(h.eye_x - w) - 1, y), (0, y - 5), (h.eye_x - w + 1, y)])
        arm = s.curve([(h.eye_x + w, y - 3), (edge, y - 5)])
        rim, core = r.choice((("#6b4f14", "#e3bd58"), ("#3f4852", "#cfd7df")))
        return (
            *s.mirror(
                s.fill(d, "#dfeaf2", 0.16),
                s.line(d, rim, 4.0),
                s.line(d, core, 1.7),
                s.line(arm, rim, 4.0),
                s.line(arm, core, 1.7),
            ),
            s.line(bridge, rim, 4.0),
            s.line(bridge, core, 1.7),
        )
    dark = value == "sunglasses"
    w = min(31.0 if dark else 28.5, h.eye_x - 3)
    d = _lens(h, w, 22 if dark else 20, 28 if dark else 23, 0.80)
    frame = "#15161a" if dark else r.choice(("#17181c", "#2a1b14", "#1d2433"))
    glass = s.fill(d, "#1b1e23") if dark else s.fill(d, "#e8f1f7", 0.14)
    gap = h.eye_x - w + 1
    bridge = s.curve([(-gap - 3, y - 6), (0, y - 10), (gap + 3, y - 6)])
    arm = s.curve([(h.eye_x + w, y - 8), (edge, y - 10)])
    shine = s.curve([(h.eye_x - w * 0.55, y + 9), (h.eye_x - w * 0.05, y - 11)])
    nodes: list[s.Shape] = [glass, s.line(d, frame, 5.0 if dark else 8.0), s.line(arm, frame, 7.0)]
    if dark:
        nodes.append(s.line(shine, "#aeb6bf", 3.6, 0.55))
    return (*s.mirror(*nodes), s.line(bridge, frame, 6.0))


def _cap(h: Head, r: Stream) -> s.Nodes:
    t = h.temple
    cloth = r.choice(("#24507f", "#a2332f", "#2f5d46", "#2b2d33"))
    dark, light = scale(cloth, 0.68), mix(cloth, "#ffffff", 0.16)
    crown = s.symmetric_outline(
        [(0, 56), (t * 0.6, 62), (t + 8, 104), (t + 15, 160)], [(t + 15, 160), (t * 0.6, 149), (0, 146)]
    )
    brim = s.outline(
        [(-t - 18, 166), (-t * 0.6, 145), (0, 139), (t * 0.6, 145), (t + 18, 166)],
        [(t + 18, 166), (t * 0.72, 181), (0, 188), (-t * 0.72, 181), (-t - 18, 166)],
    )
    seams = [
        s.line(s.curve([(0, 57), (0, 141)]), dark, 2.2),
        *s.mirror(s.line(s.curve([(4, 58), (t * 0.55, 92), (t * 0.62, 146)]), dark, 2.0)),
    ]
    badge = s.contour(s.oval(0, 108, 19, 15), mix(cloth, "#ffffff", 0.86), dark, 2)
    return (
        s.contour(crown, cloth, dark, 2.2),
        *seams,
        badge,
        s.contour(s.oval(0, 56, 8, 4.5), cloth, dark, 2),
        s.contour(brim, cloth, scale(dark, 0.7), 2.2),
        s.line(s.curve([(-t * 0.9, 169), (0, 178), (t * 0.9, 169)]), light, 1.8, 0.6),
    )


def _beanie(h: Head, r: Stream) -> s.Nodes:
    t = h.temple
    wool = r.choice(("#8c3b3b", "#3c5f86", "#5a6b3d", "#70528a"))
    dark = scale(wool, 0.70)
    crown = s.symmetric_outline([(0, 52), (t * 0.5, 58), (t + 4, 96), (t + 15, 150)], [(t + 15, 150), (0, 140)])
    band = s.symmetric_outline(
        [(0, 122), (t * 0.6, 125), (t + 17, 134)],
        [(t + 19, 152), (t + 16, 174)],
        [(t + 16, 174), (t * 0.6, 165), (0, 162)],
    )
    ribs = "".join(
        s.curve([(x, 126 + abs(x) * 0.07), (x * 1.01, 160 + abs(x) * 0.09)])
        for x in range(-90, 91, 12)
        if abs(x) < t + 12
    )
    knit = "".join(
        s.curve([(x * 0.35, 56 + abs(x) * 0.05), (x * 0.88, 86 + abs(x) * 0.1), (x, 124 + abs(x) * 0.07)])
        for x in range(-84, 85, 14)
        if abs(x) < t + 6
    )
    return (
        s.contour(crown, wool, dark, 2.2),
        s.line(knit, dark, 1.8, 0.55),
        s.contour(band, wool, dark, 2.2),
        s.line(ribs, dark, 2.2, 0.7),
    )


def _hat(h: Head, r: Stream) -> s.Nodes:
    t = h.temple
    felt = r.choice(("#6b5138", "#4a4a50", "#7a6a4c", "#3d4a3f"))
    dark, light = scale(felt, 0.66), mix(felt, "#ffffff", 0.16)
    crown = s.symmetric_outline(
        [(0, 50), (22, 38), (t * 0.66, 44), (t + 3, 78), (t + 11, 146)], [(t + 11, 146), (0, 156)]
    )
    band = s.symmetric_outline([(0, 126), (t + 8, 118)], [(t + 8, 118), (t + 12, 147)], [(t + 12, 147), (0, 158)])
    brim = s.loop(
        [
            (-t - 66, 142),
            (-t * 0.9, 136),
            (0, 147),
            (t * 0.9, 136),
            (t + 66, 142),
            (t + 40, 164),
            (0, 182),
            (-t - 40, 164),
        ]
    )
    front = s.contour(brim, felt, scale(dark, 0.75), 2.2)
    pinch = s.mirror(s.line(s.curve([(8, 48), (24, 66), (20, 98)]), dark, 2.6, 0.7))
    return (
        s.contour(crown, felt, dark, 2.2),
        *pinch,
        s.contour(band, "#241d1a", "#120d0b", 1.6),
        front,
        s.line(s.curve([(-t - 40, 146), (0, 156), (t + 40, 146)]), light, 2, 0.45),
    )


def _scarf(identity: Identity, h: Head, r: Stream) -> s.Nodes:
    b, t = body(identity), h.temple
    cloth = r.choice(("#3f6f78", "#8d4d5f", "#5d6795", "#4d7360"))
    dark, light = scale(cloth, 0.70), mix(cloth, "#ffffff", 0.20)
    wide = max(t + 26, h.cheek + 19)
    outer = [
        (0.0, 66.0),
        (t * 0.55, 75),
        (t + 12, 118),
        (wide, 210),
        (wide - 2, 300),
        (max(h.jaw + 36, b.neck + 58), 366),
        (max(h.jaw + 46, b.neck + 84), 432),
        (b.neck + 40, 474),
        (0.0, 490.0),
    ]
    inner = [
        (0.0, 146.0),
        (t * 0.6, 154),
        (t - 9, 190),
        (h.cheek - 7, 238),
        (h.jaw * 0.86, h.chin - 34),
        (h.jaw * 0.4 + 8, h.chin - 10),
        (0.0, h.chin - 3),
    ]
    ring = s.loop([*outer, *s.flip(outer)[1:-1]]) + s.loop(list(reversed([*inner, *s.flip(inner)[1:-1]])))
    folds: list[list[s.Point]] = [
        [(-t * 0.7, h.chin - 8), (-10, h.chin + 26), (b.neck + 30, 424)],
        [(-wide + 8, 330), (-20, h.chin + 46), (b.neck + 44, 452)],
        [(t * 0.75, h.chin - 4), (30, h.chin + 24), (4, h.chin + 36)],
        [(-wide + 14, 262), (-t * 0.9, 330), (-16, h.chin + 66), (20, 468)],
        [(t + 8, 140), (wide - 10, 220), (wide - 16, 306)],
        [(-t - 8, 140), (-wide + 10, 220), (-wide + 14, 290)],
    ]
    hem = s.loop([*inner, *s.flip(inner)[1:-1]])
    shade = s.outline(
        [(wide, 210), (wide - 2, 300), (max(h.jaw + 36, b.neck + 58), 366)],
        [(b.neck + 22, 380), (wide - 24, 300), (wide - 22, 220)],
    )
    return (
        s.contour(ring, cloth, dark, 2.2),
        *s.mirror(s.fill(shade, dark, 0.45)),
        *[s.line(s.curve(f), dark, 2.6, 0.65) for f in folds],
        s.line(hem, light, 3.0, 0.7),
        s.line(s.curve([(-t * 0.8, 122), (0, 98), (t * 0.8, 122)]), light, 2.6, 0.5),
    )


def accessory(identity: Identity, value: str) -> s.Nodes:
    """Return a baseball cap, a knitted beanie, a brimmed hat or a headscarf."""
    h, r = head(identity), Stream(identity.seed, f"accessories:{value}")
    if value == "cap":
        return _cap(h, r)
    if value == "beanie":
        return _beanie(h, r)
    if value == "hat":
        return _hat(h, r)
    return _scarf(identity, h, r)
