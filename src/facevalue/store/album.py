"""Albums: pictures by the digest of their bytes, in a folder or in object storage, exactly as they came."""

import hashlib
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from facevalue.errors import DataError, RunError
from facevalue.stimuli.images import MAX_BYTES
from facevalue.store.files import PICTURES, make_folder, sync_folder, write_whole
from facevalue.store.objects import Objects
from facevalue.types import Image
from facevalue.untrusted_files import read_file

_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif"}

_AT_ONCE = 16
_NAMED = 1.0  # seconds after which names of pictures are forced to the disk, too: shards wait for longer


class PictureAlbum(Protocol):
    """Pictures by digest."""

    def put(self, image: Image, digest: str) -> None:
        """Keep a picture by the SHA-256 of its bytes; it is safe from a kill when this returns."""
        ...

    def sync(self) -> None:
        """Make all that was kept safe from a power cut."""
        ...

    def sizes(self) -> dict[str, int]:
        """Bytes of each picture that is there, by its path."""
        ...

    def get(self, digest: str, media_type: str) -> Image:
        """A picture that was kept.

        Raises
        ------
        RunError
            It is missing, or its bytes are not those that were kept.
        """
        ...


def path_of(digest: str, media_type: str) -> str:
    """Path of a picture, relative to what the album belongs to.

    Raises
    ------
    RunError
        There is no such digest or kind: what names it was not written by FaceValue.

    Examples
    --------
    >>> path_of("ab" * 32, "image/jpeg")[:18]
    'pictures/ab/ababab'
    """
    if not re.fullmatch("[0-9a-f]{64}", digest) or media_type not in _ENDINGS:
        raise RunError("A picture is named that no album can hold.")
    return f"{PICTURES}/{digest[:2]}/{digest}.{_ENDINGS[media_type]}"


class FolderAlbum:
    """Pictures in files below a folder.

    A picture's bytes are on the disk when `put` returns; its name is within a second, or with `sync`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: set[Path] = set()
        self._unnamed: set[Path] = set()
        self._synced = time.monotonic()

    def put(self, image: Image, digest: str) -> None:
        """Write a file aside and rename it, unless it is there; a kill leaves all of it or nothing."""
        path = self._folder / path_of(digest, image.media_type)
        if path.parent not in self._made:
            make_folder(path.parent)
            self._made.add(path.parent)
        size = path.stat().st_size if path.exists() else -1
        if size != len(image.data) or path.read_bytes() != image.data:
            write_whole(path, image.data, named=False)
            self._unnamed.add(path.parent)
        if time.monotonic() - self._synced > _NAMED:
            self.sync()

    def sync(self) -> None:
        """Force the names of all pictures to the disk, of several folders at a time, which disks do together."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(sync_folder, self._unnamed))
        self._unnamed.clear()
        self._synced = time.monotonic()

    def sizes(self) -> dict[str, int]:
        """Look at every file."""
        files = (self._folder / PICTURES).glob("??/*")
        return {path.relative_to(self._folder).as_posix(): path.stat().st_size for path in files}

    def get(self, digest: str, media_type: str) -> Image:
        """Read a file, and compare its digest."""
        path = self._folder / path_of(digest, media_type)
        if not path.is_file():
            raise RunError(f"{path} is missing.")
        try:
            data = read_file(path, MAX_BYTES, "picture")
        except DataError as error:
            raise RunError(str(error)) from None
        return _unchanged(data, digest, media_type, str(path))


class RemoteAlbum:
    """Pictures as objects under a URL."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def put(self, image: Image, digest: str) -> None:
        """Create an object; one that is there is written anew where it is damaged."""
        key = path_of(digest, image.media_type)
        if not self._objects.create(key, image.data):
            stored = self._objects.get(key)
            if stored is None or stored[0] != image.data:
                self._objects.overwrite(key, image.data)

    def sync(self) -> None:
        """Objects are safe as soon as they are written."""

    def sizes(self) -> dict[str, int]:
        """List them."""
        return {stored.key: stored.size for stored in self._objects.list(PICTURES)}

    def get(self, digest: str, media_type: str) -> Image:
        """Read an object, and compare its digest."""
        key = path_of(digest, media_type)
        place = self._objects.called(key)
        stored = self._objects.get(key, lambda data: _unchanged(data, digest, media_type, place))
        if stored is None:
            raise RunError(f"{place} is missing.")
        return Image(stored[0], media_type)


def album_at(place: Path | str) -> PictureAlbum:
    """The album of a folder or URL."""
    return RemoteAlbum(Objects.at(place, make=True)) if isinstance(place, str) else FolderAlbum(place)


def check_digest(data: bytes, digest: str, place: str) -> None:
    """Raise a `RunError` unless the bytes that lie at a place are those of the picture that was made."""
    if hashlib.sha256(data).hexdigest() != digest:
        raise RunError(f"{place} is not the picture that was made: its digest is another one.")


def _unchanged(data: bytes, digest: str, media_type: str, place: str) -> Image:
    check_digest(data, digest, place)
    return Image(data, media_type)
