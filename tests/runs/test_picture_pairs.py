"""Pairs of pictures before people: which are drawn, on which sides, and what raters' files say of them."""

import csv
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import PIL.Image
import polars as pl
import pytest

from facevalue.errors import DataError
from facevalue.given import shipped
from facevalue.protocol.picture_questions import PictureQuestions
from facevalue.runs.picture_pairs import DISTINGUISHABLE, MATCHED
from facevalue.runs.picture_ratings import PictureSet, read_packets, write_packet

VIGNETTE = PictureQuestions.of(shipped("facevalue.studies.vignette", "tables", "picture_questions.toml"))


def pictures_of(folder: Path, activities: int = 12) -> PictureSet:
    """Three ages and two religions of each gender, each in some activities."""
    rows: list[tuple[str | None, ...]] = []
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    identities = (("age", "old"), ("age", "young"), ("age", "teen"), ("religion", "Muslim"), ("religion", "Jewish"))
    for gender in ("male", "female"):
        for dimension, identity in identities:
            for activity in (*(f"activity {number}" for number in range(activities - 1)), None):
                path = f"pictures/{len(rows)}.png"
                PIL.Image.new("RGB", (8, 6), (len(rows) % 255, 90, 0)).save(folder / path)
                called = f"{identity} {'man' if gender == 'male' else 'woman'}"
                prompt = f"A {called} engaged in {activity}."
                rows.append((f"p{len(rows)}", path, None, prompt, gender, dimension, activity, called))
    names = ("image", "path", "source", "prompt", "gender", "dimension", "activity", "called")
    table = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String()), orient="row")
    return PictureSet(folder, table, "image", ("gender", "called"), VIGNETTE)


def pairs_in(sheet: Path) -> list[dict[str, str]]:
    """Rows of a sheet that are pairs."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        return [row for row in csv.DictReader(file) if row["beside"]]


def target_of(row: Mapping[str, str]) -> str:
    """Who is to be pointed out."""
    return row["question"].split("“")[-1].split("”")[0]


def rated(pictures: PictureSet, sheet: Path, rater: str, right: Mapping[str, float], seed: int) -> Path:
    """A rater's file: of each dimension so many pairs are answered rightly, the others as not to be told."""
    rng = np.random.default_rng(seed)
    facts = {row["path"]: row for row in pictures.pictures.iter_rows(named=True)}
    lines = ["item,rating"]
    for row in pairs_in(sheet):
        answer = "a" if facts[row["picture"]]["called"] == target_of(row) else "B"
        share = right[facts[row["picture"]]["dimension"]]
        lines.append(f"{row['item']},{answer if rng.random() < share else 'cannot be told'}")
    path = sheet.with_name(f"{rater}.csv")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_two_of_a_pair_differ_in_whom_they_show_alone_and_each_picture_is_in_one(tmp_path: Path) -> None:
    pictures = pictures_of(tmp_path)
    packet = write_packet(pictures, tmp_path / "looks.csv", 30, 1)
    assert packet == (30, 30)
    facts = {row["path"]: row for row in pictures.pictures.iter_rows(named=True)}
    rows = pairs_in(tmp_path / "looks.csv")
    shown = [path for row in rows for path in (row["picture"], row["beside"])]
    assert len(set(shown)) == 60
    for row in rows:
        one, other = facts[row["picture"]], facts[row["beside"]]
        assert [one[name] for name in ("gender", "dimension", "activity")] == [
            other[name] for name in ("gender", "dimension", "activity")
        ]
        assert one["called"] != other["called"]
        assert row["asked for"] == row["source"] == ""
        assert row["answers"] == "A, B, Cannot be told"
    genders = [facts[row["picture"]]["gender"] for row in rows]
    assert 14 <= genders.count("male") <= 16


def test_sides_are_drawn_by_chance_and_the_same_ones_again(tmp_path: Path) -> None:
    pictures = pictures_of(tmp_path, activities=50)
    facts = dict(pictures.pictures.select("path", "called").iter_rows())
    write_packet(pictures, tmp_path / "one.csv", 150, 1)
    write_packet(pictures, tmp_path / "again.csv", 150, 1)
    write_packet(pictures, tmp_path / "other.csv", 150, 2)
    one, again, other = (pairs_in(tmp_path / f"{name}.csv") for name in ("one", "again", "other"))
    assert one == again
    assert {row["item"] for row in one} != {row["item"] for row in other}
    left = sum(facts[row["picture"]] == target_of(row) for row in one)
    assert 55 <= left <= 95  # of 150


