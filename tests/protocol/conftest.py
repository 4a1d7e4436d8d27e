"""What tests of own studies share."""

from pathlib import Path

import pytest

from facevalue.protocol import own_studies
from facevalue.protocol.protocol import Protocol
from facevalue.studies.registry import find_protocol

MINIMAL = """
name = "small"
[pictures]
kind = "none"
cue = "first"
base = "Emily"
rows = [
  {identity = "1", first = "Emily", city = "Rome"}, {identity = "1", first = "Lakisha", city = "Rome"},
  {identity = "2", first = "Emily", city = "Oslo"}, {identity = "2", first = "Lakisha", city = "Oslo"},
]
[prompt]
text = "Would you hire {first} from {city} as a {job}?"
[factor.job]
levels = ["nurse", "cook"]
[answer]
kind = "yes-no"
[[estimand]]
statistic = "shift"
by = ["job"]
"""


@pytest.fixture
def read(tmp_path: Path) -> "Reader":
    return Reader(tmp_path)


class Reader:
    """Reads texts of studies as files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, text: str, name: str = "small.toml") -> Protocol:
        (self.folder / name).write_text(text)
        return own_studies.read(self.folder / name, find_protocol)

    def changed(self, before: str, after: str) -> Protocol:
        """The minimal study with a change."""
        assert before in MINIMAL
        return self(MINIMAL.replace(before, after, 1))
