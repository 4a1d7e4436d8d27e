"""`facevalue prompts`: what an image generator would be asked for the pictures of a study."""

import io
from pathlib import Path

import click

from facevalue.errors import RunError, UnknownNameError
from facevalue.store.files import write_whole


@click.command()
@click.argument("study")
@click.option("--to", required=True, type=click.Path(path_type=Path, dir_okay=False), help="A .csv or .parquet file.")
@click.option("--portraits", is_flag=True, help="The portraits without an activity instead.")
def prompts(study: str, to: Path, portraits: bool) -> None:
    """Write the published image prompts of STUDY (vignette), one row per picture."""
    if study != "vignette":
        raise UnknownNameError("study with image prompts", study, ["vignette"])
    from facevalue.studies.vignette.generation import generation_prompts  # noqa: PLC0415 - reads tables

    if to.suffix not in (".csv", ".parquet"):
        raise RunError(f"{to.name} is neither .csv nor .parquet: the ending says how to write it.")
    frame = generation_prompts(portraits=portraits)
    buffer = io.BytesIO()
    if to.suffix == ".csv":
        frame.write_csv(buffer)
    else:
        frame.write_parquet(buffer)
    write_whole(to, buffer.getvalue())
    click.echo(f"{frame.height:,} prompts: {to}")
