"""Two measurements of the same cells."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.run_comparison import STATISTICS, Matched, match, summarise


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
    cell = match(table([45.0, 50.0], se=3.0), table([55.0, 50.0], se=4.0), KEYS).cells.row(0, named=True)
    assert cell["delta"] == 10.0
    # Wilson's limits are a little narrower than those of Student's t with se 5 in the middle: p = .053 there.
    assert cell["se"] == pytest.approx(5, rel=0.03)
    assert cell["z"] == pytest.approx(2, rel=0.03)
    assert cell["p"] == pytest.approx(0.053, abs=8e-3)
    assert cell["df"] == 38


@given(st.tuples(*[st.integers(0, 8)] * 2), st.tuples(*[st.integers(2, 9)] * 2), st.tuples(*[st.floats(0, 40)] * 2))
def test_an_interval_stays_within_100_points_and_leaves_zero_out_where_p_says_so(
    hits: tuple[int, int], clusters: tuple[int, int], se: tuple[float, float]
) -> None:
    first, second = (table([100 * k / 8], se=e, clusters=g) for k, e, g in zip(hits, se, clusters, strict=True))
    found = match(first, second, KEYS)
    cell = found.cells.row(0, named=True)
    assert -100 <= cell["low"] <= cell["delta"] <= cell["high"] <= 100
    assert (cell["p"] < 0.05) == (cell["low"] > 0 or cell["high"] < 0)
    assert cell["se"] > 0
    largest = summarise(found, ["identity"], resamples=20).row(3, named=True)
    assert 0 <= largest["low"] <= largest["value"] <= largest["high"] <= 100
    assert largest["floor_high"] <= 100


def test_a_cell_at_0_or_100_percent_is_uncertain() -> None:
    first, second = table([0.0, 100.0], se=0.0, clusters=4), table([0.0, 0.0], se=0.0, clusters=4)
    none, all_of_four = match(first, second, KEYS).cells.iter_rows(named=True)
    assert none["p"] == 1
    assert none["low"] < 0 < none["high"]
    assert all_of_four["p"] == pytest.approx(0.029, abs=0.01)  # Fisher's exact p of 0 of 4 against 4 of 4
    least = match(table([0.0], se=0.0, clusters=4), table([25.0], se=25.0, clusters=4), KEYS).cells
    assert least["p"][0] > 0.3  # Fisher: 1


def test_cells_of_a_single_cluster_have_no_z_and_no_part_in_the_floor() -> None:
    first, second = table([0.0, 40.0], se=10.0), table([100.0, 50.0], se=10.0)
    one = pl.col("activity") == "cooking"
    alone = second.with_columns(pl.when(one).then(None).otherwise("se").alias("se"), pl.when(one).then(1).otherwise(20))
    alone = alone.drop("clusters").rename({"literal": "clusters"})
    found = match(first, alone, KEYS)
    assert found.cells.select("se", "low", "high", "z", "p", "q").row(0) == (None,) * 6
    rows = summarise(found, ["identity"])
    assert rows["value"][1] == 55.0
    assert rows.select("floor_value", "floor_n").row(1) == (10.0, 1)
    other = summarise(match(first[1:], second[1:], KEYS), ["identity"])
    assert rows.select("floor", "floor_high", "p").rows()[1:] == other.select("floor", "floor_high", "p").rows()[1:]


def small_twice(rng: np.random.Generator, shares: np.ndarray, questions: int) -> Matched:
    """One thing measured twice."""
    return match(small_cells(rng, shares, questions), small_cells(rng, shares, questions), ["identity"])


def below(p: pl.Series) -> float:
    """How many are called findings."""
    return float((p.to_numpy() < 0.05).mean())


def small_cells(rng: np.random.Generator, shares: np.ndarray, questions: int) -> pl.DataFrame:
    """Cells of 2 to 8 clusters; a cluster's answers are alike, as those about one picture pair are."""
    rows = []
    for k, share in enumerate(shares):
        size = int(rng.integers(2, 9))
        own = share if questions == 1 else rng.beta(1.5 * share, 1.5 * (1 - share), size)
        got = 100 * rng.binomial(questions, own, size) / questions
        rows.append({"identity": f"i{k}", "value": got.mean(), "se": got.std(ddof=1) / size**0.5, "clusters": size})
    return pl.DataFrame(rows)


