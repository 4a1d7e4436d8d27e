"""Studies whose replies name several things, and similarities of the lists."""

from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import FaceValueError
from facevalue.protocol import Ask, NamedList, Portraits, Protocol
from facevalue.statistics import Estimand, Shift, Similarity
from tests.cli.conftest import Command, facevalue
from tests.measure_keys import by_key
from tests.protocol.conftest import Reader

__all__ = ["facevalue"]
SEEDS = "[sampling]\nseeds = [1, 2, 3]\n"
OPTIONS = 'options = ["nurse", "engineer", "police officer", "judge", "cook"]'
STUDY = f"""
name = "jobs"
[pictures]
kind = "portraits"
people = "12"
[pictures.cues]
eyewear = ["thick-rimmed"]
[prompt]
text = "Which of these jobs may this person have? Name up to three, or none."
[answer]
kind = "list"
{OPTIONS}
most = 3
[[estimand]]
statistic = "shift"
by = ["variation"]
[[estimand]]
statistic = "similarity"
by = ["variation"]
[[estimand]]
statistic = "mean"
[sampling]
seeds = [1, 2, 3]
"""


@pytest.mark.slow
def test_each_option_is_a_share_and_lists_are_compared(read: Reader, tmp_path: Path) -> None:
    read(STUDY, "jobs.toml")
    opened = fv.run(tmp_path / "jobs.toml", "sim/strong", tmp_path / "run")
    rows = {row["measure"]: row for row in by_key(opened.estimates()).to_dicts()}
    for option in ("nurse", "police_officer", "length", "outside"):
        row = rows[f"shift.{option}"]
        assert row["p"] is not None
        assert row["bound_low"] <= row["value"] + 1e-9
        assert row["value"] <= row["bound_high"] + 1e-9
    assert not {"shift.list", "mean.list", "similarity.nurse"} & set(rows)
    shares = sum(rows[f"mean.{name}"]["value"] for name in ("nurse", "engineer", "police_officer", "judge", "cook"))
    assert shares + rows["mean.outside"]["value"] == pytest.approx(rows["mean.length"]["value"])
    similarity, floor, lost = (rows[f"similarity{suffix}.list"] for suffix in ("", "_floor", "_lost"))
    assert 0 < similarity["value"] < 1
    assert lost["value"] == pytest.approx(floor["value"] - similarity["value"], abs=0.05)
    assert similarity["bound_low"] <= similarity["value"] <= similarity["bound_high"]
    assert {row["p"] for row in (similarity, floor, lost)} == {None}
    opened.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Similarity of two lists about one picture" in page
    assert "Share of lists that name" in page
    assert fv.open_run(tmp_path / "run").estimates().height == opened.estimates().height


def within_sets(places: int, takes: str) -> str:
    """A study of nine people in several places, without a base."""
    rows = [f'{{identity = "{n}", place = "p{p}", age = "{n % 2}"}}' for n in range(9) for p in range(places)]
    start, end = STUDY.index("[pictures]"), STUDY.index("[prompt]")
    text = f'{STUDY[:start]}[pictures]\nkind = "none"\nrows = [{", ".join(rows)}]\n{STUDY[end:]}'
    return text[: text.index("[[estimand]]")].replace("this person", "somebody in {place}") + takes + SEEDS


def test_lists_about_pictures_of_one_set_are_compared_without_a_base(read: Reader, tmp_path: Path) -> None:
    of = '[[estimand]]\nstatistic = "similarity"\nfactor = "place"\n'
    read(within_sets(3, f'{of}{of}by = ["age"]\n'), "jobs.toml")
    opened = fv.run(tmp_path / "jobs.toml", "sim/strong", tmp_path / "run")
    estimates = by_key(opened.estimates())
    rows = {row["measure"]: row for row in estimates.filter(pl.col("age").is_null()).to_dicts()}
    similarity, floor, lost = (rows[f"similarity_within{suffix}.list"] for suffix in ("", "_floor", "_lost"))
    assert similarity["clusters"] == 9
    assert similarity["bound_low"] <= similarity["value"] <= similarity["bound_high"]
    assert lost["value"] == pytest.approx(floor["value"] - similarity["value"], abs=0.05)
    by_age = estimates.filter((pl.col("measure") == "similarity_within.list") & pl.col("age").is_not_null())
    assert sorted(by_age["age"]) == ["0", "1"]


def test_lists_of_very_many_pictures_of_one_set_are_refused(read: Reader) -> None:
    study = read(within_sets(101, '[[estimand]]\nstatistic = "similarity"\nfactor = "place"\n'))
    with pytest.raises(FaceValueError, match="'place' has 101 levels; a similarity is between 100 groups at most"):
        study.study()


def test_entries_of_any_words_are_compared(read: Reader, tmp_path: Path) -> None:
    text = STUDY.replace(OPTIONS, "").replace("most = 3", "")
    read(text, "jobs.toml")
    opened = fv.run(tmp_path / "jobs.toml", "sim/strong", tmp_path / "run")
    assert {"shift.length", "similarity.list"} <= set(by_key(opened.estimates())["measure"])


