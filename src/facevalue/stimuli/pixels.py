"""Pixels of pictures: decoded alike for all, blank ones, colours as people see them, facts of files, look-alikes."""

import hashlib
import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from facevalue.errors import DataError
from facevalue.stimuli.images import FORMATS, ImageFiles, content_hash, read_header
from facevalue.types import Image, Stimulus

if TYPE_CHECKING:
    from PIL.Image import Image as Picture


_DEPTH = 24
"""Byte of a PNG file that holds its bits per channel."""


def open_picture(data: bytes, name: str) -> "Picture":
    """Return a picture as RGB, or as RGBA where it has alpha, with 8 bits a channel.

    It is upright as its EXIF says; of an animation it is the first frame.

    Raises
    ------
    DataError
        It is no picture, too large or damaged; `name` is what it is called in messages.
    """
    import PIL.Image  # noqa: PLC0415 - a study that is read opens no picture
    import PIL.ImageOps  # noqa: PLC0415

    read_header(data, name)
    try:
        with PIL.Image.open(io.BytesIO(data), formats=FORMATS) as image:
            return eight_bits(PIL.ImageOps.exif_transpose(image))
    except Exception as error:  # Pillow raises many kinds for damaged files
        raise DataError(f"{name}: the image is damaged ({type(error).__name__}).") from error


def picture_on_white(data: bytes, name: str) -> "Picture":
    """Return a picture as a model sees it: as RGB, transparency on white; errors as for `open_picture`."""
    return on_white(open_picture(data, name))


def on_white(image: "Picture") -> "Picture":
    """Return an RGB or RGBA picture as RGB, transparency on white."""
    import PIL.Image  # noqa: PLC0415

    if image.mode == "RGB":
        return image
    if image.getchannel("A").getextrema() == (255, 255):
        return image.convert("RGB")
    return PIL.Image.alpha_composite(PIL.Image.new("RGBA", image.size, "white"), image).convert("RGB")


def eight_bits(image: "Picture") -> "Picture":
    """Return a picture as RGB, or as RGBA where it has alpha, with 8 bits a channel."""
    if image.mode.startswith("I"):  # 16-bit grey, which Pillow would cut off at 255
        import PIL.Image  # noqa: PLC0415

        values, clear = np.asarray(image).clip(0, 2**16 - 1), image.info.get("transparency")
        grey = PIL.Image.fromarray((values >> 8).astype(np.uint8))
        if not isinstance(clear, int):
            return grey.convert("RGB")
        image = grey.convert("RGBA")
        image.putalpha(PIL.Image.fromarray(np.where(values == clear, 0, 255).astype(np.uint8)))
        return image
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def has_sixteen_bits(data: bytes) -> bool:
    """Return whether a file is a PNG with 16 bits a channel."""
    return data.startswith(b"\x89PNG\r\n\x1a\n") and data[_DEPTH : _DEPTH + 1] == b"\x10"


SIZE = 512
"""Width and height of a blank picture in place of one whose size cannot be told."""
MOST_SIDE = 4096
"""Largest side of a blank picture."""
NOTHING = "no picture"
"""Digest of a stimulus whose picture was taken away."""


WITHOUT = Stimulus("no picture", NOTHING, {}, tuple, 0)
"""A stimulus that shows nothing. It has no factors either: there is nothing to recognise them by."""


def blank_stimulus(plain: Stimulus) -> Stimulus:
    """The same stimulus with a white picture of the same size in place of each of its pictures.

    The plain picture is looked at only for its size, and only when the blank one is. The stimulus has no factors: there
    is nothing to recognise them by. One that shows nothing still shows nothing.
    """
    digest = hashlib.blake2b(f"blank\n{plain.digest}".encode(), digest_size=16).hexdigest()
    return Stimulus(f"blank {plain.key}", digest, {}, partial(_whites, plain))


def _whites(plain: Stimulus) -> tuple[Image, ...]:
    return tuple(Image(white(*_size(image)), "image/png") for image in plain.load())


def _size(image: Image) -> tuple[int, int]:
    try:
        header = read_header(image.data, "a picture")
    except DataError:
        return SIZE, SIZE
    return header.width, header.height


@lru_cache(maxsize=64)
def white(width: int, height: int) -> bytes:
    """A white PNG, its sides cut to `MOST_SIDE`."""
    import PIL.Image  # noqa: PLC0415

    buffer = io.BytesIO()
    size = min(width, MOST_SIDE), min(height, MOST_SIDE)
    PIL.Image.new("L", size, 255).convert("RGB").save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


Floats = npt.NDArray[np.float32]

_WHITE = np.array([0.95047, 1.0, 1.08883])  # D65, 2 degrees
_TO_XYZ = np.array(
    [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]
)  # sRGB's primaries (ITU-R BT.709)
_SHADES = np.arange(256) / 255
_LINEAR = np.where(_SHADES <= 0.04045, _SHADES / 12.92, ((_SHADES + 0.055) / 1.055) ** 2.4)
_PARTS = (_TO_XYZ / _WHITE[:, None])[:, :, None] * _LINEAR  # (XYZ, RGB, shade): what a shade adds, by the white


def lab(pixels: npt.NDArray[np.uint8]) -> Floats:
    """L*, a* and b* of pixels in sRGB, (..., 3), seen under D65 (IEC 61966-2-1, CIE 15).

    Examples
    --------
    >>> white, red = lab(np.array([[255, 255, 255], [255, 0, 0]], dtype=np.uint8)).round(1).tolist()
    >>> [round(value, 1) for value in red]
    [53.2, 80.1, 67.2]
    """
    parts = _PARTS.astype(np.float32)
    xyz = [sum(parts[axis, channel][pixels[..., channel]] for channel in range(3)) for axis in range(3)]
    x, y, z = (np.where(value > 0.008856, np.cbrt(value), 7.787 * value + 16 / 116) for value in xyz)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1).astype(np.float32)


