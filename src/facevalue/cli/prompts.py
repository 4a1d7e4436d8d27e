"""`facevalue prompts`: what an image generator would be asked for the pictures of a study."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

import click

from facevalue.csv_text import write_csv
from facevalue.errors import RunError, UnknownNameError
from facevalue.store.files import write_whole
from facevalue.terminal import say

if TYPE_CHECKING:
    import polars as pl


@click.command()
@click.argument("study")
@click.option("--to", required=True, type=click.Path(path_type=Path, dir_okay=False), help="A .csv or .parquet file.")
@click.option("--portraits", is_flag=True, help="Only the portraits: without an activity, or without a variation.")
def prompts(study: str, to: Path, portraits: bool) -> None:
    """Write the published image prompts of STUDY (vignette, stylisticbias), one row per picture."""
    if study not in STUDIES:
        raise UnknownNameError("study with image prompts", study, STUDIES)
    if to.suffix not in (".csv", ".parquet"):
        raise RunError(f"{to.name} is neither .csv nor .parquet: the ending says how to write it.")
    frame = STUDIES[study](portraits)
    buffer = io.BytesIO()
    if to.suffix == ".csv":
        write_csv(frame, buffer)
    else:
        frame.write_parquet(buffer)
    write_whole(to, buffer.getvalue())
    say(f"{frame.height:,} prompts: {to}")


def _vignette(portraits: bool) -> "pl.DataFrame":
    from facevalue.studies.vignette.generation import generation_prompts  # noqa: PLC0415 - reads tables

    return generation_prompts(portraits=portraits)


def _stylisticbias(portraits: bool) -> "pl.DataFrame":
    from facevalue.studies.stylisticbias.generation import published_prompts  # noqa: PLC0415 - reads tables

    return published_prompts(portraits=portraits)


STUDIES = {"vignette": _vignette, "stylisticbias": _stylisticbias}
