"""Rows of a manifest: their columns, faults, levels, sets and persons."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

import polars as pl

from facevalue.errors import DataError, UnknownNameError

KEPT = 1_000
"""Most rows kept of each kind of fault."""
SHOWN_FAULTS = 5
"""Most rows of each kind, and most pictures, that an error names."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault, and where it is."""

    what: str
    """For people."""
    rows: tuple[tuple[int, str], ...] = ()
    """The first `KEPT` rows, counted from 1 below the header, and what stands there; none where it is the whole file.
    """
    count: int = 0
    """Number of rows."""

    def __str__(self) -> str:
        if not self.rows:
            return self.what
        listed = ", ".join(f"row {row} ({text})" if text else f"row {row}" for row, text in self.rows[:SHOWN_FAULTS])
        more = f" and {self.count - SHOWN_FAULTS:,} more" if self.count > SHOWN_FAULTS else ""
        return f"{self.what}: {listed}{more}"


class ManifestError(DataError):
    """Error that names all that is wrong with a manifest."""

    def __init__(self, place: str, faults: Sequence[Fault]) -> None:
        self.where, self.faults = place, tuple(faults)
        super().__init__(f"{place}: {'; '.join(str(fault).rstrip('.') for fault in faults)}.")


class PicturesError(DataError):
    """Error that names all that is wrong with the pictures of a manifest, by image."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        listed = "; ".join(problem.rstrip(".") for problem in list(self.problems.values())[:SHOWN_FAULTS])
        count = len(self.problems)
        more = f"; and {count - SHOWN_FAULTS:,} more" if count > SHOWN_FAULTS else ""
        super().__init__(f"{count:,} {'image' if count == 1 else 'images'} cannot be shown: {listed}{more}.")


class Faults:
    """Collects faults by kind."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[int, str]]] = {}
        self._counts: dict[str, int] = {}

    def add(self, fault: str, row: int, text: str = "") -> None:
        """Add a row, counted from 1."""
        rows = self._rows.setdefault(fault, [])
        if len(rows) < KEPT:
            rows.append((row, text))
        self._counts[fault] = self._counts.get(fault, 0) + 1

    def add_rows(self, fault: str, mask: pl.Series, texts: pl.Series | None = None) -> None:
        """Add the rows at which a mask is true."""
        positions = mask.fill_null(value=False).arg_true()
        if not len(positions):
            return
        first = positions[:KEPT]
        values: Iterable[object] = [""] * len(first) if texts is None else texts.gather(first).to_list()
        self._rows.setdefault(fault, []).extend(
            (int(row) + 1, "" if text is None else str(text)) for row, text in zip(first, values, strict=True)
        )
        self._counts[fault] = self._counts.get(fault, 0) + len(positions)

    def list_faults(self) -> list[Fault]:
        """Faults that were collected."""
        return [Fault(fault, tuple(rows), self._counts[fault]) for fault, rows in self._rows.items()]

    def check(self, place: str) -> None:
        """Raise a `ManifestError` if there are any."""
        if self._rows:
            raise ManifestError(place, self.list_faults())


PLACES = ("image", "path")
PUBLIC = "public"
"""Column that says whether a picture may be shown to anybody: yes, no or empty. It is no factor."""
FORM = ("image", "path", "id", "identity", "set", PUBLIC)
"""Columns that mean the same in every study."""


