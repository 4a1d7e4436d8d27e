"""Options of `facevalue run` about a cluster, and `facevalue status`."""

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
    assert outcome.status == 1
    assert "--tensor-parallel is for models that vLLM runs (vllm/NAME); sim/default is none." in outcome.err
