"""How fast the reference model answers, beside the same weights in the local engine (`hf/FOLDER`).

Run with `python -m benchmarks.bench_reference`. StylisticBias's 100 questions (25 scenarios in 4 orderings) about each
of a few drawn portraits. All ways to ask take turns, round by round, so that whatever else the machine does hits all of
them; medians of the rounds count. No environment variable is set: numbers are those of someone who just installs it.
"""

import csv
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from os import getloadavg
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks._harness import RESULTS, fresh, machine, peak_mb
from facevalue.models.base import Model, ModelOptions
from facevalue.models.reference.adapter import FOLDER, ReferenceModel
from facevalue.models.reference.network import ONE_THREAD
from facevalue.models.registry import load
from facevalue.prompts import ORDERINGS
from facevalue.protocol.replies import phrase_options
from facevalue.stimuli.drawings.portraits import PortraitSource, draw_identities, portrait_manifest
from facevalue.studies.stylisticbias.tables import JUDGMENT
from facevalue.types import Question, Request, Sampling, Stimulus
from reference.truth import SCENARIOS

ROUNDS = 7
PICTURES, OF_ENGINE = 12, 1
"""Portraits of a round; the local engine, which is slower by far, is asked about fewer."""
WARM, COLD = Sampling(temperature=1.0, max_tokens=16), Sampling(temperature=0.2, max_tokens=16)
TARGET = 800
"""Judgments a second on two cores."""


class Measured(NamedTuple):
    """One way to ask, or one number.

    Attributes
    ----------
    case, unit:
        What was measured.
    low, median, high:
        Lower quartile, median and upper quartile over the rounds.
    cpu:
        Median, per second of all cores' time together instead of a second on the clock; None where that says nothing.
    target:
        What the project promises; None if nothing.
    """

    case: str
    unit: str
    low: float
    median: float
    high: float
    cpu: float | None = None
    target: float | None = None


def questions() -> list[Question]:
    """All of StylisticBias's questions about one picture."""
    return [
        Question(JUDGMENT.format(options=phrase_options(options)), options)
        for poles in SCENARIOS.values()
        for options in (ordering.options(poles, ("favourable", "unfavourable")) for ordering in ORDERINGS)
    ]


def portraits(count: int) -> list[Stimulus]:
    """Drawn portraits that are in memory already: drawing is not timed."""
    manifest = portrait_manifest(draw_identities({"female": count}, seed=1), {})
    source = PortraitSource(manifest)
    shown = []
    for number in range(count):
        stimulus = source.stimulus(number, {**manifest.row(number, named=True), "trial": None, "block": None})
        shown.append(replace(stimulus, load=partial(tuple, stimulus.load())))
    return shown


def requests(stimuli: list[Stimulus], exact: bool) -> Iterator[Request]:
    """Every question about every picture: read exactly, or drawn at temperature .2."""
    asked = questions()
    for at, stimulus in enumerate(stimuli):
        for number, question in enumerate(asked):
            yield Request(at * len(asked) + number, 0, 1, stimulus, question, WARM if exact else COLD, exact)


def answered(model: Model, stimuli: list[Stimulus], exact: bool) -> int:
    """Ask, and count the answers."""
    count = 0
    for response in model.respond(requests(stimuli, exact)):
        assert response.error is None
        count += 1
    return count


def prepared(model: ReferenceModel, stimuli: list[Stimulus]) -> int:
    """Decode pictures, reduce them and run the vision tower over them, on one thread."""
    with ONE_THREAD:
        for stimulus in stimuli:
            model.see(stimulus.load())
    return len(stimuli)


def speeds() -> list[list[float]]:
    """Answers a second of each way to ask, by the clock and by all cores' time, round after round."""
    stimuli = portraits(PICTURES)
    one, two = ReferenceModel(threads=1), ReferenceModel(threads=2)
    ways: list[Callable[[], int]] = [
        lambda: answered(one, stimuli, True),
        lambda: answered(two, stimuli, True),
        lambda: answered(one, stimuli, False),
        lambda: answered(two, stimuli, False),
        lambda: prepared(one, stimuli),
    ]
    if has_engine():
        engine = load(f"hf/{FOLDER}", ModelOptions(device="cpu", threads=2))
        ways += [
            lambda: answered(engine, stimuli[:OF_ENGINE], True),
            lambda: answered(engine, stimuli[:OF_ENGINE], False),
        ]
    out: list[list[float]] = [[] for _ in range(2 * len(ways))]
    for number in range(ROUNDS + 1):
        for at, way in enumerate(ways):
            clock, cpu = perf_counter(), process_time()
            count = way()
            if number:  # the first round warms up
                out[2 * at].append(count / (perf_counter() - clock))
                out[2 * at + 1].append(count / (process_time() - cpu))
    return out


