"""Answers are safe from a killed process from the moment they came."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from facevalue.runs import RunSettings, judgments, run
from facevalue.store import ShardWriter, read_manifest, read_responses
from facevalue.store.journal import JOURNAL, Journal, left_over, recover
from facevalue.store.schema import RESPONSES, TIMED
from facevalue.store.writer import to_frame
from facevalue.types import Request, Response, Status
from tests.runs.tiny import TinyModel, mixed, tiny_study
from tests.store.test_shards import everything


def rows(*trials: int) -> pl.DataFrame:
    return to_frame([Response(trial, 0, Status.OK, "(a)") for trial in trials], np.array(trials, dtype=np.uint64))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "responses").mkdir()
    return tmp_path


def test_what_was_appended_is_left_over_once_it_is_cleared_no_more(folder: Path) -> None:
    journal = Journal(folder / "responses", "run")
    journal.append(rows(3))
    journal.append(rows(1, 2))
    found = left_over(folder / "responses", "run", RESPONSES, TIMED)
    assert found is not None
    assert found["trial"].to_list() == [3, 1, 2]
    journal.clear()
    assert left_over(folder / "responses", "run", RESPONSES, TIMED) is None
    journal.append(rows(4))
    again = left_over(folder / "responses", "run", RESPONSES, TIMED)
    assert again is not None
    assert again["trial"].to_list() == [4]
    journal.close()
    assert not (folder / "responses" / JOURNAL).exists()


def test_a_journal_of_another_run_or_of_none_is_left_alone(folder: Path) -> None:
    Journal(folder / "responses", "other").append(rows(1))
    assert left_over(folder / "responses", "run", RESPONSES, TIMED) is None
    (folder / "responses" / JOURNAL).write_bytes(b"anything")
    assert left_over(folder / "responses", "run", RESPONSES, TIMED) is None


@pytest.mark.parametrize("keep", range(0, 2000, 97))
def test_of_a_journal_cut_anywhere_whole_pieces_are_left(folder: Path, keep: int) -> None:
    journal = Journal(folder / "responses", "run")
    for trial in range(4):
        journal.append(rows(trial))
    path = folder / "responses" / JOURNAL
    path.write_bytes(path.read_bytes()[:keep])
    found = left_over(folder / "responses", "run", RESPONSES, TIMED)
    trials = [] if found is None else found["trial"].to_list()
    assert trials == list(range(len(trials)))


def test_a_flipped_bit_ends_what_is_believed(folder: Path) -> None:
    journal = Journal(folder / "responses", "run")
    sizes = []
    for trial in range(3):
        journal.append(rows(trial))
        sizes.append((folder / "responses" / JOURNAL).stat().st_size)
    data = bytearray((folder / "responses" / JOURNAL).read_bytes())
    data[sizes[0] + 200] ^= 4
    (folder / "responses" / JOURNAL).write_bytes(bytes(data))
    found = left_over(folder / "responses", "run", RESPONSES, TIMED)
    assert found is not None
    assert found["trial"].to_list() == [0]


def test_what_is_in_a_shard_already_is_not_stored_twice(folder: Path) -> None:
    with ShardWriter(folder, everything, run="run") as writer:
        writer.append(Response(1, 0, Status.OK, "(a)"))
    Journal(folder / "responses", "run").append(rows(1, 2))
    assert recover(folder, "run") == 1
    assert read_responses(folder)["trial"].to_list() == [1, 2]
    assert recover(folder, "run") == 0


def test_a_process_that_dies_has_only_what_was_on_its_way_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shards are written once in an hour here, and never: the writer dies with the process."""
    study = tiny_study(seeds=(1, 2))
    settings = RunSettings(flush_seconds=3600, journal_seconds=0)

    class Dead(BaseException):
        pass

    def dies(request: Request) -> Response:
        if request.trial == 7:
            raise Dead
        return mixed(request)

    with monkeypatch.context() as patch:
        patch.setattr(ShardWriter, "__exit__", lambda *args: None)
        with pytest.raises(Dead):
            run(study, TinyModel(dies), tmp_path / "run", settings)
    assert not read_manifest(tmp_path / "run").shards
    model = TinyModel()
    summary = run(study, model, tmp_path / "run", settings)
    before = study.design.size * 2 - len(model.asked)
    assert summary.skipped == before > 0
    assert min(request.trial for request in model.asked) == 7 or 7 in {request.trial for request in model.asked}
    run(study, whole := TinyModel(), tmp_path / "whole", settings)
    assert len(whole.asked) == before + len(model.asked)
    assert read_responses(tmp_path / "run").equals(read_responses(tmp_path / "whole"))


def test_what_a_killed_process_left_is_read_with_the_judgments_that_are_stored(tmp_path: Path) -> None:
    place = tmp_path / judgments.FOLDER
    with judgments.JudgmentWriter(place, judgments.SCHEMA) as writer:
        writer.add("m", "tone", "Fine.", "category", "kind", "(a)")
    waiting = pl.DataFrame(
        [("m", "tone", text, "category", "cold", "(b)") for text in ("Fine.", "Well.")], judgments.SCHEMA, orient="row"
    )
    Journal(place, "judge").append(waiting[1:])
    found = judgments.read_judgments(tmp_path)
    assert found is not None
    assert {text: judgment.category for (_, text), judgment in found.judgments.items()} == {
        "Fine.": "kind", "Well.": "cold",
    }  # fmt: skip
