"""Facts of picture files that a list of them cannot tell: size, colours, turn, movement, and a small view of each."""

import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import PIL.Image
import PIL.ImageOps

from facevalue.errors import DataError
from facevalue.stimuli.decoding import eight_bits, has_sixteen_bits, on_white
from facevalue.stimuli.images import FORMATS, ImageFiles, content_hash, read_header

SIDE = 32
"""Side of the small view of a picture, in pixels."""
MOST_VIEWS = 200_000
"""Pictures of which a view is kept, a kilobyte each; of more, none is."""
_ORIENTATION = 0x0112
_WORKERS = 2  # each may hold a picture of 50 million pixels
_UPRIGHT = 1
_AT_ONCE = 1024


class PictureFacts(NamedTuple):
    """Facts of one picture; of one that cannot be shown `problem` alone, which says why."""

    digest: int = 0
    width: int = 0
    height: int = 0
    mode: str = ""
    turn: int = _UPRIGHT
    moves: bool = False
    deep: bool = False
    """Whether it has 16 bits a channel."""
    clear: bool = False
    """Whether it is transparent in places, as far as its view shows."""
    problem: str = ""

    @property
    def is_turned(self) -> bool:
        """True if its EXIF says that it is to be turned before it is looked at."""
        return self.turn != _UPRIGHT


@dataclass(frozen=True)
class ManyFacts:
    """Facts of pictures in the order in which they were asked for, and their views: (pictures, SIDE, SIDE), grey."""

    facts: tuple[PictureFacts, ...]
    views: npt.NDArray[np.uint8]


def facts_of(files: ImageFiles, paths: Sequence[str]) -> ManyFacts:
    """Read each picture once, within the bounds of all that is shown; what cannot be read is no error here.

    `views` has no rows where there are more than `MOST_VIEWS` pictures.
    """
    with_views = len(paths) <= MOST_VIEWS
    views = np.zeros((len(paths) if with_views else 0, SIDE, SIDE), dtype=np.uint8)
    facts: list[PictureFacts] = []
    with ThreadPoolExecutor(_WORKERS) as pool:
        for start in range(0, len(paths), _AT_ONCE):
            some = pool.map(partial(_looked_at, files, with_views), paths[start : start + _AT_ONCE])
            for row, (fact, view) in enumerate(some, start):
                facts.append(fact)
                if view is not None:
                    views[row] = view
    return ManyFacts(tuple(facts), views)


def _looked_at(files: ImageFiles, with_view: bool, path: str) -> tuple[PictureFacts, npt.NDArray[np.uint8] | None]:
    try:
        data = files.read(path)
        read_header(data, path)
    except DataError as error:
        return PictureFacts(problem=str(error).removeprefix(f"{path}: ").rstrip(".")), None
    digest = int(content_hash(data)[:16], 16) or 1
    try:
        with PIL.Image.open(io.BytesIO(data), formats=FORMATS) as image:
            turn = image.getexif().get(_ORIENTATION, _UPRIGHT)
            moves = bool(getattr(image, "is_animated", False)) and image.format != "MPO"
            turn = turn if turn in range(_UPRIGHT, 9) else _UPRIGHT
            facts = PictureFacts(digest, *image.size, image.mode, turn, moves, has_sixteen_bits(data))
            if not with_view:
                return facts, None
            view = _view(image, facts)
            clear = view.mode == "RGBA" and view.getchannel("A").getextrema() != (255, 255)
            return facts._replace(clear=clear), np.asarray(on_white(view).convert("L"))
    except Exception as error:  # Pillow raises many kinds for damaged files
        return PictureFacts(digest, problem=f"is damaged ({type(error).__name__})"), None


def _view(image: PIL.Image.Image, facts: PictureFacts) -> PIL.Image.Image:
    """A small view of the first frame, upright."""
    image.draft("RGB", (4 * SIDE, 4 * SIDE))  # JPEG alone: decoded at a fraction of its size
    upright = PIL.ImageOps.exif_transpose(image) if facts.is_turned else image
    return eight_bits(upright).resize((SIDE, SIDE), PIL.Image.Resampling.HAMMING)
