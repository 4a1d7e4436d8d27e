"""Whatever declaration a plan accepts runs, measures and reports; whatever it refuses, it refuses in one sentence."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facevalue import studies
from facevalue.api import study
from facevalue.errors import FaceValueError
from facevalue.models.sim import SimModel
from facevalue.protocol.toml_tables import find_variants
from facevalue.protocol.variants import add_interventions
from facevalue.report.collect import report
from facevalue.report.rehearsal import rehearse
from facevalue.runs.plan import plan
from facevalue.runs.runner import run
from facevalue.runs.settings import RunSettings
from facevalue.runs.stored_run import StoredRun
from facevalue.studies.registry import PUBLISHED, file_text
from tests.protocol.declarations import declarations

OURS = ("Two estimates have the same labels", "could not be reported")
"""What no user can do anything about."""
INTERVENTIONS = ("no-image", "blank-image", "cipher", "sr", "debiasing")


def followed(data: st.DataObject, *, whole: bool) -> str:
    """Follow a declaration through the chain; what it was refused with, empty where it was not."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        text = data.draw(declarations(folder / "pictures"))
        (folder / "drawn.toml").write_text(text, encoding="utf-8")
        done: Sequence[str] = data.draw(st.lists(st.sampled_from(INTERVENTIONS), unique=True, max_size=1))
        exact = data.draw(st.booleans()) and not whole
        try:
            protocol = studies.protocol(str(folder / "drawn.toml"))
            study = add_interventions(protocol.study(), find_variants(done))
            plan(study)
            rehearse(protocol, study, exact=exact and "options" in text)
        except FaceValueError as error:
            sentence = str(error)
            assert sentence
            assert "\n" not in sentence
            assert not any(told in sentence for told in OURS), f"{sentence}\n{text}"
            return sentence
        if whole:
            run(study, SimModel("default"), folder / "run", RunSettings())
            report([StoredRun.open(folder / "run")], folder / "report.html")
        return ""


_HOW: dict[str, Any] = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}


@pytest.mark.slow
def test_what_a_plan_accepts_is_reported_on_simulated_answers() -> None:
    refused = []

    @settings(max_examples=50, derandomize=True, **_HOW)
    @given(st.data())
    def follow(data: st.DataObject) -> None:
        refused.append(followed(data, whole=False))

    follow()
    assert 0 < sum(not sentence for sentence in refused) < len(refused)  # the generator makes both


@pytest.mark.slow
@settings(max_examples=600, **_HOW)
@given(st.data())
def test_what_a_plan_accepts_runs_measures_and_reports(data: st.DataObject) -> None:
    followed(data, whole=True)


@pytest.mark.parametrize("name", [*PUBLISHED, "own"])
def test_studies_of_ones_own_are_rehearsed_and_published_ones_are_not(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Declarations of published studies are tested with the package; their plans would take half a minute."""
    rehearsed = []
    monkeypatch.setattr(
        "facevalue.report.rehearsal.rehearse", lambda protocol, *_, **__: rehearsed.append(protocol.name)
    )
    (tmp_path / "own.toml").write_text(file_text("hiring-screen"), encoding="utf-8")
    protocol = studies.protocol(str(tmp_path / "own.toml") if name == "own" else name)
    study.rehearse(protocol, protocol.study())
    assert rehearsed == ([protocol.name] if name == "own" else [])