def _nothing(_: Mapping[str, str]) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a manifest that a study reads.

    Attributes
    ----------
    name, meaning:
        As in the file; for people.
    needed:
        Whether a manifest must have it.
    filled:
        Whether no cell of it may be empty.
    instead:
        Columns that may all stand in its place.
    role:
        "unit" for what pictures are grouped by, "cue" for what differs within a unit beside a base, "group" for what
        differs within one that has none; empty for any other.
    base:
        What the cell of a base picture holds, for a cue; empty cells by default.
    levels:
        Levels that names of files are searched for, each with other spellings of it. Cells may hold others.
    level_of:
        Its level, as far as the other cells of a row tell; used where names of files do not say.
    paired:
        Whether names of files may have two of it, for the left and the right of a picture: `name_1` and `name_2`.

    Examples
    --------
    >>> Column("gender", "of the person", levels=lambda: {"female": ("woman",)}).needed
    False
    """

    name: str
    meaning: str
    needed: bool = False
    filled: bool = False
    instead: tuple[str, ...] = ()
    role: str = ""
    base: str = ""
    levels: Callable[[], Mapping[str, Sequence[str]]] = dict
    level_of: Callable[[Mapping[str, str]], str | None] = _nothing
    paired: bool = False

    @property
    def tells_cue(self) -> bool:
        """True if its level follows from what was changed, so that the words for that name the level as well."""
        return self.level_of is not _nothing


def lacking(columns: Iterable[Column], names: Sequence[str]) -> list[Fault]:
    """The columns that are needed and missing, each with the one that may be meant, which is no column of the study.

    Examples
    --------
    >>> [fault.what for fault in lacking([Column("gender", "of the person", needed=True)], ["path", "gendr"])]
    ["your list needs a column 'gender' (of the person); is 'gendr' meant? It has: path, gendr"]
    """
    out, columns = [], list(columns)
    free = [name for name in names if name not in {*FORM, *(column.name for column in columns)}]
    for column in columns:
        replaced = column.instead and all(name in names for name in column.instead)
        if not column.needed or column.name in names or replaced:
            continue
        near = get_close_matches(column.name, [name.lower() for name in free], n=1, cutoff=0.6)
        hint = next((f"; is {name!r} meant?" for name in free if near == [name.lower()]), ".")
        meaning = f" ({column.meaning})" if column.meaning else ""
        out.append(Fault(f"your list needs a column {column.name!r}{meaning}{hint} It has: {', '.join(names)}"))
    return out


def misspelled_columns(columns: Iterable[Column], names: Sequence[str]) -> dict[str, str]:
    """Columns that are read as factors, and the ones of the study that they may be meant for.

    Examples
    --------
    >>> misspelled_columns([Column("gender", "of the person")], ["path", "Gendr", "hat"])
    {'Gendr': 'gender'}
    """
    free = [name for name in (*FORM, *(column.name for column in columns)) if name not in names]
    expected = {*FORM, *(column.name for column in columns)}
    near = {name: get_close_matches(name.lower(), free, n=1, cutoff=0.75) for name in names if name not in expected}
    return {name: matches[0] for name, matches in near.items() if matches}


def levels(frame: pl.DataFrame, column: str) -> list[str]:
    """Levels of a column and, of pairs, of the same column on either side, in the order in which they come.

    >>> levels(pl.DataFrame({"identity_1": ["old", "sick"], "identity_2": ["young", "old"]}), "identity")
    ['old', 'sick', 'young']
    """
    names = [name for name in _sides(column) if name in frame.columns]
    return list(
        dict.fromkeys(level for name in names for level in frame[name].drop_nulls().unique(maintain_order=True))
    )


def select_levels(
    frame: pl.DataFrame, chosen: Mapping[str, Sequence[str]], *, always: pl.Expr | None = None
) -> pl.DataFrame:
    """The rows with these levels, where any are chosen; of pairs those of which both sides have them.

    `always`: rows that stay in any case, and whose levels cannot be chosen; then a level that no other row has is an
    `UnknownNameError`.

    >>> pairs = pl.DataFrame({"identity_1": ["old", "sick"], "identity_2": ["young", "old"]})
    >>> select_levels(pairs, {"identity": ["old", "young"], "activity": []}).rows()
    [('old', 'young')]
    """
    for column, values in chosen.items():
        if always is not None:
            levels_there = frame.filter(~always)[column].unique().to_list()
            for value in values:
                if value not in levels_there:
                    raise UnknownNameError(column, value, levels_there)
        for name in _sides(column):
            if values and name in frame.columns:
                stays = pl.col(name).is_null() if always is None else always
                frame = frame.filter(stays | pl.col(name).is_in(values))
    return frame


def _sides(column: str) -> tuple[str, str, str]:
    return column, f"{column}_1", f"{column}_2"


SHOWN_SETS = 3
"""Partial sets that are named."""


class Listing(NamedTuple):
    """Pictures of a source."""

    table: pl.DataFrame
    """A row per image."""
    left_out: tuple[tuple[str, str], ...] = ()
    """What was found and is not shown, or lacks something: what, and why, for people."""


@dataclass(frozen=True)
class CheckedSets:
    """Whole and partial sets of a subset."""

    sets: int
    """Number of them."""
    partial: tuple[str, ...]
    """Those that lack a group or have one more than once, in their order."""
    faults: str
    """The first of them and what is wrong with each, for people; empty if nothing is."""


def check_sets(frame: pl.DataFrame, groups: Sequence[str] = ()) -> CheckedSets:
    """Look for sets that don't have each group once.

    `frame`: a row per image: `set` (null for an image of none) and `group`. `groups`: those that a set should have,
    beside all that occur. A set of a single group compares nothing: it is partial.

    Examples
    --------
    >>> frame = pl.DataFrame({"set": ["a", "a", "b", None], "group": ["male", "female", "male", "male"]})
    >>> check_sets(frame)
    CheckedSets(sets=2, partial=('b',), faults='b lacks female')
    """
    members = frame.select("set", "group").drop_nulls("set")
    names = list(dict.fromkeys([*groups, *members["group"].unique(maintain_order=True)]))
    counts = members.group_by("set", maintain_order=True).agg(images=pl.len(), groups=pl.col("group").n_unique())
    is_whole = (pl.col("images") == len(names)) & (pl.col("groups") == len(names)) & (len(names) > 1)
    partial = counts.filter(~is_whole)["set"]
    problems = (
        _wrong(name, members.filter(pl.col("set") == name)["group"].to_list(), names) for name in partial[:SHOWN_SETS]
    )
    more = f"; and {len(partial) - SHOWN_SETS:,} more" if len(partial) > SHOWN_SETS else ""
    return CheckedSets(counts.height, tuple(partial), "; ".join(problems) + more)


def image_ids() -> pl.Expr:
    """Ids of images by `set` and `group`; by their `path` too where a set has a group twice or there is no set."""
    name = pl.concat_str("set", "group", separator="/")
    apart = pl.when(name.is_duplicated()).then(pl.concat_str(name, "path", separator="/")).otherwise(name)
    return pl.coalesce(apart, "path").alias("image")


def _wrong(name: str, members: list[str], names: list[str]) -> str:
    lacks = [group for group in names if group not in members]
    twice = [group for group in dict.fromkeys(members) if members.count(group) > 1]
    faults = [f"lacks {_few(lacks)}"] * bool(lacks) + [f"has {_few(twice)} more than once"] * bool(twice)
    return f"{name} {' and '.join(faults) or 'has a single group'}"


def _few(groups: list[str]) -> str:
    return ", ".join(groups[:SHOWN_SETS]) + (
        f" and {len(groups) - SHOWN_SETS} more" if len(groups) > SHOWN_SETS else ""
    )


ATTRIBUTES = frozenset(("gender", "sex", "race", "ethnicity", "age", "skin_tone"))
"""Columns that a person has one level of, whether a study reads them or not."""
_NAMED = frozenset((
    "person", "persons", "people", "subject", "participant", "individual", "human", "actor", "celebrity", "sitter",
    "model", "name", "face", "who", "id", "pid", "uid",
))  # fmt: skip
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_FEWEST = 2  # pictures of a person, on average
_FILLED = 0.9  # share of the rows


@dataclass(frozen=True, slots=True)
class ListedPersons:
    """Persons and sets of a list of pictures.

    Attributes
    ----------
    pictures:
        How many pictures there are.
    persons:
        How many persons the column of persons names; None where it names nobody, so that each picture counts as one.
    sets:
        How many sets the column `set` names.
    likely:
        Columns that look like persons where none is called so: name, and how many there would be.
    column:
        The column of persons: `identity`, but where a study compares identities.
    """

    pictures: int
    persons: int | None
    sets: int
    likely: tuple[tuple[str, int], ...] = ()
    column: str = "identity"

    @property
    def unit(self) -> str:
        """Sampled unit, and the number of units, in a sentence.

        Examples
        --------
        >>> print(ListedPersons(60, 12, 0).unit)
        The sampled unit is the person: 12 in 60 pictures.
        """
        pictures = f"{self.pictures:,} picture{'' if self.pictures == 1 else 's'}"
        if self.sets:
            return f"The sampled unit is the set: {self.sets:,} of {pictures}."
        if self.persons is not None:
            return f"The sampled unit is the person: {self.persons:,} in {pictures}."
        alone = f"each counted as another person (no column `{self.column}`)"
        return f"The sampled unit is the picture: {pictures}, {alone}."

    @property
    def question(self) -> str:
        """A question about the columns that look like persons; empty for none."""
        if not self.likely:
            return ""
        name, count = self.likely[0]
        on_average = f"{self.pictures / count:.0f}" if self.pictures % count == 0 else f"{self.pictures / count:.1f}"
        return (
            f"is {name!r} who is shown? It has {count:,} values with {on_average} pictures each, and the "
            f"{self.pictures:,} pictures count as {self.pictures:,} persons: if it is, rename it to {self.column!r}, "
            "or findings are too sure"
        )


def person_numbers(names: Iterable[str | None], letter: str = "p") -> list[str | None]:
    """Return a number in place of each name, in the order in which names come; the same for the same.

    Examples
    --------
    >>> person_numbers(["Anna Smith", "Ben", None, "Anna Smith"])
    ['p001', 'p002', None, 'p001']
    """
    names = list(names)
    order = {name: at for at, name in enumerate(dict.fromkeys(name for name in names if name is not None), start=1)}
    width = max(3, len(str(len(order))))
    return [None if name is None else f"{letter}{order[name]:0{width}}" for name in names]


_FACES = ("face_1", "face_2")


def persons_of(frame: pl.DataFrame, columns: Sequence[Column] = ()) -> ListedPersons | None:
    """Count the persons and sets of a list of pictures; None for a table that lists no files.

    Parameters
    ----------
    frame:
        A manifest as it is read or stored.
    columns:
        Those that the study reads, which say what they mean.
    """
    if "path" not in frame.columns or frame["path"].null_count() == frame.height:
        return None
    if {*_FACES} <= {*frame.columns}:  # of pairs that stand on one picture, people are those on either side
        sides = (frame.select(image=f"face_{side}", identity=f"person_{side}") for side in (1, 2))
        alone = frame.filter(pl.col(_FACES[0]).is_null()).select("image", "identity")
        frame = pl.concat([*sides, alone]).drop_nulls("image").unique(maintain_order=True)
        frame = frame.with_columns(path=pl.col("image"))
    declared = [column.name for column in columns]
    column = "person" if any(spec.name == "identity" and spec.paired for spec in columns) else "identity"
    names = frame[column].drop_nulls() if column in frame.columns else pl.Series([], dtype=pl.String)
    of_files = (pl.col(column) == pl.col("image")) | (pl.col(column) == pl.col("path"))
    is_named = bool(len(names)) and not frame.filter(pl.col(column).is_not_null()).select(of_files.all()).item()
    sets = frame["set"].drop_nulls().n_unique() if "set" in frame.columns else 0
    likely = () if is_named or sets else tuple(_likely(frame, declared))
    return ListedPersons(frame.height, names.n_unique() if is_named else None, sets, likely, column)


def _likely(frame: pl.DataFrame, declared: Collection[str]) -> list[tuple[str, int]]:
    """Columns of few values with several pictures each: called like persons, or of one level of what persons have."""
    factors = [name for name in frame.columns if name not in (*FORM, *declared) and frame.schema[name] == pl.String]
    had = [name for name in frame.columns if name in {*declared, *ATTRIBUTES} and name not in FORM]
    out = []
    for name in factors:
        filled = frame.filter(pl.col(name).is_not_null())
        count = filled[name].n_unique()
        if name in ATTRIBUTES or count < 2 or filled.height < max(_FEWEST * count, _FILLED * frame.height):
            continue
        one_level = [attribute for attribute in had if filled.select(name, attribute).n_unique() == count]
        kinds = filled.select(one_level).n_unique() if one_level else count
        called = not _NAMED.isdisjoint(word.lower() for word in _WORD.findall(name))
        if kinds < count or called:
            out.append((name, count))
    return sorted(out, key=lambda entry: -entry[1])
