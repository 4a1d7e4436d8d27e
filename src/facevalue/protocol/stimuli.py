"""Kinds of pictures: where the table of stimuli comes from, what its units are, and what shows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import polars as pl

from facevalue.errors import DataError, NoPicturesError, UnknownNameError
from facevalue.protocol import settings as given
from facevalue.protocol.settings import Options, Setting, face_counts
from facevalue.protocol.sources import files, own_manifest
from facevalue.protocol.study import LeftOut
from facevalue.statistics.sets import APART, NO_PICTURE, Sets
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.drawings.portraits import (
    CONTROL,
    FULL_BODY,
    PortraitSource,
    default_cache,
    draw_identities,
    portrait_manifest,
)
from facevalue.stimuli.folders import Levels, PathPattern, read_folder
from facevalue.stimuli.manifest import MAX_CELL, RESERVED
from facevalue.stimuli.manifest_rows import Column, Faults
from facevalue.stimuli.pairs import NoPicture
from facevalue.stimuli.portraits import ATTRIBUTES
from facevalue.types import OptionValue, Stimulus

# Base pictures: each unit has one that its others are compared with.


def check_bases(table: pl.DataFrame, column: str, is_base: pl.Expr, place: str, faults: Faults | None = None) -> None:
    """Refuse units with several bases, variations without any, and a table of bases alone."""
    faults = faults or Faults()
    base = table.select(is_base.fill_null(value=False)).to_series()
    units = table[column]
    bases = units.filter(base)
    twice = bases.filter(bases.is_duplicated()).unique()
    faults.add_rows(f"the {column} has more than one base picture", base & units.is_in(twice.implode()), units)
    faults.add_rows(f"the {column} has no base picture", ~base & ~units.is_in(bases.implode()), units)
    faults.check(place)
    if base.all():
        raise DataError(f"{place}: there are base pictures only, no variation: nothing is compared with them.")


# Bases without a picture: what is asked about a unit's pictures is asked once more with none beside the question.


def with_bare_bases(table: pl.DataFrame, key: str, cue: str) -> pl.DataFrame:
    """Add a row without a picture for each unit, with what all of its pictures have in common.

    Examples
    --------
    >>> pictures = pl.DataFrame({"image": ["a", "b"], "identity": ["1", "1"], "hat": ["cap", "bow"], "age": ["9", "9"]})
    >>> with_bare_bases(pictures, "identity", "hat").rows()[-1]
    ('1 (no picture)', '1', '(no picture)', '9')
    """
    if cue not in table.columns or table[key].null_count():
        return table  # refused where the table is checked
    if NO_PICTURE in table[cue]:
        raise DataError(f"A picture has {NO_PICTURE!r} as its {cue}: this stands for the question without any.")
    names = [name for name in table.columns if name not in (key, cue, "image", "path")]
    shared = [pl.when(pl.col(name).n_unique() == 1).then(pl.col(name).first()).alias(name) for name in names]
    bare = table.group_by(key, maintain_order=True).agg(shared).with_columns(
        pl.format("{} {}", key, pl.lit(NO_PICTURE)).alias("image"), pl.lit(NO_PICTURE).alias(cue)
    )  # fmt: skip
    return pl.concat([table, bare], how="diagonal")


class BareBases:
    """Shows pictures, and nothing for the bases without one."""

    def __init__(self, pictures: Source, table: pl.DataFrame, cue: str) -> None:
        self._pictures, self._cue = pictures, cue
        self._bare = set(table.filter(pl.col(cue) == NO_PICTURE)["image"])

    @property
    def kind(self) -> Kind:
        """Kind of the pictures."""
        return self._pictures.kind

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return the picture with these levels, or what shows none."""
        bare = levels.get("image") in self._bare
        return NoPicture().stimulus(number, levels) if bare else self._pictures.stimulus(number, levels)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Look at every picture that is shown."""
        rows = [row for row, image in enumerate(levels.get("image", [])) if image not in self._bare]
        if rows or "image" not in levels:
            self._pictures.check({name: [column[row] for row in rows] for name, column in levels.items()})


UNITS = {"identity": "identity", "set": "counterfactual set", "image": "image", "template": "template"}
"""Units that a study may sample, by the column that tells them apart."""
_MEANINGS = {
    "identity": "whose picture it is",
    "set": "pictures that differ in the cue alone have the same",
    "template": "what its question was written from: all rows made from one have the same",
}
MOST_ROWS = 10_000
SET_DRAWINGS = WORKERS, PORTRAITS = "workers", "portraits"
"""Contents of drawn sets."""
_FILES = (
    Setting("manifest", "The list of pictures: a CSV, JSONL or Parquet file.", ""),
    Setting("root", "The folder that image paths are relative to; that of the list by default.", ""),
    Setting("kind", "What the pictures are.", "unstated", tuple(kind.value for kind in Kind)),
)


class Stimuli(Protocol):
    """A kind of pictures.

    Examples
    --------
    >>> stimuli: Stimuli = Portraits(cues={})
    """

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Settings of the stimuli that the user may choose."""
        ...

    @property
    def unit(self) -> str:
        """Unit that was sampled, one of `clusters.UNITS`."""
        ...

    def table(self, options: Options) -> pl.DataFrame:
        """One row per stimulus, with `image`, the unit's column and the factors."""
        ...

    def left_out(self, options: Options) -> tuple[LeftOut, ...]:
        """Pictures that were asked for, or are at hand, and are not shown."""
        return ()

    def left_out_of(self, table: pl.DataFrame) -> tuple[LeftOut, ...]:
        """Pictures of a stored table that some estimates leave out."""
        return ()

    def with_paths(self, options: Options) -> dict[str, OptionValue]:
        """The settings with all paths spelled out."""
        return given.located(options, ("folder",), ("manifest",))

    def reason_not_shown(self, options: Options) -> str:
        """Reason why nothing of the table can be shown, so that it is only planned for; empty where it can."""
        return ""

    def group_words(self, table: pl.DataFrame) -> Mapping[str, str]:
        """Words that name each group, by which scorers are audited; empty for the wordings of factors' levels."""
        return {}

    def sets(self, table: pl.DataFrame) -> Sets:
        """The table as arrays."""
        ...

    def source(self, table: pl.DataFrame, options: Options) -> Source:
        """Source that shows the stimuli."""
        ...


