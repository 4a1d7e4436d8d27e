"""Power before spending: what a plan detects, and what it takes to detect more."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit

from facevalue import studies
from facevalue.calibration.audits import Audits
from facevalue.calibration.planted_answers import PlantedCondition
from facevalue.errors import DataError
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.judgment import judge
from facevalue.measures.verdicts import Verdict
from facevalue.models import load
from facevalue.protocol.calibration import Calibration
from facevalue.protocol.study import Study
from facevalue.runs import RunSettings, run
from facevalue.runs.plan import Detection, detection
from facevalue.runs.stored_run import StoredRun
from facevalue.statistics import Estimand, Shift
from facevalue.statistics.precision import Respondents, UnitSpread, units_asked
from facevalue.statistics.scores import ModelScores
from facevalue.studies.stylisticbias import measures
from facevalue.studies.stylisticbias.tables import scenarios
from facevalue.types import OptionValue
from tests.studies.preference_scores import answered, estimator, sets_of

FEW = {"scenario": ["wealthy", "polite"], "attributes": ["eyewear"], "seeds": ["1"]}


def test_a_sample_of_other_tasks_alone_has_no_unit_of_the_test_that_is_planned_for() -> None:
    design = studies.build("stylisticbias", FEW | {"faces": "2M"}).design
    assert units_asked(design, ["image"], rows=lambda trials: trials.clear())(np.arange(4)) == (0, 0.0)


def plan(study: Study, **changes: object) -> Detection:
    chosen = {"requests": 1000, "sample": None, "seed": 0, "exact": False, "effect": None, "pilot": None} | changes
    return detection(study, **chosen)  # type: ignore[arg-type]


def judged(model: ModelScores) -> pl.DataFrame:
    """Each family of shifts, judged as one page."""
    table = EstimateTable("stylisticbias", "planted", measures.LABELS)
    for by, family in (
        (("attribute", "variation"), "variations"),
        ((), "overall"),
        (("attribute",), "attributes"),
        (("scenario",), "scenarios"),
    ):
        model.estimate(table, Estimand(Shift(), by=by, measure="shift", family=family))
    return judge(table.frame(), measures.MEASURES, lead=("variations",))


def test_more_faces_detect_less() -> None:
    few, many = (plan(studies.build("stylisticbias", {"faces": str(n)})).detectable for n in (40, 400))
    assert few is not None
    assert many is not None
    assert many < few / 2


def test_as_many_faces_as_are_needed_detect_what_was_asked() -> None:
    needed = plan(studies.build("stylisticbias", {"faces": "20"}), effect=0.03).needed
    assert needed is not None
    enough = plan(studies.build("stylisticbias", {"faces": str(needed)})).detectable
    less = plan(studies.build("stylisticbias", {"faces": str(needed - 2)})).detectable
    assert enough is not None
    assert less is not None
    assert enough <= 0.03 < less


def test_a_sample_of_few_scenarios_detects_less_than_all_of_them() -> None:
    study = studies.build("stylisticbias", {"faces": "40"})
    whole, part = plan(study), plan(study, sample=20_000)
    assert part.items < whole.items
    assert part.detectable is not None
    assert whole.detectable is not None
    assert part.detectable > whole.detectable


def test_the_level_is_that_of_the_family() -> None:
    one = plan(studies.build("stylisticbias", {"faces": "20", "variations": ["cap"]}))
    many = plan(studies.build("stylisticbias", {"faces": "20"}))
    assert one.level == pytest.approx(0.04)  # .8 of .05: the family that leads the page has that share
    assert many.level == pytest.approx(0.04 / 34)


@pytest.mark.parametrize("seeds", [["1"], ["1", "2", "3"]], ids=["one seed", "three"])
@pytest.mark.parametrize("effect", [0.05, 0.1, 0.2, 0.3])
def test_what_a_plan_names_is_detected_in_three_of_four_audits_or_more_also_by_cues_of_one_gender(
    effect: float, seeds: list[str]
) -> None:
    """Faces that a model likes in all scenarios alike, and pictures that differ: the shift is not the same for all.

    One seed instead of three takes a third more faces. Few faces can't be chosen finely: one more than finds a shift of
    .2 in too few audits finds it in nine of ten.
    """
    found = plan(studies.build("stylisticbias", {"faces": "60", "seeds": seeds}), effect=effect)
    whole, half = found.reaches
    assert (whole.tests, half.tests, half.clusters) == (29, 5, 30)
    assert whole.needed is not None
    assert found.needed == half.needed == 2 * whole.needed
    rng, replies = np.random.default_rng(1), 4 * len(seeds)
    theirs = rng.standard_normal((whole.needed, 2000, 1))
    logit = brentq(lambda b: float(np.mean(expit(theirs + b) - expit(theirs))) - effect, 0, 6)
    pictures = 0.4 * rng.standard_normal((2, *theirs.shape[:2], 25))
    scores = [
        rng.binomial(replies, expit(theirs + shift + own)) / replies
        for shift, own in zip((0, logit), pictures, strict=True)
    ]
    test = stats.ttest_1samp((scores[1] - scores[0]).mean(axis=2), 0)
    power = np.mean((test.pvalue < found.level) & (test.statistic > 0))
    assert 0.75 < power < (0.9 if whole.needed > 8 else 0.95)


@pytest.mark.slow
def test_the_faces_that_a_plan_names_find_the_shift_in_the_report_of_a_simulated_model() -> None:
    """Each face on its own in each scenario, as `sim/` models are, and a cue of one gender; 40 audits of 26 faces."""
    found = plan(studies.build("stylisticbias", {"faces": "60", "seeds": ["1"]}), effect=0.1)
    assert found.needed is not None
    settings: dict[str, OptionValue] = {"faces": str(found.needed), "seeds": ["1"]}
    audits = Audits(studies.protocol("stylisticbias"), Calibration(("variation",), "faces", settings), 1)
    faces, names = sets_of(audits.study.manifest), [scenario.name for scenario in scenarios()]
    planted = PlantedCondition("lone", lone=0.5066, target={"variation": "full-beard"}, person=1.0, picture=0.4)
    hits = 0
    for audit in range(40):
        answers = audits.answers(planted, 1, audit)
        phi = answered(iter([answers]), faces, names, 1).phi
        estimates = judged(estimator(faces, phi, names)).filter(variation="full-beard")
        hits += estimates["verdict"].to_list() == [Verdict.DIFFERENCE]
    assert 26 <= hits <= 39  # .65 to .975: two standard errors beyond .75 to .90


def test_a_cue_of_one_gender_rests_on_the_faces_that_can_have_it() -> None:
    study = studies.build("stylisticbias", {"faces": "274M,226F", "attributes": ["facial_hair"]})
    plan_facts = study.planned.precision
    assert plan_facts is not None
    assert (plan_facts.tests, plan_facts.clusters, plan_facts.shares) == (2, 500, (274 / 500,) * 2)
    (reach,) = plan(study, effect=0.05).reaches
    assert (reach.tests, reach.clusters) == (2, 274)


def test_a_larger_shift_differs_more_from_face_to_face() -> None:
    small, large = (plan(studies.build("stylisticbias", {"faces": "60"}), effect=e).sd for e in (0.02, 0.3))
    assert large > 1.5 * small


def test_the_sample_that_a_plan_names_detects_what_was_asked() -> None:
    study = studies.build("stylisticbias", {"faces": "60"})
    asked = study.design.size * study.repeats
    found = plan(study, requests=asked, effect=0.1)
    assert found.sample is not None
    assert found.sample < asked / 2
    taken = plan(study, sample=found.sample).detectable
    assert taken is not None
    assert taken <= 0.1
    assert plan(studies.build("stylisticbias", {"faces": "4"}), effect=0.05).sample is None


@pytest.mark.slow
def test_a_difference_between_two_runs_takes_more_faces_than_a_shift_and_those_are_enough() -> None:
    study = studies.build("stylisticbias", {"faces": "60"})
    single, both = (plan(study, requests=60_000, effect=0.1, compare=compare) for compare in (False, True))
    assert single.needed is not None
    assert both.needed is not None
    assert single.needed < both.needed <= 2.5 * single.needed
    assert both.what.startswith("a difference between two runs")
    assert study.planned.precision is not None
    assert isinstance(study.planned.precision.default, Respondents)
    differences = study.planned.precision.default.twice().shifts(study.planned.precision.items, 0.1)
    assert differences.mean() == pytest.approx(0.1, abs=1e-9)
    faces = next(part.clusters * both.needed // 60 for part in both.reaches if part.clusters < 60)
    drawn = np.random.default_rng(1).choice(differences, (4000, faces))
    p = np.asarray(stats.ttest_1samp(drawn, 0.0, axis=1).pvalue)
    assert 0.75 <= np.mean(p < both.level) <= 0.95


def test_a_difference_between_two_runs_in_choices_is_one_of_shares_and_its_pictures_are_enough() -> None:
    """The jackknife's t over twenty groups, in 4,000 pairs of runs whose answers are as even as assumed."""
    study = studies.build("visbias", {})
    found = plan(study, effect=0.3, compare=True)
    assert found.what.startswith("a difference between two runs in a group's share of a choice")
    assert found.needed is not None
    assert found.tests > 100
    assert study.planned.precision is not None
    assert study.planned.precision.compared is not None
    size = round(found.needed * study.planned.precision.compared.shares[0])
    rng = np.random.default_rng(2)
    differences = (rng.random((4000, size)) < 0.65).astype(float) - (rng.random((4000, size)) < 0.35)
    assert size > 40
    value, group = differences.mean(axis=1), np.arange(size) % 20
    moves = np.stack([differences[:, group != g].mean(axis=1) - value for g in range(20)])
    p = 2 * stats.t.sf(np.abs(value) / np.sqrt(19 / 20 * (moves**2).sum(axis=0)), 19)
    assert 0.75 <= np.mean(p < found.level) <= 0.95


