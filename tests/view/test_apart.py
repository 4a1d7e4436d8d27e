"""Work that a process of its own does for the viewer, and the sums of units that it keeps."""

import os
import shutil
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from facevalue.errors import DataError, RunError, UnknownNameError
from facevalue.runs import kept_estimates
from facevalue.runs.stored_run import StoredRun
from facevalue.store.files import ESTIMATES, unwritable, write_whole
from facevalue.view import cell as cell_module
from facevalue.view import open_runs as apart_module
from facevalue.view.cell import FAILED, GONE, sums_of
from facevalue.view.documents import document, plain
from facevalue.view.open_runs import OpenedRuns, run_apart
from tests.view.test_arithmetic import cell_of


@pytest.fixture
def run(small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoredRun:
    """A run of its own, whose estimates are not kept, with a cache of its own."""
    monkeypatch.setenv("FACEVALUE_CACHE", str(tmp_path / "cache"))
    folder = shutil.copytree(small_run, tmp_path / "run")
    (folder / ESTIMATES).unlink(missing_ok=True)
    return StoredRun.open(folder)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run has so many answers that the work is done apart."""
    monkeypatch.setattr(apart_module, "FEW", 0)


def who(run: StoredRun) -> tuple[int, str, str]:
    return os.getpid(), run.model, run.place


def fail(_run: StoredRun) -> None:
    raise UnknownNameError("measure", "shifft", ["shift"])


def be_killed(_run: StoredRun) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def page_of(run: StoredRun) -> Any:
    """The page of an estimate, and its table."""
    runs = OpenedRuns([run])
    estimates = plain(document(runs, "estimates", [("measure", "shift"), ("n", "5")]))
    return estimates, cell_of(lambda key: plain(document(runs, "cell", [("key", key)])), estimates["rows"][0]["key"])


def test_work_on_many_answers_is_done_by_another_process_on_the_same_run(run: StoredRun, many: None) -> None:
    number, model, place = run_apart(who, run.rename("a label"))
    assert number != os.getpid()
    assert (model, place) == ("a label", run.place)


def test_work_on_few_answers_is_done_here(run: StoredRun) -> None:
    assert run_apart(who, run)[0] == os.getpid()


def test_an_error_comes_from_the_other_process_as_it_is(run: StoredRun, many: None) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown measure 'shifft'\. Did you mean 'shift'"):
        run_apart(fail, run)


def test_a_process_that_is_killed_is_a_sentence(run: StoredRun, many: None) -> None:
    with pytest.raises(RunError, match=r"was ended \(status -9\), perhaps as memory ran out"):
        run_apart(be_killed, run)


def test_a_page_says_that_the_process_was_killed(
    run: StoredRun, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    page_of(run)  # the estimates are kept
    monkeypatch.setattr(apart_module, "FEW", 0)
    monkeypatch.setattr(cell_module, "added_up", _killed_adding)
    shutil.rmtree(Path(os.environ["FACEVALUE_CACHE"]) / "facevalue" / "sums")
    _, cell = page_of(StoredRun.open(run.folder))
    assert cell["steps"][0]["text"].startswith(f"{FAILED}: the process that does it was ended")
    assert FAILED in caplog.text


def _killed_adding(_run: StoredRun, folder: Path, of: str) -> Path:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_pages_are_the_same_however_they_are_made(
    run: StoredRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here = page_of(run)
    again = StoredRun.open(shutil.copytree(run.folder, tmp_path / "again"))
    (again.folder / ESTIMATES).unlink()
    monkeypatch.setattr(apart_module, "FEW", 0)
    assert page_of(again) == here
    assert (again.folder / ESTIMATES).is_file()


def test_sums_are_kept_for_the_next_viewer(run: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = sums_of(run)
    monkeypatch.setattr(cell_module, "run_apart", _never)
    assert sums_of(StoredRun.open(run.folder)) == kept


def _never(_work: Callable[[StoredRun], object], _run: StoredRun) -> None:
    raise AssertionError("the sums were added up again")


def test_damaged_sums_are_added_up_anew(run: StoredRun) -> None:
    kept = sums_of(run)
    data = kept.path.read_bytes()
    kept.path.write_bytes(data[:-100] + bytes(100))
    assert sums_of(run).path.read_bytes() == data


def test_two_viewers_may_add_up_the_same_sums_at_once(run: StoredRun) -> None:
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(sums_of, [run, StoredRun.open(run.folder)]))
    key = page_of(run)[0]["rows"][0]["key"]
    first, second = (sums.sums_of_estimate(key) for sums in both)
    assert first is not None
    assert second is not None
    assert first.value == second.value


def test_sums_of_a_run_that_has_grown_take_the_place_of_those_before(run: StoredRun) -> None:
    before = sums_of(run)
    after = partial(cell_module.added_up, folder=before.path.parent, of="f" * 64)(run)
    assert [path.name for path in before.path.parent.iterdir()] == [after.name]
    with pytest.raises(DataError, match=GONE):
        before.sums_of_estimate("0" * 16)


def test_a_folder_that_cannot_be_written_to_is_looked_at(run: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(path: Path, data: bytes) -> None:
        if path.is_relative_to(run.folder):
            raise unwritable(path, PermissionError(13, "Permission denied"))
        write_whole(path, data)

    monkeypatch.setattr(kept_estimates, "write_whole", write)
    _, cell = page_of(run)
    assert cell["cluster"]["rows"]
    assert not (run.folder / ESTIMATES).exists()
    monkeypatch.setattr(kept_estimates, "estimate", _never)
    assert kept_estimates.are_kept(run)
    assert kept_estimates.take_estimates([run])[0].height
