"""Options of each trial, in a reproducible order, and what replies choose of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers import NA, NA_DTYPE, parse_column
from facevalue.answers.base import UNREAD
from facevalue.answers.columns import exact_or_drawn
from facevalue.design import mix
from facevalue.measures.estimators import Codes, code_levels
from facevalue.stimuli.pairs import left_first
from facevalue.studies.vignette.design import Layout, keys
from facevalue.studies.vignette.settings import RELEASED, TWO
from facevalue.studies.vignette.tables import activities, similar_activities
from facevalue.types import Option

POSITIONS = ("the left person", "the right person")
BOTH, NONE = "both", "none"
"""Options of identity questions besides the two people (A.3); the released code writes both with a capital."""
_ORDERS = np.array(list(permutations(range(4))), dtype=np.int8)
_DISTRACTORS = 3
_TOGETHER = 1024  # rows whose draws fit a processor's cache
_LEFT, _RIGHT, _NOBODY = r"(?i)\bleft\b", r"(?i)\bright\b", r"(?i)\b(?:none|neither|nobody|no one)\b"
_ROLES = tuple(f"role_{code}" for code in range(4))


class OptionForm(IntEnum):
    """Kinds of a question's options. Role 0 is option 1, or the right answer."""

    PEOPLE = 0
    """The two people (4.2)."""
    ACTIVITIES = 1
    """The two activities of one identity."""
    WHO = 2
    """The right person, the other, both, none."""
    DOING = 3
    """The right activity, and three others."""
    FOUR = 4
    """The two people, both, none (A.3)."""


LEVELS: Mapping[OptionForm, tuple[str, ...]] = {
    OptionForm.PEOPLE: ("1", "2"),
    OptionForm.ACTIVITIES: ("1", "2"),
    OptionForm.WHO: ("right", "swapped", "both", "none"),
    OptionForm.DOING: ("right", "wrong 1", "wrong 2", "wrong 3"),
    OptionForm.FOUR: ("1", "2", "both", "none"),
}
"""Meaning of each role, in the order of the roles."""


_FACTS = {"who": OptionForm.WHO, "doing": OptionForm.DOING}
_TWO, _PLUS = (OptionForm.PEOPLE, OptionForm.ACTIVITIES, OptionForm.FOUR), (OptionForm.WHO, OptionForm.FOUR)
_WEIGHTS: Mapping[str, tuple[int, tuple[OptionForm, ...]]] = {
    "weight": (0, tuple(OptionForm)),
    "other": (1, _TWO),
    "swapped": (1, (OptionForm.WHO,)),
    "both": (2, _PLUS),
    "none": (3, _PLUS),
    "wrong_1": (1, (OptionForm.DOING,)),
    "wrong_2": (2, (OptionForm.DOING,)),
}  # columns of answers: the role that each is the weight of, in questions of which form


@dataclass(frozen=True)
class Offered:
    """People and activities that each row of a trial frame asks about, and the options that it offers."""

    form: npt.NDArray[np.int8]
    """Their `OptionForm`."""
    wordings: tuple[str, ...]
    """All wordings, of options, people and activities, which the numbers below are places in."""
    texts: Codes
    """Shape (rows, 4): the number of each role's wording; -1 where there are but two."""
    place: npt.NDArray[np.int8]
    """Shape (rows, 4): where each role stands in the list; -1 for none."""
    left_first: npt.NDArray[np.bool_]
    """True where identity 1 or activity 1 is the left half of the picture."""
    prompt: Codes
    """As a place in `Layout.prompts`."""
    second: npt.NDArray[np.bool_]
    """True where it asks about person or activity 2."""
    identities: Codes
    activities: Codes
    names: Codes
    """Shape (rows, 2): the identity and activity of either half, -1 for none, and what its person is called there."""

    def wordings_of_rows(self, rows: Codes) -> pl.DataFrame:
        """Wordings of the roles of some rows, in the columns `role_0` ... `role_3`; null where there are but two."""
        columns = (pl.Series(number).replace(-1, None) for number in self.texts[rows].T)
        texts = pl.Series(self.wordings)
        return pl.DataFrame([texts.gather(column).alias(name) for name, column in zip(_ROLES, columns, strict=True)])


