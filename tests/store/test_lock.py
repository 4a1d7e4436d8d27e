"""One process at a time writes a run folder."""

import subprocess
import sys
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
