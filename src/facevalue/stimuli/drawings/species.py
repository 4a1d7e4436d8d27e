"""Fictional beings as a negative control (VisBias, section 4.1): nothing is known of them that could be a fact.

The paper shows pictures of orcs, murlocs, goblins, dwarves and elves; all five are drawn by one hand (`beings`).
"""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.stimuli.drawings.workers import DrawnImages
from facevalue.stimuli.noto.artwork import document, mirror, on_white
from facevalue.stimuli.noto.backdrops import disc, path, rect, stroke

# Drawings of our own of the five fictional species of VisBias, in the manner of the Noto artwork (128 x 128 units).


WOMAN, MAN = "woman", "man"
DARK = "#2b211d"


class SpeciesLook(NamedTuple):
    """Look of one drawing of a species.

    `shade` is of ears, nose and neck; `hair` may be fins; `cut` is one of two ways to draw hair, headgear and face.
    """

    skin: str
    shade: str
    hair: str
    cloth: str
    trim: str
    cut: int


def _eyes(x: float, y: float, colour: str = DARK, white: str = "") -> str:
    return mirror((disc(x, y, 7, 6, white) if white else "") + disc(x, y, 4 if white else 4.6, 4.8, colour))


def _brows(y: float, colour: str, slope: float = 0, width: float = 4) -> str:
    return mirror(stroke(f"M39 {y}Q47 {y - 5} 56 {y + slope}", colour, width))


def _torso(colour: str, wide: float = 54) -> str:
    x = 64 - wide
    return path(f"M{x} 128V120C{x} 104 {x + 20} 97 46 94H82C{108 - x} 97 {128 - x} 104 {128 - x} 120V128Z", colour)


def _orc(look: SpeciesLook, presentation: str) -> str:
    woman = presentation == WOMAN
    back = path("M36 40Q20 70 26 112H102Q108 70 92 40Z", look.hair) if woman else ""
    jaw = "M30 46C30 18 98 18 98 46L99 70C99 96 82 106 64 106S29 96 29 70Z"
    if woman:
        jaw = "M32 46C32 20 96 20 96 46L96 70C96 92 80 104 64 104S32 92 32 70Z"
    ears = mirror(path("M33 54L10 40Q14 66 34 72Z", look.skin) + path("M31 57L17 48Q20 61 32 66Z", look.shade))
    tall = 15 if look.cut else 10
    tusks = mirror(path(f"M46 88Q44 {88 - tall} 50 {84 - tall}Q55 {88 - tall} 55 88Z", "#f6efd8"))
    mouth = stroke("M42 88Q64 80 86 88", "#3a2a20", 4) + tusks
    nose = path("M54 72Q64 58 74 72Q72 79 64 77Q56 79 54 72Z", look.shade) + mirror(disc(60, 74, 2, 1.6, DARK))
    brow = path("M36 54Q50 44 64 53Q78 44 92 54L90 60Q76 54 64 60Q52 54 38 60Z", look.shade)
    if woman:
        hair = path("M31 50Q30 14 64 14T97 50Q88 30 64 30T31 50Z", look.hair)
        hair += mirror(stroke("M29 56V104", look.hair, 9) + stroke("M25 66h8M25 78h8M25 90h8", look.trim, 3))
        hair += stroke("M34 36Q64 24 94 36", look.trim, 3) if look.cut else ""
    elif look.cut:
        hair = path("M56 30Q54 2 64 2T72 30Q64 24 56 30Z", look.hair) + rect(56, 14, 16, 5, look.trim, 2)
    else:
        hair = path("M50 28Q52 6 64 8T78 28Q64 20 50 28Z", look.hair) + stroke("M84 40L92 62", look.shade, 3)
    fur = mirror("".join(path(f"M{x} 122L{x + 7} 98L{x + 14} 122Z", look.trim) for x in (4, 14, 24, 34)))
    strap = stroke("M30 102L74 128", "#5a3d25", 7) + disc(64, 120, 5, 5, "#b9bfc5")
    armour = (
        _torso(look.cloth, 58)
        + (fur if look.cut else mirror(disc(20, 112, 15, 12, "#7d868e") + path("M18 102L14 84L26 101Z", "#d8dde1")))
        + strap
    )
    return (
        back
        + rect(50, 88, 28, 18, look.shade)
        + armour
        + ears
        + path(jaw, look.skin)
        + hair
        + brow
        + _eyes(49, 62, "#3b1d14", "#f3d24f")
        + nose
        + mouth
    )


