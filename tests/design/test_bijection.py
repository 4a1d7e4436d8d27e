"""Trial numbers and factor levels are two names of one thing."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.design import Block, Design, Factor, Pairs
from facevalue.design.blocks import Numbers
from tests.design.strategies import designs, whole


@given(designs())
def test_every_number_decodes_to_a_row_of_its_own_and_back(design: Design) -> None:
    frame = whole(design)
    assert frame.height == len(design) == design.size == sum(len(block) for block in design.blocks)
    assert not frame.drop("trial").is_duplicated().any()
    assert frame["trial"].to_list() == list(range(design.size))
    np.testing.assert_array_equal(design.numbers(frame), np.arange(design.size))


@given(designs(), st.data())
def test_any_order_and_repeats_decode_as_the_whole_does(design: Design, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, design.size - 1), max_size=60))
    assert design.trials(numbers).equals(whole(design)[numbers])


@given(designs(), st.data())
def test_chosen_columns_are_those_of_the_whole(design: Design, data: st.DataObject) -> None:
    frame = whole(design)
    columns = data.draw(st.lists(st.sampled_from(frame.columns[2:]), unique=True)) if frame.width > 2 else []
    assert design.trials(np.arange(design.size), columns).equals(frame.select("trial", "block", *columns))


@given(designs())
def test_the_last_axis_turns_fastest_and_prompts_about_a_stimulus_are_neighbours(design: Design) -> None:
    frame = whole(design)
    stimulus = design.stimulus_numbers(np.arange(design.size))
    assert (np.diff(stimulus) >= 0).all()
    assert stimulus[0] == 0
    assert stimulus[-1] + 1 == np.unique(stimulus).size == sum(block.stimuli for block in design.blocks)
    for block in design.blocks:
        shown = [column.name for axis in block.stimulus for column in axis.columns()]
        part = frame.with_columns(pl.Series("stimulus", stimulus)).filter(pl.col("block") == block.name)
        each = part.group_by("stimulus").agg(pl.len(), *(pl.col(name).n_unique() for name in shown))
        assert each["len"].unique().to_list() == [block.prompts]
        assert all(each[name].max() == 1 for name in shown)


@given(designs())
def test_columns_are_missing_only_where_the_block_has_none(design: Design) -> None:
    frame = whole(design)
    for block in design.blocks:
        part = frame.filter(pl.col("block") == block.name)
        own = {column.name: column.values for axis in block.axes for column in axis.columns()}
        for name in part.columns[2:]:
            values = set(part[name].to_list())
            expected = set(own[name]) if name in own else {block.constants.get(name)}
            assert values <= expected
            if name not in own:
                assert values == expected


def test_more_trials_than_are_decoded_at_a_time() -> None:
    left = Factor("x", tuple(f"x{i}" for i in range(400)), {"half": ("low",) * 200 + ("high",) * 200})
    design = Design((Block("one", (Pairs(left),)), Block("two", (left,), (Factor("y", tuple("abc")),))))
    numbers = np.random.default_rng(3).permutation(design.size)
    frame = design.trials(numbers)
    np.testing.assert_array_equal(design.numbers(frame), numbers)
    assert frame.equals(whole(design)[numbers])


def test_blocks_that_share_a_factor_share_its_table() -> None:
    face = Factor("face", tuple(f"f{i}" for i in range(1000)))
    many = Design(tuple(Block(f"b{i}", (face,)) for i in range(50)))
    assert many._tables["face"].values.len() == 1000
    assert many.trials([49_999]).row(0) == (49_999, "b49", "f999")


def test_attributes_are_not_needed_to_encode() -> None:
    face = Factor("face", ("f1", "f2"), {"age": ("young", "old")})
    design = Design((Block("all", (face,), (Factor("question", ("q1", "q2")),)),))
    frame = pl.DataFrame({"block": ["all"], "face": ["f2"], "question": ["q1"]})
    assert design.numbers(frame).tolist() == [2]


def test_no_numbers_give_an_empty_frame_with_all_columns() -> None:
    design = Design((Block("all", (Factor("face", ("f1",)),)),))
    frame = design.trials([])
    assert frame.shape == (0, 3)
    assert frame.schema == design.trials([0]).schema


@pytest.mark.parametrize("n", [2, 3, 4, 25, 361, 363, 600])
@pytest.mark.parametrize("ordered", [False, True])
def test_pairs_are_ranked_and_unranked_one_by_one(n: int, ordered: bool) -> None:
    pairs = Pairs(Factor("i", tuple(map(str, range(n)))), ordered)
    first, second = pairs.codes(np.arange(len(pairs)))
    listed = [(i, j) for i in range(n) for j in range(n) if (i != j if ordered else i < j)]
    assert len(pairs) == len(listed)
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == listed
    np.testing.assert_array_equal(pairs.index((first, second)), np.arange(len(pairs)))
    if not ordered:
        np.testing.assert_array_equal(pairs.index((second, first)), np.arange(len(pairs)))


class Many(tuple[str, ...]):
    """Stands for n levels without holding them."""

    size: int

    def __len__(self) -> int:
        return self.size


def pairs_of(n: int, ordered: bool = False) -> Pairs:
    """Pairs of n levels whose names are never read."""
    factor = Factor("i", ("x",))
    levels = Many()
    levels.size = n
    object.__setattr__(factor, "levels", levels)
    return Pairs(factor, ordered)


@pytest.mark.parametrize("n", [24_675, 5_000_000, 89_000_000])
@pytest.mark.parametrize("ordered", [False, True])
def test_pairs_of_huge_factors_are_exact(n: int, ordered: bool) -> None:
    pairs = pairs_of(n, ordered)
    size = len(pairs)
    assert size == n * (n - 1) // (1 if ordered else 2)
    row = np.array([0, 1, 2, n // 2, n - 4, n - 3, n - 2], dtype=np.int64)
    starts: Numbers = row * (n - 1) if ordered else row * (2 * n - row - 1) // 2  # first pair of each of these rows
    near = np.concatenate([starts + d for d in (-1, 0, 1)])
    spread = np.random.default_rng(5).integers(0, size, 100_000)
    ranks = np.concatenate([near[(near >= 0) & (near < size)], spread, [0, size - 1]])
    first, second = pairs.codes(ranks)
    assert ((first >= 0) & (first < n) & (second >= 0) & (second < n) & (first != second)).all()
    if not ordered:
        assert (first < second).all()
    np.testing.assert_array_equal(pairs.index((first, second)), ranks)
    np.testing.assert_array_equal(pairs.codes(starts)[0], row)
