"""Trials of counterfactual sets: every image of a set with every prompt, and samples of whole sets."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.errors import DataError
from facevalue.protocol.study import Study
from facevalue.runs.plan import plan
from tests.studies.counterfactuals.answered import designed

COLUMNS = ("image", "subset", "set", "group", "occupation", "gender")


def images(*sizes: int, subset: str = "s", occupation: str | None = "cook") -> pl.DataFrame:
    rows = [
        (f"{subset}{at}.{n}", subset, f"{subset} {at}", f"group {n}", occupation, "male")
        for at, size in enumerate(sizes)
        for n in range(size)
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


def laid(frame: pl.DataFrame, **options: Any) -> Study:
    return designed(frame, ("describe", "personality"), ("hiring",), **options)


def test_each_image_is_asked_each_open_prompt_several_times_and_each_rating_once() -> None:
    design = laid(images(4, 4)).design
    assert [(block.name, block.size) for block in design.blocks] == [("open: s", 8 * 2 * 3), ("rating: s", 8)]
    trials = design.trials(np.arange(design.size))
    first = trials.head(7).select("image", "prompt", "draw").rows()
    assert first[:4] == [("s0.0", "describe", d) for d in "012"] + [("s0.0", "personality", "0")]
    assert first[6][0] == "s0.1"
    assert trials.filter(pl.col("task") == "rating")["draw"].null_count() == 8


def test_plans_count_trials_by_prompt_over_tasks_and_subsets() -> None:
    counts = plan(laid(pl.concat([images(4, 4), images(2, subset="t", occupation=None)]))).trial_counts
    assert counts == {"prompt": {"describe": 30, "personality": 30, "hiring": 8}}


def test_no_rating_is_asked_of_an_unknown_occupation() -> None:
    frame = pl.concat([images(2), images(2, subset="t", occupation=None)])
    assert [block.name for block in laid(frame).design.blocks] == ["open: s", "open: t", "rating: s"]


def test_nothing_left_to_ask_is_an_error() -> None:
    with pytest.raises(DataError, match="to ask: no picture has the occupation that the task 'rating' is asked about"):
        designed(images(2, occupation=None), (), ("hiring",))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.integers(0, 400), st.integers(0, 50), st.integers(1, 2))
def test_samples_are_whole_sets_asked_a_prompt_within_their_size(
    sizes: list[int], size: int, seed: int, repeats: int
) -> None:
    study = laid(pl.concat([images(*sizes), images(*sizes[:2], subset="t")]))
    least = min(sizes) * repeats
    if size < least:
        with pytest.raises(DataError, match=f"takes {least:,}"):
            study.sample(size, seed, repeats)
        return
    numbers = study.sample(size, seed, repeats)
    assert numbers.size * repeats <= size
    assert (np.diff(numbers) > 0).all()
    drawn = study.design.trials(numbers)
    whole = study.design.trials(np.arange(study.design.size))
    cell = ("subset", "set", "prompt")
    counted, all_there = (f.group_by(cell).len() for f in (drawn, whole))
    joined = counted.join(all_there, on=cell)
    assert (joined["len"] == joined["len_right"]).all()
    assert numbers.tolist() == study.sample(size, seed, repeats).tolist()


def test_a_sample_takes_many_sets_before_a_second_prompt_of_one_and_prompts_in_turn() -> None:
    study = laid(images(*[4] * 30), replies=1)
    drawn = study.design.trials(study.sample(4 * 30, 1, 1))
    assert drawn["set"].n_unique() == 30
    assert sorted(drawn.group_by("prompt").len()["len"]) == [40, 40, 40]


def test_all_of_it_may_be_sampled() -> None:
    study = laid(pl.concat([images(3, 5), images(2, subset="t")]))
    assert study.sample(study.design.size, 3, 1).tolist() == list(range(study.design.size))
