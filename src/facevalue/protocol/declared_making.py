"""Pictures that an own study has made: a text with slots, levels or people that fill them, and edits of each base."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from math import prod

import polars as pl

from facevalue.errors import DataError, UnknownNameError, error_place
from facevalue.generators.base import NULL_EDIT
from facevalue.prompts.phrases import fill_slots, slots
from facevalue.protocol.making import IMAGE, PATH, PROMPT, SOURCE, Making, PicturePlan
from facevalue.protocol.settings import Options, Setting, chosen, fold_name, names, whole
from facevalue.protocol.sources import (
    ATTEMPT,
    DRAWS,
    EDIT,
    EXISTING,
    MOST_DRAWS,
    SEED,
    candidates,
    existing,
    in_form,
    null_edit,
    with_edits,
)
from facevalue.stimuli.manifest import MAKING, MAX_CELL, RESERVED
from facevalue.stimuli.manifest_rows import Column
from facevalue.stimuli.portraits import AGES, ATTRIBUTES, BUILDS, GENDERS, SKIN_TONES, Identity
from facevalue.stimuli.portraits.levels import Stream
from facevalue.types import OptionValue

# What FaceValue draws in place of the pictures that an own study has made: its portraits, as far as levels say who.


_SPELLED = {
    "gender": {**{name: name for name in GENDERS}, "woman": "female", "girl": "female", "man": "male", "boy": "male"},
    "age": {**{fold_name(name): name for name in AGES}, "old": "elderly"},
    "build": {**{name: name for name in BUILDS}, "fat": "obese", "slim": "thin"},
    "skin_tone": {fold_name(name): name for name in SKIN_TONES},
}
"""Levels of a portrait, by what they may be called in any column."""
_USUAL = {"gender": GENDERS, "age": AGES, "build": BUILDS, "skin_tone": SKIN_TONES}
_CHANGES = {value: (name, value) for name, attribute in ATTRIBUTES.items() for value in attribute.values}


def drawings(table: pl.DataFrame, cue: str) -> dict[str, Callable[[], str]]:
    """Portraits for the pictures of a plan, by image: what no column says of a person is drawn by seed.

    `cue`: the column of edits, empty if there is none; an edit is drawn where it is called as a value of an attribute
    of portraits ("sunglasses").
    """
    columns = [name for name in table.columns if name not in (IMAGE, SOURCE)]
    out: dict[str, Callable[[], str]] = {}
    for row in table.select(IMAGE, SOURCE, *columns).iter_rows(named=True):
        base = row[SOURCE] or row[IMAGE]
        edit = row[cue] if cue and row[SOURCE] is not None else None
        levels = tuple(str(row[name]) for name in columns if name != cue and row[name] is not None)
        out[row[IMAGE]] = partial(_svg, base, levels, edit)
    return out


def _svg(base: str, levels: tuple[str, ...], edit: str | None) -> str:
    from facevalue.stimuli.portraits import svg  # noqa: PLC0415 - a study that is read draws nothing

    stream = Stream(0, f"made:{base}")
    seed, facts = stream.index(2**53), {name: stream.choice(listed) for name, listed in _USUAL.items()}
    for name, spelled in _SPELLED.items():
        facts[name] = next((spelled[fold_name(level)] for level in levels if fold_name(level) in spelled), facts[name])
    person = Identity(base, seed, facts["gender"], facts["age"], facts["skin_tone"], facts["build"])
    if edit is None or edit == NULL_EDIT:
        return svg(person)
    if edit not in _CHANGES:
        raise UnknownNameError("edit that FaceValue draws", edit, _CHANGES)
    return svg(person, _CHANGES[edit])


MOST_BASES = 100_000
MOST_PICTURES = 1_000_000
LONGEST_PROMPT = 4_000
"""Most characters of a prompt or an edit."""
_CHOICES = ("sets", "draws", *(setting.name for setting in EXISTING), SEED.name, "edit")
_COLUMNS = (IMAGE, PATH, ATTEMPT, "identity", "set", "template", "unit", *MAKING)
_TAKEN = RESERVED | frozenset(_COLUMNS) | frozenset(_CHOICES)


@dataclass(frozen=True, kw_only=True)
class DeclaredMaking:
    """Pictures that an own study has made.

    Attributes
    ----------
    prompt:
        What a generator is told for a base; `{age}` is a slot for the level of a factor, or for a column of the people.
        Empty where bases exist.
    factors:
        Levels of each slot by name, with what fills it; all are crossed. They are columns of the pictures.
    people:
        Who is shown, a row each: columns that fill slots together, or are factors of the pictures beside.
    edits:
        What an editor is told, by level of the cue; slots are filled as in the prompt.
    sets, draws:
        Bases of each combination, and candidates made of each; by default.
    seed, null_edits, sources:
        Defaults of the settings `picture_seed`, `null_edits` and `sources`.
    unit, cue, base:
        Column of what is sampled, column of the edits, and its level of a base, empty for an empty cell.
    places:
        Places in a file, by key or slot, for people.

    Examples
    --------
    >>> glasses = DeclaredMaking(
    ...     prompt="A portrait of a {age} person.",
    ...     factors={"age": {"old": "old", "young": "young"}},
    ...     edits={"sunglasses": "Add sunglasses."},
    ... )
    >>> glasses.making().plan({s.name: s.default for s in glasses.settings}).table["image"].to_list()
    ['old/1', 'old/1/sunglasses', 'young/1', 'young/1/sunglasses']
    """

    prompt: str = ""
    factors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    people: Sequence[Mapping[str, str]] = ()
    edits: Mapping[str, str] = field(default_factory=dict)
    sets: int = 1
    draws: int = 1
    seed: int = 1
    null_edits: bool = False
    sources: str = ""
    unit: str = "identity"
    cue: str = "cue"
    base: str = ""
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in (*self.factors, *(self.people[0] if self.people else ())):
            with self._place_errors(name):
                self._check_column(name)
                if name == self.cue:
                    raise DataError(f"{name!r} is what edits are called in (cue), and cannot be of bases too.")
                if name in self.factors and self.people and name in self.people[0]:
                    raise DataError(f"{name!r} is a factor and a column of the people: rename one.")
        with self._place_errors("cue"):
            self._check_column(self.cue)
        if not self.prompt and not self.sources:
            raise DataError(
                "Nothing says what bases are: write a 'prompt' for a generator, or name 'sources' that exist."
            )
        if self.prompt and self.sources:
            with self._place_errors("sources"):
                raise DataError("Bases are made of 'prompt', and named by 'sources': leave out one of the two.")
        if self.sources and (self.factors or self.people or self.sets > 1):
            with self._place_errors("sources"):
                raise DataError(
                    "'factor', 'person' and 'sets' are of bases that are made, and these exist: leave them out."
                )
        self._check_texts()
        self._check_size()

    def _place_errors(self, key: str) -> AbstractContextManager[None]:
        return error_place(self.places.get(key, ""))

    def _check_column(self, name: str) -> None:
        if not re.fullmatch("[a-z][a-z0-9_]{0,39}", name):
            raise DataError(f"The column {name!r} is not made of small letters, digits and underscores.")
        from facevalue.measures.estimates import FIXED_COLUMNS, TYPED_LABELS  # noqa: PLC0415 - few files say what is made

        if name in _TAKEN or name in FIXED_COLUMNS or name in TYPED_LABELS:
            raise DataError(f"No factor of pictures can be called {name!r}, which means something else: rename it.")

    def _check_texts(self) -> None:
        columns = (*self.factors, *(self.people[0] if self.people else ()))
        for number, person in enumerate(self.people, start=1):
            with self._place_errors(f"person {number}"):
                if list(person) != list(self.people[0]):
                    raise DataError(f"Person {number} has other columns than the first ({', '.join(self.people[0])}).")
                if any(not text.strip() or len(text) > MAX_CELL for text in person.values()):
                    raise DataError(f"Person {number} has a text that is empty or longer than {MAX_CELL:,} characters.")
        used = set()
        for key, text in (("prompt", self.prompt), *self.edits.items()):
            with self._place_errors(key):
                if len(text) > LONGEST_PROMPT:
                    raise DataError(f"A prompt has at most {LONGEST_PROMPT:,} characters, not {len(text):,}.")
                if key != "prompt" and (not text.strip() or not key.strip() or len(key) > MAX_CELL):
                    raise DataError(f"The edit {key!r} needs a name, and a sentence that says what to change.")
                if key == NULL_EDIT:
                    raise DataError(f"{NULL_EDIT!r} is what null edits are called: write null_edits = true.")
                if self.base and key == self.base:
                    raise DataError(f"{key!r} is what a base is called (base of [pictures]), and not an edit of it.")
                for name in slots(text):
                    if name not in columns and not (self.sources and key != "prompt"):
                        raise UnknownNameError("slot", name, columns)
                    used.add(name)
        for name in self.factors:
            if name not in used:
                with self._place_errors(name):
                    raise DataError(f"Neither the prompt nor an edit has a slot {{{name}}} for the factor {name!r}.")
        if self.people and not used & set(self.people[0]):
            with self._place_errors("prompt"):
                first = next(iter(self.people[0]))
                raise DataError(f"Neither the prompt nor an edit has a slot for the people, such as {{{first}}}.")

    def _check_size(self) -> None:
        for name, limit in (("sets", MOST_BASES), ("draws", MOST_DRAWS)):
            if not 1 <= getattr(self, name) <= limit:
                with self._place_errors(name):
                    raise DataError(f"{name!r} is a whole number from 1 to {limit:,}, not {getattr(self, name):,}.")
        for name, levels in self.factors.items():
            if not levels:
                with self._place_errors(name):
                    raise DataError(f"The factor {name!r} has no levels.")
        bases = (
            prod(len(levels) for levels in self.factors.values()) * max(len(self.people), 1) * self.sets * self.draws
        )
        if (count := bases * (1 + len(self.edits) + self.null_edits)) > MOST_PICTURES:
            with self._place_errors("sets"):
                raise DataError(f"{count:,} pictures would be made; at most {MOST_PICTURES:,} are.")
        if self.sources and not self.edits and not self.null_edits:
            with self._place_errors("sources"):
                raise DataError(
                    "Nothing is made of the sources: write what is edited in [make.edit], or null_edits = true."
                )

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Settings of the user: how many bases and which, and edits of pictures that exist."""
        sources, root, nulls = EXISTING
        counts = (Setting("sets", "Bases of each combination of factors or person.", self.sets, excludes=("sources",)),)
        return (
            *(counts if self.prompt else ()),
            *(
                Setting(name, f"Only these levels of {name}.", [], levels=tuple(levels), excludes=("sources",))
                for name, levels in self.factors.items()
            ),
            Setting("edit", f"Only these edits ({','.join(self.edits)}).", [], levels=tuple(self.edits)),
            replace(DRAWS, default=self.draws),
            replace(sources, default=self.sources),
            root,
            replace(nulls, default=self.null_edits),
            replace(SEED, default=self.seed),
        )

    def making(self) -> Making:
        """The same as commands take it."""
        bases = f'Bases of the text "{self.prompt}"' if self.prompt else "Pictures that exist"
        ways = "1 way" if len(self.edits) == 1 else f"{len(self.edits)} ways"
        edited = f", each edited in {ways} ({', '.join(self.edits)})" if self.edits else ""
        return Making(settings=self.settings, plan=self.plan, about=f"{bases}{edited}.")

    def plan(self, options: Mapping[str, OptionValue]) -> PicturePlan:
        """Bases, and after each its edits."""
        bases = self._sources(options) if options["sources"] else self._bases(options)
        from facevalue.stimuli.drawings.workers import DrawnImages  # noqa: PLC0415 - a study that is read draws nothing

        unit = [] if self.unit == IMAGE else [self.unit]
        bases = candidates(bases, whole(options, "draws", 1, MOST_DRAWS), IMAGE, *unit)
        factors = [name for name in bases.columns if name not in (IMAGE, PROMPT, PATH, self.unit)]
        table = with_edits(bases, edits := self._edits(bases, options), by=self._filled_by_edits)
        if cue := [self.cue] if edits.height else []:
            table = table.with_columns(pl.coalesce(self.cue, pl.lit(self.base or None, pl.String)))
        table = in_form(table, options, *unit, *cue, *factors)
        groups = tuple(name for name in (*self.factors, *self._facts) if name in table.columns)
        source = None if options["sources"] else DrawnImages(drawings(table, self.cue if cue else ""))
        return PicturePlan(table=table, unit=self.unit, groups=groups, drawn=source)

    @property
    def _facts(self) -> tuple[str, ...]:
        """Columns of people beside the one that names them."""
        return tuple(self.people[0])[1:] if self.people else ()

    @property
    def _filled_by_edits(self) -> tuple[str, ...]:
        """Columns that fill slots of edits."""
        return tuple(dict.fromkeys(name for text in self.edits.values() for name in slots(text)))

    def _bases(self, options: Options) -> pl.DataFrame:
        """Every person with every combination of levels, so many times."""
        levels = [chosen(name, names(options, name), tuple(listed)) or tuple(listed)
                  for name, listed in self.factors.items()]  # fmt: skip
        rows = []
        for at, person in enumerate(self.people or ({},), start=1):
            for combination in product(*levels):
                row = {**person, **dict(zip(self.factors, combination, strict=True))}
                place = "_".join([*([f"person-{at}"] if self.people else []), *map(_slug, combination)]) or "base"
                rows.append({"place": place, **row, PROMPT: fill_slots(self.prompt, self._words(row))})
        table = pl.DataFrame(rows, dict.fromkeys(rows[0], pl.String))
        if table["place"].is_duplicated().any():
            raise DataError("Two levels of a factor differ in signs between words alone: rename one.")
        numbers = pl.DataFrame({"number": range(1, whole(options, "sets", 1, MOST_BASES) + 1)})
        table = table.join(numbers, how="cross", maintain_order="left_right")
        name = pl.format("{}/{}", "place", "number")
        return table.with_columns(**{IMAGE: name, self.unit: name}).drop("place", "number")

    def _words(self, row: Mapping[str, str]) -> dict[str, str]:
        """Words that fill slots, from the levels of a picture."""
        return {name: self.factors.get(name, {}).get(level, level) for name, level in row.items()}

    def _sources(self, options: Options) -> pl.DataFrame:
        """Pictures that exist; none of those that are edited already."""
        table = existing(options, [Column(name, "fills the slot of an edit", needed=True, filled=True)
                                   for name in self._filled_by_edits])  # fmt: skip
        if self.cue in table.columns:
            table = table.filter(pl.col(self.cue).is_null() | (pl.col(self.cue) == self.base)).drop(self.cue)
        return table.with_columns(pl.coalesce(self.unit, IMAGE).alias(self.unit)).drop(
            {"identity", "set"} - {self.unit}
        )

    def _edits(self, bases: pl.DataFrame, options: Options) -> pl.DataFrame:
        """Edits of each base, by the columns that fill slots of edits."""
        levels = chosen("edit", names(options, "edit"), tuple(self.edits)) or tuple(self.edits)
        by = self._filled_by_edits
        rows = [
            {**row, EDIT: _slug(name), self.cue: name, PROMPT: fill_slots(self.edits[name], self._words(row))}
            for row in (bases.select(by).unique(maintain_order=True).to_dicts() if by else [{}])
            for name in levels
        ]
        table = pl.DataFrame(rows, dict.fromkeys((*by, EDIT, self.cue, PROMPT), pl.String))
        if not options["null_edits"]:
            return table
        nothing = null_edit([self.cue])
        unchanged = bases.select(by).unique(maintain_order=True).join(nothing, how="cross") if by else nothing
        return pl.concat([unchanged, table], how="diagonal")


def _slug(text: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))[:60] or "level"
