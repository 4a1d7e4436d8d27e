"""Pictures of a study of one's own: the table [pictures] of its file, edited pictures, and public data sets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.generators.base import NULL_EDIT
from facevalue.printable import printable
from facevalue.protocol.declared_making import DeclaredMaking
from facevalue.protocol.making import IMAGE, PATH, SOURCE
from facevalue.protocol.settings import Options, Setting
from facevalue.protocol.side_by_side import Pairs
from facevalue.protocol.sources import kind_of, own_manifest, root_of, source_paths
from facevalue.protocol.stimuli import UNITS, WORKERS, DrawnSets, Folder, Listed, Portraits, Rows, Stimuli
from facevalue.protocol.study import LeftOut
from facevalue.protocol.toml_tables import TomlTable
from facevalue.statistics.sets import NO_PICTURE, OTHER_PATH, Sets
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.folders import Levels, PathPattern
from facevalue.stimuli.images import FileSource, content_hash
from facevalue.stimuli.manifest_rows import Column, Faults, Listing
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
        return self.complete_table(self._edits(options), Path(str(options["manifest"])).name)

    def complete_table(self, table: pl.DataFrame, place: str) -> pl.DataFrame:
        """The table of those that can be compared, and checked."""
        if self.base not in table[self.cue]:
            raise DataError(
                f"{place}: no {self.cue} is {self.base!r}, so there is no null edit to compare edits with. Have them "
                "made, too: facevalue make ... --null-edits."
            )
        return super().complete_table(table.filter(self._has_base(table)), place)

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
        faults.add_rows(f"an edited picture has no {self.cue}", is_edit & listed[self.cue].is_null(), listed[IMAGE])
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
        return self.complete_table(table.select(*first, *stated), self.name)

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
    from facevalue.stimuli.counterfactual_datasets import (  # noqa: PLC0415
        read_cultural_counterfactuals,
        read_social_counterfactuals,
    )
    from facevalue.stimuli.face_datasets import read_utkface  # noqa: PLC0415

    readers: dict[str, Callable[[Path], Listing]] = {
        "cultural-counterfactuals": read_cultural_counterfactuals,
        "social-counterfactuals": read_social_counterfactuals,
        "fairface": _read_fairface,
        "utkface": read_utkface,
    }
    return readers[name](folder)


def _read_fairface(folder: Path) -> Listing:
    from facevalue.stimuli.face_datasets import read_fairface  # noqa: PLC0415

    tables = [read_fairface(labels) for labels in sorted(folder.glob(_FAIRFACE))]
    if not tables:
        raise DataError(f"{folder}: holds no labels of FairFace, {_FAIRFACE}.")
    return Listing(pl.concat(tables))


KINDS = ("portraits", "sets", "manifest", "folder", "pairs", "edits", "data-set", "none")
_LISTED: Mapping[str, type[Listed]] = {"pairs": Pairs, "edits": Edits}
Placed = Callable[[TomlTable, str], str]
"""From a table and its key to the path that stands there, as seen from where the command runs."""


def stimuli_of(table: TomlTable, placed: Placed) -> Stimuli:
    """Stimuli that a study shows."""
    kind = table.text("kind")
    with table.place_errors("kind"):
        if kind not in KINDS:
            raise UnknownNameError("kind of pictures", kind, KINDS)
    with table.place_errors():
        if kind == "portraits":
            return _portraits(table)
        if kind == "sets":
            return _sets(table)
        if kind == "data-set":
            return _data_set(table, placed)
        pattern = table.text("pattern", "") if kind == "folder" else ""
        unit = table.text("unit", _usual_unit(kind, pattern))
        with table.place_errors("unit"):
            if unit not in UNITS:
                raise UnknownNameError("unit", unit, UNITS)
        cue, base = table.text("cue", ""), table.text("base", "")
        if kind == "none":
            table.check_keys("kind", "unit", "cue", "base", "rows")
            rows = [{name: row.text(name) for name in row} for row in table.tables("rows")]
            return Rows(rows, UNITS[unit], cue, base)
        of = table.text("of", Kind.UNSTATED.value)
        with table.place_errors("of"):
            if of not in [k.value for k in Kind]:
                raise UnknownNameError("what pictures are", of, [k.value for k in Kind])
        if kind == "folder":
            return _read_folder(table, UNITS[unit], of, placed)
        table.check_keys("kind", "unit", "cue", "base", "of", "manifest")
        stimuli, path = _LISTED.get(kind, Listed), placed(table, "manifest")
        if kind == "edits":
            cue, base = cue or CUE, base or NULL_EDIT
        with table.place_errors("cue" if cue else "base"):
            return stimuli(UNITS[unit], cue, base, path, of, table.key_place("manifest"))


def _usual_unit(kind: str, pattern: str) -> str:
    if kind in ("manifest", "edits", "none"):
        return "identity"
    return next((unit for unit in ("set", "identity") if f"{{{unit}}}" in pattern), "image") if pattern else "set"


def _portraits(table: TomlTable) -> Portraits:
    table.check_keys("kind", "people", "cues")
    with table.place_errors("people"):
        Portraits({}, table.text("people", "20"))
    cues = table.table("cues", needed=False)
    for name in cues:
        with cues.place_errors(name):  # so that what is wrong with a cue has its line
            Portraits({name: cues.names(name)})
    return Portraits({name: cues.names(name) for name in cues}, table.text("people", "20"))


def _sets(table: TomlTable) -> DrawnSets:
    table.check_keys("kind", "show", "sets")
    show, count = table.text("show", WORKERS), table.whole_number("sets", 20)
    with table.place_errors("show"):
        DrawnSets(show, 1)
    with table.place_errors("sets"):
        return DrawnSets(show, count)


def _data_set(table: TomlTable, placed: Placed) -> DataSet:
    table.check_keys("kind", "name", "path", "unit")
    name = table.text("name")
    with table.place_errors("name"):
        kind, unit = usual_pictures(name)
    if "unit" in table:
        with table.place_errors("unit"):
            if (key := table.text("unit")) not in UNITS:
                raise UnknownNameError("unit", key, UNITS)
        unit = UNITS[key]
    return DataSet(unit, kind=kind, name=name, path=placed(table, "path"))


def _read_folder(table: TomlTable, unit: str, of: str, placed: Placed) -> Folder:
    cue, pattern = table.text("cue", ""), table.text("pattern", "")
    if not pattern:
        table.check_keys("kind", "path", "cue", "base", "of", "pattern")
        if not cue:
            raise table.error("'cue' is missing: what the pictures of a set differ in, such as \"hat\".")
    table.check_keys("kind", "path", "cue", "base", "of", "pattern", "unit", "levels", "aliases")
    if pattern:
        with table.place_errors("pattern"):
            PathPattern(pattern, {})
    levels = _levels(table, pattern)
    with table.place_errors("unit" if "unit" in table else "pattern"):
        Folder(unit, "" if pattern else cue, pattern=pattern)
    with table.place_errors("cue"):
        base, path = table.text("base", ""), placed(table, "path")
        return Folder(unit, cue, base, kind=of, path=path, pattern=pattern, levels=levels)


def _levels(table: TomlTable, pattern: str) -> dict[str, Levels]:
    """Levels of fields with their other spellings; those without a list of levels may have others, too."""
    closed, aliases = table.table("levels", needed=False), table.table("aliases", needed=False)
    out = {}
    for name in dict.fromkeys([*closed, *aliases]):
        listed = closed.names(name) if name in closed else ()
        spelled = aliases.table(name, needed=False)
        for level in spelled:
            with spelled.place_errors(level):
                if listed and level not in listed:
                    raise UnknownNameError(f"level of {name}", level, listed)
        spellings = dict.fromkeys(listed, ()) | {level: spelled.names(level) for level in spelled}
        with aliases.place_errors(name) if name in aliases else closed.place_errors(name):
            out[name] = Levels(spellings, closed=bool(listed))
            PathPattern(pattern, {name: out[name]})
    return out


# Pictures that own studies have made: the table [make] of a file.


KEYS = ("prompt", "factor", "person", "edit", "cue", "sets", "draws", "seed", "null_edits", "sources")


def making_of(table: TomlTable, stimuli: Stimuli, placed: Placed) -> DeclaredMaking:
    """Pictures that a study has made.

    Raises
    ------
    DataError
        A mistake in the table, with its line; or a study that shows no pictures of a list.
    """
    table.check_keys(*KEYS)
    if not isinstance(stimuli, Listed) or isinstance(stimuli, Folder):
        raise table.error(
            '[make] is of pictures that a list names: kind = "manifest", "edits" or "pairs" in [pictures].'
        )
    unit = next(name for name, noun in UNITS.items() if noun == stimuli.unit)
    if unit == "template":
        raise table.error("[make] makes pictures of an identity, of a set, or each by itself: choose that as the unit.")
    factors, edits, people = (
        table.table("factor", needed=False),
        table.table("edit", needed=False),
        table.tables("person"),
    )
    places = {key: table.key_place(key) for key in table}
    places |= {name: factors.key_place(name) for name in factors} | {name: edits.key_place(name) for name in edits}
    places |= {f"person {number}": person.key_place() for number, person in enumerate(people, start=1)}
    places |= {name: people[0].key_place(name) for name in (people[0] if people else ())}
    with table.place_errors():
        return DeclaredMaking(
            prompt=table.text("prompt", ""),
            factors={name: _levels_of_making(factors.table(name)) for name in factors},
            people=[{name: person.text(name) for name in person} for person in people],
            edits={name: edits.text(name) for name in edits},
            sets=table.whole_number("sets", 1),
            draws=table.whole_number("draws", 1),
            seed=table.whole_number("seed", 1, low=0),
            null_edits=table.flag("null_edits", default=False),
            sources=placed(table, "sources"),
            unit=unit,
            cue=table.text("cue", stimuli.cue or "cue"),
            base="" if stimuli.base in (NO_PICTURE, NULL_EDIT) else stimuli.base,
            places=places,
        )


def _levels_of_making(factor: TomlTable) -> dict[str, str]:
    factor.check_keys("levels")
    return factor.texts("levels")
