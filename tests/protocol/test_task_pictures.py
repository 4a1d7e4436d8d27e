"""Tasks that are asked about some of the pictures, and several times: one study of texts and ratings."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from facevalue.errors import DataError, FaceValueError
from facevalue.models import load
from facevalue.protocol.protocol import Protocol
from facevalue.runs import RunSettings, run
from facevalue.runs.joined_runs import estimate
from facevalue.runs.stored_run import StoredRun, answers
from tests.protocol.conftest import Reader

STUDY = """
[pictures]
kind = "manifest"
manifest = "list.csv"
[task.describe]
draws = 3
[task.describe.prompt]
text = "Describe this person."
[task.describe.answer]
kind = "text"
[task.rate]
pictures = {job = "*", medium = ["photograph"]}
[task.rate.prompt]
text = "How good a {job} is this person?"
[task.rate.answer]
kind = "rating"
low = 1
high = 5
[[estimand]]
statistic = "mean"
by = ["gender"]
"""


@pytest.fixture
def listed(read: Reader) -> Reader:
    """Six people, a photograph each and two drawings; two of the photographs show no job."""
    rows = ["path,identity,gender,job,medium"]
    rng = np.random.default_rng(0)
    for number in range(6):
        gender, job = "female" if number % 2 else "male", "" if number < 2 else "nurse" if number < 4 else "cook"
        for place, kind in enumerate(("photograph", "drawing", "drawing")):
            path = f"{number}-{place}.png"
            Image.fromarray(rng.integers(0, 255, (64, 48, 3), dtype=np.uint8)).save(read.folder / path)
            rows.append(f"{path},p{number},{gender},{job},{kind}")
    (read.folder / "list.csv").write_text("\n".join(rows))
    return read


def asked(protocol: Protocol, numbers: np.ndarray | None = None) -> pl.DataFrame:
    design = protocol.study().design
    frame = design.trials(np.arange(design.size) if numbers is None else numbers)
    return frame.with_columns(pl.col(name).cast(pl.String) for name in frame.columns if frame[name].dtype == pl.Enum)


def test_a_task_is_asked_about_its_pictures_alone_and_as_often_as_it_says(listed: Reader) -> None:
    frame = asked(listed(STUDY))
    counts = dict(frame.group_by(pl.col("task").cast(pl.String)).len().iter_rows())
    assert counts == {"describe": 6 * 3 * 3, "rate": 4}
    rated = frame.filter(pl.col("task").cast(pl.String) == "rate")
    assert set(rated["medium"].cast(pl.String)) == {"photograph"}
    assert not rated["job"].null_count()


def test_each_draw_is_a_question_of_its_own_with_the_same_prompt(listed: Reader) -> None:
    study = listed(STUDY).study()
    frame = study.design.trials(np.arange(study.design.size))
    questions = study.ask(frame)
    of_first = [q for q, image in zip(questions, frame["image"], strict=True) if image == frame["image"][0]]
    assert [q.draw for q in of_first if q.prompt == "Describe this person."] == [0, 1, 2]


def test_answers_of_all_draws_count_and_only_pictures_of_the_task(listed: Reader, tmp_path: Path) -> None:
    study = listed(STUDY).study()
    run(study, load("sim/strong"), tmp_path / "run", RunSettings())
    stored = StoredRun.open(tmp_path / "run", pictures=listed.folder)
    found, _ = estimate([stored])
    means = found.filter(pl.col("measure") == "mean", pl.col("gender") == "female")
    by_score = {row["score"]: row for row in means.to_dicts()}
    rows = pl.concat(answers(stored))
    of_women = rows.filter(pl.col("gender").cast(pl.String) == "female", pl.col("task").cast(pl.String) == "describe")
    assert of_women.height == 3 * 3 * 3
    assert by_score["describe_words"]["value"] == pytest.approx(of_women["describe_words"].mean())
    assert by_score["describe_words"]["n"] == 3 * 3
    assert by_score["rate"]["n"] == 2
    assert by_score["rate"]["clusters"] == 2


def test_a_sample_asks_whole_questions_of_the_task(listed: Reader) -> None:
    protocol = listed(STUDY)
    study = protocol.study()
    for size in (1, 3, 4, 10, 31):
        frame = asked(protocol, study.sample(size, 1, 1))
        assert 0 < frame.height <= size
        described = frame.filter(pl.col("task").cast(pl.String) == "describe")
        per_unit = described.group_by("identity").len()["len"]
        assert (per_unit == 9).all()  # all pictures of a person, all draws


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('job = "*"', 'jub = "*"', "small.toml: line 12: Unknown column of the pictures 'jub'"),
        ('["photograph"]', '["fotograph"]', "small.toml: line 12: Unknown level of medium 'fotograph'"),
        ('["photograph"]', "3", "small.toml: line 12: 'medium' is a list of texts"),
        ("draws = 3", "draws = 0", "small.toml: line 6: 'draws' is a whole number from 1"),
        ("draws = 3", "draws = 900", "small.toml: line 6: 900 replies to each question are too many"),
        ("draws = 3", "drows = 3", "small.toml: line 6: Unknown key 'drows'. Did you mean 'draws'?"),
    ],
)
def test_mistakes_are_one_sentence_with_their_line(listed: Reader, before: str, after: str, says: str) -> None:
    with pytest.raises(FaceValueError, match="line") as caught:
        listed(STUDY.replace(before, after)).study()
    assert says in str(caught.value)


def test_levels_that_no_picture_has_together_are_refused(listed: Reader) -> None:
    rows = (listed.folder / "list.csv").read_text().replace(",photograph", ",drawn").replace(",drawing", ",photograph")
    (listed.folder / "list.csv").write_text(
        rows.replace("nurse,photograph", ",photograph").replace("cook,photograph", ",photograph")
    )
    with pytest.raises(
        DataError, match="line 12: No picture has the job and medium that the task 'rate' is asked about"
    ):
        listed(STUDY).study()


OWN_QUESTIONS = """
[pictures]
kind = "manifest"
manifest = "list.csv"
[task.rate]
from_pictures = {role = "job"}
[task.rate.prompt]
text = "How well does this person {does}?"
[[task.rate.item]]
role = "nurse"
does = "care for the ill"
[[task.rate.item]]
role = "cook"
does = "cook"
[task.rate.answer]
kind = "rating"
low = 1
high = 5
[[estimand]]
statistic = "mean"
by = ["job"]
"""


def test_a_picture_is_asked_the_question_that_its_column_names_alone(listed: Reader) -> None:
    protocol = listed(OWN_QUESTIONS)
    study = protocol.study()
    frame = asked(protocol)
    assert frame.height == 12  # of 18 pictures, 6 of which show no job
    assert frame.select("job", "role").unique().sort("job").rows() == [("cook", "cook"), ("nurse", "nurse")]
    said = {(row["job"], question.prompt) for row, question in zip(frame.to_dicts(), study.ask(frame), strict=True)}
    assert said == {
        ("nurse", "How well does this person care for the ill?"),
        ("cook", "How well does this person cook?"),
    }
    narrowed = protocol.study({"role": ["cook"]})
    assert narrowed.design.size == 6
    run(study, load("sim/default"), listed.folder / "run", RunSettings())
    means = estimate([StoredRun.open(listed.folder / "run")])[0].filter(measure="mean")
    assert sorted(means["job"].drop_nulls().unique()) == ["cook", "nurse"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('{role = "job"}', '{rol = "job"}', "Unknown factor of the question 'rol'. Did you mean 'role'"),
        ('{role = "job"}', '{role = "jobs"}', "Unknown column of the pictures 'jobs'. Did you mean 'job'"),
        ('role = "cook"', 'role = "cooks"', "Unknown level of job 'cook'. Did you mean 'cooks'"),
    ],
)
def test_questions_that_no_picture_names_are_refused(listed: Reader, old: str, new: str, says: str) -> None:
    with pytest.raises(FaceValueError, match=says):
        listed(OWN_QUESTIONS.replace(old, new)).study()


def test_texts_of_items_are_filled_by_pictures_and_all_names_each(listed: Reader) -> None:
    questions = """
[[task.rate.item]]
topic = "hiring"
question = "Would you hire this {job}?"
[[task.rate.item]]
topic = "pay"
question = "What does this {job} earn?"
"""
    text = STUDY.replace("How good a {job} is this person?", "{question} From 1 to 5.").replace(
        "[[est", questions + "[[est"
    )
    protocol = listed(text)
    frame = asked(protocol).filter(pl.col("task") == "rate")
    study = protocol.study({"topic": ["all"], "task": ["rate"]})
    prompts = [question.prompt for question in study.ask(study.design.trials(np.arange(study.design.size)))]
    assert len(prompts) == frame.height == 8
    assert prompts[0] == "Would you hire this nurse? From 1 to 5."
    assert prompts[-1] == "What does this cook earn? From 1 to 5."
    with pytest.raises(FaceValueError, match="slot of the prompt 'jbo'"):
        listed(text.replace("hire this {job}", "hire this {jbo}")).study()
