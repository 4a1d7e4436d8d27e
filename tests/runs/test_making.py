"""Makings: every picture once, edits after their sources, whatever ends them."""

import errno
import hashlib
import io
import os
import queue
import re
import shutil
import signal
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import PIL.Image
import polars as pl
import pytest

import facevalue as fv
from facevalue import studies
from facevalue.errors import DataError, FaceValueError, ModelError, ModelSpecError, RunError
from facevalue.generators.base import GeneratedPicture, PictureGenerator, PictureRequest
from facevalue.measures.definitions import rows_of
from facevalue.protocol.making import PicturePlan
from facevalue.runs.makings.making import make
from facevalue.runs.makings.preparation import prepare_making
from facevalue.runs.makings.records import stored_records
from facevalue.runs.progress import SilentProgress
from facevalue.runs.settings import RunSettings, RunSummary
from facevalue.runs.stored_run import StoredRun
from facevalue.runs.verify import verify
from facevalue.store.files import write_whole
from facevalue.types import Image, OptionValue, Status
from tests.generators.pictures import Maker, plan, plan_of_own, png

CUES = ("cap", "scarf", "beard")


def made(
    folder: Path,
    generator: PictureGenerator,
    editor: PictureGenerator | None = None,
    pictures: PicturePlan | None = None,
    settings: RunSettings | None = None,
) -> RunSummary:
    """Make the pictures of a plan in a folder."""
    prepared = prepare_making(pictures or plan(cues=CUES), "hiring", {"faces": 8}, folder, settings or RunSettings())
    return make(prepared, generator, editor or generator, SilentProgress()).summary


def listed(folder: Path) -> pl.DataFrame:
    """The manifest."""
    return pl.read_parquet(folder / "manifest.parquet")


@pytest.mark.parametrize("ahead", [1, 3, 100])
def test_each_picture_is_made_once_and_edits_get_their_sources(tmp_path: Path, ahead: int) -> None:
    maker = Maker(ahead=ahead)
    summary = made(tmp_path, maker)
    assert (summary.asked, summary.errors, summary.complete) == (32, 0, True)
    rows = listed(tmp_path)
    assert rows["image"].to_list() == plan(cues=CUES).table["image"].to_list()
    assert {request.factors["image"] for request in maker.asked} == {*rows["image"]}
    assert len(maker.asked) == 32
    files = dict(rows.select("image", "path").iter_rows())
    for request in maker.asked:
        source = dict(rows.select("image", "source").iter_rows())[str(request.factors["image"])]
        assert (request.source is None) == (source is None)
        if request.source is not None:
            assert request.source.data == (tmp_path / files[str(source)]).read_bytes()
    for path in rows["path"]:
        data = (tmp_path / path).read_bytes()
        assert Path(path).stem == hashlib.sha256(data).hexdigest()
    assert rows["picture_seed"].to_list() == [str(seed) for seed in plan(cues=CUES).table["picture_seed"]]


def test_a_making_that_is_complete_asks_nothing(tmp_path: Path) -> None:
    made(tmp_path, Maker())
    before = listed(tmp_path)
    again = Maker()
    assert made(tmp_path, again).asked == 0
    assert not again.asked
    assert listed(tmp_path).equals(before)


def test_generator_and_editor_may_be_two(tmp_path: Path) -> None:
    generator, editor = Maker(ahead=4, name="painter", edits=False), Maker(ahead=5, name="editor", generates=False)
    made(tmp_path, generator, editor)
    assert all(request.source is None for request in generator.asked)
    assert len(generator.asked) == 8
    assert all(request.source is not None for request in editor.asked)
    assert len(editor.asked) == 24
    rows = listed(tmp_path)
    assert rows.filter(pl.col("source").is_null())["generator"].unique().to_list() == ["painter"]
    assert rows.filter(pl.col("source").is_not_null())["editor"].unique().to_list() == ["editor"]


def test_a_refused_source_refuses_its_edits_and_a_failed_one_fails_them(tmp_path: Path) -> None:
    def answer(request: PictureRequest) -> GeneratedPicture | None:
        fates = {"f1": Status.REFUSED, "f2": Status.ERROR}
        fate = fates.get(str(request.factors["image"]))
        return None if fate is None else GeneratedPicture(request.number, fate, error="no")

    maker = Maker(answer, ahead=7)
    summary = made(tmp_path, maker)
    assert (summary.refused, summary.errors, len(maker.asked)) == (4, 4, 26)
    assert summary.failure == "Its source f2 was not made: no"  # the cause, and not its consequence alone
    assert set(listed(tmp_path)["identity"]) == {"f0", "f3", "f4", "f5", "f6", "f7"}
    again = Maker()
    summary = made(tmp_path, again)
    assert (summary.asked, summary.errors) == (4, 0)  # refusals stay, failures are asked for again
    assert {str(request.factors["identity"]) for request in again.asked} == {"f2"}


