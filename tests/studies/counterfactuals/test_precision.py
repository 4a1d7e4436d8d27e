"""Power analysis of counterfactual sets: planned power is met, and the spread of a pilot is that of its ratings."""

import numpy as np
import polars as pl
import pytest

from facevalue import studies
from facevalue.measures.majority import from_majority
from facevalue.protocol.study import Study
from facevalue.runs.plan import detection
from facevalue.studies.counterfactuals.rating_precision import SD, residual

SUBSET = {"subset": ["skin-tone-gender"]}
AUDITS = 80


def built(**options: object) -> Study:
    return studies.protocol("counterfactuals").study({**SUBSET, **options})  # type: ignore[dict-item]


@pytest.fixture(scope="module")
def one() -> Study:
    """A study of one rating, of which 40 sets are drawn."""
    return built(prompt=["hiring"], sets=40)


def test_an_effect_that_is_planned_for_is_found_as_often_as_planned(one: Study) -> None:
    plan = one.planned.precision
    assert plan is not None
    planned = detection(
        one, requests=one.design.size, sample=None, seed=0, exact=False, effect=None, pilot=None
    )  # fmt: skip
    assert (planned.clusters, planned.tests) == (40, 10)
    effect = planned.detectable
    assert effect is not None
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(AUDITS):
        ratings = 5.5 + rng.normal(size=(planned.clusters, 1, 1)) + SD * rng.normal(size=(planned.clusters, 10, 1))
        ratings[:, rng.integers(10)] += effect
        found += (from_majority(np.clip(np.round(ratings), 1, 10), 1).q < planned.level * planned.tests).sum() == 1
    assert 0.66 <= found / AUDITS <= 0.92  # .8, three standard errors either way


def test_sets_that_a_sample_asks_each_prompt_are_its_units(one: Study) -> None:
    several = built(prompt=["hiring", "warmth", "salary", "describe"], sets=40)
    for study, prompts in ((one, 1), (several, 2)):
        plan = study.planned.precision
        assert plan is not None
        assert (plan.clusters, plan.sure) == (40, 1 / prompts)
        numbers = study.sample(round(0.5 * study.design.size), 0, 1)
        frame = study.design.trials(numbers).filter(pl.col("prompt").cast(pl.String) == "hiring")
        assert plan.units(numbers)[0] == pytest.approx(frame["set"].n_unique(), abs=1)
        assert plan.units(np.arange(study.design.size)) == (40, 1.0)


def test_the_spread_of_a_pilot_is_what_sets_and_groups_leave() -> None:
    rng = np.random.default_rng(2)
    rows = [
        {"task": "rating", "subset": "one", "prompt": "hiring", "set": f"{number}", "group": f"{group}",
         "rating": 5 + 2 * number % 3 + group + 0.7 * rng.normal()}
        for number in range(80) for group in range(5)
    ]  # fmt: skip
    table = pl.DataFrame(rows)
    partial = table.head(1).with_columns(set=pl.lit("alone"), rating=pl.lit(90.0))
    assert residual(iter([table, partial]), "rating") == pytest.approx(0.7, rel=0.1)
    assert np.isnan(residual(iter([partial]), "rating"))


def test_without_ratings_there_is_nothing_to_plan_for() -> None:
    assert built(prompt=["describe"]).planned.precision is None
    assert built(prompt=["salary"]).planned.precision is None
