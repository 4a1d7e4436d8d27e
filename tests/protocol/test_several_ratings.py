"""Studies whose replies rate several scales."""

from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import FaceValueError
from facevalue.protocol import Ask, Portraits, Protocol, RatedScales
from facevalue.statistics import Estimand, Shift
from tests.cli.conftest import Command, facevalue
from tests.measure_keys import by_key
from tests.protocol.conftest import Reader

__all__ = ["facevalue"]

STUDY = """
name = "rated"
[pictures]
kind = "portraits"
people = "12"
[pictures.cues]
eyewear = ["thick-rimmed"]
[prompt]
text = "Rate this applicant from 1 to 7: Competence, Cultural fit, Trust. One line each."
[answer]
kind = "ratings"
scales = ["Competence", "Cultural fit", "Trust"]
low = 1
high = 7
means = {overall = ["competence", "cultural_fit", "trust"]}
[[estimand]]
statistic = "shift"
by = ["variation"]
scores = ["competence", "overall"]
margin = 0.5
[[estimand]]
statistic = "gap"
factor = "gender"
scores = ["trust"]
[sampling]
seeds = [1, 2]
"""


def test_each_scale_and_each_mean_is_a_score(read: Reader, tmp_path: Path) -> None:
    read(STUDY, "rated.toml")
    opened = fv.run(tmp_path / "rated.toml", "sim/strong", tmp_path / "run")
    rows = by_key(opened.estimates())
    shifts = {row["measure"]: row for row in rows.filter(pl.col("measure").str.starts_with("shift")).to_dicts()}
    assert set(shifts) == {"shift.competence", "shift.overall"}
    for row in shifts.values():
        assert row["bound_low"] <= row["value"] <= row["bound_high"]
        assert row["low"] < row["value"] < row["high"]
        assert row["p"] is not None
        assert row["unit"] == "points"
    assert rows.filter(pl.col("measure") == "gap.trust").height == 1
    opened.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Mean rating &#34;overall&#34;" in page or 'mean rating "overall"' in page.lower()
    again = fv.open_run(tmp_path / "run")
    assert again.estimates().height == rows.height


def test_a_plan_says_how_many_units_a_difference_takes(read: Reader, facevalue: Command) -> None:
    read(STUDY, "rated.toml")
    plan = facevalue("plan", "rated.toml", "--detect", "0.5")
    assert plan.status == 0, plan.err
    assert 'rating "Competence"' in plan.out


def test_partly_answered_replies_count_for_what_they_rate(read: Reader) -> None:
    study = read(STUDY).study()
    frame = study.design.trials([0, 1, 2]).with_columns(
        repeat=pl.lit(0, pl.UInt8), status=pl.lit("ok"), probs=pl.lit(None, pl.List(pl.Float32)),
        text=pl.Series(["Competence: 5\nCultural fit: 4\nTrust: 3", "Trust: 6", "I can't rate people, sorry."]),
    )  # fmt: skip
    answers = study.answer(frame)
    assert answers.select("competence", "cultural_fit", "trust", "overall").rows() == [
        (5.0, 4.0, 3.0, 4.0),
        (None, None, 6.0, None),
        (None, None, None, None),
    ]
    assert answers["na"].to_list() == [None, None, "refused"]


def test_the_same_in_python(tmp_path: Path) -> None:
    protocol = Protocol(
        name="rated-in-python",
        title="Rated",
        stimuli=Portraits(cues={"eyewear": ("thick-rimmed",)}, people="4"),
        ask=Ask(
            ("Rate this person's skill and warmth from 1 to 5.",), RatedScales({"skill": "Skill", "warmth": "Warmth"})
        ),
        estimands=(Estimand(Shift(), by=("variation",)),),
        max_tokens=60,
    )
    rows = fv.run(protocol, "sim/strong", tmp_path / "run").estimates()
    assert {"shift.skill", "shift.warmth"} <= set(by_key(rows)["measure"])


def test_probabilities_are_refused_in_a_sentence(read: Reader, tmp_path: Path) -> None:
    read(STUDY, "rated.toml")
    with pytest.raises(FaceValueError, match=r"asks for free text, which has no option probabilities\. Run it sampled"):
        fv.run(tmp_path / "rated.toml", "sim/strong", tmp_path / "run", exact=True)


SCALES = 'scales = ["Competence", "Cultural fit", "Trust"]'
MEANS = 'means = {overall = ["competence", "cultural_fit", "trust"]}'


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (SCALES, "", r"line 10: 'scales' is missing: a list of texts"),
        (SCALES, "scales = []", r"line 12: A reply rates 1 to 50 scales, not 0"),
        (SCALES, 'scales = ["Trust", "trust "]', r"line 12: 'Trust' and 'trust ' would both be the score 'trust': wr"),
        (SCALES, 'scales = ["信頼"]', r"line 12: '信頼' has no letter from a to z for the name of its score: write sc"),
        (SCALES, 'scales = {trust = "信頼"}', r"line 12: The scale '信頼' has no letter or digit"),
        (SCALES, 'scales = {skill = "Trust", trust = "Skill"}', r"The scales 'skill' and 'trust' are both called 'S|T"),
        ("low = 1", "low = 7", r"line 13: Ratings go from 0 or more to something greater, not from 7 to 7"),
        ("low = 1", 'low = "1"', r"line 13: 'low' is a number, not '1'"),
        (MEANS, 'means = {overall = ["competence", "turst"]}', r"line 15: Unknown scale of the mean 'overall' 'turst'"),
        (MEANS, 'means = {overall = ["trust"]}', r"line 15: The mean 'overall' is of two scales or more"),
        (MEANS, 'means = {trust = ["competence", "trust"]}', r"line 15: A mean and a scale are both called 'trust'"),
        ('scores = ["competence", "overall"]', 'scores = ["competense"]', r"line 16: Unknown score 'competense'\."),
        (SCALES, 'scale = ["Trust"]', r"line 12: Unknown key 'scale'\. Did you mean 'scales'"),
        (SCALES, 'scales = ["Text", "Trust", "Competence"]', r"'text', which is a column of the answers"),
        ('kind = "ratings"', 'kind = "ratigns"', r"line 11: Unknown kind of answer 'ratigns'\. Did you mean 'rati"),
        ("margin = 0.5", "margin = 9", r"margin"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(before: str, after: str, message: str, read: Reader) -> None:
    assert before in STUDY
    text = STUDY.replace(before, after, 1)
    if before == SCALES:
        text = text.replace(MEANS, "").replace('scores = ["competence", "overall"]', "")
    with pytest.raises(FaceValueError, match=message) as refused:
        read(text, "rated.toml").study()
    assert "\n" not in str(refused.value)
