"""What asking a server costs beside its own work: one that answers at once, asked by ever more requests at once.

Run with `python -m benchmarks.bench_servers` (`make bench-servers`). `--before COMMIT` also measures another version;
both take turns, round by round, so that whatever else the machine does hits both. Each case of a round runs in a fresh
process, on the same two cores as its server; medians of the rounds count.
"""

import argparse
import statistics
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np

from benchmarks._harness import Result, at_least, at_most, finish, fresh
from facevalue.models.base import ModelOptions
from facevalue.models.registry import load
from facevalue.types import Image, Option, Question, Request, Sampling, Stimulus

AT_ONCE = (1, 4, 16, 64, 256)
PICTURE = 51_000
"""Bytes, as of a photograph of 512 px."""
REQUESTS, QUESTIONS, ROUNDS = 800, 25, 5
RATE, CPU = 290, 3.5
ROOT = Path(__file__).parents[1]


def requests(count: int, size: int) -> Iterator[Request]:
    """So many requests, 25 about each picture, or about none where its size is 0."""
    question = Question(
        "Look at the person in the picture. Which word fits better? (a) competent (b) incompetent. Answer by label.",
        (Option("(a)", "competent", "high"), Option("(b)", "incompetent", "low")),
    )

    def shown(number: int) -> tuple[Image, ...]:
        return (Image(np.random.default_rng(number).bytes(size), "image/jpeg"),) if size else ()

    for trial in range(count):
        picture = trial // QUESTIONS
        yield Request(
            trial, 0, trial, Stimulus(str(picture), "", {}, partial(shown, picture)), question, Sampling(), False
        )


def asked(at_once: int, size: int) -> tuple[float, float]:
    """Requests a second and milliseconds of processor time a request, once every connection was used."""
    server = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.instant_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        model = load(f"http://127.0.0.1:{port}/v1#instant", ModelOptions(concurrency=at_once))
        assert model.capabilities.images_per_request == 2
        first, start, cpu = max(at_once, QUESTIONS), 0.0, 0.0
        for number, response in enumerate(model.respond(requests(first + REQUESTS, size)), 1):
            assert response.text == "(a)", response
            if number == first:
                start, cpu = perf_counter(), process_time()
        return REQUESTS / (perf_counter() - start), (process_time() - cpu) * 1e3 / REQUESTS


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", metavar="COMMIT", help="also measure this version of the package")
    before: str | None = parser.parse_args().before
    found: dict[tuple[int, int, str], list[tuple[float, float]]] = {}
    with TemporaryDirectory() as folder:
        sources = {"": ROOT / "src"}
        if before:
            archive = Path(folder) / "before.tar"
            subprocess.run(["git", "archive", "--output", archive, before, "src"], cwd=ROOT, check=True)
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
            sources = {f"{before}: ": Path(folder) / "src"} | sources
        for _ in range(ROUNDS):
            for at_once in AT_ONCE:
                for size in (PICTURE, 0):
                    for version, source in sources.items():
                        measured = fresh(asked, at_once, size, cores=2, source=source)
                        found.setdefault((at_once, size, version), []).append(measured)
    results: list[Result] = []
    for (at_once, size, version), rounds in found.items():
        rate, cpu = (statistics.median(values) for values in zip(*rounds, strict=True))
        case = f"{version}{at_once} at once, {'51 kB' if size else 'no picture'}"
        rates, costs = (case, rate, "requests/s"), (case, cpu, "ms CPU/request")
        results += [Result(*rates), Result(*costs)] if version else [at_least(*rates, RATE), at_most(*costs, CPU)]
    finish("servers", "Asking a server that answers at once: two cores", results)


if __name__ == "__main__":
    main()
