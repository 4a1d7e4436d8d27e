"""`facevalue doctor`: what it says of an installation, and what it does not import for that."""

import json
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from facevalue.cli.actions import doctor as command
from facevalue.cli.actions.doctor import parse_gpus
from facevalue.cli.command import Exit
from tests.cli.conftest import Command
from tests.test_layers import HEAVY
from tests.test_startup import COMPUTES, imported_by_command
from tests.test_startup import packages as packages_of

ROOT = Path(__file__).parents[2]
OF_DEVELOPERS = {"dev", "servers"}
H100 = "NVIDIA H100 80GB HBM3, 81559, 81008, 9.0, 550.54"


def with_packages(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    """Have these packages installed in these versions, and no others of FaceValue's extras."""
    required = [
        "click>=8.2",
        "numpy>=2.1",
        "accelerate>=1.10; extra == 'hf'",
        'torch>=2.8; python_version < "4" and extra == "hf"',
        "ray[client]>=2.50; extra == 'cluster'",
        "vllm>=0.12; extra == 'vllm'",
    ]
    monkeypatch.setattr(command, "requires", lambda _: required)

    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(command, "version", version)


def test_the_extras_are_those_of_the_package_and_each_says_what_it_is_for() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(command.EXTRAS) == set(declared) - OF_DEVELOPERS
    used = {
        extra
        for path in (ROOT / "src").rglob("*.py")
        for extra in re.findall(r'DependencyError\([^)]*, "([a-z]+)"\)', path.read_text())
    }
    assert used <= set(command.EXTRAS)


def test_what_is_missing_is_said_with_the_command_that_brings_it(
    facevalue: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_packages(monkeypatch, click="8.2.1", numpy="2.4.0", accelerate="1.15", torch="2.5.1+cpu")
    shown = facevalue("doctor")
    assert shown.status == Exit.DONE
    assert "2 of 2 are there" in shown.out
    document = json.loads(facevalue("doctor", "--json").out)
    extras = {extra["name"]: extra for extra in document["extras"]}
    assert [package["state"] for package in extras["hf"]["packages"]] == ["there", "too old"]
    assert extras["cluster"]["packages"][0]["name"] == "ray"
    assert extras["cluster"]["install"] == "pip install '.[cluster]'"
    assert "hf" in document["install"]
    assert "vllm" not in document["install"], "it pins what the others want otherwise"
    assert f"What is missing: {document['install']}" in shown.out
    assert "In an environment of its own: pip install '.[vllm]'" in shown.out


@pytest.mark.parametrize("versions", [{"click": "8.2"}, {"click": "8.1.9", "numpy": "2.1"}], ids=["missing", "old"])
def test_an_installation_that_cannot_work_is_refused(
    versions: dict[str, str], facevalue: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_packages(monkeypatch, **versions)
    shown = facevalue("doctor")
    assert shown.status == Exit.REFUSED
    assert "1 of 2 are there" in shown.out
    assert "pip install --upgrade facevalue" in shown.err


def test_a_gpu_says_what_fits_and_a_pytorch_without_it_is_warned_about(
    facevalue: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_packages(monkeypatch, click="9", numpy="3", torch="2.13.0+cpu")
    monkeypatch.setattr(command, "gpus", lambda: tuple(parse_gpus(f"{H100}\nTesla T4, 15360, 100, 7.5, 550.54")))
    shown = facevalue("doctor")
    assert "84.9 of 85.5 GB free; models of up to about 34 billion weights in bfloat16" in shown.out
    assert "6 billion weights in float16" in shown.out
    assert "2.13.0+cpu is built without GPU" in shown.err
    monkeypatch.setattr(command, "gpus", tuple)
    shown = facevalue("doctor")
    assert "No NVIDIA GPU answers" in shown.out
    assert shown.err == ""


@pytest.mark.parametrize(
    "text", ["", "NVIDIA-SMI has failed", "H100, [N/A], [N/A], 9.0, 550.54", "a, b, c", f"{H100}, more"]
)
def test_what_the_driver_says_may_be_anything(text: str) -> None:
    assert list(parse_gpus(text)) == []


@pytest.mark.parametrize("ends", ["exit 1", "sleep 60"])
def test_a_driver_that_fails_or_hangs_is_no_gpu(ends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text(f"#!/bin/sh\necho '{H100}'\n{ends}\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(command, "_SECONDS", 0.5)
    assert command.gpus() == ()


def test_little_disk_is_warned_about(facevalue: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_LITTLE", 1e9)
    assert "GB are free for runs (.)" in facevalue("doctor").err


def test_it_fits_one_screen_and_imports_nothing_that_computes(facevalue: Command) -> None:
    assert len(facevalue("doctor").out.splitlines()) <= 30
    modules = imported_by_command("doctor")
    assert not packages_of(modules) & (HEAVY | (COMPUTES - {"rich"}))
