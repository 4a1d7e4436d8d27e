"""Sources of a study's pictures: edited ones beside their originals, and public data sets that users keep."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.generators.base import NULL_EDIT
from facevalue.printable import printable
from facevalue.protocol.making import IMAGE, PATH, SOURCE
from facevalue.protocol.settings import Options, Setting
from facevalue.protocol.sources import kind_of, own_manifest, root_of, source_paths
from facevalue.protocol.stimuli import UNITS, Listed
from facevalue.protocol.study import LeftOut
from facevalue.statistics.sets import OTHER_PATH, Sets
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.columns import Column
from facevalue.stimuli.faults import Faults
from facevalue.stimuli.images import FileSource, content_hash
from facevalue.stimuli.sets import Listing
from facevalue.types import Image, Stimulus

# Edited pictures beside what they were edited from: two pictures a trial, the source first.


CUE = "cue"
"""Column of what was edited, by default."""
EDITOR = "editor"
"""Column that says who edited it."""
_LONGEST = 120  # characters of an editor's name


@dataclass(frozen=True)
class Edits(Listed):
    """Pictures that an editor made, each shown behind its source; those made of a text alone are sources, not shown.

    The base of a unit is its null edit, whose editor was told to change nothing: what an edit does is compared with
    that, and not with the source itself. Units without one are left out.

    Examples
    --------
    >>> Edits().base
    'no change'
    """

    cue: str = CUE
    base: str = NULL_EDIT

    def __post_init__(self) -> None:
        if not self.base:
            raise DataError("Edits are compared with a null edit: name its level of the cue as the base.")

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Settings of the files' place, and of the column that says what was edited."""
        return *super().settings, Setting("cue", "The column that says what was edited.", self.cue)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns that the list of pictures must have."""
        cue = Column(
            self.cue, f"what was edited; {self.base!r} for a null edit", needed=True, role="cue", base=self.base
        )
        source = Column(SOURCE, "the picture that it was edited from, by its id; empty if none", needed=True)
        editor = Column(EDITOR, "who edited it; what the audit is called by")
        return *(column for column in super().columns if column.name != self.cue), cue, source, editor

    def table(self, options: Options) -> pl.DataFrame:
        """A row per edited picture, of units that have a null edit."""
        return self.completed(self._edits(options), Path(str(options["manifest"])).name)

    def completed(self, table: pl.DataFrame, place: str) -> pl.DataFrame:
        """The table of those that can be compared, and checked."""
        if self.base not in table[self.cue]:
            raise DataError(
                f"{place}: no {self.cue} is {self.base!r}, so there is no null edit to compare edits with. Have them "
                "made, too: facevalue make ... --null-edits."
            )
        return super().completed(table.filter(self._has_base(table)), place)

    def left_out(self, options: Options) -> tuple[LeftOut, ...]:
        """Units without a null edit."""
        table = self._edits(options)
        lacking = table.filter(~self._has_base(table))[self._key].n_unique()
        return (LeftOut(f"{lacking:,} of {table[self._key].n_unique():,} {self._key}", _NO_BASE),) if lacking else ()

    def subject(self, table: pl.DataFrame) -> str:
        """The editor, as the manifest that `make` wrote names it; empty where it names none, or several."""
        names = table[EDITOR].drop_nulls().unique().to_list() if EDITOR in table.columns else []
        return printable(str(names[0]))[:_LONGEST] if len(names) == 1 else ""

    def sets(self, table: pl.DataFrame) -> Sets:
        """Units, and the null edit of each as its base."""
        return Sets(table, self.unit, (self.cue,), self.base)

    def source(self, table: pl.DataFrame, options: Options) -> Source:
        """Shows a source, then what was edited from it."""
        return BesideSource(table, root_of(options), kind_of(options, Kind.UNSTATED))

    @property
    def _key(self) -> str:
        return next(name for name, unit in UNITS.items() if unit == self.unit)

    def _has_base(self, table: pl.DataFrame) -> pl.Expr:
        units = table.filter(pl.col(self.cue) == self.base)[self._key].unique()
        return pl.col(self._key).is_in(units.implode())

    def _edits(self, options: Options) -> pl.DataFrame:
        """Edited pictures in the list of pictures, each with the path of its source."""
        cue = str(options["cue"])
        listed = (
            own_manifest(options, replace(self, cue=cue).columns) if options["manifest"] else super().table(options)
        )
        if cue != self.cue:
            if self.cue in listed.columns:
                raise DataError(
                    f"The list of pictures has a column {self.cue!r} already: rename it, or leave out --cue."
                )
            listed = listed.rename({cue: self.cue})
        faults, place = Faults(), Path(str(options["manifest"])).name
        is_edit, paths = listed[SOURCE].is_not_null(), source_paths(listed, faults)
        faults.where(f"an edited picture has no {self.cue}", is_edit & listed[self.cue].is_null(), listed[IMAGE])
        faults.check(place)
        if not is_edit.any():
            raise DataError(f"{place}: no picture has a source: none was edited from another.")
        return listed.with_columns(paths).filter(is_edit).drop(SOURCE)


_NO_BASE = "It has no null edit, so there is nothing to compare its edits with: the editor refused it, or it failed."


class BesideSource:
    """Shows the file `other_path` of a table, then `path`, for each picture that `image` names."""

    def __init__(self, table: pl.DataFrame, root: Path, kind: Kind) -> None:
        self.kind = kind
        self._edits = FileSource(table, root, kind)
        self._sources = FileSource(table.select(IMAGE, pl.col(OTHER_PATH).alias(PATH)), root, kind)

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return the source and the edited picture with these levels."""
        first, second = (source.stimulus(number, levels) for source in (self._sources, self._edits))

        def load() -> tuple[Image, ...]:
            return (*first.load(), *second.load())

        return Stimulus(str(number), content_hash(f"{first.digest} {second.digest}".encode()), levels, load, 2)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Look at every picture that a run will show."""
        for source in (self._sources, self._edits):
            source.check(levels)


# Public data sets as pictures of own studies, read from the folder where the user keeps them.


DATA_SETS = {
    "cultural-counterfactuals": (Kind.SYNTHETIC, "set"),
    "social-counterfactuals": (Kind.SYNTHETIC, "set"),
    "fairface": (Kind.PHOTOGRAPHS, "image"),
    "utkface": (Kind.PHOTOGRAPHS, "image"),
}
"""Data sets, each with what its pictures are, and the unit that tells them apart."""
_FAIRFACE = "fairface_label_*.csv"


@dataclass(frozen=True)
class DataSet(Listed):
    """A public data set, as its authors publish it.

    Attributes
    ----------
    name:
        One of `DATA_SETS`.
    path:
        Its folder, by default.

    Examples
    --------
    >>> DataSet("image", name="utkface").settings[0].help
    'The folder of utkface.'
    """

    name: str = ""
    path: str = ""

    def __post_init__(self) -> None:
        if self.name not in DATA_SETS:
            raise UnknownNameError("data set", self.name, DATA_SETS)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Settings of the data set's place, and of the kind of its pictures."""
        _, root, kind = super().settings
        return Setting("folder", f"The folder of {self.name}.", self.path), replace(root, excludes=("folder",)), kind

    def table(self, options: Options) -> pl.DataFrame:
        """A row per picture, with the attributes that the data set states of any."""
        table = _listing(self.name, _folder(options)).table
        if "identity" not in table.columns:  # who is on two pictures is not known
            table = table.with_columns(identity="image")
        first = ("image", "path", "identity", "set")
        stated = [c for c in table.columns if c not in first and table[c].null_count() < table.height]
        return self.completed(table.select(*first, *stated), self.name)

    def left_out(self, options: Options) -> tuple[LeftOut, ...]:
        """Pictures of the data set that are not shown."""
        return tuple(LeftOut(*omission) for omission in _listing(self.name, _folder(options)).left_out)