def test_refusals_and_failures_are_measured_by_group(tmp_path: Path) -> None:
    def answer(request: PictureRequest) -> GeneratedPicture | None:
        if request.factors["gender"] == "women" and request.source is None and request.seed % 4 == 1:
            return GeneratedPicture(request.number, Status.REFUSED, error="moderation_blocked")
        return None

    made(tmp_path, Maker(answer), pictures=plan(faces=40))
    estimates = fv.open_run(tmp_path).estimates()
    rows = estimates.filter(rows_of(["mean.refused"]), pl.col("gender").is_not_null())
    assert dict(rows.select("gender", "value").iter_rows()) == {"men": 0.0, "women": 0.5}
    gap = estimates.filter(rows_of(["gap.refused"]))
    assert gap["value"].to_list() == [0.5]
    assert gap["p"][0] < 0.001


def test_how_often_each_group_was_asked_for_is_measured_by_group(tmp_path: Path) -> None:
    def answer(request: PictureRequest) -> GeneratedPicture | None:
        if request.source is not None:
            return None
        return {
            "f1": GeneratedPicture(request.number, Status.ERROR, error="no", retries=2),
            "f3": GeneratedPicture(request.number, Status.REFUSED, error="no", retries=1),
            "f5": GeneratedPicture(request.number, Status.OK, png("f5"), retries=3),
        }.get(str(request.factors["image"]))

    made(tmp_path, Maker(answer))
    made(tmp_path, Maker())
    estimates = fv.open_run(tmp_path).estimates().filter(rows_of(["mean.attempts"]))
    by_group = {row["gender"]: row for row in estimates.iter_rows(named=True)}
    assert by_group["men"]["value"] == 1.0
    # f1: 3 in the first session and 1 in the second; f3: 2, and its edits were never asked for; f5: 4
    assert by_group["women"]["value"] == pytest.approx((4 + 3 + 2 + 4 + 3 + 4) / 13)
    assert (by_group["women"]["n"], by_group["women"]["clusters"]) == (13, 4)
    assert by_group["women"]["low"] < by_group["women"]["value"] < by_group["women"]["high"]
    records = stored_records(tmp_path / "making")
    assert sorted(records["attempts"].to_list()) == [0] * 3 + [1] * 26 + [2, 4, 4]


def test_a_group_that_is_refused_as_a_whole_is_found(tmp_path: Path) -> None:
    def answer(request: PictureRequest) -> GeneratedPicture | None:
        refused = request.factors["gender"] == "women"
        return GeneratedPicture(request.number, Status.REFUSED, error="moderation_blocked") if refused else None

    made(tmp_path, Maker(answer), pictures=plan(faces=40))
    gap = fv.open_run(tmp_path).estimates().filter(rows_of(["gap.refused"]))
    assert gap["value"].to_list() == [1.0]
    assert gap["verdict"].to_list() == ["difference found"]


def test_groups_may_be_called_as_columns_of_results_are(tmp_path: Path) -> None:
    table = plan(faces=40).table.rename({"gender": "dimension"}).with_columns(refused=pl.col("dimension"))
    made(tmp_path, Maker(), pictures=PicturePlan(table=table, groups=("dimension", "refused")))
    assert {"shown_dimension", "shown_refused"} <= {*fv.open_run(tmp_path).estimates().columns}
    assert {"dimension", "refused"} <= {*listed(tmp_path).columns}


def test_a_making_of_a_stranger_is_read_or_refused_in_a_sentence(tmp_path: Path) -> None:
    table = plan().table.cast(pl.String)
    options: dict[str, OptionValue] = {"made_for": "hats", "choices": [], "unit": "identity", "groups": ["gender"]}
    assert studies.build("making", options, table).design.size == 16
    for changed, says in (
        ({"groups": ["age"]}, "no column 'age'"), ({"unit": "age"}, "No study samples 'age'"),
    ):  # fmt: skip
        with pytest.raises(DataError, match=says):
            studies.build("making", {**options, **changed}, table)
    with pytest.raises(DataError, match="more than texts"):
        studies.build("making", options, plan().table)
    with pytest.raises(DataError, match="Nothing is to be made"):
        studies.build("making", options, table.with_columns(prompt=pl.lit(None, pl.String)))
    with pytest.raises(DataError, match="'facevalue make STUDY'"):
        studies.build("making", options)


