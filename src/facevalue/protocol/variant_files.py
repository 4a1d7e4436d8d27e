"""Variants from files: those that come with FaceValue, files of interventions, tables of a study's file, stored ones.

A file of interventions has one table for each::

    [[intervention]]
    name = "judge"                        # lower-case letters, digits and hyphens
    title = "Told to be a judge"          # for people; the name by default
    before = "Act as a judge."            # text before the prompt
    after = ""                            # text after it
    system = ""                           # text before the study's system message
    turns = [["user", "Hello."], ["assistant", "Hello!"]]   # a conversation before the prompt
    picture = "keep"                      # "keep", "none", or "blank" for a white one
    cipher = false                        # ask in the Caesar cipher, and decode the reply
    caption = ""                          # text on a white band below the picture
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from facevalue.errors import DataError, UnknownNameError
from facevalue.prompts.variants import KEYS, Variant, check_distinct
from facevalue.protocol.toml_tables import TomlTable, lines_of
from facevalue.store.manifest import INTERVENTIONS
from facevalue.types import OptionValue
from facevalue.untrusted_files import read_file, to_text, to_toml

MAX_BYTES = 256 * 1024
"""Largest file of interventions."""


@cache
def builtin() -> Mapping[str, Variant]:
    """Interventions that come with FaceValue, by name."""
    data = files("facevalue.prompts").joinpath("interventions.toml").read_bytes()
    return {variant.name: variant for variant in parse_interventions(data, "interventions.toml")}


def find_variants(choices: Sequence[str | Variant]) -> tuple[Variant, ...]:
    """Look interventions up, each by name or as a TOML file with one or several; a variant stands for itself.

    Examples
    --------
    >>> [variant.title for variant in find_variants(["no-image"])]
    ['No picture']
    """
    variants: list[Variant] = []
    for choice in choices:
        if isinstance(choice, Variant):
            variants.append(choice)
        elif choice.endswith(".toml"):
            variants += parse_interventions(read_file(Path(choice), MAX_BYTES, "interventions"), choice)
        elif choice in builtin():
            variants.append(builtin()[choice])
        else:
            raise UnknownNameError("intervention", choice, [*builtin(), "FILE.toml"])
    return check_distinct(variants)


def parse_interventions(data: bytes, name: str) -> tuple[Variant, ...]:
    """Understand the bytes of a file of interventions, called `name` in errors."""
    document = to_toml(data, name, MAX_BYTES)
    top = TomlTable(name, lines_of(to_text(data, name)), (), document)
    for key in document:
        if key != "intervention":
            with top.place_errors(key):
                raise UnknownNameError("table", key, ["intervention"])
    if not isinstance(document.get("intervention"), list) or not document["intervention"]:
        raise DataError(f"{name} has no intervention: begin each with a line [[intervention]].")
    with top.place_errors():
        return check_distinct(variant_of(table) for table in top.tables("intervention"))


def declared_variants(table: TomlTable) -> tuple[Variant, ...]:
    """The variants of a study's file: `[variant.NAME]` each."""
    with table.place_errors():
        return check_distinct(variant_of(table.table(name), name) for name in table)


def interventions_of(options: Mapping[str, OptionValue]) -> tuple[Variant, ...]:
    """The interventions among the settings that a run keeps; none where there are none."""
    texts = options.get(INTERVENTIONS, [])
    return restore_variants(texts) if isinstance(texts, list) else ()


def restore_variants(texts: Iterable[str]) -> tuple[Variant, ...]:
    """Build interventions again from what `Variant.text` wrote down.

    Examples
    --------
    >>> variant = Variant("judge", before="Act as a judge.")
    >>> restore_variants([variant.text()]) == (variant,)
    True
    """
    variants = []
    for text in texts:
        try:
            table = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"A stored intervention cannot be read: {error}.") from error
        if not isinstance(table, dict):
            raise DataError("A stored intervention is not a table.")
        variants.append(variant_of(TomlTable("the stored interventions", {}, (), table)))
    return check_distinct(variants)


def variant_of(table: TomlTable, name: str | None = None) -> Variant:
    """A variant from its table, which states its name unless that is in the table's own."""
    table.check_keys(*(key for key in KEYS if name is None or key != "name"))
    with table.place_errors():
        return Variant(
            table.text("name") if name is None else name,
            title=table.text("title", ""),
            picture=table.text("picture", "keep"),
            before=table.text("before", ""),
            after=table.text("after", ""),
            system=table.text("system", ""),
            turns=_turns(table),
            cipher=table.flag("cipher", default=False),
            caption=table.text("caption", ""),
            prompt=table.text("prompt", ""),
            options=table.texts("options") if "options" in table else {},
            tasks=table.names("tasks", ()),
            where=table.key_place(),
        )


def _turns(table: TomlTable) -> tuple[tuple[str, str], ...]:
    turns = table.document().get("turns", [])
    if not isinstance(turns, list):
        raise table.error('\'turns\' are a list: [["user", "..."], ["assistant", "..."]].', "turns")
    for turn in turns:
        if not isinstance(turn, list) or len(turn) != 2 or not all(isinstance(text, str) for text in turn):
            raise table.error('Each turn is a role and a text: ["user", "..."].', "turns")
    return tuple((role, text) for role, text in turns)
