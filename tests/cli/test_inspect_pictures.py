"""`facevalue inspect-pictures` as a user types it."""

import json
from pathlib import Path

import numpy as np
import PIL.Image
import polars as pl
import pytest

from facevalue.stimuli.portraits import sample_identities
from tests.cli.conftest import Command
from tests.inspection.plants import portrait, recompressed, shifted


@pytest.fixture
def made() -> Path:
    """Two people, an edit of each, the second of which moves the frame."""
    rows = []
    for person, shift in zip(sample_identities({"female": 1, "male": 1}, 5), (0, 12), strict=True):
        source = portrait(person, size=128)
        for name, picture in (("", source), ("-cap", shifted(recompressed(source), shift))):
            picture.save(f"{person.id}{name}.png")
            row = {"image": person.id + name, "path": f"{person.id}{name}.png", "identity": person.id}
            rows.append(row | {"gender": person.gender, "cue": "cap" * bool(name), "source": person.id * bool(name)})
    pl.DataFrame(rows).write_csv("list.csv")
    Path("rules.toml").write_text('[[rule]]\nquantity = "shift"\nat_most = 1\n')
    return Path("list.csv")


def test_pictures_of_a_list_are_inspected_and_who_passes_is_said_by_group(facevalue: Command, made: Path) -> None:
    done = facevalue("inspect-pictures", str(made), "--rules", "rules.toml", "--json")
    assert done.status == 0
    document = json.loads(done.out)
    assert (document["pictures"], document["edits"], document["accepted"]) == (4, 2, 3)
    assert document["broken"] == [{"rule": "shift at most 1", "pictures": 1}]
    assert {share["group"]: share["share"] for share in document["shares"]} == {"": 0.75, "male": 1, "female": 0.5} or {
        share["group"]: share["share"] for share in document["shares"]
    } == {"": 0.75, "male": 0.5, "female": 1}
    again = facevalue("inspect-pictures", str(made))
    assert "4 pass" in again.out
    assert "Every picture: checks/accepted.parquet" in again.out
    assert facevalue("verify", "checks").status == 0
    assert facevalue("status", "checks").status == 0
    assert facevalue("report", "checks", "--out", "page.html").status == 0


def test_groups_that_pass_far_apart_have_a_p_that_is_never_zero(facevalue: Command) -> None:
    rows, rng = [], np.random.default_rng(2)
    for number in range(24):
        blank = number % 2
        pixels = np.full((64, 64, 3), 200) if blank else rng.integers(0, 256, (64, 64, 3))
        PIL.Image.fromarray(pixels.astype(np.uint8)).save(f"{number}.png")
        row = {"image": f"p{number}", "path": f"{number}.png", "identity": f"p{number}"}
        rows.append(row | {"gender": "female" if blank else "male"})
    pl.DataFrame(rows).write_csv("list.csv")
    said = " ".join(facevalue("inspect-pictures", "list.csv").out.split())
    assert "gender: groups pass up to 100% apart, not balanced (p < .001, groups dealt to people)." in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no.csv",), "no.csv"),
        (("list.csv", "--with-model", "identiti=dlib"), "Did you mean 'identity'"),
        (("list.csv", "--with-model", "age=nowhere"), "There is no folder nowhere"),
        (("list.csv", "--with-model", "identity=no.onnx"), "There is no file no.onnx"),
        (("list.csv", "--rules", "no.toml"), "no.toml"),
        (("list.csv", "--cue", "colour"), "Unknown column of list.csv 'colour'"),
        (("list.csv", "--out", "out.csv"), "is no folder"),
        ((".",), "holds no manifest.parquet"),
    ],
)
def test_a_mistake_is_one_sentence(facevalue: Command, made: Path, arguments: tuple[str, ...], message: str) -> None:
    if "no.onnx" in str(arguments):
        pytest.importorskip("dlib")
    if "age=nowhere" in str(arguments):
        pytest.importorskip("torch")
    done = facevalue("inspect-pictures", *arguments)
    assert done.status in (1, 2, 3)
    assert message in done.err
    assert "Traceback" not in done.err


def test_an_inspection_goes_on_where_its_pictures_were_moved(facevalue: Command, made: Path) -> None:
    Path("first").mkdir()
    for path in (*Path().glob("*.png"), made):
        path.rename(Path("first") / path.name)
    assert facevalue("inspect-pictures", "first/list.csv").status == 0
    Path("first").rename("second")
    again = facevalue("inspect-pictures", "second/list.csv")
    assert again.status == 0
    assert "4 of 4 requests are stored already" in again.err
    assert facevalue("report", "second/checks").status == 0
    picture = next(Path("second").glob("*.png"))
    picture.write_bytes(next(path for path in Path("second").glob("*.png") if path != picture).read_bytes())
    Path("second").rename("third")
    other = facevalue("inspect-pictures", "third/list.csv")
    assert other.status == 1
    assert "An image or prompt has changed since third/checks was begun: 2 of 4 stored answers" in other.err