class Offers:
    """Works out the options of trials.

    `words` says what an identity of each gender and dimension is called. With `composed`, pairs are put together by us,
    on random sides; else identity 1 is on the left. Of `prompts`, "paper" offers both and none, too, to questions
    about people (A.3), "two-options" the two people alone (4.2), "released" these, and wrong activities as the authors'
    code takes them.
    """

    def __init__(
        self, layout: Layout, words: pl.DataFrame, seed: int, composed: bool = True, prompts: str = "paper"
    ) -> None:
        self._layout, self._words = layout, words
        self._seed = seed
        self._composed = composed
        self._released = prompts == RELEASED
        self._people = OptionForm.PEOPLE if prompts in (TWO, RELEASED) else OptionForm.FOUR
        self._activities = [activity.name for activity in activities()]
        self._both_and_none = [text.capitalize() if self._released else text for text in (BOTH, NONE)]
        listed = [text.capitalize() for text in self._activities] if self._released else []
        columns = layout.design.trials([]).select(pl.col("^(activity|identity)(_[12])?$"))
        designed = [level for column in columns for level in code_levels(column)[0]]
        sides = [text.removeprefix("the ") for text in POSITIONS]
        wordings = (*POSITIONS, *sides, *self._both_and_none, *self._activities, *listed, *designed, *words["word"])
        self._number = {text: at for at, text in enumerate(dict.fromkeys(wordings))}
        self._levels = pl.Enum(list(self._number))
        code = {name: i for i, name in enumerate(self._activities)}
        self._similar = np.eye(len(code), dtype=bool)
        for pair in similar_activities():
            a, b = (code[name] for name in pair)
            self._similar[a, b] = self._similar[b, a] = True

    @cached_property
    def _names(self) -> Codes:
        """Number of what an identity is called, shape (blocks, wordings); -1 for what is no identity of the block."""
        table = np.full((len(self._layout.design.blocks), len(self._number) + 1), -1)
        words = self._words.partition_by("gender", "dimension", as_dict=True)
        for row, block in zip(table, self._layout.design.blocks, strict=True):
            called = words.get((block.constants["gender"], block.constants["dimension"]), self._words.clear())
            for identity, word in called.select("identity", "word").iter_rows():
                if identity in self._number:
                    row[self._number[identity]] = self._number[word]
        return table

    @cached_property
    def _prompts(self) -> tuple[npt.NDArray[Any], ...]:
        """Number of each prompt's name, form of its options, whether it is about 2, and whether by position."""
        prompts = self._layout.prompts
        names = {name: at for at, name in enumerate(dict.fromkeys(prompt.name for prompt in prompts))}
        people = [OptionForm.ACTIVITIES if prompt.contrast == "activity" else self._people for prompt in prompts]
        forms = [_FACTS.get(prompt.question, form) for prompt, form in zip(prompts, people, strict=True)]
        flags = np.array([(prompt.about == "2", prompt.reference == "position") for prompt in prompts], dtype=np.bool_)
        return np.array([names[prompt.name] for prompt in prompts]), np.array(forms, dtype=np.int8), *flags.T

    def offered_options(self, frame: pl.DataFrame) -> Offered:
        """Work out the options of each row of a trial frame."""
        numbers = frame["trial"].to_numpy().astype(np.int64)
        block, prompt = self._layout.locate(numbers)
        name, form, second, by_position = (facts[prompt] for facts in self._prompts)
        pairs = self._layout.pair_numbers(numbers)
        key = keys(pairs, name, self._seed)
        left = left_first(pairs, self._seed) if self._composed else np.ones(numbers.size, dtype=bool)
        place = np.full((numbers.size, 4), -1, dtype=np.int8)
        four = form >= OptionForm.WHO
        place[four] = _ORDERS[(key[four] % np.uint64(len(_ORDERS))).astype(np.int64)]
        last = (key[~four] >> np.uint64(7)) & np.uint64(1)
        place[~four, 0], place[~four, 1] = last, 1 - last
        identities, doing = (_numbers_of_halves(frame, name, self._levels) for name in ("identity", "activity"))
        people = self._names[block[:, None], identities]
        options, names = (  # the positions with their article in options, and without it in questions
            np.where(by_position[:, None], np.where(left[:, None], halves, halves[::-1]), people)
            for halves in (np.arange(2), np.arange(2, 4))
        )
        texts = self._texts(form, second, options, doing, key)
        return Offered(form, tuple(self._number), texts, place, left, prompt, second, identities, doing, names)

    def _texts(
        self, form: npt.NDArray[np.int8], second: npt.NDArray[np.bool_], people: Codes, doing: Codes,
        key: npt.NDArray[np.uint64],
    ) -> Codes:  # fmt: skip
        """Number of each role's wording, shape (rows, 4)."""
        texts = np.full((form.size, 4), -1)
        texts[:, 2:] = np.where(np.isin(form, _PLUS)[:, None], [self._number[text] for text in self._both_and_none], -1)
        texts[:, :2] = np.where((form == OptionForm.ACTIVITIES)[:, None], doing, people)
        asks_second = (form == OptionForm.WHO) & second
        texts[asks_second, :2] = texts[asks_second, 1::-1]
        facts = np.flatnonzero(form == OptionForm.DOING)
        right = doing[facts, second[facts].astype(np.int64)]
        wrong = self._listed_wrong if self._released else self._wrong
        texts[facts, 0], texts[facts, 1:] = right, wrong(right, doing[facts], key[facts])
        return texts

    def _listed_wrong(self, right: Codes, pictured: Codes, _: npt.NDArray[np.uint64]) -> Codes:
        """Three wrong activities as the authors' code takes them: the other person's, then the first of its list.

        The code means to draw them and does not. It writes those of the list with a capital.
        """
        first = self._activities[: _DISTRACTORS + 2]
        listed = [(self._number[name], self._number[name.capitalize()]) for name in first]
        cases, case = np.unique(np.column_stack([right, pictured]), axis=0, return_inverse=True)
        wrong = []
        for correct, *both_activities in cases.tolist():
            decoys = [activity for activity in both_activities if activity != correct]
            wrong.append(
                (decoys + [capital for activity, capital in listed if activity not in both_activities])[:_DISTRACTORS]
            )
        return np.array(wrong, dtype=np.int64).reshape(-1, _DISTRACTORS)[case.ravel()]

    def _wrong(self, _: Codes, pictured: Codes, key: npt.NDArray[np.uint64]) -> Codes:
        """Three activities that nobody in the picture does, nor anything like them, at random (A.3)."""
        size = len(self._activities)
        numbers = np.array([self._number[name] for name in self._activities])
        code = np.full(len(self._number) + 1, -1)
        code[numbers] = np.arange(size)
        left_out = np.vstack([self._similar, np.zeros((1, size), bool)]).astype(np.uint64) << np.uint64(63)
        wrong = np.empty((key.size, _DISTRACTORS), dtype=np.int64)
        for start in range(0, key.size, _TOGETHER):
            rows = slice(start, start + _TOGETHER)
            with np.errstate(over="ignore"):
                draws = mix(np.add.outer(key[rows], np.arange(1, size + 1, dtype=np.uint64))) >> np.uint64(1)
            for place in code[pictured[rows]].T:
                draws |= left_out[place]
            for smallest in wrong[rows].T:
                smallest[:] = draws.argmin(axis=1)
                draws[np.arange(smallest.size), smallest] = np.iinfo(np.uint64).max
        return numbers[wrong]


