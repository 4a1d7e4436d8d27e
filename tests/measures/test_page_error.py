"""All families of a page are held to one level together."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.measures.multitest import LEAD_SHARE, adjust_p, leading_families, page_levels

ALPHA = 0.05


def page(rng: np.random.Generator, effects: list[float], tests: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """q of families of z-tests, some of whose means are not zero; and the families."""
    z = rng.standard_normal((len(effects), tests)) + np.array(effects)[:, None]
    from scipy.special import ndtr

    p = 2 * ndtr(-np.abs(z))
    return np.concatenate([adjust_p(row, "bh") for row in p]), np.repeat(np.arange(len(effects)), tests)


@pytest.mark.slow
@pytest.mark.parametrize("effects", [[0.0] * 14, [6.0] + [0.0] * 13, [0.0, 6.0, 6.0] + [0.0] * 11])
def test_families_without_any_effect_are_found_in_at_most_alpha_of_pages(effects: list[float]) -> None:
    rng = np.random.default_rng(7)
    pages, hits = 1200, 0
    for _ in range(pages):
        q, family = page(rng, effects)
        found = page_levels(q, family, family == 0, ALPHA).q < ALPHA
        hits += bool(found[np.array(effects)[family] == 0].any())
    assert hits / pages < ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / pages)


def test_each_family_at_alpha_by_itself_would_find_something_in_half_of_the_pages() -> None:
    rng = np.random.default_rng(7)
    hits = [bool((page(rng, [0.0] * 14)[0] < ALPHA).any()) for _ in range(500)]
    assert np.mean(hits) > 0.4


def test_the_lead_is_tested_at_its_share_whatever_the_others_hold() -> None:
    q, family = np.array([0.039, 0.041, 1e-9, 0.9]), np.array([0, 0, 1, 2])
    found = page_levels(q, family, family == 0, ALPHA)
    assert (found.q[:2] < ALPHA).tolist() == [True, False]
    assert found.q[0] == pytest.approx(0.039 / LEAD_SHARE)


def test_without_a_finding_of_the_lead_only_strong_effects_are_found_below_it() -> None:
    family = np.array([0, 1, 2])
    silent = page_levels(np.array([0.5, 0.004, 0.03]), family, family == 0, ALPHA).q < ALPHA
    spoken = page_levels(np.array([0.001, 0.004, 0.03]), family, family == 0, ALPHA).q < ALPHA
    assert silent.tolist() == [False, True, False]
    assert spoken.tolist() == [True, True, True]


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(-1, 5), st.booleans()), min_size=1, max_size=40))
def test_a_page_never_finds_what_its_family_does_not(rows: list[tuple[float, int, bool]]) -> None:
    q, family = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    lead = family == 0
    found = page_levels(q, family, lead, ALPHA)
    belongs = family >= 0
    assert np.isnan(found.q[~belongs]).all()
    assert (found.q[belongs] >= q[belongs]).all()
    assert ((found.share[belongs] > 0) & (found.share[belongs] <= 1)).all()


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=12), st.integers(0, 3))
def test_what_is_found_has_a_q_below_the_level_it_was_planned_with(q: list[float], leading: int) -> None:
    """A test alone in its family that is below its sure level is found."""
    family = np.arange(len(q))
    found = page_levels(np.array(q), family, family < leading, ALPHA)
    sure = np.array(q) < found.share * ALPHA * (1 - 1e-9)
    assert (found.q[sure] < ALPHA).all()


def test_the_first_name_that_was_tested_leads() -> None:
    tested = pl.DataFrame({"family": ["stereotypes (age)", "stereotypes (race)", "stereotypes by term", "spread"]})
    found = tested.select(leading_families(pl.col("family"), ("decisions", "stereotypes"), tested))["family"].to_list()
    assert found == [True, True, False, False]
    assert not tested.select(leading_families(pl.col("family"), ("none",), tested))["family"].any()
