"""Wheel and source archive of the commit that is checked out, built twice in two places: the same bytes, or no release.

    python -m tools.release dist

Both builds see nothing but what git tracks. Between them folder, order and times of the files, rights, time zone and
hash seed differ; the date in both archives is that of the commit. The wheel is built from the source archive, as it is
by whoever installs that. `SHA256SUMS` is of all files that are then in the folder.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
LONGEST = 150
"""Characters of a path: Windows allows 260, and Python's own folder of packages takes up to about 100 of them."""
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
_FORBIDDEN = re.compile(r'[<>:"\\|?*\x00-\x1f]|[. ]$')


def git(*words: str, root: Path = ROOT) -> str:
    """Answer of git about a folder."""
    command = ["git", *words]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout  # noqa: S603


def tracked(root: Path = ROOT) -> tuple[str, ...]:
    """Paths of all files that git tracks, in its order."""
    return tuple(name for name in git("ls-files", "-z", root=root).split("\0") if name)


def path_faults(names: Iterable[str]) -> Iterator[str]:
    """Sentences about paths that Windows or macOS cannot hold, or hold as the same file as another."""
    seen: dict[str, str] = {}
    for name in names:
        for part in PurePosixPath(name).parts:
            if _RESERVED.fullmatch(part) or _FORBIDDEN.search(part):
                yield f"{name}: Windows allows no file {part!r}"
        if len(name) > LONGEST:
            yield f"{name}: {len(name)} characters; paths have at most {LONGEST}"
        if (same := seen.setdefault(unicodedata.normalize("NFC", name).casefold(), name)) != name:
            yield f"{name} and {same} are one file where case does not matter"


def copy(names: Iterable[str], folder: Path, seconds: int, root: Path = ROOT) -> None:
    """Lay files out in an empty folder, all with one time and with rights for their owner alone."""
    for name in names:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, place)
        place.chmod((root / name).stat().st_mode & 0o700)
        os.utime(place, (seconds, seconds))


def build(tree: Path, out: Path, environment: Mapping[str, str], umask: int) -> None:
    """Build the source archive of a tree, and the wheel from that archive."""

    def hatchling(target: str, folder: Path) -> None:
        command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
        quiet = subprocess.DEVNULL
        subprocess.run(command, cwd=folder, env=environment, umask=umask, check=True, stdout=quiet)  # noqa: S603

    hatchling("sdist", tree)
    (archive,) = out.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as place, tarfile.open(archive) as members:
        members.extractall(place, filter="data")
        (unpacked,) = Path(place).iterdir()
        hatchling("wheel", unpacked)


def build_twice(out: Path, epoch: int, root: Path = ROOT) -> None:
    """Build into a folder; end with a sentence if a second build elsewhere differs in a byte.

    Parameters
    ----------
    out
        Where wheel and source archive are written.
    epoch
        Date in the archives, in seconds since 1970 (`SOURCE_DATE_EPOCH`).
    root
        Work tree of which the tracked files are built.
    """
    names = tracked(root)
    if faults := list(path_faults(names)):
        raise SystemExit("\n".join(faults))
    common = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        first, second, again = (Path(place) / name for name in ("one", "another/place", "again"))
        copy(names, first, epoch, root)
        build(first, out, {**common, "TZ": "UTC", "PYTHONHASHSEED": "0"}, 0o022)
        copy(reversed(names), second, epoch - 86_400, root)
        build(second, again, {**common, "TZ": "Pacific/Auckland", "PYTHONHASHSEED": "1"}, 0o077)
        for archive in sorted(again.iterdir()):
            if archive.read_bytes() != (out / archive.name).read_bytes():
                raise SystemExit(f"{archive.name} differs between two builds of the same files: not released.")


def write_sums(folder: Path) -> None:
    """Write the digests of all files of a folder, as `sha256sum --check` reads them."""
    files = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    lines = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (folder / "SHA256SUMS").write_text("".join(lines))


def main() -> None:
    """Build the commit that is checked out."""
    if changed := git("status", "--porcelain"):
        raise SystemExit(f"A release is of a commit. Not committed:\n{changed}")
    out = Path(sys.argv[1]).resolve()
    build_twice(out, int(git("log", "-1", "--format=%ct")))
    write_sums(out)
    sys.stdout.write((out / "SHA256SUMS").read_text())


if __name__ == "__main__":
    main()
