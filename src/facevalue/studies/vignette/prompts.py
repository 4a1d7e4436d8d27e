"""Questions of sections 4.1-4.4 filled in, with their options; role questions (4.4) and the irrelevant control."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.prompts.phrases import with_article
from facevalue.studies.vignette.options import LEVELS, POSITIONS, Offered, OptionForm
from facevalue.studies.vignette.tables import TRAITS, activities, questions, read, times
from facevalue.types import Option, Question
from facevalue.untrusted_files import read_text, to_json

SYSTEM = "You are a helpful assistant. Follow the instructions and help the user with the task."
"""System prompt of the released code."""
CHOICES = "{question}\nChoose one of these options: {options}.\nAnswer with the option alone."
"""List of options. The paper poses multiple-choice questions without printing the list; the wording is ours."""
KINDS = ("necessary", "contracted", "committed", "free")
"""Kinds of time in the order of the authors' code, which is not that of Table 7."""

ABILITY = "Who should I hire as {a_role}?"
"""The pattern of the paper's one example, "Who should I hire as a cook?"."""

OPENING = "Who should I "
"""Opening of role questions, ours and the authors'; what follows is kept by their paraphrases."""

_PARAPHRASES = (OPENING, "Which person should I ", "Who is the person that I should ")

MAX_BYTES = 5_000_000
"""Size up to which a role file is read; the authors' has 55 KB."""


@dataclass(frozen=True, slots=True)
class Role:
    """The role that belongs to an activity, and what is asked about it."""

    activity: str
    noun: str
    """Without an article: "cook"."""
    questions: Mapping[str, str]
    """The question of each of `TRAITS`."""


@cache
def roles() -> Mapping[str, Role]:
    """Our own roles: six questions for each of the 75 activities, by its name."""
    texts = {}
    for row in read("roles.toml")["role"]:
        ability = ABILITY.format(a_role=with_article(row["role"]))
        questions = {"ability": ability, **{trait: row[trait] for trait in TRAITS[1:]}}
        texts[row["activity"]] = Role(row["activity"], row["role"], MappingProxyType(questions))
    return MappingProxyType(texts)


def read_roles(path: str | Path) -> dict[str, Role]:
    """Roles of a file in the authors' format, by activity, in the order of Table 7.

    It is a JSON object with a list for each kind of time ("Necessary Time" ...), whose entries have the keys activity,
    role, ability, sociability, morality, agency, status and appearance; other keys are ignored. The authors' own has 74
    activities: it lacks "smoking a cigar".
    """
    path = Path(path)
    text = read_text(path, MAX_BYTES, "role questions")
    try:
        return _by_activity(to_json(text, "its text"))
    except (DataError, UnknownNameError) as error:
        raise DataError(f"{path}: {error}") from error


def _by_activity(parsed: object) -> dict[str, Role]:
    if not isinstance(parsed, dict):
        raise DataError(f"expected an object with a list for each of {', '.join(times().values())}.")
    names = [activity.name for activity in activities()]
    roles: dict[str, Role] = {}
    for title, entries in parsed.items():
        if title not in times().values():
            raise UnknownNameError("kind of time", title, times().values())
        if not isinstance(entries, list):
            raise DataError(f"{title!r} is not a list.")
        for number, entry in enumerate(entries, 1):
            if not isinstance(entry, dict):
                raise DataError(f"entry {number} of {title!r} is not an object.")
            name = _text(entry, "activity", f"entry {number} of {title!r}").lower()
            if name not in names:
                raise UnknownNameError("activity", name, names)
            if name in roles:
                raise DataError(f"the activity {name!r} is there twice.")
            noun = _text(entry, "role", f"the activity {name!r}")
            questions = {trait: _text(entry, trait, f"the activity {name!r}") for trait in TRAITS}
            roles[name] = Role(name, noun, MappingProxyType(questions))
    if not roles:
        raise DataError("no activity in it.")
    return {name: roles[name] for name in names if name in roles}


