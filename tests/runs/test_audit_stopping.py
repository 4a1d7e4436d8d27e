"""Audits whose studies stop once enough is known."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import facevalue as fv
from facevalue.api.calls import own_model
from facevalue.errors import RunError, SettingError
from facevalue.measures.family_tests import AT_ANY_TIME
from facevalue.runs import settings
from facevalue.runs.audits.audit import ModelAudit
from facevalue.runs.audits.folder import read_audit
from facevalue.runs.audits.plan import Rates, budget_of, dealt_again
from facevalue.runs.audits.settings import AuditSettings
from facevalue.runs.audits.studies import AuditWishes, StudySizes, studies_of
from facevalue.runs.preparation import Prepared
from facevalue.runs.progress import SilentProgress
from facevalue.runs.runner import begin
from facevalue.runs.settings import RunSummary, StopRule
from facevalue.store import read_manifest
from facevalue.types import Question
from tests.runs.own_studies import study_file

RULE = "width<0.9"
DRAWN = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def few_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks at a quarter and half of a run: each takes a second or two, however small the run."""
    monkeypatch.setattr(settings, "_FIRST", 0.25)
    monkeypatch.setattr(settings, "_GROWTH", 2.0)


def leaning(question: Question) -> str:
    """Either option, drawn for each request: one at a time, so that what is not asked is saved."""
    return question.options[int(DRAWN.integers(2))].text


def audited(studies: list[str], budget: int | None = 600, rule: str | None = RULE) -> fv.Audited:
    return fv.audit(leaning, "audit", budget=budget, studies=studies, stop_when=rule, progress=False)


@pytest.fixture
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    return [study_file(tmp_path, "kind", 600), study_file(tmp_path, "warm", 600, traits=2)]


@pytest.mark.slow
def test_each_study_stops_by_the_rule_and_what_is_saved_is_said(studies: list[str]) -> None:
    audit = audited(studies)
    assert audit.complete
    saved = {answer.name: (answer.saved, answer.dealt) for answer in audit.report.answers}
    assert saved == {"kind": (225, 224), "warm": (393, 0)}  # what one saves, the next is asked, or saves
    assert [study.requests for study in audit.plan.studies] == [76, 524]
    assert audit.report.saved_requests == 394
    for name, run in audit.runs.items():
        facts = read_manifest(Path("audit/runs") / name)
        assert facts.stop_when == RULE
        assert facts.counts.requests - facts.counts.ok == saved[name][0]
        gaps = run.estimates().filter(measure="gap").filter(pl.col("p").is_not_null())
        assert gaps["detail"].str.ends_with(AT_ANY_TIME).all()
    page = audit.report.path.read_text()
    assert f"{audit.report.saved_requests:,} requests of the plan were not asked" in page
    assert "Enough is known: no interval is wider than" in page
    again = audited(studies)
    assert again.complete
    assert all(run.summary is not None and not run.summary.asked for run in again.runs.values())
    assert again.report.saved_requests == audit.report.saved_requests
    with pytest.raises(RunError, match=r"stop-when: width<0\.9 in the folder, nothing asked"):
        audited(studies, rule=None)


def test_what_a_study_saves_is_dealt_out_once_and_never_to_one_that_was_asked(studies: list[str]) -> None:
    settings = AuditSettings.from_wishes(
        "tiny", AuditWishes(tuple(studies)), "600", Rates(), stop_when=StopRule.from_text(RULE)
    )

    def ask(prepared: Prepared) -> RunSummary:
        return begin(prepared, own_model(leaning), SilentProgress())

    def killed(prepared: Prepared) -> RunSummary:
        if prepared.study.name == "warm":
            raise KeyboardInterrupt  # between what is dealt out and the next request
        return ask(prepared)

    with pytest.raises(KeyboardInterrupt):
        ModelAudit(settings, Path("audit")).ask(killed)
    dealt = {study.name: (study.sample, study.dealt) for study in read_audit("audit").studies}
    assert dealt == {"kind": (301, 224), "warm": (525, 0)}
    outcome = ModelAudit(settings, Path("audit")).ask(ask)
    assert outcome.complete
    assert {study.name: (study.sample, study.dealt) for study in read_audit("audit").studies} == dealt
    assert outcome.plan.requests == 600
    assert outcome.plan.studies[0].note == (
        "Enough was known early: 224 of its requests go to the studies that are asked after it."
    )  # fmt: skip


def test_studies_that_cannot_stop_are_asked_last_and_get_what_is_saved(studies: list[str]) -> None:
    texts = {"counterfactuals": {"prompt": "describe"}}  # of which no power analysis says what they detect
    built, _ = studies_of(AuditWishes((studies[1], "counterfactuals"), settings=texts))
    later = [StudySizes(study, 0, begun=begun) for study, begun in zip(built, (400, 1_000), strict=True)]
    samples, spent = dealt_again(later, 400, budget_of("3000"), Rates())
    assert samples["warm"] >= 600
    assert 1_100 < samples["counterfactuals"] <= 1_200
    assert 300 < spent <= 400
    assert dealt_again(later, 0.5, budget_of("3000"), Rates()) == ({}, 0)


def test_a_study_whose_pilot_told_enough_is_asked_no_more(studies: list[str]) -> None:
    audited(studies, budget=None, rule="width<1.9")
    audit = audited(studies, budget=1_000, rule="width<1.9")
    record = {study.name: study for study in read_audit("audit").studies}
    assert {name for name, study in record.items() if study.sample == study.pilot} == set(record)
    assert all(study.note == "Its pilot told enough: it is asked no more." for study in audit.plan.studies)


def muttering(question: Question) -> str:
    """Nothing that can be read from, where a question says so."""
    return "Hm." if "mutter" in question.prompt else question.options[int(DRAWN.integers(2))].text


def test_a_study_whose_pilot_cannot_be_read_is_asked_no_more_now_or_later(
    studies: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("facevalue.runs.session.LOOKED_AT", 20)
    file = Path(studies[1])
    file.write_text(file.read_text().replace("Is this person", "Do not mutter. Is this person"))
    fv.audit(muttering, "audit", studies=studies, progress=False)
    asked = []
    for _ in range(2):
        audit = fv.audit(muttering, "audit", budget=1_000, studies=studies, progress=False)
        (note,) = (study.note for study in audit.plan.studies if study.name == "warm")
        assert note == "Most replies of its pilot cannot be read: it is asked no more."
        counts = read_manifest(Path("audit/runs/warm")).counts
        asked.append(counts.ok)
        assert audit.complete
    assert asked[0] == asked[1] < 200
    assert read_manifest(Path("audit/runs/kind")).counts.ok > 400


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
