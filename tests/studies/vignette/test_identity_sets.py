"""What chance gives identities whose pictures are paired with each other: deals, draws, floors, intervals."""

import numpy as np
import pytest

from facevalue.measures.group_spread import impact_ratios, shortfalls
from facevalue.measures.noise_floors import share_beyond, spread_interval
from facevalue.studies.vignette.identity_sets import (
    MOST_NULL_DRAWS,
    Scenes,
    crossed_correlation,
    draw_frequencies,
    frequency_spread,
    selection_spread,
    spread_error,
)


def scenes(
    identities: int, count: int, sd: float, seed: int = 0, effects: np.ndarray | None = None, people: int = 0
) -> Scenes:
    """Everybody beside everybody in each scene; pictures are liked or not, with this SD on the logit scale.

    With people, they stand in three pictures each, liked or not alike.
    """
    rng = np.random.default_rng(seed)
    lines = count if not people else 3 * people
    owner = np.arange(count) if not people else np.tile(np.arange(people), 3)
    liked = rng.normal(0, sd, (owner.max() + 1, identities))[owner] + (0 if effects is None else effects)
    chance = 1 / (1 + np.exp(liked[:, None, :] - liked[:, :, None]))
    upper = np.triu(rng.binomial(6, chance), 1)
    won = upper + np.where(np.tri(identities, k=-1) > 0, 6 - np.swapaxes(upper, 1, 2), 0)
    s = won.sum(axis=2).astype(float)
    n = np.full((lines, identities), 6.0 * (identities - 1))
    activity = np.arange(lines) if not people else np.repeat(np.arange(3), people)
    return Scenes(n, s, owner, np.zeros(lines, dtype=np.int64), activity)


def selected(one: Scenes) -> np.ndarray:
    return one.selection_frequencies(one.n, one.s)


def errors(one: Scenes) -> np.ndarray:
    """Standard errors between scenes."""
    each = 100 * (one.s / one.n)
    return each.std(axis=0, ddof=1) / one.count**0.5


@pytest.mark.parametrize("people", [0, 4])
def test_equal_identities_have_a_small_p_and_a_low_limit_above_zero_as_rarely_as_they_say(people: int) -> None:
    """Pictures (or the four people in them) differ, identities don't. 200 audits: 5% is 10, 99.9% lie up to 21."""
    small = above = beyond = 0
    for seed in range(200):
        one = scenes(6, 12, 0.6, seed, people=people)
        value = float(frequency_spread(selected(one)))
        null = frequency_spread(one.permute_identities(one.s, 200, seed))
        p = float(share_beyond(null, value))
        small += int(p < 0.05)
        freed = frequency_spread(one.permute_identities(one.null_answers, 200, seed + 1000))
        above += int(spread_interval(value, freed, 6, 50, p)[0] > 0)
        beyond += int(value > np.quantile(freed, 0.95))
    assert small <= 21
    assert above == small
    assert beyond <= 26


def test_floors_do_not_grow_with_the_effect() -> None:
    """The same pictures with and without differences between identities have the same noise beside them."""
    effects = np.linspace(-0.7, 0.7, 8)
    plain, large = scenes(8, 40, 0.5, 3), scenes(8, 40, 0.5, 3, effects)
    floors = [frequency_spread(one.permute_identities(one.null_answers, 300, 1)).mean() for one in (plain, large)]
    assert floors[1] == pytest.approx(floors[0], rel=0.15)
    raw = frequency_spread(large.permute_identities(large.s, 300, 1)).mean()
    assert raw > 1.2 * floors[0]  # dealt with their differences, they would hide behind themselves


def test_spread_intervals_hold_a_planted_spread() -> None:
    effects = np.linspace(-0.4, 0.4, 8)
    truth = float(frequency_spread(selected(scenes(8, 20_000, 0.5, 1, effects))))
    held = 0
    for seed in range(150):
        one = scenes(8, 25, 0.5, seed + 10, effects)
        null = frequency_spread(one.permute_identities(one.null_answers, 200, seed))
        value = float(frequency_spread(selected(one)))
        p = float(share_beyond(frequency_spread(one.permute_identities(one.s, 200, seed)), value))
        low, high = spread_interval(value, null, 8, 168, p)
        held += low <= truth <= high
    assert held >= 135  # .95 of 150 is 142; 99.9% lie at or above 133


@pytest.mark.parametrize(("identities", "count"), [(6, 3), (2, 8), (12, 4)])
def test_spread_intervals_of_few_scenes_hold_zero(identities: int, count: int) -> None:
    held = 0
    for seed in range(150):
        one = scenes(identities, count, 0.5, seed)
        null = frequency_spread(one.permute_identities(one.null_answers, 200, seed))
        df = (identities - 1) * (count - 1)
        value = float(frequency_spread(selected(one)))
        p = float(share_beyond(frequency_spread(one.permute_identities(one.s, 200, seed + 1000)), value))
        held += spread_interval(value, null, identities, df, p)[0] == 0
    assert held >= 133  # zero can only be missed below: .95 of 150 is 142; 99.9% lie at or above 133