@dataclass(frozen=True)
class Portraits(Stimuli):
    """Drawn faces, and each of them again with one thing changed.

    Attributes
    ----------
    cues:
        Values by attribute of the drawing (`ATTRIBUTES`): those of the other gender are left out for a face.
    people:
        How many, by default.

    Examples
    --------
    >>> portraits = Portraits(cues={"eyewear": ("sunglasses",)}, people="2")
    >>> portraits.table({"people": "2", "people_seed": 1}).height
    4
    """

    cues: Mapping[str, Sequence[str]]
    people: str = "20"
    unit: str = "identity"

    def __post_init__(self) -> None:
        face_counts(self.people)
        for name, values in self.cues.items():
            if name not in ATTRIBUTES:
                raise UnknownNameError("cue", name, ATTRIBUTES)
            for value in values:
                if value not in ATTRIBUTES[name].values:
                    raise UnknownNameError(f"value of {name}", value, ATTRIBUTES[name].values)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Settings of how many faces are drawn, and which."""
        return (
            Setting("people", "Faces to draw: a number to split evenly, or 12M,8F.", self.people),
            Setting("people_seed", "Which faces are drawn.", 1),
        )

    def table(self, options: Options) -> pl.DataFrame:
        """Base faces, their variations, and full-body bases where clothes are changed."""
        counts = face_counts(str(options["people"]))
        pairs = [(name, value) for name, values in self.cues.items() for value in values]
        changes = {gender: [pair for pair in pairs if gender in ATTRIBUTES[pair[0]].genders] for gender in counts}
        if pairs and not any(changes.values()):
            raise DataError(f"None of the cues is drawn on faces of {' and '.join(counts)} gender.")
        people = draw_identities(counts, given.whole(options, "people_seed", 0))
        return portrait_manifest(people, changes, control=any(name in FULL_BODY for name in self.cues))

    def sets(self, table: pl.DataFrame) -> Sets:
        """Faces are units; each variation is compared with its base."""
        cue = ("attribute", "variation") if self.cues else ()
        return Sets(table, self.unit, cue, None, CONTROL if cue else None, FULL_BODY)

    def source(self, table: pl.DataFrame, options: Options) -> Source:
        """Draws them when they are looked at."""
        return PortraitSource(table, default_cache())


@dataclass(frozen=True)
class DrawnSets(Stimuli):
    """Drawn counterfactual sets without a base, each a woman and a man in five versions.

    Attributes
    ----------
    show:
        "workers", in five skin tones and an occupation of the set, or "portraits", five looks of one skin tone.
    sets_drawn:
        How many, by default.

    Examples
    --------
    >>> workers = DrawnSets("workers")
    >>> workers.table({"sets": 3, "set_seed": 1}).columns
    ['image', 'identity', 'set', 'occupation', 'gender', 'skin_tone']
    """

    show: str = WORKERS
    sets_drawn: int = 20
    unit: str = "counterfactual set"

    def __post_init__(self) -> None:
        if self.show not in SET_DRAWINGS:
            raise UnknownNameError("what drawn sets show", self.show, SET_DRAWINGS)
        self.table({"sets": self.sets_drawn, "set_seed": 1})

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Settings of how many sets are drawn, and which."""
        return Setting("sets", "Sets to draw.", self.sets_drawn), Setting("set_seed", "Which sets are drawn.", 1)

    def table(self, options: Options) -> pl.DataFrame:
        """A row per picture."""
        from facevalue.stimuli.drawings.workers import portrait_sets, worker_sets  # noqa: PLC0415 - drawings take their time

        count, seed = given.whole(options, "sets", 1, MOST_ROWS // 10), given.whole(options, "set_seed", 0)
        listed = (worker_sets if self.show == WORKERS else portrait_sets)(count, seed).with_columns(identity="image")
        factors = [name for name in listed.columns if name not in APART and listed[name].null_count() < listed.height]
        return listed.select("image", "identity", "set", *factors)

    def sets(self, table: pl.DataFrame) -> Sets:
        """Sets are units, and nothing is a base."""
        return Sets(table, self.unit)

    def source(self, table: pl.DataFrame, options: Options) -> Source:
        """Draws them when they are looked at."""
        from facevalue.stimuli.drawings.workers import drawn_sets  # noqa: PLC0415

        return drawn_sets(table)


@dataclass(frozen=True)
class Listed(Stimuli):
    """The user's own pictures, one row each.

    Attributes
    ----------
    unit:
        One of `UNITS`' values.
    cue, base:
        Column of what differs within a unit, and its level that all others are compared with; `base` "" where the
        column is empty, "(no picture)" where a unit's pictures are compared with the question without any. No cue
        where nothing is compared so.
    manifest, root, kind:
        The file by default, the folder of its paths, what the pictures are.
    where:
        Place in a file that names the manifest, for people.
    made_by:
        Command that makes the pictures, for people; empty where nothing says what to make.

    Examples
    --------
    >>> [setting.name for setting in Listed(cue="attribute").settings]
    ['manifest', 'root', 'kind']
    """

    unit: str = "identity"
    cue: str = ""
    base: str = ""
    manifest: str = ""
    kind: str = "unstated"
    where: str = field(default="", compare=False, repr=False)
    made_by: str = field(default="", compare=False, repr=False)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Settings of the files' place, and of the kind of pictures."""
        manifest, root, kind = _FILES
        return replace(manifest, default=self.manifest, place=self.where), root, replace(kind, default=self.kind)

    def table(self, options: Options) -> pl.DataFrame:
        """The list of pictures."""
        if not options["manifest"]:
            then = f" Or make them first: {self.made_by}" if self.made_by else ""
            raise NoPicturesError(
                f"The study shows pictures of your own: say which with --manifest, or in its file.{then}"
            )
        return self.complete_table(own_manifest(options, self.columns), Path(str(options["manifest"])).name)

    def complete_table(self, table: pl.DataFrame, place: str) -> pl.DataFrame:
        """The table with bases without a picture where these are meant, and checked."""
        key = next(name for name, unit in UNITS.items() if unit == self.unit)
        bare = self.cue and self.base == NO_PICTURE
        return check_table(with_bare_bases(table, key, self.cue) if bare else table, self, place)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns that the list of pictures must have."""
        key = next(name for name, unit in UNITS.items() if unit == self.unit)
        needed = key in ("set", "template")
        out = [Column(key, _MEANINGS[key], needed=needed, filled=True, role="unit")] if key != "image" else []
        if self.cue:
            base = f"{self.base!r} in" if self.base else "empty for"
            meaning, base_level = f"what differs within the {UNITS[key]}; {base} the base picture", self.base
            if self.base == NO_PICTURE:
                meaning = f"what differs within the {UNITS[key]}, and is compared with the question without a picture"
                base_level = ""
            out.append(Column(self.cue, meaning, needed=True, filled=bool(self.base), role="cue", base=base_level))
        return tuple(out)

    def sets(self, table: pl.DataFrame) -> Sets:
        """Units, and what is compared with the base of each."""
        return Sets(table, self.unit, (self.cue,) if self.cue else (), self.base or None)

    def subject(self, table: pl.DataFrame) -> str:
        """Subject of the audit, where that is not the model that is asked about these pictures."""
        return ""

    def source(self, table: pl.DataFrame, options: Options) -> Source:
        """Shows the files as they are, and nothing for a base without a picture."""
        pictures = files()(table, options)
        return BareBases(pictures, table, self.cue) if self.cue and self.base == NO_PICTURE else pictures


@dataclass(frozen=True)
class Folder(Listed):
    """A folder of pictures whose paths say what they show.

    Attributes
    ----------
    path:
        The folder, by default.
    pattern:
        How paths are made (`stimuli.folders`); "" for counterfactual sets, a folder each with a picture per level.
    levels:
        Levels of fields of the pattern; a field without any holds any text.

    Examples
    --------
    >>> Folder(cue="hair", base="none").unit
    'counterfactual set'
    >>> Folder("image", pattern="{race}_{gender}/{n}").cue
    ''
    """

    unit: str = "counterfactual set"
    path: str = ""
    pattern: str = ""
    levels: Mapping[str, Levels] = field(default_factory=dict)

    def __post_init__(self) -> None:
        key = next(name for name, unit in UNITS.items() if unit == self.unit)
        form = PathPattern(self._pattern, self.levels)
        for name in (self.cue, key if key != "image" else ""):
            if name and name not in form.fields:
                raise UnknownNameError("field of the pattern", name, form.fields)

    @property
    def _pattern(self) -> str:
        return self.pattern or f"{{set}}/{{{self.cue}}}"

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Settings of the folder's place, and of the kind of pictures."""
        layout = self.pattern or "a folder per set, and in it a picture per level"
        return (
            Setting("folder", f"The folder with {layout}.", self.path),
            replace(_FILES[1], excludes=("folder",)),
            super().settings[2],
        )

    def table(self, options: Options) -> pl.DataFrame:
        """A row per picture."""
        folder = Path(str(options["folder"]))
        if not options["folder"] or not folder.is_dir():
            raise DataError(f"There is no folder {str(folder)!r} of pictures: name it with --folder.")
        # Of sets without a pattern, pictures that lie elsewhere were always passed over.
        table = read_folder(folder, [self._pattern], self.levels, strict=bool(self.pattern))
        return self.complete_table(table, str(folder))


@dataclass(frozen=True)
class Rows(Stimuli):
    """No pictures: each row fills the slots of the prompt.

    Attributes
    ----------
    rows:
        Levels by factor, all with the same factors.
    unit, cue, base:
        As of `Listed`.

    Examples
    --------
    >>> names = Rows(({"name": "Emily", "group": "women"}, {"name": "Greg", "group": "men"}))
    >>> names.table({}).height
    2
    """

    rows: Sequence[Mapping[str, str]]
    unit: str = "identity"
    cue: str = ""
    base: str = ""
    settings: tuple[Setting, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < len(self.rows) <= MOST_ROWS:
            raise DataError(f"A study without pictures has 1 to {MOST_ROWS:,} rows.")
        names = list(self.rows[0])
        for number, row in enumerate(self.rows, start=1):
            if set(row) != set(names) or not all(value.strip() for value in row.values()):
                raise DataError(f"Row {number} has other factors than the first ({', '.join(names)}), or an empty one.")
        taken = sorted(RESERVED.intersection(names) | {"image", "path"}.intersection(names))
        if taken:
            raise DataError(f"No factor can be called {taken[0]!r}, which is a column of the results.")

    def table(self, options: Options) -> pl.DataFrame:
        """A row each."""
        ids = [f"row {number + 1}" for number in range(len(self.rows))]
        frame = pl.DataFrame([{name: row[name][:MAX_CELL] for name in self.rows[0]} for row in self.rows])
        identity = frame["identity"] if "identity" in frame.columns else pl.Series(ids)
        apart = [name for name in frame.columns if name not in APART]
        columns = {"image": ids, "identity": identity, "set": frame["set"] if "set" in frame.columns else identity}
        return check_table(pl.DataFrame(columns).hstack(frame.select(apart)), self, "rows")

    def sets(self, table: pl.DataFrame) -> Sets:
        """Units, and what is compared with the base of each."""
        return Sets(table, self.unit, (self.cue,) if self.cue else (), self.base or None)

    def source(self, table: pl.DataFrame, options: Options) -> Source:
        """Shows nothing."""
        return NoPicture()


def check_table(table: pl.DataFrame, stimuli: "Listed | Rows", place: str) -> pl.DataFrame:
    """A table that has the units and bases that are declared."""
    column = next(name for name, unit in UNITS.items() if unit == stimuli.unit)
    if column not in table.columns:
        raise UnknownNameError("column of the pictures", column, [name for name in table.columns if name not in APART])
    if table[column].null_count():
        raise DataError(f"{table[column].null_count():,} rows have no {column!r}, which says what was sampled.")
    if not stimuli.cue:
        return table
    if stimuli.cue not in table.columns:
        raise UnknownNameError("column of the pictures", stimuli.cue, [n for n in table.columns if n not in APART])
    levels = table[stimuli.cue].drop_nulls().unique(maintain_order=True).to_list()
    if stimuli.base and stimuli.base not in levels:
        raise UnknownNameError(f"level of {stimuli.cue}", stimuli.base, levels)
    is_base = (pl.col(stimuli.cue) == stimuli.base) if stimuli.base else pl.col(stimuli.cue).is_null()
    if not stimuli.base and not table[stimuli.cue].null_count():
        raise DataError(
            f"{place}: no {stimuli.cue} is empty, so no row is a base. Say which level is: base = {levels[0]!r}, "
            "or one of the others."
        )
    check_bases(table, column, is_base, place)
    return table
