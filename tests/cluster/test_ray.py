"""Runs on a real Ray cluster of this machine: `make test-cluster`."""

import os
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from tests.cluster.places import Driver, Place, environment, is_alive, started, wait, workers

pytest.importorskip("ray", reason="no Ray here: make test-cluster installs it")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    path = tmp_path_factory.mktemp("cluster")
    env = environment(path, 9, seconds=0.004)
    with started("tests.cluster.ray_head", env=env) as (_, address):
        yield Place(address, env, path)


@pytest.fixture
def drive(cluster: Place) -> Iterator[Callable[..., Driver]]:
    made: list[Driver] = []

    def begun(name: str, config: str = "workers = 2", *more: str) -> Driver:
        made.append(Driver(cluster, name, config, *more))
        return made[-1]

    yield begun
    for one in made:
        one.process.kill()
        one.process.wait()
    assert wait(lambda: not workers(cluster.path), 60), "workers outlive their driver"


Drive = Callable[..., Driver]


def test_ctrl_c_stores_what_came_and_leaves_the_cluster_clean(cluster: Place, drive: Drive) -> None:
    first = drive("stopped")
    assert wait(lambda: len(workers(cluster.path)) == 2)
    time.sleep(1)
    alive = workers(cluster.path)
    first.process.send_signal(signal.SIGINT)
    assert first.ends() == 130, first.said
    assert "The same command resumes." in first.said
    assert wait(lambda: not any(map(is_alive, alive)), 30)
    again = drive("stopped")
    assert again.ends() == 0, again.said
    assert "stored already" in again.said
    assert "was driving this run" not in again.said, "the lease was let go of"


def test_a_worker_that_hangs_is_noticed_and_its_unit_done_by_another(cluster: Place, drive: Drive) -> None:
    driver = drive("hung", "workers = 2\nsilent_seconds = 4")
    assert wait(lambda: len(workers(cluster.path)) == 2)
    hung = workers(cluster.path)[0]
    os.kill(hung, signal.SIGSTOP)
    try:
        assert driver.ends() == 0, driver.said
    finally:
        os.kill(hung, signal.SIGCONT) if is_alive(hung) else None
    assert "gave no sign of life for 4 s" in driver.said
    assert "Its unit goes to another worker." in driver.said
    assert "raylet" not in driver.said


def test_a_worker_that_no_node_has_room_for_is_said(drive: Drive) -> None:
    driver = drive("too-large", "gpus = 8\nstart_seconds = 3")
    assert driver.ends() == 1
    assert "has the 0.5 CPUs and 8 GPUs of a worker (the most are 2 CPUs, 0 GPUs): waiting 3 s for such a node." in (
        driver.said
    )
    assert "0 of 1 started in 3 s. Change what a worker needs, or start nodes; the same command goes on." in driver.said


def test_a_model_that_nodes_do_not_have_is_said_with_the_node(cluster: Place, drive: Drive) -> None:
    pytest.importorskip("transformers", reason="no local engine here: make engine installs it")
    missing = cluster.path / "no-such-model"
    driver = drive("no-model", "workers = 1", "--model", f"hf/{missing}")
    assert driver.ends() == 1
    assert str(missing) in driver.said
    assert "Traceback" not in driver.said


def test_workers_get_their_runtime_environment(cluster: Place, drive: Drive) -> None:
    """The model of another folder writes its marks there."""
    (cluster.path / "elsewhere").mkdir()
    marks = cluster.path / "elsewhere"
    driver = drive("environment", f"workers = 1\n[runtime_env.env_vars]\nNAP_LOG = '{marks}'\nNAP_SECONDS = '0'")
    assert driver.ends() == 0, driver.said
    assert sum(path.stat().st_size for path in marks.iterdir()) > 3000
