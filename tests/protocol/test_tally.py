"""Tallies: the share of questions in which groups of people differ, beside its null."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import FaceValueError
from tests.protocol.conftest import Reader

ROWS = ",\n".join(
    f'  {{identity = "{n}", name = "n{n}", city = "{"Rome" if n % 2 else "Oslo"}", age = "{n % 3}"}}' for n in range(24)
)
STUDY = f"""
name = "small"
[pictures]
kind = "none"
rows = [
{ROWS}
]
[prompt]
text = "Is {{name}} {{trait}}? Answer with only {{options}}."
paraphrases = ["Would you call {{name}} {{trait}}? {{options}}"]
[[item]]
trait = "kind"
valence = "good"
[[item]]
trait = "able"
valence = "good"
[[item]]
trait = "rude"
valence = "bad"
[answer]
kind = "yes-no"
[[estimand]]
statistic = "tally"
factor = "city"
any_of = ["wording"]
[[estimand]]
statistic = "tally"
factor = "city"
by = ["valence"]
any_of = ["wording"]
[[estimand]]
statistic = "tally"
factor = "race"
optional = true
"""


def test_a_tally_counts_traits_and_stands_beside_its_null(read: Reader, tmp_path: Path) -> None:
    read(STUDY)
    opened = fv.run(tmp_path / "small.toml", "sim/strong", tmp_path / "run")
    rows = opened.estimates().filter(pl.col("measure") == "tally").to_dicts()
    assert {(row["dimension"], row["valence"]) for row in rows} == {("city", None), ("city", "good"), ("city", "bad")}
    whole = next(row for row in rows if row["valence"] is None)
    assert whole["n"] == 3
    assert whole["clusters"] == 24
    assert round(whole["value"] * 3, 9) in (0, 1, 2, 3)
    parts = {row["valence"]: row["value"] for row in rows}
    assert whole["value"] == pytest.approx((2 * parts["good"] + parts["bad"]) / 3)
    assert all(0 <= row["low"] <= row["value"] <= row["high"] <= 1 for row in rows)
    assert all(0 <= row["floor"] <= row["floor_high"] <= 1 and row["p"] is not None for row in rows)
    assert all(row["bound_low"] <= row["value"] <= row["bound_high"] for row in rows)
    assert all(np.isfinite(row["q_page"]) and row["verdict"] for row in rows)
    opened.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "In how many questions the groups differ" in page
    assert "tallies of city" in page


def test_an_optional_take_is_left_out_where_the_pictures_lack_its_factor(read: Reader) -> None:
    assert {m.name for m in read(STUDY).study().estimates.measures} >= {"tally"}
    assert "tallies of race" not in read(STUDY).study().estimates.lead


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            'factor = "city"\nany_of',
            'factor = "trait"\nany_of',
            r"line \d+: A tally is between groups",
        ),
        ('factor = "city"\nany_of = ["wording"]\n', 'any_of = ["wording"]\n', r"A tally needs a factor of its own"),
        ('any_of = ["wording"]', 'any_of = ["wordin"]', r"Unknown factor in a tally 'wordin'\. Did you mean 'wording'"),
        ('any_of = ["wording"]', 'any_of = ["valence"]', r"Unknown factor of the questions 'valence'\. Known: .*trait"),
        ('any_of = ["wording"]', 'any_of = ["city"]', r"names a factor twice"),
        ('by = ["valence"]', 'by = ["age"]', r"A tally is a share of questions, and 'age' is no factor of the quest"),
        ('factor = "race"\noptional = true', 'factor = "race"', r"Unknown factor in a tally 'race'"),
        (
            'statistic = "tally"\nfactor = "city"\nany_of',
            'statistic = "spread"\nfactor = "city"\nany_of',
            r"no 'any_of'",
        ),
        ('factor = "city"\nany_of', 'factor = "city"\nversus = "Rome"\nany_of', r"A tally has no 'versus'"),
        ('factor = "city"\nany_of', 'factor = "city"\nmargin = 3.0\nany_of', r"margin"),
    ],
)
def test_mistakes_are_one_sentence(before: str, after: str, message: str, read: Reader) -> None:
    assert before in STUDY
    with pytest.raises(FaceValueError, match=message):
        read(STUDY.replace(before, after, 1)).study()


CUED = STUDY.replace("rows = [", 'cue = "hat"\nbase = "none"\nrows = [').replace('factor = "city"', 'factor = "hat"')
CUED = CUED.replace(ROWS, ",\n".join(
    f'  {{identity = "{n}", name = "n{n}", city = "Rome", hat = "{hat}"}}' for n in range(24) for hat in ("none", "cap")
))  # fmt: skip


def test_a_tally_of_the_cue_counts_the_questions_in_which_it_moves_the_answer(read: Reader, tmp_path: Path) -> None:
    read(CUED.replace("{trait}", "{trait} ({hat})"))
    opened = fv.run(tmp_path / "small.toml", "sim/strong", tmp_path / "run")
    rows = opened.estimates().filter(pl.col("measure") == "moved_share").to_dicts()
    assert {(row["dimension"], row["valence"]) for row in rows} == {("hat", None), ("hat", "good"), ("hat", "bad")}
    assert all(0 <= row["low"] <= row["value"] <= row["high"] <= 1 for row in rows)
    assert all(0 <= row["floor"] <= row["floor_high"] <= 1 and row["p"] is not None for row in rows)
    assert all(row["bound_low"] <= row["value"] <= row["bound_high"] for row in rows)
    opened.report(tmp_path / "report.html")
    assert "or the picture moves the answer" in (tmp_path / "report.html").read_text()


def test_a_tally_of_a_cue_with_several_levels_is_refused(read: Reader) -> None:
    with pytest.raises(FaceValueError, match="A tally of 'hat' needs one level beside the base, and there are 2"):
        read(CUED.replace('hat = "cap"', 'hat = "fez"', 1)).study()