def _numbers_of_halves(frame: pl.DataFrame, name: str, levels: pl.Enum) -> Codes:
    """Identity or activity on both halves of a picture, as places among levels, shape (rows, 2); -1 for none."""
    shared, *sides = (
        frame[column].cast(levels, strict=False).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        if column in frame.columns
        else np.full(frame.height, -1)
        for column in (name, f"{name}_1", f"{name}_2")
    )
    return np.stack([np.where(side < 0, shared, side) for side in sides], axis=1)


def answer(frame: pl.DataFrame, offered: Offered) -> pl.DataFrame:
    """Read the replies of a trial frame, whose rows offered these options.

    Returns the rows with, in place of text and probs: `weight` (f64; of option 1, or of the right answer), `mass`,
    `na`, `other` (f64; of option 2 where two are chosen between), `swapped` (f64; of the question who alone), `both`,
    `none` (f64; where they were offered), `wrong_1`, `wrong_2` (f64; of wrong activities, the third is the rest),
    `listed_first` (whether option 1, or the right answer, was listed before option 2, or before all wrong answers) and
    `left_first` (whether identity 1 or activity 1 is the left half).

    An answer "both" or "none" is valid where it was offered, and chooses neither of the two.
    """
    role, reasons = _roles(frame, offered)
    valid = role >= 0
    drawn_roles = np.where(valid[:, None], (role[:, None] == np.arange(4)).astype(np.float64), np.nan)
    place = offered.place
    exact = {
        name: pl.when(pl.Series(place[:, code] >= 0)).then(
            pl.col("weights").list.get(pl.lit(pl.Series(place[:, code].astype(np.int64))), null_on_oob=True)
        )
        for code, name in enumerate(_ROLES)
    }
    sampled = pl.DataFrame(drawn_roles, schema=_ROLES).with_columns(
        mass=pl.Series(valid.astype(np.float64)), na=reasons
    )
    answers = exact_or_drawn(frame, sampled, exact)
    weights = answers.select(_ROLES).to_numpy()
    columns = {
        name: np.where(np.isin(offered.form, forms), weights[:, code], np.nan)
        for name, (code, forms) in _WEIGHTS.items()
    }
    two = np.isin(offered.form, _TWO)
    first = np.where(two, place[:, 0] < place[:, 1], place[:, 0] == 0)
    return frame.drop("text", "probs").with_columns(
        *(pl.Series(name, values).fill_nan(None) for name, values in columns.items()),
        *answers.select("mass", "na"),
        pl.Series("listed_first", first),
        pl.Series("left_first", offered.left_first),
    )


