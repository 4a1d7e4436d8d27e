"""Fictional beings as a negative control (VisBias, section 4.1): nothing is known of them that could be a fact.

The paper shows pictures of orcs, murlocs, goblins, dwarves and elves; all five are drawn by one hand (`beings`).
"""

from functools import partial
from itertools import product

import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.stimuli.beings import drawing, presentations, variants
from facevalue.stimuli.drawn_workers import DrawnImages
from facevalue.stimuli.noto.artwork import document, on_white

SPECIES = ("orc", "murloc", "goblin", "dwarf", "elf")
"""The beings that are drawn: the paper's, in its order."""


def species_svg(species: str, presentation: str | None, variant: int) -> str:
    """Return a being of the manifest as an SVG document, on white; variants count from 0."""
    if species not in SPECIES:
        raise UnknownNameError("drawn species", species, SPECIES)
    if presentation not in presentations(species):
        raise UnknownNameError(f"presentation of {species}", str(presentation), map(str, presentations(species)))
    return on_white(document(drawing(species, presentation, variant)))


def species_manifest() -> pl.DataFrame:
    """List the drawn beings.

    One row per image, text columns: `image` ("elf/woman/1", "murloc/3"), `identity` (the image), `set` (null),
    `species`, `presentation` ("woman", "man"; null for murlocs).
    """
    rows = [(image, image, None, species, presentation) for image, (species, presentation, _) in _listed()]
    columns = ("image", "identity", "set", "species", "presentation")
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def species_source() -> DrawnImages:
    """Return what draws the images of `species_manifest`."""
    return DrawnImages({image: partial(species_svg, *which) for image, which in _listed()})


def _listed() -> list[tuple[str, tuple[str, str | None, int]]]:
    """Each drawing: its image id; and its species, presentation and variant."""
    return [
        ("/".join(filter(None, (name, presentation, str(at + 1)))), (name, presentation, at))
        for name in SPECIES
        for presentation, at in product(presentations(name), range(variants(name)))
    ]
