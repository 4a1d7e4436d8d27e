"""Map of clauses: which file of a pack speaks to which clause of a law or standard, and what it does not cover."""

from collections.abc import Collection
from datetime import date
from importlib.resources import files
from typing import Any, NamedTuple

from facevalue.given import to_toml

NO_CLAIM = (
    "This map makes no legal claim. It says which file speaks to which clause, and what it does not cover, as seen on "
    "the date of each line. Read the text itself, and ask somebody who answers for it."
)


class Clause(NamedTuple):
    """A clause, what of a pack speaks to it, and what does not."""

    of: str
    clause: str
    """Law or standard, and where in it, in its words or ours."""
    files: tuple[str, ...]
    """Files of the pack, and folders, which end in a slash."""
    speaks_to: str
    not_covered: str
    source: str
    seen: date
    """Where it was read, and when."""


def clauses() -> list[Clause]:
    """All clauses, in order."""
    name = "clauses.toml"
    tables: list[dict[str, Any]] = to_toml(files(__package__).joinpath(name).read_bytes(), name)["clause"]
    return [Clause(**{**table, "files": tuple(table["files"])}) for table in tables]


def clause_map(present: Collection[str]) -> str:
    """The map in Markdown; files that this pack does not hold are marked.

    `present`: names of its files.
    """
    lines = ["# Clause map", "", NO_CLAIM, "", "| clause | files | speaks to | does not cover | as seen |",
             "|---|---|---|---|---|"]  # fmt: skip
    for clause in clauses():
        absent = {name: "" if _is_present(name, present) else " (not in this pack)" for name in clause.files}
        file_names = ", ".join(f"`{name}`{note}" for name, note in absent.items())
        lines.append(
            f"| **{clause.of}**: {clause.clause} | {file_names} | {clause.speaks_to} | {clause.not_covered} | "
            f"{clause.seen:%-d %B %Y}, {clause.source} |"
        )
    return "\n".join(lines) + "\n"


def _is_present(name: str, present: Collection[str]) -> bool:
    return any(file == name or (name.endswith("/") and file.startswith(name)) for file in present)
