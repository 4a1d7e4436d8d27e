"""What 64 GPUs would take for the five protocols: a simulation with stated rates, not a measurement.

Run with `python -m benchmarks.simulate_cluster`; it writes `benchmarks/results/cluster-simulation.csv`. What a request
costs the driver was measured by `bench_cluster`; everything about GPUs is assumed, below.
"""

import heapq
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from benchmarks._harness import RESULTS
from facevalue.runs.storage.units import answers_per_unit

PARAMETERS = 7e9
"""Of the model."""
COMPUTE = 0.4 * 989e12
"""Operations a second of one H100 in bfloat16, 40% of its peak."""
DECODED = 2_500
"""Reply tokens a second of one GPU, in large batches."""
PICTURE = 576
"""Tokens of a picture, computed once for all prompts about it that a unit holds."""
LOAD = 180.0
"""Seconds until a new worker has loaded its model."""
STORE = 1.0
"""Seconds of a unit besides the model: writing it, its receipt, the next one's first picture."""
SPREAD = 0.1
"""Standard deviation of the logarithm of a unit's time."""
LIFE = 24 * 3600.0
"""Mean seconds until a worker dies, with whatever it has not stored."""


@dataclass(frozen=True)
class Protocol:
    """A protocol as its paper has it.

    Attributes
    ----------
    requests:
        Of the whole design.
    shared:
        Requests about one picture, on average.
    own:
        Tokens of a prompt, the picture not counted.
    reply:
        Tokens of a reply.
    """

    name: str
    requests: int
    shared: float
    own: int
    reply: int

    def rate(self) -> float:
        """Requests a second of one GPU."""
        tokens = PICTURE / self.shared + self.own
        return 1 / (tokens * 2 * PARAMETERS / COMPUTE + self.reply / DECODED)


PROTOCOLS = (
    Protocol("stylisticbias", 4_717_800, 300, 66, 4),
    Protocol("vignette", 91_131_696, 91_131_696 / 31_490_285, 46, 4),
    Protocol("visbias", 15_080, 15_080 / 2_340, 80, 180),
    Protocol("modscan", 341_068, 34, 40, 4),
    Protocol("counterfactuals", 57_116_970, 15, 60, 256),
)
"""Sizes are those of the papers' designs: of vignette all pairs, with the questions that its plan has; of modscan 9,982
pairs of pictures with 34 prompts each; of counterfactuals all five models of Table 8."""


def simulated(protocol: Protocol, gpus: int, naming: float, seed: int = 1) -> tuple[float, float, int]:
    """Hours, share of the time that GPUs compute, and workers that died.

    `naming`: the driver's seconds for a request. It names units one after another, one per worker ahead at most.
    """
    rng = random.Random(seed)
    size = answers_per_unit(protocol.requests)
    todo = [size] * (protocol.requests // size) + [protocol.requests % size]
    begun: list[float] = []
    named = busy = end = 0.0
    died = 0
    workers = [(LOAD * rng.uniform(0.9, 1.1), number) for number in range(gpus)]
    lives = [rng.expovariate(1 / LIFE) for _ in workers]
    heapq.heapify(workers)
    while todo:
        at, number = heapq.heappop(workers)
        requests = todo.pop()
        named = max(named, begun[-gpus] if len(begun) >= gpus else 0.0) + naming * requests
        begun.append(max(at, named))
        seconds = requests / protocol.rate() * rng.lognormvariate(0, SPREAD) + STORE
        if begun[-1] + seconds > lives[number]:  # another one does the unit
            died += 1
            todo.append(requests)
            back = max(begun[-1], lives[number]) + LOAD
            lives[number] = back + rng.expovariate(1 / LIFE)
            heapq.heappush(workers, (back, number))
            continue
        busy += seconds - STORE
        end = max(end, begun[-1] + seconds)
        heapq.heappush(workers, (begun[-1] + seconds, number))
    return end / 3600, busy / (gpus * end), died


def table(naming: dict[str, float], gpus: Sequence[int] = (1, 64)) -> pl.DataFrame:
    """A row per protocol."""
    rows = []
    for protocol in PROTOCOLS:
        row: dict[str, str | float | int] = {
            "protocol": protocol.name,
            "requests": protocol.requests,
            "units": -(-protocol.requests // answers_per_unit(protocol.requests)),
            "requests/s of a GPU (stated)": round(protocol.rate(), 1),
            "driver, µs/request (measured)": naming[protocol.name],
        }
        for many in gpus:
            hours, share, died = simulated(protocol, many, naming[protocol.name] / 1e6)
            row |= {f"hours, {many} GPU{'s' * (many > 1)}": float(f"{hours:.3g}")}
            if many > 1:
                row |= {f"share of {many} GPUs' time that computes": round(share, 3), "workers that died": died}
                row |= {
                    "driver's load, cores": round(protocol.requests * naming[protocol.name] / 1e6 / 3600 / hours, 2)
                }
        rows.append(row)
    return pl.DataFrame(rows)


def main() -> None:
    """Simulate, print, store."""
    measured = json.loads((RESULTS / "cluster.json").read_text())["results"]
    naming = {
        one["case"].removeprefix("units of "): one["value"] for one in measured if one["case"].startswith("units of ")
    }
    found = table(naming)
    with pl.Config(tbl_cols=-1, tbl_width_chars=200):
        print(found)
    found.write_csv(RESULTS / "cluster-simulation.csv")


if __name__ == "__main__":
    main()
