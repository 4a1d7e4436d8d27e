"""One server for all tests of the lane, which are collected only where vLLM is installed: `make test-vllm`."""

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.vllm.server import CONTEXT, MODEL, renamed, serving

collect_ignore_glob = [] if find_spec("vllm") else ["test_*.py"]


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model as transformers writes and reads it."""
    from tests.vllm.habits import write

    return write(tmp_path_factory.mktemp("written"), CONTEXT)


@pytest.fixture(scope="session")
def weights(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model as vLLM reads it."""
    return renamed(Path(shutil.copytree(written, tmp_path_factory.mktemp("weights") / "tiny")))


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "vllm.log"


@pytest.fixture(scope="session")
def address(weights: Path, log: Path) -> Iterator[str]:
    """The base address of the server."""
    with serving(weights, log=log) as (url, _):
        yield url


@pytest.fixture(scope="session")
def spec(address: str) -> str:
    """What a user types to get its model."""
    return f"{address}#{MODEL}"
