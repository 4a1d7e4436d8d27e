"""Shares of audits have intervals that are as wide as chance makes them."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from facevalue.calibration.families import share, shortfall


def flags(by_audit: list[list[bool | None]]) -> pl.DataFrame:
    rows = [(audit, row, flag) for audit, tests in enumerate(by_audit) for row, flag in enumerate(tests)]
    return pl.DataFrame(rows, schema=["audit", "row", "flag"], orient="row")


def test_of_independent_audits_it_is_clopper_and_pearsons() -> None:
    found = share(flags([[at < 6] for at in range(60)]), "flag")
    exact = stats.binomtest(6, 60).proportion_ci()
    assert found.value == 0.1
    assert [found.low, found.high] == pytest.approx([exact.low, exact.high], abs=0.004)


@pytest.mark.parametrize("flag", [False, True])
def test_where_audits_agree_it_is_that_of_as_many_audits(flag: bool) -> None:
    found = share(flags([[flag] * 7] * 40), "flag")
    exact = stats.binomtest(40 * flag, 40).proportion_ci()
    assert exact.low - 0.03 < found.low <= exact.low + 0.03
    assert exact.high - 0.03 < found.high <= exact.high + 0.03


def test_tests_of_one_audit_that_go_together_say_as_much_as_one() -> None:
    together = share(flags([[at % 4 == 0] * 20 for at in range(40)]), "flag")
    dealt = np.random.default_rng(1).permutation(np.arange(800) % 4 == 0).reshape(40, 20)
    apart = share(flags([list(tests) for tests in dealt.tolist()]), "flag")
    one = share(flags([[at % 4 == 0] for at in range(40)]), "flag")
    assert together.value == apart.value == 0.25
    assert together.high - together.low == pytest.approx(one.high - one.low, rel=0.1)
    assert apart.high - apart.low < 0.5 * (together.high - together.low)


def test_estimates_whose_truth_is_off_in_all_audits_widen_it() -> None:
    rows = flags([[test > 0 for test in range(10)] for _ in range(40)])
    assert share(rows, "flag", crossed=True).low < share(rows, "flag").low


def test_nothing_and_a_single_audit_say_nothing() -> None:
    assert np.isnan(share(flags([[None, None]]), "flag").value)
    assert share(flags([[True, None]]), "flag") == (1.0, 0.0, 1.0)


@pytest.mark.parametrize("true", [0.02, 0.3])
def test_intervals_hold_the_share_that_there_is(true: float) -> None:
    rng = np.random.default_rng(1)
    held = []
    for _ in range(150):
        chance = rng.beta(true * 3, (1 - true) * 3, 30)  # tests of an audit go together
        found = share(flags([list(rng.random(8) < one) for one in chance]), "flag")
        held.append(found.low <= true <= found.high)
    assert np.mean(held) > 0.9


def test_few_audits_that_agree_are_no_certainty_that_power_lacks() -> None:
    rows = pl.DataFrame({"audit": range(12), "finds": [False] * 12, "rival": [True] * 12})
    assert shortfall(rows.head(2), 0.8).high > 0
    assert shortfall(rows, 0.8).high < 0
    assert shortfall(rows.with_columns(finds=True), 0.8).low < 0
    more = pl.DataFrame({"audit": range(40), "finds": [True] * 40, "rival": [True] * 40})
    assert shortfall(more, 0.8).low > 0
