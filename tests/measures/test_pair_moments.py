"""What chance gives identities that share pairs: flips, their covariance, floors."""

import numpy as np
import pytest

from facevalue.measures import pair_moments
from facevalue.measures.impact import impact_ratios, shortfalls


def tournament(
    identities: int, pairs: int, share: float = 0.5, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Everybody against everybody, `pairs` times: first, second, whether the first was chosen."""
    first, second = (np.repeat(x, pairs) for x in np.triu_indices(identities, 1))
    return first, second, np.random.default_rng(seed).binomial(1, share, first.size).astype(np.float64)


def gains(first: np.ndarray, second: np.ndarray, s: np.ndarray, identities: int) -> tuple[np.ndarray, np.ndarray]:
    seen = np.bincount(first, minlength=identities) + np.bincount(second, minlength=identities)
    return 100 * (s - 0.5) / seen[first], -100 * (s - 0.5) / seen[second]


def test_the_normal_draws_are_related_as_the_flips_are() -> None:
    first, second, s = tournament(5, 12)
    flips = pair_moments.flipped(first, second, gains(first, second, s, 5), 5, seed=1, resamples=20_000)
    both = np.concatenate([first, second]), np.concatenate([second, first])
    related = pair_moments.flip_correlation(*both, np.full(2 * first.size, 0.25), 5)
    assert np.abs(np.corrcoef(flips.T) - related).max() < 0.03  # 20,000 draws: 4 standard errors of a correlation
    normal = pair_moments.drawn(flips.std(axis=0), related, seed=2, resamples=20_000)
    assert pair_moments.spread(normal).mean() == pytest.approx(pair_moments.spread(flips).mean(), rel=0.03)
    assert normal.mean(axis=0) == pytest.approx(50, abs=0.3)


def test_flips_add_up_to_fifty_for_each_on_average_and_for_all_together_always() -> None:
    first, second, s = tournament(4, 7, share=0.8)
    flips = pair_moments.flipped(first, second, gains(first, second, s, 4), 4, seed=3)
    np.testing.assert_allclose(flips.mean(axis=1), 50)
    assert flips.mean(axis=0) == pytest.approx(50, abs=1.5)


def test_two_identities_share_all_their_pairs() -> None:
    ends = np.array([0, 1]), np.array([1, 0])
    n, s, nn, sn, ss = np.array([[10.0, 10], [3, 7], [10, 10], [3, 7], [3, 7]])
    related = pair_moments.correlation(*ends, (n, s, nn, sn, ss), 2)
    np.testing.assert_allclose(related, [[1, -1], [-1, 1]])


def test_the_correlation_of_errors_is_that_over_repeated_samples() -> None:
    values = []
    for seed in range(1500):
        first, second, s = tournament(3, 20, share=0.7, seed=seed)
        gain = gains(first, second, s, 3)
        values.append([sum(g[who == i].sum() for g, who in zip(gain, (first, second), strict=True)) for i in range(3)])
    first, second, s = tournament(3, 2000, share=0.7, seed=0)
    both = np.concatenate([first, second]), np.concatenate([second, first])
    chosen = np.concatenate([s, 1 - s])
    one = np.ones_like(chosen)
    related = pair_moments.correlation(*both, (one, chosen, one, chosen, chosen), 3)
    assert np.abs(np.corrcoef(np.array(values).T) - related).max() < 0.09  # 3.5 standard errors


def test_no_p_is_smaller_than_so_few_pairs_can_give() -> None:
    null = np.zeros((1000, 1))
    assert pair_moments.null_floor(null, np.array([70.7]), pairs=4).p.tolist() == [0.125]
    assert pair_moments.null_floor(null, np.array([70.7]), pairs=40).p.tolist() == [1 / 1001]


def test_equal_identities_have_a_small_p_as_rarely_as_it_says() -> None:
    low = 0
    for seed in range(200):
        first, second, s = tournament(4, 6, seed=seed)
        gain = gains(first, second, s, 4)
        value = 50 + np.array(
            [sum(g[w == i].sum() for g, w in zip(gain, (first, second), strict=True)) for i in range(4)]
        )
        null = pair_moments.flipped(first, second, gain, 4, seed=seed, resamples=200)
        floor = pair_moments.null_floor(pair_moments.spread(null), pair_moments.spread(value), first.size)
        low += int(floor.p < 0.05)
    assert low <= 21  # 5% of 200 is 10; 99.9% of the binomial lie at or below 21


def test_spread_intervals_never_reach_below_zero_and_need_variation() -> None:
    se, low, high = pair_moments.spread_interval(np.array([49.0, 51.0]), np.array([5.0, 5.0]), np.eye(2), 20)
    assert low == 0.0
    assert high > 0
    assert se == pytest.approx(5.0)
    assert np.isnan(pair_moments.spread_interval(np.array([50.0, 50.0]), np.ones(2), np.eye(2), 20)).all()


def test_few_pairs_flag_equal_identities_under_the_four_fifths_rule() -> None:
    first, second, s = tournament(8, 3)
    null = pair_moments.flipped(first, second, gains(first, second, s, 8), 8, seed=5)
    assert shortfalls(null).mean() > 0.2  # all eight are equal, and the mean one "falls short"


def test_shared_pairs_widen_the_impact_ratio() -> None:
    selected, se, df = np.array([40.0, 60.0]), np.array([4.0, 4.0]), np.array([60.0, 60.0])
    apart = impact_ratios(selected, se, np.eye(2), df)
    against = impact_ratios(selected, se, np.array([[1.0, -1.0], [-1.0, 1.0]]), df)
    assert against[2][0] < apart[2][0] < 40 / 60 < apart[3][0] < against[3][0]


def test_nobody_chosen_is_not_measurable() -> None:
    assert np.isnan(impact_ratios(np.zeros(3), np.zeros(3), np.eye(3), np.ones(3))).all()
