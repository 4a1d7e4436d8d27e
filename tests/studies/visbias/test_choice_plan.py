"""Plans of choices: what they say that it takes is what it takes."""

import numpy as np
import polars as pl
import pytest

from facevalue.runs.plan import _reach_of_square
from facevalue.statistics.precision import UnitSpread
from facevalue.studies.visbias.divergence import ChoiceGroups, Choices, group_divergences
from facevalue.studies.visbias.study import choice_precision, pilot_spread
from tests.studies.visbias.simulated import answered, build


def test_a_plan_says_what_choices_about_groups_it_takes() -> None:
    study = build(task=["mcq"])
    plan = study.planned.precision
    assert plan is not None
    assert isinstance(plan.default, UnitSpread)
    tones, genders = 5, 2
    sets = (1 + 6 + 3) + (1 + 4 + 1) + 2 * (1 + 4)  # income and education have an order
    assert (plan.tests, plan.clusters, plan.freedom) == ((tones + genders) * sets, study.manifest.height, 1)
    assert plan.shares == (1 / tones,) * plan.tests
    assert plan.default.mean == pytest.approx(0.5 * np.sqrt(1 - 1 / tones))
    assert plan.units(np.arange(len(study.design) // 2))[0] < plan.clusters
    found = plan.spread(iter([answered(study)]), "here")
    assert 0.3 < found.mean <= plan.default.mean


def test_a_study_that_compares_no_choices_has_no_such_plan() -> None:
    assert build(task=["form"], forms=1).planned.precision is None
    assert build(task=["mcq"], gender=["female"], group=["gender"]).planned.precision is None
    assert np.isnan(pilot_spread(iter([]), ("weight_1",)))
    study = build(task=["mcq"])
    assert (
        choice_precision(study.design, pl.Series("race", ["asian", None]), 1, [6], [False], "mcq", ("weight_1",))
        is None
    )


@pytest.mark.slow
def test_what_a_plan_names_is_found_in_three_of_four_audits_or_more() -> None:
    """A group's share 30 points above the mean, in one of ninety contrasts of its family."""
    study = build(task=["mcq"])
    assert study.planned.precision is not None
    assert isinstance(study.planned.precision.default, UnitSpread)
    found = _reach_of_square(study.planned.precision.default, 1.0, 14, 0.2, 110, 0.04 * 0.8 / 110, 0.3, 1)
    assert found.needed is not None
    rng, hits, size = np.random.default_rng(3), 0, found.needed // 5
    for audit in range(40):
        weights = np.zeros((5 * size, 4, 6))
        for question, options in enumerate((6, 4, 4, 4)):
            for group in range(5):
                share = np.full(options, 1 / options)
                if question == 0:
                    share = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
                    share += (0.3 if group == 0 else -0.075) * np.array([1, -0.2, -0.2, -0.2, -0.2, -0.2])
                weights[group * size : (group + 1) * size, question, :options] = rng.multinomial(1, share, size=size)
        choices = Choices(weights, np.ones((5 * size, 4)), np.repeat(np.arange(5), size), 5)
        q = group_divergences([ChoiceGroups(choices)], audit, 1999)[0].q
        assert q is not None
        hits += q.reshape(5, 4)[0, 0] < 0.04
    assert 0.65 < hits / 40 <= 0.98  # planned .75 to .90, and two standard errors of 40 audits
