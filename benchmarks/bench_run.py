"""What a run costs beside the model: an instant model, designs the shape of StylisticBias, one core.

Run with `python -m benchmarks.bench_run`; `--out FILE` writes the result elsewhere. Each size runs in three fresh
processes, and the medians count.
"""

import argparse
import statistics
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from time import perf_counter

import numpy as np
import polars as pl

from benchmarks import _harness
from benchmarks._harness import Result, at_least, at_most, finish, fresh, peak_mb
from facevalue.design import Block, Design, Factor, sample
from facevalue.models.base import Capabilities
from facevalue.protocol.study import About, Draws, Estimated, Study
from facevalue.runs import RunSettings, run
from facevalue.stimuli.base import Kind
from facevalue.types import Option, Question, Request, Response, Sampling, Status, Stimulus

SIZES = (10_000, 100_000, 1_000_000)
REPEATS = 3
SCENARIOS, ORDERINGS, ATTRIBUTES = 25, 4, 8
LABELS = ("(a)", "(b)")


class _Source:
    """Stimuli whose pictures are never looked at."""

    kind = Kind.ILLUSTRATED

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return a stimulus without pictures."""
        return Stimulus(str(number), f"digest of {levels['image']}", levels, tuple)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Find nothing wrong."""


class _Instant:
    """Says "(a)" at once."""

    name = "instant"
    capabilities = Capabilities()

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Nothing to set."""
        return {}

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer."""
        for request in requests:
            yield Response(request.trial, request.repeat, Status.OK, "(a)", None, 300, 2, 1.0)

    def close(self) -> None:
        """Nothing to close."""


def _levels(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name}{i}" for i in range(count))


def _answer(frame: pl.DataFrame) -> pl.DataFrame:
    """Parse two-option replies: as cheap as a parser can be, so that the runner is measured and not the study."""
    first = pl.when(pl.col("text") == "(a)").then(1.0).when(pl.col("text") == "(b)").then(0.0)
    return frame.with_columns(
        weight=first,
        mass=first.is_not_null().cast(pl.Float64),
        na=pl.when(first.is_null()).then(pl.lit("unclear")),
    ).drop("text", "probs")


def study(trials: int) -> Study:
    """Images with eight attributes x 25 scenarios x 4 orderings."""
    images = _levels("image", trials // (SCENARIOS * ORDERINGS))
    attributes = {
        f"attribute{j}": tuple(f"level{(i * 7 + j) % (3 + j)}" for i in range(len(images))) for j in range(ATTRIBUTES)
    }
    prompt = (Factor("scenario", _levels("s", SCENARIOS)), Factor("ordering", _levels("o", ORDERINGS)))
    design = Design((Block("all", (Factor("image", images, attributes),), prompt),))
    questions = {
        (s, o): Question(
            f"Look at the person in the picture. In the situation {s}, which word fits better? Answer by label. {o}",
            tuple(Option(label, f"{text} {s}", text) for label, text in zip(LABELS, ("good", "bad"), strict=True)),
        )
        for s in prompt[0].levels
        for o in prompt[1].levels
    }
    return Study(
        name="shape of stylisticbias",
        version=1,
        about=About(title="", citation="", content_note=""),
        options={},
        manifest=pl.DataFrame({"image": images}),
        design=design,
        draws=Draws(seeds=(1,), sampling=Sampling()),
        source=_Source(),
        ask=lambda frame: [questions[key] for key in zip(frame["scenario"], frame["ordering"], strict=True)],
        sample=lambda wanted, seed, _: sample(design, wanted, seed),
        answer=_answer,
        analyse=lambda _: pl.DataFrame(),
        estimates=Estimated(measures=()),
    )


def whole(trials: int) -> tuple[float, float, float]:
    """Trials a second, peak memory in MB and how much of it was there before the run."""
    asked = study(trials)
    before = peak_mb()
    with tempfile.TemporaryDirectory() as place:
        start = perf_counter()
        summary = run(asked, _Instant(), Path(place) / "run")
        elapsed = perf_counter() - start
    assert summary.complete
    assert summary.asked == trials
    return trials / elapsed, peak_mb(), before


def resumed(trials: int) -> float:
    """Seconds until a complete run is found to be complete."""
    asked = study(trials)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        run(asked, _Instant(), folder)
        start = perf_counter()
        summary = run(asked, _Instant(), folder, RunSettings())
        elapsed = perf_counter() - start
    assert summary.skipped == trials
    return elapsed


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="result file; benchmarks/results/run.json by default")
    out: Path | None = parser.parse_args().out
    results: list[Result] = []
    for trials in SIZES:
        rate, peak, before = (
            statistics.median(values) for values in zip(*(fresh(whole, trials) for _ in range(REPEATS)), strict=True)
        )
        results += [
            at_least(f"{trials:,} trials: overhead", rate, "trials/s", 20_000),
            at_most(f"{trials:,} trials: peak memory", peak, "MB", 300),
            Result(f"{trials:,} trials: of which before the run", before, "MB"),
        ]
    results.append(
        at_most("1,000,000 trials: resume when complete", float(np.median([fresh(resumed, SIZES[-1])])), "s", 10)
    )
    if out is not None:
        _harness.RESULTS = out.parent
    finish(out.stem if out is not None else "run", "Run: one core, an instant model", results)


if __name__ == "__main__":
    main()
