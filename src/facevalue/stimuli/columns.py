"""Columns of a manifest: what each means, and which a study needs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from facevalue.stimuli.faults import Fault

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
    """The columns that are needed and missing, each with the one that may be meant.

    Examples
    --------
    >>> [fault.what for fault in lacking([Column("gender", "of the person", needed=True)], ["path", "gendr"])]
    ["your list needs a column 'gender' (of the person); is 'gendr' meant? It has: path, gendr"]
    """
    out = []
    for column in columns:
        replaced = column.instead and all(name in names for name in column.instead)
        if not column.needed or column.name in names or replaced:
            continue
        near = get_close_matches(column.name, [name.lower() for name in names], n=1, cutoff=0.6)
        hint = next((f"; is {name!r} meant?" for name in names if near == [name.lower()]), ".")
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
