"""Differences and correlations of two tables of estimates."""

import numpy as np
import polars as pl
import pytest
import scipy

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.run_comparison import correlation_p, pearson_correlation, source_correlation


def _table(values: np.ndarray, se: float = 0.1) -> pl.DataFrame:
    names = [f"group {at}" for at in range(values.size)]
    own = {"measure": "max_score", "group": names, "value": values, "se": [se] * values.size, "n": 90, "clusters": 30}
    return pl.DataFrame(own)


def test_correlation_is_that_of_scipy() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=52)
    y = x + rng.normal(size=52)
    found, p = source_correlation(_table(x), _table(y), "max_score", ["group"])
    expected = scipy.stats.pearsonr(x, y)
    assert (found.value[0], p) == pytest.approx((expected.statistic, expected.pvalue))
    interval = expected.confidence_interval()
    assert (found.low[0], found.high[0]) == pytest.approx((interval.low, interval.high))


def test_printed_correlations_go_with_fifty_two_groups_alone() -> None:
    def prints(r: float, p: float, n: int) -> bool:
        digits = 0.5 * 10.0 ** np.floor(np.log10(p))
        return correlation_p(r + 0.005, n) <= p + digits and correlation_p(r - 0.005, n) >= p - digits

    assert [n for n in range(5, 200) if prints(0.50, 1e-4, n) and prints(0.77, 4e-11, n)] == [52]


def test_intervals_hold_the_correlation() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(400):
        x = rng.normal(size=52)
        found, _ = pearson_correlation(x, 0.6 * x + 0.8 * rng.normal(size=52))
        held += found.low[0] <= 0.6 <= found.high[0]
    assert 0.92 <= held / 400 <= 0.98


def test_too_few_or_equal_cells_are_not_measurable() -> None:
    for one, other in ((np.arange(3.0), np.arange(3.0)), (np.ones(9), np.arange(9.0))):
        found, p = pearson_correlation(one, other)
        assert np.isnan([found.value[0], p]).all()
        assert found.method[0].startswith("none: not measurable: ")


def test_tables_without_the_measure_or_a_common_cell_are_errors() -> None:
    table = _table(np.arange(5.0))
    with pytest.raises(UnknownNameError, match="max_scores"):
        source_correlation(table, table, "max_scores", ["group"])
    with pytest.raises(DataError, match="no cell in common"):
        source_correlation(table, table.with_columns(group=pl.col("group") + "!"), "max_score", ["group"])
