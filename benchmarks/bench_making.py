"""Making pictures: what it costs beside an instant generator, its memory, checks of what came, and plans.

Run with `python -m benchmarks.bench_making` (`make bench-making`). Each round makes the same pictures with and without
FaceValue, one after the other, so that a busy machine slows both; rates are medians of rounds.
"""

import io
import statistics
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import PIL.Image
import polars as pl

from benchmarks._harness import Result, at_least, at_most, finish, fresh, peak_mb
from facevalue.generators.base import GeneratedPicture, GeneratorCapabilities, PictureRequest
from facevalue.protocol.making import PicturePlan
from facevalue.runs.makings.making import make
from facevalue.runs.makings.preparation import prepare_making
from facevalue.runs.progress import SilentProgress
from facevalue.runs.settings import RunSettings
from facevalue.types import Image, Status

TINY, LARGE = 16, 512
CPU = "ms of CPU"
FEW, MANY, ROUNDS = 2_500, 25_000, 3
FACES = 10
"""Edits of each face, and one more: so many pictures of a unit."""


def _photograph(side: int) -> bytes:
    """A PNG file of a smooth picture with some noise, about as large as one of a photograph."""
    rng = np.random.default_rng(1)
    wave = np.sin(np.arange(side) / side * 9)
    pixels = 128 + 60 * (wave[:, None, None] * wave[None, :, None]) + rng.normal(0, 2, (side, side, 3))
    out = io.BytesIO()
    PIL.Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(out, "PNG", compress_level=1)
    return out.getvalue()


class Instant:
    """A generator that gives a file at once, each with another comment, so that none is another one's."""

    name = "instant"
    capabilities = GeneratorCapabilities(edits=True, seeds=True)

    def __init__(self, side: int) -> None:
        data = _photograph(side)
        self._before, self._after = data[:-12], data[-12:]  # all but the end of the file, which has 12 bytes

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Nothing else matters."""
        return {}

    def generate(self, requests: Iterable[PictureRequest]) -> Iterator[GeneratedPicture]:
        """Give each its file."""
        for request in requests:
            comment = b"tEXtComment\0" + str(request.number).encode()
            size, check = (number.to_bytes(4, "big") for number in (len(comment) - 4, zlib.crc32(comment)))
            data = self._before + size + comment + check + self._after
            yield GeneratedPicture(request.number, Status.OK, Image(data, "image/png"), seed=request.seed)

    def close(self) -> None:
        """Nothing to close."""


def plan(pictures: int) -> PicturePlan:
    """Faces with edits of each."""
    numbers = range(pictures)
    faces = [f"face-{number // FACES:05}" for number in numbers]
    images = [
        face if number % FACES == 0 else f"{face}/{number % FACES}" for number, face in zip(numbers, faces, strict=True)
    ]
    rows = {
        "image": images,
        "source": [None if number % FACES == 0 else face for number, face in zip(numbers, faces, strict=True)],
        "prompt": [f"A portrait photograph of a person, number {number}, facing the camera." for number in numbers],
        "picture_seed": list(numbers),
        "identity": faces,
        "gender": ["female" if number // FACES % 2 else "male" for number in numbers],
        "cue": [f"cue-{number % FACES}" for number in numbers],
    }
    return PicturePlan(table=pl.DataFrame(rows, schema_overrides={"source": pl.String}), groups=("gender",))


def made(pictures: int, side: int) -> tuple[float, float, float]:
    """Milliseconds of wall and of processor time a picture beyond the generator's own, and peak memory in MB."""
    wanted, generator = plan(pictures), Instant(side)
    requests = [PictureRequest(number, "", number) for number in range(pictures)]
    wall, cpu = perf_counter(), process_time()
    for _ in generator.generate(requests):
        pass
    bare = perf_counter() - wall, process_time() - cpu
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepare_making(wanted, "bench", {}, Path(folder) / "made", RunSettings())
        wall, cpu = perf_counter(), process_time()
        summary = make(prepared, generator, generator, SilentProgress()).summary
        taken = perf_counter() - wall, process_time() - cpu
    assert summary.asked == pictures
    assert not summary.errors
    beyond = [1000 * (whole - alone) / pictures for whole, alone in zip(taken, bare, strict=True)]
    return beyond[0], beyond[1], peak_mb()


def planned() -> float:
    """Seconds of processor time until the pictures of all five published studies are listed, imports included."""
    start = process_time()
    from facevalue.protocol.settings import defaults
    from facevalue.studies import STUDIES
    from facevalue.studies.offers import making_of

    for protocol in STUDIES.values():
        if protocol.extras.making is not None:
            making = making_of(protocol)
            making.plan(defaults(making.settings))
    return process_time() - start


def checked(pairs: int) -> float:
    """Edits a second of processor time that the inspector without models looks at, each beside its source."""
    from facevalue.models.base import ModelOptions
    from facevalue.models.registry import load
    from facevalue.stimuli.portraits import Identity, png, svg
    from facevalue.types import Question, Request, Sampling, Stimulus

    inspector = load("inspect/default", ModelOptions())
    drawings = []
    for number in range(pairs):
        face = Identity(
            f"f{number}", number, ("female", "male")[number % 2], "young", f"monk-0{1 + number % 9}", "normal"
        )
        changes = (None, ("eyewear", "thick-rimmed"))
        drawings.append(tuple(Image(png(svg(face, change), size=LARGE), "image/png") for change in changes))
    requests = [
        Request(
            number,
            0,
            1,
            Stimulus(str(number), str(number), {}, partial(tuple, pair)),
            Question("Inspect."),
            Sampling(),
            False,
        )
        for number, pair in enumerate(drawings)
    ]
    start = process_time()
    responses = list(inspector.respond(requests))
    assert all(response.status is Status.OK for response in responses)
    return pairs / (process_time() - start)


def main() -> None:
    """Measure, print, store."""
    small = [fresh(made, FEW, TINY) for _ in range(ROUNDS)]
    large = [fresh(made, FEW // 5, LARGE) for _ in range(ROUNDS)]
    *many, most = fresh(made, MANY, TINY)
    few = statistics.median(peak for *_, peak in small)
    rate, plans = (
        statistics.median(fresh(case, *args) for _ in range(ROUNDS)) for case, args in ((checked, (20,)), (planned, ()))
    )
    finish(
        "making",
        "Making pictures: beside an instant generator, one core",
        [
            at_most(f"a picture of {TINY} px beyond the generator", statistics.median(x for _, x, _ in small), CPU, 5),
            at_most(f"a picture of {LARGE} px beyond the generator", statistics.median(x for _, x, _ in large), CPU, 5),
            Result(f"a picture of {LARGE} px, waiting for the disk and others included",
                   statistics.median(x for x, *_ in large), "ms"),
            at_most(f"a picture of {MANY:,} beyond the generator", many[1], CPU, 5),
            Result(f"peak memory of {FEW:,} pictures", few, "MB"),
            at_most(f"memory of {MANY:,} pictures beyond that", (most - few) * 1000 / (MANY - FEW), "kB a picture", 4),
            at_least(f"edits of {LARGE} px checked, each with its source, without models", rate, "pictures/s", 20),
            at_most("pictures of all five studies planned, imports included", plans, "s of CPU", 2),
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main()
