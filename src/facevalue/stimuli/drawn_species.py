"""Fictional beings as a negative control (VisBias, section 4.1): nothing is known of them that could be a fact.

The paper shows pictures of orcs, murlocs, goblins, dwarves and elves. Of these the Noto artwork has
elves alone, so the control here is of its own beings. They are as published, where they have human skin in the variant
"medium-light".
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.stimuli.drawn_workers import DrawnImages, on_white
from facevalue.stimuli.noto.artwork import body, document

_TRIPLES = ("elf", "fairy", "genie", "mage", "vampire", "zombie")

SPECIES: Mapping[str, Mapping[str | None, str]] = MappingProxyType(
    {
        **{name: {"woman": f"woman-{name}", "man": f"man-{name}", "person": name} for name in _TRIPLES},
        "merperson": {"woman": "mermaid", "man": "merman", "person": "merperson"},
        "alien": {None: "alien"},
        "robot": {None: "robot"},
        "troll": {None: "troll"},
    }
)
"""The beings that are drawn: for each presentation that there is, the name of the artwork."""
LEFT_OUT: Mapping[str, str] = MappingProxyType(
    {
        "orc": "The artwork has none.",
        "murloc": "The artwork has none.",
        "goblin": "What the artwork calls a goblin is a mask of a tengu, a being of Japanese belief.",
        "dwarf": "The artwork has none.",
    }
)
"""The paper's species that are not drawn, each with its reason."""
TONED = ("elf", "fairy", "mage", "merperson", "vampire")
"""Beings with human skin, of which the artwork has skin tones."""


def species_svg(species: str, presentation: str | None) -> str:
    """Return a being as an SVG document, on white.

    Raises
    ------
    UnknownNameError
        There is no such being, or none in this presentation.
    """
    if species not in SPECIES:
        raise UnknownNameError("drawn species", species, SPECIES)
    if presentation not in SPECIES[species]:
        raise UnknownNameError(f"presentation of {species}", str(presentation), map(str, SPECIES[species]))
    return on_white(document(body(SPECIES[species][presentation])))


def species_manifest() -> pl.DataFrame:
    """List the drawn beings.

    Returns
    -------
    One row per image, text columns: `image` ("elf/woman", "robot"), `identity` (the image), `set` (null), `species`,
    `presentation` ("woman", "man", "person"; null where the artwork has one drawing).

    Examples
    --------
    >>> species_manifest().height
    24
    """
    rows = [
        (image := name if how is None else f"{name}/{how}", image, None, name, how)
        for name, drawings in SPECIES.items()
        for how in drawings
    ]
    columns = ("image", "identity", "set", "species", "presentation")
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def species_source() -> DrawnImages:
    """Return what draws the images of `species_manifest`."""
    beings = species_manifest().select("image", "species", "presentation")
    return DrawnImages({image: partial(species_svg, *which) for image, *which in beings.iter_rows()})
