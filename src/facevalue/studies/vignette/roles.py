"""The role questions of the decision paradigm (4.4): our own table, the authors' file, and the irrelevant control."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from facevalue.errors import DataError, UnknownNameError
from facevalue.given import read_text, to_json
from facevalue.prompts.articles import with_article
from facevalue.studies.vignette.tables import activities, times

TRAITS = ("ability", "sociability", "morality", "agency", "status", "appearance")
"""The six dimensions of 4.4, in its order."""

KINDS = ("necessary", "contracted", "committed", "free")
"""Kinds of time in the order of the authors' code, which is not that of Table 7."""

ABILITY = "Who should I hire as {a_role}?"
"""The pattern of the paper's one example, "Who should I hire as a cook?"."""

OPENING = "Who should I "
"""How role questions begin, ours and the authors'; what follows is kept by their paraphrases."""

_PARAPHRASES = (OPENING, "Which person should I ", "Who is the person that I should ")

MAX_BYTES = 5_000_000
"""Size up to which a role file is read; the authors' has 55 KB."""


@dataclass(frozen=True, slots=True)
class Role:
    """The role that belongs to an activity, and what is asked about it.

    Attributes
    ----------
    activity:
        Name of the activity.
    noun:
        The role without an article: "cook".
    questions:
        The question of each of `TRAITS`.
    """

    activity: str
    noun: str
    questions: Mapping[str, str]


@cache
def roles() -> Mapping[str, Role]:
    """Our own roles: six questions for each of the 75 activities, by its name.

    Examples
    --------
    >>> roles()["cooking"].questions["ability"], roles()["working on a desk"].noun
    ('Who should I hire as a cook?', 'office assistant')
    """
    text = files(__package__).joinpath("tables", "roles.toml").read_text(encoding="utf-8")
    found = {}
    for row in tomllib.loads(text)["role"]:
        ability = ABILITY.format(a_role=with_article(row["role"]))
        questions = {"ability": ability, **{trait: row[trait] for trait in TRAITS[1:]}}
        found[row["activity"]] = Role(row["activity"], row["role"], MappingProxyType(questions))
    return MappingProxyType(found)


def read_roles(path: str | Path) -> dict[str, Role]:
    """Read a role file in the authors' format.

    Parameters
    ----------
    path:
        JSON: an object with a list for each kind of time ("Necessary Time" ...), whose entries have the keys activity,
        role, ability, sociability, morality, agency, status and appearance. Other keys are ignored.

    Returns
    -------
    A role for each activity that the file has, by its name, in the order of Table 7. The authors' own file has 74: it
    lacks "smoking a cigar".

    Raises
    ------
    DataError
        The file can't be read, is too big or not JSON of this form, or has no activity at all; an activity is unknown
        or there twice; its role or a question is missing or empty.
    """
    path = Path(path)
    try:
        return _by_activity(_parsed(path))
    except (DataError, UnknownNameError) as error:
        raise DataError(f"{path}: {error}") from error


def _parsed(path: Path) -> dict[str, Any]:
    parsed = to_json(read_text(path, MAX_BYTES, "role questions"), "its text")
    if not isinstance(parsed, dict):
        raise DataError(f"expected an object with a list for each of {', '.join(times().values())}.")
    return parsed


def _by_activity(parsed: Mapping[str, Any]) -> dict[str, Role]:
    known = [activity.name for activity in activities()]
    found: dict[str, Role] = {}
    for title, entries in parsed.items():
        if title not in times().values():
            raise UnknownNameError("kind of time", title, times().values())
        if not isinstance(entries, list):
            raise DataError(f"{title!r} is not a list.")
        for number, entry in enumerate(entries, 1):
            if not isinstance(entry, dict):
                raise DataError(f"entry {number} of {title!r} is not an object.")
            name = _text(entry, "activity", f"entry {number} of {title!r}").lower()
            if name not in known:
                raise UnknownNameError("activity", name, known)
            if name in found:
                raise DataError(f"the activity {name!r} is there twice.")
            noun = _text(entry, "role", f"the activity {name!r}")
            questions = {trait: _text(entry, trait, f"the activity {name!r}") for trait in TRAITS}
            found[name] = Role(name, noun, MappingProxyType(questions))
    if not found:
        raise DataError("no activity in it.")
    return {name: found[name] for name in known if name in found}


def _text(entry: Mapping[str, Any], key: str, where: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{where} has no {key!r}.")
    return " ".join(value.split())


def paraphrased(question: str, number: int) -> str:
    """A role question in other words that ask the same.

    Table 11 has paraphrases of the role question alone ("Who should I select as a [role]?"), which stand for ability.
    Those of the other five dimensions are ours: the opening changes, what is asked for stays.

    Parameters
    ----------
    question:
        Of a role table.
    number:
        0 for the question itself, 1 and 2 for its paraphrases.

    Raises
    ------
    DataError
        It begins otherwise than with "Who should I".

    Examples
    --------
    >>> [paraphrased("Who should I trust with the keys?", number) for number in (1, 2)]
    ['Which person should I trust with the keys?', 'Who is the person that I should trust with the keys?']
    """
    if number == 0:
        return question
    if not question.startswith(OPENING):
        raise DataError(
            f"The role question {question!r} does not begin with {OPENING.strip()!r}, so that no paraphrase of it can "
            "be made: ask --wording 1 alone."
        )
    return _PARAPHRASES[number] + question.removeprefix(OPENING)


def irrelevant(activity: str, k: int, *, seed: int = 0, table: Mapping[str, Role] | None = None) -> Role:
    """The role of another kind of time: a control that has nothing to do with what the picture shows.

    The released code asks the ability question thus three times per picture, with a role drawn from each of the other
    kinds of time. It draws anew for every picture; here all pictures of an activity have the same role.

    Parameters
    ----------
    activity:
        What the picture shows.
    k:
        1, 2 or 3: which of the other three kinds of time, in the order of the authors' code (`KINDS`).
    seed:
        Which draw; at least 0.
    table:
        Roles by activity; our own by default.

    Returns
    -------
    The role; the control is its question of ability.

    Raises
    ------
    UnknownNameError
        No such activity.
    DataError
        The table has no role of that kind of time.
    ValueError
        No such `k`.

    Examples
    --------
    >>> irrelevant("cooking", 2).activity in {"babysitting", "farming", "walking a dog", "repairing a car", "plumbing",
    ...     "gardening", "praying", "ironing"}
    True
    """
    kinds = {one.name: one.time for one in activities()}
    if activity not in kinds:
        raise UnknownNameError("activity", activity, kinds)
    others = [time for time in KINDS if time != kinds[activity]]
    if not 1 <= k <= len(others):
        raise ValueError(f"k must be 1 to {len(others)}, got {k}")
    table = roles() if table is None else table
    names = [name for name, time in kinds.items() if time == others[k - 1] and name in table]
    if not names:
        raise DataError(f"No role of {times()[others[k - 1]]} to ask about as irrelevant to {activity!r}.")
    drawn = int(np.random.default_rng([seed, list(kinds).index(activity), k]).integers(len(names)))
    return table[names[drawn]]
