"""`facevalue fetch`: a run from object storage into a folder."""

from pathlib import Path

import click

from facevalue.errors import SettingError
from facevalue.places import is_url
from facevalue.runs.mirror import copied
from facevalue.terminal import say


@click.command()
@click.argument("run", metavar="URL")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def fetch(run: str, folder: Path) -> None:
    """Bring the run under URL into a new FOLDER, which is a run folder like any other."""
    if not is_url(run):
        raise SettingError(f"{run} is no URL of object storage: write s3://BUCKET/PREFIX, gs://, az:// or file://.")
    copied(run, folder)
    say(f"{folder}: facevalue report {folder}")
