"""What may happen to a run on a cluster besides killed workers: parts of Ray end, units fail, models stall.

`make test-cluster` runs it on a real cluster of this machine, two nodes where one of them is to end.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.parquet import read_table_of
from facevalue.runs.storage.units import run_numbers
from facevalue.store.objects import Objects
from facevalue.store.remote import listed_units, read_run
from tests.cluster.places import Driver, Place, environment, started, wait, workers

pytest.importorskip("ray", reason="no Ray here: make test-cluster installs it")
pytestmark = pytest.mark.slow
REQUESTS = 4000
FAST = "workers = 2\n[runtime_env.env_vars]\nNAP_SECONDS = '0.004'\n"


@contextmanager
def cluster(path: Path, *how: str, seconds: float = 0.004) -> Iterator[tuple[Place, Callable[[str], None]]]:
    """A cluster whose model takes so many seconds for an answer, and what ends a part of it."""
    path.mkdir(parents=True, exist_ok=True)
    env = environment(path, 9, seconds)
    with started("tests.cluster.ray_head", *how, env=env) as (head, address):

        def end(part: str) -> None:
            assert head.stdin is not None
            assert head.stdout is not None
            head.stdin.write(f"{part}\n")
            head.stdin.flush()
            assert head.stdout.readline() == "done\n"

        yield Place(address, env, path), end


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with cluster(tmp_path_factory.mktemp("cluster")) as (place, _):
        yield place


@contextmanager
def driving(place: Place, name: str, config: str) -> Iterator[Driver]:
    """A driver that ends with the block."""
    driver = Driver(place, name, config)
    try:
        yield driver
    finally:
        driver.process.kill()
        driver.process.wait()


def stored(place: Place, name: str) -> pl.DataFrame:
    """Every row of every unit."""
    objects = Objects.at((place.path / name).as_uri())
    found = [objects.get(one.key) for one in listed_units(objects)]
    return pl.concat([read_table_of(one[0]) for one in found if one is not None])


def check_whole(place: Place, name: str) -> None:
    """All is answered, and nothing twice."""
    rows, run = stored(place, name), read_run(Objects.at((place.path / name).as_uri()))[0]
    answers = rows.filter(pl.col("status") == "ok")
    assert answers.height == rows.select("trial", "repeat").n_unique() == run.counts.requests > 3000


def first_trial() -> int:
    """A trial of the run that is asked early."""
    study = fv.study("stylisticbias", faces="20").compiled
    return int(run_numbers(study, REQUESTS, 0, False).numbers_at(0, 1)[0])


def troubled(kind: str, once: Path | None, config: str = "workers = 2") -> str:
    """Settings of a cluster whose model has this trouble."""
    marker = f"\nNAP_ONCE = '{once}'" if once else ""
    return f"{config}\n[runtime_env.env_vars]\nNAP_TROUBLE = '{kind} {first_trial()}'{marker}\n"


def test_a_raylet_that_is_killed_takes_its_node_along_and_not_the_run(tmp_path: Path) -> None:
    with (
        cluster(tmp_path / "two", "--nodes") as (place, end),
        driving(place, "run", "workers = 2\nsilent_seconds = 20") as driver,
    ):
        assert wait(lambda: len(workers(place.path)) == 2)
        time.sleep(1)
        end("raylet")
        assert driver.ends() == 0, driver.said
        assert "Traceback" not in driver.said
        check_whole(place, "run")


def test_a_head_that_is_killed_ends_the_session_and_another_cluster_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "two"
    with cluster(path, "--nodes", seconds=0.1) as (place, end), driving(place, "run", "workers = 2") as driver:
        assert wait(lambda: len(workers(path)) == 2)
        time.sleep(2)
        alive = workers(path)
        end("head")
        assert driver.process.wait(400) != 0, driver.said
        assert wait(lambda: not set(alive) & set(workers(path)), 400), "workers outlive the head"
    again = Place("", place.env, path)
    with (
        started("tests.cluster.ray_head", env=place.env) as (_, address),
        driving(again._replace(address=address), "run", FAST) as driver,
    ):
        assert driver.ends() == 0, driver.said
    check_whole(again, "run")


@pytest.mark.parametrize(("kind", "said"), [("give up", "it burns"), ("crash", "died (killed, out of memory, or")])
def test_a_unit_that_fails_once_goes_to_another_worker(calm: Place, kind: str, said: str) -> None:
    once = calm.path / f"{kind}-happened"
    with driving(calm, f"{kind}-once", troubled(kind, once)) as driver:
        assert driver.ends() == 0, driver.said
    assert once.exists()
    assert said in driver.said
    assert "Its unit goes to another worker." in driver.said
    check_whole(calm, f"{kind}-once")


def test_requests_that_a_model_stumbles_over_fail_alone_and_the_command_asks_them_again(calm: Place) -> None:
    with driving(calm, "stumbles", troubled("raise", None)) as driver:
        assert driver.ends() != 0, driver.said
    assert "nap/default raised RuntimeError: it stumbles" in driver.said
    assert "Traceback" not in driver.said
    failed = stored(calm, "stumbles").filter(pl.col("status") != "ok").height
    assert 0 < failed < 200
    with driving(calm, "stumbles", "workers = 2") as driver:
        assert driver.ends() == 0, driver.said
    check_whole(calm, "stumbles")


@pytest.mark.parametrize("kind", ["give up", "crash"])
def test_a_unit_that_always_fails_is_given_up_the_others_are_done_and_the_command_goes_on(
    calm: Place, kind: str
) -> None:
    name = f"{kind}-always"
    with driving(calm, name, troubled(kind, None)) as driver:
        assert driver.ends() != 0, driver.said
    assert "is given up; the same command tries it again." in driver.said
    assert "Traceback" not in driver.said
    assert 0 < stored(calm, name).height < REQUESTS
    with driving(calm, name, "workers = 2") as driver:
        assert driver.ends() == 0, driver.said
    check_whole(calm, name)


def test_a_model_that_stalls_is_replaced(calm: Place) -> None:
    once = calm.path / "stalled"
    config = troubled("stall", once, "workers = 2\nstalled_seconds = 5")
    with driving(calm, "stalls", config) as driver:
        assert driver.ends() == 0, driver.said
    assert once.exists()
    assert "came no further for 5 s" in driver.said
    check_whole(calm, "stalls")


def test_a_second_driver_is_told_who_drives_and_changes_nothing(calm: Place) -> None:
    over = calm.path / "over"  # the first drives until then, however long the second takes to start
    config = f"workers = 1\n[runtime_env.env_vars]\nNAP_UNTIL = '{over}'"
    with driving(calm, "two", config) as first:
        assert wait(lambda: len(workers(calm.path)) >= 1)
        with driving(calm, "two", config) as second:
            assert second.ends() == 1
            assert f"is being driven by process {first.process.pid} on" in second.said
        over.touch()
        assert first.ends() == 0, first.said
    check_whole(calm, "two")
