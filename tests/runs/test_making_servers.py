"""Makings by servers of pictures: over a real connection, moderated for one group, hostile, broken off and resumed."""

import io
from pathlib import Path

import PIL.Image
import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import ModelError
from facevalue.generators.base import GeneratorOptions
from facevalue.generators.images_api import ImagesServer
from facevalue.measures.definitions import rows_of
from facevalue.runs.makings.generators import EarlierPictures, PictureModel
from facevalue.runs.makings.making import make
from facevalue.runs.makings.preparation import prepare_making
from facevalue.runs.makings.records import stored_records
from facevalue.runs.progress import SilentProgress
from facevalue.runs.settings import RunSettings, RunSummary
from facevalue.runs.stored_run import StoredRun
from facevalue.runs.verify import verify
from facevalue.servers.server import Waits
from facevalue.store.album import FolderAlbum
from facevalue.store.manifest import read_manifest
from facevalue.store.reader import scan_responses
from tests.generators.images_server import (
    PicturesServer,
    base64_of,
    document,
    environment,
    no_wait,
    omni,
    picture,
    reply,
    server,
)
from tests.generators.pictures import plan
from tests.models.misbehaving import Behaviour, Exchange

__all__ = ["environment", "omni", "server"]


def made(folder: Path, server: PicturesServer, faces: int = 8, **options: object) -> RunSummary:
    """Have faces and one edit of each made by a server."""
    prepared = prepare_making(plan(faces=faces), "hiring", {"faces": faces}, folder, RunSettings())
    settings = GeneratorOptions(concurrency=4, timeout=20, retries=0, **options)  # type: ignore[arg-type]
    generator = ImagesServer(server.spec, settings, waits=Waits(sleep=no_wait))
    return make(prepared, generator, generator, SilentProgress()).summary


def listed(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "manifest.parquet")


def test_a_set_is_made_and_edited_with_what_the_server_says_of_each(server: PicturesServer, tmp_path: Path) -> None:
    summary = made(tmp_path, server)
    assert (summary.asked, summary.errors, summary.complete) == (16, 0, True)
    rows = listed(tmp_path)
    edits = [exchange.body for exchange in server.asked if exchange.handler.path.endswith("edits")]
    sources = {(tmp_path / path).read_bytes() for path in rows.filter(pl.col("source").is_null())["path"]}
    assert {body["image"] for body in edits} == sources
    assert (rows["picture_seed"].null_count() == 16) == (server.shape == "openai")
    assert verify(StoredRun.open(tmp_path)).replies == 16
    before = len(server.asked)
    assert made(tmp_path, server).asked == 0
    assert len(server.asked) == before


def test_moderation_of_one_group_is_a_difference_of_the_making(server: PicturesServer, tmp_path: Path) -> None:
    def moderate(exchange: Exchange) -> None:
        if "women" in exchange.body["prompt"]:
            error = {"message": "Your request was rejected by the safety system.", "code": "moderation_blocked"}
            exchange.json(400, {"error": error})
        else:
            server.draw(exchange)

    server.otherwise = moderate
    summary = made(tmp_path, server, faces=24)
    assert (summary.refused, summary.errors) == (24, 0)
    assert set(listed(tmp_path)["gender"]) == {"men"}
    estimates = fv.open_run(tmp_path).estimates()
    (gap,) = estimates.filter(rows_of(["gap.refused"])).iter_rows(named=True)
    assert gap["value"] == 1
    assert gap["p"] < 0.001
    assert gap["verdict"] == "difference found"


def bomb() -> bytes:
    """A billion pixels in some kilobytes."""
    file = io.BytesIO()
    PIL.Image.new("1", (31_623, 31_623)).save(file, "PNG")
    return file.getvalue()


def sent_bomb(exchange: Exchange) -> None:
    """Encoded only when it is sent, as it takes a second."""
    reply({"b64_json": base64_of(bomb())})(exchange)


