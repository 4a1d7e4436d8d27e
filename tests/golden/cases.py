"""Golden answers and estimates: stored runs of every study, their answers, and what is estimated and said of them.

`python -m tests.golden.cases` makes what is missing, and all tables anew. A stored run stays as it is; its answers are
there as a table as well (`facevalue export`), which does not depend on how trials are numbered.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

import facevalue as fv
from facevalue.annotations.scorers import Scoring
from facevalue.report.collect import report
from facevalue.runs.judging import annotate
from facevalue.runs.progress import SilentProgress
from facevalue.runs.stored_run import StoredRun
from tests.combinations.places import furnish

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
TEMPLATES = ("hiring-screen", "caption-assistant")
SENTENCES = GOLDEN / "sentences.json"

RUNS: dict[str, tuple[str, ...]] = {
    "stylisticbias": (
        "stylisticbias",
        "--faces",
        "6",
        "--faces-seed",
        "2",
        "--scenario",
        "polite,wealthy",
        "--seeds",
        "1",
    ),
    "stylisticbias-mumbler": (
        *("stylisticbias", "--faces", "6", "--faces-seed", "2", "--scenario", "polite,wealthy", "--seeds", "1"),
    ),
    "stylisticbias-strong": (
        "stylisticbias",
        "--faces",
        "6",
        "--faces-seed",
        "2",
        "--scenario",
        "polite,wealthy",
        "--seeds",
        "1",
    ),
    "stylisticbias-sampled": ("stylisticbias", "--faces", "6", "--scenario", "polite", "--sample", "1000"),
    "stylisticbias-exact": (
        *("stylisticbias", "--faces", "4", "--scenario", "polite", "--attributes", "eyewear,hair_color"),
        *("--exact", "--with", "debiasing", "--with", "blank-image"),
    ),
    "stylisticbias-list": ("stylisticbias", "--manifest", "people.csv", "--scenario", "wealthy"),
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
    "counterfactuals-tails": (
        "counterfactuals",
        "--sets",
        "60",
        "--prompt",
        "keywords,hiring",
        "--subset",
        "physical-gender",
    ),
    "bbq-v": ("bbq-v", "--manifest", "rows.csv"),
    "gras": ("gras", "--manifest", "people.csv", "--trait", "kind,greedy"),
    "reflect": ("reflect", "--manifest", "sets.csv"),
    "beauty": ("beauty", "--manifest", "people.csv"),
    "beyond-demographics": ("beyond-demographics", "--manifest", "people.csv"),
    "blinded": ("blinded", "--manifest", "people.csv", "--seeds", "1"),
    "pairs": ("pairs.toml",),
    "tasks": ("tasks.toml",),
    "listed": ("listed.toml",),
    "told": ("told.toml",),
    "judged": ("judged.toml",),
    "hiring-screen": ("hiring-screen.toml", "--with", "debiasing"),
    "caption-assistant": ("caption-assistant.toml",),
}
"""What is run, always with the simulated model `sim/default`, or the one that the name ends in."""
AFTER: dict[str, tuple[tuple[str, ...], ...]] = {
    "visbias": (("judge", "--model", "sim/default"),),
    "judged": (("judge", "--model", "sim/default"),),
    "counterfactuals": (("annotate", "--scorer", "lexical"), ("judge", "--model", "sim/default")),
}
"""What is done with a run before it is measured."""
HASHED = ("counterfactuals-tails",)
"""Runs whose texts are scored by their hashes, so that their ranges differ."""
TABLES: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in RUNS},
    "stylisticbias-two-models": ("stylisticbias-strong", "stylisticbias"),
}
"""Runs that a table of estimates is of."""


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


def answered(folder: Path, name: str) -> pl.DataFrame:
    """The answers of a run, without what only its store needs."""
    table = fv.open_run(folder / name).answers()
    return table.drop("trial", "latency_ms", "at", "request", strict=False)


def sentences(folder: Path, name: str) -> dict[str, object]:
    """What the page of a table says: headline, strongest findings, changes, cards of checks, examples in order."""
    runs = [StoredRun.open(folder / run) for run in TABLES[name]]
    page = report(runs, folder / f"{name}.html").page()
    cards = {card["name"]: f"{card['status']}: {card['value']}" for card in page["cards"]}
    parts = {name: page[name] for name in ("headline", "strongest", "interventions")}
    return json.loads(json.dumps({**parts, "cards": cards, "examples": list(_examples(page["sections"]))}))


def _examples(part: Any) -> Iterator[str]:
    """Findings of the examples that stand anywhere in a part of a page."""
    if isinstance(part, dict):
        if part.get("kind") == "answers":
            yield from (f"{answer['finding']} | {answer['title']}" for answer in part["answers"])
        else:
            yield from (finding for inner in part.values() for finding in _examples(inner))
    elif isinstance(part, list):
        yield from (finding for inner in part for finding in _examples(inner))


class HashScorer:
    """Scores of texts between 0 and 1 by their hashes, most of them small."""

    name, called, version, digest = "hashed", "hashed", "1", ""
    labels, at_once = ("hostility",), 10_000

    def score(self, texts: Sequence[str]) -> Scoring:
        digests = (hashlib.sha256(text.encode()).digest() for text in texts)
        return Scoring({"hostility": [(int.from_bytes(digest[:4], "big") / 2**32) ** 4 for digest in digests]})

    def close(self) -> None:
        pass


def made(folder: Path) -> Iterator[str]:
    """Make the runs that are not there; return their names."""
    if all((folder / name).exists() for name in RUNS):
        return
    furnish(folder, persons=24, scenes=12, templates=12)
    for name in TEMPLATES:
        facevalue("new", f"{name}.toml", "--like", name, folder=folder)
    for name, what in RUNS.items():
        if not (folder / name).exists():
            model = name.rpartition("-")[2] if name.endswith(("mumbler", "strong")) else "default"
            facevalue("run", *what, "--model", f"sim/{model}", "--out", name, folder=folder)
            for command, *options in AFTER.get(name, ()):
                facevalue(command, name, *options, folder=folder)
            if name in HASHED:
                annotate(StoredRun.open(folder / name), HashScorer(), SilentProgress())
            yield name


def main() -> None:
    """Make what is missing, and all tables."""
    GOLDEN.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        folder = unpacked(Path(place))
        for name in list(made(folder)):
            (folder / name / "estimates.parquet").unlink(missing_ok=True)
            shutil.make_archive(str(GOLDEN / name), "xztar", folder, name)
            answered(folder, name).write_parquet(GOLDEN / f"{name}.answers.parquet", compression_level=19)
        for name in TABLES:
            estimated(folder, name).write_parquet(GOLDEN / f"{name}.parquet", compression_level=19)
        told = {name: sentences(folder, name) for name in TABLES}
        SENTENCES.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
