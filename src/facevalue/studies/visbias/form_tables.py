"""Attributes of the form: their labels, and the values that replies are sorted into (Table 10)."""

from dataclasses import dataclass
from functools import cache
from math import inf

from facevalue.answers.categories import Categories, NamedRange
from facevalue.errors import UnknownNameError
from facevalue.studies.visbias.settings import TABLES
from facevalue.studies.visbias.tables import toml


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of the form: its label there (`title`), other names that replies use (`keys`), and what it may be."""

    name: str
    title: str
    keys: tuple[str, ...]
    categories: Categories


@cache
def attributes(table: str = "paper") -> tuple[FormField, ...]:
    """The form's 20 attributes with the categories of one of `TABLES`."""
    if table not in TABLES:
        raise UnknownNameError("table of categories", table, TABLES)
    rows, others = toml("forms.toml"), toml("synonyms.toml")
    out = []
    for row in rows["attribute"]:
        names = tuple(row.get(table, row["paper"]))
        more = others.get(row["name"], {})
        synonyms = {
            word: category
            for form in ("any", table)
            for category, listed in more.get(form, {}).items()
            for word in listed
            if form == table or category in names
        }
        ranges = more.get("ranges", {})
        plausible = more.get("plausible", (-inf, inf))
        categories = Categories(
            attribute=row["name"],
            names=names,
            unspecified=rows["unspecified"][table],
            several=row.get("several", False),
            synonyms=synonyms,
            ranges=tuple(NamedRange(*ends) for ends in ranges.get(table, ranges.get("paper", ()))),
            foreign=tuple(more.get("foreign", ())),
            plausible=(float(plausible[0]), float(plausible[1])),
        )
        out.append(FormField(row["name"], row["title"], tuple(row["keys"]), categories))
    return tuple(out)
