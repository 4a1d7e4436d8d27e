"""How fast trial numbers become factor levels, and what a design of fourteen billion trials costs.

Run with `python -m benchmarks.bench_design`. One core; rates are medians of five calls.
"""

from collections.abc import Callable
from itertools import pairwise
from time import perf_counter

import numpy as np
import numpy.typing as npt
import polars as pl

from benchmarks._harness import Result, at_least, at_most, finish, fresh, peak_mb, seconds
from facevalue.design import Block, Design, Factor, Pairs, sample

IMAGES, BLOCKS = 15_726, 22
DRAW = 1_000_000


def _levels(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name}{i}" for i in range(count))


def stylisticbias() -> Design:
    """15,726 images with eight attributes, in 22 blocks, x 25 scenarios x 4 orderings: 1,572,600 trials."""
    cuts = [IMAGES * i // BLOCKS for i in range(BLOCKS + 1)]
    prompt = (Factor("scenario", _levels("s", 25)), Factor("ordering", _levels("o", 4)))
    kinds = {f"attribute{j}": _levels("level", 3 + j) for j in range(8)}
    blocks = []
    for start, stop in pairwise(cuts):
        images = tuple(f"image{i}" for i in range(start, stop))
        attributes = {
            name: tuple(levels[(i * 7 + len(levels)) % len(levels)] for i in range(start, stop))
            for name, levels in kinds.items()
        }
        blocks.append(Block(f"block{start}", (Factor("image", images, attributes),), prompt))
    return Design(tuple(blocks))


def vignette() -> Design:
    """Pairs of 7,800 pictures, 30,416,100, x 60 terms x 4 orderings x 2 wordings: 14,599,728,000 trials."""
    pictures = Factor("picture", _levels("p", 7_800), {"identity": tuple(f"i{i % 104}" for i in range(7_800))})
    prompt = (Factor("term", _levels("t", 60)), Factor("ordering", _levels("o", 4)), Factor("wording", _levels("w", 2)))
    return Design((Block("pairs", (Pairs(pictures),), prompt),))


DESIGNS: dict[str, Callable[[], Design]] = {"stylisticbias": stylisticbias, "vignette": vignette}


def decode(name: str, order: str) -> float:
    """Million trials a second."""
    design = DESIGNS[name]()
    numbers: npt.NDArray[np.int64]
    if order == "contiguous":
        start = design.size // 3
        numbers = np.arange(start, start + DRAW)
    else:
        numbers = np.random.default_rng(1).integers(0, design.size, DRAW)
        if order == "sorted":
            numbers.sort()
    return DRAW / seconds(lambda: design.trials(numbers)) / 1e6


def create(name: str) -> tuple[float, float, int]:
    """Milliseconds to create a design and decode its last trial (libraries loaded), peak memory in MB, and trials."""
    pl.Series(["x"], dtype=pl.Enum(["x"])).gather(pl.Series(np.zeros(1, dtype=np.uint32)))  # loads numpy.ma
    start = perf_counter()
    design = DESIGNS[name]()
    design.trials([design.size - 1])
    return (perf_counter() - start) * 1e3, peak_mb(), design.size


def draw() -> tuple[float, float]:
    """Million numbers a second without replacement from 10^10, and peak memory in MB."""
    hundred = Factor("x", _levels("x", 100_000))
    design = Design((Block("all", (hundred,), (Factor("y", hundred.levels),)),))
    return DRAW / seconds(lambda: sample(design, DRAW, seed=7)) / 1e6, peak_mb()


def main() -> None:
    """Measure, print, store."""
    results: list[Result] = []
    for name in DESIGNS:
        elapsed, peak, size = fresh(create, name)
        results += [
            Result(f"{name}: trials", size / 1e6, "million"),
            at_most(f"{name}: create and decode one", elapsed, "ms", 100),
            at_most(f"{name}: peak memory", peak, "MB", 200),
        ]
        for order in ("sorted", "contiguous", "random"):
            rate = fresh(decode, name, order)
            results.append(at_least(f"{name}: decode, {order}", rate, "million trials/s", 5))
    rate, peak = fresh(draw)
    results += [
        at_least("draw 10^6 of 10^10", rate, "million/s", 1),
        at_most("draw 10^6 of 10^10: peak memory", peak, "MB", 400),
    ]
    finish("design", "Design: one core", results)


if __name__ == "__main__":
    main()
