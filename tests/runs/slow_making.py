"""A making that goes on long enough to be killed, for a process of its own."""

import sys
import time
from pathlib import Path

from facevalue.generators.base import PictureRequest
from facevalue.runs.making import make, prepare_making
from facevalue.runs.progress import SilentProgress
from facevalue.runs.settings import RunSettings
from tests.generators.pictures import Maker, plan

CUES = ("cap", "scarf", "beard")


def main(folder: Path) -> None:
    """Make pictures in `folder`; each that is asked for is a line of a file beside it."""
    with folder.with_suffix(".log").open("a", buffering=1) as log:

        def answer(request: PictureRequest) -> None:
            log.write(f"{request.factors['image']}\n")
            time.sleep(0.01)

        maker = Maker(answer)
        prepared = prepare_making(plan(cues=CUES), "hiring", {}, folder, RunSettings(journal_seconds=0.0))
        make(prepared, maker, maker, SilentProgress())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
