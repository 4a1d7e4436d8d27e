"""Files that are whole or absent."""

import errno
import io
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from facevalue.errors import RunError
from facevalue.store import files
from facevalue.store.files import make_folder, write_whole
from facevalue.store.lock import RunLock


def test_several_writers_of_one_file_don_t_disturb_each_other(tmp_path: Path) -> None:
    """`measure` and `report` of one run at once."""
    path = tmp_path / "estimates.parquet"
    contents = [bytes([n]) * 100_000 for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            list(pool.map(lambda data: write_whole(path, data), contents))
            assert path.read_bytes() in contents
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_the_name_of_a_new_folder_is_forced_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced: list[Path] = []
    monkeypatch.setattr(files, "sync_folder", forced.append)
    make_folder(tmp_path / "run" / "responses")
    assert forced == [tmp_path, tmp_path / "run"]
    make_folder(tmp_path / "run" / "responses")
    assert len(forced) == 2


def test_a_full_disk_at_the_lock_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be written still waits in the file's buffer, and fails once more when it is closed."""

    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class Full(io.TextIOWrapper):
        def flush(self) -> None:
            full()

        def close(self) -> None:
            full()

    monkeypatch.setattr(Path, "open", lambda path, *args: Full(io.FileIO(os.open(path, os.O_RDWR | os.O_CREAT), "r+")))
    with pytest.raises(RunError, match="No space left"), RunLock(tmp_path):
        pass
