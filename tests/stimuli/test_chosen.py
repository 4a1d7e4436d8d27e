"""Manifests narrowed to what was chosen."""

import polars as pl

from facevalue.stimuli.manifest_rows import levels, select_levels

PAIRS = pl.DataFrame(
    {
        "identity_1": ["old", "old", "sick"],
        "identity_2": ["young", "sick", "young"],
        "activity": ["cooking", None, "praying"],
    }
)


def test_both_sides_of_a_pair_have_a_chosen_level() -> None:
    assert select_levels(PAIRS, {"identity": ["old", "young"]}).height == 1
    assert select_levels(PAIRS, {"identity": ["old", "young", "sick"]}).equals(PAIRS)


def test_nothing_chosen_keeps_everything_and_missing_columns_do_not_matter() -> None:
    assert select_levels(PAIRS, {"identity": [], "gender": ["male"]}).equals(PAIRS)


def test_rows_without_a_level_stay() -> None:
    assert select_levels(PAIRS, {"activity": ["cooking"]})["activity"].to_list() == ["cooking", None]


def test_levels_come_in_order_and_once() -> None:
    assert levels(PAIRS, "identity") == ["old", "sick", "young"]
    assert levels(PAIRS, "gender") == []
