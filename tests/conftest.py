"""What all tests share."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.durations import LIST


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Collect tests alone: a module that they share is imported by them, and says there which package it lacks."""
    shared = collection_path.suffix == ".py" and not collection_path.name.startswith(("test_", "conftest"))
    return True if shared else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that are listed as long."""
    listed = frozenset(LIST.read_text(encoding="utf-8").splitlines())
    for item in items:
        if item.nodeid in listed:
            item.add_marker("long")


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


@pytest.fixture(autouse=True)
def few_groups(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four groups are left out in turn, not twenty, of what is compared, as the study is measured once more for each.

    A test marked `all_groups` is of the intervals themselves, or shows what users see.
    """
    if request.node.get_closest_marker("all_groups") is None:
        monkeypatch.setattr("facevalue.protocol.kept_answers.JACKKNIFE_GROUPS", 4)
