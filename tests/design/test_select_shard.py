"""Selections and shards are block structure again, never a filter over all trials."""

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from facevalue.design import Block, Design, Factor, Pairs
from facevalue.errors import DataError
from tests.design.strategies import designs, rows, whole


def filtered(design: Design, selection: dict[str, list[str]]) -> pl.DataFrame:
    """What a selection should be: whole trials, kept or not, one by one."""
    frame = whole(design)
    kept = []
    for row in frame.iter_rows(named=True):
        block = next(b for b in design.blocks if b.name == row["block"])
        columns = {column.name for axis in block.axes for column in axis.columns()} | set(block.constants)
        wrong = [
            name
            for selected in selection
            for name in (selected, f"{selected}_1", f"{selected}_2")
            if name in columns and row[name] not in selection[selected]
        ]
        kept.append(not wrong)
    return frame.filter(pl.Series(kept, dtype=pl.Boolean))


@given(designs(), st.data())
def test_where_equals_filtering_the_decoded_design(design: Design, data: st.DataObject) -> None:
    choices: dict[str, set[str]] = {}
    for block in design.blocks:
        for name, levels in block.choices().items():
            choices.setdefault(name, set()).update(levels)
    choices = {name: levels for name, levels in choices.items() if levels}
    assume(choices)
    names = data.draw(st.lists(st.sampled_from(sorted(choices)), min_size=1, max_size=2, unique=True))
    selection = {
        name: data.draw(st.lists(st.sampled_from(sorted(choices[name])), min_size=1, unique=True)) for name in names
    }
    expected = filtered(design, selection)
    if expected.height == 0:
        with pytest.raises(DataError, match="nothing is left to ask"):
            design.select_levels(selection)
        return
    found = design.select_levels(selection)
    assert found.size == expected.height
    assert rows(whole(found)) == rows(expected)
    np.testing.assert_array_equal(np.sort(design.numbers(whole(found))), expected["trial"].to_numpy())


def test_a_block_that_lacks_one_of_the_levels_keeps_the_others() -> None:
    design = Design(
        (Block("one", (Factor("race", ("Black", "White")),)), Block("two", (Factor("race", ("Asian", "Black")),)))
    )
    assert whole(design.select_levels({"race": ["White", "Black"]}))["race"].to_list() == ["Black", "White", "Black"]


def test_a_selection_from_billions_is_arithmetic() -> None:
    identity = Factor("identity", tuple(f"i{i}" for i in range(8000)), {"age": ("old", "young") * 4000})
    prompts = Factor("prompt", tuple(f"p{i}" for i in range(300)))
    design = Design((Block("all", (Pairs(identity),), (prompts,)),))
    found = design.select_levels({"age": ["old"], "prompt": ["p7", "p9"]})
    assert found.size == 4000 * 3999 // 2 * 2
    last = found.trials([found.size - 1]).row(0, named=True)
    assert (last["identity_1"], last["age_2"], last["prompt"]) == ("i7996", "old", "p9")


@given(designs(), st.integers(1, 12))
def test_shards_are_contiguous_whole_and_together_the_design(design: Design, count: int) -> None:
    shards = list(design.shards(count))
    assert len(shards) <= count
    assert [n for shard in shards for n in shard] == list(range(design.size))
    stimulus = design.stimulus_numbers(np.arange(design.size))
    sizes = []
    for shard in shards:
        assert len(shard) > 0
        inside = np.unique(stimulus[shard.start : shard.stop])
        assert np.isin(stimulus, inside).sum() == len(shard), "a stimulus is cut in two"
        sizes.append(inside.size)
    assert max(sizes) - min(sizes) <= 1


def test_shards_of_billions() -> None:
    picture = Factor("picture", tuple(f"p{i}" for i in range(7800)))
    design = Design((Block("all", (Pairs(picture),), (Factor("q", tuple(map(str, range(300)))),)),))
    shards = list(design.shards(64))
    assert (shards[0].start, shards[-1].stop, len(shards)) == (0, design.size, 64)
    assert all(shard.start % 300 == 0 for shard in shards)
    with pytest.raises(DataError, match="at least one shard"):
        next(design.shards(0))
