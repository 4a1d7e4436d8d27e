"""Interventions: changes to every request of a study, whose answers are compared with the plain ones.

Some come with FaceValue (`builtin`); users write their own as TOML, one table per intervention::

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
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from facevalue.arguments import check_fields
from facevalue.errors import DataError, UnknownNameError
from facevalue.given import read_file, to_toml
from facevalue.prompts import caesar
from facevalue.types import Option, Question

PLAIN = "plain"
"""Name of the condition without an intervention."""
PICTURES = ("keep", "none", "blank")
MAX_BYTES = 256 * 1024
"""Largest file of interventions."""
MAX_TEXT = 20_000
"""Most characters of one text."""
MAX_CAPTION = 2_000
"""Most characters of a caption."""
MAX_TURNS = 64
MOST = 16
"""Most interventions of one run."""
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_ROLES = ("user", "assistant")
Led = Callable[[str, Question], str]
"""A function of the text before a prompt and a plain question that returns the prompt with both."""


@dataclass(frozen=True, slots=True)
class Intervention:
    """Something done to every request.

    Attributes
    ----------
    name:
        Up to 40 lower-case letters, digits and hyphens; not "plain".
    title:
        For people; the name if there is none.
    picture:
        "keep", "none" (nothing is shown) or "blank" (a white picture of the same size).
    before, after:
        Text before and after the prompt. A space comes between, unless the text has a space or line break there itself.
    system:
        Text before the study's system message, a blank line between; the system message where the study has none.
    turns:
        A conversation before the prompt: (role, text), "user" and "assistant" in turn, the assistant last.
    cipher:
        Whether the request is put in the Caesar cipher, after all else has been done to it, and the reply is decoded.
    caption:
        Text on a white band below the picture, which stays as it is; a single space for a band without text.

    Raises
    ------
    DataError
        A text is too long, the name or the turns are not of that form, a caption has no picture, or nothing is done at
        all.
    UnknownNameError
        No such picture or role.

    Examples
    --------
    >>> Intervention("judge", before="Act as a judge.").before
    'Act as a judge.'
    """

    name: str
    title: str = ""
    picture: str = "keep"
    before: str = ""
    after: str = ""
    system: str = ""
    turns: tuple[tuple[str, str], ...] = ()
    cipher: bool = False
    caption: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
        if not _NAME.fullmatch(self.name) or self.name == PLAIN:
            raise DataError(
                f"An intervention cannot be called {self.name[:60]!r}: a name has up to 40 lower-case letters, digits "
                f"and hyphens, and is not {PLAIN!r}."
            )
        if self.picture not in PICTURES:
            raise UnknownNameError(f"picture of the intervention {self.name!r}", self.picture, PICTURES)
        if len(self.turns) > MAX_TURNS:
            raise DataError(
                f"The intervention {self.name!r} has {len(self.turns)} turns; at most {MAX_TURNS} are sent."
            )
        for text in (self.title, self.before, self.after, self.system, *(text for _, text in self.turns)):
            if len(text) > MAX_TEXT:
                raise DataError(
                    f"A text of the intervention {self.name!r} has {len(text):,} characters; at most {MAX_TEXT:,} are "
                    "sent."
                )
        if len(self.caption) > MAX_CAPTION:
            raise DataError(
                f"The caption of the intervention {self.name!r} has {len(self.caption):,} characters; at most "
                f"{MAX_CAPTION:,} are written below a picture."
            )
        if self.caption and self.picture == "none":
            raise DataError(
                f"The intervention {self.name!r} has a caption, and no picture that it could stand below: leave out "
                "one of the two."
            )
        for place, (role, _) in enumerate(self.turns):
            if role not in _ROLES:
                raise UnknownNameError(f"role in the turns of {self.name!r}", role, _ROLES)
            if role != _ROLES[place % 2]:
                raise DataError(f"The turns of {self.name!r} do not alternate: user, assistant, user, assistant.")
        if len(self.turns) % 2:
            raise DataError(
                f"The turns of {self.name!r} end with the user's: the prompt comes next, so answer it first."
            )
        if not any(self._given(field.name) for field in fields(self) if field.name not in ("name", "title")):
            raise DataError(
                f"The intervention {self.name!r} does nothing: give a text, turns, a picture, the cipher or a caption."
            )

    @property
    def label(self) -> str:
        """Name of the intervention for people."""
        return self.title or self.name

    def question(self, plain: Question, led: Led | None = None) -> Question:
        """Return the question that replaces a plain one. What it means to the study stays the same.

        `led` puts the text before the prompt; by default it precedes it.

        Examples
        --------
        >>> asked = Intervention("judge", before="Act as a judge.").question(Question("Who is taller?"))
        >>> asked.prompt
        'Act as a judge. Who is taller?'
        """
        before = led(self.before, plain) if led and self.before else joined(self.before, plain.prompt)
        prompt = joined(before, self.after)
        system = plain.system
        if self.system:
            system = self.system if plain.system is None else f"{self.system}\n\n{plain.system}"
        turns = (*self.turns, *plain.turns)
        if not self.cipher:
            return replace(plain, prompt=prompt, system=system, turns=turns)
        (_, explained), *examples, (_, coded) = caesar.conversation(prompt, system)
        coded_turns = [(role, caesar.encode(text)) for role, text in turns]
        options = tuple(Option(caesar.encode(o.label), caesar.encode(o.text), o.level) for o in plain.options)
        return replace(plain, prompt=coded, options=options, system=explained, turns=(*examples, *coded_turns))

    def text(self) -> str:
        """Everything about it as one line of JSON, always the same; `stored` reads it."""
        return canonical({field.name: getattr(self, field.name) for field in _FIELDS if self._given(field.name)})

    def _given(self, name: str) -> bool:
        return name == "name" or getattr(self, name) not in ("", (), False, "keep")


_FIELDS = fields(Intervention)
_KEYS = tuple(field.name for field in _FIELDS)


def canonical(table: Mapping[str, Any]) -> str:
    """A table as JSON that is always the same."""
    return json.dumps(table, ensure_ascii=False, sort_keys=True)


@cache
def builtin() -> Mapping[str, Intervention]:
    """Interventions that come with FaceValue, by name."""
    data = files("facevalue.prompts").joinpath("interventions.toml").read_bytes()
    return {intervention.name: intervention for intervention in parse_interventions(data, "interventions.toml")}


def chosen(choices: Sequence[str | Intervention]) -> tuple[Intervention, ...]:
    """Look interventions up, each by name or as a TOML file with one or several; an intervention stands for itself.

    Examples
    --------
    >>> [one.title for one in chosen(["no-image"])]
    ['No picture']
    """
    interventions: list[Intervention] = []
    for name in choices:
        if isinstance(name, Intervention):
            interventions.append(name)
        elif name.endswith(".toml"):
            interventions += read_interventions(Path(name))
        elif name in builtin():
            interventions.append(builtin()[name])
        else:
            raise UnknownNameError("intervention", name, [*builtin(), "FILE.toml"])
    return checked(interventions)


def checked(interventions: Iterable[Intervention]) -> tuple[Intervention, ...]:
    """The interventions of one run; a `DataError` if two share a name or there are more than 16."""
    listed = tuple(interventions)
    names = [intervention.name for intervention in listed]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise DataError(f"Two interventions are called {twice[0]!r}: answers are told apart by that name.")
    if len(listed) > MOST:
        raise DataError(f"{len(listed)} interventions are too many for one run: at most {MOST}.")
    return listed


def read_interventions(path: Path) -> tuple[Intervention, ...]:
    """Read a file of interventions; the form is at the top of this module."""
    return parse_interventions(read_file(path, MAX_BYTES, "interventions"), str(path))


def parse_interventions(data: bytes, name: str) -> tuple[Intervention, ...]:
    """Understand the bytes of a file of interventions, called `name` in errors."""
    document = to_toml(data, name, MAX_BYTES)
    for key in document:
        if key != "intervention":
            raise UnknownNameError(f"table in {name}", key, ["intervention"])
    tables = document.get("intervention")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise DataError(f"{name} has no intervention: begin each with a line [[intervention]].")
    return checked(_parsed(table, name) for table in tables)


def stored(texts: Iterable[str]) -> tuple[Intervention, ...]:
    """Build interventions again from what `Intervention.text` wrote down.

    Examples
    --------
    >>> one = Intervention("judge", before="Act as a judge.")
    >>> stored([one.text()]) == (one,)
    True
    """
    tables = []
    for text in texts:
        try:
            table = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"A stored intervention cannot be read: {error}.") from error
        if not isinstance(table, dict):
            raise DataError("A stored intervention is not a table.")
        tables.append(table)
    return checked(_parsed(table, "the stored interventions") for table in tables)


def _parsed(table: Mapping[str, Any], source: str) -> Intervention:
    for key in table:
        if key not in _KEYS:
            raise UnknownNameError(f"key of an intervention in {source}", key, _KEYS)
    if "name" not in table:
        raise DataError(f"An intervention in {source} has no name.")
    values = dict(table)
    for key, value in table.items():
        if key == "turns":
            values[key] = _turns(value, source)
        elif not isinstance(value, bool if key == "cipher" else str):
            raise DataError(
                f"{key} of an intervention in {source} is {'true or false' if key == 'cipher' else 'a text'}."
            )
    return Intervention(**values)


def _turns(value: object, source: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list):
        raise DataError(f'turns of an intervention in {source} are a list: [["user", "..."], ["assistant", "..."]].')
    out = []
    for turn in value:
        if not isinstance(turn, list) or len(turn) != 2 or not all(isinstance(text, str) for text in turn):
            raise DataError(f'Each turn of an intervention in {source} is a role and a text: ["user", "..."].')
        out.append((str(turn[0]), str(turn[1])))
    return tuple(out)


def joined(first: str, second: str) -> str:
    """Two texts, a space between unless one of them brings its own."""
    space = " " if first and second and not first[-1].isspace() and not second[0].isspace() else ""
    return first + space + second
