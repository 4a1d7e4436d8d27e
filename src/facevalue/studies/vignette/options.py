"""Which options each trial offers, and in which order: vectorised, the same whenever it is worked out."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import mix
from facevalue.stimuli.pairs import left_first
from facevalue.studies.vignette.design import Layout, keys
from facevalue.studies.vignette.settings import RELEASED, TWO
from facevalue.studies.vignette.tables import activities, similar_activities

POSITIONS = ("the left person", "the right person")
BOTH, NONE = "both", "none"
"""What identity questions offer besides the two people (A.3); the released code writes both with a capital."""
_ORDERS = np.array(
    [(a, b, c, 6 - a - b - c) for a in range(4) for b in range(4) for c in range(4) if len({a, b, c}) == 3],
    dtype=np.int8,
)
_DISTRACTORS = 3


class Form(IntEnum):
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


LEVELS: Mapping[Form, tuple[str, ...]] = {
    Form.PEOPLE: ("1", "2"),
    Form.ACTIVITIES: ("1", "2"),
    Form.WHO: ("right", "swapped", "both", "none"),
    Form.DOING: ("right", "wrong 1", "wrong 2", "wrong 3"),
    Form.FOUR: ("1", "2", "both", "none"),
}
"""What each role means, in the order of the roles."""


@dataclass(frozen=True)
class Offered:
    """The options of each row of a trial frame.

    Attributes
    ----------
    frame:
        The rows: what is shown and asked, with all columns there are.
    form:
        Their `Form`.
    texts:
        Wording of each role, four columns `role_0` ... `role_3`; null where there are but two.
    place:
        Shape (rows, 4): where each role stands in the list; -1 for none.
    left_first:
        Whether identity 1 or activity 1 is the left half of the picture.
    """

    frame: pl.DataFrame
    form: npt.NDArray[np.int8]
    texts: pl.DataFrame
    place: npt.NDArray[np.int8]
    left_first: npt.NDArray[np.bool_]


_COLUMNS = (
    "gender", "dimension", "contrast", "shown", "prompt", "paradigm", "question", "about", "trait", "wording",
    "reference", "identity", "identity_1", "identity_2", "activity", "activity_1", "activity_2",
)  # fmt: skip


class Options:
    """Works out the options of trials.

    Parameters
    ----------
    layout:
        The design.
    words:
        Columns gender, dimension, identity, word: what an identity of each gender is called.
    seed:
        Which shuffle.
    composed:
        Whether pairs are put together by us, on random sides; else identity 1 is on the left.
    prompts:
        "paper": questions about people offer both and none, too (A.3); "two-options": the two people alone (4.2);
        "released": these, and wrong activities as the authors' code takes them.
    """

    def __init__(
        self, layout: Layout, words: pl.DataFrame, seed: int, composed: bool = True, prompts: str = "paper"
    ) -> None:
        self._layout = layout
        self._words = words
        self._seed = seed
        self._composed = composed
        self._released = prompts == RELEASED
        self._people = Form.PEOPLE if prompts in (TWO, RELEASED) else Form.FOUR
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
        four = form >= Form.WHO
        place[four] = _ORDERS[(key[four] % np.uint64(len(_ORDERS))).astype(np.int64)]
        second = (key[~four] >> np.uint64(7)) & np.uint64(1)
        place[~four, 0], place[~four, 1] = second, 1 - second
        return Offered(rows, form, self._texts(rows, form, key, left), place, left)

    def _complete(self, frame: pl.DataFrame) -> pl.DataFrame:
        """All columns, as text, with the people and activities of each half, and those that are asked about."""
        have = [pl.col(c).cast(pl.String) if c in frame.columns else pl.lit(None, pl.String).alias(c) for c in _COLUMNS]
        rows = frame.select(have).with_columns(
            pl.coalesce("identity_1", "identity").alias("identity_1"),
            pl.coalesce("identity_2", "identity").alias("identity_2"),
            pl.coalesce("activity_1", "activity").alias("activity_1"),
            pl.coalesce("activity_2", "activity").alias("activity_2"),
        )
        second = pl.col("about") == "2"
        rows = rows.with_columns(
            pl.when(second).then("identity_2").otherwise("identity_1").alias("asked_identity"),
            pl.when(second).then("identity_1").otherwise("identity_2").alias("other_identity"),
            pl.when(second).then("activity_2").otherwise("activity_1").alias("asked_activity"),
        )
        for column in ("identity_1", "identity_2"):
            words = self._words.rename({"identity": column, "word": f"word_{column[-1]}"})
            rows = rows.join(words, on=["gender", "dimension", column], how="left", maintain_order="left")
        return rows

    def _forms(self, rows: pl.DataFrame) -> npt.NDArray[np.int8]:
        question = pl.col("question")
        form = (
            pl.when(question == "doing").then(int(Form.DOING)).when(question == "who").then(int(Form.WHO))
            .when(pl.col("contrast") == "activity").then(int(Form.ACTIVITIES)).otherwise(int(self._people))
        )  # fmt: skip
        return rows.select(form.cast(pl.Int8)).to_series().to_numpy()

    def _texts(
        self, rows: pl.DataFrame, form: npt.NDArray[np.int8], key: npt.NDArray[np.uint64], left: npt.NDArray[np.bool_]
    ) -> pl.DataFrame:
        first = pl.Series("left", left)
        where = (pl.col("reference") == "position").fill_null(value=False)
        second = pl.col("about") == "2"
        kind = pl.Series("form", form)
        wrong = self._listed_wrong(rows, form) if self._released else self._wrong(rows, form, key)
        side = [pl.when(first == (i == 0)).then(pl.lit(POSITIONS[0])).otherwise(pl.lit(POSITIONS[1])) for i in (0, 1)]
        person = [pl.when(where).then(side[i]).otherwise(pl.col(f"word_{i + 1}")) for i in (0, 1)]
        right = pl.when(second).then(person[1]).otherwise(person[0])
        swapped = pl.when(second).then(person[0]).otherwise(person[1])
        people, doing = kind.is_in([int(Form.PEOPLE), int(Form.FOUR)]), kind == int(Form.DOING)
        who = kind == int(Form.WHO)

        def role(i: int, two: pl.Expr, activity: pl.Expr, named: pl.Expr, done: pl.Expr) -> pl.Expr:
            chosen = pl.when(people).then(two).when(doing).then(done).when(who).then(named).otherwise(activity)
            return chosen.alias(f"role_{i}")

        nothing = pl.lit(None, pl.String)
        both, none = (pl.lit(text.capitalize() if self._released else text) for text in (BOTH, NONE))
        more = [pl.when(kind == int(Form.FOUR)).then(text).otherwise(nothing) for text in (both, none)]
        return rows.hstack(wrong).select(
            role(0, person[0], pl.col("activity_1"), right, pl.col("asked_activity")),
            role(1, person[1], pl.col("activity_2"), swapped, pl.col("wrong_0")),
            role(2, more[0], nothing, both, pl.col("wrong_1")),
            role(3, more[1], nothing, none, pl.col("wrong_2")),
        )

    def _listed_wrong(self, rows: pl.DataFrame, form: npt.NDArray[np.int8]) -> pl.DataFrame:
        """Three wrong activities as the authors' code takes them: the other person's, then the first of its list.

        The code means to draw them and does not. It writes those of the list with a capital.
        """
        out: list[tuple[str | None, ...]] = [(None,) * _DISTRACTORS] * rows.height
        shown = rows.select("asked_activity", "activity_1", "activity_2").rows()
        for at in np.flatnonzero(form == Form.DOING).tolist():
            asked, *both = shown[at]
            other = [name for name in both if name != asked]
            listed = [name.capitalize() for name in self._activities[: _DISTRACTORS + 2] if name not in both]
            out[at] = tuple((other + listed)[:_DISTRACTORS])
        return pl.DataFrame(out, schema={f"wrong_{i}": pl.String for i in range(_DISTRACTORS)}, orient="row")

    def _wrong(self, rows: pl.DataFrame, form: npt.NDArray[np.int8], key: npt.NDArray[np.uint64]) -> pl.DataFrame:
        """Three activities that nobody in the picture does, nor anything like them, at random (A.3)."""
        out = np.full((rows.height, _DISTRACTORS), None, dtype=object)
        at = np.flatnonzero(form == Form.DOING)
        if at.size:
            size = len(self._activities)
            places = {name: i for i, name in enumerate(self._activities)}
            shown = [
                rows[column][at].replace_strict(places, default=-1, return_dtype=pl.Int64).to_numpy()
                for column in ("activity_1", "activity_2")
            ]
            with np.errstate(over="ignore"):
                draws = mix(np.add.outer(key[at], np.arange(1, size + 1, dtype=np.uint64))) >> np.uint64(1)
            for code in shown:
                known = code >= 0
                draws[known] |= self._similar[code[known]].astype(np.uint64) << np.uint64(63)
            chosen = np.argpartition(draws, _DISTRACTORS, axis=1)[:, :_DISTRACTORS]
            ranked = np.take_along_axis(chosen, np.argsort(np.take_along_axis(draws, chosen, 1), axis=1), 1)
            out[at] = np.array(self._activities, dtype=object)[ranked]
        return pl.DataFrame({f"wrong_{i}": pl.Series(out[:, i].tolist(), dtype=pl.String) for i in range(_DISTRACTORS)})
