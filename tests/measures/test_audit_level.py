"""One level over all pages of an audit."""

import numpy as np
import polars as pl
import pytest

from facevalue.measures.multitest import LEAD_SHARE, audit_families, family_shares, p_thresholds

ALPHA = 0.05


def every(size: int) -> np.ndarray:
    return np.ones(size, dtype=np.bool_)


def test_pages_of_one_family_each_are_judged_by_holm() -> None:
    p = np.array([0.001, 0.02, 0.012, 0.6])
    shares = family_shares(p, np.arange(4), every(4), ALPHA)
    assert shares * ALPHA == pytest.approx(p_thresholds(p, "holm", ALPHA))


def test_a_page_with_many_families_costs_a_page_with_one_nothing() -> None:
    p = np.array([0.02, *np.full(300, 0.5)])
    page = np.array([0, *np.ones(300, dtype=int)])
    assert family_shares(p, page, every(301), ALPHA)[0] == pytest.approx(0.5)


def test_what_leads_a_page_has_most_of_its_weight() -> None:
    lead = np.array([True, False, False])
    shares = family_shares(np.ones(3), np.zeros(3, dtype=int), lead, ALPHA)
    assert shares == pytest.approx([LEAD_SHARE, (1 - LEAD_SHARE) / 2, (1 - LEAD_SHARE) / 2])


def test_a_finding_gives_its_weight_to_the_others() -> None:
    alone = family_shares(np.array([0.9, 0.9]), np.array([0, 1]), every(2), ALPHA)
    beside_found = family_shares(np.array([0.001, 0.9]), np.array([0, 1]), every(2), ALPHA)
    assert alone[1] == pytest.approx(0.5)
    assert beside_found[1] == pytest.approx(1.0)


def test_no_family_and_no_table_are_no_error() -> None:
    assert family_shares(np.zeros(0), np.zeros(0, dtype=int), every(0), ALPHA).size == 0
    empty = pl.DataFrame(
        schema=dict.fromkeys(("model", "intervention", "measure", "score", "family"), pl.String)
        | {"p": pl.Float64, "q": pl.Float64}
    )
    assert audit_families([(empty, ())], ALPHA)[0].height == 0


@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_nothing_planted_is_found_in_at_most_one_in_twenty_audits(shared: float) -> None:
    """Five pages of 1 to 40 families, independent or with much in common."""
    rng = np.random.default_rng(7)
    sizes = (1, 3, 8, 20, 40)
    page = np.repeat(np.arange(5), sizes)
    lead = np.arange(page.size) % 3 == 0
    audits, any_found = 4000, 0
    for _ in range(audits):
        z = np.sqrt(1 - shared) * rng.standard_normal(page.size) + np.sqrt(shared) * rng.standard_normal()
        p = 2 * (1 - _normal(np.abs(z)))
        any_found += bool((p < ALPHA * family_shares(p, page, lead, ALPHA)).any())
    assert any_found / audits <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / audits)


@pytest.mark.parametrize("held", [1, 3])
def test_families_without_an_effect_keep_the_level_beside_others_that_are_found(held: int) -> None:
    rng = np.random.default_rng(11)
    page = np.repeat(np.arange(4), 5)
    true = np.zeros(20, dtype=np.bool_)
    true[: 5 * held] = True
    audits, wrong = 4000, 0
    for _ in range(audits):
        p = np.where(true, 1e-9, rng.random(20))
        wrong += bool((p < ALPHA * family_shares(p, page, every(20), ALPHA))[~true].any())
    assert wrong / audits <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / audits)


def _normal(z: np.ndarray) -> np.ndarray:
    from scipy import special

    return np.asarray(special.ndtr(z))
