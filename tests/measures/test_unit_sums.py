"""Terms of estimates: the very sums of the estimators, from which values and what each unit adds follow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.measures.cluster_bootstrap import cluster_means, values_only
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import column_shares
from facevalue.measures.group_means import compare_groups
from facevalue.measures.pairs import pair_shares
from facevalue.measures.uncertainty import Estimates, terms_kept

GAP = Measure("gap", "Gap", "p - q", "share", "identity", "", limits=(-1, 1))


def drawn(seed: int, units: int = 7, cells: int = 3) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    counts = random.integers(0, 4, (units, cells)).astype(float)
    return counts * random.random((units, cells)), counts


def test_nothing_is_kept_unless_somebody_asks() -> None:
    sums, counts = drawn(1)
    assert cluster_means(sums, counts, 0).terms is None
    assert compare_groups(sums, counts, np.arange(7) % 2, 0).terms is None


@given(st.integers(0, 10_000))
def test_values_and_leaving_out_follow_from_the_sums(seed: int) -> None:
    sums, counts = drawn(seed)
    group = np.arange(7) % 2
    with values_only(), terms_kept():
        estimates = [
            cluster_means(sums, counts, 0),
            column_shares(sums, counts),
            compare_groups(sums, counts, group, 0),
        ]
        without: list[list[Estimates]] = [
            [cluster_means(np.delete(sums, u, 0), np.delete(counts, u, 0), 0) for u in range(7)],
            [column_shares(np.delete(sums, u, 0), np.delete(counts, u, 0)) for u in range(7)],
            [compare_groups(np.delete(sums, u, 0), np.delete(counts, u, 0), np.delete(group, u), 0) for u in range(7)],
        ]
        for whole, fewer in zip(estimates, without, strict=True):
            assert whole.terms is not None
            for cell, term in enumerate(whole.terms):
                assert term is not None
                assert term.value() == pytest.approx(whole.value[cell], abs=1e-12, nan_ok=True)
                left = np.array([one.value[cell] for one in fewer])
                np.testing.assert_allclose(term.without_each(), left, atol=1e-12)


@given(st.integers(0, 10_000))
def test_pairs_are_among_those_of_both_people(seed: int) -> None:
    random = np.random.default_rng(seed)
    first, second, cell = random.integers(0, 5, (3, 12))
    cell %= 2
    weight = random.integers(0, 3, 12).astype(float)
    hits = weight * random.random(12)
    with values_only(), terms_kept():
        whole = pair_shares(hits, weight, (first, second), cell, 2)
        assert whole.terms is not None
        for number, term in enumerate(whole.terms):
            assert term is not None
            assert term.value() == pytest.approx(whole.value[number], abs=1e-12, nan_ok=True)
            for person in range(int(max(first[weight > 0].max(), second[weight > 0].max())) + 1):
                stays = (first != person) & (second != person)
                fewer = pair_shares(hits[stays], weight[stays], (first[stays], second[stays]), cell[stays], 2)
                assert term.without_each()[person] == pytest.approx(fewer.value[number], abs=1e-9, nan_ok=True)


def test_what_is_done_to_estimates_is_done_to_their_terms() -> None:
    sums, counts = drawn(3)
    with values_only(), terms_kept():
        estimates = cluster_means(sums, counts, 0)
        tested = Estimates.concatenate([estimates, estimates.at(slice(0, 2))]).less(0.5).times(100.0)
        terms = tested.terms
        assert terms is not None
        assert len(terms) == 5
        values = [term.value() for term in terms if term is not None]
        np.testing.assert_allclose(values, tested.value)
        some = tested.at(np.array([4, 0])).terms
        assert some is not None
        assert [term and term.column for term in some] == [1, 0]


def test_a_record_knows_estimates_by_their_labels_and_stops_where_there_is_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sums, counts = drawn(5)
    labels = {"group": ["a", "b", None]}
    with values_only(), terms_kept() as record:
        table = EstimateTable("study", "m", ["group"])
        table.unit_names = [f"unit {u}" for u in range(7)]
        table.add(GAP, labels, cluster_means(sums, counts, 0))
        of_a = record.terms["gap", None, frozenset({("group", "a")})]
        assert of_a.of.names[3] == "unit 3"
        assert ("gap", None, frozenset()) in record.terms
        table.add(GAP, {"group": ["a"]}, cluster_means(sums[:, :1] + 1, counts[:, :1], 0))
        assert record.terms["gap", None, frozenset({("group", "a")})] is of_a
        monkeypatch.setattr("facevalue.measures.uncertainty.MOST_BYTES", record.bytes)
        table.add(GAP, {"group": ["c"]}, cluster_means(sums[:, :1], counts[:, :1], 0))
        assert record.is_full
        assert len(record.terms) == 3
