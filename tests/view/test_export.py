"""Folders that the viewer writes: what a static server shows, or a page from disk."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image

import facevalue as fv
from facevalue.errors import DataError, RunError
from facevalue.runs.stored_run import StoredRun
from facevalue.view import export
from facevalue.view.documents import POLICY, document, plain
from facevalue.view.export import export_folder
from facevalue.view.open_runs import OpenedRuns


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
    assert f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">' in html
    data = embedded(html)
    assert {"head", "lead-0", "missing-0", "estimates-0", "answers-0", "rows-0"} <= set(data)
    assert len(data["rows-0"]) == written.answers == 48
    assert str(tmp_path) not in html
    assert str(runs.state_of_run("0").run.folder.parent) not in html
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


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of pictures with their list, and a run on them."""
    folder = tmp_path_factory.mktemp("own")
    rows = []
    for number, name in enumerate(("ann.png", "ann-cap.png", "ben.png", "ben-cap.png")):
        Image.new("RGB", (64, 64), (90, 60 * number, 30)).save(folder / name)
        person, _, cap = name.removesuffix(".png").partition("-")
        rows.append(f"{name},{person},{'headwear' if cap else ''},{cap}")
    (folder / "list.csv").write_text("\n".join(["path,identity,attribute,variation", *rows, ""]))
    study = fv.study("stylisticbias", manifest=folder / "list.csv", scenario="polite", seeds="1")
    fv.run(study, "sim/default", folder / "run", progress=False)
    return folder


def marked(folder: Path, *marks: str) -> OpenedRuns:
    """The run, with these marks in the column `public` of its list."""
    lines = (folder / "list.csv").read_text().splitlines()
    columns = ("public", *marks) if marks else ("",) * len(lines)
    rows = [
        ",".join([*line.split(",")[:4], *([mark] if marks else [])]) for line, mark in zip(lines, columns, strict=True)
    ]
    (folder / "list.csv").write_text("\n".join([*rows, ""]))
    return OpenedRuns([StoredRun.open(folder / "run", pictures=folder)])


def test_public_leaves_out_what_the_list_does_not_allow_and_says_how_many(photographs: Path, tmp_path: Path) -> None:
    nothing = export_folder(marked(photographs), tmp_path / "nothing", public=True)
    assert nothing.pictures == 0
    assert "nothing says that they may be shown to anybody" in nothing.note
    some = export_folder(marked(photographs, "yes", "Yes", "no", ""), tmp_path / "some", public=True)
    assert some.pictures == 2
    assert some.note.startswith("2 of 4 pictures are left out")
    data = embedded(some.page.read_text(encoding="utf-8"))
    assert data["head"]["note"] == some.note
    shown = {row["trial"]: json.loads(row["pictures"]) for row in data["rows-0"]}
    trials = StoredRun.open(photographs / "run").study.design.trials(list(shown))
    for image, trial in trials.select("image", "trial").iter_rows():
        assert bool(shown[trial]) == image.startswith("ann"), image
    everything = export_folder(marked(photographs, *["true"] * 4), tmp_path / "all", public=True)
    assert (everything.pictures >= 4, everything.note) == (
        True,
        "Persons and files have numbers in place of names.",
    )
    assert export_folder(marked(photographs, *["no"] * 4), tmp_path / "asked").note == "", "nobody asked for that"


def test_a_list_that_is_wrong_or_gone_allows_nothing(photographs: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'public' is yes, no or empty: row 2 \(perhaps\)"):
        export_folder(marked(photographs, "yes", "perhaps", "", ""), tmp_path / "wrong", public=True)
    runs = marked(photographs, *["yes"] * 4)
    (photographs / "list.csv").rename(photographs / "gone.csv")
    try:
        assert export_folder(runs, tmp_path / "gone", public=True).pictures == 0
    finally:
        (photographs / "gone.csv").rename(photographs / "list.csv")


def test_drawings_are_public(small_run: Path, tmp_path: Path) -> None:
    drawn = export_folder(OpenedRuns([StoredRun.open(small_run)]), tmp_path / "drawn", public=True)
    assert drawn.pictures > 0
    assert drawn.note == ""
