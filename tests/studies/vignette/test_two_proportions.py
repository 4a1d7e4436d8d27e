"""The z test of two proportions beside a test that is known to be the same."""

import numpy as np
import pytest
from scipy import stats

from facevalue.studies.vignette.comparisons import pooled_z


@pytest.mark.parametrize(("x", "n", "y", "m"), [(60, 100, 45, 100), (3, 40, 9, 55), (500, 900, 480, 870)])
def test_its_square_is_the_chi_square_of_the_table(x: int, n: int, y: int, m: int) -> None:
    z, p = pooled_z(*(np.array([float(v)]) for v in (x, n, y, m)))
    known = stats.chi2_contingency([[x, n - x], [y, m - y]], correction=False)
    assert z[0] ** 2 == pytest.approx(known.statistic)
    assert p[0] == pytest.approx(known.pvalue)
    assert np.sign(z[0]) == np.sign(x / n - y / m)


def test_nothing_to_compare_has_no_z() -> None:
    z, p = pooled_z(
        np.array([0.0, 5.0, 1.0]), np.array([10.0, 5.0, 0.0]), np.array([0.0, 7.0, 1.0]), np.array([9.0, 7.0, 4.0])
    )
    assert np.isnan(z).all()
    assert np.isnan(p).all()
