"""Pictures of own studies: the table [pictures] of a file."""

from collections.abc import Callable, Mapping

from facevalue.errors import UnknownNameError
from facevalue.generators.base import NULL_EDIT
from facevalue.protocol.declared_making import DeclaredMaking
from facevalue.protocol.picture_sources import CUE, DataSet, Edits, usual_pictures
from facevalue.protocol.side_by_side import Pairs
from facevalue.protocol.stimuli import UNITS, WORKERS, DrawnSets, Folder, Listed, Portraits, Rows, Stimuli
from facevalue.protocol.toml_tables import TomlTable
from facevalue.statistics.sets import NO_PICTURE
from facevalue.stimuli.base import Kind
from facevalue.stimuli.patterns import Levels, PathPattern

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
            return _folder(table, UNITS[unit], of, placed)
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


def _folder(table: TomlTable, unit: str, of: str, placed: Placed) -> Folder:
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