def has_engine() -> bool:
    """Whether the local engine's libraries are here."""
    return find_spec("torch") is not None and find_spec("transformers") is not None


def memory() -> tuple[float, float]:
    """Peak memory in MB, and how much of it was there before the model was loaded."""
    stimuli = portraits(PICTURES)
    before = peak_mb()
    answered(ReferenceModel(threads=2), stimuli, True)
    return peak_mb(), before


def measured() -> list[Measured]:
    """Measure everything."""
    rounds = fresh(speeds, cores=None)
    cases = [
        ("exact, one thread", "judgments/s", None),
        ("exact, two threads", "judgments/s", TARGET),
        ("drawn, one thread", "judgments/s", None),
        ("drawn, two threads", "judgments/s", None),
        ("pictures prepared, one thread", "pictures/s", None),
        ("local engine: exact, two threads", "judgments/s", None),
        ("local engine: drawn, two threads", "judgments/s", None),
    ]
    out = []
    for at, (case, unit, target) in enumerate(cases[: len(rounds) // 2]):
        low, median, high = np.quantile(rounds[2 * at], [0.25, 0.5, 0.75]).tolist()
        out.append(Measured(case, unit, low, median, high, statistics.median(rounds[2 * at + 1]), target))
    peaks = np.array([fresh(memory, cores=None) for _ in range(3)])
    for case, values in (("peak memory", peaks[:, 0]), ("of which before the model", peaks[:, 1])):
        out.append(Measured(case, "MB", *np.quantile(values, [0.25, 0.5, 0.75]).tolist()))
    return out


def store(results: list[Measured], load_average: tuple[float, float]) -> None:
    """Write `reference.csv` and `reference.md`."""
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / "reference.csv").open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(Measured._fields)
        out.writerows([f"{value:.4g}" if isinstance(value, float) else value for value in one] for one in results)
    weights = json.loads((FOLDER / "config.json").read_text())["text_config"]
    facts = ", ".join(f"{name} {value}" for name, value in machine().items())
    lines = [
        "<!-- written by benchmarks/bench_reference.py -->",
        "",
        "# The reference model's speed",
        "",
        f"StylisticBias's {len(questions())} questions about each of {PICTURES} portraits ({OF_ENGINE} for the local "
        f"engine), {ROUNDS} rounds in turn; medians (quartiles). Decoder of {weights['num_hidden_layers']} layers, "
        f"width {weights['hidden_size']}. No environment variable is set.",
        "",
        f"Machine: {facts}; load average before {load_average[0]:.1f}, after {load_average[1]:.1f}.",
        "",
        "| case | median (quartiles) | per CPU second | unit | target |",
        "|---|---:|---:|---|---|",
    ]
    for one in results:
        cpu = f"{one.cpu:,.0f}" if one.cpu else ""
        target = f">= {one.target:g}" if one.target else ""
        number = f"{one.median:,.0f} ({one.low:,.0f}–{one.high:,.0f})"
        lines.append(f"| {one.case} | {number} | {cpu} | {one.unit} | {target} |")
    if not has_engine():
        lines += ["", "The local engine's libraries are not installed here, so it was not timed."]
    (RESULTS / "reference.md").write_text("\n".join(lines) + "\n")


def main() -> None:
    """Measure, print, store; exit with 1 if a target is missed."""
    before = getloadavg()[0]
    results = measured()
    store(results, (before, getloadavg()[0]))
    table = Table(title="Reference model: 100 questions about each picture")
    for heading in ("case", "median", "per CPU second", "unit", "target"):
        table.add_column(heading, justify="right" if heading in ("median", "per CPU second") else "left")
    for one in results:
        cpu = f"{one.cpu:,.0f}" if one.cpu else ""
        table.add_row(one.case, f"{one.median:,.0f}", cpu, one.unit, f">= {one.target:g}" if one.target else "")
    Console().print(table)
    if any(one.target is not None and one.median < one.target for one in results):
        sys.exit(1)


if __name__ == "__main__":
    main()
