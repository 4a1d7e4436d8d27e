"""Answers that favour somebody withheld from VIGNETTE: what is found of them says "unless"."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from facevalue.measures.judgment import judge
from facevalue.studies.vignette.analysis import analyse
from facevalue.studies.vignette.measures import MEASURES
from tests.studies.vignette.simulated import DECISION, TERMS, answered

UNLESS = pl.col("why").str.contains("unless the missing")


def page(share: float, seed: int, *, activity: str | None = None, preferred: float = 0.0) -> pl.DataFrame:
    """Pictures are liked or not, identities are not, but for `preferred`; choices of somebody old are withheld."""
    rng = np.random.default_rng(seed)
    liked: dict[tuple[Any, ...], float] = {}

    def chance(row: dict[str, Any]) -> float:
        at = [(row[f"identity_{side}"], row["gender"], row["activity"]) for side in (1, 2)]
        one, two = (liked.setdefault(who, rng.normal(0, 0.5) + preferred * (who[0] == "old")) for who in at)
        return float(1 / (1 + np.exp(two - one)))

    activities = ("cooking", "sleeping", "hiking", "reading", "fishing", "rowing", "singing", "knitting")
    frame = answered(chance, [*DECISION, *TERMS], activities=activities, seed=seed)
    chosen = pl.when(pl.col("weight") == 1).then("identity_1").otherwise("identity_2")
    gone = (chosen == "old") & pl.Series(rng.random(frame.height) < share)
    if activity is not None:
        gone &= pl.col("activity") == activity
    answers = frame.with_columns(
        pl.when(~gone).then("weight").alias("weight"),
        pl.when(gone).then(0.0).otherwise("mass").alias("mass"),
        pl.when(gone).then(pl.lit("refused")).otherwise("na").alias("na"),
    )
    return judge(analyse({"m": iter([answers])}), MEASURES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "activity", "least"), [(0.1, None, 0), (0.4, None, 1), (0.8, None, 4), (0.9, "hiking", 0)]
)
def test_of_withheld_answers_no_finding_lacks_its_unless(share: float, activity: str | None, least: int) -> None:
    """Of 6 audits .05 leaves at most 1 (binomial, 97%)."""
    found = [page(share, seed, activity=activity).filter(verdict="difference found") for seed in range(6)]
    assert sum(one.filter(~UNLESS).height > 0 for one in found) <= 1
    assert sum(one.height > 0 for one in found) >= least


def test_every_comparison_has_bounds_around_its_value() -> None:
    tested = page(0.3, 1).filter(pl.col("p").is_not_null(), pl.col("measure") != "place_share")
    assert set(tested["measure"]) >= {"log_odds", "impact_shortfall", "spread", "paircomp", "polarity", "selection_gap"}
    assert tested["bound_low"].null_count() == tested["bound_high"].null_count() == 0
    held = (pl.col("bound_low") <= pl.col("value") + 1e-6) & (pl.col("value") <= pl.col("bound_high") + 1e-6)
    assert tested.filter(~held).height == 0


def test_without_missing_answers_bounds_are_the_value_and_a_preference_is_found() -> None:
    table = page(0.0, 1, preferred=2.0)
    known = table.drop_nulls(["value", "bound_low"])
    for end in ("bound_low", "bound_high"):
        assert known.filter((pl.col(end) - pl.col("value")).abs() > 1e-6).height == 0
    found = table.filter(pl.col("verdict") == "difference found", ~UNLESS)
    assert {"selection_gap", "spread", "impact_shortfall"} <= set(found["measure"])
