"""Kinds of answers: what a question asks for, and what is scored of the replies."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from math import nan
from types import MappingProxyType
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers import NA, NA_DTYPE, free_text, from_probs, parse_column, yes_no
from facevalue.answers.columns import LEAST_MASS, exact_or_chosen
from facevalue.answers.yes_no import YesNoWords
from facevalue.errors import DataError, UnknownNameError
from facevalue.prompts import ORDERINGS
from facevalue.prompts.phrases import slots
from facevalue.statistics.answer_arrays import counted_column
from facevalue.statistics.group_choices import WEIGHTS
from facevalue.statistics.statistic import Score
from facevalue.types import Language, Option, Status

Shown = tuple[str, Sequence[tuple[Option, ...]], Sequence[Mapping[str, str]]]
"""Name of a column of codes, and for each code the options that were shown and what filled the slots of these."""
FIRST, LETTER = "(first)", "(letter)"
"""Columns of answers: how much of the answer is the option shown first, and the one labelled (a)."""
RIGHT = "right"
"""Score of the share of right answers."""
YES_NO = "yes-no"
"""Name of replies of yes or no."""
ONE, BOTH, ALL, ROTATIONS = "one", "both", "all", "rotations"
ORDERS = (ONE, BOTH, ALL, ROTATIONS)
MOST_OPTIONS = 20
_MOST_PERMUTED = 4
_LETTERS = "abcdefghijklmnopqrst"


@dataclass(frozen=True)
class Scale:
    """Values of the options on a score.

    Attributes
    ----------
    score:
        The score.
    values:
        By option, or by slot: what the option counts that is named in an item's column, as in `{"{right}": 1}`; None
        for one that is left out.
    rest:
        What options count that have no value; None where all have one.

    Examples
    --------
    >>> lean = Scale(Score("lean", "Lean", "points"), {"{target}": 1, "{other}": -1, "unknown": None})
    >>> lean.value("a", {"target": "a", "other": "b"}), lean.value("unknown", {"target": "a", "other": "b"})
    (1.0, nan)
    """

    score: Score
    values: Mapping[str, float | None]
    rest: float | None = None

    @property
    def slots(self) -> list[str]:
        """Columns of items that name options."""
        return [name for key in self.values for name in slots(key)]

    def value(self, option: str, texts: Mapping[str, str]) -> float:
        """Value of an option where the slots name these; NaN where it is left out."""
        values = {texts[key[1:-1]] if slots(key) else key: value for key, value in self.values.items()}
        value = values.get(option, self.rest)
        return nan if value is None else float(value)


class Reply(Protocol):
    """A kind of answer."""

    @property
    def scores(self) -> tuple[Score, ...]:
        """Scores that the reply gives."""
        ...

    @property
    def orderings(self) -> tuple[str, ...]:
        """Orders in which options are shown: levels of `ordering`."""
        ...

    def options(self, ordering: str) -> tuple[Option, ...]:
        """The options in this order; none for replies in words of one's own."""
        ...

    @property
    def instructions(self) -> Mapping[str, str]:
        """Instructions to simulated models on how to answer."""
        ...

    def read(self, frame: pl.DataFrame) -> pl.DataFrame:
        """From text, probs, status and ordering to the scores, `mass` and `na`; the same rows."""
        ...


