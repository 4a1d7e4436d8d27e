"""Everything that a run would refuse of a manifest, and what it would take and should not: told at once, by row."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, FaceValueError
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.study import Study
from facevalue.runs.checks import check_pictures
from facevalue.runs.manifest_use import ManifestUse, use_of
from facevalue.runs.picture_warnings import warnings_of
from facevalue.stimuli.columns import FORM, Column, misspelled
from facevalue.stimuli.faults import Fault, Faults, ManifestError, PicturesError
from facevalue.stimuli.folders import nearest_file
from facevalue.stimuli.images import FileSource, image_files
from facevalue.stimuli.manifest import read_manifest
from facevalue.stimuli.persons import ListedPersons, persons_of
from facevalue.stimuli.picture_facts import facts_of
from facevalue.types import OptionValue

MOST_HINTS = 20
"""Missing files for which the nearest one is looked for."""
MOST_LEVELS = 10_000
"""Columns with more levels than this are not searched for two spellings of one."""


@dataclass
class CheckedManifest:
    """Faults and facts of a manifest that was checked."""

    pictures: int = 0
    persons: ListedPersons | None = None
    """How many it names, if the file could be read."""
    columns: list[str] = field(default_factory=list)
    """Its factors."""
    faults: list[Fault] = field(default_factory=list)
    """Why a run would refuse it."""
    warnings: list[Fault] = field(default_factory=list)
    """What a run would take, and people should know."""
    turned: list[str] = field(default_factory=list)
    """Paths of pictures that their EXIF turns."""
    use: ManifestUse | None = None
    """What the study would ask about them; None where it does not take the manifest, or none was named."""


def check_manifest(
    path: Path, protocol: Protocol | None = None, root: Path | None = None, *, pictures: bool = True
) -> CheckedManifest:
    """Read a manifest and its pictures as a run of the study with its usual settings does, or as any study would.

    `pictures`: whether they are looked at, too.
    """
    out = CheckedManifest()
    columns = protocol.columns() if protocol is not None else ()
    try:
        frame = read_manifest(path, root=root, columns=columns)
    except ManifestError as error:
        out.faults = list(error.faults)
        return out
    except DataError as error:
        out.faults = [Fault(str(error).rstrip("."))]
        return out
    out.pictures, out.persons = frame.height, persons_of(frame, columns)
    out.columns = frame.columns[4:]
    study = None
    if protocol is not None:
        try:
            study = study_of(protocol, path, root)
            out.use = use_of(study, frame, protocol)
            out.faults += _unused(out.use, protocol)
        except ManifestError as error:
            out.faults += error.faults
        except FaceValueError as error:
            out.faults += list(_empty(frame, columns)) or [Fault(str(error).rstrip("."))]
    question = out.persons.question if out.persons is not None else ""
    out.warnings = [*([Fault(question)] if question else []), *_columns(frame, columns), *_spellings(frame)]
    if out.use is not None and out.use.used:
        out.warnings += out.use.unused
    if pictures:
        place = root if root is not None else path.parent
        out.faults += _unshowable(frame, study, place)
        images = frame if study is None else study.manifest
        seen = facts_of(image_files(frame, place), frame["path"].to_list())
        out.warnings += warnings_of(frame, images, seen)
        out.turned = [path for path, facts in zip(frame["path"], seen.facts, strict=True) if facts.turned]
    return out


def _unused(use: ManifestUse, protocol: Protocol) -> Sequence[Fault]:
    """Why a study whose trials show none of the pictures is not the one that was meant."""
    return () if use.used else (Fault(f"{protocol.name} would ask about none of these pictures"), *use.unused)


def _empty(frame: pl.DataFrame, columns: Sequence[Column]) -> Iterator[Fault]:
    """Columns that the study needs and that hold nothing; or that none of its columns holds anything."""
    filled = {name for name in frame.columns if frame[name].null_count() < frame.height}
    for column in columns:
        if column.needed and column.name in frame.columns and column.name not in filled:
            yield Fault(f"the column {column.name!r} ({column.meaning}) is empty in all rows")
    factors = [column.name for column in columns if column.name not in FORM]
    if factors and filled.isdisjoint(factors) and not any(column.needed for column in columns):
        yield Fault(f"nothing says what the pictures show: fill in some of {', '.join(factors)}")


def _unshowable(frame: pl.DataFrame, study: Study | None, root: Path) -> list[Fault]:
    """Pictures that cannot be shown: those of the study, or all where there is none."""
    try:
        if study is not None:
            check_pictures(study)
        else:
            FileSource(frame, root).check({"image": frame["image"].to_list()})
    except PicturesError as error:
        return [*_elsewhere(frame, root), *_by_row(error.problems, frame, root)]
    except FaceValueError as error:
        return [Fault(str(error).rstrip("."))]
    return []


def study_of(protocol: Protocol, path: Path, root: Path | None = None) -> Study:
    """Make the study with its usual settings and a manifest, as a run does."""
    options: dict[str, OptionValue] = {"manifest": str(path), **({"root": str(root)} if root else {})}
    return protocol.study(options)


def _elsewhere(frame: pl.DataFrame, root: Path) -> Iterator[Fault]:
    """The folder that paths are meant from, if that is not the one that they are read from."""
    path = frame["path"][0]
    if (root / path).exists():
        return
    for folder in (Path(), root.parent):
        if folder.resolve() != root.resolve() and (folder / path).is_file():
            yield Fault(f"paths are read from {root}, and are meant from {folder}: add --root {folder}")
            return


def _by_row(problems: Mapping[str, str], frame: pl.DataFrame, root: Path) -> list[Fault]:
    """Pictures that cannot be shown, by what is wrong with them; those of pairs are known by their path."""
    faults, rest, hints, paths = Faults(), dict(problems), MOST_HINTS, frozenset(frame["path"])
    for number, (image, path) in enumerate(frame.select("image", "path").iter_rows(), start=1):
        wrong = rest.get(image) or rest.get(path)
        if wrong is not None:
            near = nearest_file(root, path, paths) if hints > 0 and not (root / path).exists() else ""
            hints -= bool(near)
            text = f"{path}; is {near} meant?" if near else path
            faults.add(wrong.removeprefix(f"{path}: ").rstrip("."), number, text)
    return faults.listed()


def _columns(frame: pl.DataFrame, columns: tuple[Column, ...]) -> Iterator[Fault]:
    for name, meant in misspelled(columns, frame.columns).items():
        yield Fault(f"the column {name!r} is read as a factor of its own; is {meant!r} meant?")
    names = [column.name for column in columns if column.name not in FORM]
    if names and not any(frame[name].null_count() < frame.height for name in frame.columns[4:]):
        yield Fault(f"no factors: pictures cannot be compared by anything. The study knows {', '.join(names)}")


def _spellings(frame: pl.DataFrame) -> Iterator[Fault]:
    """Levels that differ in case, blanks or the way in which their letters are stored."""
    for name in frame.columns:
        levels = [] if name in ("image", "path") else frame[name].drop_nulls().unique(maintain_order=True).to_list()
        spelled: dict[str, list[str]] = {}
        for level in levels[:MOST_LEVELS]:
            spelled.setdefault(" ".join(unicodedata.normalize("NFKC", level).casefold().split()), []).append(level)
        for same in spelled.values():
            if len(same) > 1:
                faults = Faults()
                written = " and ".join(map(repr, same))
                faults.where(
                    f"{name!r} has {written}, which count as different", frame[name].is_in(same[1:]), frame[name]
                )
                yield from faults.listed()