def _goblin(look: SpeciesLook, presentation: str) -> str:
    woman = presentation == WOMAN
    ears = mirror(path("M38 56Q18 40 0 36Q8 70 40 76Z", look.skin) + path("M36 60Q20 50 8 44Q16 64 36 70Z", look.shade))
    rings = mirror(stroke("M16 60a5 5 0 1 0 6 4", "#e8b923", 2.5)) if woman or look.cut else ""
    face = path("M36 52C36 26 92 26 92 52C94 84 90 108 64 108S34 84 36 52Z", look.skin)
    nose = path("M58 58Q64 54 70 58L73 78Q66 94 60 82Z", look.shade)
    teeth = "".join(path(f"M{x} {y}l3 6l3 -6Z", "#fffbe8") for x, y in ((48, 90), (54, 92.5), (70, 92.5), (76, 90)))
    mouth = path("M44 86Q64 96 84 86Q80 102 64 102T44 86Z", "#4a1620") + teeth
    if woman:
        head = path("M36 52Q34 22 64 22T92 52Q84 36 64 38T36 52Z", look.hair)
        head += (
            disc(64, 16, 13, 12, look.hair) + rect(54, 24, 20, 5, look.trim, 2)
            if look.cut
            else mirror(disc(36, 28, 11, 11, look.hair) + stroke("M42 34l5 5", look.trim, 4))
        )
        lashes = mirror(stroke("M40 52l-4 -3M43 49l-3 -4", DARK, 2))
    elif look.cut:
        head = path("M34 48Q36 12 64 12T94 48Q64 34 34 48Z", look.cloth) + stroke("M34 48Q64 34 94 48", look.trim, 5)
        lashes = ""
    else:
        head = "".join(stroke(f"M{x} 34L{x + d} 14", look.hair, 4) for x, d in ((54, -6), (61, -2), (68, 3), (75, 8)))
        lashes = ""
    vest = (
        _torso(look.cloth, 46) + path("M52 96L64 116L76 96Z", look.skin) + mirror(stroke("M50 96L64 128", look.trim, 4))
    )
    return (
        ears
        + rings
        + rect(54, 90, 20, 18, look.shade)
        + vest
        + face
        + head
        + _brows(50, DARK, 4)
        + _eyes(49, 60, "#171717", "#ffe75c")
        + lashes
        + nose
        + mouth
    )


def _dwarf(look: SpeciesLook, presentation: str) -> str:
    woman = presentation == WOMAN
    ears = mirror(disc(28, 62, 7, 9, look.shade))
    face = path("M28 56C28 26 100 26 100 56C102 86 88 100 64 100S26 86 28 56Z", look.skin)
    nose = disc(64, 68, 10, 8, look.shade)
    cheeks = mirror(disc(42, 74, 8, 5, "#d9694f")) if woman or look.cut else ""
    iron = path("M24 52Q24 10 64 10T104 52Q84 44 64 44T24 52Z", "#8b959d") + stroke("M25 51Q64 40 103 51", look.trim, 6)
    if look.cut:
        iron += rect(60, 12, 8, 52, "#6f7880", 3) + mirror(disc(36, 44, 2.5, 2.5, "#f4e3a1"))
    else:
        iron += path("M58 12Q64 -2 70 12Z", look.trim) + disc(64, 28, 5, 5, "#c23b3b")
    if woman:
        hair = mirror(path("M28 44Q20 74 26 92Q34 90 34 80Q30 62 36 46Z", look.hair))
        hair += mirror(stroke("M24 88V122", look.hair, 13) + stroke("M18 98h12M18 108h12M18 118h12", look.trim, 3))
        beard = stroke("M52 86Q64 94 76 86", "#7a2f2a", 4)
    else:
        hair = ""
        beard = path("M27 62Q26 128 64 128T101 62Q94 82 78 80Q64 74 50 80Q34 82 27 62Z", look.hair)
        beard += path("M38 80Q50 70 64 76Q78 70 90 80Q80 92 64 84Q48 92 38 80Z", look.shade if look.cut else look.hair)
        beard += stroke("M54 89Q64 94 74 89", "#6b2d28", 3.5)
        beard += mirror(rect(44, 110, 9, 6, look.trim, 2)) if look.cut else rect(57, 116, 14, 7, look.trim, 3)
    mail = _torso(look.cloth, 62) + mirror(
        disc(14, 116, 18, 13, "#8b959d") + stroke("M0 112Q14 100 30 112", look.trim, 3)
    )
    axe = stroke("M117 128V14", "#7b5a3a", 5) + path("M117 14Q100 12 98 36Q108 30 117 34Z", "#c7ced4")
    return (
        (axe if look.cut else "")
        + mail
        + ears
        + face
        + hair
        + beard
        + _brows(56, look.hair, 1, 3.5 if woman else 6)
        + _eyes(48, 64)
        + cheeks
        + nose
        + iron
    )


