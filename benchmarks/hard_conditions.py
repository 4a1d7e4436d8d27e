"""Audits of small studies: groups are unlike, answers withheld, the model wavers, and plans have no pilot.

`make calibration` makes the conditions with all others; this makes these alone, in half an hour. Run:
``python -m benchmarks.hard_conditions --out docs/results/calibration-conditions.csv``
"""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import polars as pl

from facevalue.calibration.families import share
from facevalue.calibration.planted_answers import PlantedCondition
from facevalue.calibration.repetitions import Workshop
from facevalue.calibration.runner import ALIKE, HARD, NOTHING, Runner

T = TypeVar("T")
DESIGNS = Path(__file__).parent / "conditions"
WAVERS = "the model wavers, pictures alike"
CONDITIONS = (NOTHING.name, "40% withheld by group", WAVERS, "groups of unlike size and variance")
PAGES = {"groups": CONDITIONS, "ranges": (WAVERS,)}
"""Conditions of each study."""
PLANS = ("replies-1", "replies-2", "groups", "replies-8")
"""Studies whose plan without a pilot is held to what it says: one, two, four and eight replies to a question."""
WITHIN = ("flip",)
"""Measures of what is beyond chance between pictures of one unit: zero where these are alike."""


def _counted(items: Iterable[T], label: str, total: int | None = None) -> Iterable[T]:
    print(f"{label}: {total} audits", flush=True)
    return items


def _flips(runner: Runner, condition: PlantedCondition) -> pl.DataFrame:
    """How often intervals of flips beyond chance hold zero where pictures are alike."""
    rows = runner.repeat_audits(1, condition, runner.truth(ALIKE)).filter(pl.col("measure").is_in(WITHIN))
    covered = share(rows.with_columns(covers=pl.lit(0.0).is_between("low", "high")), "covers")
    facts = {"study": runner.name, "repetitions": rows["audit"].n_unique(), "condition": condition.name}
    return pl.DataFrame([{**facts, "measure": "flip", "value": rows["value"].mean(), **covered.to_columns("coverage")}])


def main() -> None:
    """Make the audits, and write a row per study and condition, per plan, and per condition of flips."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--audits", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=Path("build/calibration"))
    chosen = parser.parse_args()
    assert {condition.name for condition in HARD} >= set(CONDITIONS[1:])
    with Workshop(_counted, chosen.keep, chosen.processes) as workshop:
        runners = {
            name: Runner(str(DESIGNS / f"{name}.toml"), (1,), chosen.audits, workshop)
            for name in (*PAGES, *PLANS, "flips")
        }
        tables: dict[str, Callable[[], list[pl.DataFrame]]] = {
            "": lambda: [runners[name].hard(conditions) for name, conditions in PAGES.items()],
            "-plans": lambda: [runners[name].plans() for name in PLANS],
            "-flips": lambda: [
                _flips(runners["flips"], one) for one in (ALIKE, *(one for one in HARD if one.name == WAVERS))
            ],
        }
        for ending, frames in tables.items():
            path = chosen.out.with_stem(f"{chosen.out.stem}{ending}")
            pl.concat(frames(), how="vertical_relaxed").write_csv(path, float_precision=3)


if __name__ == "__main__":
    main()
