"""Drawings of things that the artwork lacks, on its grid of 128 x 128."""

from collections.abc import Mapping
from types import MappingProxyType

from facevalue.stimuli.noto.backdrops import disc, path, rect, stroke

_CODE = "".join(
    rect(x, y, w, 4, colour, 2)
    for x, y, w, colour in (
        (16, 26, 30, "#f2a65a"), (50, 26, 22, "#9cdcfe"), (22, 35, 40, "#b5e48c"), (66, 35, 18, "#f4f1de"),
        (28, 44, 26, "#9cdcfe"), (58, 44, 44, "#b5e48c"), (28, 53, 50, "#f2a65a"), (22, 62, 22, "#d8a7e0"),
        (48, 62, 34, "#9cdcfe"), (16, 71, 36, "#b5e48c"),
    )
)  # fmt: skip
_BOARD = "".join(
    rect(16 + 12 * i, 66 + 6 * j, 12, 6, "#f3e3c3" if (i + j) % 2 else "#7b5a3a") for i in range(8) for j in range(8)
)
_TRACK = "".join(
    rect(x, y, 12, 9, c)
    for k, c in enumerate(("#e4572e", "#f3a712", "#76b041", "#17bebb"))
    for x, y in ((18 + 24 * k, 68), (30 + 24 * k, 68), (18 + 24 * k, 107), (30 + 24 * k, 107))
)
_NET = "".join(stroke(f"M{x} 30V72", "#f4f4f0", 1) for x in range(2, 128, 7)) + "".join(
    stroke(f"M0 {y}H128", "#f4f4f0", 1) for y in range(38, 72, 7)
)
_SPARKS = "".join(
    stroke(f"M64 62L{64 + dx} {62 + dy}", "#ffc938", 2.5)
    for dx, dy in ((-30, -16), (-22, -30), (-6, -34), (12, -32), (26, -22), (34, -6), (-36, -2), (22, 20), (-20, 20))
)
_WEAVE = "".join(
    rect(26 + 8 * i, 58 + 8 * j, 8, 8, "#c8553d" if (i + j) % 2 else "#f2cc8f") for i in range(10) for j in range(5)
)

