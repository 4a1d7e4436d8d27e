"""Plans: what is said to be detected is found as often as is said."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import optimize, special, stats

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.pairs import pair_shares
from facevalue.measures.power import clusters_needed
from facevalue.runs.plan import detection
from facevalue.studies.modscan.planning import SD
from facevalue.studies.modscan.settings import RACES
from tests.studies.modscan.asked import build, simulated

LIKED = 1.5 * stats.norm.ppf((np.arange(400) + 0.5) / 400)
PERSON = 1.5 / np.sqrt(2)  # SD of each of two people who are 1.5 logits apart
PERSONAS = {"faces": 4, "scenarios": ["persona"]}


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
    found = pair_shares(men, np.ones(men.size), (people, pairs + people), np.repeat(np.arange(audits), pairs), audits)
    assert 0.75 <= (found.p_against(0.5) < level).mean() <= 0.9


def test_the_plan_is_of_the_first_test_of_gender() -> None:
    plan = build(faces=4, per_persona=3).planned.precision
    assert plan is not None
    assert (plan.tests, plan.clusters, plan.sure, plan.each) == (34, 48, 0.25, 68)
    scenes = build(modality=["language"], per_persona=3).planned.precision
    assert scenes is not None
    assert (scenes.tests, scenes.clusters, scenes.each) == (14, 3, 28)
    paper = build(paper=True).planned.precision
    assert paper is not None
    assert paper.clusters == 2604


def test_without_gender_the_plan_is_of_race_or_skin_tone() -> None:
    faces = build(attribute=["race"]).planned.precision
    assert faces is not None
    assert (faces.tests, faces.clusters, faces.sure, faces.each) == (4 * 34, 18, 0.5, 408)
    assert (faces.cluster, faces.largest, set(faces.shares)) == ("people of each skin tone", 0.5, {1.0})
    scenes = build(attribute=["race"], modality=["language"], per_persona=3).planned.precision
    assert scenes is not None
    assert (scenes.tests, scenes.clusters, scenes.sure, scenes.each, scenes.largest) == (4 * 14, 3, 1, 56, 0.75)
    paper = build(attribute=["race"], paper=True).planned.precision
    assert paper is not None
    assert paper.clusters == 1230  # 7,378 pairs of two of four races, each person beside one of every other


def test_races_of_fewer_people_are_planned_for_by_themselves(tmp_path: Path) -> None:
    rows = [f"{race}{n}.png,25,male,{race}" for race in RACES for n in range(2 if race == "Indian" else 6)]
    (tmp_path / "faces.csv").write_text("\n".join(["image,age,gender,race", *rows]) + "\n")
    study = build(attribute=["race"], modality=["vision"], manifest=str(tmp_path / "faces.csv"))
    plan = detection(study, requests=1, sample=None, seed=0, exact=False, effect=0.2, pilot=None)
    assert [(reach.tests, reach.clusters) for reach in plan.reaches] == [(3 * 34, 6), (34, 2)]
    assert plan.needed == max(reach.needed or 0 for reach in plan.reaches)


@pytest.mark.parametrize("gap", [0.1, 0.2])
@pytest.mark.parametrize("both", [True, False])
def test_a_gap_of_one_race_among_faces_is_found_as_often_as_is_said(gap: float, both: bool) -> None:
    study = build(attribute=["race"], sides="both" if both else "drawn")
    plan = detection(study, requests=1, sample=None, seed=0, exact=False, effect=gap, pilot=None)
    people, beside, audits = plan.needed or 0, 3, 300
    rng = np.random.default_rng(people)
    middle = optimize.brentq(lambda mu: special.expit(mu + LIKED).mean() - 0.5 - gap, -9, 9)
    liked = middle + PERSON * (rng.normal(size=(audits, people, 1)) - rng.normal(size=(audits, people, beside)))
    sides = [0.25, -0.25] if both else [0.25 * rng.choice([-1.0, 1.0], liked.shape)]
    chosen = np.mean([rng.random(liked.shape) < special.expit(liked + side) for side in sides], axis=0).ravel()
    person, other = np.repeat(np.arange(audits * people), beside), audits * people + np.arange(chosen.size)
    audit = np.repeat(np.arange(audits), people * beside)
    found = pair_shares(chosen, np.ones(chosen.size), (person, other), audit, audits)
    assert 0.75 <= (found.p_against(0.5) < plan.level).mean() <= 0.92  # .82 to .90, give or take two standard errors


@pytest.mark.parametrize("gap", [0.1, 0.2])
@pytest.mark.parametrize("order", ["balanced", "random"])
def test_a_gap_of_one_race_named_about_scenes_is_found_as_often_as_is_said(gap: float, order: str) -> None:
    study = build(attribute=["race"], modality=["language"], order=order)
    plan = detection(study, requests=1, sample=None, seed=0, exact=False, effect=gap, pilot=None)
    scenes, audits = plan.needed or 0, 300
    rng = np.random.default_rng(scenes)

    def chance(liked: Array, more: float, first: int | npt.NDArray[np.int64]) -> Array:
        """Of the first of four groups, one of which is named first."""
        logits = liked + np.array([more, 0, 0, 0]) + 0.25 * (np.arange(4) == np.asarray(first)[..., None])
        return np.asarray(special.softmax(logits, axis=-1)[..., 0])

    many = PERSON * rng.normal(size=(10_000, 4))
    more = optimize.brentq(lambda mu: np.mean([chance(many, mu, k) for k in range(4)]) - 0.25 - gap, -9, 9)
    liked = PERSON * rng.normal(size=(audits * scenes, 4))
    firsts = list(range(4)) if order == "balanced" else [rng.integers(0, 4, len(liked))]
    chosen = np.mean([rng.random(len(liked)) < chance(liked, more, first) for first in firsts], axis=0)
    scene = np.arange(chosen.size)
    found = pair_shares(chosen, np.ones(chosen.size), (scene, scene), np.repeat(np.arange(audits), scenes), audits)
    assert 0.75 <= (found.p_against(0.25) < plan.level).mean() <= 0.92  # .82 to .87, give or take two standard errors


@pytest.mark.parametrize(
    ("modality", "attribute", "size", "sd"),
    [
        ("vision", "gender", PERSONAS, 0.35),
        ("language", "gender", {"per_persona": 10}, 0.37),
        ("vision", "race", PERSONAS, 0.22),
        ("language", "race", {"per_persona": 10}, 0.26),
    ],
)
def test_a_pilot_gives_the_spread_of_its_own_people_and_scenes(
    modality: str, attribute: str, size: dict[str, Any], sd: float
) -> None:
    study = build(modality=[modality], attribute=[attribute], **size)
    assert study.planned.precision is not None
    assert study.planned.precision.spread(iter([simulated(study)]), "a pilot").mean == pytest.approx(sd, abs=0.04)
    units, items = study.planned.precision.units(study.sample(study.design.size // 2, 1, 1))
    assert (units, items) == (study.planned.precision.clusters // 2, 1.0)
