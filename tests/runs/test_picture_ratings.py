"""People who look at pictures: samples, packets, and what files of raters say of whom."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import PIL.Image
import polars as pl
import pytest

from facevalue.annotations.review_cards import MOST_PICTURES, Packet, view
from facevalue.errors import DataError
from facevalue.protocol.making import USUAL, PictureQuestions
from facevalue.runs.reviews.pictures import PictureSet
from facevalue.runs.reviews.rated_pictures import ALL_FINE, RatedPictures
from facevalue.untrusted_files import shipped
from tests.reviews import answers_in, filled, rows_of

VIGNETTE = PictureQuestions.from_table(shipped("facevalue.studies.vignette", "tables", "picture_questions.toml"))


def made(folder: Path, faces: int = 12, questions: PictureQuestions = USUAL) -> PictureSet:
    """Faces, each with an edit, in their files."""
    rows = []
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    for number in range(faces):
        gender = "female" if number % 3 else "male"
        for source, cue in ((None, None), (f"f{number}", "cap")):
            image = f"f{number}" if cue is None else f"f{number}/{cue}"
            path = f"pictures/{image.replace('/', '-')}.png"
            PIL.Image.new("RGB", (16, 12), (number * 9 % 255, 90, 200 if cue else 0)).save(folder / path)
            prompt = "Add <b>a cap</b>." if cue else "=An old “person”"
            rows.append((image, path, source, prompt, f"f{number}", gender, "cooking" if number % 2 else None))
    names = ("image", "path", "source", "prompt", "identity", "gender", "activity")
    table = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String()), orient="row")
    return PictureSet(folder, table, "identity", ("gender",), questions, "Some are <unkind>.")


def answered(packet: Packet, rater: str, fine: float, seed: int, pictures: PictureSet) -> Path:
    """A rater's file: so many answers speak for the picture."""
    rng = np.random.default_rng(seed)
    right = dict(pictures.items.select("item", "fine").iter_rows())
    return filled(
        packet,
        pictures.root,
        rater,
        lambda row: "Yes" if (right[row["item"]] != "no") == (rng.random() < fine) else "No",
    )


def looked_at(folder: Path, pictures: PictureSet, size: int, fine: float = 0.9, raters: str = "ab") -> RatedPictures:
    """What raters say of a packet."""
    packet = pictures.packet(size, 1)
    files = [answered(packet, name, fine, seed, pictures) for seed, name in enumerate(raters, start=1)]
    return pictures.rate_pictures(answers_in(files, packet))


def test_samples_take_each_group_by_its_share_and_are_drawn_again_equal(tmp_path: Path) -> None:
    pictures = made(tmp_path, faces=60)
    sample = pictures.sample(30, 1)
    assert sample.equals(pictures.sample(30, 1))
    assert not sample.equals(pictures.sample(30, 2))
    counts = dict(sample.group_by("gender").len().iter_rows())
    assert counts == {"female": 20, "male": 10}
    assert sample.filter(pl.col("source").is_not_null()).height == 15
    assert pictures.sample(1_000, 1).height == 120


def test_each_question_is_asked_of_its_pictures(tmp_path: Path) -> None:
    packet = made(tmp_path).packet(4, 1)
    assert len(packet.cards) == 4
    rows = rows_of(packet)
    edits = [row for row in rows if " | " in row["shown"]]
    assert {row["question"] for row in edits} == {q.text for q in USUAL.questions if q.of == "edited"}
    assert all((tmp_path / name).is_file() for row in rows for name in row["shown"].split(" | "))
    assert {row["read"] for row in rows} == {"Asked for: Add <b>a cap</b>.", "Asked for: =An old “person”"}


def test_shares_and_agreement_of_two_raters(tmp_path: Path) -> None:
    people = looked_at(tmp_path, made(tmp_path, faces=40), 80)
    assert people.raters == 2
    rows = {row["question"]: row for row in people.questions.iter_rows(named=True)}
    assert set(rows) == {*(question.name for question in USUAL.questions), ALL_FINE}
    assert rows["flawed"]["fine"] == "no"
    for row in rows.values():
        assert row["low"] <= row["share"] <= row["high"]
        assert (row["share_method"], row["share_detail"]) == ("Wilson", "effective sample size over units")
        assert row["raters"] == 2
        assert row["detail"].endswith("Cohen's kappa")
    assert rows["shown"]["answers"] == 80
    assert rows["shown"]["share"] == pytest.approx(0.9, abs=0.1)
    assert rows[ALL_FINE]["pictures"] == 80
    assert rows[ALL_FINE]["share"] < rows["shown"]["share"]
    groups = people.groups.filter(question="shown")
    assert dict(groups.select("level", "answers").iter_rows()) == {"female": 52, "male": 28}
    assert groups["units"].to_list() == [26, 14]