@pytest.mark.parametrize("questions", [1, 6])
@pytest.mark.parametrize("most", ["anywhere", "at the ends"])
def test_small_cells_of_one_thing_measured_twice_are_no_findings(questions: int, most: str) -> None:
    rng = np.random.default_rng(11)
    shares = rng.uniform(0.02, 0.98, 700) if most == "anywhere" else np.clip(rng.beta(0.2, 0.2, 700), 0.02, 0.98)
    observed, floors, findings = [], [], []
    for seed in range(3):
        found = small_twice(rng, shares, questions)
        sure = (found.cells["se_first"] > 0) & (found.cells["se_second"] > 0)
        findings += [below(found.cells["p"]), below(found.cells.filter(~sure)["p"])]
        row = summarise(found, ["identity"], seed=seed, resamples=100).row(1, named=True)
        observed.append(row["value"])
        floors.append(row["floor"])
    assert max(findings) <= 0.06
    assert np.mean(floors) == pytest.approx(np.mean(observed), rel=0.1)


def test_small_cells_of_two_things_are_findings() -> None:
    rng = np.random.default_rng(12)
    first, second = (small_cells(rng, np.full(300, share), 6) for share in (0.1, 0.9))
    found = match(first, second, ["identity"])
    assert below(found.cells["q"]) > 0.5
    assert summarise(found, ["identity"], resamples=100)["p"][1] < 0.02


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


def test_what_is_no_percentage_is_refused() -> None:
    with pytest.raises(DataError, match="101 is no percentage: identity i0, activity cooking"):
        match(table([101.0]), table([1.0]), KEYS)


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
    first, second = table([50.0] * 4, se=2.0), table([55.0, 50.0, 55.0, 50.0], se=2.0)
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
    truth = rng.uniform(25, 75, 400)
    first, second = (table((truth + rng.normal(0, 3, 400)).tolist(), se=3.0) for _ in range(2))
    same = summarise(match(first, second, KEYS), ["identity"])
    # 3 √2 √(2/π) = 3.39 and 3 √2 = 4.24 are what two measurements of one thing show; the mean of 400 is 4% off.
    assert same["value"][1] == pytest.approx(3.39, rel=0.12)
    assert same["floor"][1] == pytest.approx(3.39, rel=0.05)
    assert same["floor"][2] == pytest.approx(4.24, rel=0.05)
    assert (same["p"] > 0.01).all()
    shifted = second.with_columns(value=pl.col("value") + pl.Series(rng.normal(0, 4, 400)))
    other = summarise(match(first, shifted, KEYS), ["identity"])
    assert (other["value"][1:3] > other["floor_high"][1:3]).all()
    assert other["p"][1] == pytest.approx(1 / 1001)


def test_the_floor_keeps_its_level() -> None:
    rng = np.random.default_rng(6)
    shares = rng.uniform(0.02, 0.98, 40)
    p = []
    for seed in range(150):
        found = small_twice(rng, shares, 1)
        p.append(summarise(found, ["identity"], seed=seed, resamples=100)["p"].to_list()[1:3])
    low = (np.array(p) < 0.05).mean(axis=0)
    assert (low <= 0.05 + 3 * 0.018).all()  # 150 comparisons: error .018
    assert (np.array(p) < 0.5).mean(axis=0) == pytest.approx([0.5] * 2, abs=0.16)


def test_the_floor_of_cells_that_never_vary_is_zero_as_their_differences_are() -> None:
    never = table([0.0] * 6, se=0.0, clusters=3)
    found = summarise(match(never, never, KEYS), ["identity"], resamples=20)
    assert found.select("value", "floor", "p").rows()[1:] == [(0.0, 0.0, 1.0)] * 3


def test_the_interval_of_the_mean_absolute_error_covers() -> None:
    rng = np.random.default_rng(7)
    half = table([50.0] * 60)
    hits = 0
    for _ in range(200):
        found = summarise(match(half, table(rng.normal(50, 5, 60).tolist()), KEYS), ["identity"]).row(1, named=True)
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
