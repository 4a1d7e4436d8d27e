"""`facevalue fetch`: a run from object storage into a folder."""

from pathlib import Path

from facevalue.cli.output import Output, WrittenFiles
from facevalue.errors import SettingError
from facevalue.places import is_url
from facevalue.report.formatting import quantity
from facevalue.runs.fetch import fetch_run
from facevalue.shell_commands import shell_command


def fetch(run: str, folder: Path) -> Output[WrittenFiles]:
    """Bring the run under a URL into a new folder, which is a run folder like any other; pictures with their run."""
    if not is_url(run):
        raise SettingError(f"{run} is no URL of object storage: write s3://BUCKET/PREFIX, gs://, az:// or file://.")
    pictures = fetch_run(run, folder)
    then, count = (
        shell_command("report", folder),
        f" ({quantity(pictures, 'picture', 'pictures')})" if pictures else "",
    )
    return Output(WrittenFiles((str(folder),), pictures or None, then), [f"{folder}{count}: {then}"])
