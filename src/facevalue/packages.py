"""Packages that FaceValue needs or can use: which are installed, from their metadata. None of them is imported."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Literal

EXTRAS = {
    "hf": "models on this machine, in PyTorch (hf/)",
    "vllm": "models on this machine, by vLLM (vllm/)",
    "pictures": "pictures made on this machine (diffusers/)",
    "checks": "checks of pictures: faces and identity",
    "cloud": "runs in object storage (s3://, gs://, az://)",
    "cluster": "runs on a Ray cluster",
    "inspect": "Inspect: its providers' models (inspect/PROVIDER/NAME), studies as its tasks",
    "view": "the viewer: facevalue view",
    "plot": "charts of estimates in notebooks",
    "text": "sentiment of texts",
}
"""Extras that users install, and what each is for."""
APART = ("vllm",)
"""Extras that are best in an environment of their own: they pin packages that others want in another version."""
_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*(?:>=(?P<least>[0-9.]+))?\s*(?:;.*extra == ['\"](?P<extra>[^'\"]+))?"
)


@dataclass(frozen=True, slots=True)
class Package:
    """A package by its name in a registry."""

    name: str
    least: str
    """Lowest version that will do; empty if any does."""
    version: str | None
    """Installed version; null where it is missing."""
    state: Literal["there", "too old", "missing"]


@dataclass(frozen=True, slots=True)
class Extra:
    """An extra of FaceValue."""

    name: str
    purpose: str
    """What it is for."""
    complete: bool
    """Whether all of its packages are there."""
    packages: tuple[Package, ...]
    """Empty where the metadata of the installation are older than the code, and do not know the extra."""
    install: str
    """Command that brings what is missing; empty if nothing is."""


def required_packages() -> tuple[Package, ...]:
    """Packages without which FaceValue does not work."""
    return tuple(_packages(""))


def extras() -> tuple[Extra, ...]:
    """Extras, whether they are installed or not."""
    out = []
    for name, purpose in EXTRAS.items():
        packages = tuple(_packages(name))
        complete = bool(packages) and all(package.state == "there" for package in packages)
        out.append(Extra(name, purpose, complete, packages, "" if complete else install_command([name])))
    return tuple(out)


def install_command(names: Sequence[str]) -> str:
    """The command that installs extras.

    Examples
    --------
    >>> install_command(["hf", "plot"])
    "pip install '.[hf,plot]'"
    """
    return f"pip install '.[{','.join(names)}]'"


def installed_version(package: str) -> str | None:
    """The version of a package; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _packages(extra: str) -> Iterator[Package]:
    for line in requires("facevalue") or ():
        parts = _REQUIREMENT.match(line)
        if parts is not None and (parts["extra"] or "") == extra:
            yield package(parts["name"], parts["least"] or "")


def package(name: str, least: str = "") -> Package:
    """Look a package up.

    Examples
    --------
    >>> package("click", "8.2").state, package("click", "999").state, package("no-such-package").state
    ('there', 'too old', 'missing')
    """
    now = installed_version(name)
    if now is None:
        return Package(name, least, None, "missing")
    return Package(name, least, now, "there" if _release(now) >= _release(least) else "too old")


def _release(text: str) -> list[int]:
    """The numbers of a version, without what follows them: 2.8.0+cpu is [2, 8, 0]."""
    numbers = re.match(r"[0-9]+(\.[0-9]+)*", text)
    return [] if numbers is None else [int(number) for number in numbers[0].split(".")]
