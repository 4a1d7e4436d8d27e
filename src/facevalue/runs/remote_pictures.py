"""Pictures of the user's own beside a run in object storage: put there once, brought to where they are looked at."""

import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from facevalue.errors import DataError
from facevalue.protocol.study import Study
from facevalue.runs.requests import Index, stimulus_columns
from facevalue.stimuli.images import ImageFiles, bring_to
from facevalue.store.files import PICTURES, ROOTS, make_folder, write_whole
from facevalue.store.objects import Objects
from facevalue.types import OptionValue

_AT_ONCE = 8


def own_roots(options: Mapping[str, OptionValue]) -> list[str]:
    """The options that say where the user's own pictures lie."""
    return [name for name in ROOTS if options.get(name)]


def own_folder(options: Mapping[str, OptionValue]) -> Path | None:
    """The folder of the user's own pictures; None where options name none."""
    return next((Path(str(options[name])) for name in own_roots(options)), None)


def put_pictures(study: Study, objects: Objects) -> int:
    """Put the pictures of a study's table beside the run, those that are not there yet; return how many."""
    roots = [Path(str(study.options[name])) for name in own_roots(study.options)]
    if not roots or "path" not in study.manifest.columns:
        return 0
    stored = {listed.key for listed in objects.list(PICTURES)}
    names = study.manifest["path"].drop_nulls().str.replace(r"#\d+$", "").unique(maintain_order=True)
    missing = [name for name in names if key_of(name) not in stored]

    def put(name: str) -> None:
        path = _find_picture(study, roots, name)
        try:
            objects.create(key_of(name), path.read_bytes())
        except OSError as error:
            raise DataError(f"{name} cannot be read: {error.strerror or error}.") from None

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(put, missing):
            pass
    return len(missing)


def pictures_at(objects: Objects, folder: Path) -> Path:
    """A folder into which each picture is brought when it is first looked for."""
    make_folder(folder)

    def bring(name: str, path: Path) -> None:
        picture = objects.get(key_of(name))
        if picture is None:
            raise DataError(f"{name}: not among the pictures of {objects.url}.")
        make_folder(path.parent)
        write_whole(path, picture[0])

    bring_to(folder, bring)
    return folder


def look_ahead(study: Study, trials: Index) -> None:
    """Have the pictures of some trials brought, several at once; what fails is told when it is shown."""
    design = study.design
    numbers = design.stimulus_numbers(trials)
    firsts = dict(zip(numbers.tolist(), trials.tolist(), strict=True))
    rows = design.trials(list(firsts.values())).select(stimulus_columns(study)).to_dicts()

    def look(number: int, levels: Mapping[str, str | None]) -> None:
        try:
            study.source.stimulus(number, levels)
        except DataError:
            return

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(look, firsts, rows):
            pass


def key_of(name: str) -> str:
    """Key of a picture: names of files may hold what keys may not.

    Examples
    --------
    >>> key_of("women/1 (2).png")
    'pictures/c658f8b2d9079dd57bf29765e5dfd2f1.png'
    """
    return f"{PICTURES}/{hashlib.sha256(name.encode()).hexdigest()[:32]}{PurePosixPath(name).suffix.lower()}"


def _find_picture(study: Study, roots: list[Path], name: str) -> Path:
    """Path of a picture in the first of the folders that has it; never outside."""
    for root in roots:
        path = ImageFiles(study.manifest, root).resolve(name)
        if path.is_file():
            return path
    raise DataError(f"{name}: missing or not readable.")
