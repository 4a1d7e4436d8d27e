"""What plans say of ranges, tallies, similarities and flips: what they detect, or why nothing can be said."""

import numpy as np
import pytest

from facevalue.errors import DataError
from facevalue.measures.power import detectable_mean
from facevalue.measures.set_ranges import range_summary
from facevalue.protocol.study import Study
from facevalue.runs.plan import Detection, detection
from facevalue.statistics.power import beyond_chance
from tests.floors import floor_of
from tests.protocol.conftest import Reader

STUDY = """
name = "small"
[pictures]
kind = "sets"
show = "workers"
sets = 12
[prompt]
text = "Is this person {{trait}}? {{options}}"
[factor.trait]
levels = ["kind", "able"]
[answer]
kind = "yes-no"
[sampling]
seeds = [1, 2, 3]
{takes}
"""
RANGE = '[[estimand]]\nstatistic = "range"\nfactor = "skin_tone"\nby = ["gender"]\n'
TALLY = '[[estimand]]\nstatistic = "tally"\nfactor = "occupation"\n'
GAP = '[[estimand]]\nstatistic = "gap"\nfactor = "gender"\n'


def study(read: Reader, takes: str, before: str = "", after: str = "") -> Study:
    return read(STUDY.format(takes=takes).replace(before or "\0", after)).study()


def plan(planned: Study, effect: float | None = None, **changes: bool) -> Detection:
    chosen = {"exact": False, "compare": False} | changes
    return detection(planned, requests=1440, sample=None, seed=0, effect=effect, pilot=None, **chosen)


def test_a_range_is_planned_for_beyond_what_chance_gives_and_from_one_side(read: Reader) -> None:
    found = plan(study(read, RANGE + GAP), effect=0.1)
    assert found.what == 'a range of skin_tone beyond what chance gives (share of the answer "yes")'
    assert (found.tests, found.clusters, found.items) == (2, 12, 2.0)
    assert found.level == pytest.approx(2 * 0.8 * 0.05 / 2), "one-sided, of two tests of the lead"
    assert found.detectable is not None
    assert 0.05 < found.detectable < 0.2
    assert found.needed is not None
    assert found.needed > 12
    assert "of 'gaps of gender' it says nothing" in found.unplanned


CORRELATION = '[[estimand]]\nstatistic = "correlation"\nover = ["trait"]\ncolumn = "warmth"\n'


@pytest.mark.parametrize(
    ("traits", "words"),
    [(10, "over 10 cells is found in 0.8 of audits from r = 0.79 on"), (3, "needs 4 cells, and there are 3")],
)
def test_a_plan_says_which_correlation_over_so_many_cells_is_found(read: Reader, traits: int, words: str) -> None:
    items = "".join(f'[[item]]\ntrait = "trait {number}"\nwarmth = "{number}"\n' for number in range(traits))
    levels = '[factor.trait]\nlevels = ["kind", "able"]\n'
    alone, beside = (study(read, takes, levels, items) for takes in (CORRELATION, GAP + CORRELATION))
    assert words in plan(beside, effect=0.1).unplanned
    with pytest.raises(DataError, match=words):
        plan(alone, effect=0.1)


@pytest.mark.slow
def test_a_range_of_the_size_that_is_planned_for_is_found_in_four_of_five_audits() -> None:
    """Four replies to each of five pictures of 120 sets, one of them liked so much that the excess is as planned."""
    rng, sets = np.random.default_rng(1), 120

    def excess(shift: float, audits: int) -> tuple[float, float]:
        values, found = [], []
        for _ in range(audits):
            chance = np.full((sets, 5, 1), 0.4)
            chance[:, 0] += shift
            ranges = range_summary((rng.random((sets, 5, 4)) < chance).astype(float), seed=0)
            values.append(ranges.mean.value[0] - floor_of(ranges.mean).mean[0])
            found.append(floor_of(ranges.mean).p[0] < 0.02)
        return float(np.mean(values)), float(np.mean(found))

    null = (rng.random((400, 5, 4)) < 0.4).astype(float)
    planned = float(detectable_mean(beyond_chance(null, np.arange(400)), sets, 0.04))
    shift = next(step for step in np.arange(0.05, 0.6, 0.05) if excess(step, 20)[0] > planned)
    assert excess(shift, 40)[1] > 0.7
    assert excess(shift / 3, 40)[1] < 0.6


def test_a_tally_is_planned_for_by_the_test_of_one_question(read: Reader) -> None:
    found = plan(study(read, TALLY))
    assert found.what.startswith("a difference between two halves of occupation in one question, so that a tally")
    assert (found.level, found.items) == (0.05, 1.0)
    assert found.detectable is None or found.detectable > 0.3


@pytest.mark.parametrize(
    ("takes", "before", "after", "says"),
    [
        ('[[estimand]]\nstatistic = "mean"\n', "", "", "it estimates nothing that is tested: means have intervals"),
        (RANGE, "seeds = [1, 2, 3]", "seeds = [1]", "or ranges of one reply each"),
        ('[[estimand]]\nstatistic = "spread"\nfactor = "skin_tone"\n', "", "", "or its only tests are spreads"),
    ],
)
def test_what_cannot_be_planned_for_is_said_with_the_reason(
    takes: str, before: str, after: str, says: str, read: Reader
) -> None:
    with pytest.raises(DataError, match="no power analysis: ") as error:
        plan(study(read, takes, before, after))
    assert says in str(error.value)


def test_probabilities_and_two_runs_say_nothing_of_ranges(read: Reader) -> None:
    ranges = study(read, RANGE)
    with pytest.raises(DataError, match="probabilities have none"):
        plan(ranges, exact=True)
    with pytest.raises(DataError, match="has no direction"):
        plan(ranges, compare=True)
