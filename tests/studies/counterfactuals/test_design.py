"""Trials of counterfactual sets: every image of a set with every prompt, and samples of whole sets."""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import DataError
from facevalue.studies.counterfactuals.design import SetLayout, layout

COLUMNS = ("image", "path", "subset", "set", "group", "occupation", "gender")


@dataclass
class Asked:
    open_prompts: tuple[str, ...] = ("describe", "personality")
    ratings: tuple[str, ...] = ("hiring",)
    replies: int = 3
    shown: str = "picture"


def images(*sizes: int, subset: str = "s", occupation: str | None = "cook") -> pl.DataFrame:
    rows = [
        (f"{subset}{at}.{n}", None, subset, f"set {at}", f"group {n}", occupation, "male")
        for at, size in enumerate(sizes)
        for n in range(size)
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


def laid(frame: pl.DataFrame, asked: Asked | None = None) -> SetLayout:
    return layout(frame, asked or Asked())  # type: ignore[arg-type]


def test_each_image_is_asked_each_open_prompt_several_times_and_each_rating_once() -> None:
    design = laid(images(4, 4)).design
    assert [(block.name, block.size) for block in design.blocks] == [("s open", 8 * 2 * 3), ("s rating", 8)]
    trials = design.trials(np.arange(design.size))
    first = trials.head(7).select("image", "prompt", "draw").rows()
    assert first[:4] == [("s0.0", "describe", d) for d in "012"] + [("s0.0", "personality", "0")]
    assert first[6][0] == "s0.1"
    assert trials.filter(pl.col("task") == "rating")["draw"].null_count() == 8


def test_an_image_of_no_set_is_one_by_itself() -> None:
    frame = images(2).with_columns(set=pl.lit(None, pl.String))
    block = laid(frame).design.blocks[0]
    assert block.stimulus[0].choices()["set"] == ("s0.0", "s0.1")


def test_no_rating_is_asked_of_an_unknown_occupation() -> None:
    frame = pl.concat([images(2), images(2, subset="t", occupation=None)])
    assert [block.name for block in laid(frame).design.blocks] == ["s open", "s rating", "t open"]


def test_nothing_left_to_ask_is_an_error() -> None:
    with pytest.raises(DataError, match="no picture has one"):
        laid(images(2, occupation=None), Asked(open_prompts=()))


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(0, 400), st.integers(0, 50), st.integers(1, 2))
def test_samples_are_whole_sets_asked_a_prompt_within_their_size(
    sizes: list[int], size: int, seed: int, repeats: int
) -> None:
    frame = pl.concat([images(*sizes), images(*sizes[:2], subset="t")])
    one = laid(frame)
    least = min(sizes) * repeats
    if size < least:
        with pytest.raises(DataError, match=f"takes {least:,}"):
            one.sample(size, seed, repeats)
        return
    numbers = one.sample(size, seed, repeats)
    assert numbers.size * repeats <= size
    assert (np.diff(numbers) > 0).all()
    drawn = one.design.trials(numbers)
    whole = one.design.trials(np.arange(one.design.size))
    cell = ("subset", "set", "prompt")
    counted, all_there = (f.group_by(cell).len() for f in (drawn, whole))
    joined = counted.join(all_there, on=cell)
    assert (joined["len"] == joined["len_right"]).all()
    assert numbers.tolist() == one.sample(size, seed, repeats).tolist()


def test_a_sample_takes_many_sets_before_a_second_prompt_of_one_and_prompts_in_turn() -> None:
    one = laid(images(*[4] * 30), Asked(replies=1))
    drawn = one.design.trials(one.sample(4 * 30, 1, 1))
    assert drawn["set"].n_unique() == 30
    assert sorted(drawn.group_by("prompt").len()["len"]) == [40, 40, 40]


def test_all_of_it_may_be_sampled() -> None:
    one = laid(pl.concat([images(3, 5), images(2, subset="t")]))
    assert one.sample(one.design.size, 3, 1).tolist() == list(range(one.design.size))
