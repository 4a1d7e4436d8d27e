"""Questions of a study: a prompt with slots, its paraphrases, the orders of its options, and the kind of answer."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Factor
from facevalue.errors import DataError, UnknownNameError
from facevalue.prompts import phrase
from facevalue.protocol.aggregate import level_codes
from facevalue.protocol.replies import OPTIONS, Reply
from facevalue.types import Option, Question

WORDING, ORDERING = "wording", "ordering"
SLOT = re.compile(r"\{([A-Za-z_][A-Za-z0-9_ -]{0,63})\}")
"""A slot: a name in braces. All other braces are text."""
MOST_PROMPTS = 100_000
"""Different questions of a study."""


@dataclass(frozen=True)
class Ask:
    """What is asked about each stimulus.

    Attributes
    ----------
    prompts:
        Wordings of the question: paraphrases of each other. `{job}` is a slot for the level of a factor.
    reply:
        The kind of answer.
    slots:
        For each slot that is no factor of the pictures, its levels and their wording.
    system:
        The system message; none if empty.
    where:
        Place of the prompt in a file, for people.

    Examples
    --------
    >>> from facevalue.protocol import yes_or_no
    >>> ask = Ask(("Is this person a good {job}?",), yes_or_no(), slots={"job": {"nurse": "nurse", "cook": "cook"}})
    >>> list(ask.slots)
    ['job']
    """

    prompts: tuple[str, ...]
    reply: Reply
    slots: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    system: str = ""
    where: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.prompts or any(not text.strip() for text in self.prompts):
            raise DataError("A question needs a text.")
        if len(set(self.prompts)) != len(self.prompts):
            raise DataError("Two wordings of the question are the same.")
        for name, levels in self.slots.items():
            if not levels:
                raise DataError(f"The factor {name!r} has no levels.")
            if not name.isidentifier() or not name.isascii():
                raise DataError(f"The factor {name!r} is not made of letters, digits and underscores.")
            if name in (WORDING, ORDERING, OPTIONS.strip("{}")):
                what = "the options" if name == "options" else f"the {name} of the question"
                raise DataError(f"No factor can be called {name!r}, which stands for {what}. Rename it.")
            if not any(name in slots(text) for text in self.prompts):
                raise DataError(f"The prompt has no slot {{{name}}} for the factor {name!r}.")
        if len(self.reply.orderings) > 1 and not all(OPTIONS in text for text in self.prompts):
            raise DataError("Options are shown in several orders, so each wording of the prompt needs {options}.")
        if prod(len(factor) for factor in self.factors()) > MOST_PROMPTS:
            raise DataError(f"The prompt has more than {MOST_PROMPTS:,} versions.")

    @property
    def of_pictures(self) -> list[str]:
        """Slots of the prompts that have no levels of their own: pictures fill them."""
        return list(dict.fromkeys(name for text in self.prompts for name in slots(text) if name not in self.slots))

    def shown(self, columns: Sequence[str]) -> list[str]:
        """Slots that are filled with a factor of the pictures."""
        for name in self.of_pictures:
            if name not in columns:
                raise UnknownNameError("slot of the prompt", name, {*self.slots, *columns})
        return self.of_pictures

    def factors(self) -> tuple[Factor, ...]:
        """Prompt axes: slots, then wordings where there are several; the orderings come last."""
        named = [Factor(name, tuple(levels)) for name, levels in self.slots.items()]
        if len(self.prompts) > 1:
            named.append(Factor(WORDING, tuple(str(number + 1) for number in range(len(self.prompts)))))
        return (*named, Factor(ORDERING, self.reply.orderings))

    @property
    def items(self) -> tuple[Factor, ...]:
        """Prompt axes whose crossing are the items: all but the orderings."""
        return self.factors()[:-1]

    def item_codes(self, frame: pl.DataFrame) -> npt.NDArray[np.int64]:
        """The item that each row is about."""
        out = np.zeros(frame.height, dtype=np.int64)
        for factor in self.items:
            out = out * len(factor) + level_codes(frame[factor.name], factor.levels)
        return out


def slots(text: str) -> list[str]:
    """Slots of a prompt, but for that of the options.

    Examples
    --------
    >>> slots("Is this {person} a {job}? {options} {0} {a.b}")
    ['person', 'job']
    """
    return [name for name in SLOT.findall(text) if f"{{{name}}}" != OPTIONS]


def filled(text: str, levels: Mapping[str, str]) -> str:
    """A prompt with its slots filled; what is put in is not looked at again.

    Examples
    --------
    >>> filled("A {job}: {options}", {"job": "{options}", "options": "(a) or (b)"})
    'A {options}: (a) or (b)'
    """
    return SLOT.sub(lambda slot: levels.get(slot[1], slot[0]), text)


def listed(options: tuple[Option, ...]) -> str:
    """Options as a phrase: two in a row, more on lines of their own.

    Examples
    --------
    >>> listed((Option("(a)", "kind", ""), Option("(b)", "rude", "")))
    '(a) kind or (b) rude'
    >>> listed((Option("", "Yes", ""), Option("", "No", "")))
    'Yes or No'
    """
    if len(options) == 2:
        return (
            phrase((options[0], options[1])).strip().replace("  ", " ")
            if options[0].label
            else (f"{options[0].text} or {options[1].text}")
        )
    return "\n" + "\n".join(f"{option.label} {option.text}".strip() for option in options)


class Questions:
    """From trials to questions; equal ones are the same object."""

    def __init__(self, ask: Ask, shown: Sequence[str], facts: Mapping[str, str] | None = None) -> None:
        self._ask = ask
        self._shown = tuple(shown)
        self._facts = dict(facts or {})
        self._columns = [*(factor.name for factor in ask.factors()), *shown]
        self._known: dict[tuple[str | None, ...], Question] = {}

    def __call__(self, frame: pl.DataFrame) -> list[Question]:
        """The question of each row of a trial frame."""
        columns = frame.select(pl.col(self._columns).cast(pl.String))
        keys = columns.select(pl.struct(self._columns).alias("key")).to_series()
        distinct = columns.unique(maintain_order=True)
        made = [self._question(row) for row in distinct.iter_rows()]
        codes = pl.DataFrame({"key": keys}).join(
            distinct.select(pl.struct(self._columns).alias("key")).with_row_index("at"),
            on="key", how="left", nulls_equal=True, maintain_order="left",
        )["at"].to_list()  # fmt: skip
        return [made[code] for code in codes]

    def _question(self, key: tuple[str | None, ...]) -> Question:
        if key not in self._known:
            levels = dict(zip(self._columns, key, strict=True))
            for name in self._shown:
                if levels[name] is None:
                    raise DataError(f"A picture has no {name!r}, which the prompt asks about.")
            said = {name: texts[str(levels[name])] for name, texts in self._ask.slots.items()}
            said |= {name: str(levels[name]) for name in self._shown}
            options = self._ask.reply.options(str(levels[ORDERING]))
            if options:
                said["options"] = listed(options)
            text = self._ask.prompts[int(levels.get(WORDING) or 1) - 1]
            about = ", ".join(str(level) for name, level in levels.items() if name not in (WORDING, ORDERING))
            told = {"scenario": about or "question", **levels, **self._facts}
            self._known[key] = Question(filled(text, said), options, self._ask.system or None, told)
        return self._known[key]
