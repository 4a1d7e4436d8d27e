"""What names of files tell: words in any order and spelling, ages among numbers, sets, and what stays in doubt."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue import studies
from facevalue.stimuli.manifest_guess import Guess, ages_in, guess, matches, phrases_of, words_of
from facevalue.stimuli.manifest_rows import Column


def guessed(tmp_path: Path, names: Sequence[str], study: str) -> Guess:
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return guess(tmp_path, studies.find_protocol(study).columns())


@pytest.mark.parametrize(
    "name",
    [
        "black woman 30.png", "Woman_Black_30.PNG", "30-black-WOMEN.jpg", "BlackWoman30.webp", "women/black/30.png",
        "Black/Women/aged 30.png", "black.woman.30yo.jpeg", "30 years old black woman.gif", "ü/black_female_30.png",
        "African-American lady, 30.png",
    ],
)  # fmt: skip
def test_who_is_shown_is_read_in_any_order_case_and_number(tmp_path: Path, name: str) -> None:
    other = name.replace("30", "45")
    row = next(row for row in guessed(tmp_path, [name, other], "modscan").rows if row["path"] == name)
    assert (row["gender"], row["race"], row["age"]) == ("female", "Black", "30")


@pytest.mark.parametrize("name", ["tamale", "femaleness", "blackboard", "whitehall", "boldman", "humane"])
def test_no_level_is_found_within_a_word(name: str) -> None:
    columns = {column.name: column for column in studies.find_protocol("modscan").columns()}
    assert not any(matches(words_of(name), phrases_of(column)) for column in columns.values())


@pytest.mark.parametrize(
    ("names", "ages"),
    [
        (["asian_female_25_0", "asian_female_25_1", "asian_male_60_0"], {"25", "60"}),
        (["25_f", "40_f", "25_m"], {"25", "40"}),
        (["1", "2", "3"], set()),
        (["IMG_0025", "IMG_0040"], set()),
        (["ann_25yo_3", "ben_60yo_9"], {"25", "60"}),
        (["age 25 nr 30", "age 60 nr 9"], {"25", "60"}),
        (["f_1", "f_2", "m_1", "m_2"], set()),
        (["f_1", "f_2", "m_3", "m_4"], set()),
        (["25/f", "60/f"], {"25", "60"}),
        (["1999_f", "2001_f"], set()),
        (["f_250", "f_30"], set()),
    ],
)
def test_ages_are_told_from_counts(names: list[str], ages: set[str]) -> None:
    assert set(ages_in([f"{name}.png" for name in names]).by_path.values()) == ages


def test_numbers_that_might_be_ages_are_in_doubt_and_not_taken(tmp_path: Path) -> None:
    names = [f"{race}_man_{a}_{b}.png" for race, a, b in (("white", 25, 44), ("black", 31, 52), ("white", 60, 23))]
    found = guessed(tmp_path, names, "modscan")
    assert not any(row.get("age") for row in found.rows)
    assert found.unsure["age"] == (3, "black_man_31_52.png (31 or 52)")


def test_two_levels_in_one_name_are_in_doubt(tmp_path: Path) -> None:
    found = guessed(tmp_path, ["black and white woman 25.png", "white man 40.png"], "modscan")
    assert found.unsure == {"race": (1, "black and white woman 25.png (Black or White)")}
    assert [row.get("race") for row in found.rows] == [None, "White"]


def test_what_was_changed_says_nothing_of_who_is_shown(tmp_path: Path) -> None:
    found = guessed(tmp_path, ["ann.png", "ann_black_hair.png", "ann_hair_color_black.png"], "stylisticbias")
    assert not any(row.get("ethnicity") for row in found.rows)


def test_a_level_that_the_study_does_not_know_is_read_by_its_common_word(tmp_path: Path) -> None:
    found = guessed(tmp_path, ["hispanic woman 25.png", "white man 25.png"], "modscan")
    assert [row["race"] for row in found.rows] == ["latino", "White"]


@pytest.mark.parametrize(
    ("names", "sets"),
    [
        (["set00/black female doctor.png", "set00/white male doctor.png"], {"set00"}),
        (["1/black_man.png", "1/white_man.png", "2/black_man.png", "2/white_man.png"], {"1", "2"}),
        (["doctor-1-black-man.png", "doctor-1-white-man.png", "cook-1-black-man.png", "cook-1-white-man.png"],
         {"doctor-1", "cook-1"}),
        (["black_man/doctor.png", "white_man/doctor.png", "black_man/cook.png", "white_man/cook.png"],
         {"doctor", "cook"}),
        (["a/1/black man.png", "a/1/white man.png", "b/1/black man.png", "b/1/white man.png"], {"a-1", "b-1"}),
        (["black man a.png", "white man b.png"], set()),
    ],
)  # fmt: skip
def test_sets_are_what_differs_in_who_is_shown_alone(tmp_path: Path, names: list[str], sets: set[str]) -> None:
    rows = guessed(tmp_path, names, "counterfactuals").rows
    assert {row["set"] for row in rows if row.get("set")} == sets


def test_an_occupation_is_what_nothing_else_explains(tmp_path: Path) -> None:
    names = [
        f"{job}s/{race} man {n}.png" for job in ("plumber", "judge") for race in ("black", "white") for n in (1, 2)
    ]
    rows = guessed(tmp_path, names, "counterfactuals").rows
    assert {row["occupation"] for row in rows} == {"plumbers", "judges"}
    alone = guessed(tmp_path / "alone", ["ann black woman.png", "ben white man.png"], "counterfactuals")
    assert "occupation" not in alone.columns


def test_ten_thousand_names_are_read_in_seconds(tmp_path: Path) -> None:
    names = [f"set{n // 4:04}/{who} {n % 9} doctor.png" for n in range(2_500) for who in ("black man", "white woman")]
    begun = time.monotonic()
    found = guessed(tmp_path, names, "counterfactuals")
    assert len(found.rows) == 5_000
    guessed(tmp_path / "photos", [f"photograph number {n:05} of somebody.png" for n in range(5_000)], "vignette")
    assert time.monotonic() - begun < 30


@given(st.lists(st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=30), min_size=1, max_size=8))
def test_any_names_are_read_without_an_error(names: list[str]) -> None:
    paths = [f"{name}.png" for name in names]
    assert set(ages_in(paths).by_path) <= set(paths)
    for name in names:
        assert all(match.level == "Black" for match in matches(words_of(name), phrases_of(BLACK)))


BLACK = Column("colour", "", levels=lambda: {"Black": ("noir",)})
