"""`facevalue prompts`: prompts for an image generator that makes the pictures of a study."""

import io
from pathlib import Path

import click

from facevalue.csv_text import write_csv
from facevalue.errors import RunError
from facevalue.store.files import write_whole
from facevalue.studies.offers import listed, offered, offering
from facevalue.terminal import say


@click.command(
    help=f"Write the published image prompts of STUDY ({listed(list(offering('prompts')), 'or')}), one row per picture."
)
@click.argument("study")
@click.option("--to", required=True, type=click.Path(path_type=Path, dir_okay=False), help="A .csv or .parquet file.")
@click.option("--portraits", is_flag=True, help="Only the portraits: without an activity, or without a variation.")
def prompts(study: str, to: Path, portraits: bool) -> None:
    """Write image prompts."""
    make_prompts = offered(study, "prompts", "image prompts").extras.image_prompts
    assert make_prompts is not None
    if to.suffix not in (".csv", ".parquet"):
        raise RunError(f"{to.name} is neither .csv nor .parquet: the file's ending chooses the format.")
    frame = make_prompts(portraits)
    buffer = io.BytesIO()
    if to.suffix == ".csv":
        write_csv(frame, buffer)
    else:
        frame.write_parquet(buffer)
    write_whole(to, buffer.getvalue())
    say(f"{frame.height:,} prompts: {to}")
