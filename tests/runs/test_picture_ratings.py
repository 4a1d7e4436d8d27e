"""People who look at pictures: samples, packets, and what files of raters say of whom."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import PIL.Image
import polars as pl
import pytest

from facevalue.annotations.picture_packets import MOST_ON_A_PAGE, view
from facevalue.errors import DataError
from facevalue.given import shipped
from facevalue.protocol.picture_questions import USUAL, PictureQuestions
from facevalue.runs.picture_ratings import PacketSize, PictureSet, read_packets, write_packet
from facevalue.runs.rated_pictures import ALL_FINE
from tests.browser import CHROMIUM, Browser, chromium

VIGNETTE = PictureQuestions.of(shipped("facevalue.studies.vignette", "tables", "picture_questions.toml"))


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


def answered(sheet: Path, rater: str, fine: float, seed: int, pictures: PictureSet) -> Path:
    """A rater's sheet, filled in: so many answers speak for the picture."""
    rng = np.random.default_rng(seed)
    right = dict(pictures.items.select("item", "fine").iter_rows())
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    target = sheet.with_name(f"{rater}.csv")
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        for row in rows:
            yes = (right[row["item"]] != "no") == (rng.random() < fine)
            writer.writerow({**row, "rating": "yes" if yes else "No"})
    return target


def test_samples_take_each_group_by_its_share_and_are_drawn_again_equal(tmp_path: Path) -> None:
    pictures = made(tmp_path, faces=60)
    sample = pictures.sample(30, 1)
    assert sample.equals(pictures.sample(30, 1))
    assert not sample.equals(pictures.sample(30, 2))
    counts = dict(sample.group_by("gender").len().iter_rows())
    assert counts == {"female": 20, "male": 10}
    assert sample.filter(pl.col("source").is_not_null()).height == 15
    assert pictures.sample(1_000, 1).height == 120


def test_a_sheet_lists_each_question_with_where_its_picture_is(tmp_path: Path) -> None:
    pictures = made(tmp_path)
    assert write_packet(pictures, tmp_path / "looks.csv", 4, 1) == PacketSize(0, 4)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "looks.csv").read_text(encoding="utf-8-sig"))))
    assert {row["question"] for row in rows if row["source"]} == {q.text for q in USUAL.questions if q.of == "edited"}
    assert all((tmp_path / row["picture"]).is_file() for row in rows)
    assert {row["asked for"] for row in rows} == {"Add <b>a cap</b>.", "'=An old “person”"}  # no formula


def test_shares_and_agreement_of_two_raters(tmp_path: Path) -> None:
    pictures = made(tmp_path, faces=40)
    write_packet(pictures, tmp_path / "looks.csv", 80, 1)
    files = [answered(tmp_path / "looks.csv", name, 0.9, seed, pictures) for name, seed in (("ann", 1), ("bo", 2))]
    people = read_packets(pictures, files)
    assert people.raters == 2
    rows = {row["question"]: row for row in people.questions.iter_rows(named=True)}
    assert set(rows) == {*(question.name for question in USUAL.questions), ALL_FINE}
    assert rows["flawed"]["fine"] == "no"
    for row in rows.values():
        assert row["low"] <= row["share"] <= row["high"]
        assert row["raters"] == 2
        assert row["method"].startswith("Cohen's kappa")
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
    groups = {row["level"]: row for row in pictures.rated(ratings).groups.iter_rows(named=True)}
    assert groups["male"]["high"] < groups["female"]["low"]


def test_three_raters_agree_by_alpha_and_one_by_nothing(tmp_path: Path) -> None:
    pictures = made(tmp_path)
    write_packet(pictures, tmp_path / "looks.csv", 24, 1)
    files = [answered(tmp_path / "looks.csv", name, 0.8, seed, pictures) for seed, name in enumerate(("a", "b", "c"))]
    assert read_packets(pictures, files).questions["method"][0].startswith("Krippendorff's alpha, nominal")
    alone = read_packets(pictures, files[:1]).questions
    assert alone["kappa"].null_count() == alone.height
    assert alone["agreement"].null_count() == alone.height


def test_what_was_not_answered_counts_in_no_share(tmp_path: Path) -> None:
    pictures = made(tmp_path)
    first, second = pictures.items.filter(question="realised")["item"].head(2)
    ratings = pl.DataFrame({"rater": ["ann", "bo"], "item": [first, second], "rating": [1, 2]})
    people = pictures.rated(ratings)
    row = people.questions.filter(question="realised").row(0, named=True)
    assert (row["share"], row["answers"], row["kappa"], row["agreement"]) == (0.5, 2, None, None)
    assert ALL_FINE not in people.questions["question"].to_list()  # nobody answered all about a picture


def test_pictures_that_are_units_themselves_are_rated_too(tmp_path: Path) -> None:
    pictures = replace(made(tmp_path), unit="image")
    write_packet(pictures, tmp_path / "looks.csv", 24, 1)
    files = [answered(tmp_path / "looks.csv", name, 0.9, seed, pictures) for name, seed in (("ann", 1), ("bo", 2))]
    rows = read_packets(pictures, files).questions
    assert rows.filter(question="realised").select("pictures", "answers").row(0) == (12, 24)
    assert rows["agreement"].null_count() == 0