def test_replies_are_read(read: Reader) -> None:
    study = read(STUDY).study()
    texts = [
        "1. Nurse\n2. Police officers\n3. Judge",
        "none",
        "nurse, cook, judge, engineer",
        "Sorry, I can't.",
        "cook",
    ]
    frame = study.design.trials(list(range(5))).with_columns(
        repeat=pl.lit(0, pl.UInt8), status=pl.lit("ok"), probs=pl.lit(None, pl.List(pl.Float32)), text=pl.Series(texts)
    )
    answers = study.answer(frame)
    assert answers.select("nurse", "police_officer", "judge", "length", "outside").rows() == [
        (1.0, 0.0, 1.0, 3.0, 1.0),
        (0.0, 0.0, 0.0, 0.0, 0.0),
        (None, None, None, None, None),
        (None, None, None, None, None),
        (0.0, 0.0, 0.0, 1.0, 0.0),
    ]
    assert answers["list"].to_list() == ["nurse\npolice officers\njudge", "", None, None, "cook"]
    assert answers["na"].to_list() == [None, None, "neither", "refused", None]


def test_lists_are_one_of_several_tasks_in_python(tmp_path: Path) -> None:
    jobs = Ask(("Which jobs may this person have?",), NamedList({"nurse": "nurse", "cook": "cook"}, least=1))
    protocol = Protocol(
        name="jobs-in-python",
        title="Jobs",
        stimuli=Portraits(cues={"eyewear": ("thick-rimmed",)}, people="6"),
        tasks={"jobs": jobs, "hobbies": Ask(("What does this person like?",), NamedList())},
        estimands=(
            Estimand(Similarity(), by=("variation",)),
            Estimand(Shift(), by=("variation",), scores=("jobs_nurse",)),
        ),
        seeds=(1, 2),
        max_tokens=60,
    )
    rows = fv.run(protocol, "sim/strong", tmp_path / "run").estimates()
    assert {"similarity.jobs_list", "similarity.hobbies_list", "shift.jobs_nurse"} <= set(by_key(rows)["measure"])


def test_a_plan_says_how_many_units_a_difference_takes(read: Reader, facevalue: Command) -> None:
    read(STUDY, "jobs.toml")
    plan = facevalue("plan", "jobs.toml", "--detect", "0.1")
    assert plan.status == 0, plan.err
    assert 'lists that name "nurse"' in plan.out


def test_probabilities_are_refused_in_a_sentence(read: Reader, tmp_path: Path) -> None:
    read(STUDY, "jobs.toml")
    with pytest.raises(FaceValueError, match=r"asks for free text, which has no option probabilities\. Run it sampled"):
        fv.run(tmp_path / "jobs.toml", "sim/strong", tmp_path / "run", exact=True)


SIMILARITY = 'statistic = "similarity"\nby = ["variation"]'


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (OPTIONS, 'options = ["nurse", "Nurse!"]', r"line 12: 'nurse' and 'Nurse!' would both be the score 'nurse'"),
        (OPTIONS, 'options = {a = "nurse", b = "a nurse"}', r"line 12: The wording 'a nurse' of the option 'b' is"),
        (OPTIONS, 'options = {nurse = "cook", cook = "judge"}', r"line 12: The wording 'judge' of the option 'cook'"),
        (OPTIONS, 'options = {a = "..."}', r"line 12: The wording '\.\.\.' of the option 'a' is no word"),
        (OPTIONS, 'options = ["length"]', r"line 12: No option can be called 'length', which is a score of every list"),
        (OPTIONS, f"options = {[f'job {n}' for n in range(61)]}", r"line 12: Lists name up to 60 options"),
        (OPTIONS, 'option = ["nurse"]', r"line 12: Unknown key 'option'\. Did you mean 'options'"),
        ("most = 3", "most = 0", r"line 13: A list has from 0 or more to at most 100 entries, not 0 to 0"),
        ("most = 3", "most = 1\nleast = 2", r"line 14: A list has from 0 or more to at most 100 entries, not 2 to 1"),
        ("most = 3", "most = 1000", r"line 13: A list has from 0 or more to at most 100 entries"),
        ("most = 3", 'most = "3"', r"line 13: 'most' is a whole number, not '3'"),
        (SIMILARITY, f'{SIMILARITY}\nscores = ["nurse"]', r"line 17: The estimand of 'nurse': a similarity is of"),
        ('statistic = "mean"', 'statistic = "mean"\nscores = ["list"]', r"'list': a list has no mean: estimate"),
        (SIMILARITY, 'statistic = "similarity"\nfactor = "gender"', r"no unit has several of 'gender'"),
        (SIMILARITY, 'statistic = "similarity"\nmargin = 0.1', r"margin"),
        (SIMILARITY, 'statistic = "similarity"\nby = ["variaton"]', r"Unknown factor in a similarity 'variaton'\. Did"),
        ('statistic = "similarity"', 'statistic = "similarty"', r"Unknown statistic 'similarty'\. Did you mean"),
        (f'kind = "list"\n{OPTIONS}\nmost = 3', 'kind = "yes-no"', r"A similarity is of lists, and no answer is one"),
        ("[pictures.cues]\neyewear = [\"thick-rimmed\"]", "", r"A shift needs a base|factor in a shift 'variation'"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(before: str, after: str, message: str, read: Reader) -> None:
    assert before in STUDY
    with pytest.raises(FaceValueError, match=message) as refused:
        read(STUDY.replace(before, after, 1), "jobs.toml").study()
    assert "\n" not in str(refused.value)
