"""A making that goes on long enough to be killed, for a process of its own."""

import os
import time
from collections.abc import Mapping
from pathlib import Path

from facevalue.generators.base import PictureRequest
from facevalue.runs.makings.making import make
from facevalue.runs.makings.preparation import prepare_making
from facevalue.runs.progress import SilentProgress
from facevalue.runs.settings import RunSettings
from tests.generators.pictures import Maker, plan

CUES = ("cap", "scarf", "beard")


def main(place: Path | str, log: Path, environment: Mapping[str, str] | None = None) -> None:
    """Make pictures in `place`; each that is asked for is a line of the file `log`."""
    os.environ.update(environment or {})
    with log.open("a", buffering=1) as lines:

        def answer(request: PictureRequest) -> None:
            lines.write(f"{request.factors['image']}\n")
            time.sleep(0.01)

        maker = Maker(answer)
        prepared = prepare_making(plan(cues=CUES), "hiring", {}, place, RunSettings(journal_seconds=0.0))
        make(prepared, maker, maker, SilentProgress())
