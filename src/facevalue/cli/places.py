"""Places of runs: folders, or URLs of object storage."""

from pathlib import Path

import click

from facevalue.errors import SettingError
from facevalue.places import is_url


class Place(click.ParamType[Path | str]):
    """A folder, or a URL as it was typed."""

    name = "run"

    def convert(self, value: Path | str, param: click.Parameter | None, ctx: click.Context | None) -> Path | str:
        """Tell a folder from a URL."""
        return place(value)


class FolderPath(click.ParamType[Path]):
    """The folder of a run that is written into."""

    name = "run"

    def convert(self, value: Path | str, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Refuse a URL."""
        if is_url(value):
            raise SettingError(
                f"{value} is in object storage, and this command writes into a run folder: 'facevalue fetch {value} "
                "FOLDER' brings the run into one."
            )
        return Path(value)


def place(text: Path | str) -> Path | str:
    """A folder, or a URL."""
    return text if isinstance(text, str) and is_url(text) else Path(text)
