"""A study that was stopped, or of which half cannot be read, has a verdict of its own wherever it is told."""

from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import facevalue as fv
from facevalue.limits import gate
from facevalue.limits.limits_file import stated_limits
from facevalue.report import summary
from facevalue.report.audit_page import StudyAnswer
from facevalue.report.collect import gather_report
from facevalue.report.data import ReportData, RunFacts
from facevalue.report.html import render
from facevalue.report.page_builder import Built, build_page, counts_of, page_json
from facevalue.report.profile.cells import Outcome
from facevalue.report.profile.page import profile_answer
from facevalue.report.profile.profile import profile_of
from facevalue.report.sections.answer import answer_of_page
from facevalue.report.sections.first_screen import facts_of
from facevalue.report.sections.headline import HeadlineKind
from facevalue.runs.joined_runs import StudyRuns
from facevalue.runs.kept_estimates import take_estimates
from facevalue.runs.reply_counts import ReplyCounts, counts_together
from facevalue.runs.stored_run import ReplyTally, StoredRun
from facevalue.view import open_runs
from facevalue.view.head import lead
from facevalue.view.open_runs import OpenedRuns
from tests.report import made

STOPPED = made.run(planned=1988, asked=995, valid=389, refused=0, ended=None)
REASON = "Not answered: 993 of 1,988 questions were not asked, 606 replies could not be read."


def page(*runs: RunFacts) -> Built:
    return build_page(made.data(estimates=made.judged(), runs=runs))


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        (ReplyCounts(995, 0, 389, 0, 1988), REASON),
        (ReplyCounts(995, 0, 995, 0, 1000), "Not answered: 5 of 1,000 questions were not asked."),
        (ReplyCounts(100, 0, 50, 0, 100), "Not answered: 50 of 100 replies could not be read."),
        (ReplyCounts(100, 60, 40, 0, 100), "Not answered: 60 of 100 requests failed."),
        (ReplyCounts(100, 30, 40, 0, 100), "Not answered: 30 of 100 requests failed, 30 replies could not be read."),
        (ReplyCounts(100, 0, 51, 0, 100), ""),
        (ReplyCounts(100, 0, 10, 90, 100), ""),
        (ReplyCounts(995, 0, 995, 0, 1988, is_enough=True), ""),
        (ReplyCounts(995, 0, 995, 0, None), ""),
        (ReplyCounts(0, 0, 0, 0, 10), "Not answered: 10 of 10 questions were not asked."),
        (ReplyCounts(0, 0, 0, 0, 0), ""),
    ],
)
def test_what_is_not_answered(counts: ReplyCounts, reason: str) -> None:
    assert counts.why_not_answered == reason


def test_parts_of_a_study_are_added_up_and_a_part_that_knew_enough_is_whole() -> None:
    whole, early = ReplyCounts(100, 0, 90, 5, 100), ReplyCounts(40, 0, 40, 0, 100, is_enough=True)
    assert counts_together([whole, early]) == ReplyCounts(140, 0, 130, 5, 140)
    assert not counts_together([whole, early]).why_not_answered
    assert counts_together([whole, replace(early, is_enough=False)]).not_asked == 60


def test_the_first_screen_says_so_first_and_counts_what_was_asked() -> None:
    shown = page(STOPPED)
    assert shown.answer.verdict is HeadlineKind.NOT_ANSWERED
    assert shown.answer.sentence.startswith(f"{REASON} From the answers there are: ")
    data = made.data(estimates=made.judged(), runs=(STOPPED,))
    assert "model-a: 389 answers to 995 of 1,988 questions" in facts_of(data)
    html = render(data)
    assert '<h2 id="answer-title" class="kicker">Not answered</h2>' in html
    assert "No difference found" not in html
    assert page_json(shown)["headline"]["outcome"] == "not answered"
    assert "Enough to act" not in " ".join(step.text for step in shown.steps)


def test_a_run_that_knew_enough_is_answered() -> None:
    shown = page(replace(STOPPED, valid=990, enough="Enough is known."))
    assert shown.answer.verdict is HeadlineKind.FOUND


