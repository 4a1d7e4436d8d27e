"""The engine's numbers as a table to read, a table to compute with and a plot."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._harness import Result, at_most, machine
from benchmarks.engine_models import TITLES
from benchmarks.engine_plot import plot

Spread = tuple[float, float, float]
"""Lower quartile, median, upper quartile."""

WAYS = {
    "naive": "one `generate()` per prompt",
    "plain": "engine where nothing can be shared",
    "forward": "one forward pass per prompt",
    "batched": "`generate()`, 8 prompts at a time",
    "shared": "shared prefix",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One way to ask one model.

    Attributes
    ----------
    variant, study:
        What was timed.
    prompts:
        Prompts per picture; None where it makes no difference.
    cpu_ms, wall_ms:
        Milliseconds of CPU time and by the clock for a judgment, the picture included.
    times, wall_times:
        How many times as fast as one `generate()` per prompt in the same round, by CPU time (on a GPU by the clock) and
        by the clock.
    floor:
        The same ratio of the operations that both must do at least.
    passes:
        Forward passes through the model for a judgment.
    extra_mb:
        Peak memory beyond the loaded model; None if it was not measured for this case.
    """

    variant: str
    study: str
    prompts: int | None
    cpu_ms: Spread
    wall_ms: Spread
    times: Spread
    wall_times: Spread
    floor: float
    passes: float
    extra_mb: float | None


def _spread(values: Sequence[float] | Any) -> Spread:
    low, middle, high = np.percentile(np.asarray(values, dtype=np.float64), [25, 50, 75])
    return float(low), float(middle), float(high)


def rows(model: dict[str, Any]) -> list[Row]:
    """Summarise what `benchmarks.engine_measure.times` measured of a model, naive first.

    Parameters
    ----------
    model:
        What it returned, with the memory of each variant.
    """
    took = 1e3 * np.array(model["rounds"])  # (round, case, clock)
    cases = [tuple(case) for case in model["cases"]]
    base = {study: at for at, (variant, study, _, _) in enumerate(cases) if variant == "naive"}
    out = []
    for at, (variant, study, prompts, asked) in enumerate(cases):
        ratios = took[:, base[study]] / took[:, at]
        floor = model["operations"][base[study]] / model["operations"][at]
        main = 0 if model["device"] == "cpu" else 1
        measured = variant != "shared" or asked == model["memory_prompts"]
        extra = model["memory"].get(variant) if measured and study == "stylisticbias" else None
        out.append(
            Row(
                variant, study, prompts or None, _spread(took[:, at, 0]), _spread(took[:, at, 1]),
                _spread(ratios[:, main]), _spread(ratios[:, 1]), floor, model["passes"][at], extra,
            )
        )  # fmt: skip
    return out


def name_of(model: dict[str, Any]) -> str:
    """Return a model's name for people."""
    return f"{TITLES[model['family']]}, {model['parameters'] / 1e6:,.0f} M"


def targets(model: dict[str, Any], table: Sequence[Row], of_floor: float | None) -> list[Result]:
    """Return what was found of a model, and whether it is as near to the floor of operations as promised.

    Parameters
    ----------
    model, table:
        What was measured, and its summary.
    of_floor:
        How far the measured ratio may stay behind that of the operations, at 100 prompts per picture of StylisticBias;
        None if nothing is promised.
    """
    name, out = name_of(model), []
    for row in table:
        if row.variant != "shared":
            continue
        case = f"{name}: {row.prompts} prompts per picture of {row.study}"
        promised = row.prompts == 100 and row.study == "stylisticbias"
        times, behind = row.times[1], row.floor / row.times[1]
        out.append(Result(case, times, "x naive"))
        case = f"{case}: the floor's ratio to it"
        out.append(at_most(case, behind, "", of_floor) if promised and of_floor else Result(case, behind, ""))
    out.append(Result(f"{name}: variants differ in a probability by at most", model["share"], ""))
    return out


