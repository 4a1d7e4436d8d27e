"""Kinds of pictures that are made: stated by who makes them, in the manifest, and so in whatever is asked of them."""

from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import DataError
from facevalue.generators.base import GeneratorCapabilities
from facevalue.generators.planted_editors import PlantedEditor
from facevalue.generators.registry import DrawnGenerator
from facevalue.generators.replay import ReplayedPictures
from facevalue.protocol.making import PicturePlan
from facevalue.protocol.making_study import making_study, of_kinds, picture_kinds
from facevalue.runs.makings.making import make
from facevalue.runs.makings.preparation import prepare_making
from facevalue.runs.progress import SilentProgress
from facevalue.runs.settings import RunSettings
from facevalue.runs.stored_run import StoredRun
from facevalue.stimuli.base import Kind
from facevalue.stimuli.manifest import made_kind
from facevalue.studies import protocol
from tests.generators.pictures import Maker, plan, plan_of_own

DRAWN, SYNTHETIC, UNSTATED = Kind.ILLUSTRATED, Kind.SYNTHETIC, Kind.UNSTATED


def made(
    folder: Path, generated: Kind | None, edited: Kind | None, pictures: PicturePlan | None = None
) -> pl.DataFrame:
    """Make pictures of these kinds; return their manifest."""
    maker, editor = Maker(name="maker"), Maker(name="editor")
    maker.capabilities = GeneratorCapabilities(edits=True, seeds=True, kind=generated)
    editor.capabilities = GeneratorCapabilities(edits=True, seeds=True, kind=edited)
    prepared = prepare_making(pictures or plan(), "hiring", {}, folder, RunSettings())
    return make(prepared, maker, editor, SilentProgress()).pictures


def test_each_kind_of_generator_says_what_it_makes() -> None:
    assert DrawnGenerator.capabilities.kind is DRAWN
    assert ReplayedPictures.capabilities.kind is UNSTATED
    assert PlantedEditor("sim/null").capabilities.kind is None
    assert GeneratorCapabilities().kind is SYNTHETIC


@pytest.mark.parametrize(
    ("generated", "edited", "texts", "edits", "all_are"),
    [
        (DRAWN, DRAWN, "illustrated", "illustrated", DRAWN),
        (SYNTHETIC, None, "synthetic", "synthetic", SYNTHETIC),
        (DRAWN, SYNTHETIC, "illustrated", "synthetic", UNSTATED),
        (UNSTATED, SYNTHETIC, None, "synthetic", UNSTATED),
        (UNSTATED, None, None, None, UNSTATED),
    ],
)
def test_the_manifest_says_what_each_picture_is_and_the_making_what_all_are(
    tmp_path: Path, generated: Kind, edited: Kind | None, texts: str | None, edits: str | None, all_are: Kind
) -> None:
    rows = made(tmp_path, generated, edited)
    is_edit = pl.col("source").is_not_null()
    assert rows.filter(~is_edit)["picture_kind"].unique().to_list() == [texts]
    assert rows.filter(is_edit)["picture_kind"].unique().to_list() == [edits]
    assert StoredRun.open(tmp_path).study.source.kind is all_are
    assert made_kind(tmp_path / "manifest.parquet") is all_are


def test_edits_of_pictures_that_exist_are_of_no_kind_that_is_known(tmp_path: Path) -> None:
    pictures_of_own = plan_of_own(tmp_path / "own.png")
    assert made(tmp_path / "a", DRAWN, None, pictures_of_own)["picture_kind"].to_list() == [None, None]
    rows = made(tmp_path / "b", DRAWN, SYNTHETIC, pictures_of_own)
    assert rows["picture_kind"].to_list() == [None, "synthetic"]
    assert made_kind(tmp_path / "b" / "manifest.parquet") is UNSTATED


def test_what_is_asked_of_made_pictures_knows_their_kind_unless_the_user_states_another(tmp_path: Path) -> None:
    fv.make("stylisticbias", "drawn", tmp_path, choices={"faces": "1", "attributes": ["eyewear"]}, progress=False)
    manifest = str(tmp_path / "manifest.parquet")
    study = protocol("stylisticbias").study({"manifest": manifest})
    assert (study.options["kind"], study.source.kind) == ("illustrated", DRAWN)
    assert "picture_kind" not in study.manifest.columns
    stated = protocol("stylisticbias").study({"manifest": manifest, "kind": "photographs"})
    assert stated.options["kind"] == "photographs"
    assert protocol("pictures").study({"manifest": manifest}).source.kind is DRAWN
    fv.open_run(tmp_path).report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Drawings say nothing about photographs" in page
    assert "Synthetic photographs" not in page
    assert "Kind not stated" not in page


def test_lists_that_are_not_of_a_making_state_nothing(tmp_path: Path) -> None:
    rows = pl.DataFrame({"path": ["a.png"], "picture_kind": ["synthetic"], "prompt": ["x"], "picture_seed": ["1"]})
    places = {name: tmp_path / name for name in ("none.parquet", "a.csv", "odd.parquet", "other.parquet", "ok.parquet")}
    rows.write_csv(places["a.csv"])
    places["odd.parquet"].write_bytes(b"PAR1")
    rows.drop("prompt").write_parquet(places["other.parquet"])
    rows.write_parquet(places["ok.parquet"])
    kinds = {name: made_kind(path) for name, path in places.items()}
    assert kinds == {**dict.fromkeys(places, UNSTATED), "ok.parquet": SYNTHETIC}
    rows.with_columns(picture_kind=pl.lit("marble")).write_parquet(places["ok.parquet"])
    assert made_kind(places["ok.parquet"]) is UNSTATED


def test_a_stranger_s_making_names_kinds_that_there_are() -> None:
    study = making_study(plan(), "hats")
    assert of_kinds(study, DRAWN, None).source.kind is DRAWN
    for kinds in (["marble", ""], ["synthetic"], "synthetic"):
        with pytest.raises(DataError, match="No pictures are of the kinds"):
            picture_kinds(study.manifest, {"kinds": kinds})
