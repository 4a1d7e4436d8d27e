"""Precision and recall from samples drawn by kind: the numbers, what is not measurable, and intervals that hold."""

import numpy as np
import pytest

from facevalue.measures.judges import reader_accuracy
from facevalue.measures.rater_agreement import all_agreements, krippendorff_alpha


def test_each_kind_counts_by_its_size() -> None:
    reader = np.array([True] * 4 + [False] * 4)
    people = np.array([True, True, True, False, True, False, False, False])
    found = reader_accuracy(reader, people, np.repeat([0, 1], 4), np.array([40.0, 400.0]), 1)
    assert found.value.tolist() == pytest.approx([0.75, 30 / 130])  # a quarter of 400 is missed
    assert found.n.tolist() == [4, 4]
    plain = reader_accuracy(reader, people, np.zeros(8, dtype=np.int64), np.array([8.0]), 1)
    assert plain.value.tolist() == [0.75, 0.75]


def test_a_label_that_nobody_gives_is_not_measurable_and_that_is_said() -> None:
    none, some = np.zeros(6, dtype=bool), np.array([True] + [False] * 5)
    found = reader_accuracy(none, some, np.zeros(6, dtype=np.int64), np.array([6.0]), 1)
    assert np.isnan(found.value[0])
    assert found.value[1] == 0
    assert found.method.tolist()[0] == "none: not measurable: no item has the label"
    nothing = reader_accuracy(none, none, np.zeros(6, dtype=np.int64), np.array([6.0]), 1)
    assert np.isnan([*nothing.value, *nothing.low]).all()
    with pytest.raises(ValueError, match="the same shape"):
        reader_accuracy(none, some[:3], np.zeros(6, dtype=np.int64), np.array([6.0]), 1)


@pytest.mark.parametrize(
    ("sizes", "right", "wrong", "drawn"), [((2000, 40), 0.95, 0.01, 30), ((900, 100), 0.9, 0.05, 40)]
)
def test_intervals_hold_precision_and_recall(sizes: tuple[int, int], right: float, wrong: float, drawn: int) -> None:
    rng, holds = np.random.default_rng(3), np.zeros(2)
    hits, missed = sizes[1] * right, sizes[0] * wrong
    truth = np.array([right, hits / (hits + missed)])
    for seed in range(80):
        reader = np.repeat([False, True], drawn)
        people = np.where(reader, rng.random(2 * drawn) < right, rng.random(2 * drawn) < wrong)
        found = reader_accuracy(reader, people, reader.astype(np.int64), np.array(sizes, dtype=float), seed)
        holds += (found.low <= truth) & (truth <= found.high)
    assert (holds / 80 >= 0.9).all()


def test_where_no_error_was_seen_recall_is_not_certain() -> None:
    reader = np.repeat([True, False], 30)
    found = reader_accuracy(reader, reader, np.repeat([0, 1], 30), np.array([30.0, 5000.0]), 1)
    assert found.value.tolist() == [1.0, 1.0]
    assert found.low[0] > 0.85
    assert found.low[1] < 0.5  # of 5,000 others only 30 were looked at


def test_agreement_without_variation_says_why_it_is_unknown() -> None:
    assert krippendorff_alpha(np.ones((2, 5)), 1).method[0] == "none: not measurable: all ratings are the same"
    assert (
        krippendorff_alpha(np.array([[1.0, np.nan], [np.nan, 2.0]]), 1).method[0]
        == "none: not measurable: no item has two ratings"
    )
    assert list(all_agreements(np.ones((3, 4)), 1)) == ["Krippendorff's alpha", "Fleiss' kappa"]
    assert all("not measurable" in estimate.method[0] for estimate in all_agreements(np.ones((2, 4)), 1).values())
