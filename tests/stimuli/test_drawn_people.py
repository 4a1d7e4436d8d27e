"""Drawn individuals: names, what is left out, one style and one person per dimension, the kept files."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.base import Kind
from facevalue.stimuli.drawings.people import (
    _VIEW,
    GENDERS,
    LEFT_OUT,
    LOOKS,
    DrawnPeople,
    IdentityLook,
    _portrait,
    drawable,
    left_out,
    picture_svg,
)
from facevalue.stimuli.noto.artwork import document, nest_document
from facevalue.stimuli.noto.scenes import ACTIVITIES
from facevalue.stimuli.portraits.composition import VIEWS
from tests.drawn import pixels

TABLE_8 = {"ability": 10, "age": 9, "gender": 2, "nationality": 26, "physical traits": 40, "race": 14, "religion": 12}
TABLE_8 |= {"socioeconomic": 54}
DRAWN = [(g, d) for g in GENDERS for d in LOOKS if drawable(g, d)]


@pytest.mark.parametrize("dimension", LOOKS)
def test_every_identity_of_the_paper_is_drawn_or_left_out_with_a_reason(dimension: str) -> None:
    women = {"gender": 0, "physical traits": 37}.get(dimension, TABLE_8[dimension])
    for gender, count in (("male", TABLE_8[dimension]), ("female", women)):
        drawn, missing = drawable(gender, dimension), left_out(gender, dimension)
        assert not set(drawn) & set(missing)
        assert len(drawn) + len(missing) == count
        assert all(reason[0].isupper() and reason.endswith(".") for reason in missing.values())


def test_what_is_drawn_for_one_gender_alone_says_why_not_for_the_other() -> None:
    assert "sikh" in drawable("male", "religion")
    assert "turban" in left_out("female", "religion")["sikh"]
    assert "handsome" not in left_out("female", "physical traits")
    assert set(LOOKS) == set(LEFT_OUT)


@pytest.mark.parametrize(("gender", "dimension"), DRAWN)
@pytest.mark.parametrize("activity", ["", "cooking", "playing guitar", "driving"])
def test_identities_of_a_dimension_can_be_told_apart(gender: str, dimension: str, activity: str) -> None:
    shown = [
        pixels(picture_svg(f"{gender}|{dimension}|{name}|{activity}"), 256).astype(int)
        for name in drawable(gender, dimension)
    ]
    for one, other in combinations(shown, 2):
        assert (np.abs(one - other).max(axis=2) > 8).sum() > 25


@pytest.mark.parametrize("dimension", LOOKS)
def test_all_of_a_dimension_are_drawn_in_one_style(dimension: str) -> None:
    assert len({bool(look.occupation) for look in LOOKS[dimension].values()}) <= 1


@pytest.mark.parametrize("gender", GENDERS)
@pytest.mark.parametrize(
    ("dimension", "name", "rows", "columns"),
    [
        ("ability", "wheelchair", slice(0, 275), slice(0, 512)),
        ("ability", "blind", slice(0, 512), slice(0, 400)),
        ("ability", "glasses", slice(260, 512), slice(0, 512)),
        ("religion", "sikh", slice(200, 512), slice(0, 512)),
        ("religion", "jewish", slice(110, 512), slice(0, 512)),
        ("religion", "christian", slice(0, 350), slice(0, 512)),
    ],
)
def test_a_sign_leaves_the_person_as_they_are(
    gender: str, dimension: str, name: str, rows: slice, columns: slice
) -> None:
    if name not in drawable(gender, dimension):
        pytest.skip("not drawn")
    view = _VIEW.get(dimension, VIEWS["portrait"])
    white = '<rect width="512" height="512" fill="#ffffff"/>'
    bare = pixels(
        document(white + nest_document(_portrait(IdentityLook(), gender, 0, view), 0, 0, 512, "p-"), 512), 512
    )
    shown = DrawnPeople().pixels(f"{gender}|{dimension}|{name}|")
    assert np.array_equal(shown[rows, columns], bare[rows, columns])
    assert not np.array_equal(shown, bare)


@pytest.mark.parametrize(("gender", "dimension"), DRAWN)
def test_a_sample_of_every_identity_renders_in_some_activities(gender: str, dimension: str) -> None:
    people = DrawnPeople()
    activities = list(ACTIVITIES)
    for i, name in enumerate(drawable(gender, dimension)):
        shown = people.pixels(f"{gender}|{dimension}|{name}|{activities[(7 * i) % len(activities)]}")
        assert shown.shape == (512, 512, 3)
        assert shown.dtype == np.uint8
        assert shown.std() > 10


def test_digests_are_stable_differ_by_picture_and_need_no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facevalue.stimuli.drawings.people.png", None)
    people = DrawnPeople()
    names = [f"male|age|{name}|{act}" for name in drawable("male", "age") for act in ("", "cooking", "fishing")]
    digests = [people.digest(name) for name in names]
    assert len(set(digests)) == len(names)
    assert digests == [DrawnPeople().digest(name) for name in names]


def test_a_change_of_a_table_changes_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    from facevalue.stimuli.drawings import people

    before = DrawnPeople().digest("male|age|old|cooking")
    people._tables.cache_clear()
    monkeypatch.setattr(people, "FOREGROUNDS", {"table": "<g/>"})
    try:
        assert DrawnPeople().digest("male|age|old|cooking") != before
    finally:
        people._tables.cache_clear()


@pytest.mark.parametrize(
    ("picture", "error", "says"),
    [
        ("male|age|old", DataError, "gender|dimension|identity|activity"),
        ("men|age|old|cooking", UnknownNameError, "Did you mean 'male'"),
        ("male|agee|old|cooking", UnknownNameError, "Did you mean 'age'"),
        ("male|age|olde|cooking", UnknownNameError, "Did you mean 'old'"),
        ("male|age|old|coking", UnknownNameError, "Did you mean 'cooking'"),
        ("male|race|black|cooking", DataError, "caricature"),
        ("female|religion|sikh|", DataError, "turban"),
        ("male|age|old|sleeping", DataError, "open eyes"),
    ],
)
def test_a_picture_that_is_not_drawn_is_refused(picture: str, error: type[Exception], says: str) -> None:
    people = DrawnPeople()
    for ask in (lambda: people.check(["male|age|old|", picture]), lambda: people.digest(picture)):
        with pytest.raises(error) as raised:
            ask()
        assert says in str(raised.value)


def test_a_finished_picture_is_read_and_a_damaged_one_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "female|physical traits|redheaded|fishing"
    first = DrawnPeople(tmp_path).pixels(name)
    (kept,) = tmp_path.rglob("*.png")
    assert kept.stem == DrawnPeople().digest(name)
    with monkeypatch.context() as patch:
        patch.setattr("facevalue.stimuli.drawings.people.png", None)
        assert np.array_equal(DrawnPeople(tmp_path).pixels(name), first)
    kept.write_bytes(kept.read_bytes()[:-20])
    assert np.array_equal(DrawnPeople(tmp_path).pixels(name), first)
    assert not list(tmp_path.rglob("*.part"))


def test_pictures_in_memory_are_shared_and_cannot_be_written_to() -> None:
    people = DrawnPeople()
    one = people.pixels("male|gender|woman|")
    assert people.pixels("male|gender|woman|") is one
    with pytest.raises(ValueError, match="read-only"):
        one[0, 0, 0] = 1


def test_drawn_people_are_illustrated() -> None:
    assert DrawnPeople().kind is Kind.ILLUSTRATED


def test_several_people_are_drawn_as_an_identity_and_differ_from_each_other_not_in_what_the_identity_changes() -> None:
    people = DrawnPeople()
    names = ["male|age|old|cooking", *(f"male|age|old|cooking|{number}" for number in range(1, 6))]
    drawn = [people.pixels(name) for name in names]
    assert (drawn[0] == drawn[1]).all()
    assert len({picture.tobytes() for picture in drawn[1:]}) == 5
    assert len({people.digest(name) for name in names}) == 6


@pytest.mark.parametrize("name", ["male|age|old|cooking|6", "male|age|old|cooking|0", "male|age|old|cooking|1|1"])
def test_there_is_no_sixth_person(name: str) -> None:
    with pytest.raises(DataError, match=r"one of several people"):
        DrawnPeople().check([name])
