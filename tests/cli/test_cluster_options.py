"""Options of `facevalue run` about a cluster, and `facevalue status`."""

import json
from pathlib import Path

from facevalue.store.lease import RunLock
from tests.cli.conftest import Command


def test_a_cluster_needs_a_place_that_all_nodes_can_write_to(facevalue: Command) -> None:
    outcome = facevalue("run", "stylisticbias", "--model", "sim/default", "--cluster", "auto", "--out", "here")
    assert outcome.status == 2
    assert "--cluster needs a place that every node can write to: --out s3://BUCKET/PREFIX" in outcome.err
    outcome = facevalue("run", "stylisticbias", "--model", "sim/default", "--cluster-config", "c.toml")
    assert outcome.status == 2
    assert "say which one with --cluster" in outcome.err


def test_gpus_that_share_a_model_are_for_vllm(facevalue: Command) -> None:
    outcome = facevalue("run", "stylisticbias", "--model", "sim/default", "--tensor-parallel", "2", "--out", "here")
    assert outcome.status == 2
    assert "--tensor-parallel is for models that vLLM runs (vllm/NAME); sim/default is none." in outcome.err


def test_status_of_a_run_in_object_storage(facevalue: Command, tmp_path: Path) -> None:
    place = (tmp_path / "run").as_uri()
    small = ("stylisticbias", "--model", "sim/default", "--faces", "4", "--attributes", "eyewear", "--seeds", "1")
    assert facevalue("run", *small, "--out", place).status == 0
    said = facevalue("status", place).out
    assert f"{place}: stylisticbias on sim/default\n" in said
    assert " requests (100%), " in said
    assert "Not running: process " in said
    path = tmp_path / "run" / "status.json"
    told = json.loads(path.read_text())
    long_ago = {"state": "running", "at": "2026-01-01T00:00:00+00:00", "answered": 7, "answers_per_second": 2.0}
    path.write_text(json.dumps({**told, **long_ago, "failures_by_node": {"b": 1, "a": 3}, "workers_by_node": []}))
    said = facevalue("status", place).out
    assert "7/" in said
    assert "2 answers/s" in said
    assert "failed requests: a 3, b 1\n" in said
    assert "has reported nothing for" in said
    path.write_text("[not what it was")
    assert facevalue("status", place).status == 0
    path.unlink()
    assert " requests (100%), " in facevalue("status", place).out, "from what run.json says"


def test_status_of_a_run_folder(facevalue: Command) -> None:
    small = ("stylisticbias", "--model", "sim/default", "--faces", "4", "--attributes", "eyewear", "--seeds", "1")
    assert facevalue("run", *small, "--out", "a").status == 0
    said = facevalue("status", "a").out
    assert "a: stylisticbias on sim/default\n" in said
    assert " requests (100%)\n" in said
    assert "Not running.\n" in said
    with RunLock(Path("a")):
        assert "a is being written by process" in facevalue("status", "a").out


def test_status_of_what_is_no_run(facevalue: Command, tmp_path: Path) -> None:
    assert "There is no folder nowhere." in facevalue("status", "nowhere").err
    (tmp_path / "empty").mkdir()
    assert "holds no run" in facevalue("status", (tmp_path / "empty").as_uri()).err
