"""Which requests are stored: the same as reading the table, whatever the order of rows."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import RunError
from facevalue.runs.open_requests import Completion
from facevalue.runs.requests import TrialNumbers
from facevalue.store.reader import distinct
from facevalue.store.writer import to_frame
from facevalue.types import Response, Status

ROWS = st.lists(st.tuples(st.sampled_from([2, 3, 5, 8]), st.integers(0, 3), st.sampled_from(list(Status))), max_size=30)


@given(st.lists(ROWS, max_size=4), st.booleans())
def test_it_agrees_with_the_reader(shards: list[list[tuple[int, int, Status]]], chosen: bool) -> None:
    numbers = TrialNumbers.select(np.array([8, 3, 2, 5, 3])) if chosen else TrialNumbers(9)
    completion = Completion(numbers, repeats=2, reasks=1)
    frames = [to_frame([Response(*row) for row in rows], np.zeros(len(rows), dtype=np.uint64)) for rows in shards]
    assert all(completion.enter(frame) for frame in frames)
    table = distinct(pl.concat([*frames, to_frame([], np.zeros(0, dtype=np.uint64))]).lazy()).collect()
    found = dict(table["status"].value_counts().iter_rows())
    assert completion.counts() == {status.value: found.get(status.value, 0) for status in Status}
    answered = table.filter(pl.col("status") != "error")
    first = answered.filter(pl.col("repeat") < 2)
    assert completion.count_stored() == first.height
    assert completion.count_unasked() == numbers.size * 2 - table.filter(pl.col("repeat") < 2).height
    assert int(completion.open(0, numbers.size).sum()) == completion.requests - first.height
    trials, repeats = completion.one_each(lambda trial: trial, 1000)
    first = answered.group_by("trial").agg(pl.col("repeat").min()).sort("trial")
    assert list(zip(trials.tolist(), repeats.tolist(), strict=True)) == first.rows()


def test_rows_of_another_run_are_noticed() -> None:
    def one(trial: int, repeat: int = 0) -> pl.DataFrame:
        return to_frame([Response(trial, repeat, Status.OK)], np.zeros(1, dtype=np.uint64))

    for numbers in (TrialNumbers(5), TrialNumbers.select(np.array([1, 4]))):
        completion = Completion(numbers, 1, 0)
        assert completion.enter(one(4))
        assert not completion.enter(one(5))
        assert not completion.enter(one(4, 1))
    assert not TrialNumbers.select(np.array([], dtype=np.int64)).positions(np.array([1]))[1].any()


def test_a_spread_is_even_and_always_the_same() -> None:
    completion = Completion(TrialNumbers(10_000), 1, 0)
    completion.enter(to_frame([Response(t, 0, Status.OK) for t in range(10_000)], np.zeros(10_000, dtype=np.uint64)))
    trials, _ = completion.one_each(lambda trial: trial, 200)
    assert trials.size == 200
    assert (np.diff(trials) <= 51).all()
    assert (trials[0], trials[-1]) == (0, 9_999)
    assert (completion.one_each(lambda trial: trial, 200)[0] == trials).all()


def test_blocks_agree_with_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    rows = [Response(int(t), 0, Status.OK) for t in rng.choice(100, 40, replace=False)]
    completion = Completion(TrialNumbers(100), 1, 0)
    completion.enter(to_frame(rows, np.zeros(40, dtype=np.uint64)))

    def seen() -> tuple[list[int], dict[str, int], int]:
        trials, _ = completion.one_each(lambda trial: trial // 9, 50)
        return (trials // 9).tolist(), completion.counts(), completion.count_stored()

    whole = seen()
    monkeypatch.setattr("facevalue.runs.open_requests._BLOCK", 9)
    assert seen() == whole


def test_too_many_trials_are_said() -> None:
    with pytest.raises(RunError, match="too many for one run: choose a sample"):
        Completion(TrialNumbers(2**61), 1, 0)
