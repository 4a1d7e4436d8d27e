"""What plans without a pilot promise of gaps, leans and preferences, and how often they keep it."""

import numpy as np
import numpy.typing as npt
import pytest
import scipy

from facevalue.runs.plan import Detection, detection, expected_spread
from facevalue.statistics.power import assumed_spread
from facevalue.statistics.precision import Respondents, UnitSpread
from tests.protocol.conftest import Reader

STUDY = """
name = "small"
[pictures]
kind = "portraits"
people = "36"
[prompt]
text = "Is this person {{trait}}?"
[factor.trait]
levels = {levels}
[answer]
kind = "yes-no"
[sampling]
seeds = {seeds}
[[estimand]]
{take}
"""
GAP, LEAN = 'statistic = "gap"\nfactor = "gender"', 'statistic = "lean"'


def plan(
    read: Reader, take: str, seeds: int, *, effect: float = 0.2, levels: int = 1, exact: bool = False
) -> Detection:
    names = [f"trait {number}" for number in range(levels)]
    text = STUDY.format(levels=names, seeds=list(range(seeds)), take=take).replace("'", '"')
    study = read(text).study()
    return detection(study, requests=1_000, sample=None, seed=0, exact=exact, effect=effect, pilot=None)


def found(units: int, replies: int, effect: float, level: float, questions: int = 1, *, between: bool = True) -> float:
    """Share of simulated audits that find an effect in people who differ by 1.1 logits (SD)."""
    rng, audits = np.random.default_rng(0), 3_000
    base = 0.5 - effect / 2 if between else 0.5

    def scores(people: int, rate: float) -> npt.NDArray[np.float64]:
        at = scipy.optimize.brentq(lambda x: scipy.special.expit(x + 1.1 * rng_free).mean() - rate, -9, 9)
        chance = scipy.special.expit(at + 1.1 * rng.standard_normal((audits, people)))
        return rng.binomial(replies * questions, chance) / (replies * questions)

    rng_free = scipy.stats.norm.ppf((np.arange(999) + 0.5) / 999)
    high = scores(units // 2 if between else units, base + effect)
    if not between:
        return float(np.mean(scipy.stats.ttest_1samp(high, 0.5, axis=1).pvalue < level))
    low = scores(units - units // 2, base)
    return float(np.mean(scipy.stats.ttest_ind(high, low, axis=1, equal_var=False).pvalue < level))


@pytest.mark.parametrize("replies", [1, 2, 8])
@pytest.mark.parametrize("effect", [0.15, 0.3])
def test_a_gap_is_found_as_often_as_its_plan_says_whatever_the_number_of_replies(
    read: Reader, replies: int, effect: float
) -> None:
    """An SD of .2 of the scale, whatever the number of replies, found .19 with one reply and .43 with eight."""
    said = plan(read, GAP, replies, effect=effect)
    assert said.needed is not None
    assert 0.75 <= found(said.needed, replies, effect, said.level) <= 0.9


@pytest.mark.parametrize("replies", [1, 8])
def test_a_lean_is_found_as_often_as_its_plan_says(read: Reader, replies: int) -> None:
    said = plan(read, LEAN, replies, effect=0.1)
    assert said.needed is not None
    assert 0.75 <= found(said.needed, replies, 0.1, said.level, between=False) <= 0.9


def test_more_questions_take_fewer_people_and_probabilities_have_no_chance(read: Reader) -> None:
    one, four = (plan(read, GAP, 1, levels=levels) for levels in (1, 4))
    assert one.needed is not None
    assert four.needed is not None
    assert four.needed < one.needed / 2
    assert 0.75 <= found(four.needed, 1, 0.2, four.level, questions=4) <= 0.9
    read_off = plan(read, GAP, 1, exact=True)
    assert read_off.sd == pytest.approx(2 * 0.22)
    assert "replies are drawn" in one.source


def test_a_spread_of_replies_is_that_of_units_beside_that_of_chance() -> None:
    drawn = assumed_spread(draws=4, items=5, span=2.0, factor=2.0)
    assert drawn.sd(5) == pytest.approx(4 * np.sqrt(0.0484 + 0.2016 / 20))
    assert drawn.sd(1) == pytest.approx(4 * np.sqrt(0.0484 + 0.2016 / 4))
    assert drawn.exact().sd(1) == pytest.approx(0.88)
    assert drawn.twice().exact().sd(3) == pytest.approx(0.88 * np.sqrt(2))
    assert UnitSpread(0.3, 0.2, 4, "a pilot").exact() == UnitSpread(0.3, 0.2, 4, "a pilot")


def test_what_is_compared_within_units_is_simulated(read: Reader) -> None:
    text = STUDY.format(levels='["kind"]', seeds=[1, 2], take=GAP)
    sets = text.replace("portraits", "sets").replace('people = "36"', 'show = "workers"\nsets = 12')
    study = read(sets).study()
    spread = expected_spread(study, exact=False, pilot=None)
    assert isinstance(spread, Respondents)
    assert spread.replies == 2
