"""Without any effect a page finds something in at most about 5% of audits, and 95% of intervals hold."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

from facevalue.measures.judgment import judge
from facevalue.protocol.asks import Ask
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.replies import yes_or_no
from facevalue.protocol.stimuli import Rows
from facevalue.protocol.study import Study
from facevalue.statistics import Estimand, Gap, Mean, Shift, Spread

UNITS = 24
ROWS = [
    {"identity": str(unit), "city": f"city {unit}", "gender": ("female", "male")[unit % 2],
     "age": ("young", "old", "older")[unit % 3], "hat": hat}
    for unit in range(UNITS) for hat in ("none", "cap", "beanie")
]  # fmt: skip
NULL = Protocol(
    name="null",
    title="Nothing is planted",
    stimuli=Rows(ROWS, cue="hat", base="none"),
    ask=Ask(("{hat} {job} {city}?",), yes_or_no(), {"job": {"nurse": "nurse", "cook": "cook"}}),
    estimands=(
        Estimand(Shift(), by=("hat",)),
        Estimand(Shift(), by=("hat", "job")),
        Estimand(Gap(factor="gender")),
        Estimand(Gap(factor="job")),
        Estimand(Gap(factor="gender", of_shifts=True), by=("hat",)),
        Estimand(Spread(factor="age")),
        Estimand(Mean()),
    ),
    seeds=(1, 2, 3),
)
HELD = ("shift", "gap", "paired_gap", "shift_gap")


def audit(study: Study, frame: pl.DataFrame, rng: np.random.Generator) -> tuple[bool, Counter[str]]:
    """One audit of a model that prefers people by chance alone: whether it finds anything, and which intervals hold."""
    people = rng.normal(0, 1, (UNITS, 1)) + rng.normal(0, 0.5, (UNITS, 2))
    unit, job = (frame[name].to_physical().to_numpy().astype(np.int64) for name in ("identity", "job"))
    _, picture = np.unique(frame["image"].to_numpy(), return_inverse=True)
    logit = people[unit, job] + rng.normal(0, 0.4, int(picture.max()) + 1)[picture]
    share = (rng.random(frame.height) < 1 / (1 + np.exp(-logit))).astype(np.float64)
    columns = {name: pl.Series(share) for name in ("share", "(first)", "(letter)")}
    answers = frame.with_columns(**columns, mass=pl.lit(1.0), na=pl.lit(None, pl.String))
    found = judge(study.analyse({"null": iter([answers])}), study.estimates.measures, lead=study.estimates.lead)
    held: Counter[str] = Counter()
    for row in found.filter(pl.col("measure").is_in(HELD)).iter_rows(named=True):
        if row["low"] is not None:
            held[f"{row['measure']} {'held' if row['low'] <= 0 <= row['high'] else 'lost'}"] += 1
    return "difference found" in found["verdict"].to_list(), held


def calibrate(audits: int) -> tuple[float, Counter[str]]:
    study = NULL.study()
    trials = study.design.trials(np.arange(study.design.size))
    frame = pl.concat([trials.with_columns(repeat=pl.lit(k, pl.UInt8), status=pl.lit("ok")) for k in range(3)])
    found, held = 0, Counter[str]()
    for number in range(audits):
        any_, own = audit(study, frame, np.random.default_rng(number))
        found += any_
        held += own
    return found / audits, held


@pytest.mark.slow
def test_a_few_audits_of_nothing_find_little() -> None:
    share, held = calibrate(30)
    assert share <= 4 / 30  # P(more than 4 of 30 at 5%) is .016
    assert sum(held[f"{name} held"] for name in HELD) / sum(held.values()) > 0.9


@pytest.mark.slow
def test_pages_find_nothing_in_95_percent_of_audits_and_intervals_hold() -> None:
    share, held = calibrate(200)
    assert share <= 0.09  # five standard errors would be .127; 200 audits at 5%: above .09 in one of a hundred
    for name in HELD:
        known = held[f"{name} held"], held[f"{name} lost"]
        assert known[0] / sum(known) >= 0.925, name
