"""Fleiss' kappa, the scorer as one more rater, and texts that are drawn for people."""

import numpy as np
import polars as pl
import pytest

from facevalue.errors import DataError
from facevalue.measures.rater_agreement import as_rater, drawn_by_score, fleiss_kappa

# Ten items, fourteen raters, five categories: how many chose each (a textbook example; kappa .210).
_COUNTS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip


def test_kappa_of_a_known_example() -> None:
    ratings = np.array([np.repeat(np.arange(5.0), counts) for counts in _COUNTS]).T
    found = fleiss_kappa(ratings, 0)
    assert found.value[0] == pytest.approx(0.210, abs=5e-4)
    assert (found.n[0], found.clusters[0]) == (140, 10)
    assert found.low[0] < 0.21 < found.high[0]


def test_full_agreement_is_one_and_chance_is_near_zero() -> None:
    rng = np.random.default_rng(1)
    same = rng.integers(0, 2, 200).astype(float)
    assert fleiss_kappa(np.array([same] * 3), 0).value[0] == 1
    found = fleiss_kappa(rng.integers(0, 2, (3, 300)).astype(float), 0)
    assert found.low[0] < 0 < found.high[0]


def test_full_agreement_on_few_items_is_not_certain() -> None:
    few = fleiss_kappa(np.array([[1.0, 2, 1, 2]] * 2), 0)
    assert few.value[0] == few.high[0] == 1
    assert few.low[0] < 0.5


def test_items_that_not_all_raters_sorted_are_left_out() -> None:
    ratings = np.array([[1.0, 0, 1, np.nan], [1.0, 0, 0, 1]])
    assert fleiss_kappa(ratings, 0).clusters[0] == 3


@pytest.mark.parametrize("ratings", [np.ones((3, 5)), np.ones((1, 5)), np.ones((3, 0))])
def test_without_variation_agreement_is_not_measurable(ratings: np.ndarray) -> None:
    found = fleiss_kappa(ratings, 0)
    assert np.isnan(found.value[0])
    assert found.method[0].startswith("none: not measurable: ")


def test_a_scorer_that_agrees_at_its_threshold_raises_kappa() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 50)
    people = np.array([np.where(rng.random(50) < 0.1, 1 - truth, truth) for _ in range(3)], dtype=float)
    good, bad = (as_rater(np.where(truth == 1, 0.8, 0.1) if own else rng.random(50)) for own in (True, False))
    plain = fleiss_kappa(people, 0).value[0]
    assert (
        fleiss_kappa(np.vstack([people, good]), 0).value[0] > plain > fleiss_kappa(np.vstack([people, bad]), 0).value[0]
    )
    assert np.isnan(as_rater(np.array([np.nan]))).all()


def test_texts_are_drawn_from_each_range_of_scores_and_subset() -> None:
    rng = np.random.default_rng(1)
    texts = pl.DataFrame({"text": range(4_000), "toxicity": rng.random(4_000), "subset": ["one", "other"] * 2_000})
    drawn = drawn_by_score(texts, "toxicity", "subset", 3)
    counts = drawn.group_by("subset", (pl.col("toxicity") * 5).floor()).len()
    assert (drawn.height, counts.height, set(counts["len"])) == (50, 10, {5})
    assert drawn.equals(drawn_by_score(texts, "toxicity", "subset", 3))
    assert not drawn.equals(drawn_by_score(texts, "toxicity", "subset", 4))
    with pytest.raises(DataError, match="does not lie between 0 and 1"):
        drawn_by_score(texts.with_columns(toxicity=pl.lit(2.0)), "toxicity", "subset", 1)


# Fleiss (1971), table 1: thirty patients, six psychiatrists, five diagnoses; kappa .430.
_DIAGNOSES = (
    "00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031 "
    "00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006"
)


def test_kappa_that_fleiss_prints() -> None:
    counts = [[int(digit) for digit in patient] for patient in _DIAGNOSES.split()]
    ratings = np.array([np.repeat(np.arange(5.0), patient) for patient in counts]).T
    estimate = fleiss_kappa(ratings, 0)
    assert estimate.value[0] == pytest.approx(0.430, abs=5e-4)
    assert (estimate.n[0], estimate.clusters[0]) == (180, 30)
