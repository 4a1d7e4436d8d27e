"""Runs and pictures that were made, brought from object storage into a folder of the user's."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from facevalue.errors import RunError
from facevalue.places import MAKING_FOLDER
from facevalue.protocol.making_study import MAKING
from facevalue.runs.audits.folder import check_one_run
from facevalue.runs.makings.data_statement import FILE as CROISSANT
from facevalue.runs.makings.records import stored_records
from facevalue.runs.storage.mirror import copy_run, mirror_run
from facevalue.store.album import FolderAlbum, album_at, path_of
from facevalue.store.files import PICTURES, STIMULI, make_folder, write_whole
from facevalue.store.objects import Objects
from facevalue.store.remote import run_under

_AT_ONCE = 16
_LISTS = (STIMULI, CROISSANT)


def fetch_run(url: str, folder: Path) -> int:
    """Bring a run into a new folder; of a making its pictures and their list, too. Returns how many pictures.

    What was cut short goes on with the pictures that are missing.

    Raises
    ------
    RunError
        There is no run, something else lies in the folder, or a picture is missing or damaged.
    """
    try:
        objects, run = run_under(url)
    except RunError:
        check_one_run(url)
        raise
    if run.study != MAKING:
        copy_run(url, folder)
        return 0
    if folder.exists() and any(path.name != PICTURES for path in folder.iterdir()):
        raise RunError(f"{folder} is not empty: name a new folder.")
    place = objects.url.removesuffix(f"/{MAKING_FOLDER}")
    count = _bring_pictures(place, mirror_run(objects.url), folder)
    copy_run(objects.url, folder / MAKING_FOLDER)
    around = Objects.at(place)
    for name in _LISTS:
        if (content := around.get(name)) is not None:
            write_whole(folder / name, content[0])
    return count


def _bring_pictures(place: str, making: Path, folder: Path) -> int:
    """Bring the pictures that a making's records name, but for those that are there."""
    make_folder(folder)
    remote, local = album_at(place), FolderAlbum(folder)
    sizes = local.sizes()
    pictures = {
        (digest, kind): size
        for status, digest, kind, size in stored_records(making)
        .select("status", "picture", "media_type", "bytes")
        .iter_rows()
        if status == "ok"
    }
    missing = [key for key, size in pictures.items() if sizes.get(path_of(*key)) != size]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for start in range(0, len(missing), 4 * _AT_ONCE):  # few in memory
            some = missing[start : start + 4 * _AT_ONCE]
            for (digest, _), image in zip(some, pool.map(lambda key: remote.get(*key), some), strict=True):
                local.put(image, digest)
    local.sync()
    return len(pictures)
