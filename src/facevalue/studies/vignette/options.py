"""Options of each trial, in a reproducible order, and what replies choose of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from itertools import permutations

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers import NA, NA_DTYPE, parse_column
from facevalue.answers.base import UNREAD
from facevalue.answers.columns import exact_or_drawn
from facevalue.design import mix
from facevalue.stimuli.pairs import left_first
from facevalue.studies.vignette.design import Layout, keys
from facevalue.studies.vignette.settings import RELEASED, TWO
from facevalue.studies.vignette.tables import activities, similar_activities
from facevalue.types import Option

POSITIONS = ("the left person", "the right person")
BOTH, NONE = "both", "none"
"""What identity questions offer besides the two people (A.3); the released code writes both with a capital."""
_ORDERS = np.array(list(permutations(range(4))), dtype=np.int8)
_DISTRACTORS = 3
_LEFT, _RIGHT, _NOBODY = r"(?i)\bleft\b", r"(?i)\bright\b", r"(?i)\b(?:none|neither|nobody|no one)\b"
_ROLES = tuple(f"role_{code}" for code in range(4))


class OptionForm(IntEnum):
    """What a question's options are. Role 0 is option 1, or the right answer."""

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
"""What each role means, in the order of the roles."""


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
    """The options of each row of a trial frame."""

    frame: pl.DataFrame
    """The rows: what is shown and asked, with all columns there are."""
    form: npt.NDArray[np.int8]
    """Their `OptionForm`."""
    texts: pl.DataFrame
    """Wording of each role, four columns `role_0` ... `role_3`; null where there are but two."""
    place: npt.NDArray[np.int8]
    """Shape (rows, 4): where each role stands in the list; -1 for none."""
    left_first: npt.NDArray[np.bool_]
    """Whether identity 1 or activity 1 is the left half of the picture."""