def test_another_generator_setting_or_plan_does_not_go_on(tmp_path: Path) -> None:
    made(tmp_path, Maker())
    with pytest.raises(RunError, match="begun with other settings: model generator version"):
        made(tmp_path, Maker(version=2))
    with pytest.raises(RunError, match="other settings: model: maker in the folder, maker \\+ other asked"):
        made(tmp_path, Maker(), Maker(name="other"))
    table = plan(cues=CUES).table
    for change in (pl.col("prompt") + " Now.", pl.col("picture_seed") + 1):
        with pytest.raises(RunError, match="lists other images"):
            made(tmp_path, Maker(), pictures=PicturePlan(table=table.with_columns(change), groups=("gender",)))


@pytest.mark.parametrize("name", ["pictures", "manifest.parquet", "holiday.JPG", "b.webp"])
def test_a_folder_with_other_pictures_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir() if name == "pictures" else (tmp_path / name).write_bytes(b"")
    (tmp_path / "notes.txt").write_text("are no picture")
    with pytest.raises(RunError, match=f"has {name} of something else, which would be mixed up"):
        made(tmp_path, Maker())


def test_who_cannot_edit_or_make_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    maker = Maker(edits=False)
    with pytest.raises(ModelSpecError, match=r"maker edits no pictures, and 24 of 32 are edited .* name --editor"):
        made(tmp_path, maker)
    with pytest.raises(ModelSpecError, match="makes none from texts alone, and 8 of 32 are"):
        made(tmp_path, Maker(generates=False))
    with pytest.raises(ModelSpecError, match="Nothing is edited here: leave out --editor other"):
        made(tmp_path, Maker(), Maker(name="other"), plan(cues=()))
    assert not maker.asked
    assert not (tmp_path / "making").exists()


def test_pictures_that_exist_are_edited_and_listed(tmp_path: Path) -> None:
    own = tmp_path / "own.png"
    pictures_of_own = plan_of_own(own)
    maker = Maker()
    assert made(tmp_path / "made", maker, pictures=pictures_of_own).asked == 1
    assert maker.asked[0].source == Image(own.read_bytes(), "image/png")
    rows = listed(tmp_path / "made")
    assert rows["image"].to_list() == ["p", "p/cap"]
    assert (tmp_path / "made" / rows["path"][0]).read_bytes() == own.read_bytes()
    own.write_bytes(png("another").data)
    with pytest.raises(RunError, match="has changed"):
        made(tmp_path / "made", maker, pictures=pictures_of_own)


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (Image(b"<html>", "image/png"), "not a PNG"),
        (Image(png("x").data[:-20], "image/png"), "breaks off|not a PNG"),
        (b"bytes", "of type bytes"),
        (Image("text", "image/png"), "of type Image"),  # type: ignore[arg-type]
        (None, "of type NoneType"),
    ],
)
def test_what_is_no_picture_is_an_error_of_it_alone(tmp_path: Path, image: object, reason: str) -> None:
    def answer(request: PictureRequest) -> object:
        return GeneratedPicture(request.number, Status.OK, image) if request.factors["image"] == "f3" else None  # type: ignore[arg-type]

    summary = made(tmp_path, Maker(answer), pictures=plan(cues=()))
    assert (summary.errors, listed(tmp_path).height) == (1, 7)
    assert re.search(reason, summary.failure)


def test_a_generator_that_gives_anything_else_costs_no_other_picture(tmp_path: Path) -> None:
    oddities = {
        "f1": "text", "f2": GeneratedPicture(999, Status.OK, png("stray")), "f4": GeneratedPicture(3, "odd", png("x")),  # type: ignore[arg-type]
        "f5": None, "f6": GeneratedPicture(6, Status.OK, png("x"), facts={"a": [1]}),  # type: ignore[dict-item]
    }  # fmt: skip
    summary = made(tmp_path, Maker(lambda r: oddities.get(str(r.factors["image"]))), pictures=plan(cues=()))
    rows = listed(tmp_path)
    assert {"f0", "f3", "f5", "f7"} <= {*rows["image"]}
    assert summary.errors >= 1
    assert made(tmp_path, Maker(), pictures=plan(cues=())).errors == 0
    assert listed(tmp_path).height == 8


def test_a_black_picture_is_a_refusal(tmp_path: Path) -> None:
    data = io.BytesIO()
    PIL.Image.new("RGB", (64, 64)).save(data, "JPEG")

    def answer(request: PictureRequest) -> GeneratedPicture | None:
        image = Image(data.getvalue(), "image/jpeg")
        return GeneratedPicture(request.number, Status.OK, image) if request.factors["image"] == "f3" else None

    assert made(tmp_path, Maker(answer), pictures=plan(cues=())).refused == 1
    assert listed(tmp_path).height == 7