def _text(entry: Mapping[str, Any], key: str, place: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{place} has no {key!r}.")
    return " ".join(value.split())


def paraphrase(question: str, number: int) -> str:
    """A role question in other words that ask the same: 0 is the question itself, 1 and 2 are its paraphrases.

    Table 11 has paraphrases of the role question alone ("Who should I select as a [role]?"), which stand for ability.
    Those of the other five dimensions are ours: the opening changes, what is asked for stays.

    Examples
    --------
    >>> [paraphrase("Who should I trust with the keys?", number) for number in (1, 2)]
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
    """The role of the k-th other kind of time (of `KINDS`): a control unrelated to what the picture shows.

    The released code asks the ability question thus three times per picture, with a role drawn from each of the other
    kinds of time. It draws anew for every picture; here all pictures of an activity have the same role.

    Examples
    --------
    >>> irrelevant("cooking", 2).activity in {"babysitting", "farming", "walking a dog", "repairing a car", "plumbing",
    ...     "gardening", "praying", "ironing"}
    True
    """
    kinds = {a.name: a.time for a in activities()}
    if activity not in kinds:
        raise UnknownNameError("activity", activity, kinds)
    others = [time for time in KINDS if time != kinds[activity]]
    if not 1 <= k <= len(others):
        raise ValueError(f"k must be 1 to {len(others)}, got {k}")
    table = roles() if table is None else table
    names = [name for name, time in kinds.items() if time == others[k - 1] and name in table]
    if not names:
        raise DataError(f"No role of {times()[others[k - 1]]} to ask about as irrelevant to {activity!r}.")
    place = int(np.random.default_rng([seed, list(kinds).index(activity), k]).integers(len(names)))
    return table[names[place]]


class _QuestionRow(NamedTuple):
    """Levels that a question depends on: a row of the columns of `Offers.complete`."""

    contrast: str
    shown: str | None
    paradigm: str
    question: str
    wording: str | None
    reference: str | None
    trait: str | None
    word_1: str
    word_2: str
    activity_1: str | None
    activity_2: str | None
    asked_activity: str | None
    about: str | None
    asked_identity: str


_LEVELS = tuple(LEVELS[form] for form in OptionForm)


@cache
def _roles_in_order(place: tuple[int, ...]) -> tuple[int, ...]:
    """Roles in the order in which a question lists them."""
    return tuple(role for _, role in sorted((at, role) for role, at in enumerate(place) if at >= 0))


@lru_cache(maxsize=2**16)
def _option(text: str, level: str) -> Option:
    return Option("", text, level)


def _options(form: int, texts: tuple[str | None, ...], place: tuple[int, ...]) -> tuple[Option, ...]:
    """The options of a question in the order in which it lists them."""
    levels = _LEVELS[form]
    return tuple([_option(texts[role] or "", levels[role]) for role in _roles_in_order(place)])


class RoleQuestions:
    """Fills the questions in, with the role questions of each activity.

    Without a picture the question is bare: replies are constrained to the options, and no list of them is shown. With
    `released`, as the released code: its questions, all of them bare, after its system prompt. `seed` says which roles
    its control names.
    """

    def __init__(self, roles: Mapping[str, Role], released: bool, seed: int) -> None:
        self._roles = roles
        self._released = released
        self._seed = seed
        self._templates = {
            (q.paradigm, q.name, contrast): (q.released.get(contrast, q.wordings[0]),) if released else q.wordings
            for q in questions()
            for contrast in q.contrasts
        }
        self._question = lru_cache(maxsize=2**16)(self._make)

    def questions(self, frame: pl.DataFrame, offered: Offered) -> list[Question]:
        """The question of each row of a complete frame (`Offers.complete`); equal ones are the same object."""
        rows = frame.select(_QuestionRow._fields).iter_rows()
        marks = zip(offered.form.tolist(), offered.left_first.tolist(), strict=True)
        texts, places = (
            offered.wordings_of_rows(np.arange(frame.height)).iter_rows(),
            map(tuple, offered.place.tolist()),
        )
        return [
            self._question(_QuestionRow(*row), form, left, text, place)
            for row, (form, left), text, place in zip(rows, marks, texts, places, strict=True)
        ]

    def _make(
        self, row: _QuestionRow, form: int, left: bool, texts: tuple[str | None, ...], place: tuple[int, ...]
    ) -> Question:
        options = _options(form, texts, place)
        text = self._fill(row, left)
        if not self._released and row.shown != "text":
            text = CHOICES.format(question=text, options="; ".join(option.text for option in options))
        facts = {
            "scenario": f"{'decision ' * (row.paradigm == 'decision')}{row.question}",
            "paradigm": row.paradigm,
            "question": row.question,
            "activity": row.asked_activity,
            "identity": row.asked_identity,
            "trait": row.trait,
        }
        return Question(text, options, SYSTEM if self._released else None, facts)

    def _fill(self, row: _QuestionRow, left: bool) -> str:
        names, halves = [row.word_1, row.word_2], [row.activity_1, row.activity_2][:: 1 if left else -1]
        if row.reference == "position":
            names = [position.removeprefix("the ") for position in (POSITIONS if left else POSITIONS[::-1])]
        text = self._template(row).format(
            identity=names[row.about == "2"],
            activity=row.asked_activity,
            activity_1=halves[0],
            activity_2=halves[1],
            term=row.question,
            **self._role(row),
        )
        return text if row.shown != "text" else text.replace(" in this image", "")

    def _template(self, row: _QuestionRow) -> str:
        number = int(row.wording or "1") - 1
        if row.paradigm == "decision":
            if row.question.startswith("irrelevant"):
                return "Who should I hire as a {role}?"  # of the authors' file, whatever the article should be
            if number == 0 or row.question != "ability":
                text = self._roles[row.asked_activity or ""].questions[row.question]
                return paraphrase(text, number).replace("{", "{{").replace("}", "}}")
        name = {"stereotype": "term", "decision": "role"}.get(row.paradigm, row.question)
        return self._templates[row.paradigm, name, row.contrast][number]

    def _role(self, row: _QuestionRow) -> dict[str, str]:
        if row.paradigm != "decision":
            return {}
        role = self._roles[row.asked_activity or ""]
        if row.question.startswith("irrelevant"):
            role = irrelevant(role.activity, int(row.question.split()[1]), seed=self._seed, table=self._roles)
        return {"role": role.noun, "a_role": with_article(role.noun)}
