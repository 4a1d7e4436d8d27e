"""Settings of a cluster and its address: what is wrong is one sentence."""

import builtins
import socket
from pathlib import Path
from typing import Any

import pytest

from facevalue.cluster.fleet import connect_cluster
from facevalue.cluster.workers import ClusterSettings, read_settings
from facevalue.errors import DependencyError, FaceValueError, RunError


def test_a_file_says_what_workers_need(tmp_path: Path) -> None:
    path = tmp_path / "cluster.toml"
    path.write_text('workers = [2, 16]\ngpus = 0.5\n[runtime_env]\nenv_vars = { A = "1" }\n')
    assert read_settings("auto", path) == ClusterSettings(
        workers=(2, 16), gpus=0.5, runtime_env={"env_vars": {"A": "1"}}
    )
    path.write_text("workers = 4")
    assert read_settings("local", path) == ClusterSettings("local", workers=(4, 4))
    assert read_settings("auto", None) == ClusterSettings()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpu = 1", "cluster.toml: line 1: Unknown key 'gpu'. Did you mean 'cpus' or 'gpus'?"),
        ("gpus = 1.5", "line 1: 'gpus' is a whole number, or a share of one GPU."),
        ("\ncpus = 0", "line 2: 'cpus' is a number above 0."),
        ("workers = [8, 2]", "line 1: 'workers' are at least 8, at most 2: write the fewest first."),
        ("workers = 'all'", "'workers' is a number of them, or the fewest and the most: [1, 16]."),
        ("attempts = 0", "'attempts' is a whole number from 1."),
        ("runtime_env = 'x'", "'runtime_env' is a table"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "cluster.toml"
    path.write_text(text)
    with pytest.raises(FaceValueError) as error:
        read_settings("auto", path)
    assert said in str(error.value)


def test_a_cluster_without_ray_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *given: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "ray":
            raise ImportError(name)
        return real(name, *given, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DependencyError, match=r"pip install '.\[cluster\]"):
        connect_cluster("auto")


def test_a_cluster_that_does_not_answer_is_named_at_once() -> None:
    pytest.importorskip("ray", reason="no Ray here: make test-cluster installs it")
    with socket.socket() as one:  # bound and not listening: nobody else has the port
        one.bind(("127.0.0.1", 0))
        for address in (f"ray://127.0.0.1:{one.getsockname()[1]}", f"127.0.0.1:{one.getsockname()[1]}"):
            with pytest.raises(RunError, match=f"No Ray cluster answers at {address}"):
                connect_cluster(address)
    with pytest.raises(RunError, match="'nonsense' is no address of a cluster"):
        connect_cluster("nonsense")
