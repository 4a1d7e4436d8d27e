"""`facevalue doctor`: what is installed here, what a GPU allows, what is missing and how it is brought."""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from facevalue import __version__, plugins
from facevalue.cli.command import Exit
from facevalue.cli.output import Document, Output
from facevalue.places import cache_folder

if TYPE_CHECKING:
    from rich.console import RenderableType

_QUERY = ("name", "memory.total", "memory.free", "compute_cap", "driver_version")
_SECONDS = 10
"""Longest wait for the driver, which may hang where a GPU is broken."""
_MIB = 2**20
BFLOAT16 = 8.0
"""Compute capability from which a GPU has bfloat16."""
_BYTES, _WEIGHTS = 2, 0.8
"""Bytes of a weight in 16 bits; share of the memory that weights may take, the rest being for pictures and replies."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU, and what it allows."""

    name: str
    memory_gb: float
    """In GB of 10^9 bytes."""
    free_gb: float
    compute_capability: str
    driver: str
    dtype: str
    """Number format to load models in: bfloat16, or float16 on a GPU that has none."""
    largest_model: float
    """Billions of weights of the largest model that fits into the whole memory in that format, a fifth left for the
    rest; by arithmetic."""


def gpus() -> tuple[Gpu, ...]:
    """NVIDIA's GPUs; none where its driver does not answer."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return ()
    query = [command, f"--query-gpu={','.join(_QUERY)}", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(parse_gpus(answer.stdout)) if answer.returncode == 0 else ()


def parse_gpus(text: str) -> Iterator[Gpu]:
    """GPUs of what the driver lists; lines that cannot be read are none.

    Examples
    --------
    >>> (gpu,) = parse_gpus("NVIDIA H100 80GB HBM3, 81559, 81008, 9.0, 550.54")
    >>> gpu.dtype, gpu.memory_gb, gpu.largest_model
    ('bfloat16', 85.5, 34.0)
    """
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(_QUERY):
            continue
        name, total, free, capability, driver = cells
        try:
            memory, left, level = float(total) * _MIB / 1e9, float(free) * _MIB / 1e9, float(capability)
        except ValueError:  # "[N/A]": a part of a GPU, or one that is broken
            continue
        dtype = "bfloat16" if level >= BFLOAT16 else "float16"
        largest = round(memory * _WEIGHTS / _BYTES)
        yield Gpu(name, round(memory, 1), round(left, 1), capability, driver, dtype, float(largest))


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


def list_extras() -> tuple[Extra, ...]:
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
        match = _REQUIREMENT.match(line)
        if match is not None and (match["extra"] or "") == extra:
            yield package(match["name"], match["least"] or "")


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
    extras = list_extras()
    missing = [extra.name for extra in extras if not extra.complete and extra.name not in APART]
    torch = installed_version("torch")
    document = DoctorDocument(
        platform.python_version(),
        f"{platform.system()} {platform.machine()}",
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        _memory(),
        required_packages(),
        extras,
        install_command(missing) if missing else "",
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
