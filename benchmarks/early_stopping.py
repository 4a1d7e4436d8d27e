"""Runs that stop early: how often they find something where nothing is, in each study, and what they save.

`python -m benchmarks.early_stopping --out docs/results/early-stopping.csv` goes on where it was stopped. Each audit is
asked in the order of a run and looked at a dozen times, as `facevalue run --stop-when` looks. Beside it stands what
people do without: the test of one look, taken at every look until it finds something.

The second table, beside it as `-units.csv`, is of units alone: how many a paired test needs that is looked at once, as
many as find an effect with 80% power; and how many one that is looked at after each unit, on average and at most, to
find the same effect as often, and effects that are larger than was hoped for.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special

from facevalue.calibration.audits import MODEL, Audits
from facevalue.calibration.planted_answers import PlantedCondition
from facevalue.calibration.repetitions import TABLE, audits_of
from facevalue.calibration.runner import EFFECTS, NOTHING
from facevalue.design import Order
from facevalue.measures.family_tests import LEAST_UNITS, any_time_p
from facevalue.measures.judgment import judge
from facevalue.measures.multitest import leading_families
from facevalue.measures.power import POWER, clusters_needed
from facevalue.measures.proportions import wilson_interval
from facevalue.measures.verdicts import Verdict
from facevalue.runs.settings import Looks, StopRule

Array = npt.NDArray[np.float64]
STUDIES = {"modscan": 2, "visbias": 4, "vignette": 4, "stylisticbias": 4}
"""Studies that can be looked at while they are asked, and the size of their audits."""
NEVER = 2.0
"""Share of requests at which something is found that never is."""
TESTS = (1, 34)
"""Comparisons of a page: one, and those of StylisticBias."""
TIMES = (1.0, 1.5, 2.0, 3.0)
"""Effects, as multiples of the one that was planned for."""
SMALL, LEVEL = 0.4, 0.05
"""The effect planned for, in standard deviations between units; and the level of the page."""


def audited(study: str, condition: PlantedCondition, audits: int, kept: Path) -> Iterator[Mapping[str, float]]:
    """Audits of a study: the share of its requests at which each way of looking first found something."""
    for number in range(audits):
        path = kept / f"{study}-{condition.name}-{number}.json"
        if not path.exists():
            path.write_text(json.dumps(looked_at(audits_of(study, STUDIES[study], narrow=True), condition, number)))
        yield json.loads(path.read_text())


def looked_at(audits: Audits, condition: PlantedCondition, number: int) -> dict[str, float]:
    """Look at one audit while it is asked; people, pictures and replies are drawn by its number."""
    answers = audits.answers(condition, TABLE, number)
    study = audits.study
    order = np.concatenate(list(Order(study.design, study.asked_together, number).pieces(2**16)))
    place = np.empty(study.design.size)
    place[order] = np.linspace(0, 1, study.design.size)
    asked = pl.Series(place[answers["trial"].to_numpy().astype(np.int64)])
    looks = Looks(StopRule(), answers.height)
    shares = [count / answers.height for count in range(answers.height + 1) if looks.due(count)] + [1.0]
    first = {"any time": NEVER, "each look": NEVER, "one look": NEVER}
    for share in shares:
        estimates = study.analyse({MODEL: iter([answers.filter(asked <= share)])})
        for way, any_time in (("any time", True), ("each look", False)):
            judged = judge(estimates, study.estimates.measures, None, None, study.estimates.lead, any_time=any_time)
            tested = judged.filter(pl.col("q").is_not_null() & pl.col("family").is_not_null())
            leading = tested.filter(leading_families(pl.col("family"), study.estimates.lead, tested))
            if (leading["verdict"] == Verdict.DIFFERENCE).any():
                first[way] = min(first[way], share)
                if share == 1.0 and not any_time:
                    first["one look"] = 1.0
    return {"looks": len(shares), "units": audits.units, "requests": answers.height, **first}


def of_studies(audits: int, kept: Path) -> pl.DataFrame:
    """Table of studies: a row per study, condition and way of looking."""
    rows = []
    for study in STUDIES:
        for condition in (NOTHING, replace(EFFECTS, effect=1.0)):
            looked = pl.DataFrame(list(audited(study, condition, audits, kept)))
            for way in ("any time", "each look", "one look"):
                hits = int((looked[way] < NEVER).sum())
                low, high = wilson_interval(hits / audits, audits, np.inf)
                rows.append(
                    {
                        "study": study, "planted": condition.name, "way": way, "units": looked["units"][0],
                        "looks": looked["looks"][0], "audits": audits, "found": hits / audits, "low": low.item(),
                        "high": high.item(), "asked": looked[way].clip(0, 1).mean(),
                    }
                )  # fmt: skip
    return pl.DataFrame(rows)


def of_units(repetitions: int = 2_000) -> pl.DataFrame:
    """Table of units: how many each way of looking needs for effects of several sizes."""
    rows, rng = [], np.random.default_rng(1)
    for tests in TESTS:
        level = LEVEL / tests
        single = int(clusters_needed(1.0, SMALL, level).item())
        most = _most(rng, level, single, repetitions)
        for times in TIMES:
            stops = _stops(rng, SMALL * times, level, most, repetitions)
            once = _p(rng.normal(SMALL * times, 1, (repetitions, single)))[:, -1] < level
            rows.append(
                {
                    "comparisons": tests, "effect": times, "units, one look": single, "power, one look": once.mean(),
                    "units at most, any time": most, "units on average, any time": np.minimum(stops, most).mean(),
                    "power, any time": (stops <= most).mean(),
                }
            )  # fmt: skip
    return pl.DataFrame(rows)


def _p(x: Array) -> Array:
    """P of t over units after each unit: shape (audits, units)."""
    n = np.arange(1, x.shape[1] + 1)
    mean = np.cumsum(x, axis=1) / n
    variance = np.maximum(np.cumsum(x**2, axis=1) - n * mean**2, 1e-12) / np.maximum(n - 1, 1)
    return np.asarray(2 * special.stdtr(np.maximum(n - 1, 1), -np.abs(mean) / np.sqrt(variance / n)))


def _stops(rng: np.random.Generator, effect: float, level: float, most: int, repetitions: int) -> Array:
    """Units after which each audit finds the effect; infinite for never."""
    n = np.arange(1, most + 1)
    is_found = any_time_p(_p(rng.normal(effect, 1, (repetitions, most))), np.maximum(n - 1, 1), n) < level
    return np.where(is_found.any(axis=1), is_found.argmax(axis=1) + 1.0, np.inf)


def _most(rng: np.random.Generator, level: float, single: int, repetitions: int) -> int:
    """Units up to which an audit goes on so that it finds the effect planned for with 80% power."""
    stops = np.sort(_stops(rng, SMALL, level, 4 * single + LEAST_UNITS, repetitions))
    return int(stops[int(np.ceil(POWER * repetitions)) - 1])


def main() -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--audits", type=int, default=100)
    parser.add_argument("--keep", type=Path, default=Path("build/early-stopping"))
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    units = arguments.out.with_name(f"{arguments.out.stem}-units.csv")
    of_units().write_csv(units, float_precision=3)
    of_studies(arguments.audits, arguments.keep).write_csv(arguments.out, float_precision=3)


if __name__ == "__main__":
    main()
