"""Fisher's exact test against SciPy's, table by table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from facevalue.studies.vignette.statistics import fisher_exact


@pytest.mark.parametrize("size", [3, 30, 400])
def test_agrees_with_scipy_on_random_tables(size: int) -> None:
    tables = np.random.default_rng(size).integers(0, size, (300, 4))
    own = fisher_exact(*tables.T)
    theirs = [stats.fisher_exact(table.reshape(2, 2)).pvalue for table in tables]
    np.testing.assert_allclose(own, theirs, rtol=1e-6, atol=1e-12)


def test_agrees_with_scipy_where_the_table_is_lopsided_or_far_out() -> None:
    tables = np.array([[0, 900, 40000, 7000], [600, 0, 20000, 30000], [5, 0, 0, 5], [30, 70, 30000, 70000]])
    theirs = [stats.fisher_exact(table.reshape(2, 2)).pvalue for table in tables]
    np.testing.assert_allclose(fisher_exact(*tables.T), theirs, rtol=1e-5, atol=1e-200)


def test_expected_counts_are_rounded_and_missing_ones_stay_missing() -> None:
    p = fisher_exact([7.6, np.nan], [2.4, 1], [1.2, 1], [4.9, 1])
    assert p[0] == fisher_exact(8, 2, 1, 5)
    assert np.isnan(p[1])


def test_counts_below_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="below zero"):
        fisher_exact(-1, 2, 3, 4)


@given(st.lists(st.tuples(*[st.integers(0, 60)] * 4), min_size=1, max_size=20))
def test_swapping_rows_or_columns_changes_nothing(tables: list[tuple[int, int, int, int]]) -> None:
    a, b, c, d = np.array(tables).T
    p = fisher_exact(a, b, c, d)
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(p, fisher_exact(c, d, a, b), rtol=1e-9)
    np.testing.assert_allclose(p, fisher_exact(b, a, d, c), rtol=1e-9)