def test_spread_has_an_error_and_nothing_where_there_is_nothing_to_compare() -> None:
    assert spread_error(np.array([49.0, 51.0]), np.array([5.0, 5.0]), np.eye(2)) == pytest.approx(5.0)
    assert np.isnan(spread_error(np.array([50.0, 50.0]), np.ones(2), np.eye(2)))
    alone = selection_spread(np.array([50.0]), np.ones(1), np.eye(1), 5, None, 0)
    assert np.isnan(alone.value)
    assert np.isnan(alone.p)


def test_no_p_is_smaller_than_so_few_scenes_can_give() -> None:
    one = scenes(2, 4, 0.0, 1, np.array([3.0, -3.0]))
    found = selection_spread(selected(one), errors(one), one.error_correlation, 3, one, 0)
    assert found.p == found.p_least == pytest.approx(1 / 8)
    many = scenes(6, 12, 0.0, 1, np.linspace(-3, 3, 6))
    found = selection_spread(selected(many), errors(many), many.error_correlation, 11, many, 0)
    assert found.p == found.p_least == pytest.approx(1 / (1 + MOST_NULL_DRAWS))


def test_two_identities_share_all_their_pairs() -> None:
    np.testing.assert_allclose(scenes(2, 9, 0.5).error_correlation, [[1, -1], [-1, 1]])
    ends = np.array([0, 1]), np.array([1, 0])
    related = crossed_correlation(*ends, np.array([7.0, 7.0]), np.array([2.0, 2.0]))
    np.testing.assert_allclose(related, [[1, -1], [-1, 1]])


def test_draws_have_the_errors_they_are_made_from() -> None:
    related = np.array([[1.0, -0.5, -0.5], [-0.5, 1.0, -0.5], [-0.5, -0.5, 1.0]])
    found = draw_frequencies(np.array([1.0, 2.0, 3.0]), related, 1e6, 20_000, seed=2)
    assert found.std(axis=0) == pytest.approx([1.0, 2.0, 3.0], rel=0.03)
    assert np.abs(np.corrcoef(found.T) - related).max() < 0.03
    wider = draw_frequencies(np.array([1.0, 2.0, 3.0]), related, 4, 20_000, seed=2)
    assert (wider.std(axis=0) > 1.2 * found.std(axis=0)).all()


def test_few_pictures_flag_equal_identities_under_the_four_fifths_rule() -> None:
    one = scenes(8, 3, 0.5)
    null = one.permute_identities(one.s, 300, seed=5)
    assert shortfalls(null).mean() > 0.1  # all eight are equal, and the mean one "falls short"


def test_shared_pairs_widen_the_impact_ratio() -> None:
    selected, se, df = np.array([40.0, 60.0]), np.array([4.0, 4.0]), np.array([60.0, 60.0])
    apart = impact_ratios(selected, se, np.eye(2), df)
    against = impact_ratios(selected, se, np.array([[1.0, -1.0], [-1.0, 1.0]]), df)
    assert against[2][0] < apart[2][0] < 40 / 60 < apart[3][0] < against[3][0]


def test_nobody_chosen_is_not_measurable() -> None:
    assert np.isnan(impact_ratios(np.zeros(3), np.zeros(3), np.eye(3), np.ones(3))).all()


def test_equal_identities_reach_the_ratio_of_one() -> None:
    """Somebody is always first: that the others fall short of that one is no finding."""
    rng = np.random.default_rng(3)
    held = []
    for _ in range(200):
        out = impact_ratios(rng.normal(50, 4, 8), np.full(8, 4.0), np.eye(8), np.full(8, 60.0))
        held.append(np.nanmean(out.high[out.ratio < 1] >= 1))
    assert np.mean(held) > 0.93


@pytest.mark.parametrize(("identities", "count"), [(2, 3), (2, 8), (6, 4), (9, 12)])
@pytest.mark.parametrize("effect", [0.0, 0.8])
def test_ratios_reach_one_exactly_where_their_test_finds_nothing(identities: int, count: int, effect: float) -> None:
    for seed in range(20):
        one = scenes(identities, count, 0.5, seed, effect * np.linspace(-1, 1, identities))
        out = impact_ratios(
            selected(one),
            errors(one),
            one.error_correlation,
            np.full(identities, count - 1.0),
            one.permute_identities(one.s, 400, seed),
            one.smallest_p,
        )
        stated = np.isfinite(out.high)
        np.testing.assert_array_equal(out.high[stated] < 1, out.p[stated] < 0.05)
        assert (out.low[stated] <= out.ratio[stated]).all()
