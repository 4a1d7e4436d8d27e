"""Examples of docstrings run in a folder of their own, beside the run that they speak of."""

from pathlib import Path

import pytest

import facevalue as fv


@pytest.fixture(scope="session")
def run_of_examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the run runs/first."""
    folder = tmp_path_factory.mktemp("examples")
    study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear")
    fv.run(study, "sim/default", folder / "runs" / "first", exact=True, progress=False)
    return folder


@pytest.fixture(autouse=True)
def examples_run_beside_it(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go there for the examples of the Python API."""
    name = request.node.name
    if isinstance(request.node, pytest.DoctestItem) and (name == "facevalue" or name.startswith("facevalue.api.")):
        monkeypatch.chdir(request.getfixturevalue("run_of_examples"))
