"""What all tests share."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def kept_portraits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Portraits are drawn once for all tests of a session, whichever worker runs them, and in a folder of its own."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FACEVALUE_CACHE", str(folder / "cache"))
        yield
