"""Plans: what is said to be detected is found as often as is said."""

import numpy as np
import pytest
from scipy import optimize, special, stats

from facevalue.errors import DataError
from facevalue.measures import dyads
from facevalue.measures.power import clusters_needed
from facevalue.runs.power import planned
from facevalue.studies.modscan.precision import SD
from tests.studies.modscan.asked import build, simulated

LIKED = 1.5 * stats.norm.ppf((np.arange(400) + 0.5) / 400)


@pytest.mark.parametrize(("gap", "both"), [(0.1, True), (0.2, True), (0.2, False)])
def test_a_gap_of_the_stated_size_is_found_in_three_quarters_to_nine_tenths_of_audits(gap: float, both: bool) -> None:
    level = 0.04 / 4 / 34
    pairs, audits = int(clusters_needed(SD[both], gap, level)), 1000
    rng = np.random.default_rng(pairs)
    middle = optimize.brentq(lambda mu: special.expit(mu + LIKED).mean() - 0.5 - gap, -9, 9)
    logits = middle + 1.5 * rng.normal(size=audits * pairs)
    sides = [0.25, -0.25] if both else [0.25 * rng.choice([-1.0, 1.0], logits.size)]
    men = np.mean([rng.random(logits.size) < special.expit(logits + side) for side in sides], axis=0)
    people = np.tile(np.arange(pairs), audits)
    found = dyads.shares(men, np.ones(men.size), (people, pairs + people), np.repeat(np.arange(audits), pairs), audits)
    assert 0.75 <= (found.p(0.5) < level).mean() <= 0.9


def test_the_plan_is_of_the_first_test_of_gender() -> None:
    plan = build(faces=4, per_persona=3).precision
    assert plan is not None
    assert (plan.tests, plan.clusters, plan.sure, plan.each) == (34, 48, 0.25, 68)
    scenes = build(modality=["language"], per_persona=3).precision
    assert scenes is not None
    assert (scenes.tests, scenes.clusters, scenes.each) == (14, 3, 28)
    with pytest.raises(DataError, match="no power analysis of what these settings ask"):
        planned(build(attribute=["race"]), compare=False)
    paper = build(paper=True).precision
    assert paper is not None
    assert paper.clusters == 2604


@pytest.mark.parametrize(("modality", "size"), [("vision", {"faces": 4}), ("language", {"per_persona": 20})])
def test_a_pilot_gives_the_spread_of_its_own_pairs_and_scenes(modality: str, size: dict[str, int]) -> None:
    study = build(modality=[modality], attribute=["gender"], **size)
    assert study.precision is not None
    assert study.precision.spread(iter([simulated(study)]), "a pilot").mean == pytest.approx(0.38, abs=0.07)
    units, items = study.precision.units(study.sample(study.design.size // 2, 1, 1))
    assert (units, items) == (study.precision.clusters // 2, 1.0)
