"""Questions of a study: a prompt with slots, its paraphrases, the orders of its options, and the kind of answer."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import isnan, prod

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers import check_apart
from facevalue.answers.yes_no import YesNoWords
from facevalue.design import Factor
from facevalue.errors import DataError, UnknownNameError, error_place
from facevalue.measures.estimators import number_levels
from facevalue.prompts.phrases import OPTIONS, check_unfilled, fill_slots, slots
from facevalue.protocol.open_answers import KEYWORDS, outside_of
from facevalue.protocol.replies import BOTH, ONE, YES_NO, GroupReply, Options, Reply, phrase_options
from facevalue.protocol.settings import Options as Choices
from facevalue.protocol.settings import Setting, whole
from facevalue.types import Option, Question, Sampling

_PICTURES = ("image", "picture", "photo", "photograph")
"""Words that mean the same of a picture: where a prompt uses one, a reply may use any."""
_NO_NAME = re.compile(
    "the|and|or|either|both|only|just|with|is|are|was|between|from|than|like|say|choose|pick|select|answer|reply|respond|"
    "write|letter|option|of|choice|which|one|two|for|to|as|be|not|more|in|on|at|by|vs"
)
_NOUN = r"[a-z]{3,20}"
_BETWEEN = r"\s*(?:,|/|\band\b|\bor\b|,\s*(?:and|or)\b)\s*"


def presented_as(texts: Iterable[str], letters: Sequence[str]) -> tuple[str, ...]:
    """Return the nouns that prompts put before the letters of their options, singular, in the order of the texts.

    Parameters
    ----------
    texts:
        Prompts, and what fills their slots.
    letters:
        Texts of the options. Only where all are single letters have they such names.

    Notes
    -----
    A noun counts if it stands before all letters as a list, "images, A and B" or "person (A or B)", or before each of
    two, "face A" and "face B". Letters are capitals there, as in the options: "a" would be an article.

    Examples
    --------
    >>> presented_as(["You see two faces, A and B. Which person (A or B) is kind?"], ["A", "B"])
    ('face', 'person')
    """
    if len(letters) < 2 or not all(re.fullmatch(r"[A-Z]", letter) for letter in letters):
        return ()
    series, any_letter = _BETWEEN.join(letters), "|".join(letters)
    before_list = re.compile(
        rf"\b(?P<first>(?i:{_NOUN}))(?: of (?:the |this |a )?(?P<second>(?i:{_NOUN})))?\s*[,:(]?\s*{series}(?![\w'])"
    )
    before_letter = re.compile(rf"\b(?P<noun>(?i:{_NOUN}))\s(?P<letter>{any_letter})(?![\w'])")
    nouns: dict[str, None] = {}
    for text in texts:
        for match in before_list.finditer(text):
            nouns |= dict.fromkeys(_singular(noun) for noun in match.groups() if noun)
        letters_of: dict[str, set[str]] = {}
        for match in before_letter.finditer(text):
            letters_of.setdefault(_singular(match["noun"]), set()).add(match["letter"])
        nouns |= dict.fromkeys(noun for noun, of_noun in letters_of.items() if len(of_noun) > 1)
    names = [noun for noun in nouns if not _NO_NAME.fullmatch(noun)]
    if any(noun in _PICTURES for noun in names):
        names = [*(noun for noun in names if noun not in _PICTURES), *_PICTURES]
    return tuple(names)


def _singular(noun: str) -> str:
    noun = noun.lower()
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


# Items: a table of questions, each with texts of its own for the slots of the prompt and of its options.


Item = Mapping[str, str]
"""Texts by column; the first names the item. A column that only an option shows may be left out: so is the option."""
MOST_ITEMS = 10_000


def check_items(
    items: Sequence[Item],
    optional: Collection[str] = (),
    place: Callable[[int], AbstractContextManager[None]] = lambda _: nullcontext(),
) -> None:
    """Refuse items that have not all the same columns, and a name of their own; `place` says where one stands.

    `optional`: columns that an item may leave out, as only an option shows them.

    Raises
    ------
    DataError
        An item lacks a text, is called as another one, or there are too many.
    UnknownNameError
        An item has a column that the first has not.

    Examples
    --------
    >>> check_items([{"trait": "kind", "good": "kind", "bad": "rude"}])
    """
    if len(items) > MOST_ITEMS:
        raise DataError(f"There are {len(items):,} items; {MOST_ITEMS:,} are the most.")
    names = set()
    for number, item in enumerate(items):
        with place(number):
            name = _checked_name(item, items[0], number + 1, optional)
            if name in names:
                raise DataError(f"Two items are called {name!r}: their first column tells them apart.")
            names.add(name)


def _checked_name(item: Item, first: Item, number: int, optional: Collection[str]) -> str:
    if not first:
        raise DataError("An item has columns; the first of them names it.")
    for column in item:
        if column not in first and column not in optional:
            raise UnknownNameError(f"column of item {number}", column, {*first, *optional})
    name = next(iter(first))
    for column in first:
        if not item.get(column, "").strip() and (column == name or column not in optional):
            raise DataError(f"Item {number} has no {column!r}: each item has a text in all columns of the first.")
    return item[name]


def texts_of(items: Sequence[Item]) -> dict[str, dict[str, str]]:
    """Texts of each column, by the names of the items; empty where an item leaves a column out.

    Examples
    --------
    >>> texts_of([{"trait": "kind", "bad": "rude"}, {"trait": "able", "bad": "inept"}])["bad"]
    {'kind': 'rude', 'able': 'inept'}
    """
    first, *_ = columns = list(dict.fromkeys(column for item in items for column in item))
    return {
        column: {item[first]: item.get(column, "").strip() and item[column] for item in items} for column in columns
    }


def factor_of(items: Sequence[Item], slots: Collection[str]) -> Factor:
    """Return the factor whose levels are the items; columns that fill no slot are coarser factors.

    Examples
    --------
    >>> items = [{"trait": "kind", "of": "warmth", "bad": "rude"}, {"trait": "able", "of": "skill", "bad": "inept"}]
    >>> factor_of(items, {"bad"}).attributes
    {'of': ('warmth', 'skill')}
    """
    texts = texts_of(items)
    name = next(iter(texts))
    coarser = {column: tuple(by_item.values()) for column, by_item in texts.items() if column not in {name, *slots}}
    return Factor(name, tuple(texts[name]), coarser)


WORDING, ORDERING, DRAW = "wording", "ordering", "draw"
ANY = "*"
"""Stands for any level of a column, which is not empty then."""
_QUESTION, _LANGUAGE = "(question)", "(language)"
"""Column of codes of questions, and the slot of the level that says which language an answer is in."""
MOST_DRAWS = 64
MOST_PROMPTS = 100_000
"""Different questions of a study."""


@dataclass(frozen=True)
class Ask:
    """Questions that are asked about each stimulus.

    Attributes
    ----------
    prompts:
        Wordings of the question: paraphrases of each other. `{job}` is a slot for the level of a factor.
    reply:
        The kind of answer. Options of a choice may have slots, too.
    slots:
        For each slot that is no factor of the pictures, its levels and their wording.
    system:
        The system message; none if empty.
    items:
        A table of questions, a row each: texts by column. The first column names the item and is a factor; others
        fill slots of the prompt and of the options, or, where they fill none, are coarser factors. An option is not
        shown with an item that leaves out the column of its slot. A text that fills a slot of the prompt may have slots
        for columns of the pictures.
    pictures:
        Levels of columns of the pictures that it is asked about, where these are not all; "*" stands for any level.
    draws:
        Replies to each question, each with a seed of its own; or the setting that says how many.
    sampling:
        How its replies are drawn, where that differs from the study's.
    from_pictures:
        For a slot or the items, the column of the pictures that says which level alone each is asked about, if any.
    labels:
        Levels of labels that all its trials and estimates have, in place of `task`.
    where, places, slot_places:
        Place of the prompt in a file, of each item, and of each slot's levels or a judge's template, for people.

    Examples
    --------
    >>> from facevalue.protocol import choice, yes_or_no
    >>> ask = Ask(("Is this person a good {job}?",), yes_or_no(), slots={"job": {"nurse": "nurse", "cook": "cook"}})
    >>> list(ask.slots)
    ['job']

    Two traits, each with its own poles:

    >>> poles = choice({"good": "{trait}", "bad": "{opposite}"}, favourable="good", order="all")
    >>> rows = ({"trait": "kind", "opposite": "rude"}, {"trait": "able", "opposite": "inept"})
    >>> Ask(("Is this person {options}?",), poles, items=rows).named_factors[0].levels
    ('kind', 'able')
    """

    prompts: tuple[str, ...]
    reply: Reply
    slots: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    system: str = ""
    items: Sequence[Item] = ()
    pictures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    draws: int | Setting = 1
    sampling: Sampling | None = None
    from_pictures: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    where: str = field(default="", compare=False, repr=False)
    places: Sequence[str] = field(default=(), compare=False, repr=False)
    slot_places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.prompts or any(not text.strip() for text in self.prompts):
            raise DataError("A question needs a text.")
        if len(set(self.prompts)) != len(self.prompts):
            raise DataError("Two wordings of the question are the same.")
        check_unfilled([self.system], "the system message")
        check_items(self.items, self.optional, lambda number: error_place(self.places[number] if self.places else ""))
        object.__setattr__(self, "pictures", {**dict.fromkeys(self.from_pictures.values(), (ANY,)), **self.pictures})
        self._check_names()
        self._check_slots()
        if len(self.reply.orderings) > 1 and not all(OPTIONS in text for text in self.prompts):
            raise DataError("Options are shown in several orders, so each wording of the prompt needs {options}.")
        if prod(len(factor) for factor in self.factors()) > MOST_PROMPTS:
            raise DataError(f"The prompt has more than {MOST_PROMPTS:,} versions.")
        if isinstance(self.reply, Options):
            self._check_options(self.reply)

    def place_of(self, factor: str) -> str:
        """Place of a factor of the prompt in a file, for people; empty for one of the pictures, or of no file."""
        if factor in self.slot_places:
            return self.slot_places[factor]
        return next(iter(self.places), "") if self.items and factor in texts_of(self.items) else ""

    @property
    def optional(self) -> list[str]:
        """Columns that only options show."""
        options = self.reply.all_texts if isinstance(self.reply, Options) else ()
        in_prompts = {name for text in self.prompts for name in slots(text)}
        return list(dict.fromkeys(name for text in options for name in slots(text) if name not in in_prompts))

    @cached_property
    def _prompt_slots(self) -> dict[str, None]:
        """Slots of prompts, and of the texts of items that fill these."""
        names = [name for text in self.prompts for name in slots(text)]
        texts = texts_of(self.items) if self.items else {}
        of_items = (name for column in names for text in texts.get(column, {}).values() for name in slots(text))
        return dict.fromkeys([*names, *of_items])

    @property
    def _item_column(self) -> str:
        """Column that names the items."""
        return next(iter(self.items[0]))

    def _check_names(self) -> None:
        for name, levels in self.slots.items():
            if not levels:
                raise DataError(f"The factor {name!r} has no levels.")
            if self.items and name in texts_of(self.items):
                raise DataError(f"{name!r} is a column of the items and a factor of its own. Rename one of them.")
        factors = [*([self._item_column] if self.items else []), *self.slots]
        for name, column in self.from_pictures.items():
            with error_place(self.slot_places.get(column, "")):
                if name not in factors:
                    raise UnknownNameError("factor of the question", name, factors)
        for name in (*self.slots, *(texts_of(self.items) if self.items else ())):
            with error_place(self.place_of(name)):
                self._check_name(name)

    def _check_name(self, name: str) -> None:
        """Refuse a factor of this name."""
        if not name.isidentifier() or not name.isascii():
            raise DataError(f"The factor {name!r} is not made of letters, digits and underscores.")
        if name in (WORDING, ORDERING, DRAW, OPTIONS.strip("{}")):
            meaning = "the options" if name == "options" else f"the {name} of the question"
            raise DataError(f"No factor can be called {name!r}, which stands for {meaning}. Rename it.")

    def _check_slots(self) -> None:
        for name in self.slots:
            if name not in self._slots:
                raise DataError(f"The prompt has no slot {{{name}}} for the factor {name!r}.")
        if self.items and not self._slots & set(self.items[0]):
            columns = ", ".join(f"{{{column}}}" for column in self.items[0])
            raise DataError(f"Neither the prompt nor an option has a slot for a column of the items ({columns}).")

    def _check_options(self, reply: Options) -> None:
        item_places = (
            dict(zip(texts_of(self.items)[self._item_column], self.places, strict=False)) if self.places else {}
        )
        for levels in product(*(factor.levels for factor in self._option_factors)):
            place = next((item_places[level] for level in levels[:1] if level in item_places), reply.where)
            with error_place(place):
                self.check_shown(reply, self._filling(levels), ", ".join(levels))

    def check_shown(self, reply: Options, filling: Mapping[str, str], of: str) -> None:
        """Refuse options of a question that are too few, that read alike, or none of which is the key."""
        options = self.options(filling, reply.orderings[0])
        names = [reply.names[option.level] for option in options]
        if len(names) < 2:
            lacks = ", ".join(repr(name) for name, text in filling.items() if not text)
            raise DataError(
                f"The question about {of} lacks {lacks}, which leaves {len(names) or 'no'} option: it needs 2."
            )
        for key in reply.keys:
            if key in filling and filling[key] not in names:
                raise UnknownNameError(f"option (column {key!r} of {of})", filling[key], names)
        texts = [option.text for option in options]
        if len(set(texts)) < len(texts):
            twice = next(text for text in texts if texts.count(text) > 1)
            raise DataError(f"Two options of {of} have one wording, {twice!r}.")
        if reply.parser == YES_NO:
            YesNoWords(texts[0], texts[1])
        check_apart(options)
        if len(names) == len(reply.texts):
            return
        if reply.order not in (ONE, BOTH):
            raise DataError(
                f"The question about {of} has {len(names)} of {len(reply.texts)} options: write `orderings` "
                f'"{ONE}" or "{BOTH}", as rotations would not show each as early as any.'
            )
        for scale in reply.scales:
            if not filling.keys() >= {*scale.slots}:
                continue
            values = (scale.value(name, filling) for name in names)
            if len({value for value in values if not isnan(value)}) < 2:
                raise DataError(f"All options of {of} count the same.")

    @cached_property
    def _texts(self) -> dict[str, tuple[str, Mapping[str, str]]]:
        """For each slot that is not filled by pictures the factor that fills it, and its texts by level."""
        texts: dict[str, tuple[str, Mapping[str, str]]] = {name: (name, levels) for name, levels in self.slots.items()}
        if self.items:
            name = self._item_column
            texts |= {column: (name, by_item) for column, by_item in texts_of(self.items).items()}
        language = self.reply.by_language if isinstance(self.reply, Options) else ""
        if language in self.slots or (language == WORDING and len(self.prompts) > 1):
            levels = self.slots.get(language, self._wordings)
            texts[_LANGUAGE] = language, {level: level for level in levels}
        elif language in texts:
            texts[_LANGUAGE] = texts[language]
        return texts

    @cached_property
    def _option_names(self) -> list[str]:
        """Slots of the options, columns that name one of them, and columns that these depend on."""
        if isinstance(self.reply, GroupReply):
            return list(self.reply.columns)
        if not isinstance(self.reply, Options):
            return []
        names = [*(name for text in self.reply.all_texts for name in slots(text)), *self.reply.keys]
        if language := self.reply.by_language:
            names.append(_LANGUAGE if _LANGUAGE in self._texts else language)
        return list(dict.fromkeys(names))

    @cached_property
    def _option_slots(self) -> list[str]:
        return [name for name in self._option_names if name in self._texts]

    @cached_property
    def option_columns(self) -> list[str]:
        """Columns of the pictures that fill slots of the options or name one: each picture has its own question."""
        return [name for name in self._option_names if name not in self._texts]

    @cached_property
    def _slots(self) -> set[str]:
        return {*self._option_slots, *self._prompt_slots}

    @property
    def of_pictures(self) -> list[str]:
        """Slots of prompts, options and a judge's templates that have no texts of their own: pictures fill them."""
        names = (*self._prompt_slots, *self.option_columns, *outside_of(self.reply).slots)
        return list(dict.fromkeys(name for name in names if name not in self._texts))

    @property
    def slot_texts(self) -> list[str]:
        """Slots that have texts of their own."""
        return [name for name in self._texts if name != _LANGUAGE]

    def shown(self, columns: Sequence[str]) -> list[str]:
        """Slots of prompts and options that are filled with a factor of the pictures."""
        question_slots = {*self._prompt_slots, *self.option_columns}
        for name in self.of_pictures:
            if name not in columns:
                with error_place(self.where if name in question_slots else self.slot_places.get(name, "")):
                    kind = "slot of the prompt" if name in question_slots else "slot of what a judge is shown"
                    raise UnknownNameError(kind, name, {*self._texts, *columns})
        return [name for name in self.of_pictures if name in question_slots]

    @property
    def named_factors(self) -> tuple[Factor, ...]:
        """Factors whose levels are declared: items first, then slots."""
        items = (factor_of(self.items, self._slots),) if self.items else ()
        return (*items, *(Factor(name, tuple(levels)) for name, levels in self.slots.items()))

    def narrow(self, levels: Mapping[str, Collection[str]]) -> "Ask":
        """Return the question with only these levels of the named factors."""
        slots = {
            name: {level: text for level, text in texts.items() if level in levels.get(name, texts)}
            for name, texts in self.slots.items()
        }
        name = self._item_column if self.items else ""
        # After the item, whose first column names it; an item may lack the slots of its options
        no_texts = {slot: "" for slot in self._option_slots if slot not in (*self.slots, _LANGUAGE)}
        items = [{**item, **no_texts, **item} for item in self.items if item[name] in levels.get(name, (item[name],))]
        pictures = {column: tuple(levels[name]) for name, column in self.from_pictures.items() if name in levels}
        narrowed = replace(self, slots=slots, items=items, pictures={**self.pictures, **pictures}, places=())
        if not isinstance(self.reply, Options) or _LANGUAGE not in self._texts:
            return narrowed
        gone = {*self._texts[_LANGUAGE][1].values()} - {*narrowed._texts.get(_LANGUAGE, ("", {}))[1].values()}
        languages = {name: reply for name, reply in self.reply.languages.items() if name not in gone}
        return replace(narrowed, reply=replace(self.reply, languages=languages))

    @cached_property
    def question_factors(self) -> tuple[Factor, ...]:
        """Prompt axes whose crossing are the questions: items, slots, then wordings where there are several."""
        factors = tuple(factor for factor in self.named_factors if factor.name not in self.from_pictures)
        return factors if len(self.prompts) == 1 else (*factors, Factor(WORDING, self._wordings))

    @property
    def picture_factors(self) -> dict[str, Factor]:
        """Named factors whose level is that of a picture, by its column."""
        factors = (factor for factor in self.named_factors if factor.name in self.from_pictures)
        return {self.from_pictures[factor.name]: factor for factor in factors}

    @property
    def _wordings(self) -> tuple[str, ...]:
        return tuple(str(n + 1) for n in range(len(self.prompts)))

    def factors(self) -> tuple[Factor, ...]:
        """Prompt axes; the orderings come last, and after them the replies to each question where there are several."""
        draws = [Factor(DRAW, tuple(map(str, range(self.replies))))] if self.replies > 1 else []
        return (*self.question_factors, Factor(ORDERING, self.reply.orderings), *draws)

    @property
    def replies(self) -> int:
        """Replies to each question: those of the default of a setting until it is chosen."""
        draws = self.draws
        return draws if isinstance(draws, int) else self.choose_draws({draws.name: draws.default})

    def choose_draws(self, choices: Choices) -> int:
        """Replies to each question that the user chose."""
        draws = self.draws
        return draws if isinstance(draws, int) else whole(choices, draws.name, 1, MOST_DRAWS)

    def question_codes(self, frame: pl.DataFrame) -> npt.NDArray[np.int64]:
        """The question that each row is about."""
        return _crossing_places(frame, self.question_factors)

    def texts(self, levels: Mapping[str, str | None], of_pictures: Mapping[str, str]) -> dict[str, str]:
        """Texts of the slots, for these levels of their factors and what pictures fill slots with."""
        texts = {slot: texts[str(levels[name])] for slot, (name, texts) in self._texts.items()} | {**of_pictures}
        columns = texts_of(self.items) if self.items else {}
        return {slot: fill_slots(text, texts) if slot in columns else text for slot, text in texts.items()}

    @cached_property
    def _option_factors(self) -> tuple[Factor, ...]:
        names = {self._texts[slot][0] for slot in self._option_slots}
        return tuple(f for f in (*self.picture_factors.values(), *self.question_factors) if f.name in names)

    def _filling(self, levels: Sequence[str]) -> dict[str, str]:
        """Texts of the options' slots, for these levels of the factors that fill them."""
        level_of = dict(zip((factor.name for factor in self._option_factors), levels, strict=True))
        return {slot: self._texts[slot][1][level_of[self._texts[slot][0]]] for slot in self._option_slots}

    def options(self, texts: Mapping[str, str], ordering: str) -> tuple[Option, ...]:
        """The options in this order, their slots filled; those with an empty slot are left out."""
        reply = self._named_reply
        if isinstance(reply, GroupReply):
            return reply.options_of(ordering, texts)
        if isinstance(reply, Options) and reply.languages:
            reply = reply.languages.get(texts.get(_LANGUAGE, texts.get(reply.by_language, "")), reply)
        options = reply.options(ordering)
        if not self._option_names:
            return options
        remaining = [option for option in options if all(texts.get(name, name) for name in slots(option.text))]
        return tuple(  # with the first letters, whichever options are left
            Option(at.label, fill_slots(option.text, texts), option.level, option.nouns, option.language)
            for option, at in zip(remaining, options, strict=False)
        )

    @cached_property
    def _named_reply(self) -> Reply:
        """The kind of answer, with the nouns by which the prompts present its options."""
        reply = self.reply
        if not isinstance(reply, Options) or reply.letters:
            return reply
        texts = (*self.prompts, *(text for _, by_level in self._texts.values() for text in by_level.values()))
        return replace(reply, nouns=presented_as(texts, list(reply.texts.values())))

    def read(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Scores, mass and reasons of replies, from text, probs, status and what was asked; the same rows."""
        if not isinstance(self.reply, Options) or not self._option_names:
            texts = {name: self._texts[name] for name in outside_of(self.reply).slots if name in self._texts}
            filled = (
                pl.col(factor).cast(pl.String).replace_strict(of_levels, return_dtype=pl.String).alias(slot)
                for slot, (factor, of_levels) in texts.items()
            )
            return self._named_reply.read(frame.with_columns(filled))
        factors = [factor.name for factor in self._option_factors]
        distinct, codes = _number_rows(frame, [*factors, *self.option_columns, ORDERING])
        fillings, options = [], []
        for row in distinct.iter_rows(named=True):
            of_picture = {name: row[name] or "" for name in self.option_columns}
            fillings.append(self._filling([row[name] for name in factors]) | of_picture)
            options.append(self.options(fillings[-1], row[ORDERING]))
        dtype = pl.UInt16 if len(options) < 2**16 else pl.UInt32
        return self.reply.read(frame.with_columns(codes.cast(dtype)), (_QUESTION, options, fillings))


def _number_rows(frame: pl.DataFrame, columns: list[str]) -> tuple[pl.DataFrame, pl.Series]:
    """Different rows of these columns as texts, and the number of each row's among them."""
    texts = frame.select(pl.col(columns).cast(pl.String))
    distinct = texts.unique(maintain_order=True)
    numbered = distinct.with_row_index(_QUESTION)
    joined = texts.join(numbered, on=columns, how="left", nulls_equal=True, maintain_order="left")
    return distinct, joined[_QUESTION]


def _crossing_places(frame: pl.DataFrame, factors: Sequence[Factor]) -> npt.NDArray[np.int64]:
    """Place of each row in the crossing of these factors."""
    codes = np.zeros(frame.height, dtype=np.int64)
    for factor in factors:
        codes = codes * len(factor) + number_levels(frame[factor.name], factor.levels)
    return codes


_REMEMBERED = 16_384  # questions of earlier trials


class Questions:
    """From trials to questions; equal ones are the same object, as long as not too many others came between."""

    def __init__(self, ask: Ask, columns: Sequence[str], facts: Mapping[str, str | None] | None = None) -> None:
        self._ask = ask
        self._shown = tuple(columns)
        self._facts = dict(facts or {})
        of_pictures = [factor.name for factor in ask.picture_factors.values()]
        self._columns = [*of_pictures, *(factor.name for factor in ask.factors()), *columns]
        self._known: dict[tuple[str | None, ...], Question] = {}

    def __call__(self, frame: pl.DataFrame) -> list[Question]:
        """The question of each row of a trial frame."""
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        distinct, codes = _number_rows(frame, self._columns)
        questions = [self._question(row) for row in distinct.iter_rows()]
        return [questions[code] for code in codes.to_list()]

    def _question(self, key: tuple[str | None, ...]) -> Question:
        if key not in self._known:
            levels = dict(zip(self._columns, key, strict=True))
            for name in self._shown:
                if levels[name] is None and name not in self._ask.optional:
                    raise DataError(f"A picture has no {name!r}, which the prompt asks about.")
            texts = self._ask.texts(levels, {name: levels[name] or "" for name in self._shown})
            options = self._ask.options(texts, str(levels[ORDERING]))
            reply, columns, phrase = self._ask.reply, tuple[str, ...](), phrase_options
            if isinstance(reply, GroupReply):
                columns, phrase = reply.columns, reply.phrase
            if options:
                texts["options"] = phrase(options)
            text = self._ask.prompts[int(levels.get(WORDING) or 1) - 1]
            about = {name: level for name, level in levels.items() if name not in (WORDING, ORDERING, DRAW, *columns)}
            prompt = fill_slots(text, texts)
            of_simulated = {name: fact for name, fact in self._facts.items() if name != KEYWORDS or KEYWORDS in prompt}
            facts = {"scenario": ", ".join(map(str, about.values())) or "question", **levels, **of_simulated}
            draw = int(levels.get(DRAW) or 0)
            self._known[key] = Question(prompt, options, self._ask.system or None, facts, (), self._ask.sampling, draw)
        return self._known[key]
