"""Image files as stimuli: sent byte for byte, recognised by content, never outside their root."""

import hashlib
import io
import stat
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.base import Kind
from facevalue.stimuli.manifest import SHARD_ROW
from facevalue.stimuli.manifest_rows import PicturesError
from facevalue.types import Image, Stimulus

# Bounded cache of recent results, in memory.


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    r"""The values used last, up to so many bytes of them. Safe for several threads.

    >>> kept = Kept[str, bytes](limit=8)
    >>> for name in ("a", "b", "c"):
    ...     kept.put(name, bytes(4), 4)
    >>> kept.get("a"), kept.get("c"), kept.size
    (None, b'\x00\x00\x00\x00', 8)
    """

    def __init__(self, limit: int) -> None:
        self._most = limit
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()
        self._size = 0

    def __reduce__(self) -> tuple[type["Kept[K, V]"], tuple[int]]:
        """Pickle and copy the limit alone: values are made again, and a lock belongs to one process."""
        return type(self), (self._most,)

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return self._size

    def get(self, key: K) -> V | None:
        """Return a value and count it as used; None if it isn't there."""
        with self._lock:
            entry = self._values.get(key)
            if entry is None:
                return None
            self._values.move_to_end(key)
            return entry[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Keep a value of so many bytes, and let go of those used longest ago."""
        with self._lock:
            if size > self._most:
                return
            before = self._values.pop(key, None)
            self._size += size - (before[1] if before else 0)
            self._values[key] = (value, size)
            while self._size > self._most:
                _, (_, gone) = self._values.popitem(last=False)
                self._size -= gone


MAX_BYTES = 25 * 10**6
"""Largest image file."""
MAX_PIXELS = 50 * 10**6
"""Most pixels of an image."""

FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
"""Formats that are read, as Pillow calls them."""

_MEDIA_TYPES = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",
    "WEBP": "image/webp",
    "GIF": "image/gif",
}
_WORKERS = 8
_AT_ONCE = 4096
_BROUGHT: dict[Path, Callable[[str, Path], None]] = {}
_NOTED: ContextVar[set[tuple[Path, str]] | None] = ContextVar("_NOTED", default=None)


class Header(NamedTuple):
    """Header of an image file; sizes are in pixels."""

    media_type: str
    width: int
    height: int


def read_header(data: bytes, name: str) -> Header:
    """Return what an image is, told from its content; a `DataError` if it is none, truncated or too large."""
    import PIL.Image  # noqa: PLC0415 - a study that is read opens no picture

    try:
        with PIL.Image.open(io.BytesIO(data), formats=FORMATS) as image:
            width, height = image.size
            kind = _MEDIA_TYPES[image.format or ""]
            if width * height <= MAX_PIXELS:
                image.verify()
                if _cut_off(data, kind):
                    with PIL.Image.open(io.BytesIO(data), formats=FORMATS) as again:
                        again.load()
    except PIL.Image.DecompressionBombError as error:
        raise DataError(f"{name}: more than {MAX_PIXELS / 1e6:.0f} million pixels.") from error
    except Exception as error:  # Pillow raises many kinds for damaged files
        cut = "truncated" in str(error).lower()
        problem = (
            "breaks off before the end of the image" if cut else "not a PNG, JPEG, WebP or GIF image that can be read"
        )
        raise DataError(f"{name}: {problem}.") from error
    if width * height > MAX_PIXELS:
        raise DataError(f"{name}: {width} x {height}; an image has at most {MAX_PIXELS / 1e6:.0f} million pixels.")
    return Header(kind, width, height)


def _cut_off(data: bytes, kind: str) -> bool:
    """Return whether a file may be truncated: `verify` finds that in PNG and WebP alone, decoding settles it."""
    if kind == "image/jpeg":
        return data.rfind(b"\xff\xd9") < data.rfind(b"\xff\xda")  # no end of the image after the last scan
    return kind == "image/gif"


def media_type(data: bytes, name: str) -> str:
    """Return the MIME type of an image, told from its content; errors as for `read_header`."""
    return read_header(data, name).media_type


def content_hash(data: bytes) -> str:
    """Return the digest by which a file's content is known."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def bring_to(root: Path, bring: Callable[[str, Path], None]) -> None:
    """From now on have files that are not in a folder brought there when they are first looked for.

    `bring`: takes the name below the root and where the file shall lie; several threads may call it.
    """
    _BROUGHT[root.resolve()] = bring


@contextmanager
def noting() -> Iterator[set[tuple[Path, str]]]:
    """Have sources note which files they would look at, as (root, path in the manifest), instead of looking at any.

    `check` of a source is then told what is shown at no cost; a source that looks at each file once (`PairSource`) has
    to be new.
    """
    noted: set[tuple[Path, str]] = set()
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)