@dataclass(frozen=True)
class Options:
    """One of several options, which count something on one or more scales: a choice, yes or no, a rating."""

    texts: Mapping[str, str]  # wording by name, in the order in which they are declared
    scales: tuple[Scale, ...]
    order: str = ONE
    letters: bool = False  # whether options are labelled (a), (b) ...
    # How replies are read: as one of the options ("choice"), as yes or no ("yes-no"), or as a number ("rating")
    parser: str = "choice"
    instructions: Mapping[str, str] = field(default_factory=dict)
    nouns: tuple[str, ...] = ()  # that prompts put before options of one letter
    # Factor, or "wording", whose levels are languages, the same options in each that has words of its own, and words
    by_language: str = ""
    languages: Mapping[str, "Options"] = field(default_factory=dict)
    language: Language | None = None
    where: str = field(default="", compare=False, repr=False)  # place of the options in a file, for people

    def __post_init__(self) -> None:
        if not 2 <= len(self.texts) <= MOST_OPTIONS:
            raise DataError(f"A question needs 2 to {MOST_OPTIONS} options, not {len(self.texts)}.")
        if self.order not in ORDERS:
            raise UnknownNameError("order of options", self.order, ORDERS)
        if self.order == ALL and len(self.texts) > _MOST_PERMUTED:
            raise DataError(f"All orders of {len(self.texts)} options are too many: write rotations.")
        for scale in self.scales:
            for name in scale.values:
                if name not in self.texts and not slots(name):
                    raise UnknownNameError("option", name, self.texts)
            counted = {*scale.values.values(), scale.rest} - {None}
            lacking = scale.rest is None and not scale.slots and set(scale.values) != set(self.texts)
            if lacking or len(counted) < 2:
                raise DataError("Each option has a score, and they are not all the same.")

    @property
    def scores(self) -> tuple[Score, ...]:
        """The expected scores of the answer."""
        return tuple(scale.score for scale in self.scales)

    @cached_property
    def names(self) -> dict[str, str]:
        """Names by level of the options that are shown."""
        return {_level(name): name for name in self.texts}

    @property
    def all_texts(self) -> list[str]:
        """Wordings of all options, in all languages."""
        return [text for reply in (self, *self.languages.values()) for text in reply.texts.values()]

    @property
    def keys(self) -> list[str]:
        """Columns of items that name options, such as the right one."""
        return list(dict.fromkeys(name for scale in self.scales for name in scale.slots))

    @property
    def favourable(self) -> int | None:
        """Number of the option whose share the score is, where there is one other: the score says what each got."""
        if len(self.texts) > 2 or len(self.scales) > 1 or self.scales[0].slots:
            return None
        values = [self.scales[0].values.get(name) for name in self.texts]
        return values.index(1) if {*values} == {0, 1} else None

    @cached_property
    def _orders(self) -> dict[str, tuple[Option, ...]]:
        names = list(self.texts)
        if self.letters and self.order == ALL and len(names) == 2:
            pair = (self.texts[names[0]], self.texts[names[1]])
            levels = (_level(names[0]), _level(names[1]))
            return {
                ordering.name: tuple(replace(o, language=self.language) for o in ordering.options(pair, levels))
                for ordering in ORDERINGS
            }
        orders: list[tuple[str, ...]] = [tuple(names)]
        if self.order == BOTH:
            orders.append(tuple(reversed(names)))
        elif self.order == ALL:
            orders = list(permutations(names))
        elif self.order == ROTATIONS:
            orders = [tuple(names[at:] + names[:at]) for at in range(len(names))]
        return {
            str(number): tuple(
                Option(
                    f"({_LETTERS[at]})" if self.letters else "",
                    self.texts[name],
                    _level(name),
                    self.nouns,
                    self.language,
                )
                for at, name in enumerate(order)
            )
            for number, order in enumerate(orders, start=1)
        }

    @property
    def orderings(self) -> tuple[str, ...]:
        """Orders in which options are shown."""
        return tuple(self._orders)

    @property
    def is_balanced(self) -> bool:
        """True if each option is shown first as often as any other."""
        firsts = [options[0].level for options in self._orders.values()]
        return {firsts.count(level) for level in firsts} == {len(firsts) // len(self.texts)}

    @property
    def has_moving_letters(self) -> bool:
        """True if letters change places apart from the options' order, so that the two can be told apart."""
        return self.letters and self.order == ALL and len(self.texts) == 2

    def groups(self, letter: bool = False) -> dict[str, int]:
        """Number of the option that stands first, or is labelled (a), in each ordering."""
        numbers = {_level(name): at for at, name in enumerate(self.texts)}
        place = {name: self._place(name, letter) for name in self._orders}
        return {name: numbers[options[place[name]].level] for name, options in self._orders.items()}

    def _place(self, ordering: str, letter: bool) -> int:
        return [option.label for option in self._orders[ordering]].index("(a)") if letter else 0

    def options(self, ordering: str) -> tuple[Option, ...]:
        """The options in this order."""
        return self._orders[ordering]

    def read(self, frame: pl.DataFrame, slotted: Shown | None = None) -> pl.DataFrame:
        """Expected scores of each answer, its mass, and how much of it is the option shown first or labelled (a).

        `slotted`: what was shown where options or scales have slots.
        """
        orderings = frame["ordering"].cast(pl.Enum(list(self._orders))).to_physical().to_numpy().astype(np.int64)
        codes, lists = orderings, [(options, dict[str, str]()) for options in self._orders.values()]
        if slotted is not None:
            codes, lists = (
                frame[slotted[0]].to_numpy(),
                [(options, dict(texts)) for options, texts in zip(slotted[1], slotted[2], strict=True)],
            )
        lists = lists or [((), {})]  # of no reply
        width = max(len(options) for options, _ in lists)
        tables = {
            scale.score.name: np.array(
                [
                    [scale.value(self.names[o.level], texts) for o in options] + [0.0] * (width - len(options))
                    for options, texts in lists
                ]
            )
            for scale in self.scales
        }
        letter = np.array([self._place(name, self.letters) for name in self._orders])
        counts = {scale.score.name: np.isfinite(tables[scale.score.name]) for scale in self.scales
                  if scale.score.leaves_out}  # fmt: skip
        parsed = self._parse_answers(frame, slotted)
        choice = parsed["choice"].fill_null(-1).to_numpy().astype(np.int64)
        at = np.maximum(choice, 0)
        seen = choice >= 0
        scores = {name: np.where(seen, table[codes, at], np.nan) for name, table in tables.items()}
        first, lettered = (np.where(seen, at == place, np.nan) for place in (0, letter[orderings]))
        fractions = {name: np.where(seen, table[codes, at], np.nan) for name, table in counts.items()}
        mass, na = seen.astype(np.float64), parsed["na"]
        has_probs = frame["probs"].is_not_null()
        if has_probs.any():
            exact = from_probs(frame, "probs", minimum=LEAST_MASS)
            rows = np.flatnonzero(exact["weights"].is_not_null().to_numpy())
            exact_rows = has_probs.to_numpy()
            for column in (*scores.values(), *fractions.values(), first, lettered, mass):
                column[exact_rows] = np.nan
            mass[exact_rows] = 0.0
            if rows.size:
                weights = _pad_weights(exact["weights"].gather(rows), width)
                for name, table in tables.items():
                    fraction = (weights * counts[name][codes[rows]]).sum(axis=1) if name in counts else 1.0
                    total = (weights * np.nan_to_num(table[codes[rows]])).sum(axis=1)
                    scores[name][rows] = np.where(fraction > 0, total / np.where(fraction > 0, fraction, 1.0), np.nan)
                    if name in counts:
                        fractions[name][rows] = fraction
                first[rows] = weights[:, 0]
                lettered[rows] = weights[np.arange(rows.size), letter[orderings[rows]]]
                mass[rows] = np.where(exact["na"].is_null(), exact["mass"], 0.0)[rows]
            na = pl.select(pl.when(has_probs).then(exact["na"]).otherwise(na)).to_series()
        counted = {counted_column(name): fraction for name, fraction in fractions.items()}
        places = {FIRST: first, LETTER: lettered} if self.favourable is None else {}
        columns = {**scores, **counted, "mass": mass, **places}
        out = pl.DataFrame(columns).with_columns(pl.all().fill_nan(None))
        return out.with_columns(na.cast(NA_DTYPE).alias("na"))

    def _parse_answers(self, frame: pl.DataFrame, slotted: Shown | None) -> pl.DataFrame:
        if self.parser == YES_NO:
            parsed = self._yes_or_no(frame, slotted)
            names = list(self.texts)
            places = {
                ordering: [[o.level for o in options].index(_level(name)) for name in names]
                for ordering, options in self._orders.items()
            }
            table = np.array(list(places.values()))
            orderings = frame["ordering"].cast(pl.Enum(list(places))).to_physical().to_numpy()
            place = table[orderings, np.maximum(parsed["choice"].fill_null(-1).to_numpy(), 0)]
            choice = pl.when(parsed["choice"].is_not_null()).then(pl.Series(place)).cast(pl.Int8)
            return parsed.with_columns(choice.alias("choice"))
        if self.parser == "rating":
            frame = frame.with_columns(pl.col("text").str.replace_all(self._scale, "$1"))
        if slotted is None:
            return parse_column(frame, "text", "ordering", self._orders)
        return parse_column(frame, "text", slotted[0], slotted[1])

    def _yes_or_no(self, frame: pl.DataFrame, slotted: Shown | None) -> pl.DataFrame:
        """Read yes or no from replies, in the words of the question."""
        if slotted is None:
            return yes_no.parse_column(frame, "text", words={"": YesNoWords(self.texts["yes"], self.texts["no"])})
        column, option_sets, _ = slotted
        words = {}
        for code, options in enumerate(option_sets):
            texts = {self.names[option.level]: option.text for option in options}
            words[str(code)] = YesNoWords(texts["yes"], texts["no"], options[0].language)
        return yes_no.parse_column(frame, "text", question=column, words=words)

    @cached_property
    def _scale(self) -> str:
        """Finds "4/5" and "4 out of 5", of which the first number is the answer."""
        top = re.escape(list(self.texts)[-1])
        return rf"\b(\d+)\s?(?:/|out of)\s?{top}\b"


def _level(name: str) -> str:
    return f"option {name}"


def _pad_weights(weights: pl.Series, width: int) -> npt.NDArray[np.float64]:
    """Weights of the options of each row, 0 where a question has fewer than others."""
    lengths = weights.list.len().to_numpy()
    out = np.zeros((len(weights), width))
    out[np.arange(width) < lengths[:, None]] = weights.explode().to_numpy()
    return out


def yes_or_no(favourable: str = "yes", order: str = ONE, yes: str = "Yes", no: str = "No") -> Options:
    """Yes or no; the score is the share of the favourable one. `yes`, `no`: words of the question's own for them.

    Raises
    ------
    UnknownNameError
        What is favourable is neither.
    DataError
        The words do not differ, or have no letter.

    Examples
    --------
    >>> yes_or_no(favourable="no").scores[0].title
    'Share of the answer "no"'
    """
    if favourable not in ("yes", "no"):
        raise UnknownNameError("favourable answer", favourable, ("yes", "no"))
    YesNoWords(yes, no)
    values = {name: float(name == favourable) for name in ("yes", "no")}
    return Options({"yes": yes, "no": no}, (Scale(_share(favourable), values),), order, parser=YES_NO)


def choice(
    texts: Mapping[str, str],
    favourable: str | Mapping[str, float | None] | Mapping[str, Mapping[str, float | None]],
    order: str = ONE,
    *,
    letters: bool = True,
) -> Options:
    """One of several options; the score is the share of the favourable one, or what each counts.

    `favourable`: an option; the column of the items that names the right one, in braces; what each option counts; or
    that by the name of a score. What has no value beside columns in braces counts 0; answers whose value is None are
    left out of the score, and are valid answers of the others.

    Raises
    ------
    UnknownNameError
        What is favourable is no option.

    Examples
    --------
    >>> choice({"hire": "hire", "reject": "reject"}, favourable="hire").scores[0].unit
    'probability'
    >>> choice({"a": "{first}", "b": "{second}"}, favourable="{key}").scores[0].title
    'Share of right answers'
    """
    if isinstance(favourable, str):
        if slots(favourable):
            right = Score(
                RIGHT, "Share of right answers", "probability", 0.0, 1.0, quantity="right answers",
                moved=("got the right answer {size} more often", "got the right answer {size} less often"),
            )  # fmt: skip
            return Options(texts, (Scale(right, {favourable: 1.0}, 0.0),), order, letters)
        if favourable not in texts:
            raise UnknownNameError("favourable option", favourable, texts)
        values = {name: float(name == favourable) for name in texts}
        return Options(texts, (Scale(replace(_share(favourable), favours=True), values),), order, letters)
    tables = {name: values for name, values in favourable.items() if isinstance(values, Mapping)}
    if tables and len(tables) < len(favourable):
        raise DataError("Scores are either what each option counts, or tables of that by the name of a score.")
    flat = {name: value for name, value in favourable.items() if not isinstance(value, Mapping)}
    scales = tuple(_scale(name, values) for name, values in (tables or {"score": flat}).items())
    return Options(texts, scales, order, letters)


def _scale(name: str, values: Mapping[str, float | None]) -> Scale:
    leaves_out = None in values.values()
    rest = 0.0 if any(map(slots, values)) else None
    counted = [value for value in (*values.values(), rest) if value is not None]
    title = "Expected score of the answer" if name == "score" else f"Expected score {name!r} of the answer"
    unit, low, high = "points", min(counted, default=0.0), max(counted, default=0.0)
    if name != "score" and set(counted) == {0, 1}:
        title, unit = f"Share of answers that count as {name!r}", "probability"
    if leaves_out:
        title += ", of those that are not left out"
    return Scale(Score(name, title, unit, low, high, leaves_out=leaves_out), values, rest)


def rating(low: int, high: int) -> Options:
    """A whole number from `low` to `high`; exact probabilities give the expected rating.

    Examples
    --------
    >>> rating(1, 5).scores[0].high
    5
    """
    if not 0 <= low < high or high - low >= MOST_OPTIONS:
        raise DataError(f"A rating has 2 to {MOST_OPTIONS} steps from 0 or more, not {low} to {high}.")
    steps = {str(step): str(step) for step in range(low, high + 1)}
    moved = ("rated {size} higher", "rated {size} lower")
    score = Score("rating", "Rating", "points", low, high, moved=moved, quantity="ratings")
    return Options(steps, (Scale(score, {name: float(name) for name in steps}),), parser="rating")


def _share(favourable: str) -> Score:
    moved = (f"got the answer “{favourable}” {{size}} more often", f"got the answer “{favourable}” {{size}} less often")
    return Score(
        "share", f'Share of the answer "{favourable}"', "probability", 0.0, 1.0, moved=moved,
        quantity=f"the answer “{favourable}”",
    )  # fmt: skip


def phrase_options(options: tuple[Option, ...]) -> str:
    """Options as a phrase: two in a row, more on lines of their own.

    Examples
    --------
    >>> phrase_options((Option("(a)", "kind", ""), Option("(b)", "rude", "")))
    '(a) kind or (b) rude'
    >>> phrase_options((Option("", "Yes", ""), Option("", "No", "")))
    'Yes or No'
    """
    wordings, language = [option.wording for option in options], options[0].language
    joint = f" {language.joint if language else 'or'} "
    return joint.join(wordings) if len(options) == 2 else "\n" + "\n".join(wordings)


def whole_answers(scores: Mapping[str, npt.NDArray[np.float64]], na: pl.Series) -> pl.DataFrame:
    """Answers that count as one each, where there is one."""
    out = pl.DataFrame(dict(scores)).with_columns(pl.all().cast(pl.Float64).fill_nan(None))
    return out.with_columns(mass=na.is_null().cast(pl.Float64), na=na.cast(NA_DTYPE))


# Choices of one of several groups: one of two people who are shown, or one of several terms.


_ROW = "row"


class GroupReply:
    """A choice of one of several groups. A subclass says what the options are, and reads which of them is meant.

    Columns of answers: `weight_1`, ... of the options in the order shown, `weight` of the first of them, `mass` and
    `na`; `choice`, the group chosen where a reply was sampled; `reason`, why there is no valid answer.

    Attributes
    ----------
    groups:
        Groups in their order; others that pictures show follow.
    within:
        Labels of trials within whose levels choices are compared: each has estimates of its own.
    place, orderings, columns:
        What the option shown first is called, orders of options, and columns of the pictures that these depend on.
    reasons, unsaid:
        Reasons why a reply has no valid answer; those of replies that mention no option, which may be refusals.
    scores, instructions:
        As of any reply; answers give weight to groups, of which sums are taken.
    """

    groups: tuple[str, ...]
    within: tuple[str, ...]
    place: str = "first"
    orderings: tuple[str, ...] = ("1",)
    columns: tuple[str, ...] = ()
    reasons: Mapping[str, NA]
    unsaid: tuple[str, ...]
    scores: tuple[Score, ...] = ()
    instructions: Mapping[str, str] = MappingProxyType({})

    def options(self, ordering: str) -> tuple[Option, ...]:
        """The options in this order, where they do not depend on the picture."""
        return self.options_of(ordering, {})

    def options_of(self, ordering: str, levels: Mapping[str, str]) -> tuple[Option, ...]:
        """The options in the order in which they are shown with a picture of these levels of `columns`."""
        raise NotImplementedError

    def phrase(self, options: tuple[Option, ...]) -> str:
        """Options as a phrase of the prompt."""
        return "{" + ", ".join(option.text for option in options) + "}"

    def shown_groups(self) -> tuple[pl.Expr, ...]:
        """Groups of the options of each trial, in the order shown; null where a trial has fewer."""
        raise NotImplementedError

    def read_places(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Read which option replies mean: its place as `code`, in the order shown, or the `reason` why none."""
        raise NotImplementedError

    def read(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Weights by place, and why there are none: a refusal is told from a reply that mentions nothing."""
        readings, groups = self.read_places(frame), self.shown_groups()
        status = frame["status"].cast(pl.String)
        void = status.is_in([Status.REFUSED.value, Status.ERROR.value]) | frame["text"].is_null()
        code = readings["code"].set(void, None)
        unsaid = (void | readings["reason"].is_in(self.unsaid)) & code.is_null()
        reasons = readings["reason"].to_frame().with_row_index(_ROW)
        text = free_text.parse_column(frame.filter(unsaid), "text").select(text=pl.col("na").cast(pl.String))
        texts = reasons.filter(unsaid).select(_ROW).with_columns(text["text"])
        cut = pl.lit(status == Status.TRUNCATED.value)
        reason = (
            reasons.join(texts, on=_ROW, how="left", maintain_order="left")
            .select(pl.when(cut & unsaid).then(pl.lit(NA.TRUNCATED.value)).otherwise(pl.coalesce("text", "reason")))
            .to_series()
            .set(code.is_not_null(), None)
        )
        na = reason.replace({name: kind.value for name, kind in self.reasons.items()}).cast(NA_DTYPE)
        answers = exact_or_chosen(frame, pl.DataFrame({"choice": code, "na": na}), WEIGHTS[: len(groups)])
        exact = frame["probs"].is_not_null()
        choice = frame.select(pl.coalesce(pl.when(pl.lit(code) == at).then(group) for at, group in enumerate(groups)))
        return answers.with_columns(
            *(pl.lit(None, pl.Float64).alias(name) for name in WEIGHTS[len(groups) :]),
            choice.to_series().set(exact, None).alias("choice"),
            pl.select(pl.when(exact).then(answers["na"].cast(pl.String)).otherwise(reason).alias("reason")).to_series(),
            pl.col(WEIGHTS[0]).alias("weight"),
        )
