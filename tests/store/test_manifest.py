"""run.toml: what comes back is what was written, and what differs is said in words."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from facevalue.errors import RunError
from facevalue.seals import sealed
from facevalue.store import Counts, RunManifest, Session, differences, read_manifest, write_manifest
from facevalue.store.manifest import versions
from facevalue.types import Sampling
from tests.store.flipping import flip_a_bit

TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FULL = RunManifest(
    study="tiny",
    study_version=3,
    options={"faces": 60, "scale": 0.5, "all": True, "kinds": ["x", "y"], "name": 'quoted "é"\n'},
    trials=2**40,
    seeds=(1, 2, 3),
    reasks=2,
    sampling=Sampling(0.2, 0.9, 5),
    model="http://h/v1#m",
    model_settings={"version": "1", "n": 2, "f": 0.5, "b": False},
    exact=False,
    sample=1000,
    seed=7,
    start=TIME,
    end=TIME,
    counts=Counts(1, 2, 3, 4, 5, 6, 7),
    sessions=(Session(TIME, None, 0, {"python": "3.11"}), Session(TIME, TIME, 9, {})),
)


@pytest.mark.parametrize(
    "manifest", [FULL, replace(FULL, sample=None, end=None, sessions=(), options={}, model_settings={})]
)
def test_round_trip(tmp_path: Path, manifest: RunManifest) -> None:
    write_manifest(tmp_path, manifest)
    assert read_manifest(tmp_path) == manifest
    assert [path.name for path in tmp_path.iterdir()] == ["run.toml"]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(FULL, sampling=Sampling(0.7, 0.9, 5)), "temperature: 0.2 in the folder, 0.7 asked"),
        (replace(FULL, study="other"), "study: tiny in the folder, other asked"),
        (replace(FULL, study_version=4), "study version: 3 in the folder, 4 asked"),
        (replace(FULL, options={**FULL.options, "faces": 61}), "--faces: 60 in the folder, 61 asked"),
        (replace(FULL, options={**FULL.options, "new": ""}), "--new: nothing in the folder, none asked"),
        (replace(FULL, model="m2"), "model: http://h/v1#m in the folder, m2 asked"),
        (
            replace(FULL, model_settings={**FULL.model_settings, "version": "2"}),
            "model version: 1 in the folder, 2 asked",
        ),
        (replace(FULL, exact=True), "answers: sampled replies in the folder, exact probabilities asked"),
        (replace(FULL, sample=None), "sample: 1000 in the folder, the whole design asked"),
        (replace(FULL, seed=8), "sample seed: 7 in the folder, 8 asked"),
        (replace(FULL, seeds=(1, 2)), "seeds: 1, 2, 3 in the folder, 1, 2 asked"),
        (replace(FULL, seeds=tuple(range(99))), "seeds: 1, 2, 3 in the folder, 0, 1, 2, 3, 4 ... 99 in all asked"),
        (replace(FULL, reasks=0), "re-asks: 2 in the folder, 0 asked"),
        (replace(FULL, trials=5), f"trials of the design: {2**40} in the folder, 5 asked"),
    ],
)
def test_differences_are_said(other: RunManifest, said: str) -> None:
    assert said in differences(FULL, other)


def test_times_counts_and_versions_may_differ() -> None:
    other = replace(FULL, start=datetime.now(UTC), end=None, counts=Counts(), sessions=())
    assert differences(FULL, other) == []
    assert differences(FULL, replace(FULL, options={**FULL.options, "kinds": ["x", "y"]})) == []


def test_the_seed_means_nothing_without_a_sample() -> None:
    whole = replace(FULL, sample=None)
    assert differences(FULL, whole) == ["sample: 1000 in the folder, the whole design asked"]
    assert differences(whole, replace(whole, seed=99)) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "is not the folder of a run"),
        ("not [toml", "not valid TOML"),
        ("title = 'of another program'", "has format None"),
        ("format = 99", "format 99; this FaceValue reads 2"),
        ("format = 2", "not as FaceValue writes it"),
        ("format = 2\nstudy = 5\nmodel = 'x'", "not as FaceValue writes it"),
    ],
)
def test_what_is_no_run_is_said(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "run.toml").write_bytes(sealed(text.encode()))
    with pytest.raises(RunError, match=said):
        read_manifest(tmp_path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_bytes(b"\xfa\xfe\x00")
    with pytest.raises(RunError, match="not UTF-8"):
        read_manifest(tmp_path)


def test_a_wrong_time_is_refused(tmp_path: Path) -> None:
    write_manifest(tmp_path, FULL)
    path = tmp_path / "run.toml"
    rest = path.read_text().partition("\n")[2]
    path.write_bytes(sealed(rest.replace("start = 2026-01-02", "start = 'x' #").encode()))
    with pytest.raises(RunError, match="not as FaceValue writes it"):
        read_manifest(tmp_path)


def test_versions_name_what_shapes_a_result() -> None:
    assert {"facevalue", "python", "numpy", "polars"} <= set(versions())


@pytest.mark.parametrize("seed", range(10))
def test_a_flipped_bit_in_the_settings_is_seen(tmp_path: Path, seed: int) -> None:
    write_manifest(tmp_path, FULL)
    path = tmp_path / "run.toml"
    flip_a_bit(path, np.random.default_rng(seed))
    with pytest.raises(RunError, match=r"damaged or edited|digest"):
        read_manifest(tmp_path)
