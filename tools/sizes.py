"""Sizes of what an install brings: of the package itself, and of each extra beside it.

    python -m tools.sizes docs/reference/sizes.md dist/*.whl

uv resolves; nothing is installed. A wheel's size is that of its file, as the index states it; an extra's is that of the
wheels that come with it and not without it. Needs the network.
"""

import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from packaging import tags
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).parents[1]
DEVELOPERS = {"dev", "servers"}
"""Extras for whoever works on FaceValue."""
PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14))
PYTHON = (3, 13)
"""Of the sizes in the table of extras."""
LINUX = [*(f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1)), "manylinux2014_x86_64", "linux_x86_64"]
SYSTEMS = {
    "Linux, x86-64": ("x86_64-manylinux_2_36", LINUX),
    "Windows, x86-64": ("x86_64-pc-windows-msvc", ["win_amd64"]),
    "macOS, Apple silicon": ("aarch64-apple-darwin", list(tags.mac_platforms((15, 0), "arm64"))),
}
"""For each system its name in uv, and the names of platforms in wheels that it takes."""
PAGE = """# Sizes of what an install brings

`pip install .` on Python {python} downloads {core}, with {packages} packages.
An extra adds what is not there yet. Sizes are those of the wheels as the package index states them, resolved
on {date} by `python -m tools.sizes`; unpacked they take about three times as much.
PyTorch from PyPI brings CUDA on Linux; builds for the processor alone are far smaller.

{extras}

## Systems and versions of Python

What `pip install .` downloads where. A dash stands where a package has no wheel and would have to be compiled.

{core_table}
"""


class MissingWheelError(Exception):
    """A package of an install has no wheel that fits."""


def resolve(extra: str | None, system: str, python: tuple[int, int]) -> dict[str, int]:
    """Bytes of the wheel of each package that an install brings."""
    name, platforms = SYSTEMS[system]
    options = ["--format", "pylock.toml", "--no-header", "--python-platform", name]
    options += ["--python-version", ".".join(map(str, python)), *(["--extra", extra] if extra else [])]
    command = ["uv", "pip", "compile", "--quiet", *options, str(ROOT / "pyproject.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise MissingWheelError(done.stderr.strip())
    fits = [*tags.cpython_tags(python, platforms=platforms), *tags.compatible_tags(python, platforms=platforms)]
    order = {tag: place for place, tag in enumerate(fits)}
    return {package["name"]: wheel_bytes(package, order) for package in tomllib.loads(done.stdout)["packages"]}


def wheel_bytes(package: Mapping[str, Any], order: Mapping[tags.Tag, int]) -> int:
    """Size of a package's wheel that fits best.

    Raises
    ------
    MissingWheelError
        No wheel fits.
    """
    fitting = [
        (min(order[tag] for tag in tagged), int(wheel["size"]))
        for wheel in package.get("wheels", ())
        if (tagged := parse_wheel_filename(wheel["url"].rpartition("/")[2])[3] & order.keys())
    ]
    if not fitting:
        raise MissingWheelError(f"{package['name']} has no wheel")
    return min(fitting)[1]


def megabytes(count: int) -> str:
    """Bytes in words."""
    return f"{count / 1e6:,.0f} MB" if count >= 10_000_000 else f"{count / 1e6:.1f} MB"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def extra_rows(itself: int, core: Mapping[str, int], system: str) -> Iterator[list[str]]:
    """Rows of the table of extras: the name, packages that come with it, and their size."""
    yield ["none", str(len(core) + 1), megabytes(itself + sum(core.values())), largest(core)]
    for extra in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]:
        if extra not in DEVELOPERS:
            added = {name: size for name, size in resolve(extra, system, PYTHON).items() if name not in core}
            yield [f"`{extra}`", f"+{len(added)}", f"+{megabytes(sum(added.values()))}", largest(added)]


def largest(sizes: Mapping[str, int]) -> str:
    """The three largest packages and their sizes, in words."""
    return ", ".join(f"{name} {megabytes(sizes[name])}" for name in sorted(sizes, key=lambda name: -sizes[name])[:3])


def core_row(itself: int, system: str) -> Iterator[str]:
    """A row of the table of systems: the size in each Python."""
    yield system
    for python in PYTHONS:
        try:
            yield megabytes(itself + sum(resolve(None, system, python).values()))
        except MissingWheelError as missing:
            sys.stderr.write(f"{system}, Python {python}: {missing}\n")
            yield "-"


def main() -> None:
    """Write the page."""
    page, wheel = sys.argv[1:]
    itself = Path(wheel).stat().st_size
    system = next(iter(SYSTEMS))
    core = resolve(None, system, PYTHON)
    words = {
        "python": f"Python {PYTHON[0]}.{PYTHON[1]} ({system})",
        "core": megabytes(itself + sum(core.values())),
        "packages": len(core) + 1,
        "date": datetime.now(UTC).date().isoformat(),
        "extras": table(["extra", "packages", "download", "largest"], list(extra_rows(itself, core, system))),
        "core_table": table(
            ["system", *(f"Python {major}.{minor}" for major, minor in PYTHONS)],
            [list(core_row(itself, name)) for name in SYSTEMS],
        ),
    }
    Path(page).write_text(PAGE.format(**words))


if __name__ == "__main__":
    main()