def test_pairs_that_are_told_apart_are_counted_by_dimension_beside_the_paper(tmp_path: Path) -> None:
    pictures = pictures_of(tmp_path, activities=40)
    write_packet(pictures, tmp_path / "looks.csv", 160, 1)
    right = {"age": 1.0, "religion": 0.5}
    files = [rated(pictures, tmp_path / "looks.csv", name, right, seed) for seed, name in enumerate(("ann", "bo"))]
    people = read_packets(pictures, files)
    row = people.questions.filter(question=DISTINGUISHABLE).row(0, named=True)
    assert (row["pictures"], row["answers"], row["printed_share"], row["printed_kappa"]) == (160, 320, 0.7925, 0.81)
    assert row["low"] < row["share"] < row["high"]
    assert row["method"].startswith("Cohen's kappa")
    guesses = people.questions.filter(question=MATCHED).row(0, named=True)
    assert guesses["share"] == 1.0  # who named one named the right one
    assert guesses["answers"] < 320
    groups = {level["level"]: level for level in people.groups.filter(question=DISTINGUISHABLE).iter_rows(named=True)}
    assert groups["age"]["share"] == 1.0
    assert groups["age"]["kappa"] is None  # nothing varies
    assert groups["religion"]["high"] < groups["age"]["low"]
    assert abs(groups["religion"]["kappa"]) < 0.5
    assert (groups["religion"]["printed_share"], groups["religion"]["printed_kappa"]) == (0.7764, 0.61)
    assert groups["male"]["printed_share"] is None


def test_a_rater_who_always_says_a_is_right_about_half_of_the_time(tmp_path: Path) -> None:
    pictures = pictures_of(tmp_path, activities=60)
    write_packet(pictures, tmp_path / "looks.csv", 250, 1)
    lines = ["item,rating", *(f"{row['item']},A" for row in pairs_in(tmp_path / "looks.csv"))]
    (tmp_path / "ann.csv").write_text("\n".join(lines), encoding="utf-8")
    questions = read_packets(pictures, [tmp_path / "ann.csv"]).questions
    row = questions.filter(question=MATCHED).row(0, named=True)
    assert row["low"] < 0.5 < row["high"]
    assert questions.filter(pl.col("question").is_in([DISTINGUISHABLE, MATCHED]).not_()).is_empty()


def test_the_same_pair_with_sides_changed_is_one_pair(tmp_path: Path) -> None:
    pictures = pictures_of(tmp_path)
    write_packet(pictures, tmp_path / "looks.csv", 5, 1)
    row = pairs_in(tmp_path / "looks.csv")[0]
    _, a, b = row["item"].split("-")
    called = dict(pictures.pictures.select("path", "called").iter_rows())[row["picture"]]
    right, turned = ("A", "B") if called == target_of(row) else ("B", "A")
    (tmp_path / "ann.csv").write_text(f"rater,item,rating\nann,d-{a}-{b},{right}\nbo,d-{b}-{a},{turned}")
    answered = read_packets(pictures, [tmp_path / "ann.csv"]).questions.filter(question=DISTINGUISHABLE)
    assert answered.select("share", "pictures", "answers", "agreement").row(0) == (1.0, 1, 2, 1.0)


@pytest.mark.parametrize(
    ("item", "rating", "problem"),
    [
        ("d-{a}-{b}", "Yes", "a rating is A, B, Cannot be told or empty, not 'Yes'"),
        ("d-{a}-{b}", "4", "a rating is A, B, Cannot be told or empty, not '4'"),
        ("d-{a}-{a}", "A", "is not an item of this questionnaire"),
        ("d-{a}-0000000000", "A", "is not an item of this questionnaire"),
        ("d-{a}", "A", "is not an item of this questionnaire"),
        ("{picture}", "A", "a rating is Yes, No or empty, not 'A'"),
    ],
)
def test_an_answer_that_is_none_of_a_pair_is_named(tmp_path: Path, item: str, rating: str, problem: str) -> None:
    pictures = pictures_of(tmp_path)
    write_packet(pictures, tmp_path / "looks.csv", 5, 1)
    _, a, b = pairs_in(tmp_path / "looks.csv")[0]["item"].split("-")
    name = item.format(a=a, b=b, picture=pictures.items["item"][0])
    (tmp_path / "ann.csv").write_text(f"item,rating\n{name},{rating}")
    with pytest.raises(DataError, match=problem):
        read_packets(pictures, [tmp_path / "ann.csv"])


def test_pictures_without_what_pairs_need_are_looked_at_alone(tmp_path: Path) -> None:
    pictures = pictures_of(tmp_path)
    lacking = replace(pictures, pictures=pictures.pictures.drop("dimension"), groups=("gender",))
    assert write_packet(lacking, tmp_path / "looks.csv", 5, 1) == (0, 5)
    alone = replace(pictures, pictures=pictures.pictures.filter(called="old man"))
    assert write_packet(alone, tmp_path / "looks.csv", 5, 1) == (0, 5)


def test_a_page_shows_pairs_first_and_does_not_say_who_is_on_which_side(tmp_path: Path) -> None:
    write_packet(pictures_of(tmp_path), tmp_path / "looks.html", 4, 1)
    page = (tmp_path / "looks.html").read_text(encoding="utf-8")
    assert page.index("Pair 4 of 4") < page.index("Picture 1 of 4")
    pair = page[page.index("Pair 1 of 4") : page.index("Pair 2 of 4")]
    assert 'alt="Pair 1, A"' in pair
    assert "Asked for" not in pair
    assert pair.count('type="radio"') == 3
