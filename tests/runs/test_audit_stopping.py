"""Audits whose studies stop once enough is known."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import RunError, SettingError
from facevalue.measures.any_time import METHOD
from facevalue.runs import stopping
from facevalue.runs.audit_folder import read_audit
from facevalue.store import read_manifest
from facevalue.types import Question
from tests.runs.own_studies import study_file

RULE = "width<0.9"
DRAWN = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def few_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks at a quarter and half of a run: each takes a second or two, however small the run."""
    monkeypatch.setattr(stopping, "_FIRST", 0.25)
    monkeypatch.setattr(stopping, "_GROWTH", 2.0)


def leaning(question: Question) -> str:
    """Either option, drawn for each request: one at a time, so that what is not asked is saved."""
    return question.options[int(DRAWN.integers(2))].text


def audited(studies: list[str], budget: int | None = 600, rule: str | None = RULE) -> fv.Audited:
    return fv.audit(leaning, "audit", budget=budget, studies=studies, stop_when=rule, progress=False)


@pytest.fixture
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    return [study_file(tmp_path, "kind", 600), study_file(tmp_path, "warm", 600, traits=2)]


def test_each_study_stops_by_the_rule_and_what_is_saved_is_said(studies: list[str]) -> None:
    audit = audited(studies)
    assert audit.complete
    saved = {answer.name: answer.saved for answer in audit.report.answers}
    assert all(saved.values())
    for name, run in audit.runs.items():
        facts = read_manifest(Path("audit/runs") / name)
        assert facts.stop_when == RULE
        answered = facts.counts.ok + facts.counts.refused + facts.counts.truncated
        assert (answered, saved[name]) == (75, 225)
        gaps = run.estimates().filter(measure="gap").filter(pl.col("p").is_not_null())
        assert gaps["method"].str.ends_with(METHOD).all()
    page = audit.report.path.read_text()
    assert f"{audit.report.saved:,} requests of the plan were not asked" in page
    assert "Enough is known: no interval is wider than" in page
    again = audited(studies)
    assert again.complete
    assert all(run.summary is not None and not run.summary.asked for run in again.runs.values())
    assert again.report.saved == audit.report.saved
    with pytest.raises(RunError, match=r"stop-when: width<0\.9 in the folder, nothing asked"):
        audited(studies, rule=None)


def test_a_study_whose_pilot_told_enough_is_asked_no_more(studies: list[str]) -> None:
    audited(studies, budget=None, rule="width<1.9")
    audit = audited(studies, budget=1_000, rule="width<1.9")
    record = {study.name: study for study in read_audit("audit").studies}
    assert {name for name, study in record.items() if study.sample == study.pilot} == set(record)
    assert all(study.note == "Its pilot told enough: it is asked no more." for study in audit.plan.studies)


def test_a_plan_with_a_rule_promises_less(studies: list[str]) -> None:
    plain, stopping_early = (
        fv.plan_audit(budget=600, studies=studies, stop_when=rule).points for rule in (None, "decided")
    )
    assert plain is not None
    assert stopping_early is not None
    assert plain * 1.2 < stopping_early < plain * 2


def test_studies_that_are_scored_afterwards_are_asked_whole(studies: list[str]) -> None:
    plan = fv.plan_audit(studies=[studies[0], "counterfactuals"], stop_when="decided")
    notes = {study.name: study.note for study in plan.studies}
    assert notes["counterfactuals"].endswith("Its texts are scored or sorted afterwards: it does not stop early.")
    assert not notes["kind"]
    with pytest.raises(SettingError, match="the texts of all of these are scored or sorted afterwards: leave it out"):
        fv.plan_audit(studies=["counterfactuals"], stop_when="decided")
    with pytest.raises(SettingError, match='--stop-when is "decided"'):
        fv.plan_audit(studies=studies, stop_when="decide")
