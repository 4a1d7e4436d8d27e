"""Exact p-values of shifts in forms: those of drawing forms at random, however small."""

import numpy as np
import pytest
from scipy import special, stats

from facevalue.studies.visbias.form_graph import Forms, category_p, exact_p, kl_divergence, least_p, shift_graph


@pytest.mark.parametrize(("categories", "n"), [(2, 3), (2, 40), (4, 12), (16, 25), (16, 120)])
def test_p_is_how_often_forms_drawn_at_random_shift_as_far(categories: int, n: int) -> None:
    rng = np.random.default_rng([categories, n])
    base = rng.multinomial(400, rng.dirichlet(np.full(categories, 1.5))).astype(float)
    drawn = rng.multivariate_hypergeometric(base.astype(int), n, size=20_000, method="marginals").astype(float)
    values = kl_divergence(base, drawn)
    for at in np.argsort(values)[[10_000, 18_000, 19_800]]:
        share = np.mean(values >= values[at] - 1e-9)
        assert exact_p(base, drawn[at]) == pytest.approx(share, rel=0.15, abs=0.002)


def test_p_is_uniform_or_larger_without_any_association() -> None:
    rng = np.random.default_rng(3)
    base = np.array([3.0, 7.0, 40.0, 150.0])
    drawn = rng.multivariate_hypergeometric(base.astype(int), 15, size=3000).astype(float)
    p = np.array([exact_p(base, one) for one in drawn])
    for level in (0.2, 0.05, 0.01):
        assert np.mean(p <= level) < level + 3 * np.sqrt(level / 3000)


def test_the_smallest_p_is_that_of_as_many_of_one_category_as_there_can_be() -> None:
    base = np.array([5.0, 15.0, 80.0])
    assert least_p(base, 4).item() == pytest.approx(special.comb(5, 4) / special.comb(100, 4))
    assert least_p(base, 9).item() == pytest.approx(special.comb(15, 9) / special.comb(100, 9))
    assert exact_p(base, np.array([0.0, 6.0, 0.0])) >= least_p(base, 6).item() * 0.999
    assert exact_p(base, base / 5) > 0.9


def test_one_likely_value_shows_in_its_category() -> None:
    base = np.full(8, 40.0)
    many, none = np.array([[20.0, *[2.0] * 7]]), np.full((1, 8), 4.0)
    law = stats.hypergeom(320, 40, 34)
    assert category_p(base, many).item() == pytest.approx(16 * law.sf(19))
    assert category_p(base, none).item() == 1
    assert exact_p(base, many[0]) > 100 * category_p(base, many).item()


def test_one_shift_among_two_thousand_pairs_is_found_though_shuffles_are_far_fewer() -> None:
    rng = np.random.default_rng(5)
    codes = [rng.integers(size, size=300) for size in [8] * 16]
    codes[1] = np.where((codes[0] == 0) & (rng.random(300) < 0.7), 3, codes[1])
    weights = tuple(np.eye(8)[code] for code in codes)
    names = tuple(f"field {at}" for at in range(16))
    forms = Forms(names, (tuple("abcdefgh"),) * 16, weights, np.zeros((300, 16), dtype=bool))
    found = shift_graph(forms, 0, resamples=200)
    assert found.height > 1900
    first = found.filter(attribute="field 0", choice="a", outcome="field 1").row(0, named=True)
    assert first["likely"] == "d"
    assert first["q"] < 1e-5
    assert found.filter(~found["attribute"].is_in(["field 0", "field 1"]))["q"].min() > 0.05  # type: ignore[operator]
