"""Processor time and memory of `facevalue measure`: 5 million answers of StylisticBias, 2 million of VIGNETTE.

Run with `python -m benchmarks.bench_measure`. StylisticBias is answered by a simulated respondent; of VIGNETTE's whole
design a sample is answered at random, as drawing its pictures takes longer than all else. Runs are made first, in
`--folder`, where those that are there are not made again, or in one that is removed in the end; then each is measured
in a process of its own. `--before COMMIT` also measures another version of the package; both take turns. `--out` names
the table.
"""

import argparse
import compileall
import csv
import os
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from benchmarks._harness import Result, at_most, finish, fresh, peak_mb

ROOT = Path(__file__).parents[1]
ROUNDS = 3
SIZES = {"stylisticbias": 5_017_800, "vignette": 2_000_000}
"""Answers of each study."""
BARS = {"stylisticbias": (12, 700), "vignette": (20, 1000)}
"""Processor seconds and MB that measuring them may take."""
_TOGETHER = 50_000  # answers of a shard


def answer_stylisticbias(folder: str) -> None:
    """Have a simulated respondent answer about 500 people."""
    from facevalue import studies
    from facevalue.models import load
    from facevalue.runs import RunSettings, run

    study = studies.build("stylisticbias", {"faces": "274M,226F"})
    run(study, load("sim/strong"), Path(folder), RunSettings(check=False))


def answer_vignette(folder: str) -> None:
    """Store random answers about a sample of the whole design, 2% of them no answer."""
    from facevalue import studies
    from facevalue.models import load
    from facevalue.runs import RunSettings, run
    from facevalue.store.manifest import read_manifest, write_manifest
    from facevalue.store.schema import RESPONSES, TIMED
    from facevalue.store.shards import shard_paths, write_shard

    study, place, size = studies.build("vignette", {}), Path(folder), SIZES["vignette"]
    run(study, load("sim/default"), place, RunSettings(check=False, sample=100))
    for path in shard_paths(place):
        path.unlink()
    facts, rng = read_manifest(place), np.random.default_rng(1)
    numbers = rng.permutation(study.sample(size, facts.seed, 1))
    for start in range(0, size, _TOGETHER):
        trials = numbers[start : start + _TOGETHER]
        choice, has_answer = rng.random(trials.size), rng.random(trials.size) > 0.02
        options = (question.options for question in study.ask(study.design.trials(trials)))
        texts = [
            of[int(share * len(of))].text if valid else "I cannot tell."
            for of, share, valid in zip(options, choice, has_answer, strict=True)
        ]
        rows = pl.DataFrame({"trial": trials, "text": texts, "request": trials, "at": start + np.arange(trials.size)})
        rows = rows.with_columns(status=pl.lit("ok"), repeat=pl.lit(0), latency_ms=pl.lit(0.0))
        nothing = [pl.lit(None).alias(name) for name in RESPONSES if name not in rows.columns]
        stored = rows.with_columns(nothing).select(pl.col(name).cast(dtype) for name, dtype in TIMED.items())
        write_shard(place, 1 + start // _TOGETHER, stored, facts.id)
    write_manifest(place, replace(facts, sample=size, shards=tuple(path.name for path in shard_paths(place))))


def measure(folder: str) -> list[float]:
    """Processor seconds of a measure, imports among them, and peak memory in MB."""
    from facevalue.runs.joined_runs import estimate
    from facevalue.runs.stored_run import StoredRun

    estimates, _ = estimate([StoredRun.open(Path(folder))])
    assert estimates.height > 1000
    times = os.times()
    return [times.user + times.system, peak_mb()]


def sources(before: str | None, aside: Path) -> Iterator[tuple[str, Path | None]]:
    """Names and folders of the versions of the package that are measured."""
    if before:
        archive = aside / "before.tar"
        subprocess.run(["git", "archive", "--output", archive, before, "src"], cwd=ROOT, check=True)
        with tarfile.open(archive) as packed:
            packed.extractall(aside, filter="data")
        yield "before", aside / "src"
    compileall.compile_dir(aside, quiet=1)  # or the first round of either version would compile its modules
    compileall.compile_dir(ROOT / "src", quiet=1)
    yield "now", None


def write_table(path: Path, rows: Sequence[tuple[str, str, float, float]]) -> None:
    """Write what was measured: study, version, processor seconds, MB."""
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["study", "answers", "version", "cpu_seconds", "peak_mb"])
        table.writerows([study, SIZES[study], version, f"{cpu:.1f}", f"{mb:.0f}"] for study, version, cpu, mb in rows)


def main() -> None:
    """Run all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", metavar="COMMIT", help="also measure this version of the package")
    parser.add_argument("--folder", help="of the runs; a temporary one by default")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "measure.csv", help="the table")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="in each of which every case is measured once")
    arguments = parser.parse_args()
    rows = []
    with TemporaryDirectory() as aside:
        folder = Path(arguments.folder or aside)
        versions = dict(sources(arguments.before, Path(aside)))
        for study, answer in (("stylisticbias", answer_stylisticbias), ("vignette", answer_vignette)):
            if not (folder / study).exists():
                fresh(answer, str(folder / study), cores=2)
            rounds = [
                {version: fresh(measure, str(folder / study), source=source) for version, source in versions.items()}
                for _ in range(arguments.rounds)
            ]
            for version in versions:
                cpu, mb = (median(values) for values in zip(*(one[version] for one in rounds), strict=True))
                rows.append((study, version, cpu, mb))
    write_table(arguments.out, rows)
    results: list[Result] = []
    for study, version, cpu, mb in rows:
        cases = (f"{study}, {version}", cpu, "CPU s"), (f"{study}, {version}: peak memory", mb, "MB")
        limits = zip(cases, BARS[study], strict=True)
        results += [at_most(*case, bar) if version == "now" else Result(*case) for case, bar in limits]
    finish("measure", "Measures of 5 million answers of StylisticBias and 2 million of VIGNETTE, one core", results)


if __name__ == "__main__":
    main()
