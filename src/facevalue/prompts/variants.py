"""Variants: the same question asked another way, whose answers are compared with the plain ones, as interventions."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace

from facevalue.arguments import check_fields
from facevalue.errors import DataError, UnknownNameError
from facevalue.prompts import caesar
from facevalue.types import Option, Question

PLAIN = "plain"
"""Name of the condition in which everything is asked as it is."""
MAX_TEXT = 20_000
"""Most characters of one text."""
MAX_CAPTION = 2_000
"""Most characters of a caption."""
MAX_TURNS = 64
MOST = 16
"""Most variants of one run."""
_SHOWN = {"keep": "", "none": "nothing is shown", "blank": "a blank picture is shown"}
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_ROLES = ("user", "assistant")
Led = Callable[[str, Question], str]
"""A function of the text before a prompt and a plain question that returns the prompt with both."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Another way to ask every question of a study.

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
    prompt:
        Another wording of the question, with the same slots. Only a study that declares the variant can ask it so.
    options:
        Another wording of options of a choice, by name; as `prompt`.
    tasks:
        Tasks of the study that alone are asked so; all if empty.
    where:
        Place of the variant in a file, for people.

    Raises
    ------
    DataError
        A text is too long, the name or the turns are not of that form, a caption has no picture, or nothing is done at
        all.
    UnknownNameError
        No such picture or role.

    Examples
    --------
    >>> Variant("judge", before="Act as a judge.").before
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
    prompt: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    where: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        if not _NAME.fullmatch(self.name) or self.name == PLAIN:
            raise DataError(
                f"A variant cannot be called {self.name[:60]!r}: a name has up to 40 lower-case letters, digits "
                f"and hyphens, and is not {PLAIN!r}."
            )
        if self.picture not in _SHOWN:
            raise UnknownNameError(f"picture of {self.name!r}", self.picture, _SHOWN)
        self._check_texts()
        self._check_turns()
        if not any(self._states(key) for key in KEYS if key not in ("name", "title", "tasks")):
            raise DataError(f"{self.name!r} does nothing: give a text, turns, a picture, the cipher or a caption.")

    def _check_texts(self) -> None:
        texts = (self.title, self.before, self.after, self.system, self.prompt, *self.options.values())
        for text in (*texts, *(text for _, text in self.turns)):
            if len(text) > MAX_TEXT:
                raise DataError(f"A text of {self.name!r} has {len(text):,} characters; at most {MAX_TEXT:,} are sent.")
        if len(self.caption) > MAX_CAPTION:
            raise DataError(
                f"The caption of {self.name!r} has {len(self.caption):,} characters; at most {MAX_CAPTION:,} are "
                "written below a picture."
            )
        if self.caption and self.picture == "none":
            raise DataError(
                f"{self.name!r} has a caption, and no picture that it could stand below: leave out one of the two."
            )

    def _check_turns(self) -> None:
        if len(self.turns) > MAX_TURNS:
            raise DataError(f"{self.name!r} has {len(self.turns)} turns; at most {MAX_TURNS} are sent.")
        for place, (role, _) in enumerate(self.turns):
            if role not in _ROLES:
                raise UnknownNameError(f"role in the turns of {self.name!r}", role, _ROLES)
            if role != _ROLES[place % 2]:
                raise DataError(f"The turns of {self.name!r} do not alternate: user, assistant, user, assistant.")
        if len(self.turns) % 2:
            raise DataError(
                f"The turns of {self.name!r} end with the user's: the prompt comes next, so answer it first."
            )

    @property
    def label(self) -> str:
        """Name of the variant for people."""
        return self.title or self.name

    @property
    def description(self) -> str:
        """Description of the changes that it makes to a request, for people.

        Examples
        --------
        >>> Variant("judge", before="Act as a judge.", picture="none").description
        'before the prompt “Act as a judge.”; nothing is shown'
        """
        of = f"of {', '.join(self.tasks)}" if self.tasks else ""
        prompt = f"asked as “{self.prompt}”" if self.prompt else ""
        options = f"options {', '.join(f'“{text}”' for text in self.options.values())}" if self.options else ""
        texts = {"before the prompt": self.before, "after it": self.after, "system message": self.system}
        turns = f"{len(self.turns)} turns before the prompt" if self.turns else ""
        cipher = "in the Caesar cipher" if self.cipher else ""
        texts |= {"below the picture": self.caption}
        stated = [f"{place} “{text}”" for place, text in texts.items() if text]
        return "; ".join(filter(None, [of, prompt, options, *stated, turns, _SHOWN[self.picture], cipher]))

    @property
    def reworded(self) -> bool:
        """True if the question or its options have another wording."""
        return bool(self.prompt or self.options)

    def question(self, plain: Question, led: Led | None = None) -> Question:
        """Return the question that replaces a plain one. What it means to the study stays the same.

        `led` puts the text before the prompt; by default it precedes it.

        Examples
        --------
        >>> asked = Variant("judge", before="Act as a judge.").question(Question("Who is taller?"))
        >>> asked.prompt
        'Act as a judge. Who is taller?'
        """
        before = led(self.before, plain) if led and self.before else join_texts(self.before, plain.prompt)
        prompt = join_texts(before, self.after)
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
        """Everything about it as one line of JSON, always the same."""
        stated = {key: getattr(self, key) for key in KEYS if self._states(key)}
        return json.dumps(stated, ensure_ascii=False, sort_keys=True)

    def _states(self, key: str) -> bool:
        return key == "name" or getattr(self, key) not in ("", (), {}, False, "keep")


Intervention = Variant
"""Name of a variant that a user adds to a study."""
KEYS = tuple(field.name for field in fields(Variant) if field.name != "where")
"""Keys that a file may have for a variant."""


def check_distinct(variants: Iterable[Variant]) -> tuple[Variant, ...]:
    """The variants of one run; a `DataError` if two share a name or there are more than 16."""
    listed = tuple(variants)
    names = [variant.name for variant in listed]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise DataError(f"Two variants are called {twice[0]!r}: answers are told apart by that name.")
    if len(listed) > MOST:
        raise DataError(f"{len(listed)} variants are too many for one run: at most {MOST}.")
    return listed


def join_texts(first: str, second: str) -> str:
    """Two texts, a space between unless one of them brings its own."""
    space = " " if first and second and not first[-1].isspace() and not second[0].isspace() else ""
    return first + space + second