def to_rgb(colours: npt.NDArray[np.floating]) -> npt.NDArray[np.uint8]:
    """Pixels in sRGB, the inverse of `lab`; what sRGB cannot show is shown as its nearest channels.

    Examples
    --------
    >>> to_rgb(lab(np.array([[12, 200, 99]], dtype=np.uint8))).tolist()
    [[12, 200, 99]]
    """
    y = (colours[..., 0] + 16) / 116
    roots = np.stack([y + colours[..., 1] / 500, y, y - colours[..., 2] / 200], axis=-1)
    xyz = np.where(roots > 0.008856 ** (1 / 3), roots**3, (roots - 16 / 116) / 7.787) * _WHITE
    linear = np.clip(xyz @ np.linalg.inv(_TO_XYZ).T, 0.0, 1.0)
    shades = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.rint(shades * 255).astype(np.uint8)


def typology_angle(lightness: float, yellowness: float) -> float:
    """Individual typology angle in degrees, of L* and b* (Chardon, Cretois and Hourseau 1991).

    Examples
    --------
    >>> typology_angle(50, 15), round(typology_angle(65, 15))
    (0.0, 45)
    """
    return float(np.degrees(np.arctan((lightness - 50) / max(yellowness, 1e-6))))


def hue(redness: float, yellowness: float) -> float:
    """Hue angle in degrees, of a* and b*.

    Examples
    --------
    >>> hue(0, 10)
    90.0
    """
    return float(np.degrees(np.arctan2(yellowness, redness)))


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
    import PIL.Image  # noqa: PLC0415

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


def _view(image: "Picture", facts: PictureFacts) -> "Picture":
    """A small view of the first frame, upright."""
    import PIL.Image  # noqa: PLC0415
    import PIL.ImageOps  # noqa: PLC0415

    image.draft("RGB", (4 * SIDE, 4 * SIDE))  # JPEG alone: decoded at a fraction of its size
    upright = PIL.ImageOps.exif_transpose(image) if facts.is_turned else image
    return eight_bits(upright).resize((SIDE, SIDE), PIL.Image.Resampling.HAMMING)


LARGEST = 3
"""Most that two views may differ in any place, of 255 shades of grey: what another compression or size does."""
_CANDIDATES = 8
_FLAT = 4
"""Shades between the darkest and the lightest place of a view that shows nothing."""


def difference_hash(views: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """Return which places of each view, 8 by 8, are lighter than those on their left, as 64 bits.

    Examples
    --------
    >>> shade = np.tile(np.arange(32, dtype=np.uint8) * 8, (1, 32, 1))
    >>> difference_hash(shade)[0] == np.uint64(2**64 - 1)
    np.True_
    """
    count, side = len(views), views.shape[1]
    edges = np.linspace(0, side, 10).astype(int)
    rows = views.reshape(count, 8, side // 8, side).mean(axis=2)
    columns = np.stack([rows[:, :, a:b].mean(axis=2) for a, b in pairwise(edges)], axis=2)
    bits = (np.diff(columns, axis=2) > 0).reshape(count, 64)
    packed = np.packbits(bits, axis=1)
    return packed.view(">u8").astype(np.uint64).reshape(count)


def lookalikes(views: npt.NDArray[np.uint8]) -> list[tuple[int, int]]:
    """Find pairs of pictures, (earlier, later), that look the same.

    Their hashes differ in one bit at most, and their views by at most `LARGEST` shades in any place; a picture without
    anything in it is like no other. Each is compared with a few at most of those with nearly its hash, so that time and
    memory grow as their number does.
    """
    if len(views) < 2:
        return []
    flat = views.reshape(len(views), -1)
    hashes = difference_hash(views)
    able = np.flatnonzero(flat.max(axis=1).astype(int) - flat.min(axis=1) > _FLAT)
    order = able[np.argsort(hashes[able], kind="stable")]
    ordered = hashes[order]
    places = np.empty(len(views), dtype=np.int64)
    places[order] = np.arange(order.size)
    pairs: set[tuple[int, int]] = set()
    for flip in (0, *(1 << bit for bit in range(64))):
        targets = hashes[able] ^ np.uint64(flip)
        first = np.searchsorted(ordered, targets, side="left") if flip else places[able] + 1
        past = np.searchsorted(ordered, targets, side="right")
        for step in range(_CANDIDATES):
            at = np.flatnonzero(first + step < past)
            if not at.size:
                break
            left, right = able[at], order[first[at] + step]
            same = _is_same(flat, left, right)
            left, right = left[same], right[same]
            pairs.update(zip(np.minimum(left, right).tolist(), np.maximum(left, right).tolist(), strict=True))
    return sorted(pairs)


def _is_same(
    flat: npt.NDArray[np.uint8], first: npt.NDArray[np.int64], second: npt.NDArray[np.int64], batch: int = 4096
) -> npt.NDArray[np.bool_]:
    out = np.zeros(first.size, dtype=np.bool_)
    for start in range(0, first.size, batch):
        left, right = (flat[of[start : start + batch]].astype(np.int16) for of in (first, second))
        out[start : start + batch] = np.abs(left - right).max(axis=1, initial=0) <= LARGEST
    return out
