"""What the Python API says of replies that no rule reads: scores and judgments."""

from pathlib import Path

import pytest

import facevalue as fv
from facevalue.errors import DataError, ModelError, UnknownNameError
from facevalue.protocol import Ask, Outside, Portraits, ScoredText, Sorting, Text
from facevalue.statistics import Estimand, Mean
from facevalue.types import Question
from tests.protocol.test_judged_texts import Judging

CAPTIONS = fv.Protocol(
    name="captions",
    title="How are people with glasses described?",
    stimuli=Portraits(cues={"eyewear": ("thick-rimmed",)}, people="4"),
    ask=Ask(
        prompts=("Describe this person.",),
        reply=Text(
            outside=Outside(judged=(Sorting("tone", ("warm", "cold")),), scored=(ScoredText("hostility", "hostility"),))
        ),
    ),
    estimands=(Estimand(Mean(), scores=("tone_warm",)),),
)
"""A protocol that is found by no name: its runs are opened with it alone."""


def _described(question: Question) -> str:
    return "A kind person."


def _warm(prompt: str) -> str:
    return "(a)"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> fv.Run:
    monkeypatch.chdir(tmp_path)
    return fv.run(fv.study("counterfactuals", sets=2, prompt="keywords"), "sim/default", "run", progress=False)


def test_a_scored_run_has_its_scores_and_the_run_before_has_none(run: fv.Run) -> None:
    scored = fv.annotate(run, progress=False, name="words")
    assert scored.estimates()["scorer"].drop_nulls().unique().to_list() == ["words"]
    assert "max_score" not in run.estimates()["measure"]
    assert scored.summary is run.summary


def test_scores_may_be_asked_for_by_the_folder(run: fv.Run) -> None:
    assert fv.annotate("run", progress=False).folder == Path("run")


def test_an_unknown_scorer_is_named(run: fv.Run) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'lexical'"):
        fv.annotate(run, "lexcal", progress=False)


def test_replies_without_texts_are_refused(tmp_path: Path) -> None:
    study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear")
    chosen = fv.run(study, "sim/default", tmp_path / "run", exact=True, progress=False)
    with pytest.raises(DataError, match="offers no replies that a scorer reads"):
        fv.annotate(chosen, progress=False)
    with pytest.raises(DataError, match="offers no replies that a judge may sort"):
        fv.judge(chosen, "sim/default")


def test_texts_of_a_protocol_without_a_name_are_judged_and_scored(tmp_path: Path) -> None:
    run = fv.run(CAPTIONS, _described, tmp_path / "run", progress=False)
    assert run.estimates().filter(measure="mean", score="tone_warm")["value"].drop_nulls().is_empty()
    judged = fv.judge(run, Judging(_warm))
    assert judged.estimates().filter(measure="mean", score="tone_warm")["value"].to_list() == [1.0]
    scored = fv.annotate(judged, progress=False)
    assert scored.estimates().filter(measure="mean", score="tone_warm")["value"].to_list() == [1.0]


def test_a_judge_that_fails_is_an_error_and_the_same_call_goes_on(tmp_path: Path) -> None:
    run = fv.run(CAPTIONS, _described, tmp_path / "run", progress=False)
    with pytest.raises(ModelError, match=r"1 requests? .*no answer \(hung\): call again"):
        fv.judge(run, Judging(lambda prompt: None))
    judging = Judging(_warm)
    fv.judge(run, judging)
    fv.judge(run, judging)
    assert len(judging.prompts) == 1, "asked once"


def test_a_second_judge_is_refused(tmp_path: Path) -> None:
    run = fv.run(CAPTIONS, _described, tmp_path / "run", progress=False)
    fv.judge(run, Judging(_warm))
    with pytest.raises(DataError, match="a run has one judge"):
        fv.judge(run, Judging(_warm, "another"))
