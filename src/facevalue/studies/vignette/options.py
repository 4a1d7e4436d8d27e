"""Options of each trial, in a reproducible order, and what replies choose of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers import NA, NA_DTYPE, parse
from facevalue.answers.exact import exact_or_drawn
from facevalue.design import mix
from facevalue.stimuli.pairs import left_first
from facevalue.studies.vignette.design import Layout, keys
from facevalue.studies.vignette.settings import RELEASED, TWO
from facevalue.studies.vignette.tables import activities, similar_activities
from facevalue.types import Option, Status

POSITIONS = ("the left person", "the right person")
BOTH, NONE = "both", "none"
"""What identity questions offer besides the two people (A.3); the released code writes both with a capital."""
_ORDERS = np.array(
    [(a, b, c, 6 - a - b - c) for a in range(4) for b in range(4) for c in range(4) if len({a, b, c}) == 3],
    dtype=np.int8,
)
_DISTRACTORS = 3
_LEFT, _RIGHT = re.compile(r"\bleft\b", re.IGNORECASE), re.compile(r"\bright\b", re.IGNORECASE)
_NOBODY = re.compile(r"\b(?:none|neither|nobody|no one)\b", re.IGNORECASE)
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
        return Offered(rows, form, self._texts(rows, form, key, left), place, left)

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

    def _texts(
        self, rows: pl.DataFrame, form: npt.NDArray[np.int8], key: npt.NDArray[np.uint64], left: npt.NDArray[np.bool_]
    ) -> pl.DataFrame:
        first = pl.Series("left", left)
        by_position = (pl.col("reference") == "position").fill_null(value=False)
        second = pl.col("about") == "2"
        kind = pl.Series("form", form)
        wrong = self._listed_wrong(rows, form) if self._released else self._wrong(rows, form, key)
        side = [pl.when(first == (i == 0)).then(pl.lit(POSITIONS[0])).otherwise(pl.lit(POSITIONS[1])) for i in (0, 1)]
        person = [pl.when(by_position).then(side[i]).otherwise(pl.col(f"word_{i + 1}")) for i in (0, 1)]
        right = pl.when(second).then(person[1]).otherwise(person[0])
        swapped = pl.when(second).then(person[0]).otherwise(person[1])
        people, doing = kind.is_in([int(OptionForm.PEOPLE), int(OptionForm.FOUR)]), kind == int(OptionForm.DOING)
        is_who = kind == int(OptionForm.WHO)

        def role(i: int, two: pl.Expr, activity: pl.Expr, name: pl.Expr, deed: pl.Expr) -> pl.Expr:
            chosen = pl.when(people).then(two).when(doing).then(deed).when(is_who).then(name).otherwise(activity)
            return chosen.alias(f"role_{i}")

        nothing = pl.lit(None, pl.String)
        two_people, none = (pl.lit(text.capitalize() if self._released else text) for text in (BOTH, NONE))
        more = [pl.when(kind == int(OptionForm.FOUR)).then(text).otherwise(nothing) for text in (two_people, none)]
        return rows.hstack(wrong).select(
            role(0, person[0], pl.col("activity_1"), right, pl.col("asked_activity")),
            role(1, person[1], pl.col("activity_2"), swapped, pl.col("wrong_0")),
            role(2, more[0], nothing, two_people, pl.col("wrong_1")),
            role(3, more[1], nothing, none, pl.col("wrong_2")),
        )

    def _listed_wrong(self, rows: pl.DataFrame, form: npt.NDArray[np.int8]) -> pl.DataFrame:
        """Three wrong activities as the authors' code takes them: the other person's, then the first of its list.

        The code means to draw them and does not. It writes those of the list with a capital.
        """
        out: list[tuple[str | None, ...]] = [(None,) * _DISTRACTORS] * rows.height
        activities = rows.select("asked_activity", "activity_1", "activity_2").rows()
        for at in np.flatnonzero(form == OptionForm.DOING).tolist():
            asked_activity, *both_activities = activities[at]
            decoys = [name for name in both_activities if name != asked_activity]
            listed = [name.capitalize() for name in self._activities[: _DISTRACTORS + 2] if name not in both_activities]
            out[at] = tuple((decoys + listed)[:_DISTRACTORS])
        return pl.DataFrame(out, schema={f"wrong_{i}": pl.String for i in range(_DISTRACTORS)}, orient="row")

    def _wrong(self, rows: pl.DataFrame, form: npt.NDArray[np.int8], key: npt.NDArray[np.uint64]) -> pl.DataFrame:
        """Three activities that nobody in the picture does, nor anything like them, at random (A.3)."""
        out = np.full((rows.height, _DISTRACTORS), None, dtype=object)
        at = np.flatnonzero(form == OptionForm.DOING)
        if at.size:
            size = len(self._activities)
            places = {name: i for i, name in enumerate(self._activities)}
            offered = [
                rows[column][at].replace_strict(places, default=-1, return_dtype=pl.Int64).to_numpy()
                for column in ("activity_1", "activity_2")
            ]
            with np.errstate(over="ignore"):
                draws = mix(np.add.outer(key[at], np.arange(1, size + 1, dtype=np.uint64))) >> np.uint64(1)
            for code in offered:
                has_activity = code >= 0
                draws[has_activity] |= self._similar[code[has_activity]].astype(np.uint64) << np.uint64(63)
            chosen = np.argpartition(draws, _DISTRACTORS, axis=1)[:, :_DISTRACTORS]
            ranked = np.take_along_axis(chosen, np.argsort(np.take_along_axis(draws, chosen, 1), axis=1), 1)
            out[at] = np.array(self._activities, dtype=object)[ranked]
        return pl.DataFrame({f"wrong_{i}": pl.Series(out[:, i].tolist(), dtype=pl.String) for i in range(_DISTRACTORS)})


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
        pl.Series("mass", valid.astype(np.float64)), reasons
    )
    read_answers = exact_or_drawn(frame, sampled, exact)
    weights = read_answers.select(_ROLES).to_numpy()
    is_who, doing = offered.form == OptionForm.WHO, offered.form == OptionForm.DOING
    four = is_who | (offered.form == OptionForm.FOUR)
    columns = {
        "weight": weights[:, 0],
        "other": np.where(is_who | doing, np.nan, weights[:, 1]),
        "swapped": np.where(is_who, weights[:, 1], np.nan),
        "both": np.where(four, weights[:, 2], np.nan),
        "none": np.where(four, weights[:, 3], np.nan),
        "wrong_1": np.where(doing, weights[:, 1], np.nan),
        "wrong_2": np.where(doing, weights[:, 2], np.nan),
    }
    first = np.where(is_who | doing, place[:, 0] == 0, place[:, 0] < place[:, 1])
    return frame.drop("text", "probs").with_columns(
        *(pl.Series(name, values).fill_nan(None) for name, values in columns.items()),
        *(
            read_answers["mass"],
            read_answers["na"],
            pl.Series("listed_first", first),
            pl.Series("left_first", offered.left_first),
        ),
    )


def _roles(frame: pl.DataFrame, offered: Offered) -> tuple[npt.NDArray[np.int64], pl.Series]:
    """Which role each reply names, -1 for none, and why there is none.

    Most replies are an option and nothing else, as the protocol constrains them: those are compared as columns. What is
    left is parsed once for each distinct reply to the same list.
    """
    texts = frame["text"].cast(pl.String)
    failed = frame["status"].cast(pl.String).is_in([Status.REFUSED.value, Status.ERROR.value]) | texts.is_null()
    plain = texts.str.to_lowercase().str.strip_chars(" \t\r\n.\"'*`")
    role = np.full(frame.height, -1, dtype=np.int64)
    for code in range(4):
        same = (plain == offered.texts[f"role_{code}"].str.to_lowercase()).fill_null(value=False)
        role[(same & ~failed).to_numpy()] = code
    reasons = np.full(frame.height, None, dtype=object)
    refused = (frame["status"].cast(pl.String) == Status.REFUSED.value).to_numpy()
    reasons[failed.to_numpy()] = NA.ERROR.value
    reasons[refused] = NA.REFUSED.value
    rest = np.flatnonzero((role < 0) & ~failed.to_numpy())
    if rest.size:
        parsed = _parsed(frame[rest], offered, rest)
        role[rest], reasons[rest] = parsed
    return role, pl.Series("na", reasons.tolist(), dtype=NA_DTYPE)


def _parsed(
    frame: pl.DataFrame, offered: Offered, rows: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.object_]]:
    place = offered.place[rows]
    status = frame["status"].cast(pl.String).to_list()
    parsed: dict[tuple[object, ...], tuple[int, str | None]] = {}
    role = np.full(rows.size, -1, dtype=np.int64)
    reasons = np.full(rows.size, None, dtype=object)
    listed = zip(offered.texts[rows].iter_rows(), place.tolist(), offered.form[rows].tolist(), strict=True)
    for i, (raw, state, (texts, order, form)) in enumerate(zip(frame["text"], status, listed, strict=True)):
        key = (raw, state, texts, form)
        if key not in parsed:
            lines = [text for _, text in sorted((p, t) for p, t in zip(order, texts, strict=True) if p >= 0)]
            parsed[key] = _one(str(raw), state, lines, texts, OptionForm(form))
        role[i], reasons[i] = parsed[key]
    return role, reasons


def _one(
    raw: str, status: str | None, lines: list[str], texts: tuple[str | None, ...], form: OptionForm
) -> tuple[int, str | None]:
    """Parse one reply: its role, or the reason why there is none."""
    # Sorted, as the parser is built anew for each list of options in each order.
    four = form in (OptionForm.WHO, OptionForm.FOUR)
    people = sorted(text for text in lines if not four or text.lower() not in (BOTH, NONE))
    parsed = parse(raw, tuple(Option("", text, text) for text in people), truncated=status == Status.TRUNCATED.value)
    if parsed.choice is not None:
        return texts.index(people[parsed.choice]), None
    reason = parsed.reason
    if four and reason == NA.BOTH:
        return 2, None
    if four and reason == NA.NEITHER and _NOBODY.search(raw[:200]):
        return 3, None
    if reason == NA.NEITHER and "the left person" in lines and bool(_LEFT.search(raw)) != bool(_RIGHT.search(raw)):
        return texts.index("the left person" if _LEFT.search(raw) else "the right person"), None
    return -1, None if reason is None else reason.value