def _roles(frame: pl.DataFrame, offered: Offered) -> tuple[Codes, pl.Series]:
    """Roles that replies name, -1 for none, and reasons why there is none.

    Most replies are an option and nothing else, as the protocol constrains them: those are compared by their number.
    What is left is parsed once for each distinct reply to the same people or activities, in whatever order they were
    listed.
    """
    replies = frame.select(pl.col("text").cast(pl.String), status=pl.col("status").cast(pl.String))
    small = pl.Series(offered.wordings).str.to_lowercase().to_list()
    folded = {text: at for at, text in enumerate(small)}
    fold = np.array([*(folded[text] for text in small), -1])
    distinct = replies.select(pl.col("text").unique()).drop_nulls()
    plain = pl.col("text").str.to_lowercase().str.strip_chars(" \t\r\n.\"'*`").replace_strict(folded, default=-2)
    number = replies.join(distinct.with_columns(number=plain), on="text", how="left", maintain_order="left")
    is_read = pl.col("text").is_not_null() & ~pl.col("status").is_in(UNREAD)
    reply = number.select(pl.when(is_read).then("number").otherwise(-2)).to_series().to_numpy()
    names_role = fold[offered.texts] == reply[:, None]
    role = np.where(names_role.any(axis=1), 3 - names_role[:, ::-1].argmax(axis=1), -1)
    reasons = pl.Series("na", [None] * frame.height, NA_DTYPE)
    rows = np.flatnonzero(role < 0)
    if rows.size:
        unread = pl.concat([replies[rows], offered.wordings_of_rows(rows)], how="horizontal")
        parsed = _parse_replies(unread.with_columns(form=pl.Series(offered.form[rows])))
        role[rows], reasons = parsed["role"], reasons.scatter(rows, parsed["na"])
    return role, reasons


def _parse_replies(replies: pl.DataFrame) -> pl.DataFrame:
    """The role that each reply names in its own words, -1 for none, and `na`, why there is none."""
    listed = ("form", *_ROLES)
    coded = replies.with_columns(list=pl.struct(listed).rank("dense") - 1)
    lists = coded.unique("list").sort("list").select(listed).rows()
    # Sorted, as the parser is built anew for each list of options in each order.
    names = [sorted(text for text in texts[: 2 if form in _PLUS else 4] if text) for form, *texts in lists]
    options = [tuple(Option("", text, text) for text in people) for people in names]
    parsed = parse_column(coded, "text", "list", options)
    roles = np.array([[*map(row[1:].index, people), -1, -1][:4] for row, people in zip(lists, names, strict=True)])
    choice = parsed["choice"].fill_null(0).to_numpy()
    left, right = (pl.col("text").str.contains(side) for side in (_LEFT, _RIGHT))
    plus, neither = pl.col("form").is_in([int(form) for form in _PLUS]), pl.col("na") == NA.NEITHER.value
    role = (
        pl.when(pl.col("choice").is_not_null()).then(pl.Series(roles[coded["list"].to_numpy(), choice]))
        .when(plus & (pl.col("na") == NA.BOTH.value)).then(2)
        .when(plus & neither & pl.col("text").str.head(200).str.contains(_NOBODY)).then(3)
        .when(neither & pl.col("role_0").is_in(POSITIONS) & (left != right))
        .then(((pl.col("role_0") == POSITIONS[0]) != left).cast(pl.Int64))
        .otherwise(-1)
    )  # fmt: skip
    read_replies = coded.with_columns(parsed).with_columns(role=role)
    return read_replies.select("role", na=pl.when(pl.col("role") < 0).then("na"))