def test_verify_names_missing_and_damaged_pictures(tmp_path: Path) -> None:
    made(tmp_path, Maker())
    assert verify(StoredRun.open(tmp_path)).replies == 32
    files = dict(listed(tmp_path).select("image", "path").iter_rows())
    (tmp_path / files["f1"]).unlink()
    (tmp_path / files["f2/cap"]).write_bytes(b"else")
    with pytest.raises(RunError, match=r"2 of 32 pictures are missing or damaged: f1 .*is missing.*; f2/cap .*digest"):
        verify(StoredRun.open(tmp_path))


def test_a_limit_of_cost_stops_and_what_is_there_is_listed(tmp_path: Path) -> None:
    settings = RunSettings(price_each=0.5, max_cost=5.0)
    summary = made(tmp_path, Maker(ahead=1), settings=settings)
    assert "limit is 5.00" in summary.stopped
    assert not summary.complete
    assert 10 <= listed(tmp_path).height < 16
    assert made(tmp_path, Maker(), settings=RunSettings(price_each=0.5)).complete


def test_an_interrupted_making_lists_what_is_there_and_goes_on(tmp_path: Path) -> None:
    def answer(request: PictureRequest) -> None:
        if len(maker.asked) == 9:
            signal.raise_signal(signal.SIGTERM)

    maker = Maker(answer, ahead=3)
    summary = made(tmp_path, maker)
    assert summary.interrupted
    assert not summary.complete
    count = listed(tmp_path).height
    assert 9 <= count <= 9 + 3  # those on their way, and nothing that waits for them
    again = Maker()
    assert made(tmp_path, again).asked == 32 - count


def test_an_adapter_may_take_requests_in_a_thread_of_its_own(tmp_path: Path) -> None:
    class Threaded(Maker):
        def generate(self, requests: Iterable[PictureRequest]) -> Iterator[GeneratedPicture]:
            """Take all that there are as fast as can be, while others are being made."""
            taken: queue.Queue[PictureRequest | None] = queue.Queue()

            def take() -> None:
                for request in (*requests, None):
                    taken.put(request)

            thread = threading.Thread(target=take)
            thread.start()
            while (request := taken.get()) is not None:
                yield from super().generate([request])
            thread.join()

    maker = Threaded()
    assert made(tmp_path, maker, pictures=plan(faces=40, cues=CUES)).errors == 0
    assert listed(tmp_path).height == len(maker.asked) == 160


def test_a_generator_that_ends_it_all_keeps_what_came(tmp_path: Path) -> None:
    def answer(request: PictureRequest) -> None:
        if len(maker.asked) == 6:
            raise ModelError("the key is not taken")

    maker = Maker(answer)
    with pytest.raises(ModelError, match="the key"):
        made(tmp_path, maker)
    assert listed(tmp_path).height == 5
    again = Maker()
    assert made(tmp_path, again).asked == 27


def test_a_disk_that_fills_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from facevalue.store import album

    count = 0

    def write(path: Path, data: bytes, **given: bool) -> None:
        nonlocal count
        count += 1
        if count > 5:
            raise RunError(f"Cannot write {path}: No space left on device. Everything stored before is kept.")
        write_whole(path, data, **given)

    monkeypatch.setattr(album, "write_whole", write)
    with pytest.raises(FaceValueError, match="No space left"):
        made(tmp_path, Maker())
    assert listed(tmp_path).height == 5
    monkeypatch.undo()
    assert made(tmp_path, Maker()).asked == 27
    assert verify(StoredRun.open(tmp_path)).replies == 32


def test_what_stops_a_making_is_told_where_nothing_more_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from facevalue.runs.makings import making

    def full(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def unlisted(*_: object) -> None:
        raise FileNotFoundError("manifest.parquet")

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr(making, "list_made", unlisted)
    with pytest.raises(RunError, match=r"Cannot write .*Input/output error\. Everything stored before is kept"):
        made(tmp_path, Maker())


def test_a_sample_takes_whole_units_with_their_sources(tmp_path: Path) -> None:
    made(tmp_path, Maker(), settings=RunSettings(sample=9))
    assert listed(tmp_path).group_by("identity").len()["len"].to_list() == [4, 4]
    fv.open_run(tmp_path).report(tmp_path / "page.html")
    words = re.sub(r"<[^>]+>|\s+", " ", (tmp_path / "page.html").read_text())
    assert re.search("2 people *· *8 pictures", words)  # those of the sample, not all 32
    shutil.rmtree(tmp_path)
    made(tmp_path, Maker(), settings=RunSettings(sample=3), pictures=plan(cues=CUES, unit="image"))
    rows = listed(tmp_path)
    assert set(rows["source"].drop_nulls()) <= set(rows["image"])
