"""What Ray says in a page, in a sentence."""

from types import SimpleNamespace
from typing import Any

import pytest

from facevalue.cluster.fleet import RayFleet, connect_cluster
from facevalue.cluster.workers import ClusterSettings, WorkerDied
from facevalue.errors import DependencyError, FaceValueError, ModelError, RunError

ray = pytest.importorskip("ray", reason="no Ray here: make test-cluster installs it")
from ray import exceptions  # noqa: E402


def fleet(nodes: list[dict[str, float]], gpus: float = 0, error: Exception | None = None) -> RayFleet:
    """A fleet of a Ray that isn't there."""

    def get(_: Any) -> Any:
        raise error if error is not None else AssertionError

    have = [{"Alive": True, "Resources": resources} for resources in nodes]
    stand_in = SimpleNamespace(
        get=get,
        exceptions=exceptions,
        nodes=lambda: have,
        remote=ray.remote,
        cluster_resources=lambda: {"GPU": sum(one.get("GPU", 0) for one in nodes)},
    )
    return RayFleet(stand_in, ClusterSettings(), gpus)


def refused(error: Exception) -> Any:
    def init(**_: object) -> None:
        raise error

    return init


def test_a_cluster_of_other_versions_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (
        "Version mismatch: The cluster was started with:\n    Ray: 2.9.1\n    Python: 3.10.2\nThis process on x was "
        f"started with:\n    Ray: {ray.__version__}\n    Python: 3.11.7\n"
    )
    monkeypatch.setattr(ray, "init", refused(RuntimeError(page)))
    with pytest.raises(RunError, match=f"auto has Ray 2.9.1, Python 3.10.2, this machine Ray {ray.__version__}"):
        connect_cluster("auto")


def test_no_cluster_and_no_client_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "init", refused(ConnectionError("Could not find any running Ray instance.")))
    with pytest.raises(RunError, match=r"No Ray cluster answers at this machine \('auto'\): start one"):
        connect_cluster("auto")
    monkeypatch.setattr(ray, "init", refused(ValueError("Ray Client requires pip package `ray[client]`.")))
    with pytest.raises(DependencyError, match=r"pip install '.\[cluster\]"):
        connect_cluster("local")
    monkeypatch.setattr(ray, "init", refused(RuntimeError("It burns.\nAt great length.")))
    with pytest.raises(RunError, match=r"The cluster at auto cannot be used: It burns\.$"):
        connect_cluster("auto")


def test_as_many_workers_as_gpus_hold_or_one_per_node() -> None:
    nodes = [{"CPU": 8.0, "GPU": 4.0}, {"CPU": 8.0, "GPU": 2.0}]
    assert fleet(nodes, gpus=1).size() == (1, 6)
    assert fleet(nodes, gpus=0.5).size() == (1, 12)
    assert fleet(nodes, gpus=4).size() == (1, 1)
    assert fleet(nodes).size() == (1, 2)


def test_what_no_node_has_is_named() -> None:
    nodes = [{"CPU": 8.0, "GPU": 4.0}, {"CPU": 8.0}]
    assert fleet(nodes, gpus=4).missing() == ""
    assert fleet(nodes, gpus=8).missing() == (
        "No node of the cluster has the 1 CPU and 8 GPUs of a worker (the most are 8 CPUs, 4 GPUs)"
    )


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (exceptions.OutOfMemoryError("Task was killed due to the node running low on memory."), WorkerDied, "memory"),
        (exceptions.RayTaskError("load", "trace", ModelError("no such folder")), ModelError, "no such folder"),
        (exceptions.RayTaskError("load", "trace", ValueError("a\nb")), WorkerDied, "failed: a."),
        (exceptions.RuntimeEnvSetupError("pip failed\nlong log"), RunError, "environment cannot be set up: "),
        (exceptions.ActorDiedError(), WorkerDied, "died (killed, out of memory, or crashed)."),
        (exceptions.RaySystemError(ModuleNotFoundError("No module named 'facevalue'")), RunError, "facevalue: install"),
        (exceptions.GetTimeoutError("late"), WorkerDied, "died"),
    ],
)
def test_errors_of_ray_are_one_sentence(error: Exception, kind: type[Exception], said: str) -> None:
    with pytest.raises((WorkerDied, FaceValueError)) as raised:
        fleet([], error=error).result(None)
    assert type(raised.value) is kind
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_cluster_that_is_gone_is_one_sentence() -> None:
    gone = fleet([])

    def wait(*_: Any, **__: Any) -> Any:
        raise exceptions.RaySystemError("GCS is down.\nAt great length.")

    gone._ray.wait = wait
    with pytest.raises(RunError, match=r"^The cluster answers no more \(.*GCS is down.*\)\. Everything stored") as told:
        gone.ended_calls(["a call"], 1.0)
    assert "\n" not in str(told.value)