def _elf(look: SpeciesLook, presentation: str) -> str:
    woman = presentation == WOMAN
    back = path("M34 36Q18 80 24 118H104Q110 80 94 36Z", look.hair) if woman or look.cut else ""
    ears = mirror(
        path("M36 66Q20 56 14 24Q34 38 40 54Z", look.skin) + path("M34 60Q24 52 20 36Q32 46 37 56Z", look.shade)
    )
    face = path("M36 52C36 20 92 20 92 52C92 80 78 101 64 101S36 80 36 52Z", look.skin)
    if woman:
        hair = path("M35 62Q28 14 64 14T93 62Q90 42 72 32Q52 48 40 46Z", look.hair)
    elif look.cut:
        hair = path("M35 60Q30 14 64 14T93 60Q90 38 64 30Q38 38 35 60Z", look.hair)
    else:
        hair = path("M35 54Q32 12 66 14T93 54Q86 34 58 34Q42 36 35 54Z", look.hair)
    circlet = stroke("M36 44Q64 54 92 44", look.trim, 2.5) + path("M60 47L64 42L68 47L64 55Z", "#3fb6c9")
    robe = (
        _torso(look.cloth)
        + path("M46 94L64 112L82 94L78 92H50Z", look.skin)
        + mirror(stroke("M44 96L64 122", look.trim, 4) + path("M22 112q8 -8 14 0q-8 6 -14 0", look.trim))
    )
    mouth = stroke("M54 84Q64 90 74 84", "#a3413c", 3.5)
    return (
        back
        + rect(54, 86, 20, 16, look.shade)
        + robe
        + ears
        + face
        + hair
        + (circlet if look.cut else "")
        + _brows(55, look.hair if look.hair != "#f2f0ea" else "#b9b2a0", -4, 3)
        + _eyes(50, 63)
        + path("M61 66L64 74L68 74Z", look.shade)
        + mouth
    )


def _murloc(look: SpeciesLook, _presentation: str) -> str:
    fin = path("M64 32Q40 20 44 0Q54 10 58 4Q62 10 66 2Q72 10 80 2Q88 20 64 32Z", look.hair)
    if look.cut:
        fin = path("M64 34Q46 24 34 6Q48 10 52 2Q60 12 64 0Q70 12 78 2Q80 10 94 6Q82 24 64 34Z", look.hair)
    gills = mirror(path("M22 70L0 56Q6 66 2 74Q8 80 2 92Q14 90 26 84Z", look.hair))
    head = path("M20 66C20 36 42 30 64 30S108 36 108 66C108 94 90 104 64 104S20 94 20 66Z", look.skin)
    belly = path("M34 128Q34 104 64 104T94 128Z", look.trim)
    body = path("M14 128Q16 98 64 98T114 128Z", look.skin) + belly
    spots = "".join(disc(x, y, 4, 3, look.shade) for x, y in ((56, 40), (72, 42), (64, 50), (30, 84), (98, 84)))
    eyes = mirror(disc(34, 44, 15, 15, look.skin) + disc(34, 43, 12, 12, "#fdf6c8") + disc(36, 44, 5, 7, DARK))
    mouth = path("M26 74Q64 64 102 74Q98 96 64 96T26 74Z", "#6b1f35") + path(
        "M44 90Q64 80 84 90Q76 95 64 95T44 90Z", "#d5667c"
    )
    teeth = "".join(path(f"M{x} {y}l3.5 8l3.5 -8Z", "#fffbe8") for x, y in ((34, 72), (46, 70), (75, 70), (87, 72)))
    spear = stroke("M118 128V34", "#7b5a3a", 5) + path("M111 36L118 12L125 36Z", "#d9d2c0")
    return (spear if look.cut else "") + fin + body + gills + head + spots + eyes + mouth + teeth


