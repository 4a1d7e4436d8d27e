"""ModSCAN's bias score against its definition, and what chance alone gives."""

import numpy as np
import pytest

from facevalue.measures.cluster_bootstrap import Array, values_only
from facevalue.studies.modscan.statistics import GroupChoices, agreement_by_chance, bias_scores


def choices(chosen: Array, shown: Array, valid: Array, asked: Array) -> GroupChoices:
    """Of one attribute, in units that share nobody."""
    units = np.arange(len(chosen))
    return GroupChoices(
        chosen, shown, valid, asked, 0.5, (units, units), np.repeat(asked[:, :, None], chosen.shape[2], 2)
    )


def of(shares: list[float], valid: float = 1.0, clusters: int = 2) -> GroupChoices:
    """Two groups, one instance per share, the same in all clusters."""
    p = np.tile(np.array(shares), (clusters, 1)) * valid
    chosen = np.stack([p, valid - p], axis=2)
    answered = np.full(p.shape, valid)
    return choices(chosen, np.repeat(answered[:, :, None], 2, axis=2), answered, np.ones(p.shape))


def test_equation_2_takes_the_mean_over_instances_and_groups_times_the_share_of_valid_answers() -> None:
    found = bias_scores(of([0.9, 0.5], valid=0.8), seed=1)
    assert found["valid"].value[0] == pytest.approx(0.2)
    assert found["all"].value[0] == pytest.approx(0.16)


def test_table_5s_scores_follow_from_its_differences() -> None:
    cogvlm = [4, 4, 4, 4, 100, 4, 4, 4, 0, 4, 4, 4, 4, 4]
    found = bias_scores(of([0.5 + gap / 200 for gap in cogvlm]), seed=1)
    assert round(found["all"].value[0], 4) == 0.0529


def test_an_instance_without_valid_answers_is_left_out_and_none_at_all_is_not_measurable() -> None:
    one = of([0.9, 0.5])
    gone = choices(one.chosen * [[[1], [0]]], one.shown * [[[1], [0]]], one.valid * [1, 0], one.asked)
    assert bias_scores(gone, 1)["valid"].value[0] == pytest.approx(0.4)
    assert bias_scores(gone, 1)["all"].value[0] == pytest.approx(0.2)
    nothing = choices(one.chosen * 0, one.shown * 0, one.valid * 0, one.asked)
    assert all(np.isnan(score.value[0]) and score.floor is None for score in bias_scores(nothing, 1).values())


def test_renamed_groups_leave_the_scores_and_their_intervals() -> None:
    rng = np.random.default_rng(1)
    chosen = np.stack([first := rng.integers(0, 2, (30, 5)).astype(float), 1 - first], axis=2)
    ones = np.ones((30, 5))
    plain = choices(chosen, np.ones_like(chosen), ones, ones)
    turned = choices(chosen[:, :, ::-1], np.ones_like(chosen), ones, ones)
    for name, score in bias_scores(plain, 1).items():
        before, after = score, bias_scores(turned, 1)[name]
        assert after.value == pytest.approx(before.value)
        assert after.low == pytest.approx(before.low, abs=0.01)  # of 1,000 draws each
        assert after.high == pytest.approx(before.high, abs=0.01)


def test_without_bias_p_is_below_five_percent_in_about_as_many_cases_and_more_answers_lower_the_floor() -> None:
    rng = np.random.default_rng(5)
    hits, floors = 0, {}
    for clusters in (40, 160):
        for _ in range(100 if clusters == 40 else 1):
            person = rng.normal(0.5, 0.2, (clusters, 1)).clip(0, 1)  # answers about one pair hang together
            first = (rng.random((clusters, 6)) < person).astype(float)
            ones = np.ones_like(first)
            found = bias_scores(choices(np.stack([first, 1 - first], 2), np.ones((clusters, 6, 2)), ones, ones), 1, 200)
            floor = found["all"].floor
            assert floor is not None
            floors[clusters] = floor.mean[0]
            hits += int(clusters == 40 and floor.p[0] < 0.05)
    assert hits <= 11  # 100 audits at 5%: more than 11 in 1%
    assert floors[160] == pytest.approx(floors[40] / 2, rel=0.15)


def test_the_corrected_score_takes_the_part_of_chance_off() -> None:
    rng = np.random.default_rng(2)
    first = (rng.random((200, 20)) < 0.5).astype(float)
    ones = np.ones_like(first)
    found = bias_scores(choices(np.stack([first, 1 - first], 2), np.ones((200, 20, 2)), ones, ones), 1)
    assert found["corrected"].value[0] < 0.5 * found["valid"].value[0]


def test_values_only_takes_the_same_values_without_intervals() -> None:
    whole = bias_scores(of([0.9, 0.4], 0.7, clusters=5), 1)
    with values_only():
        bare = bias_scores(of([0.9, 0.4], 0.7, clusters=5), 1)
    assert [x.value for x in bare.values()] == [x.value for x in whole.values()]
    assert np.isnan(bare["all"].low[0])


def test_agreement_of_nothing_is_not_measurable() -> None:
    assert np.isnan(agreement_by_chance(np.array([], np.int64), np.array([], np.int64)))


def test_instances_of_one_pair_each_leave_open_how_other_pairs_would_be_answered() -> None:
    instances = 9
    chosen = np.zeros((instances, instances, 2))
    chosen[range(instances), range(instances), [at % 2 for at in range(instances)]] = 2.0
    valid = chosen.sum(axis=2)
    shown = np.repeat(valid[..., None], 2, axis=2)
    pairs = np.arange(0, 2 * instances, 2)
    found = bias_scores(GroupChoices(chosen, shown, valid, valid, 0.5, (pairs, pairs + 1), shown), seed=1)["valid"]
    assert (found.value.item(), found.high.item()) == (0.5, 0.5)
    assert found.se is not None
    assert found.se.item() > 0.01
    chosen[0, 0] = 1.0
    found = bias_scores(GroupChoices(chosen, shown, valid, valid, 0.5, (pairs, pairs + 1), shown), seed=1)["valid"]
    assert found.high.item() > found.value.item() + 0.01


def test_three_pairs_that_agree_are_not_taken_for_all_pairs() -> None:
    rng, held, found = np.random.default_rng(3), 0, 0
    instances, pairs = 10, np.arange(30)
    shown = np.repeat((np.repeat(np.arange(instances), 3)[:, None] == np.arange(instances))[..., None], 2, axis=2) * 1.0
    for seed in range(200):  # each instance has three pairs of its own, and every pair is for one side in .9 of cases
        liked = rng.random((30, 1)) < np.where(np.arange(instances) % 2, 0.9, 0.1)
        chosen, one = shown * np.stack([liked, ~liked], axis=2), shown[..., 0]
        score = bias_scores(GroupChoices(chosen, shown, one, one, 0.5, (pairs, 30 + pairs), shown), seed, 300)["valid"]
        held += bool(score.low <= 0.4 <= score.high)
        found += bool(score.low > 0)
    assert held >= 180  # of 200; 154 while what varied among three pairs was taken for all that varies
    assert found >= 165  # 145
