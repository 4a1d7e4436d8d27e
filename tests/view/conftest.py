"""A viewer of stored runs, asked as a browser asks it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import facevalue as fv
from facevalue.runs.stored_run import StoredRun
from facevalue.view.app import application
from facevalue.view.open_runs import OpenedRuns
from tests.golden.cases import GOLDEN, unpacked

TOKEN, PORT = "a-token-of-tests", 8123
BASE = f"http://127.0.0.1:{PORT}"
Api = Callable[..., Any]


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stored runs of all studies."""
    assert GOLDEN.is_dir()
    return unpacked(tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two faces."""
    folder = tmp_path_factory.mktemp("small") / "run"
    study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear", scenario="polite,wealthy", seeds="1")
    fv.run(study, "sim/default", folder, progress=False)
    return folder


@pytest.fixture(scope="session")
def client(small_run: Path) -> Iterator[TestClient]:
    """Whoever opened the viewer by its address."""
    with client_of(OpenedRuns([StoredRun.open(small_run)])) as opened:
        yield opened


def client_of(runs: OpenedRuns) -> TestClient:
    """A browser that opened a viewer's address."""
    client = TestClient(application(runs, TOKEN, PORT), base_url=BASE, follow_redirects=False)
    assert client.get(f"/?token={TOKEN}").status_code == 303
    return client


@pytest.fixture
def api(client: TestClient) -> Api:
    """Documents as the page asks for them."""

    def get(kind: str, expected: int = 200, **query: object) -> Any:
        answer = client.get(f"/api/{kind}", params={name: str(value) for name, value in query.items()})
        assert answer.status_code == expected, answer.text[:500]
        return json.loads(answer.text)

    return get
