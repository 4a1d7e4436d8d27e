"""Lists of pictures in object storage: brought into the cache, and each picture of them when it is first looked for."""

import hashlib
import re
import stat
from pathlib import Path, PurePosixPath

from facevalue.errors import DataError, RunError
from facevalue.places import cache_folder
from facevalue.stimuli.images import MAX_BYTES, bring_to
from facevalue.store.album import check_digest
from facevalue.store.files import STIMULI, make_folder, write_whole
from facevalue.store.objects import Objects, checked_url

_LISTS = (".csv", ".jsonl", ".parquet")
_DIGEST = re.compile("[0-9a-f]{64}")


def place_of_list(url: str) -> str:
    """The URL that a list lies under: that of the pictures that `make` put there, or of what holds the list itself.

    Examples
    --------
    >>> place_of_list("s3://bucket/made"), place_of_list("s3://bucket/faces/list.csv")
    ('s3://bucket/made', 's3://bucket/faces')
    """
    url = checked_url(url)
    return url.rpartition("/")[0] if _is_list(url) else url


def brought_list(url: str) -> Path:
    """Bring the list of pictures under a URL as it is now; the pictures it names are brought as they are looked for.

    Pictures that are called by the digest of their bytes, as `make` calls them, are brought once, others once a
    command.

    `url`: of a list (.csv, .jsonl or .parquet), or of pictures that `make` put into object storage.

    Raises
    ------
    DataError
        There is no such list.
    RunError, DependencyError
        The store cannot be read.
    """
    place = place_of_list(url)
    key = PurePosixPath(checked_url(url)).name if _is_list(url) else STIMULI
    objects = Objects.at(place)
    content = objects.get(key)
    if content is None:
        raise DataError(f"{place} holds no {key}: name the place of a make, or a list of pictures.")
    folder = _folder_of(objects.url)
    _forget(folder)
    write_whole(folder / key, content[0])
    _bring_pictures(objects, folder)
    return folder / key


def _forget(folder: Path) -> None:
    """Remove what another file may have taken the place of since; what is called by its digest stays, and `.` files."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith(".") and not _DIGEST.fullmatch(path.stem):
            path.unlink(missing_ok=True)


def _bring_pictures(objects: Objects, folder: Path) -> None:
    def bring(name: str, path: Path) -> None:
        try:
            picture = objects.get(name, lambda data: _check(data, name, objects))
        except RunError as error:  # of this picture alone
            raise DataError(str(error)) from None
        if picture is None:
            raise DataError(f"{name}: not under {objects.url}.")
        if len(picture[0]) > MAX_BYTES:
            raise DataError(f"{name}: an image file has at most {MAX_BYTES / 1e6:.0f} MB.")
        make_folder(path.parent)
        write_whole(path, picture[0])

    bring_to(folder, bring)


def _check(data: bytes, name: str, objects: Objects) -> None:
    """Compare a picture that is called by its digest, as those of `make` are, with that."""
    digest = PurePosixPath(name).stem
    if _DIGEST.fullmatch(digest):
        check_digest(data, digest, objects.called(name))


def cached_folder(kind: str, url: str, key: str) -> Path:
    """Where the copy of something under a URL lies on this machine: by its kind, and the digest of its key."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", url)[-60:].strip("-.")
    return cache_folder() / kind / f"{readable}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def make_private(folder: Path) -> None:
    """Make a folder of the cache, which may lie where others can read."""
    make_folder(folder)
    folder.parent.chmod(stat.S_IRWXU)


def _folder_of(url: str) -> Path:
    """Where the lists and pictures under a URL lie on this machine."""
    folder = cached_folder("pictures", url, url)
    make_private(folder)
    return folder


def _is_list(url: str) -> bool:
    return url.lower().endswith(_LISTS)