class ImageFiles:
    """The files that a manifest lists: found by image id, never outside their root, never larger than `MAX_BYTES`.

    The manifest has the columns `image` (unique id) and `path` (relative to `root`).
    """

    def __init__(self, manifest: pl.DataFrame, root: Path) -> None:
        missing = {"image", "path"}.difference(manifest.columns)
        if missing:
            raise DataError(f"The manifest lacks the column {min(missing)!r}; it has: {', '.join(manifest.columns)}.")
        self._root = root.resolve()
        self._paths: dict[str, str] = dict(manifest.select("image", "path").iter_rows())
        self._digests: dict[tuple[str, int, int], str] = {}

    def name(self, image: str | None) -> str:
        """Return the path of an image as the manifest has it."""
        if image is None or image not in self._paths:
            raise UnknownNameError("image", str(image), self._paths)
        return self._paths[image]

    def resolve(self, name: str) -> Path:
        """Return where a path of the manifest leads."""
        if not self._root.is_dir():
            raise DataError(f"{self._root}: is not a folder with images.")
        try:
            path = (self._root / name).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise DataError(f"{name}: cannot be read.") from error
        if not path.is_relative_to(self._root):
            raise DataError(f"{name}: leads out of the folder with the images.")
        if self._root in _BROUGHT and not path.exists():
            _BROUGHT[self._root](path.relative_to(self._root).as_posix(), path)
        return path

    def read(self, name: str) -> bytes:
        """Return the bytes of the file at a path of the manifest."""
        path, _, _ = self._stat(name)
        try:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise DataError(f"{name}: missing or not readable.") from error
        if len(data) > MAX_BYTES:
            raise DataError(f"{name}: an image file has at most {MAX_BYTES / 1e6:.0f} MB.")
        return data

    def digest(self, name: str) -> str:
        """Return the `content_hash` of a file, which is read again only if its size or time has changed."""
        key = (name, *self._stat(name)[1:])
        if key not in self._digests:
            self._digests[key] = content_hash(self.read(name))
        return self._digests[key]

    def read_unchanged(self, name: str, digest: str) -> bytes:
        """Return the bytes of a file that was known by this digest."""
        data = self.read(name)
        if content_hash(data) != digest:
            raise DataError(f"{name}: was changed while the run was going on. Start the command again.")
        return data

    def check(self, images: Sequence[str | None], look: Callable[[bytes, str], object]) -> None:
        """Let `look` see the bytes and path of each image; a `PicturesError` names those that cannot be shown."""
        if self._note_images(images):
            return
        problems: dict[str, str] = {}
        with ThreadPoolExecutor(_WORKERS) as pool:
            for start in range(0, len(images), _AT_ONCE):
                some = images[start : start + _AT_ONCE]
                problems_of_some = pool.map(partial(self._problem, look), some)
                problems.update(
                    (str(image), wrong) for image, wrong in zip(some, problems_of_some, strict=True) if wrong
                )
        if problems:
            raise PicturesError(problems)

    def _note_images(self, images: Sequence[str | None]) -> bool:
        """Note images instead of looking at them, where that is wanted (`noting`)."""
        noted = _NOTED.get()
        if noted is None:
            return False
        noted.update((self._root, self.name(image)) for image in images)
        return True

    def _problem(self, look: Callable[[bytes, str], object], image: str | None) -> str | None:
        try:
            name = self.name(image)
            look(self.read(name), name)
        except UnknownNameError:
            return f"{image}: not in the manifest"
        except DataError as error:
            return str(error)
        return None

    def _stat(self, name: str) -> tuple[Path, int, int]:
        path = self.resolve(name)
        try:
            status = path.stat()
        except (OSError, ValueError) as error:
            raise DataError(f"{name}: missing or not readable.") from error
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{name}: is not a file.")
        if status.st_size > MAX_BYTES:
            msg = f"{name}: {status.st_size / 1e6:,.0f} MB; an image file has at most {MAX_BYTES / 1e6:.0f} MB."
            raise DataError(msg)
        return path, status.st_size, status.st_mtime_ns


def image_files(manifest: pl.DataFrame, root: Path) -> ImageFiles:
    """Return the files that a manifest lists; where some are rows of Parquet shards, what reads these, too."""
    if "path" in manifest.columns and manifest["path"].str.contains(SHARD_ROW).any():
        from facevalue.stimuli.shards import ShardRows  # noqa: PLC0415 - pyarrow is slow to import

        return ShardRows(manifest, root)
    return ImageFiles(manifest, root)


class FileSource:
    """The images of a manifest.

    Files are shown byte for byte as they are: nothing is resized, recoded or turned. A camera's EXIF orientation is
    therefore left to the model's side, which may or may not heed it; turn such pictures beforehand.

    `manifest`: a frame with the columns `image` (unique id) and `path` (relative to `root`), as `read_manifest` returns
    it. `root`: the folder that holds the images. No path, and no link on it, may lead out of it. `kind`: what kind of
    pictures these are.

    Raises
    ------
    DataError
        The manifest lacks a column, or the root is no folder.
    """

    def __init__(self, manifest: pl.DataFrame, root: Path, kind: Kind = Kind.UNSTATED) -> None:
        self._files = image_files(manifest, root)
        self.kind = kind

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return the stimulus that shows the image `levels["image"]`.

        `number`: its number in the design; the stimulus' key. `levels`: factor levels, with the image's id under
        `image`.
        """
        name = self._files.name(levels.get("image"))
        digest = self._files.digest(name)
        return Stimulus(str(number), digest, levels, partial(self._load, name, digest))

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Look at every image that a run will show: it exists, its header can be read, and its size is in bounds."""
        images = list(dict.fromkeys(levels.get("image", [])))
        if not images:
            raise DataError("No images to check: the stimuli have no column 'image'.")
        self._files.check(images, read_header)

    def resolve(self, name: str) -> Path:
        """Return where a path of the manifest leads; a `DataError` if it leads out of the root."""
        return self._files.resolve(name)

    def _load(self, name: str, digest: str) -> tuple[Image, ...]:
        data = self._files.read_unchanged(name, digest)
        return (Image(data, media_type(data, name)),)
