"""Pictures that exist already, in a folder by the ids of what is to be made: recorded, or bought elsewhere."""

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from facevalue.errors import DataError, ModelSpecError
from facevalue.generators.base import GeneratedPicture, GeneratorCapabilities, GeneratorOptions, PictureRequest
from facevalue.stimuli.base import Kind
from facevalue.stimuli.images import MAX_BYTES
from facevalue.stimuli.manifest import MEDIA_TYPES
from facevalue.types import Image, Status
from facevalue.untrusted_files import read_file


class ReplayedPictures:
    """Generator that gives the picture of a folder by name: `f1/cap` is `FOLDER/f1/cap.png`, or .jpg, .webp.

    One that is not there is an error of this picture alone: it is looked for again when the making is resumed.

    Parameters
    ----------
    spec:
        "replay/FOLDER".

    Raises
    ------
    ModelSpecError
        There is no such folder, or it is told what it does not take.
    """

    capabilities = GeneratorCapabilities(edits=True, kind=Kind.UNSTATED)

    def __init__(self, spec: str, options: GeneratorOptions) -> None:
        if options.settings or options.size:
            raise ModelSpecError(f"{spec} takes no settings and no size: its pictures are as they are.")
        options.check_elsewhere(spec)
        self.name = spec
        self._folder = Path(spec.partition("/")[2])
        if not self._folder.is_dir():
            raise ModelSpecError(f"There is no folder {self._folder} with pictures to replay.")
        self._root = self._folder.resolve()

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Digest of the names of its pictures: a folder of other ones is another generator."""
        names = sorted(
            path.relative_to(self._root).as_posix()
            for path in self._root.rglob("*")
            if path.suffix.lower() in MEDIA_TYPES and path.is_file()
        )
        return {"pictures": len(names), "names": hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]}

    def generate(self, requests: Iterable[PictureRequest]) -> Iterator[GeneratedPicture]:
        """Read one after the other."""
        for request in requests:
            started = time.perf_counter()
            try:
                image = self._read(str(request.factors.get("image")))
            except DataError as error:
                yield GeneratedPicture(request.number, Status.ERROR, error=str(error))
                continue
            latency = (time.perf_counter() - started) * 1000
            yield GeneratedPicture(request.number, Status.OK, image, latency_ms=latency)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _read(self, name: str) -> Image:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise DataError(f"{name}: leads out of the folder with the pictures.")
        for ending, kind in MEDIA_TYPES.items():
            path = self._root / f"{name}{ending}"
            try:
                is_below = path.is_file() and path.resolve().is_relative_to(self._root)
            except OSError as error:  # such as a name that is too long for a file
                raise DataError(f"{name}: {error.strerror}.") from None
            if is_below:
                return Image(read_file(path, MAX_BYTES, "picture"), kind)
        raise DataError(f"{self._folder} has no picture {name} ({', '.join(MEDIA_TYPES)}).")