HOSTILE: dict[str, tuple[Behaviour, str]] = {
    "no picture": (reply({"b64_json": base64_of(b"<html>")}), "not a PNG, JPEG, WebP or GIF image"),
    "a bomb": (sent_bomb, "more than 50 million pixels"),
    "half a picture": (reply({"b64_json": base64_of(picture("any", size=(200, 200))[:90])}), "image"),
    "no data": (reply(), "The reply is no picture: no data."),
    "no base64": (reply({"b64_json": "!"}), "b64_json is no base64"),
    "an error": (lambda exchange: exchange.error(500, "oops"), "HTTP 500: oops"),
    "no connection": (lambda exchange: exchange.reset(), "The connection broke"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_picture_is_an_error_of_this_one_and_asked_for_again(
    omni: PicturesServer, tmp_path: Path, name: str
) -> None:
    behaviour, problem = HOSTILE[name]

    def behave(exchange: Exchange) -> None:
        (behaviour if exchange.body.get("seed") in (2, "103") else omni.draw)(exchange)

    omni.otherwise = behave
    summary = made(tmp_path, omni)
    assert (summary.errors, listed(tmp_path).height) == (3, 13)  # one face with its edit, and one edit
    reasons = scan_responses(tmp_path / "making").filter(pl.col("status") == "error").select("error").collect()
    assert problem in " ".join(reasons["error"])
    omni.otherwise = omni.draw
    summary = made(tmp_path, omni)
    assert (summary.asked, summary.errors) == (3, 0)
    assert listed(tmp_path).height == 16


def test_pictures_of_another_size_and_kind_are_recorded_as_they_are(omni: PicturesServer, tmp_path: Path) -> None:
    omni.otherwise = lambda exchange: omni.send(exchange, picture("any", "WEBP", (40, 30)), output_format="png")
    made(tmp_path, omni, size=(1024, 1024))
    rows = listed(tmp_path)
    assert {Path(path).suffix for path in rows["path"]} == {".webp"}
    assert set(stored_records(tmp_path / "making")["stated"]) == {"image/png"}
    assert set(stored_records(tmp_path / "making")["width"]) == {40}


def test_a_server_that_goes_away_leaves_what_was_made(omni: PicturesServer, tmp_path: Path) -> None:
    def fail(exchange: Exchange) -> None:
        if len(omni.asked) > 9:
            exchange.error(401, "Key expired.")
        else:
            omni.draw(exchange)

    omni.otherwise = fail
    made(tmp_path, omni)
    assert 0 < listed(tmp_path).height < 16
    omni.otherwise = omni.draw
    made(tmp_path, omni)
    assert listed(tmp_path).height == 16
    with pytest.raises(ModelError, match="Unknown setting"):
        made(tmp_path / "other", omni, settings={"steps": 3})


def test_what_a_server_did_not_keep_is_found_in_the_run(omni: PicturesServer, tmp_path: Path) -> None:
    omni.otherwise = lambda exchange: omni.send(exchange, picture("any"), size="512x512")
    made(tmp_path, omni, size=(1024, 1024))
    (session,) = read_manifest(tmp_path / "making").sessions
    assert session.findings == {"generator not_as_asked": "size 512x512 instead of 1024x1024"}


def test_what_a_server_does_not_take_is_said_before_it_is_asked(
    omni: PicturesServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seedless = document()
    for schema in seedless["components"]["schemas"].values():
        del schema["properties"]["seed"]
    shown = {"/openapi.json": seedless, "/v1/models": omni.models}
    monkeypatch.setattr(omni, "get", lambda exchange: exchange.json(200, shown[exchange.handler.path]))
    summary = made(tmp_path, omni)
    assert summary.errors == 0
    generator = ImagesServer(omni.spec, GeneratorOptions())
    nothing = EarlierPictures({}, {}, {})
    (note,) = PictureModel(plan().table, generator, generator, FolderAlbum(tmp_path), lambda: nothing).notes
    assert "takes no seed" in note
    assert listed(tmp_path)["picture_seed"].null_count() == 16