def test_a_group_whose_pictures_are_worse_is_seen(tmp_path: Path) -> None:
    pictures = made(tmp_path, faces=90)
    rng = np.random.default_rng(1)
    rows = pictures.items.filter(pl.col("question") == "shown")
    fine = np.where(rows["gender"] == "male", 0.6, 0.98)
    ratings = pl.concat(
        rows.select(rater=pl.lit(name), item="item", rating=pl.Series(np.where(rng.random(len(fine)) < fine, 1, 2)))
        for name in ("ann", "bo")
    )
    groups = {row["level"]: row for row in pictures.rate_pictures(ratings).groups.iter_rows(named=True)}
    assert groups["male"]["high"] < groups["female"]["low"]


def test_three_raters_agree_by_alpha_and_one_by_nothing(tmp_path: Path) -> None:
    pictures = made(tmp_path)
    people = looked_at(tmp_path, pictures, 24, 0.8, "abc")
    assert people.questions["detail"][0].endswith("Krippendorff's alpha, nominal")
    alone = looked_at(tmp_path, pictures, 24, 0.8, "a").questions
    assert alone["kappa"].null_count() == alone.height
    assert alone["agreement"].null_count() == alone.height


def test_what_was_not_answered_counts_in_no_share(tmp_path: Path) -> None:
    pictures = made(tmp_path)
    first, second = pictures.items.filter(question="realised")["item"].head(2)
    ratings = pl.DataFrame({"rater": ["ann", "bo"], "item": [first, second], "rating": [1, 2]})
    people = pictures.rate_pictures(ratings)
    row = people.questions.filter(question="realised").row(0, named=True)
    assert (row["share"], row["answers"], row["kappa"], row["agreement"]) == (0.5, 2, None, None)
    assert ALL_FINE not in people.questions["question"].to_list()  # nobody answered all about a picture


def test_pictures_that_are_units_themselves_are_rated_too(tmp_path: Path) -> None:
    rows = looked_at(tmp_path, replace(made(tmp_path), unit="image"), 24).questions
    assert rows.filter(question="realised").select("pictures", "answers").row(0) == (12, 24)
    assert rows["agreement"].null_count() == 0


def test_questions_of_vignette_are_beside_its_printed_numbers(tmp_path: Path) -> None:
    people = looked_at(tmp_path, made(tmp_path, questions=VIGNETTE), 24, 0.95)
    rows = {row["question"]: row for row in people.questions.iter_rows(named=True)}
    assert (rows["identity"]["printed_share"], rows["identity"]["printed_kappa"]) == (0.9113, 0.48)
    assert rows["cues: clothing"]["printed_share"] == 0.7113
    assert rows["cues: clothing"]["fine"] == ""
    assert rows["ambiguous"]["fine"] == "no"
    assert rows["activity"]["pictures"] == 12  # of those that show one


def test_large_pictures_are_made_smaller_and_others_stay_as_they_are(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (1500, 1000, 4), dtype=np.uint8)
    large = io.BytesIO()
    PIL.Image.fromarray(noise, "RGBA").save(large, "PNG")
    seen = view(large.getvalue(), "large.png")
    assert (seen.width, seen.height) == (683, 1024)
    assert seen.address.startswith("data:image/jpeg;base64,")
    small = io.BytesIO()
    PIL.Image.new("RGB", (8, 8)).save(small, "WEBP")
    assert view(small.getvalue(), "small.webp").address.startswith("data:image/webp;base64,")
    with pytest.raises(DataError, match=r"none\.png"):
        view(b"<svg onload=alert(1)>", "none.png")


def test_a_packet_of_too_many_pictures_is_refused(tmp_path: Path) -> None:
    pictures = made(tmp_path, faces=MOST_PICTURES // 2 + 1)
    with pytest.raises(DataError, match=f"holds {MOST_PICTURES} cards with pictures at most, not 402"):
        pictures.packet(1_000, 1)


def test_a_picture_that_is_gone_is_named(tmp_path: Path) -> None:
    pictures = made(tmp_path)
    (tmp_path / "pictures" / "f3.png").unlink()
    with pytest.raises(DataError, match=r"pictures/f3\.png"):
        pictures.packet(24, 1)
