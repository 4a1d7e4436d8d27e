"""Pictures that own studies have made: the table [make] of a file."""

from facevalue.generators.base import NULL_EDIT
from facevalue.protocol.declared_making import DeclaredMaking
from facevalue.protocol.own_pictures import Placed
from facevalue.protocol.stimuli import UNITS, Folder, Listed, Stimuli
from facevalue.protocol.toml_tables import TomlTable
from facevalue.statistics.sets import NO_PICTURE

KEYS = ("prompt", "factor", "person", "edit", "cue", "sets", "draws", "seed", "null_edits", "sources")


def making_of(table: TomlTable, stimuli: Stimuli, placed: Placed) -> DeclaredMaking:
    """What a study has made.

    Raises
    ------
    DataError
        A mistake in the table, with its line; or a study that shows no pictures of a list.
    """
    table.known(*KEYS)
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
    places = {key: table.where(key) for key in table}
    places |= {name: factors.where(name) for name in factors} | {name: edits.where(name) for name in edits}
    places |= {f"person {number}": person.where() for number, person in enumerate(people, start=1)}
    places |= {name: people[0].where(name) for name in (people[0] if people else ())}
    with table.at():
        return DeclaredMaking(
            prompt=table.text("prompt", ""),
            factors={name: _levels(factors.table(name)) for name in factors},
            people=[{name: person.text(name) for name in person} for person in people],
            edits={name: edits.text(name) for name in edits},
            sets=table.whole("sets", 1),
            draws=table.whole("draws", 1),
            seed=table.whole("seed", 1, low=0),
            null_edits=table.flag("null_edits", default=False),
            sources=placed(table, "sources"),
            unit=unit,
            cue=table.text("cue", stimuli.cue or "cue"),
            base="" if stimuli.base in (NO_PICTURE, NULL_EDIT) else stimuli.base,
            places=places,
        )


def _levels(factor: TomlTable) -> dict[str, str]:
    factor.known("levels")
    return factor.texts("levels")
