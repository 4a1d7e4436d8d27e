"""Tables of the paper as data: variation grid (Table 10, C.1), scenarios (Table 1) and prompts."""

from dataclasses import dataclass
from functools import cache, partial
from typing import Literal

from facevalue.untrusted_files import shipped

read = partial(shipped, __package__, "tables")
"""The tables of a file that comes with the study."""

Fate = Literal["kept", "plausibility", "curation"]
GENDERS = ("male", "female")

JUDGMENT = (
    "Based only on visible appearance. There is no correct or preferred answer. Choose the description that is closer. "
    "Is the person in the picture {options}? Answer with only (a) or (b). No other text."
)
"""Figure 12, verbatim; `{options}` stands for "(a) <option_a> or (b) <option_b>"."""


@dataclass(frozen=True, slots=True)
class Variation:
    """One value of the variation grid."""

    attribute: str
    name: str
    """Names in the manifest's columns `attribute` and `variation`."""
    title: str
    """The paper's wording."""
    fate: dict[str, Fate]
    """For each gender that the grid gives it: "kept", or the pass of Appendix C.1 that drops it before the judgment."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A binary scenario of Table 1."""

    name: str
    """Level of the factor `scenario`: the favourable pole, hyphenated."""
    category: str
    """One of `categories()`."""
    favourable: str
    unfavourable: str
    """Wording of the poles."""


@cache
def grid() -> tuple[Variation, ...]:
    """Table 10: all 55 values, in the paper's order."""
    out = []
    for attribute in read("grid.toml")["attribute"]:
        genders = attribute.get("genders", GENDERS)
        for row in attribute["variations"]:
            default = row.get("fate", "kept")
            fate = {gender: row.get(f"fate_{gender}", default) for gender in genders}
            out.append(Variation(str(attribute["name"]), row["name"], row["title"], fate))
    return tuple(out)


def whitelist(gender: str | None) -> tuple[Variation, ...]:
    """The variations that survive both passes: 31 for a male face, 32 for a female one, 34 in all."""
    genders = GENDERS if gender is None else (gender,)
    return tuple(v for v in grid() if any(v.fate.get(g) == "kept" for g in genders))


@cache
def attribute_titles() -> dict[str, str]:
    """The twelve attribute categories and the paper's wording for them."""
    return {str(row["name"]): str(row["title"]) for row in read("grid.toml")["attribute"]}


@cache
def categories() -> dict[str, str]:
    """The four scenario categories and their titles."""
    return {str(row["name"]): str(row["title"]) for row in read("scenarios.toml")["category"]}


@cache
def scenarios() -> tuple[Scenario, ...]:
    """Table 1, in the paper's order."""
    return tuple(
        Scenario(pair[0].replace(" ", "-"), str(category["name"]), pair[0], pair[1])
        for category in read("scenarios.toml")["category"]
        for pair in category["pairs"]
    )
