"""`facevalue doctor`: what is installed here, what a GPU allows, what is missing and how it is brought."""

import os
import platform
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from facevalue import __version__, packages, plugins
from facevalue.cli.exits import Exit
from facevalue.cli.output import Document, Output
from facevalue.gpus import Gpu, gpus
from facevalue.packages import APART, Extra, Package
from facevalue.places import cache_folder

if TYPE_CHECKING:
    from rich.console import RenderableType

_CPU = "+cpu"
"""End of the version of a PyTorch that no GPU is used by."""
_LITTLE = 5.0
"""GB of free disk below which a warning is given: a run with its pictures takes a few."""


@dataclass(frozen=True, slots=True)
class Disk:
    """A folder, and what is free on its disk."""

    purpose: str
    """What lies there: runs, or what is kept between them."""
    folder: str
    free_gb: float
    """In GB of 10^9 bytes."""


@dataclass(frozen=True)
class DoctorDocument(Document):
    """State of an installation."""

    FORMAT: ClassVar[str] = "doctor"
    python: str
    system: str
    """Operating system and kind of processor."""
    cores: int
    """Processor cores that this process may use."""
    memory_gb: float | None
    """Of the machine; null where that is not known."""
    needed: tuple[Package, ...]
    """Packages without which nothing works."""
    extras: tuple[Extra, ...]
    install: str
    """Command that brings all extras that are missing here; empty if none is."""
    gpus: tuple[Gpu, ...]
    """NVIDIA's, as its driver lists them."""
    torch: str | None
    """Version of PyTorch; null where it is not installed."""
    torch_uses_gpu: bool | None
    """Whether PyTorch is built for GPUs, by its version; null where it is not installed."""
    disks: tuple[Disk, ...]
    studies: tuple[str, ...]
    """Studies of other packages."""
    models: tuple[str, ...]
    """Kinds of models of other packages."""


def doctor() -> Output[DoctorDocument]:
    """Look at this installation; nothing that computes is imported, and no network is used."""
    extras = packages.extras()
    missing = [extra.name for extra in extras if not extra.complete and extra.name not in APART]
    torch = packages.installed_version("torch")
    document = DoctorDocument(
        platform.python_version(),
        f"{platform.system()} {platform.machine()}",
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        _memory(),
        packages.required_packages(),
        extras,
        packages.install_command(missing) if missing else "",
        gpus(),
        torch,
        None if torch is None else not torch.endswith(_CPU),
        (_disk("runs", Path()), _disk("pictures and what else is kept", cache_folder())),
        tuple(plugins.plugins(plugins.STUDIES, ())),
        tuple(plugins.plugins(plugins.MODELS, ())),
    )
    warnings = tuple(_warnings(document))
    status = Exit.DONE if all(package.state == "there" for package in document.needed) else Exit.REFUSED
    return Output(document, _text(document), status, warnings)


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):  # Windows has none of it
        return None


def _disk(purpose: str, folder: Path) -> Disk:
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    return Disk(purpose, str(folder), round(shutil.disk_usage(existing).free / 1e9, 1))


def _warnings(document: DoctorDocument) -> Iterator[str]:
    for package in document.needed:
        if package.state != "there":
            yield f"{_words(package)}: pip install --upgrade facevalue"
    if document.gpus and document.torch_uses_gpu is False:
        yield f"PyTorch {document.torch} is built without GPU: models on this machine will not use the one it has."
    for disk in document.disks:
        if disk.free_gb < _LITTLE:
            yield f"Only {disk.free_gb:g} GB are free for {disk.purpose} ({disk.folder})."


def _text(document: DoctorDocument) -> "Iterator[RenderableType]":
    from rich.markup import escape  # noqa: PLC0415 - JSON needs nothing of it
    from rich.table import Table  # noqa: PLC0415

    memory = "" if document.memory_gb is None else f", {document.memory_gb:g} GB of memory"
    cores = "1 core" if document.cores == 1 else f"{document.cores} cores"
    yield f"FaceValue {__version__}, Python {document.python}, {document.system}, {cores}{memory}"
    installed_count = sum(package.state == "there" for package in document.needed)
    yield f"Packages it needs: {installed_count} of {len(document.needed)} are there."
    yield from map(_gpu_line, document.gpus)
    if not document.gpus:
        yield "No NVIDIA GPU answers: models on this machine (hf/) run on the processor."
    yield "Free disk: " + ", ".join(
        f"{disk.free_gb:,.0f} GB for {disk.purpose} ({disk.folder})" for disk in document.disks
    )
    for noun, names in (("Studies", document.studies), ("Models", document.models)):
        if names:
            yield f"{noun} of other packages: {', '.join(names)}"
    yield ""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("extra", "for", "packages"):
        table.add_column(heading, overflow="fold")
    for extra in document.extras:
        state = _state(extra.packages) or "unknown to this installation"
        table.add_row(
            escape(extra.name), escape(extra.purpose), escape(state), style="" if extra.complete else "yellow"
        )
    yield table
    if document.install:
        yield ""
        yield f"What is missing: {document.install}"
    for extra in document.extras:
        if extra.name in APART and not extra.complete:
            yield f"In an environment of its own: {extra.install}"


def _gpu_line(gpu: Gpu) -> str:
    return (
        f"GPU {gpu.name}: {gpu.free_gb:g} of {gpu.memory_gb:g} GB free; models of up to about {gpu.largest_model:g} "
        f"billion weights in {gpu.dtype}"
    )


def _state(packages: Sequence[Package]) -> str:
    """Packages of an extra as a cell lists them, those that are missing first.

    Examples
    --------
    >>> _state([Package("torch", "2.8", None, "missing"), Package("pillow", "", "11.3", "there")])
    'missing: torch; pillow 11.3'
    """
    missing = ", ".join(package.name for package in packages if package.state == "missing")
    installed = ", ".join(_words(package) for package in packages if package.state != "missing")
    return "; ".join(part for part in (missing and f"missing: {missing}", installed) if part)


def _words(package: Package) -> str:
    """A package as a cell says it.

    Examples
    --------
    >>> _words(Package("torch", "2.8", "2.5.1", "too old")), _words(Package("vllm", "", None, "missing"))
    ('torch 2.5.1 is too old (2.8 or later)', 'vllm is missing')
    """
    if package.state == "missing":
        return f"{package.name} is missing"
    late = f" is too old ({package.least} or later)" if package.state == "too old" else ""
    return f"{package.name} {package.version}{late}"