def test_of_several_models_the_one_that_was_stopped_is_told() -> None:
    frame = made.judged(made.estimates(models=("model-a", "model-b")))
    runs = (made.run(), replace(STOPPED, model="model-b"))
    shown = build_page(made.data(("model-a", "model-b"), estimates=frame, runs=runs))
    assert shown.answer.verdict is HeadlineKind.FOUND
    assert f"model-b: {REASON}" in shown.answer.sentence
    neither = build_page(made.data(("model-a", "model-b"), estimates=frame, runs=(STOPPED, runs[1])))
    assert neither.answer.verdict is HeadlineKind.NOT_ANSWERED
    assert answer_of_page(shown.comparisons, counts_of(runs)).sentence == shown.answer.sentence


def test_the_terminal_and_the_audit_say_the_same() -> None:
    shown = page(STOPPED)
    console = Console(width=4000, file=StringIO(), record=True)
    console.print(
        summary(made.judged(), made.MEASURES_OF["stylisticbias"], page=shown.page, replies=counts_of([STOPPED]))
    )
    assert REASON in console.export_text()
    audit = StudyAnswer("a", "A", "", "", shown.answer.verdict.value, shown.answer.sentence)
    assert audit.heading == "Not answered"


def test_half_that_cannot_be_read_is_told_by_page_and_viewer(tmp_path: Path) -> None:
    study = fv.study("stylisticbias", faces="6M,6F", attributes=["eyewear"], scenario=["polite"], seeds=["1"])
    fv.run(study, "sim/null", tmp_path / "run", progress=False)
    run = StoredRun.open(tmp_path / "run")
    written = gather_report([run])
    (tally,) = written.tallies.values()
    half = ReplyTally(tally.asked, na={"neither": tally.asked * 3 // 5})
    data, reason = _with_tally(written.data, half), f"{half.asked * 3 // 5} of {half.asked} replies could not be read"
    assert reason in build_page(data).answer.sentence
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(open_runs, "_take_estimates", lambda _: (written.data.estimates, half))
        first = lead(OpenedRuns([run]).state_of_run("0"))
    assert first.verdict == "Not answered"
    assert reason in first.sentences[0]
    assert first.look == "unknown"


def _with_tally(data: ReportData, tally: ReplyTally) -> ReportData:
    runs = tuple(replace(run, asked=tally.asked, valid=tally.valid, refused=0, errors=0) for run in data.runs)
    return replace(data, runs=runs)


def test_a_gate_lets_nothing_pass_of_which_half_cannot_be_read(tmp_path: Path) -> None:
    study = fv.study("stylisticbias", faces="2M,2F", attributes=["eyewear"], scenario=["polite"], seeds=["1"])
    fv.run(study, "sim/null", tmp_path / "run", progress=False)
    run = StoredRun.open(tmp_path / "run")
    estimates, tallies = take_estimates([run])
    asked = next(iter(tallies.values())).asked
    limits = stated_limits([{"measure": "shift", "by": ["variation"], "absolute": 0.99}])
    assert gate.gate([run], limits).within
    half = {str(run.folder): ReplyTally(asked, na={"neither": asked - asked // 2})}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate, "take_estimates", lambda _: (estimates, half))
        held, allowed = (gate.gate([run], limits, allow_incomplete=allow) for allow in (False, True))
    assert held.outcome == "not enough data"
    assert "replies could not be read" in " ".join(held.notes)
    assert set(held.cells["why"]) == {
        "Half of the questions have no reply that can be read: what could be read lies within."
    }
    assert allowed.within


def test_a_profile_names_the_study_and_calls_nothing_of_it_undecided(tmp_path: Path) -> None:
    study = fv.study("stylisticbias", faces="2M,2F", attributes=["eyewear"], scenario=["polite"], seeds=["1"])
    fv.run(study, "sim/null", tmp_path / "run", progress=False)
    run = StoredRun.open(tmp_path / "run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StudyRuns, "unanswered_models", {run.model: REASON})
        profile = profile_of([run])
    assert profile_answer(profile)[0] == f"stylisticbias is {REASON[0].lower()}{REASON[1:]}"
    outcomes: Sequence[Outcome] = [cell.outcome for cell in profile.cells]
    assert Outcome.NOT_ANSWERED in outcomes
    assert not {Outcome.UNDECIDED, Outcome.EQUIVALENT} & set(outcomes)
    assert profile.studies[0].unanswered == ((run.model, REASON),)
