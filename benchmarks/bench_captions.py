"""How fast captions are written below pictures, from the file of the picture to the file that is sent.

Run with `python -m benchmarks.bench_captions`. Two cores, in seconds of processor time, so that other work on the
machine matters less; smooth shapes with the grain of a photograph, as JPEG.
"""

import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from time import process_time

import PIL.Image

from benchmarks._harness import Result, at_least, finish, fresh
from benchmarks.bench_pairs import picture
from facevalue.protocol.toml_tables import builtin
from facevalue.stimuli.captions import Caption, encode_png

BATCH, CORES, RATE = 200, 2, 300
PAIR, SCENE = (410, 200), (512, 512)


def rate(width: int, height: int) -> tuple[float, float]:
    """Pictures a second, and how large one is in kB."""
    caption = Caption(builtin()["vis-debiasing"].caption)
    files: list[bytes] = []
    for seed in range(10):
        buffer = io.BytesIO()
        whole = picture(seed, max(width, height))
        PIL.Image.fromarray(whole[:height, :width]).save(buffer, "JPEG", quality=90)
        files.append(buffer.getvalue())

    def write(some: Sequence[bytes]) -> int:
        return sum(len(encode_png(caption.write_below(data))) for data in some)

    with ThreadPoolExecutor(CORES) as pool:
        parts = [files * (BATCH // len(files) // CORES)] * CORES
        list(pool.map(write, parts))
        start = process_time()
        list(pool.map(write, parts))
        took = process_time() - start  # of both threads together
    return CORES * BATCH / took, write(files) / len(files) / 1e3


def main() -> None:
    """Measure, print, store."""
    results: list[Result] = []
    for name, size in (("pair of faces", PAIR), ("scene", SCENE)):
        found, large = fresh(rate, *size, cores=CORES)
        results.append(at_least(f"{name}, {size[0]} x {size[1]}", found, "pictures/s", RATE))
        results.append(Result(f"{name}: size of the file", large, "kB"))
    finish("captions", "Captions below pictures: two cores, processor time", results)


if __name__ == "__main__":
    main()
