"""`facevalue scenes check` as a user types it, with a tiny detector that real code loads."""

from pathlib import Path

import polars as pl
import pytest

from facevalue.models.classifiers import load_detector
from facevalue.stimuli.folders import COLUMNS, read_scenes, without_people
from tests.cli.conftest import Command
from tests.models.hf.tiny import picture
from tests.models.hf.tiny_detector import write


@pytest.fixture
def detector(tmp_path: Path) -> Path:
    return write(tmp_path / "tiny")


@pytest.fixture
def scenes(tmp_path: Path) -> Path:
    """Two scenes of two pictures each."""
    for path in ("a/1", "a/2", "b/1", "b/2"):
        (tmp_path / "scenes" / path).parent.mkdir(parents=True, exist_ok=True)
        picture(path).save(tmp_path / "scenes" / f"{path}.png")
    return tmp_path / "scenes"


def between(detector: Path, *names: str) -> float:
    """A threshold between the scores of pictures: half of them show a person."""
    scores = sorted(load_detector(detector).scores([picture(name) for name in names]))
    assert scores[0] < scores[-1]
    return sum(scores[len(scores) // 2 - 1 : len(scores) // 2 + 1]) / 2


def test_kept_and_dropped_pictures_are_listed_with_scores(facevalue: Command, detector: Path, scenes: Path) -> None:
    threshold = between(detector, "a/1", "a/2", "b/1", "b/2")
    done = facevalue(
        "scenes", "check", str(scenes), "--detector", str(detector), "--out", "c.csv", "--threshold", str(threshold)
    )
    found = pl.read_csv(Path("c.csv").read_bytes())
    assert found.columns == list(COLUMNS)
    assert found["kept"].to_list() == [score < threshold for score in found["score"]]
    assert found["kept"].sum() == 2
    assert set(found["detector"]) == {"tiny"}
    kept = found.group_by("scene", maintain_order=True).agg(pl.col("kept").sum()).rows()
    assert all(f"{scene}: {count} of 2 kept; {2 - count} show a person." in done.out for scene, count in kept)
    assert done.status == (0 if all(count for _, count in kept) else 1)


def test_what_was_checked_is_what_a_study_keeps(facevalue: Command, detector: Path, scenes: Path) -> None:
    args = ("--detector", str(detector), "--out", "c.csv", "--threshold", "1")
    assert facevalue("scenes", "check", str(scenes), *args).status == 0
    found = without_people(read_scenes(scenes), scenes, Path("c.csv"))
    assert (found.table.height, found.dropped, found.detector, found.threshold) == (4, 0, "tiny", "1")


def test_a_scene_with_people_alone_ends_with_an_error(facevalue: Command, scenes: Path, tmp_path: Path) -> None:
    args = ("--detector", str(write(tmp_path / "sure", leaning=50)), "--out", "c.csv")
    done = facevalue("scenes", "check", str(scenes), *args)
    assert done.status == 1
    assert "a: 0 of 2 kept; 2 show a person." in done.out


def test_pictures_that_cannot_be_read_are_counted_and_not_kept(
    facevalue: Command, detector: Path, scenes: Path
) -> None:
    (scenes / "a" / "1.png").write_bytes(b"damaged")
    args = ("--detector", str(detector), "--out", "c.csv", "--threshold", "1")
    done = facevalue("scenes", "check", str(scenes), *args)
    assert done.status == 0
    assert "a: 1 of 2 kept; 0 show a person, 1 cannot be read." in done.out
    first = pl.read_csv(Path("c.csv").read_bytes()).row(0, named=True)
    assert (first["score"], first["kept"]) == (None, False)
    assert "not a PNG, JPEG" in first["problem"]


@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ({"folder": "missing"}, 1, "is not a folder with pictures"),
        ({"detector": "missing"}, 3, "There is no folder missing"),
        ({"out": "c.parquet"}, 2, "is no .csv file"),
        ({"threshold": "0"}, 2, "0"),
        ({"threshold": "1.5"}, 2, "1.5"),
    ],
)
def test_wrong_usage_is_one_message(
    facevalue: Command, detector: Path, scenes: Path, change: dict[str, str], status: int, says: str
) -> None:
    told = {"folder": str(scenes), "detector": str(detector), "out": "c.csv", "threshold": "0.5"} | change
    folder = told.pop("folder")
    done = facevalue(
        "scenes", "check", folder, *(part for name, value in told.items() for part in (f"--{name}", value))
    )
    assert done.status == status
    assert says in done.err
    assert "Traceback" not in done.err
