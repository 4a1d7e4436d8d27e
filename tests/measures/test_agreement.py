"""Two measurements of the same cells."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.agreement import STATISTICS, floor, match, summarise


def table(values: list[float], se: float | None = None, clusters: int = 20) -> pl.DataFrame:
    """One cell per identity and activity, activities innermost (two of them)."""
    size = len(values)
    return pl.DataFrame(
        {
            "identity": [f"i{k // 2}" for k in range(size)],
            "activity": [("cooking", "programming")[k % 2] for k in range(size)],
            "value": values,
            "se": [se] * size,
            "n": [100] * size,
            "clusters": [clusters] * size,
        },
        schema_overrides={"se": pl.Float64},
    )


KEYS = ["identity", "activity"]


def test_delta_is_second_minus_first_with_the_error_of_both() -> None:
    cell = match(table([40.0, 50.0], se=3.0), table([50.0, 50.0], se=4.0), KEYS).cells.row(0, named=True)
    assert (cell["delta"], cell["se"], cell["z"]) == (10.0, 5.0, 2.0)
    assert cell["low"] < 0 < cell["high"]  # t with some 35 degrees of freedom: p = .053, not the normal's .046
    assert cell["p"] == pytest.approx(0.0533, abs=5e-4)


def test_without_clusters_the_p_value_is_that_of_the_z_score() -> None:
    first, second = (table(v, se=5.0 / 2**0.5).drop("clusters") for v in ([40.0, 50.0], [49.8, 50.0]))
    cell = match(first, second, KEYS).cells.row(0, named=True)
    assert cell["z"] == pytest.approx(1.96)
    assert cell["p"] == pytest.approx(0.05, abs=1e-4)


def test_cells_of_one_side_are_named() -> None:
    first, second = table([1.0, 2.0, 3.0, 4.0]), table([1.0, 2.0])
    found = match(first, second, KEYS)
    assert found.cells.height == 2
    assert found.only_first.rows() == [("i1", "cooking"), ("i1", "programming")]
    assert found.only_second.rows() == []


def test_a_cell_without_a_value_counts_as_not_measured_there() -> None:
    second = table([1.0, 2.0]).with_columns(value=pl.Series([None, 2.0], dtype=pl.Float64))
    found = match(table([1.0, 2.0]), second, KEYS)
    assert found.cells["activity"].to_list() == ["programming"]
    assert found.only_first.rows() == [("i0", "cooking")]


def test_null_is_a_level_of_its_own() -> None:
    frame = pl.DataFrame({"identity": ["old", "old"], "activity": [None, "cooking"], "value": [1.0, 2.0]})
    assert match(frame, frame, KEYS).cells.height == 2


def test_nothing_in_common_two_rows_for_a_cell_and_missing_columns_are_refused() -> None:
    other = table([1.0, 2.0]).with_columns(pl.lit("doctor").alias("identity"))
    with pytest.raises(DataError, match="no cell in common: identity i0, activity cooking"):
        match(table([1.0, 2.0]), other, KEYS)
    twice = pl.concat([table([1.0]), table([2.0])])
    with pytest.raises(DataError, match="Two rows for one cell: identity i0"):
        match(twice, twice, KEYS)
    with pytest.raises(UnknownNameError, match="Unknown column 'gender'"):
        match(other, other, ["gender"])
    with pytest.raises(UnknownNameError, match="Unknown key 'question'"):
        summarise(match(other, other, KEYS), ["question"])


def test_q_is_adjusted_within_families() -> None:
    first, second = table([50.0] * 4, se=1.0), table([53.0, 50.0, 53.0, 50.0], se=1.0)
    together, apart = match(first, second, KEYS).cells, match(first, second, KEYS, within=["activity"]).cells
    assert together["q"][0] == pytest.approx(2 * together["p"][0])
    assert apart["q"][0] == pytest.approx(apart["p"][0])


def test_the_four_numbers_by_activity_and_over_all() -> None:
    matched = match(table([10.0, 0.0, 20.0, 0.0]), table([13.0, 0.0, 16.0, 0.0]), KEYS)
    by = summarise(matched, ["identity"], ["activity"])
    assert by["activity"].to_list() == ["cooking"] * 4 + ["programming"] * 4
    assert by["statistic"].to_list() == list(STATISTICS) * 2
    assert by["value"].to_list() == pytest.approx([-0.5, 3.5, 12.5**0.5, 4.0, 0, 0, 0, 0])
    assert summarise(matched, ["identity"])["value"].to_list() == pytest.approx([-0.25, 1.75, 6.25**0.5, 4.0])
    assert by["n"].to_list() == [2] * 8


def test_without_standard_errors_there_is_no_floor_and_the_maximum_has_no_interval() -> None:
    found = summarise(match(table([1.0, 2.0, 3.0, 4.0]), table([1.0, 3.0, 3.0, 5.0]), KEYS), ["identity"])
    assert found["floor"].to_list() == [None] * 4
    assert found["low"].is_null().to_list() == [False, False, False, True]
    assert found["method"][3].startswith("no interval")


def test_one_descriptor_has_no_interval() -> None:
    found = summarise(match(table([1.0, 2.0]), table([2.0, 4.0]), KEYS), ["identity"])
    assert found["clusters"].to_list() == [1] * 4
    assert found["low"].is_null().all()
    assert all(method.startswith("no interval") for method in found["method"])


def test_noise_alone_lies_within_its_floor_and_a_real_difference_above() -> None:
    rng = np.random.default_rng(5)
    truth = rng.uniform(20, 80, 400)
    first, second = (table((truth + rng.normal(0, 3, 400)).tolist(), se=3.0) for _ in range(2))
    same = summarise(match(first, second, KEYS), ["identity"])
    # 3 √2 √(2/π) = 3.39 and 3 √2 = 4.24 are what two measurements of one thing show; the mean of 400 is 4% off.
    assert same["value"][1] == pytest.approx(3.39, rel=0.12)
    assert same["floor"][1] == pytest.approx(3.39, rel=0.01)
    assert same["floor"][2] == pytest.approx(4.24, rel=0.01)
    assert (same["p"] > 0.01).all()
    shifted = second.with_columns(value=pl.col("value") + pl.Series(rng.normal(0, 4, 400)))
    other = summarise(match(first, shifted, KEYS), ["identity"])
    assert (other["value"][1:3] > other["floor_high"][1:3]).all()
    assert other["p"][1] == pytest.approx(1 / 1001)


def test_the_floor_keeps_its_level() -> None:
    rng = np.random.default_rng(6)
    se = rng.uniform(1, 5, 30)
    null = floor(se, seed=0)
    assert null is not None
    drawn = np.abs(rng.normal(0, se, (2000, 30)))
    observed = np.stack([drawn.mean(axis=1), np.sqrt((drawn**2).mean(axis=1)), drawn.max(axis=1)], axis=1)
    above = (observed > np.quantile(null, 0.95, axis=0)).mean(axis=0)
    assert above == pytest.approx([0.05] * 3, abs=0.025)  # 2,000 draws and a floor of 1,000: error .0085


def test_the_interval_of_the_mean_absolute_error_covers() -> None:
    rng = np.random.default_rng(7)
    zero = table([0.0] * 60)
    hits = 0
    for _ in range(200):
        found = summarise(match(zero, table(rng.normal(0, 5, 60).tolist()), KEYS), ["identity"]).row(1, named=True)
        hits += found["low"] <= 5 * (2 / np.pi) ** 0.5 <= found["high"]
    assert 0.90 <= hits / 200 <= 0.99  # error of a coverage of .95 over 200: .015


VALUES = st.lists(st.floats(0, 100, allow_nan=False), min_size=2, max_size=24)


@given(VALUES, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_swapping_the_two_changes_only_the_sign(values: list[float], random: object) -> None:
    rng = np.random.default_rng(random.randint(0, 2**31))  # type: ignore[attr-defined]
    first, second = table(values, se=2.0), table(rng.permutation(values).tolist(), se=1.0)
    one = summarise(match(first, second, KEYS), ["identity"], resamples=20)
    shuffled = summarise(
        match(first.sample(fraction=1, shuffle=True, seed=1), second, KEYS), ["identity"], resamples=20
    )
    back = summarise(match(second, first, KEYS), ["identity"], resamples=20)
    assert shuffled["value"].to_list() == pytest.approx(one["value"].to_list(), abs=1e-9)
    assert back["value"][0] == pytest.approx(-one["value"][0], abs=1e-9)
    assert back["value"][1:].to_list() == pytest.approx(one["value"][1:].to_list(), abs=1e-9)


@given(VALUES)
def test_the_four_numbers_keep_their_order(values: list[float]) -> None:
    signed, absolute, rmse, largest = summarise(
        match(table([50.0] * len(values)), table(values), KEYS), ["identity"], resamples=20
    )["value"].to_list()
    slack = 1e-9
    assert abs(signed) <= absolute + slack
    assert absolute <= rmse + slack
    assert rmse <= largest + slack


@given(VALUES)
def test_a_table_agrees_with_itself(values: list[float]) -> None:
    found = match(table(values, se=1.0), table(values, se=1.0), KEYS)
    assert summarise(found, ["identity"], resamples=20)["value"].to_list() == [0.0] * 4
    assert found.cells["q"].to_list() == [1.0] * len(values)
