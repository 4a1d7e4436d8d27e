"""`facevalue fetch`: a run from object storage into a folder."""

from pathlib import Path

from facevalue.cli.output import Output, WrittenFiles
from facevalue.errors import SettingError
from facevalue.places import is_url
from facevalue.runs.mirror import copied


def fetch(run: str, folder: Path) -> Output[WrittenFiles]:
    """Bring the run under a URL into a new folder, which is a run folder like any other."""
    if not is_url(run):
        raise SettingError(f"{run} is no URL of object storage: write s3://BUCKET/PREFIX, gs://, az:// or file://.")
    copied(run, folder)
    then = f"facevalue report {folder}"
    return Output(WrittenFiles((str(folder),), then=then), [f"{folder}: {then}"])
