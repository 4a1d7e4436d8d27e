"""Prompts for an image generator: those of the paper for scenes (Table 2)."""

import polars as pl

from facevalue.errors import DataError
from facevalue.studies.modscan.tables import instances

GENERATED = 400
"""Pictures of each persona that the paper generates before those with people are dropped (section 4)."""


def generation_prompts(portraits: bool = False) -> pl.DataFrame:
    """Prompts for the pictures of scenes (Table 2), 400 of each: `persona`, `number`, `prompt`."""
    if portraits:
        raise DataError("ModSCAN generates scenes, no portraits: leave out --portraits.")
    personas = pl.DataFrame([(i.name, i.image) for i in instances("persona")], ["persona", "prompt"], orient="row")
    numbers = pl.DataFrame({"number": range(1, GENERATED + 1)})
    return personas.join(numbers, how="cross", maintain_order="left_right").select("persona", "number", "prompt")
