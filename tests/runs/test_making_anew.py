"""Makings whose pictures were lost: made anew as further attempts, and edits with them where they must be."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

from facevalue.errors import RunError, UnknownNameError
from facevalue.generators.base import GeneratedPicture, PictureRequest
from facevalue.protocol.picture_checks import failed_pictures
from facevalue.runs.makings.making import MakingOutcome, make
from facevalue.runs.makings.preparation import prepare_making
from facevalue.runs.makings.records import stored_records
from facevalue.runs.progress import SilentProgress
from facevalue.runs.settings import RunSettings
from facevalue.runs.stored_run import StoredRun
from facevalue.runs.verify import verify
from facevalue.store.reader import scan_stored
from facevalue.types import Status
from tests.generators.pictures import Maker, plan, png

CUES = ("cap", "scarf", "beard")
EDITS = [f"f1/{cue}" for cue in CUES]


class Notes(SilentProgress):
    """What is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def note(self, message: str) -> None:
        """Keep it."""
        self.told.append(message)


@pytest.fixture(params=["folder", "url"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path | str:
    monkeypatch.setenv("FACEVALUE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "made" if request.param == "folder" else (tmp_path / "made").as_uri()


def made(
    place: Path | str, maker: Maker, told: Notes | None = None, *, digests: bool = False, again: Sequence[str] = ()
) -> MakingOutcome:
    """Make faces with three edits each, the last of them an edit of an edit."""
    prepared = prepare_making(plan(cues=CUES), "hiring", {}, place, RunSettings())
    return make(prepared, maker, maker, told or Notes(), digests=digests, again=again)


def same(one: MakingOutcome, two: MakingOutcome) -> bool:
    """Whether the same pictures are there, however often they were asked for."""
    return one.pictures.drop("attempts").equals(two.pictures.drop("attempts"))


def file_of(outcome: MakingOutcome, tmp_path: Path, image: str) -> Path:
    """The file of a picture."""
    return tmp_path / "made" / dict(outcome.pictures.select("image", "path").iter_rows())[image]


def asked(maker: Maker) -> list[str]:
    """Pictures that were asked for."""
    return sorted(str(request.factors["image"]) for request in maker.asked)


def changed(*images: str) -> Callable[[PictureRequest], GeneratedPicture | None]:
    """Have these pictures come out as others than before."""

    def answer(request: PictureRequest) -> GeneratedPicture | None:
        if request.factors["image"] in images:
            return GeneratedPicture(request.number, Status.OK, png(f"another {request.factors['image']}"))
        return None

    return answer


def test_a_missing_or_cut_picture_is_made_anew_and_nothing_else_is_asked_for(place: Path | str, tmp_path: Path) -> None:
    first = made(place, Maker())
    file_of(first, tmp_path, "f1").unlink()
    file_of(first, tmp_path, "f2/cap").write_bytes(b"cut")
    again, told = Maker(), Notes()
    second = made(place, again, told)
    assert asked(again) == ["f1", "f2/cap"]
    assert (second.anew, second.summary.asked, second.summary.skipped) == (2, 2, 30)
    assert told.told[0] == "2 pictures, such as f1, are missing or damaged, and made anew."
    assert same(second, first)  # the same bytes came again: edits keep theirs
    assert verify(StoredRun.open(place)).replies == 32
    assert made(place, third := Maker()).anew == 0
    assert not third.asked


def test_the_lost_attempt_and_the_number_of_attempts_are_recorded(place: Path | str, tmp_path: Path) -> None:
    file_of(made(place, Maker()), tmp_path, "f1").unlink()
    made(place, Maker())
    folder = StoredRun.open(place).folder
    rows = scan_stored(folder).filter(pl.col("trial") == 1).collect()
    assert sorted(rows["status"].to_list()) == ["error", "ok"]
    lost = rows.filter(pl.col("status") == "error")
    assert lost["error"][0].startswith("The picture was lost.")
    assert '"picture"' in lost["text"][0]  # what it was stays on record
    attempts = dict(stored_records(folder).select("trial", "attempts").iter_rows())
    assert (attempts[0], attempts[1]) == (1, 2)


def test_edits_of_a_picture_that_comes_out_otherwise_are_made_anew_too(place: Path | str, tmp_path: Path) -> None:
    first = made(place, Maker())
    file_of(first, tmp_path, "f1").unlink()
    again, told = Maker(changed("f1")), Notes()
    second = made(place, again, told)
    assert asked(again) == sorted(["f1", *EDITS])
    assert "2 pictures, such as f1/cap, are made anew: what was edited is another picture by now." in told.told
    assert told.told[-1] == "The picture f1/beard is made anew: what was edited is another picture by now."
    assert (second.anew, second.summary.asked, second.pictures.height) == (4, 4, 32)
    sources = {str(request.factors["image"]): request.source for request in again.asked}
    assert sources["f1/cap"] == png("another f1")


def test_an_edit_of_an_edit_that_came_out_as_before_stays(place: Path | str, tmp_path: Path) -> None:
    always = ("f1/cap", "f1/scarf")  # whatever they are edited from
    first = made(place, Maker(changed(*always)))
    file_of(first, tmp_path, "f1").unlink()
    again = Maker(changed("f1", *always))
    made(place, again)
    assert asked(again) == ["f1", *always]


def test_a_kill_between_a_picture_and_its_edits_leaves_no_edit_of_another_picture(
    place: Path | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from facevalue.runs.makings import making

    first = made(place, Maker())
    file_of(first, tmp_path, "f1").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(making, "_without_outdated", lambda _, records, *__: records)
        broken = made(place, Maker(changed("f1")))
    assert set(broken.pictures["image"]) == set(first.pictures["image"]) - {*EDITS}  # they are of the lost one
    again = Maker()
    assert made(place, again).pictures.height == 32
    assert asked(again) == sorted(EDITS)


def test_edits_wait_for_a_source_that_fails_and_fall_with_one_that_is_refused(
    place: Path | str, tmp_path: Path
) -> None:
    def fate(status: Status) -> Maker:
        return Maker(
            lambda request: (
                GeneratedPicture(request.number, status, error="no") if request.factors["image"] == "f1" else None
            )
        )

    first = made(place, Maker())
    file_of(first, tmp_path, "f1").unlink()
    failed = made(place, fate(Status.ERROR))
    assert (failed.summary.errors, failed.pictures.height) == (1, 28)
    assert same(made(place, Maker()), first)
    file_of(first, tmp_path, "f1").unlink()
    again = fate(Status.REFUSED)
    refused = made(place, again)
    assert (refused.summary.refused, refused.pictures.height, asked(again)) == (4, 28, ["f1"])


def test_damage_that_leaves_the_size_is_found_where_it_is_looked_for(place: Path | str, tmp_path: Path) -> None:
    first = made(place, Maker())
    path = file_of(first, tmp_path, "f3")
    path.write_bytes(bytes(path.stat().st_size))
    assert made(place, Maker()).anew == 0
    with pytest.raises(RunError, match=r"1 of 32 pictures are missing or damaged: f3 .* --check-pictures"):
        verify(StoredRun.open(place))
    again = Maker()
    assert made(place, again, digests=True).anew == 1
    assert asked(again) == ["f3"]
    assert verify(StoredRun.open(place)).replies == 32


def test_all_pictures_lost_is_all_made_anew(place: Path | str, tmp_path: Path) -> None:
    first = made(place, Maker())
    shutil.rmtree(tmp_path / "made" / "pictures")
    again = Maker()
    assert same(made(place, again), first)
    assert len(again.asked) == 32


def test_another_generator_is_refused_before_anything_is_withdrawn(place: Path | str, tmp_path: Path) -> None:
    file_of(made(place, Maker()), tmp_path, "f1").unlink()
    with pytest.raises(RunError, match="begun with other settings: model"):
        made(place, Maker(name="other"))
    assert stored_records(StoredRun.open(place).folder).filter(pl.col("status") == "ok").height == 32


def test_damage_of_the_run_itself_is_still_mended_by_the_same_command(place: Path | str, tmp_path: Path) -> None:
    first = made(place, Maker())
    (shard, *_) = (tmp_path / "made" / "making" / "responses").glob("*.parquet")
    shard.write_bytes(shard.read_bytes()[:-100]) if isinstance(place, Path) else shard.unlink()
    file_of(first, tmp_path, "f1").unlink()
    assert same(made(place, Maker()), first)
    assert verify(StoredRun.open(place)).replies == 32


def test_edits_that_are_still_to_be_made_wait_for_a_lost_source(place: Path | str, tmp_path: Path) -> None:
    first = made(place, Maker(lambda r: None if r.source is None else GeneratedPicture(r.number, Status.ERROR)))
    file_of(first, tmp_path, "f1").unlink()
    again = Maker()
    assert made(place, again).pictures.height == 32
    assert len(again.asked) == 25


def unchanged(*images: str) -> Callable[[PictureRequest], GeneratedPicture | None]:
    """Have the editor return what it was given of these pictures."""

    def answer(request: PictureRequest) -> GeneratedPicture | None:
        if request.factors["image"] in images and request.source is not None:
            return GeneratedPicture(request.number, Status.OK, request.source)
        return None

    return answer


def test_edits_that_changed_nothing_are_named_and_made_again_with_another_seed(
    place: Path | str, tmp_path: Path
) -> None:
    first = Maker(unchanged("f1/cap", "f2/cap"))
    outcome = made(place, first)
    assert sorted(outcome.same.images) == ["f1/cap", "f2/cap"]
    assert "f1/cap" in (tmp_path / "made" / "same.csv").read_text()
    failed = failed_pictures(tmp_path / "made" / "same.csv")
    seeds = {str(request.factors["image"]): request.seed for request in first.asked}
    second, told = Maker(unchanged("f2/cap")), Notes()
    outcome = made(place, second, told, again=failed)
    assert outcome.same.images == ("f2/cap",)
    assert "2 pictures, such as f1/cap, are made again with another seed." in told.told
    tried = {str(request.factors["image"]): request.seed for request in second.asked}
    assert set(failed) <= set(tried)
    assert all(tried[image] != seeds[image] for image in failed)
    third = Maker()
    outcome = made(place, third, again=["f2/cap"])
    assert outcome.same.images == ()
    (seed,) = (request.seed for request in third.asked if request.factors["image"] == "f2/cap")
    assert seed not in (seeds["f2/cap"], tried["f2/cap"])
    assert failed_pictures(tmp_path / "made" / "same.csv") == ()
    assert made(place, Maker()).summary.asked == 0
    with pytest.raises(UnknownNameError, match="Unknown picture that is made 'f9/cap'"):
        made(place, Maker(), again=["f9/cap"])


def test_a_making_that_was_not_begun_has_nothing_to_make_again(place: Path | str) -> None:
    with pytest.raises(RunError, match="nothing was made there yet"):
        made(place, Maker(), again=["f1/cap"])
