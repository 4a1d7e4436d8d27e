"""One process at a time writes a run folder."""

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from facevalue.errors import RunError
from facevalue.store import RunLock

HOLD = """
import sys
from pathlib import Path
from facevalue.store import RunLock
with RunLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_another_process_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RunError, match=f"is being written by process {holder.pid}"), RunLock(folder):
            pass
        holder.kill()
        holder.wait()
    with RunLock(folder):
        pass


def test_it_can_be_taken_again(tmp_path: Path) -> None:
    lock = RunLock(tmp_path)
    with lock, pytest.raises(RunError, match="being written"), RunLock(tmp_path):
        pass
    with lock:
        pass


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="Cannot write"), RunLock(tmp_path / "file" / "run"):
        pass


@pytest.mark.parametrize("left", [b"", b"1\n", b"123456789\n", b"\xff\x00 of another program\n" * 9])
def test_what_an_earlier_run_left_in_the_file_means_nothing(tmp_path: Path, left: bytes) -> None:
    (tmp_path / ".lock").write_bytes(left)
    with (
        RunLock(tmp_path),
        pytest.raises(RunError, match=f"is being written by process {os.getpid()}\\."),
        RunLock(tmp_path),
    ):
        pass


def test_a_holder_whose_number_cannot_be_read_is_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Windows nobody reads what is locked."""

    def denied(path: Path, **how: object) -> str:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "read_text", denied)
    with RunLock(tmp_path), pytest.raises(RunError, match="is being written by another process"), RunLock(tmp_path):
        pass


def test_a_full_disk_at_the_lock_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(RunError, match="No space left"), RunLock(tmp_path):
            pass
    with RunLock(tmp_path):
        pass


def test_another_thread_may_let_go(tmp_path: Path) -> None:
    lock = RunLock(tmp_path)
    lock.__enter__()
    thread = threading.Thread(target=lock.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    with RunLock(tmp_path):
        pass