def test_a_pilot_gives_the_spread(tmp_path: Path) -> None:
    study = studies.build("stylisticbias", FEW | {"faces": "30"})
    run(study, load("sim/default"), tmp_path / "pilot", RunSettings(check=False))
    found = plan(study, effect=0.05, pilot=StoredRun.open(tmp_path / "pilot"))
    assert "pilot" in found.source
    assert 0.05 < found.sd < 0.6
    assert found.needed is not None


def test_a_pilot_without_answers_says_so(tmp_path: Path) -> None:
    study = studies.build("stylisticbias", FEW | {"faces": "4"})
    run(study, load("sim/refuser"), tmp_path / "pilot", RunSettings(check=False))
    with pytest.raises(DataError, match="nothing of the spread"):
        plan(study, pilot=StoredRun.open(tmp_path / "pilot"))


@pytest.mark.parametrize("effect", [0.0, math.nan, 1.5, -1.0, -0.1])
def test_impossible_effects_are_refused(effect: float) -> None:
    with pytest.raises(DataError, match="at most 1"):
        plan(studies.build("stylisticbias", {"faces": "4"}), effect=effect)


def test_left_out_items_add_their_share_of_the_variance() -> None:
    spread = UnitSpread(mean=0.04, within=0.2, items=25, source="x")
    assert spread.sd(25) == 0.04
    assert spread.sd(1) == pytest.approx(math.sqrt(0.04**2 + 0.2**2 * (1 - 1 / 25)))
    assert math.isnan(UnitSpread(0.04, math.nan, 25, "x").sd(3))
    assert UnitSpread(0.03, 0.2, 25, "x", growth=0.4).sd(25, 0.1) == pytest.approx(0.05)
