"""Plans of small pictures, and generators that make them as tests want."""

import io
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import PIL.Image
import polars as pl

from facevalue.generators.base import GeneratedPicture, GeneratorCapabilities, PictureRequest
from facevalue.protocol.making import PicturePlan
from facevalue.stimuli.base import Kind
from facevalue.types import Image, Status, Stimulus


def png(text: str, size: tuple[int, int] = (16, 16)) -> Image:
    """A picture of one colour, which follows from a text."""
    value = zlib.crc32(text.encode())
    data = io.BytesIO()
    PIL.Image.new("RGB", size, (value % 200 + 20, value // 256 % 200 + 20, 99)).save(data, "PNG")
    return Image(data.getvalue(), "image/png")


class Squares:
    """Drawings of one colour each."""

    kind = Kind.ILLUSTRATED

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """A square whose colour follows from the picture's id."""
        return Stimulus(str(number), "square", dict(levels), lambda: (png(str(levels["image"])),), 1)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Nothing can be missing."""


def plan(faces: int = 8, cues: tuple[str, ...] = ("cap",), unit: str = "identity") -> PicturePlan:
    """Faces of two genders, each with some edits, and one edit of an edit."""
    rows: list[tuple[str, str | None, str, int, str, str, str | None]] = []
    for face in range(faces):
        gender = ("men", "women")[face % 2]
        rows.append((f"f{face}", None, f"One of the {gender}", face, f"f{face}", gender, None))
    for face in range(faces):
        for at, cue in enumerate(cues):
            gender = ("men", "women")[face % 2]
            source = f"f{face}" if at < 2 else f"f{face}/{cues[0]}"
            rows.append((f"f{face}/{cue}", source, f"Add a {cue}.", 100 + face, f"f{face}", gender, cue))
    names = ["image", "source", "prompt", "picture_seed", "identity", "gender", "cue"]
    return PicturePlan(
        table=pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None),
        unit=unit,
        groups=("gender",),
        drawn=Squares(),
    )


def plan_of_own(path: Path) -> PicturePlan:
    """A picture that exists, written to this file, and an edit of it."""
    path.write_bytes(png("own").data)
    rows = {
        "image": ["p", "p/cap"], "source": [None, "p"], "prompt": [None, "Add a cap."], "path": [str(path), None],
        "picture_seed": [0, 1], "identity": ["p", "p"],
    }  # fmt: skip
    return PicturePlan(table=pl.DataFrame(rows))


class Maker:
    """Makes pictures of one colour; `answer` may do otherwise. Counts what it was asked."""

    def __init__(
        self,
        answer: Callable[[PictureRequest], object] | None = None,
        *,
        ahead: int = 1,
        name: str = "maker",
        edits: bool = True,
        generates: bool = True,
        version: int = 1,
    ) -> None:
        self.name, self.version = name, version
        self.capabilities = GeneratorCapabilities(generates=generates, edits=edits, seeds=True)
        self.asked: list[PictureRequest] = []
        self._answer, self._ahead = answer, ahead

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Its version."""
        return {"version": self.version}

    def generate(self, requests: Iterable[PictureRequest]) -> Iterator[GeneratedPicture]:
        """Take so many requests ahead as it works on at once, and answer the last first."""
        taken: list[PictureRequest] = []
        for request in requests:
            taken.append(request)
            if len(taken) == self._ahead:
                while taken:
                    yield self._made(taken.pop())
        while taken:
            yield self._made(taken.pop())

    def close(self) -> None:
        """Nothing to let go of."""

    def _made(self, request: PictureRequest) -> GeneratedPicture:
        self.asked.append(request)
        if self._answer is not None and (answer := self._answer(request)) is not None:
            return answer  # type: ignore[return-value]
        source = "" if request.source is None else request.source.data.hex()
        image = png(f"{request.factors['image']} {request.prompt} {request.seed} {source}")
        return GeneratedPicture(request.number, Status.OK, image, seed=request.seed, latency_ms=1.0)
