"""Whatever settings of the published studies are accepted run, are measured and are reported."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facevalue import studies
from facevalue.errors import DataError, FaceValueError
from facevalue.models.sim import PRESETS, SimModel
from facevalue.protocol.study import Study
from facevalue.report.collect import report
from facevalue.runs.plan import plan
from facevalue.runs.preparation import prepare
from facevalue.runs.runner import run
from facevalue.runs.settings import RunSettings
from facevalue.runs.stored_run import StoredRun
from facevalue.studies.registry import PUBLISHED
from tests.studies.random_settings import chosen

_HOW: dict[str, Any] = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
MOST = 250
"""Requests of a run, if so few make one."""


def sample(study: Study, repeats: int) -> int | None:
    """How many requests are asked: all of a small study, the smallest sample of another."""
    size = MOST
    while size < study.design.size * repeats:
        try:
            study.sample(size, 0, repeats)
        except DataError:
            size *= 2
            continue
        return size
    return None


def followed(name: str, data: st.DataObject) -> str:
    """Follow settings through the chain; what they were refused with, empty where they were not."""
    protocol = studies.protocol(name)
    options = data.draw(chosen(protocol))
    interventions = data.draw(st.lists(st.sampled_from(("no-image", "sr", "debiasing")), max_size=1))
    model = SimModel(data.draw(st.sampled_from(sorted(PRESETS))))
    exact = data.draw(st.integers(0, 3)) == 3
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        try:
            study = protocol.study(options)
            plan(study)
            asked = RunSettings(sample=sample(study, 1 if exact else study.repeats), exact=exact, check=False)
            prepared = prepare(study, model.name, out, asked, interventions)
        except FaceValueError as error:
            return str(error)
        run(prepared.study, model, out, asked)
        opened = StoredRun.open(out)
        report([opened], Path(folder) / "report.html")
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
@settings(max_examples=100, **_HOW)
@given(data=st.data())
def test_settings_that_are_accepted_are_reported(name: str, data: st.DataObject) -> None:
    assert "\n" not in followed(name, data)
