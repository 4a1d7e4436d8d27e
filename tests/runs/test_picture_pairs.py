"""Pairs of pictures before people: which are drawn, on which sides, and what raters' files say of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import PIL.Image
import polars as pl

from facevalue.annotations.review_cards import Packet, order_cards
from facevalue.protocol.making import PictureQuestions
from facevalue.runs.reviews.pictures import PictureSet
from facevalue.runs.reviews.rated_pictures import DISTINGUISHABLE, MATCHED, RatedPictures
from facevalue.untrusted_files import shipped
from tests.reviews import Row, answers_in, filled, rows_of

VIGNETTE = PictureQuestions.from_table(shipped("facevalue.studies.vignette", "tables", "picture_questions.toml"))


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


def pairs_in(packet: Packet) -> list[Row]:
    """Rows of a packet that are pairs."""
    return [row for row in rows_of(packet) if row["item"].startswith("d-")]


def read(pictures: PictureSet, size: int, files: Sequence[Path]) -> RatedPictures:
    """What raters say of a packet."""
    return pictures.rate_pictures(answers_in(files, pictures.packet(size, 1)))


def target_of(row: Mapping[str, str]) -> str:
    """Who is to be pointed out."""
    return row["question"].split("“")[-1].split("”")[0]


def rated(pictures: PictureSet, packet: Packet, rater: str, right: Mapping[str, float], seed: int) -> Path:
    """A rater's file: of each dimension so many pairs are answered rightly, the others as not to be told."""
    rng = np.random.default_rng(seed)
    facts = {row["path"]: row for row in pictures.pictures.iter_rows(named=True)}

    def answer(row: Row) -> str:
        if not row["item"].startswith("d-"):
            return ""
        shown = facts[row["shown"].split(" | ")[0]]
        side = "A" if shown["called"] == target_of(row) else "B"
        return side if rng.random() < right[shown["dimension"]] else "cannot be told"

    return filled(packet, pictures.root, rater, answer)


def test_two_of_a_pair_differ_in_whom_they_show_alone_and_each_picture_is_in_one(tmp_path: Path) -> None:
    pictures = pictures_of(tmp_path)
    rows = pairs_in(pictures.packet(30, 1))
    assert len(rows) == 30
    facts = {row["path"]: row for row in pictures.pictures.iter_rows(named=True)}
    shown = [path for row in rows for path in row["shown"].split(" | ")]
    assert len(set(shown)) == 60
    for row in rows:
        one, other = (facts[path] for path in row["shown"].split(" | "))
        assert [one[name] for name in ("gender", "dimension", "activity")] == [
            other[name] for name in ("gender", "dimension", "activity")
        ]
        assert one["called"] != other["called"]
        assert row["read"] == ""
        assert row["answers"] == "A; B; Cannot be told"
    genders = [facts[row["shown"].split(" | ")[0]]["gender"] for row in rows]
    assert 14 <= genders.count("male") <= 16


def test_sides_are_drawn_by_chance_and_the_same_ones_again(tmp_path: Path) -> None:
    pictures = pictures_of(tmp_path, activities=50)
    facts = dict(pictures.pictures.select("path", "called").iter_rows())
    one, again, other = (pairs_in(pictures.packet(150, seed)) for seed in (1, 1, 2))
    assert one == again
    assert {row["item"] for row in one} != {row["item"] for row in other}
    left = sum(facts[row["shown"].split(" | ")[0]] == target_of(row) for row in one)
    assert 55 <= left <= 95  # of 150


def test_pairs_that_are_told_apart_are_counted_by_dimension_beside_the_paper(tmp_path: Path) -> None:
    pictures = pictures_of(tmp_path, activities=40)
    packet, right = pictures.packet(160, 1), {"age": 1.0, "religion": 0.5}
    people = read(pictures, 160, [rated(pictures, packet, name, right, seed) for seed, name in enumerate(("a", "bo"))])
    row = people.questions.filter(question=DISTINGUISHABLE).row(0, named=True)
    assert (row["pictures"], row["answers"], row["printed_share"], row["printed_kappa"]) == (160, 320, 0.7925, 0.81)
    assert row["low"] < row["share"] < row["high"]
    assert row["detail"].endswith("Cohen's kappa")
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
    always = filled(pictures.packet(180, 1), tmp_path, "ann", lambda row: "A" if row["item"].startswith("d-") else "")
    questions = read(pictures, 180, [always]).questions
    row = questions.filter(question=MATCHED).row(0, named=True)
    assert row["low"] < 0.5 < row["high"]
    assert questions.filter(pl.col("question").is_in([DISTINGUISHABLE, MATCHED]).not_()).is_empty()


def test_the_same_pair_with_sides_changed_is_one_pair(tmp_path: Path) -> None:
    pictures = pictures_of(tmp_path)
    row = pairs_in(pictures.packet(5, 1))[0]
    _, a, b = row["item"].split("-")
    called = dict(pictures.pictures.select("path", "called").iter_rows())[row["shown"].split(" | ")[0]]
    right, turned = (1, 2) if called == target_of(row) else (2, 1)
    ratings = pl.DataFrame({"rater": ["a", "b"], "item": [f"d-{a}-{b}", f"d-{b}-{a}"], "rating": [right, turned]})
    answered = pictures.rate_pictures(ratings).questions.filter(question=DISTINGUISHABLE)
    assert answered.select("share", "pictures", "answers", "agreement").row(0) == (1.0, 1, 2, 1.0)


def test_pictures_without_what_pairs_need_are_looked_at_alone(tmp_path: Path) -> None:
    pictures = pictures_of(tmp_path)
    lacking = replace(pictures, pictures=pictures.pictures.drop("dimension"), groups=("gender",))
    alone = replace(pictures, pictures=pictures.pictures.filter(called="old man"))
    assert [len(some.packet(5, 1).cards) for some in (pictures, lacking, alone)] == [10, 5, 5]


def test_pairs_come_first_and_do_not_say_who_is_on_which_side(tmp_path: Path) -> None:
    cards = order_cards(pictures_of(tmp_path).packet(4, 1), "r1")
    pairs = [card for card in cards if len(card.pictures) == 2]
    assert pairs == list(cards[:4])
    assert all(not card.texts and [label for _, label in card.pictures] == ["A", "B"] for card in pairs)
