"""Tasks: several questions of different kinds in one study."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from polars.testing import assert_frame_equal

from facevalue.calibration.repetitions import calibration_of
from facevalue.errors import DataError, FaceValueError
from facevalue.protocol import Ask, Portraits, Protocol, yes_or_no
from facevalue.report.collect import report
from facevalue.report.rehearsal import rehearse
from facevalue.runs import RunSettings, run
from facevalue.runs.joined_runs import estimate
from facevalue.runs.plan import plan
from facevalue.runs.stored_run import StoredRun
from facevalue.statistics import Estimand, Shift
from facevalue.types import Request, Response, Status
from tests.measure_keys import by_key
from tests.plain_model import PlainModel
from tests.protocol.conftest import Reader

PICTURES = """
[pictures]
kind = "portraits"
people = "8"
[pictures.cues]
eyewear = ["thick-rimmed"]
"""
FACTOR = '[factor.job]\nlevels = ["nurse", "cook"]\n'
INVITE = ('text = "Would you invite this {job}? Answer with only {options}."', 'kind = "yes-no"')
SALARY = ('text = "What would this {job} earn? A number."', 'kind = "number"\nlow = 0\nhigh = 100')
TRAIT = (
    'text = "Is this person {options}? Answer with only (a) or (b)."',
    'kind = "choice"\noptions = {good = "kind", bad = "rude"}\nfavourable = "good"\norderings = "all"',
)
ESTIMANDS = """
[[estimand]]
statistic = "shift"
by = ["variation"]
[[estimand]]
statistic = "mean"
by = ["job"]
[[estimand]]
statistic = "gap"
factor = "gender"
[sampling]
seeds = [1, 2]
"""


def _task(name: str, texts: tuple[str, str]) -> str:
    return f"[task.{name}.prompt]\n{texts[0]}\n[task.{name}.answer]\n{texts[1]}\n"


TASKS = _task("invite", INVITE) + _task("salary", SALARY) + _task("trait", TRAIT)
STUDY = f'name = "small"\n{PICTURES}{FACTOR}{TASKS}{ESTIMANDS}'


def _alone(texts: tuple[str, str]) -> str:
    factor, estimands = FACTOR, ESTIMANDS
    if "{job}" not in texts[0]:
        factor, estimands = "", ESTIMANDS.replace('[[estimand]]\nstatistic = "mean"\nby = ["job"]\n', "")
    return f'name = "alone"\n{PICTURES}{factor}[prompt]\n{texts[0]}\n[answer]\n{texts[1]}\n{estimands}'


class Hashed(PlainModel):
    """A model whose reply follows from the picture, the prompt and the repeat alone."""

    name = "hashed"

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        for request in requests:
            prompt, image = request.question.prompt, request.stimulus.factors["image"]
            digest = blake2b(f"{image}|{prompt}|{request.repeat}".encode(), digest_size=2).digest()
            kind = "Yes" if "invite" in prompt else "(a)" if "(a)" in prompt else str(digest[0] % 100)
            other = {"Yes": "No", "(a)": "(b)"}.get(kind, kind)
            text = "I cannot say." if digest[1] < 20 else kind if digest[0] < 140 else other
            yield Response(request.trial, request.repeat, Status.OK, text)


def _estimates(protocol: Protocol, folder: Path) -> pl.DataFrame:
    run(protocol.study(), Hashed(), folder, RunSettings())
    return estimate([StoredRun.open(folder)])[0]


@pytest.fixture(scope="module")
def estimates_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tasks")
    run(Reader(folder)(STUDY).study(), Hashed(), folder / "run", RunSettings())
    report([StoredRun.open(folder / "run")], folder / "report.html")
    return folder


@pytest.fixture(scope="module")
def estimates(estimates_folder: Path) -> pl.DataFrame:
    return by_key(estimate([StoredRun.open(estimates_folder / "run")])[0])


@pytest.mark.parametrize(("task", "texts"), [("invite", INVITE), ("salary", SALARY), ("trait", TRAIT)])
def test_each_task_has_the_estimates_of_the_study_that_asks_it_alone(
    estimates: pl.DataFrame, task: str, texts: tuple[str, str], read: Reader, tmp_path: Path
) -> None:
    columns = ["variation", "job", "gender", "contrast", "dimension"]
    numbers = ["value", "low", "high", "n", "clusters", "p", "bound_low", "bound_high", "floor"]
    alone = by_key(_estimates(read(_alone(texts), "alone.toml"), tmp_path / "run"))
    columns = [name for name in columns if name in alone.columns]
    taken = {"shift", "mean", "gap"}
    expected = alone.filter(pl.col("measure").is_in(taken)).with_columns(pl.col("measure") + f".{task}")
    of_task = estimates.filter(pl.col("measure").is_in([f"{name}.{task}" for name in taken]))
    keys = ["measure", *columns]
    assert of_task.height == expected.height > 0
    assert_frame_equal(
        of_task.select(*keys, *numbers).sort(keys, nulls_last=True),
        expected.select(*keys, *numbers).sort(keys, nulls_last=True),
        rel_tol=1e-9,
    )
    for check in (
        "na_rate",
        "refusal_rate",
        "spread.no valid answer",
        "response_bias.position",
        "response_bias.letter",
    ):
        single = alone.filter(pl.col("measure") == check).select(*columns, *numbers[:5]).sort(columns, nulls_last=True)
        several = estimates.filter(pl.col("measure") == check, pl.col("task") == task)
        assert_frame_equal(several.select(*columns, *numbers[:5]).sort(columns, nulls_last=True), single, rel_tol=1e-9)


def test_a_take_is_of_every_task_that_has_its_factors(estimates: pl.DataFrame) -> None:
    names = set(estimates["measure"])
    assert {"mean.invite", "mean.salary"} <= names
    assert "mean.trait" not in names
    assert {"shift.invite", "shift.salary", "shift.trait"} <= names


def test_the_page_quotes_a_question_of_each_task(estimates_folder: Path) -> None:
    page = (estimates_folder / "report.html").read_text()
    for text in ("Would you invite this nurse?", "What would this nurse earn?", "Is this person (a) kind or (b) rude?"):
        assert text in page


def test_missing_answers_are_told_apart_by_task(estimates: pl.DataFrame) -> None:
    rates = estimates.filter(pl.col("measure") == "na_rate", pl.col("gender").is_null(), pl.col("job").is_null())
    assert set(rates["task"]) == {"invite", "salary", "trait"}


def test_scores_of_a_take_name_tasks(read: Reader) -> None:
    study = read(STUDY.replace('factor = "gender"', 'factor = "gender"\nscores = ["salary"]')).study()
    names = {measure.key for measure in study.estimates.measures}
    assert "gap.salary" in names
    assert not {"gap.invite", "gap.trait"} & names


def test_a_task_with_several_scores_is_named_as_a_whole(read: Reader) -> None:
    text = ('text = "Describe this {job}."', 'kind = "text"\ntake = ["characters", "words"]')
    changed = STUDY.replace(_task("salary", SALARY), _task("story", text)).replace(
        'factor = "gender"', 'factor = "gender"\nscores = ["story"]'
    )
    names = {measure.key for measure in read(changed).study().estimates.measures}
    assert {"gap.story_characters", "gap.story_words", "shift.story_words", "shift.invite"} <= names


def test_one_task_can_be_asked_alone(read: Reader) -> None:
    protocol = read(STUDY.replace('factor = "gender"', 'factor = "gender"\nscores = ["invite"]'))
    study = protocol.study({"task": ["salary"]})
    assert {block.constants["task"] for block in study.design.blocks} == {"salary"}
    assert {m.key for m in study.estimates.measures} >= {"shift.salary", "mean.salary"}


def test_levels_of_a_factor_narrow_every_task_that_has_it(read: Reader) -> None:
    study = read(STUDY).study({"job": ["nurse"]})
    frame = study.design.trials(range(study.design.size))
    assert frame.filter(pl.col("task") != "trait")["job"].cast(pl.String).unique().to_list() == ["nurse"]
    assert frame.filter(pl.col("task") == "trait").height > 0


def test_a_sample_holds_whole_units_of_every_task(read: Reader) -> None:
    study = read(STUDY).study()
    numbers = study.sample(200, 3, 2)
    assert 0 < numbers.size * 2 <= 200
    frame = study.design.trials(numbers)
    assert set(frame["task"].cast(pl.String)) == {"invite", "salary", "trait"}
    for (task,), rows in frame.group_by("task"):
        pictures = rows.group_by("identity", *(["job"] if task != "trait" else [])).agg(pl.col("image").n_unique())
        assert set(pictures["image"]) == {2}


def test_answers_keep_the_order_of_their_trials(read: Reader) -> None:
    study = read(STUDY).study()
    numbers = np.random.default_rng(0).permutation(study.design.size)
    frame = study.design.trials(numbers).with_columns(
        repeat=pl.lit(0), status=pl.lit("ok"), text=pl.lit("7"), probs=pl.lit(None, pl.List(pl.Float64))
    )
    answers = study.answer(frame)
    assert answers["trial"].to_list() == numbers.tolist()
    is_salary = (answers["task"].cast(pl.String) == "salary").to_numpy()
    assert (answers["salary"] == 7.0).fill_null(value=False).to_numpy().tolist() == is_salary.tolist()
    assert answers["invite"].is_null().all()
    one_task = study.answer(frame.filter(pl.col("task") == "trait"))
    assert set(one_task.columns) == set(answers.columns)


def test_pictures_of_a_plan_are_counted_once(read: Reader) -> None:
    study = read(STUDY).study()
    assert plan(study).pictures == 16
    assert plan(study, sample=200).pictures <= 16


def test_a_study_of_tasks_is_rehearsed_and_planted(read: Reader) -> None:
    protocol = read(STUDY)
    rehearse(protocol, protocol.study())
    assert {rival.measure for rival in calibration_of(protocol).rivals} >= {"shift.invite", "shift.salary", "gap.trait"}


def test_tasks_are_said_in_python_too() -> None:
    tasks = {"kind": Ask(("Is this person kind?",), yes_or_no()), "able": Ask(("Is this person able?",), yes_or_no())}
    pictures = Portraits({"eyewear": ("sunglasses",)}, "4")
    study = Protocol(name="two", title="Two", stimuli=pictures, tasks=tasks, estimands=(Estimand(Shift()),)).study()
    assert study.design.size == 2 * 4 * 2
    with pytest.raises(DataError, match="asks one question, and several tasks besides"):
        Protocol(
            name="two", title="Two", stimuli=pictures, ask=tasks["kind"], tasks=tasks, estimands=(Estimand(Shift()),)
        )


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("[task.salary.answer]", "[task.salery.answer]", r"'answer' is missing"),
        ("[task.salary.prompt]", "[task.Salary-1.prompt]", r"line \d+: The task 'Salary-1' is not made of"),
        ("[factor.job]", "[factor.rank]", r"No task has a slot \{rank\} for the factor 'rank'"),
        ('by = ["job"]', 'by = ["jobb"]', r"line \d+: Unknown factor in a mean 'jobb'. Did you mean 'job'"),
        (
            'factor = "gender"',
            'factor = "gender"\nscores = ["salry"]',
            r"line \d+: Unknown score 'salry'. Did you mean 'salary'",
        ),
        ('factor = "gender"', 'factor = "job"\nscores = ["trait"]', r"line \d+: Unknown factor in a gap 'job'"),
        ("[task.salary.answer]\nkind", "[task.salary.answer]\nkinds", r"[Uu]nknown .*'kinds'|'kind' is missing"),
        (
            "[[estimand]]",
            '[prompt]\ntext = "Who?"\n[[estimand]]',
            r"\[prompt\] is that of one question; .*\[task.NAME.prompt\]",
        ),
        ("[task.invite.prompt]", "[task.gender.prompt]", r"'answer' is missing|called 'gender'"),
        ("high = 100", "high = 100\n[task.salary.take]\nx = 1", r"[Uu]nknown .*'take'"),
        ('factor = "gender"', 'factor = "gender"\nmargin = 2.0\nscores = ["invite"]', r"margin"),
    ],
)
def test_mistakes_are_one_sentence(before: str, after: str, message: str, read: Reader) -> None:
    assert before in STUDY
    with pytest.raises(FaceValueError, match=message):
        read(STUDY.replace(before, after, 1)).study()


def test_a_task_and_a_factor_cannot_share_a_name(read: Reader) -> None:
    with pytest.raises(FaceValueError, match="called 'gender'"):
        read(STUDY.replace("task.invite.", "task.gender.")).study()


@pytest.mark.parametrize("name", ["mass", "na", "reply", "status", "trial", "block", "image", "ordering", "task", "at"])
def test_a_task_cannot_have_the_name_of_a_column(name: str, read: Reader) -> None:
    with pytest.raises(FaceValueError, match=f"No task or score can be called '{name}'"):
        read(STUDY.replace("task.salary.", f"task.{name}.")).study()


def test_tasks_about_pairs_are_on_one_scale(read: Reader, tmp_path: Path) -> None:
    rows = [f"{number}.png,{number // 2},{('light', 'dark')[number % 2]}" for number in range(6)]
    (tmp_path / "pairs.csv").write_text("\n".join(["path,set,skin", *rows]))
    for number in range(6):
        Image.new("RGB", (8, 8), (40 * number, 0, 0)).save(tmp_path / f"{number}.png")
    left = 'kind = "choice"\noptions = {left = "the left", right = "the right"}\nfavourable = "left"'
    pictures = '[pictures]\nkind = "pairs"\nmanifest = "pairs.csv"\ncue = "skin"\nbase = "light"\n'
    asked = _task("nurse", ('text = "Who is the nurse? {options}"', left))
    other = _task("kind", ('text = "Who is kind? {options}"', left))
    text = f'name = "small"\n{pictures}{asked}{other}[[estimand]]\nstatistic = "preference"\n'
    names = {measure.key for measure in read(text).study().estimates.measures}
    assert {"preference.nurse", "preference.kind", "response_bias.side"} <= names
    rated = text.replace(other, _task("kind", ('text = "How kind is the left one?"', 'kind = "rating"')))
    with pytest.raises(FaceValueError, match="pairs side by side need answers on one scale"):
        read(rated).study()


def test_an_unknown_task_is_named(read: Reader) -> None:
    with pytest.raises(FaceValueError, match=r"Unknown task 'salry'\. Did you mean 'salary'"):
        read(STUDY).study({"task": ["salry"]})


def test_a_task_of_which_nothing_is_taken_cannot_be_asked_alone(read: Reader) -> None:
    only = STUDY.replace(ESTIMANDS, '[[estimand]]\nstatistic = "mean"\nby = ["job"]\nscores = ["invite"]\n')
    with pytest.raises(FaceValueError, match="Nothing is estimated of the answers to 'salary'"):
        read(only).study({"task": ["salary"]})
