"""Stored runs and what is estimated from them: the commands that made both, by `python -m tests.golden.cases`.

Runs are made once and stay as they are, so that what reads them is tested with runs of before. The tables are made
again, from the runs that are there, where estimates are meant to change.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl

import facevalue as fv

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
OWN = ("hiring-screen", "caption-assistant")

RUNS: dict[str, tuple[str, ...]] = {
    "stylisticbias": ("stylisticbias", "--faces", "6", "--scenarios", "polite,wealthy", "--seeds", "1"),
    "stylisticbias-mumbler": ("stylisticbias", "--faces", "6", "--scenarios", "polite,wealthy", "--seeds", "1"),
    "stylisticbias-sampled": ("stylisticbias", "--faces", "6", "--scenarios", "polite", "--sample", "1000"),
    "stylisticbias-exact": (
        *("stylisticbias", "--faces", "4", "--scenarios", "polite", "--attributes", "eyewear,hair_color"),
        *("--exact", "--with", "debiasing", "--with", "blank-image"),
    ),
    "vignette": (
        *("vignette", "--dimension", "age", "--activity", "cooking,eating"),
        *("--paradigm", "decision,stereotype,factuality", "--people", "2"),
    ),
    "vignette-places": (
        *("vignette", "--dimension", "age", "--gender", "male", "--activity", "cooking", "--paradigm", "decision"),
        *("--reference", "identity,position", "--shown", "picture,text"),
    ),
    "visbias": ("visbias", "--forms", "3", "--descriptions", "2", "--pairs", "30"),
    "modscan": ("modscan", "--instances", "nurse,pilot,cook,poor,slob", "--with", "vis-debiasing"),
    "counterfactuals": ("counterfactuals", "--sets", "4", "--prompt", "all"),
    "hiring-screen": ("hiring-screen.toml",),
    "caption-assistant": ("caption-assistant.toml",),
}
"""What is run, always with the simulated model `sim/default`, or the one that the name ends in."""
AFTER: dict[str, tuple[tuple[str, ...], ...]] = {
    "visbias": (("judge", "--model", "sim/default"),),
    "counterfactuals": (("annotate", "--scorer", "lexical"), ("judge", "--model", "sim/default")),
}
"""What is done with a run before it is measured."""
TABLES: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in RUNS},
    "stylisticbias-two-models": ("stylisticbias", "stylisticbias-mumbler"),
}
"""Runs that a table of estimates is of."""
FAST = ("stylisticbias-sampled", "vignette-places", "hiring-screen", "caption-assistant")
"""Tables that take little time; `make test-slow` makes all of them."""


def facevalue(*args: str, folder: Path) -> None:
    """Run a command there."""
    subprocess.run([sys.executable, "-m", "facevalue", *args], cwd=folder, check=True)


def unpacked(folder: Path) -> Path:
    """All stored runs, unpacked there."""
    for archive in sorted(GOLDEN.glob("*.tar.xz")):
        shutil.unpack_archive(archive, folder, filter="data")
    return folder


def estimated(folder: Path, name: str) -> pl.DataFrame:
    """All estimates of a table, from the answers."""
    first, *others = (fv.open_run(folder / run) for run in TABLES[name])
    return first.estimates(others=others)


def made(folder: Path) -> Iterator[str]:
    """Make the runs that are not there; return their names."""
    for study in OWN:
        if not (folder / f"{study}.toml").exists():
            like = ("--like", study) if study != OWN[0] else ()
            facevalue("new", f"{study}.toml", *like, folder=folder)
    for name, what in RUNS.items():
        if not (folder / name).exists():
            model = "mumbler" if name.endswith("mumbler") else "default"
            facevalue("run", *what, "--model", f"sim/{model}", "--out", name, folder=folder)
            for command, *options in AFTER.get(name, ()):
                facevalue(command, name, *options, folder=folder)
            yield name


def main() -> None:
    """Make what is missing, and all tables of estimates."""
    GOLDEN.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        folder = unpacked(Path(place))
        for name in list(made(folder)):
            (folder / name / "estimates.parquet").unlink(missing_ok=True)
            shutil.make_archive(str(GOLDEN / name), "xztar", folder, name)
        for name in TABLES:
            estimated(folder, name).write_parquet(GOLDEN / f"{name}.parquet", compression_level=19)


if __name__ == "__main__":
    main()
