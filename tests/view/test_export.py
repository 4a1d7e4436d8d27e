"""Folders that the viewer writes: what a static server shows, or a page from disk."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from facevalue.errors import RunError
from facevalue.runs.stored import StoredRun
from facevalue.view import export
from facevalue.view.documents import document, plain
from facevalue.view.export import export_folder
from facevalue.view.opened import OpenedRuns


@pytest.fixture(scope="module")
def runs(small_run: Path) -> OpenedRuns:
    return OpenedRuns([StoredRun.open(small_run)])


def embedded(html: str) -> Any:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html)
    return json.loads(text)


def test_a_small_run_is_in_its_page(runs: OpenedRuns, tmp_path: Path) -> None:
    written = export_folder(runs, tmp_path / "out")
    html = written.page.read_text(encoding="utf-8")
    assert 'data-source="embedded"' in html
    data = embedded(html)
    assert {"head", "lead-0", "missing-0", "estimates-0", "answers-0", "rows-0"} <= set(data)
    assert len(data["rows-0"]) == written.answers == 48
    assert str(tmp_path) not in html
    assert str(runs.at("0").run.folder.parent) not in html
    key = data["estimates-0"]["rows"][0]["key"]
    assert data[f"cells/0-{key}"]["row"]["key"] == key
    assert data[f"cells/0-{key}"]["cluster"]["pending"] is False
    pictures = {picture["src"] for row in data["rows-0"] for picture in json.loads(row["pictures"])}
    assert len(pictures) == 6
    assert all((written.page.parent / src).read_bytes()[8:12] == b"WEBP" for src in pictures)
    assert {path.name for path in written.page.parent.iterdir()} >= {"index.html", "viewer.js", "viewer.css", "picture"}


def test_a_large_run_is_a_folder_of_documents_and_parquet(
    runs: OpenedRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "_EMBEDDED", 10)
    monkeypatch.setattr(export, "ROWS", 20)
    written = export_folder(runs, tmp_path / "out")
    folder = written.page.parent
    assert 'data-source="folder"' in written.page.read_text(encoding="utf-8")
    assert (folder / "parquet.js").exists()
    estimates = json.loads((folder / "data" / "estimates-0.json").read_text(encoding="utf-8"))
    assert estimates["total"] == len(estimates["rows"])
    path = folder / "data" / "answers-0.parquet"
    frame = pl.read_parquet(path)
    assert frame["trial"].is_sorted()
    assert frame.height == 48
    answers = plain(document(runs, "answers", [("n", "48")]))["rows"]
    assert frame["answer"].to_list() == [row["answer"] for row in answers]
    assert json.loads(frame["levels"][0])["scenario"] == "polite"
    assert json.loads(frame["factors"][0])["scenario"] == "Polite"
    import pyarrow.parquet as pq

    assert pq.ParquetFile(path).num_row_groups == 3


def test_a_folder_with_something_in_it_is_left_alone(runs: OpenedRuns, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(RunError, match="not an empty folder"):
        export_folder(runs, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


def test_public_leaves_out_what_nothing_allows_and_says_so(
    small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = StoredRun.open(small_run)
    drawn = export_folder(OpenedRuns([run]), tmp_path / "drawn", public=True)
    assert drawn.pictures > 0
    assert drawn.note == ""
    from dataclasses import replace

    from facevalue.stimuli.base import Kind

    class Photographs:
        kind = Kind.PHOTOGRAPHS

        def __getattr__(self, name: str) -> Any:
            return getattr(run.study.source, name)

    photographs = replace(run, study=replace(run.study, source=Photographs()))
    hidden = export_folder(OpenedRuns([photographs]), tmp_path / "hidden", public=True)
    assert hidden.pictures == 0
    assert "left out" in hidden.note
    assert embedded(hidden.page.read_text(encoding="utf-8"))["head"]["note"] == hidden.note
    assert not list((tmp_path / "hidden").rglob("*.webp"))
