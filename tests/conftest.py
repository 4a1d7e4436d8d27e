"""What all tests share."""

import gc
import os
from collections.abc import Iterator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is loaded until tests start stays: garbage is not looked for meanwhile, nor later among all that."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def kept_portraits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Portraits are drawn once for all tests of a session, whichever worker runs them, and in a folder of its own."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FACEVALUE_CACHE", str(folder / "cache"))
        yield


@pytest.fixture(scope="session", autouse=True)
def unhurried_disk() -> Iterator[None]:
    """Nothing waits until files are on the disk: only a power cut would show, and no test makes one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture
def few_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four groups are left out in turn, not twenty, of what is compared: for tests of anything but its intervals.

    The study is measured once more for each group and run.
    """
    monkeypatch.setattr("facevalue.protocol.kept_answers.GROUPS", 4)
