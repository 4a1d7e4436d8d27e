"""`facevalue make` and `facevalue.make`: a study's pictures from the command line and from Python."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import FaceValueError
from facevalue.protocol import Ask, Portraits, Protocol, yes_or_no
from facevalue.protocol.making import Making, PicturePlan
from facevalue.protocol.offers import Extras
from facevalue.protocol.settings import Setting
from facevalue.statistics import Estimand, Mean
from facevalue.studies import STUDIES
from facevalue.types import OptionValue
from tests.cli.conftest import Command
from tests.generators.pictures import Maker, plan


def planned(options: Mapping[str, OptionValue]) -> PicturePlan:
    """So many faces with two cues."""
    return plan(faces=int(str(options["faces"])), cues=("cap", "scarf"))


MAKING = Making(settings=(Setting("faces", "How many faces.", 4),), plan=planned, about="Faces, each with two cues.")


@pytest.fixture(autouse=True)
def study() -> Iterator[Protocol]:
    """A study that has pictures made."""
    protocol = Protocol(
        name="hats",
        title="Who wears hats?",
        stimuli=Portraits(cues={}, people="4"),
        ask=Ask(("Does this person wear a hat?",), yes_or_no()),
        estimands=(Estimand(Mean()),),
        extras=Extras(making=lambda: MAKING),
    )
    STUDIES["hats"] = protocol
    yield protocol
    del STUDIES["hats"]


def test_pictures_are_made_listed_and_resumed(facevalue: Command, tmp_path: Path) -> None:
    done = facevalue("make", "hats", "--generator", "drawn", "--out", "made")
    assert (done.status, done.out) == (0, "12 pictures: made/manifest.parquet\n")
    assert pl.read_parquet(tmp_path / "made" / "manifest.parquet").height == 12
    again = facevalue("make", "hats", "--generator", "drawn", "--out", "made", "--json")
    document = json.loads(again.out)
    assert (document["asked"], document["skipped"], document["complete"], document["listed"]) == (0, 12, True, 12)
    other = facevalue("make", "hats", "--generator", "drawn", "--out", "made", "--faces", "5")
    assert other.status == 1
    assert "begun with other settings: --faces: 4 in the folder, 5 asked. Restore" in other.err


def test_an_editor_that_is_the_generator_changes_nothing(facevalue: Command) -> None:
    assert facevalue("make", "hats", "--generator", "drawn", "--editor", "drawn", "--out", "made").status == 0
    assert "making on drawn\n" in facevalue("status", "made").out
    again = facevalue("make", "hats", "--generator", "drawn", "--out", "made", "--json")
    assert json.loads(again.out)["skipped"] == 12
    assert fv.make("hats", "drawn", "made", editor="drawn", progress=False).pictures.height == 12


def test_what_reads_a_run_takes_the_folder_of_the_pictures(facevalue: Command, tmp_path: Path) -> None:
    facevalue("make", "hats", "--generator", "drawn", "--faces", "12", "--out", "made")
    assert "making on drawn" in facevalue("status", "made").out
    assert facevalue("verify", "made").out.startswith("made: sound. 36 replies")
    assert "Share of pictures that were refused" in facevalue("measure", "made").out
    assert facevalue("report", "made").status == 0
    facevalue("make", "hats", "--generator", "drawn", "--faces", "12", "--out", "second", "--name", "second")
    assert facevalue("compare", "made", "second").status in (0, 1)
    picture = next((tmp_path / "made" / "pictures").rglob("*.png"))
    picture.unlink()
    damaged = facevalue("verify", "made")
    assert damaged.status == 1
    assert "1 of 36 pictures are missing or damaged" in damaged.err


def test_a_plan_says_how_many_what_they_cost_and_how_long_they_take(facevalue: Command, tmp_path: Path) -> None:
    told = facevalue("make", "hats", "--plan", "--faces", "10", "--price", "0.04", "--seconds", "6").out
    assert "Pictures for hats: 30, a call each: 10 made from texts and 20 edited from others." in told
    assert "By gender: men 15, women 15." in told
    assert "Cost: 1.20." in told
    assert "Time: 3 min 0 s." in told
    document = json.loads(facevalue("make", "hats", "--plan", "--sample", "7", "--rpm", "2", "--json").out)
    assert (document["pictures"], document["all_pictures"], document["cost"]) == (6, 12, None)
    assert document["hours"] == pytest.approx(6 / 2 / 60)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        ((), 2, "Say with --generator who makes the pictures"),
        (("--generator", "drwan"), 2, "Did you mean 'drawn'"),
        (("--generator", "drawn", "--seconds", "3"), 2, "--seconds is for --plan"),
        (("--generator", "drawn", "--size", "big"), 2, "--size is WIDTHxHEIGHT in pixels"),
        (("--generator", "drawn", "--size", "64x64"), 2, "takes no settings and no size"),
        (("--generator", "drawn", "--set", "steps"), 2, "--set is NAME=VALUE"),
        (("--generator", "drawn", "--set", "a=1", "--set", "a=2"), 2, "names 'a' twice"),
        (("--generator", "drawn", "--set", "steps=2"), 2, "takes no settings"),
        (("--generator", "drawn", "--set-editor", "steps=2"), 2, "--set-editor is for --editor"),
        (("--generator", "drawn", "--max-cost", "2"), 2, "--max-cost needs --price"),
        (("--generator", "drawn", "--sample", "1"), 1, "one unit, with all its edits, takes 3 requests. Ask for more"),
        (("--generator", "drawn", "--batch", "4"), 2, "batch is for pipelines on this machine; drawn is none"),
        (("--generator", "drawn", "--editor", "sim/null", "--device", "cpu"), 2, "device is for pipelines"),
        (("--generator", "drawn", "--out", "taken/manifest.parquet"), 1, "is a file: name a folder"),
        (("--generator", "drawn", "--out", "taken"), 1, "has manifest.parquet of something else"),
        (("--generator", "drawn", "--cluster", "auto"), 2, "--cluster needs a place that every node can write to"),
        (("--generator", "drawn", "--cluster-config", "c.toml"), 2, "say which one with --cluster"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    facevalue: Command, tmp_path: Path, arguments: tuple[str, ...], status: int, says: str
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "manifest.parquet").write_bytes(b"")
    done = facevalue("make", "hats", *arguments)
    assert says in done.err
    assert "Traceback" not in done.err
    assert done.status == status


def test_pictures_that_exist_are_edited_without_a_generator(facevalue: Command, tmp_path: Path) -> None:
    assert facevalue("make", "editor", "--generator", "drawn", "--sample", "14", "--out", "faces").status == 0
    few = ("--edit", "cap", "--sources", "faces.csv", "--out", "edits")
    faces = pl.read_parquet("faces/manifest.parquet").filter(pl.col("source").is_null())
    faces.select("identity", "gender", path=pl.format("faces/{}", "path")).write_csv("faces.csv")
    done = facevalue("make", "editor", "--editor", "sim/lighten=6", *few)
    assert done.status == 0, done.err
    edits = pl.read_parquet("edits/manifest.parquet").filter(pl.col("source").is_not_null())
    assert edits["editor"].unique().to_list() == ["sim/lighten=6"]
    assert "Say with --generator" in facevalue("make", "editor", "--editor", "sim/null", "--out", "new").err


def test_a_folder_of_another_making_is_told_in_few_words(facevalue: Command) -> None:
    assert facevalue("make", "editor", "--generator", "drawn", "--sample", "14", "--out", "made").status == 0
    done = facevalue("make", "vignette", "--generator", "drawn", "--sample", "20", "--out", "made")
    assert "--made-for: editor in the folder, vignette asked" in done.err
    assert "more. Restore them, or name another folder." in done.err
    assert "<Kind" not in done.err


def test_a_study_that_has_nothing_made_says_which_have(facevalue: Command) -> None:
    done = facevalue("make", "beauty", "--plan")
    assert done.status == 2
    assert "beauty offers no pictures to be made" in done.err
    assert "hats" in done.err


def test_pictures_are_made_from_python(tmp_path: Path) -> None:
    made = fv.make("hats", "drawn", tmp_path / "made", choices={"faces": 3}, progress=False)
    assert repr(made) == f"Made({str(tmp_path / 'made')!r}, pictures=9, of=9)"
    assert made.pictures.height == 9
    assert made.run.summary is not None
    assert made.run.complete
    maker = Maker()
    own = fv.make(planned({"faces": 2}), maker, tmp_path / "own", editor=maker, price=0.5, progress=False)
    assert own.run.summary is not None
    assert own.run.summary.cost == 3.0
    for call, says in (
        ({"choices": {"face": 3}}, "has no setting 'face'"),
        ({"editor_settings": {"a": 1}}, "editor_settings are for an editor"),
        ({"max_cost": 1.0}, "--max-cost needs --price"),
        ({"price": -1.0}, "price"),
    ):
        with pytest.raises(FaceValueError, match=says):
            fv.make("hats", "drawn", tmp_path / "third", progress=False, **call)