def write(folder: Path, name: str, measured: Sequence[dict[str, Any]]) -> None:
    """Write `NAME.csv`, `NAME.md` and `NAME.svg`.

    Parameters
    ----------
    folder:
        Where to.
    name:
        Their stem.
    measured:
        What was measured of each model.
    """
    tables = [rows(model) for model in measured]
    with (folder / f"{name}.csv").open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        spreads = [f"{what}_{part}" for what in ("cpu_ms", "wall_ms", "times_naive", "wall_times_naive")
                   for part in ("q1", "median", "q3")]  # fmt: skip
        own = ["family", "size", "parameters", "device", "rounds"]
        out.writerow([*own, "study", "variant", "prompts_per_picture", *spreads, "flop_ratio", "passes", "extra_mb"])
        for model, table in zip(measured, tables, strict=True):
            known = [model[key] for key in own[:-1]] + [len(model["rounds"])]
            for row in table:
                numbers = [value for part in (row.cpu_ms, row.wall_ms, row.times, row.wall_times) for value in part]
                ends = [*(f"{value:.4g}" for value in numbers), f"{row.floor:.4g}", f"{row.passes:.4g}"]
                extra = "" if row.extra_mb is None else f"{row.extra_mb:.4g}"
                out.writerow([*known, row.study, row.variant, row.prompts or "", *ends, extra])
    text = "\n".join(
        [*_conditions(measured), *(line for m, t in zip(measured, tables, strict=True) for line in _table(m, t))]
    )
    (folder / f"{name}.md").write_text(text + "\n")
    panels = [(name_of(model), table) for model, table in zip(measured, tables, strict=True)]
    (folder / f"{name}.svg").write_text(plot(panels, "CPU second" if measured[0]["device"] == "cpu" else "second"))


def _conditions(measured: Sequence[dict[str, Any]]) -> list[str]:
    facts = machine() | {"torch": version("torch"), "transformers": version("transformers")}
    loads = [load for model in measured for load in model["load"] if load is not None]
    busy = f"load average while it ran {min(loads)} to {max(loads)}" if loads else "load average unknown"
    return [
        "<!-- written by benchmarks/bench_engine.py -->",
        "",
        f"Machine: {', '.join(f'{key} {value}' for key, value in facts.items())}; {busy}.",
    ]


def _table(model: dict[str, Any], table: Sequence[Row]) -> list[str]:
    unit = "CPU ms" if model["device"] == "cpu" else "ms"
    lines = [
        "",
        f"### {name_of(model)}",
        "",
        f"| way to ask | prompts | {unit} / judgment (quartiles) | judgments / CPU s "
        "| judgments / s | times naive (quartiles) | by operations | passes / judgment | extra MB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in table:
        main = row.cpu_ms if model["device"] == "cpu" else row.wall_ms
        lines.append(
            f"| {WAYS[row.variant]}{' (VIGNETTE, held)' if row.study == 'vignette' else ''} | {row.prompts or 'any'} "
            f"| {_three(main)} | {1e3 / row.cpu_ms[1]:.3g} | {1e3 / row.wall_ms[1]:.3g} | {_three(row.times)} "
            f"| {row.floor:.3g} | {row.passes:.2g} | {'' if row.extra_mb is None else f'{row.extra_mb:.0f}'} |"
        )
    words = "; ".join(
        f"{study}: {tokens['prefix']:.0f} tokens shared, {tokens['suffix']:.1f} of each prompt's own and "
        f"{tokens['inner']:.1f} of its options"
        for study, tokens in model["tokens"].items()
    )
    said = (
        f"{len(model['rounds'])} rounds. {words}. {model['compared']} answers compared: probabilities differ by "
        f"at most {model['share']:.1e}, log-probabilities by {model['log']:.1e}."
    )
    return [*lines, "", said]


def _three(spread: Spread) -> str:
    low, middle, high = (f"{value:.3g}" if value < 1000 else f"{value:,.0f}" for value in spread)
    return f"{middle} ({low}–{high})"
