"""How fast pairs of pictures are composed and encoded, and whether memory stays flat over many of them.

Run with `python -m benchmarks.bench_pairs`. One core; two pictures of 512 x 512 pixels each, smooth shapes with the
grain of a photograph.
"""

import io
import resource
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import numpy.typing as npt
import PIL.Image
import polars as pl

from benchmarks._harness import Result, at_least, at_most, finish, fresh, peak_mb, seconds
from facevalue.design import Permutation
from facevalue.stimuli.pairs import HEIGHT, FileIndividuals, PairSource, compose, encode, left_first

BATCH = 100
PEOPLE = 20
EARLY, LATE = 10_000, 100_000


def picture(seed: int, side: int = HEIGHT) -> npt.NDArray[np.uint8]:
    """Smooth coloured shapes with grain."""
    rng = np.random.default_rng(seed)
    shapes = PIL.Image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8))
    smooth = np.asarray(shapes.resize((side, side), PIL.Image.Resampling.BICUBIC))
    return np.clip(smooth + rng.normal(0, 6, smooth.shape), 0, 255).astype(np.uint8)


def rate(kind: str) -> float:
    """Pairs a second: composed, or composed and encoded."""
    people = [picture(seed) for seed in range(PEOPLE)]
    pairs = [(people[i], people[(3 * i + 1) % PEOPLE]) for i in range(PEOPLE)] * (BATCH // PEOPLE)

    def arrays() -> None:
        for left, right in pairs:
            compose(left, right)

    def files() -> None:
        for left, right in pairs:
            encode(compose(left, right))

    def squeezed() -> None:
        for left, right in pairs:
            encode(compose(left, right, size=(672, 336)))

    work = {"arrays": arrays, "files": files, "squeezed": squeezed}[kind]
    return BATCH / seconds(work)


def sides() -> float:
    """Million sides a second."""
    numbers = np.arange(1_000_000)
    return 1 / seconds(lambda: left_first(numbers, 7))


def source(count: int) -> tuple[float, float, float]:
    """Pairs a second that a source shows from files, all different; resident memory in MB early and late."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        for i in range(count):
            buffer = io.BytesIO()
            PIL.Image.fromarray(picture(i)).save(buffer, "JPEG", quality=90)
            (root / f"{i}.jpg").write_bytes(buffer.getvalue())
        names = [str(i) for i in range(count)]
        people = FileIndividuals(pl.DataFrame({"image": names, "path": [f"{name}.jpg" for name in names]}), root)
        shown = PairSource(people, lambda levels: (str(levels["left"]), str(levels["right"])), sides=1)
        early, start = 0.0, perf_counter()
        order = Permutation(count * count, seed=1)(np.arange(LATE)).tolist()
        for number, pair in enumerate(order):
            i, j = divmod(pair, count)
            (image,) = shown.stimulus(number, {"left": str(i), "right": str(j)}).load()
            assert image.data[:2] == b"\xff\xd8"
            if number + 1 == EARLY:
                early = resident_mb()
        return LATE / (perf_counter() - start), early, resident_mb()


def resident_mb() -> float:
    """Resident memory of this process in MB; the peak where the system does not tell."""
    facts = Path("/proc/self/statm")
    if not facts.exists():
        return peak_mb()
    return int(facts.read_text().split()[1]) * resource.getpagesize() / 1e6


def main() -> None:
    """Measure, print, store."""
    results: list[Result] = [
        at_least("compose: arrays", fresh(rate, "arrays"), "pairs/s", 1_000),
        at_least("compose and encode: JPEG", fresh(rate, "files"), "pairs/s", 300),
        Result("compose, squeeze to 672 x 336 and encode", fresh(rate, "squeezed"), "pairs/s"),
        Result("sides from numbers", fresh(sides), "million/s"),
    ]
    # 400 pictures are 315 MB decoded, more than is kept in memory.
    shown, early, late = fresh(source, 400)
    results += [
        Result("a source on files, every pair new", shown, "pairs/s"),
        Result(f"memory after {EARLY:,} pairs", early, "MB"),
        Result(f"memory after {LATE:,} pairs", late, "MB"),
        at_most("growth in between", late / early, "times", 1.1),
    ]
    finish("pairs", "Pairs of pictures: one core", results)


if __name__ == "__main__":
    main()
