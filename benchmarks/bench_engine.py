"""Exact probabilities over a shared prefix against one `generate()` per prompt: judgments a second, memory, the floor.

Run with `python -m benchmarks.bench_engine`, or `--quick` for a smoke run of a minute on tiny models. Each model is
timed in a process of its own, on one core, all variants in turn in every round; medians of rounds with quartiles.
Nothing is downloaded: weights are random. `--device cuda --size 7b` makes the weights of published shapes on a GPU in
bfloat16.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import _harness
from benchmarks._harness import Result, finish, fresh

NEEDED = ("torch", "transformers", "tokenizers", "accelerate")
COUNTS = (10, 100, 300)
MODELS = (("llava", "70m"), ("llava", "245m"), ("qwen2.5-vl", "70m"), ("idefics3", "70m"))
OF_FLOOR = 1.5
"""How far the gain may stay behind what the operations allow."""
TOLERANCE = {"cpu": 1e-4, "cuda": 5e-2}
"""Largest difference of a probability between variants: of float32 on a CPU, of bfloat16 on a GPU."""
_LEAST = 3


def run(
    models: Sequence[tuple[str, str]], counts: Sequence[int], device: str, minutes: float
) -> Iterator[dict[str, Any]]:
    """Measure models one after another; yield what was measured of each.

    Parameters
    ----------
    models:
        Families and sizes.
    counts:
        Prompts per picture.
    device:
        "cpu" or "cuda".
    minutes:
        How long, about; three rounds are made in any case.
    """
    from benchmarks.engine_measure import memory, times
    from benchmarks.engine_variants import BATCH

    cores = 1 if device == "cpu" else None
    listed = ",".join(map(str, counts))
    asked = {"naive": 2, "forward": 2, "batched": BATCH, "shared": min(100, max(counts))}
    for number, (family, size) in enumerate(models):
        load = _load()
        made = fresh(times, family, size, device, listed, 60 * minutes / len(models), _LEAST, cores=cores)
        if made["share"] > TOLERANCE[device]:
            raise AssertionError(f"{family} {size}: variants differ by {made['share']:.2g} in a probability")
        extra: dict[str, float | None] = dict.fromkeys(asked)
        if size != "tiny" or number == 0:
            extra = {name: fresh(memory, family, size, device, name, many, cores=cores) for name, many in asked.items()}
        own = {"family": family, "size": size, "device": device, "load": [load, _load()]}
        yield made | own | {"memory": extra, "memory_prompts": asked["shared"]}


def _load() -> float | None:
    """Processes that wanted a core in the last minute, on average."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny models, few prompts: does it run?")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--size", help="only models of this size: 70m, 245m, 7b")
    parser.add_argument("--minutes", type=float, default=6.0, help="time for rounds beyond the first four")
    parser.add_argument("--out", type=Path, help="folder of the results; benchmarks/results by default")
    options = parser.parse_args(given)
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(f"bench_engine: SKIPPED, {', '.join(missing)} not installed ('make engine' adds what it needs).")
        return
    from benchmarks.engine_models import SIZES
    from benchmarks.engine_report import rows, targets, write

    size = "tiny" if options.quick else options.size
    models = MODELS if size is None else tuple(key for key in SIZES if key[1] == size)
    if not models:
        parser.error(f"no model has the size {size}: {', '.join(sorted({key[1] for key in SIZES}))}")
    if options.quick and options.out is None:
        parser.error("--quick needs --out: its numbers mean nothing and are not kept beside real ones")
    counts = (4, 12) if options.quick else COUNTS
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        _harness.RESULTS = options.out
    name = "engine" if options.size is None else f"engine-{options.device}-{options.size}"
    measured: list[dict[str, Any]] = []
    results: list[Result] = []
    for model in run(models, counts, options.device, 0.0 if options.quick else options.minutes):
        measured.append(model)
        write(_harness.RESULTS, name, measured)
        results += targets(model, rows(model), None if options.quick else OF_FLOOR)
    finish(name, "Local engine: one thread, random weights", results)


if __name__ == "__main__":
    main()
