"""Questions of sections 4.1-4.4 filled in, with their options; role questions (4.4) and the irrelevant control."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.estimators import Codes
from facevalue.prompts.phrases import slots, with_article
from facevalue.studies.vignette.design import Prompt
from facevalue.studies.vignette.options import LEVELS, Offered, OptionForm
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


_LEVELS = tuple(LEVELS[form] for form in OptionForm)
_MEANINGS = list(dict.fromkeys(level for levels in _LEVELS for level in levels))
_MEANING = np.array([[*map(_MEANINGS.index, levels), -1, -1][:4] for levels in _LEVELS])
"""Meaning of each role of the options of each form, as a place in `_MEANINGS`."""
_MOST = 2**16  # texts that are remembered
_BEFORE, _BETWEEN, _AFTER = (CHOICES.format(question="\0", options="\0")).split("\0")


class RoleQuestions:
    """Fills the questions in, with the role questions of each activity.

    Without a picture the question is bare: replies are constrained to the options, and no list of them is shown. With
    `released`, as the released code: its questions, all of them bare, after its system prompt. `seed` says which roles
    its control names. `prompts`: those of the design (`Layout.prompts`).
    """

    def __init__(self, prompts: Sequence[Prompt], roles: Mapping[str, Role], released: bool, seed: int) -> None:
        self._prompts = prompts
        self._roles = roles
        self._released = released
        self._seed = seed
        self._templates = {
            (q.paradigm, q.name, contrast): (q.released.get(contrast, q.wordings[0]),) if released else q.wordings
            for q in questions()
            for contrast in q.contrasts
        }
        self._texts: dict[tuple[int, ...], str] = {}
        self._options: dict[int, Option] = {}

    def questions(self, offered: Offered) -> list[Question]:
        """The question of each row of a trial frame."""
        about = np.arange(offered.prompt.size), offered.second.astype(np.int64)
        texts = self._fill_rows(offered, offered.names[about], offered.activities[about])
        listed, options = self._list_options(offered)
        if not self._released:
            bare = pl.Series(np.array([prompt.medium == "text" for prompt in self._prompts])[offered.prompt])
            bare_texts = pl.Series(texts, dtype=pl.String)
            with_options = pl.concat_str(pl.lit(_BEFORE), bare_texts, pl.lit(_BETWEEN), listed, pl.lit(_AFTER))
            texts = pl.select(pl.when(bare).then(bare_texts).otherwise(with_options)).to_series().to_list()
        system = SYSTEM if self._released else None
        facts = [self._facts[number] for number in offered.prompt.tolist()]
        names = [*offered.wordings, None]
        people = [offered.identities[about].tolist(), offered.activities[about].tolist()]
        return [
            Question(text, of_row, system, {**of_prompt, "identity": names[identity], "activity": names[activity]})
            for text, of_row, of_prompt, identity, activity in zip(texts, options, facts, *people, strict=True)
        ]

    @cached_property
    def _facts(self) -> list[dict[str, str | None]]:
        """Levels of each prompt, for simulated models."""
        facts = ({"paradigm": p.paradigm, "question": p.question, "trait": p.trait} for p in self._prompts)
        return [{"scenario": f"{'decision ' * (of['paradigm'] == 'decision')}{of['question']}", **of} for of in facts]

    def _list_options(self, offered: Offered) -> tuple[pl.Series, list[tuple[Option, ...]]]:
        """The options of each row in the order in which it lists them: as text, and one by one."""
        size = len(offered.wordings)
        order = np.argsort(np.where(offered.place < 0, 4, offered.place), axis=1, kind="stable")
        rows = np.arange(order.shape[0])[:, None]
        texts = offered.texts[rows, order]
        keys = np.where(texts < 0, -1, _MEANING[offered.form][rows, order] * size + texts)
        for key in np.unique(keys[keys >= 0]).tolist():
            if key not in self._options:
                self._options[key] = Option("", offered.wordings[key % size], _MEANINGS[key // size])
        options = self._options
        listed = [tuple([options[key] for key in row if key >= 0]) for row in keys.tolist()]
        wordings = pl.Series(offered.wordings)
        columns = [wordings.gather(pl.Series(column).replace(-1, None)) for column in texts.T]
        return pl.select(pl.concat_str(columns, separator="; ", ignore_nulls=True)).to_series(), listed

    def _fill_rows(self, offered: Offered, names: Codes, doing: Codes) -> list[str]:
        """The question of each row without its options; filled in once for all that ask the same."""
        left = np.where(offered.left_first[:, None], offered.activities, offered.activities[:, ::-1])
        slotted = np.column_stack([names, doing, left])
        key = np.column_stack([offered.prompt, np.where(self._slots[offered.prompt], slotted, -1)])
        if len(self._texts) > _MOST:
            self._texts.clear()
        words, texts, out = (*offered.wordings, ""), self._texts, []
        for row in map(tuple, key.tolist()):
            text = texts.get(row)
            if text is None:
                text = texts[row] = self._fill(self._prompts[row[0]], *(words[place] for place in row[1:]))
            out.append(text)
        return out

    @cached_property
    def _slots(self) -> npt.NDArray[np.bool_]:
        """Flags of each prompt: it names a person, an activity, and those of either half."""
        flags = []
        for prompt in self._prompts:
            fields = {"activity"} if prompt.paradigm == "decision" else set(slots(self._template(prompt)))
            flags.append([name in fields for name in ("identity", "activity", "activity_1", "activity_2")])
        return np.array(flags, dtype=np.bool_)

    def _fill(self, prompt: Prompt, identity: str, activity: str, *halves: str) -> str:
        """Question about a person and an activity; `halves`: the activities, that of the left half first."""
        if prompt.paradigm == "decision":
            text = self._role_question(prompt, activity)
        else:
            left, right = halves
            levels = {"activity_1": left, "activity_2": right, "term": prompt.question}
            text = self._template(prompt).format(identity=identity, activity=activity, **levels)
        return text if prompt.medium != "text" else text.replace(" in this image", "")

    def _template(self, prompt: Prompt) -> str:
        name = {"stereotype": "term", "decision": "role"}.get(prompt.paradigm, prompt.question)
        return self._templates[prompt.paradigm, name, prompt.contrast][int(prompt.wording) - 1]

    def _role_question(self, prompt: Prompt, activity: str) -> str:
        """The question of a decision; its pattern is the authors', whatever the article should be, in their control."""
        role = self._roles[activity]
        if prompt.question.startswith("irrelevant"):
            control = irrelevant(role.activity, int(prompt.question.split()[1]), seed=self._seed, table=self._roles)
            return f"Who should I hire as a {control.noun}?"
        if prompt.wording == "1" or prompt.question != "ability":
            return paraphrase(role.questions[prompt.question], int(prompt.wording) - 1)
        return self._template(prompt).format(role=role.noun, a_role=with_article(role.noun))
