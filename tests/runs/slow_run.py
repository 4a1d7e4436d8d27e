"""A run that goes on long enough to be killed, for a process of its own."""

import json
import random
import resource
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import repeat
from pathlib import Path

from facevalue.errors import FaceValueError
from facevalue.runs import RunSettings, run
from facevalue.types import Request, Response
from tests.runs.tiny import TinyModel, say, tiny_study

SEEDS = (1, 2)


class Hangs(TinyModel):
    """Never gives the eleventh answer."""

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        for count, response in enumerate(super().respond(requests)):
            if count == 10:
                print("hanging")
                time.sleep(3600)
            yield response


def main(folder: Path, given: Mapping[str, float]) -> None:
    """Run in `folder`; what would be printed goes to a file beside it."""
    with folder.with_suffix(".out").open("a", buffering=1) as sys.stdout:
        _run(folder, given)


def _run(folder: Path, given: Mapping[str, float]) -> None:
    kind = Hangs if "hangs" in given else TinyModel
    model: TinyModel = kind(delay=given.get("delay", 0.001), log=folder.with_suffix(".log"), ahead=8)
    if "limit" in given:  # a file may not grow beyond this: what a full disk looks like, without one
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(given["limit"]),) * 2)
        small = repeat(True, 200)
        model = TinyModel(lambda r: say("(a)" if next(small, 0) else random.Random(r.trial).randbytes(999).hex())(r))
    settings = RunSettings(
        chunk=64,
        flush_rows=int(given.get("rows", 100)),
        flush_seconds=given.get("seconds", 0.1),
        grace=3600,
    )
    print("started")
    try:
        summary = run(tiny_study(faces=400, prompts=3, seeds=SEEDS), model, folder, settings)
    except FaceValueError as error:
        print(error)
        sys.exit(1)
    print(json.dumps(asdict(summary)))