_GREEN = (("#7fae5a", "#55803a"), ("#94a86a", "#6c8046"), ("#6f9a73", "#4b7150"), ("#9bb24a", "#71862f"))
_LIME = (("#a9c94a", "#7f9d2c"), ("#8fc46a", "#659a43"), ("#c2c45a", "#989a36"), ("#7fb98b", "#568d62"))
_SKINS = (("#e0bb95", "#c48e6a"), ("#ba8d68", "#99674f"), ("#f9ddbd", "#dba689"), ("#875f49", "#5f4030"))
_WATER = (("#4f9fc0", "#2f7596"), ("#5fb58f", "#3a8a66"), ("#d98b4a", "#ad6428"), ("#8d80c4", "#63569c"),
          ("#6fae4f", "#477f2b"), ("#c76a78", "#98434f"), ("#3f8f9a", "#256872"), ("#b5a84a", "#877b27"))  # fmt: skip
_WEAR = (("#6b4a2f", "#c9a15a"), ("#4a4f57", "#b5544d"), ("#5a3b52", "#d9c48a"), ("#3f5a4a", "#a98258"))
_ROBES = (("#2f6f5e", "#e8d9a0"), ("#5b4a9c", "#cfd6e6"), ("#8c3f4f", "#f0c987"), ("#3d6ea5", "#f4f1de"))
_HAIR = ("#2b211d", "#6b3a22", "#4b4f57", "#8a2f2a")
_FAIR = ("#f2f0ea", "#d9a441", "#3e2c25", "#9c4a26")

_DRAW: Mapping[str, Callable[[SpeciesLook, str], str]] = MappingProxyType(
    {"orc": _orc, "murloc": _murloc, "goblin": _goblin, "dwarf": _dwarf, "elf": _elf}
)
VARIANTS = 4
"""Drawings of each species in each presentation; of murlocs, which are drawn in none, twice as many."""


def _looks(species: str) -> list[SpeciesLook]:
    if species == "murloc":
        fins = ("#e4572e", "#e8b923", "#3a7f9c", "#d9694f", "#c8463c", "#4f7a9c", "#f2a65a", "#5b8f4a")
        pale = ("#f3e3c3", "#e6efc0", "#f7d9b5", "#e2dcf3")
        return [SpeciesLook(*_WATER[i], fins[i], "", pale[i % 4], i % 2) for i in range(2 * VARIANTS)]
    skins = {"orc": _GREEN, "goblin": _LIME}.get(species, _SKINS)
    hair = _FAIR if species == "elf" else _HAIR
    wear = _ROBES if species == "elf" else _WEAR
    return [SpeciesLook(*skins[i], hair[i], *wear[i], i % 2) for i in range(VARIANTS)]


def presentations(species: str) -> tuple[str | None, ...]:
    """Presentations in which a species is drawn."""
    return (None,) if species == "murloc" else (WOMAN, MAN)


def variants_of_being(species: str) -> int:
    """Number of drawings in each presentation."""
    return len(_looks(species))


def draw_being(species: str, presentation: str | None, variant: int) -> str:
    """A being as the inside of an SVG document, on nothing."""
    look = _looks(species)[variant]
    if presentation == MAN and species != "murloc":  # the two presentations of a variant share no colours
        look = _looks(species)[(variant + 1) % VARIANTS]._replace(cut=variant % 2)
    return _DRAW[species](look, presentation or "")


SPECIES = ("orc", "murloc", "goblin", "dwarf", "elf")
"""The beings that are drawn: the paper's, in its order."""


def species_svg(species: str, presentation: str | None, variant: int) -> str:
    """Return a being of the manifest as an SVG document, on white; variants count from 0."""
    if species not in SPECIES:
        raise UnknownNameError("drawn species", species, SPECIES)
    if presentation not in presentations(species):
        raise UnknownNameError(f"presentation of {species}", str(presentation), map(str, presentations(species)))
    return on_white(document(draw_being(species, presentation, variant)))


def species_manifest() -> pl.DataFrame:
    """List the drawn beings.

    One row per image, text columns: `image` ("elf/woman/1", "murloc/3"), `identity` (the image), `set` (null),
    `species`, `presentation` ("woman", "man"; null for murlocs).
    """
    rows = [(image, image, None, species, presentation) for image, (species, presentation, _) in _list_drawings()]
    columns = ("image", "identity", "set", "species", "presentation")
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def species_source() -> DrawnImages:
    """Return what draws the images of `species_manifest`."""
    return DrawnImages({image: partial(species_svg, *which) for image, which in _list_drawings()})


def _list_drawings() -> list[tuple[str, tuple[str, str | None, int]]]:
    """Each drawing: its image id; and its species, presentation and variant."""
    return [
        ("/".join(filter(None, (name, presentation, str(at + 1)))), (name, presentation, at))
        for name in SPECIES
        for presentation, at in product(presentations(name), range(variants_of_being(name)))
    ]