DRAWINGS: Mapping[str, str] = MappingProxyType(
    {
        "car-front": path("M24 64L34 8Q36 3 42 3H86Q92 3 94 8L104 64H97L88 11H40L31 64Z", "#c8463c")
        + rect(6, 60, 116, 52, "#d9534a", 14) + rect(6, 60, 116, 8, "#e67b73", 4) + disc(24, 86, 11, 9, "#fff6cf")
        + disc(104, 86, 11, 9, "#fff6cf") + rect(42, 80, 44, 14, "#5f2a27", 4) + rect(4, 102, 120, 10, "#b9bfc5", 4)
        + rect(14, 110, 20, 16, "#33363a", 4) + rect(94, 110, 20, 16, "#33363a", 4),
        "steering-wheel": stroke("M36 66A28 28 0 0 1 92 66", "#2f3236", 7) + stroke("M64 46V66", "#2f3236", 6),
        "washing-machine": rect(14, 6, 100, 118, "#f6f8fa", 8) + rect(14, 6, 100, 24, "#dfe5ea", 8)
        + disc(100, 18, 6, 6, "#8b99a6") + rect(24, 13, 30, 10, "#b6c2cc", 3) + disc(64, 78, 36, 36, "#aeb9c2")
        + disc(64, 78, 28, 28, "#8fc7e0") + path("M38 84q13-12 26 0t26 0q-4 22-26 22t-26-22", "#5fa9cc"),
        "barbell": rect(0, 61, 128, 5, "#8d959c", 2) + rect(10, 40, 12, 47, "#3d4348", 5)
        + rect(23, 47, 9, 33, "#565d63", 4)
        + rect(106, 40, 12, 47, "#3d4348", 5) + rect(96, 47, 9, 33, "#565d63", 4),
        "headboard": rect(0, 20, 128, 108, "#9a7048", 10) + rect(8, 28, 112, 100, "#b98b5e", 8)
        + rect(16, 52, 96, 60, "#ffffff", 22) + rect(20, 56, 88, 52, "#f2f2f7", 20),
        "leash": stroke("M8 12Q50 110 118 60", "#b03a3a", 3),
        "pipe": stroke("M20 0V54Q20 96 62 96H128", "#8a979f", 18) + stroke("M20 0V54Q20 96 62 96H128", "#b4c0c7", 8)
        + rect(6, 34, 28, 12, "#6f7c84", 3) + rect(82, 82, 12, 28, "#6f7c84", 3)
        + path("M100 112q-8 12 0 14t0-14M112 108q-6 9 0 11t0-11", "#4fa3d1"),
        "ironing-board": rect(0, 62, 128, 14, "#7fa3c7", 7) + rect(0, 62, 128, 5, "#a3c0dc", 3)
        + stroke("M30 78L92 128M92 78L30 128", "#8a8f94", 5),
        "iron": path("M14 96Q20 58 66 56H104L116 96Z", "#3f7fb5") + rect(10, 96, 108, 10, "#c7ced4", 3)
        + stroke("M52 56Q56 34 76 34H96Q106 34 108 56", "#2c5c85", 9) + disc(64, 78, 6, 6, "#dcebf5"),
        "code-screen": rect(6, 14, 116, 74, "#3a3f47", 6) + rect(11, 19, 106, 64, "#1f2530", 3) + _CODE
        + rect(54, 88, 20, 18, "#6d747c") + rect(34, 104, 60, 8, "#565d64", 4),
        "torch": rect(0, 84, 128, 16, "#8d98a1", 2) + rect(0, 84, 128, 5, "#aeb8c0", 2)
        + stroke("M112 20L74 56", "#4a4f55", 8)
        + stroke("M112 20L122 6", "#b5482f", 10) + _SPARKS + disc(64, 62, 12, 12, "#bfe6ff")
        + disc(64, 62, 6, 6, "#ffffff"),
        "tray": disc(64, 98, 62, 16, "#9aa3ab") + disc(64, 94, 62, 16, "#d5dbe0") + disc(64, 93, 50, 11, "#c2c9cf"),
        "hoop": rect(14, 4, 100, 70, "#ffffff", 4) + rect(14, 4, 100, 4, "#c0473a") + rect(44, 34, 40, 30, "#c0473a")
        + rect(48, 38, 32, 22, "#ffffff") + path("M40 76H88L80 116H48Z", "#ffffff88")
        + stroke("M46 78L54 114M58 78L62 114M72 78L68 114M84 78L74 114M42 90H86M45 102H83", "#e9e9e4", 2)
        + stroke("M38 74H90", "#e4672e", 6),
        "bicycle-front": stroke("M20 40Q40 22 64 28Q88 22 108 40", "#2f3236", 7)
        + stroke("M12 46L24 37M116 46L104 37", "#1d1f22", 10)
        + stroke("M64 28V74", "#c9463c", 7) + stroke("M56 76V118M72 76V118", "#c9463c", 4)
        + disc(64, 44, 8, 8, "#fff2b8")
        + rect(59, 72, 10, 56, "#2b2d30", 5),
        "easel": stroke("M64 0L20 128M64 0L108 128", "#8a633c", 6) + rect(18, 18, 92, 70, "#ffffff", 2)
        + rect(24, 24, 80, 58, "#cfe7f5") + path("M24 82V64L50 46L74 66L88 56L104 68V82Z", "#7fb069")
        + disc(90, 36, 8, 8, "#f3c54b")
        + rect(12, 88, 104, 6, "#a67c4e"),
        "statue": rect(34, 108, 60, 20, "#a9a59d", 2) + path("M40 108Q40 86 56 82V72H72V82Q88 86 88 108Z", "#d9d6cf")
        + disc(64, 54, 20, 26, "#e4e1da") + path("M44 48Q46 26 64 26T84 48Q76 38 64 40T44 48", "#c2beb5")
        + stroke("M64 52V62M56 68H72M54 50H59M69 50H74", "#b3afa6", 3),
        "chisel": stroke("M20 108L84 44", "#a8b0b6", 8) + stroke("M84 44L112 16", "#a5672f", 14),
        "board-game": rect(12, 62, 104, 60, "#8f5a3c", 4) + rect(16, 66, 96, 52, "#f4ecd8", 2) + _TRACK
        + disc(50, 92, 6, 4, "#b02e2e") + path("M44 92L50 74L56 92Z", "#d64545")
        + disc(80, 96, 6, 4, "#2a5fa0") + path("M74 96L80 78L86 96Z", "#3a7bc8"),
        "chessboard": rect(10, 60, 108, 60, "#4f3822", 3) + _BOARD,
        "kite-string": stroke("M4 124Q30 70 84 4", "#5c6770", 1.6),
        "boat": path("M0 66H128Q120 116 96 120H32Q8 116 0 66Z", "#b5743f") + rect(0, 62, 128, 9, "#e0bb8c", 4),
        "sail": rect(60, 0, 6, 128, "#8a633c") + path("M70 6Q124 60 118 112H70Z", "#fbf7ef")
        + path("M56 14Q10 70 12 112H56Z", "#e4695a"),
        "bat": stroke("M22 108L62 66", "#9a6435", 8) + stroke("M66 62L106 20", "#c98b52", 17)
        + disc(20, 110, 7, 7, "#7a4c26"),
        "net": rect(0, 24, 128, 6, "#ffffff") + _NET + rect(0, 22, 5, 76, "#6f7780") + rect(123, 22, 5, 76, "#6f7780"),
        "golf-club": stroke("M100 6L40 112", "#8e979e", 5) + path("M44 108L18 112Q12 122 22 124H46Z", "#5d666d")
        + stroke("M100 6L86 30", "#2d3033", 8),
        "wicket": "".join(rect(34 + 24 * i, 20, 10, 104, "#e0b877", 4) for i in range(3))
        + rect(34, 16, 28, 6, "#b9884a", 3)
        + rect(66, 16, 28, 6, "#b9884a", 3),
        "rugby-posts": rect(22, 0, 6, 128, "#fbfbf7") + rect(100, 0, 6, 128, "#fbfbf7")
        + rect(22, 70, 84, 6, "#fbfbf7"),
        "grill": path("M10 60H118Q116 98 88 102H40Q12 98 10 60Z", "#3b3f44")
        + rect(6, 54, 116, 8, "#6d747a", 3) + stroke("M42 102L28 128M86 102L100 128", "#5a6066", 6)
        + stroke("M24 48q-6-10 2-18t0-18M104 48q-6-10 2-18t0-18", "#b9c0c5", 3),
        "sausages": "".join(stroke(f"M{x} 52L{x + 16} 46", "#a34a2c", 9) for x in (22, 50, 78)),
        "cigar": disc(64, 104, 54, 16, "#7b8790") + disc(64, 100, 54, 16, "#a3b0b9") + disc(64, 100, 40, 10, "#6c7880")
        + stroke("M40 94L108 66", "#6b4326", 15) + stroke("M40 94L46 91.500", "#d9d4cc", 14)
        + stroke("M84 76L90 73.500", "#d9a441", 15)
        + stroke("M36 84q-10-16 2-28t-2-30", "#c9ced2", 4),
        "potters-wheel": rect(52, 96, 24, 32, "#7d6a58") + disc(64, 98, 58, 14, "#8f7b66")
        + disc(64, 93, 58, 14, "#b5a08a")
        + path("M44 92Q28 66 46 46Q50 40 46 32H82Q78 40 82 46Q100 66 84 92Z", "#b5653f")
        + disc(64, 32, 18, 5, "#8a4a2c")
        + stroke("M37 66Q64 74 91 66", "#9a5434", 3),
        "loom": rect(8, 6, 10, 120, "#8a5f38", 3) + rect(110, 6, 10, 120, "#8a5f38", 3)
        + rect(4, 12, 120, 9, "#a67c4e", 3)
        + rect(4, 104, 120, 9, "#a67c4e", 3) + "".join(rect(25 + 8 * i, 21, 2, 84, "#f4ecd8")
        for i in range(11)) + _WEAVE
        + rect(18, 50, 92, 6, "#c49a6a", 3),
        "lectern": path("M14 40H114L104 56H24Z", "#b98b5e") + path("M28 56H100L94 128H34Z", "#9a7048"),
        "lane-line": "".join(disc(8 + 14 * i, 64, 6, 5, "#e4572e" if i % 2 else "#ffffff") for i in range(9)),
    }
)  # fmt: skip
