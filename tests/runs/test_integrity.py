"""A run folder is a letter from a stranger: nothing in it is believed before it was checked."""

import shutil
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from facevalue.errors import RunError, UnknownNameError
from facevalue.protocol.study import Study
from facevalue.runs import RunSettings, run
from facevalue.runs.stored_run import StoredRun, answers
from facevalue.seals import digest_of
from facevalue.store import read_manifest, read_responses
from facevalue.store.shards import shard_paths
from tests.runs.tiny import TinyModel, tiny_study
from tests.store.flipping import flip_a_bit

STUDY = tiny_study(faces=8, seeds=(1, 2))
SMALL = RunSettings(flush_rows=8)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of 48 replies in several shards."""
    monkeypatch.setattr("facevalue.studies.build", lambda name, options, manifest: STUDY)
    run(STUDY, TinyModel(), tmp_path / "run", SMALL)
    assert len(shard_paths(tmp_path / "run")) > 1
    return tmp_path / "run"


def measured(folder: Path) -> pl.DataFrame:
    return pl.concat(answers(StoredRun.open(folder)))


def resumed(folder: Path, study: Study = STUDY, name: str = "tiny") -> int:
    return run(study, TinyModel(name=name), folder, SMALL).asked


def test_a_sound_folder_is_read(folder: Path) -> None:
    assert measured(folder).height == 48
    facts = read_manifest(folder)
    assert facts.shards == tuple(path.name for path in shard_paths(folder))


@pytest.mark.parametrize("seed", range(25))
def test_no_flipped_bit_changes_an_answer(folder: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    files = [folder / "run.toml", folder / "manifest.parquet", *shard_paths(folder)]
    path = files[int(rng.integers(len(files)))]
    flip_a_bit(path, rng)
    with pytest.raises(RunError, match=path.name.split("-")[0]):
        measured(folder)


def test_a_deleted_shard_is_missed_and_asked_again(folder: Path) -> None:
    before = read_responses(folder)
    gone = shard_paths(folder)[1]
    rows = pl.read_parquet(gone).height
    gone.unlink()
    with pytest.raises(RunError, match=f"{gone.name}.*not there"):
        measured(folder)
    assert resumed(folder) == rows
    assert read_responses(folder).drop("latency_ms").equals(before.drop("latency_ms"))
    assert measured(folder).height == 48


def test_a_shard_of_another_model_is_not_taken(folder: Path, tmp_path: Path) -> None:
    run(STUDY, TinyModel(name="other"), tmp_path / "other", SMALL)
    foreign = shard_paths(tmp_path / "other")[0]
    own = shard_paths(folder)[0]
    shutil.copy(foreign, own.parent / foreign.name.replace("part-0000000", "part-1000000"))
    for use in (measured, resumed):
        with pytest.raises(RunError, match="belongs to another run"):
            use(folder)


def test_a_damaged_shard_is_set_aside_and_asked_again(folder: Path) -> None:
    path = shard_paths(folder)[0]
    rows = pl.read_parquet(path).height
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    assert resumed(folder) == rows
    assert (path.parent / f"{path.name}.broken").exists()
    assert measured(folder).height == 48


def test_the_hash_of_a_request_covers_the_model(folder: Path, tmp_path: Path) -> None:
    run(STUDY, TinyModel(name="other"), tmp_path / "other", SMALL)
    ours, theirs = (set(read_responses(place)["request"]) for place in (folder, tmp_path / "other"))
    assert not ours & theirs


def test_the_digest_in_a_name_is_that_of_the_bytes(folder: Path) -> None:
    for path in shard_paths(folder):
        assert path.stem.split("-")[2] == digest_of(path.read_bytes())


def test_a_run_whose_study_says_no_more_what_it_said_is_refused_by_its_name_and_version(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(*_: object) -> Study:
        raise UnknownNameError("option of tiny", "people", ["faces"])

    monkeypatch.setattr("facevalue.studies.build", build)
    with pytest.raises(RunError) as refused:
        StoredRun.open(folder)
    assert str(refused.value) == (
        f"{folder}: this FaceValue cannot read what the run stores of its study: Unknown option of tiny 'people'. "
        f"Known: faces. The run was made with FaceValue {version('facevalue')}: read it with that, or run the study "
        "again into another folder."
    )
