"""Files that are whole or absent."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from facevalue.store import files
from facevalue.store.files import make_folder, write_whole


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