_COLUMNS = (
    "gender", "dimension", "contrast", "shown", "prompt", "paradigm", "question", "about", "trait", "wording",
    "reference", "identity", "identity_1", "identity_2", "activity", "activity_1", "activity_2",
)  # fmt: skip


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
        self._layout = layout
        self._words = words
        self._seed = seed
        self._composed = composed
        self._released = prompts == RELEASED
        self._people = OptionForm.PEOPLE if prompts in (TWO, RELEASED) else OptionForm.FOUR
        names = list(dict.fromkeys(p for b in layout.design.blocks for p in b.prompt[0].columns()[0].values))
        self._prompts = {name: code for code, name in enumerate(names)}
        self._activities = [activity.name for activity in activities()]
        code = {name: i for i, name in enumerate(self._activities)}
        self._similar = np.eye(len(code), dtype=bool)
        for pair in similar_activities():
            a, b = (code[name] for name in pair)
            self._similar[a, b] = self._similar[b, a] = True

    def of(self, frame: pl.DataFrame) -> Offered:
        """Work out the options of each row of a trial frame."""
        rows = self._complete(frame)
        numbers = frame["trial"].to_numpy().astype(np.int64)
        pairs = self._layout.pair_numbers(numbers)
        prompt = rows["prompt"].replace_strict(self._prompts, return_dtype=pl.Int64).to_numpy()
        key = keys(pairs, prompt, self._seed)
        left = left_first(pairs, self._seed) if self._composed else np.ones(numbers.size, dtype=bool)
        form = self._forms(rows)
        place = np.full((numbers.size, 4), -1, dtype=np.int8)
        four = form >= OptionForm.WHO
        place[four] = _ORDERS[(key[four] % np.uint64(len(_ORDERS))).astype(np.int64)]
        second = (key[~four] >> np.uint64(7)) & np.uint64(1)
        place[~four, 0], place[~four, 1] = second, 1 - second
        doing = np.flatnonzero(form == OptionForm.DOING)
        wrong = np.full((numbers.size, _DISTRACTORS), None, dtype=object)
        if doing.size:
            wrong[doing] = (self._listed_wrong if self._released else self._wrong)(rows[doing], key[doing])
        columns = [pl.Series(f"wrong_{i}", wrong[:, i].tolist(), pl.String) for i in range(_DISTRACTORS)]
        texts = self._texts(rows.with_columns(*columns, form=pl.Series(form), left=pl.Series(left)))
        return Offered(rows, form, texts, place, left)

    def _complete(self, frame: pl.DataFrame) -> pl.DataFrame:
        """All columns, as text, with the people and activities of each half, and those that are asked about."""
        have = [pl.col(c).cast(pl.String) if c in frame.columns else pl.lit(None, pl.String).alias(c) for c in _COLUMNS]
        rows = frame.select(have).with_columns(
            pl.coalesce(f"{name}_{k}", name).alias(f"{name}_{k}") for name in ("identity", "activity") for k in (1, 2)
        )
        second = pl.col("about") == "2"
        rows = rows.with_columns(
            pl.when(second).then("identity_2").otherwise("identity_1").alias("asked_identity"),
            pl.when(second).then("activity_2").otherwise("activity_1").alias("asked_activity"),
        )
        for column in ("identity_1", "identity_2"):
            words = self._words.rename({"identity": column, "word": f"word_{column[-1]}"})
            rows = rows.join(words, on=["gender", "dimension", column], how="left", maintain_order="left")
        return rows

    def _forms(self, rows: pl.DataFrame) -> npt.NDArray[np.int8]:
        question = pl.col("question")
        form = (
            pl.when(question == "doing").then(int(OptionForm.DOING)).when(question == "who").then(int(OptionForm.WHO))
            .when(pl.col("contrast") == "activity").then(int(OptionForm.ACTIVITIES)).otherwise(int(self._people))
        )  # fmt: skip
        return rows.select(form.cast(pl.Int8)).to_series().to_numpy()

    def _texts(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Wording of each role, of rows with their form, wrong activities, and whether identity 1 is on the left."""
        by_position, second = (pl.col("reference") == "position").fill_null(value=False), pl.col("about") == "2"
        left, right_half = map(pl.lit, POSITIONS)
        sides = [pl.when(pl.col("left") == first).then(left).otherwise(right_half) for first in (True, False)]
        person_1, person_2 = (pl.when(by_position).then(sides[i]).otherwise(pl.col(f"word_{i + 1}")) for i in (0, 1))
        right, swapped = (pl.when(second).then(a).otherwise(b) for a, b in ((person_2, person_1), (person_1, person_2)))
        more = [pl.lit(text.capitalize() if self._released else text) for text in (BOTH, NONE)]
        roles: dict[OptionForm, tuple[str | pl.Expr, ...]] = {
            OptionForm.PEOPLE: (person_1, person_2),
            OptionForm.ACTIVITIES: ("activity_1", "activity_2"),
            OptionForm.WHO: (right, swapped, *more),
            OptionForm.DOING: ("asked_activity", "wrong_0", "wrong_1", "wrong_2"),
            OptionForm.FOUR: (person_1, person_2, *more),
        }
        return rows.select(
            pl.coalesce(
                pl.when(pl.col("form") == int(form)).then(texts[i]) for form, texts in roles.items() if i < len(texts)
            ).alias(name)
            for i, name in enumerate(_ROLES)
        )

    def _listed_wrong(self, rows: pl.DataFrame, _: npt.NDArray[np.uint64]) -> npt.NDArray[np.object_]:
        """Three wrong activities as the authors' code takes them: the other person's, then the first of its list.

        The code means to draw them and does not. It writes those of the list with a capital.
        """
        wrong = []
        for right, *both_activities in rows.select("asked_activity", "activity_1", "activity_2").iter_rows():
            decoys = [name for name in both_activities if name != right]
            listed = [name.capitalize() for name in self._activities[: _DISTRACTORS + 2] if name not in both_activities]
            wrong.append((decoys + listed)[:_DISTRACTORS])
        return np.array(wrong, dtype=object)

    def _wrong(self, rows: pl.DataFrame, key: npt.NDArray[np.uint64]) -> npt.NDArray[np.object_]:
        """Three activities that nobody in the picture does, nor anything like them, at random (A.3)."""
        size = len(self._activities)
        places = {name: i for i, name in enumerate(self._activities)}
        with np.errstate(over="ignore"):
            draws = mix(np.add.outer(key, np.arange(1, size + 1, dtype=np.uint64))) >> np.uint64(1)
        for column in ("activity_1", "activity_2"):
            code = rows[column].replace_strict(places, default=-1, return_dtype=pl.Int64).to_numpy()
            draws[code >= 0] |= self._similar[code[code >= 0]].astype(np.uint64) << np.uint64(63)
        chosen = np.argpartition(draws, _DISTRACTORS, axis=1)[:, :_DISTRACTORS]
        ranked = np.take_along_axis(chosen, np.argsort(np.take_along_axis(draws, chosen, 1), axis=1), 1)
        return np.array(self._activities, dtype=object)[ranked]


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


def _roles(frame: pl.DataFrame, offered: Offered) -> tuple[npt.NDArray[np.int64], pl.Series]:
    """Which role each reply names, -1 for none, and why there is none.

    Most replies are an option and nothing else, as the protocol constrains them: those are compared as columns. What is
    left is parsed once for each distinct reply to the same people or activities, in whatever order they were listed.
    """
    texts = frame.select("status", pl.col("text").cast(pl.String), *offered.texts, form=pl.Series(offered.form))
    is_read = pl.col("text").is_not_null() & ~pl.col("status").cast(pl.String).is_in(UNREAD)
    plain = pl.col("text").str.to_lowercase().str.strip_chars(" \t\r\n.\"'*`")
    same = (pl.when(is_read & (plain == pl.col(name).str.to_lowercase())).then(int(name[-1])) for name in _ROLES[::-1])
    role = texts.select(pl.coalesce(*same, -1)).to_series().to_numpy().astype(np.int64)
    reasons = pl.Series("na", [None] * frame.height, NA_DTYPE)
    rows = np.flatnonzero(role < 0)
    if rows.size:
        parsed = _parsed(texts[rows])
        role[rows], reasons = parsed["role"], reasons.scatter(rows, parsed["na"])
    return role, reasons


def _parsed(replies: pl.DataFrame) -> pl.DataFrame:
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