def usual_pictures(name: str) -> tuple[str, str]:
    """Kind of the pictures of a data set, and its unit."""
    if name not in DATA_SETS:
        raise UnknownNameError("data set", name, DATA_SETS)
    kind, unit = DATA_SETS[name]
    return kind.value, UNITS[unit]


def _folder(options: Options) -> Path:
    folder = Path(str(options["folder"]))
    if not options["folder"] or not folder.is_dir():
        raise DataError(f"There is no folder {str(folder)!r} of pictures: name it with --folder.")
    return folder


@lru_cache(maxsize=1)
def _listing(name: str, folder: Path) -> Listing:
    from facevalue.stimuli.cultural_counterfactuals import read_cultural_counterfactuals  # noqa: PLC0415 - pyarrow
    from facevalue.stimuli.social_counterfactuals import read_social_counterfactuals  # noqa: PLC0415
    from facevalue.stimuli.utkface import read_utkface  # noqa: PLC0415

    readers: dict[str, Callable[[Path], Listing]] = {
        "cultural-counterfactuals": read_cultural_counterfactuals,
        "social-counterfactuals": read_social_counterfactuals,
        "fairface": _read_fairface,
        "utkface": read_utkface,
    }
    return readers[name](folder)


def _read_fairface(folder: Path) -> Listing:
    from facevalue.stimuli.fairface import read_fairface  # noqa: PLC0415

    tables = [read_fairface(labels) for labels in sorted(folder.glob(_FAIRFACE))]
    if not tables:
        raise DataError(f"{folder}: holds no labels of FairFace, {_FAIRFACE}.")
    return Listing(pl.concat(tables))