def test_questions_of_vignette_are_beside_its_printed_numbers(tmp_path: Path) -> None:
    pictures = made(tmp_path, questions=VIGNETTE)
    write_packet(pictures, tmp_path / "looks.csv", 24, 1)
    files = [answered(tmp_path / "looks.csv", name, 0.95, seed, pictures) for name, seed in (("ann", 1), ("bo", 2))]
    rows = {row["question"]: row for row in read_packets(pictures, files).questions.iter_rows(named=True)}
    assert (rows["identity"]["printed_share"], rows["identity"]["printed_kappa"]) == (0.9113, 0.48)
    assert rows["cues: clothing"]["printed_share"] == 0.7113
    assert rows["cues: clothing"]["fine"] == ""
    assert rows["ambiguous"]["fine"] == "no"
    assert rows["activity"]["pictures"] == 12  # of those that show one


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("item,rating\np-0000000000,yes", "'p-0000000000' is not an item"),
        ("item,rating\n{item},perhaps", "a rating is Yes, No or empty, not 'perhaps'"),
        ("item,rating\n{item},3", "a rating is Yes, No or empty, not '3'"),
        ("item,rating\n{item},yes\n{item},no", "has rated"),
        ("item\n{item}", "needs one column 'rating'"),
        ("rater,item,rating\n<b>,{item},yes", "is not a valid rater's name"),
        ("item,rating\n{item},", "holds no rating"),
        ("", "needs one column 'item'"),
        ("item,rating\n{item},yes,yes", "has 3 cells"),
        ("item,rating,duration\n{item},yes,soon", "a duration is a number of seconds"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_is_named(tmp_path: Path, text: str, problem: str) -> None:
    pictures = made(tmp_path)
    path = tmp_path / "ann.csv"
    path.write_text(text.replace("{item}", pictures.items["item"][0]), encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(problem)) as caught:
        read_packets(pictures, [path])
    assert "ann.csv" in str(caught.value)


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


def test_a_page_of_too_many_pictures_is_a_sheet(tmp_path: Path) -> None:
    pictures = made(tmp_path, faces=MOST_ON_A_PAGE // 2 + 1)
    with pytest.raises(DataError, match=f"holds {MOST_ON_A_PAGE} pictures at most, not 402"):
        write_packet(pictures, tmp_path / "looks.html", 1_000, 1)
    assert write_packet(pictures, tmp_path / "looks.csv", 1_000, 1) == PacketSize(0, 402)


def test_a_picture_that_is_gone_is_named(tmp_path: Path) -> None:
    pictures = made(tmp_path)
    (tmp_path / "pictures" / "f3.png").unlink()
    with pytest.raises(DataError, match=r"pictures/f3\.png"):
        write_packet(pictures, tmp_path / "looks.html", 24, 1)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    with chromium(tmp_path / "profile") as running:
        yield running


def test_the_page_fetches_nothing_and_what_it_saves_is_read(browser: Browser, tmp_path: Path) -> None:
    pictures = made(tmp_path, questions=VIGNETTE)
    page = tmp_path / "looks.html"
    write_packet(pictures, page, 5, 1)
    for domain in ("Runtime", "Log", "Network"):
        browser.call(f"{domain}.enable")
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path), eventsEnabled=True)
    browser.open(page, width=390, height=844)
    assert browser.run("[...document.images].every(i => i.complete && i.naturalWidth === 16)") is True
    assert browser.run("document.documentElement.scrollWidth") == 390
    assert browser.run("document.querySelector('q').textContent") in ("=An old “person”", "Add <b>a cap</b>.")
    assert "Some are <unkind>." in browser.run("document.querySelector('.note').textContent")
    assert browser.axe() == []
    browser.run("document.querySelector('#save').click()")
    assert "give your ratings a name" in browser.run("document.querySelector('#problem').textContent")
    browser.run("document.querySelector('#rater').value = 'ann'")
    browser.run("document.querySelector('fieldset[data-item] input').focus()")
    for kind in ("keyDown", "keyUp"):  # chosen by keyboard
        browser.call("Input.dispatchKeyEvent", type=kind, key=" ", code="Space", windowsVirtualKeyCode=32, text=" ")
    browser.run("document.querySelector('.ticks input').click()")
    assert browser.run("document.querySelector('#progress').textContent").startswith("1 of ")
    browser.events = []
    browser.run("document.querySelector('#save').click()")
    while not (tmp_path / "ratings-ann.csv").exists():
        browser.wait("Browser.downloadProgress")
        browser.events = []
    complaints = [e for e in browser.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
    assert complaints == []
    people = read_packets(pictures, [tmp_path / "ratings-ann.csv"])
    answers = people.ratings.join(pictures.items, on="item")
    assert answers.filter(question="identity")["rating"].to_list() == [1]
    ticked = answers.filter(pl.col("question").str.starts_with("cues"))  # of this picture, not of those passed over
    assert sorted(ticked["rating"].to_list()) == [1] + [2] * 7
