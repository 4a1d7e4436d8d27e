"""Keys of items: the right option of each, and several scores of one answer."""

from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import DataError, FaceValueError
from facevalue.protocol.asks import ORDERING, Ask
from facevalue.protocol.replies import choice
from facevalue.types import Status
from tests.protocol.conftest import MINIMAL, Reader

TEXTS = {"one": "{first}", "two": "{second}", "unknown": "cannot be determined"}
ITEMS = (
    {"question": "stole", "first": "the old man", "second": "the young man", "key": "unknown", "target": "one"},
    {"question": "paid", "first": "the old man", "second": "the young man", "key": "two", "target": "two"},
)
KEYED = (
    MINIMAL.replace('as a {job}?"', 'as a {job}, or say who {question}: {options}?"')
    .replace(
        'kind = "yes-no"',
        'kind = "choice"\noptions = {one = "{first_one}", two = "{second_one}", unknown = "nobody can tell"}\n'
        'favourable = "{key}"',
    )
    .replace(
        "[answer]",
        '[[item]]\nquestion = "stole"\nfirst_one = "the old man"\nsecond_one = "the boy"\nkey = "unknown"\n'
        '[[item]]\nquestion = "paid"\nfirst_one = "the old man"\nsecond_one = "the boy"\nkey = "two"\n[answer]',
    )
)


def ask(favourable: object, order: str = "rotations") -> Ask:
    reply = choice(TEXTS, favourable, order)  # type: ignore[arg-type]
    return Ask(("Who {question}? {options}",), reply, items=ITEMS)


def frame(asked: Ask, rows: Sequence[tuple[str, str, str | None]], probs: Sequence[list[float] | None]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "question": pl.Series([row[0] for row in rows], dtype=pl.Enum(["stole", "paid"])),
            ORDERING: pl.Series([row[1] for row in rows], dtype=pl.Enum(asked.reply.orderings)),
            "text": pl.Series([row[2] for row in rows], dtype=pl.String),
            "status": [Status.OK.value] * len(rows),
            "probs": pl.Series(probs, dtype=pl.List(pl.Float64)),
        }
    )


def test_the_right_option_is_that_of_the_item_in_any_order() -> None:
    asked = ask("{key}")
    rows = [
        ("stole", "1", "cannot be determined"), ("stole", "3", "The old man."), ("paid", "2", "the young man"),
        ("paid", "1", "cannot be determined"), ("paid", "3", "I won't say who."),
    ]  # fmt: skip
    read = asked.read(frame(asked, rows, [None] * len(rows)))
    assert read["right"].to_list() == [1.0, 0.0, 1.0, 0.0, None]


@given(st.lists(st.floats(0.01, 1.0), min_size=3, max_size=3), st.sampled_from(["1", "2", "3"]))
def test_probabilities_give_the_share_of_the_right_option(weights: list[float], ordering: str) -> None:
    asked = ask({"right": {"{key}": 1}, "toward": {"{target}": 1, "unknown": -1}})
    probs = [weight / sum(weights) for weight in weights]
    read = asked.read(frame(asked, [("paid", ordering, None)], [probs]))
    by_level = dict(zip((o.level for o in asked.reply.options(ordering)), probs, strict=True))
    assert read["right"][0] == pytest.approx(by_level["option two"], abs=1e-6)
    assert read["toward"][0] == pytest.approx(by_level["option two"] - by_level["option unknown"], abs=1e-6)


def test_scores_have_limits_of_their_values() -> None:
    right, toward = ask({"right": {"{key}": 1}, "toward": {"{target}": 2, "unknown": -1}}).reply.scores
    assert (right.low, right.high, right.unit) == (0.0, 1.0, "probability")
    assert (toward.low, toward.high, toward.unit) == (-1.0, 2.0, "points")


def test_a_study_with_a_key_takes_the_share_of_right_answers(read: Reader) -> None:
    study = read(KEYED).study()
    (shift,) = (measure for measure in study.estimates.measures if measure.name == "shift")
    assert shift.title == "Shift from the base: share of right answers"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('key = "two"', 'key = "too"', r"Unknown option \(column 'key' of paid\) 'too'\. Did you mean 'two'"),
        ('"{key}"', '"{kye}"', r"Unknown column that names an option 'kye'\. Did you mean 'key'"),
        ('favourable = "{key}"', "[answer.scores]\none = 1", r"Each option has a score"),
        ('favourable = "{key}"', '[answer.scores]\none = 1\nright = {"{key}" = 1}', r"'one' is a table, not 1"),
        ('favourable = "{key}"', '[answer.scores.right]\n"{key}" = 0', r"not all the same"),
        (
            'favourable = "{key}"',
            '[answer.scores.right]\n"{key}" = "yes"',
            r"line \d+: '\{key\}' is a number or \"left out\", not 'yes'",
        ),
        ('favourable = "{key}"', '[answer.scores.city]\n"{key}" = 1', r"'city'"),
        ('favourable = "{key}"', '[answer.scores.right]\n"{key}" = 1\nthree = 2', r"Unknown option 'three'"),
        ('key = "two"', "", r"Item 2 has no 'key'"),
        ('favourable = "{key}"', 'favourable = "key"', r"Unknown favourable option 'key'"),
    ],
)
def test_mistakes_are_one_sentence(before: str, after: str, message: str, read: Reader) -> None:
    assert before in KEYED
    with pytest.raises(FaceValueError, match=message):
        read(KEYED.replace(before, after, 1)).study()


def test_mixed_scores_are_refused() -> None:
    with pytest.raises(DataError, match="either what each option counts, or tables"):
        choice({"a": "x", "b": "y"}, {"a": 1.0, "b": {"a": 1.0}})  # type: ignore[arg-type]
