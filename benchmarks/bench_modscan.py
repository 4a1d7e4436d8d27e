"""How fast ModSCAN is planned, its replies are read, and its answers measured.

Run with `python -m benchmarks.bench_modscan`. The answers are about as many as the paper's, drawn at random; with the
jackknife of all changes.
"""

from collections.abc import Iterator
from time import perf_counter

import numpy as np
import polars as pl

from benchmarks._harness import Result, at_most, finish, fresh, peak_mb
from facevalue import studies
from facevalue.protocol.study import Study
from facevalue.protocol.toml_tables import find_variants
from facevalue.protocol.variants import add_interventions
from facevalue.runs.plan import plan
from facevalue.studies.modscan.replies import boxes
from facevalue.types import OptionValue

ROLES = ("act-as-sexist", "act-as-racist", "act-as-barack-obama", "act-as-donald-trump")
PLANNED = ("sr", "debiasing", "vis-debiasing", *ROLES, "blank-image")
REPLIES = 1_000_000
SAID = (
    "The nurse is on the left side.",
    "right",
    "male",
    "a female",
    "a White person",
    "an Asian person",
    "Sorry, no.",
)


def planned() -> tuple[float, float]:
    """Seconds and MB of the paper's plan with all conditions."""
    start = perf_counter()
    made = plan(add_interventions(studies.build("modscan", {"paper": True}), find_variants(PLANNED)))
    took = perf_counter() - start
    assert made.trials == 2_417_716
    return took, peak_mb()


def parsed() -> float:
    """Seconds for a million boxes."""
    numbers = np.random.default_rng(1).integers(0, 1001, (REPLIES, 4)).tolist()
    replies = pl.Series([f"[[{a:03d},{b:03d},{c:03d},{d:03d}]]" for a, b, c, d in numbers])
    start = perf_counter()
    boxes(replies, 1000)
    return perf_counter() - start


def measured() -> tuple[float, float, int]:
    """Seconds, GB and answers: pairs and scenes about as many as the paper's, with seven interventions."""
    own: dict[str, OptionValue] = {"faces": 205, "pairs": 205, "per_persona": 200, "order": "random"}
    study = add_interventions(studies.build("modscan", own), find_variants((*PLANNED[:3], *ROLES)))
    start = perf_counter()
    study.analyse({"rule": _answers(study)})
    took = perf_counter() - start
    return took, peak_mb() / 1e3, study.design.size


def _answers(study: Study) -> Iterator[pl.DataFrame]:
    rng, said = np.random.default_rng(1), np.array(SAID, dtype=object)
    for first in range(0, study.design.size, 2**16):
        frame = study.design.trials(np.arange(first, min(first + 2**16, study.design.size)))
        kinds = [(frame[name].cast(pl.String) == level).to_numpy() for name, level in
                 (("modality", "vision"), ("attribute", "gender"))]  # fmt: skip
        code = np.where(kinds[0], 0, np.where(kinds[1], 2, 4)) + rng.integers(0, 2, frame.height)
        code = np.where(rng.random(frame.height) < 0.05, 6, code)
        replies = pl.DataFrame({"text": said[code].tolist()}).with_columns(
            status=pl.lit("ok"), repeat=pl.lit(0, pl.UInt8), probs=pl.lit(None, pl.List(pl.Float32))
        )
        yield study.answer(pl.concat([frame, replies], how="horizontal"))


def main() -> None:
    """Measure, print, store."""
    took, memory = fresh(planned)
    reading = fresh(parsed)
    measuring, most, answers = fresh(measured, cores=2)
    results = [
        at_most("plan of 2,417,716 trials", took, "s", 1.0),
        at_most("plan: memory", memory, "MB", 200.0),
        at_most("1,000,000 boxes read", reading, "s", 10.0),
        Result("answers measured", answers, "answers"),
        at_most("measured, with changes by seven interventions", measuring, "s", 30.0),
        at_most("measured: memory", most, "GB", 1.5),
    ]
    finish("modscan", "ModSCAN: plan, parsing, measures", results)


if __name__ == "__main__":
    main()
