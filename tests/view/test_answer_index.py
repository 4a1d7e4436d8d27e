"""Index of answers: what counts of what is stored, and what is read for a page."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from facevalue.errors import DataError
from facevalue.runs.stored_run import StoredRun
from facevalue.store.files import RESPONSES_FOLDER
from facevalue.store.reader import scan_responses, scan_stored
from facevalue.store.shards import shard_paths, write_shard
from facevalue.types import Status
from facevalue.view import answer_index
from facevalue.view.answer_index import AnswerIndex
from facevalue.view.answers import QUERY, answers
from facevalue.view.open_runs import RunState
from facevalue.view.query import Query

SHARDS = 40
"""More than are read together."""


@pytest.fixture
def scattered(small_run: Path, tmp_path: Path) -> StoredRun:
    """A run of many shards in which some requests failed first, some are stored twice, and one cannot count."""
    run = StoredRun.open(small_run)
    rows = scan_stored(small_run, timed=True).collect()
    order = np.random.default_rng(3).permutation(rows.height)
    rows = rows[order].with_columns(latency_ms=pl.Series(order).cast(pl.Float32))
    start = pl.lit(datetime(2026, 1, 1, tzinfo=UTC)).dt.cast_time_unit("ms")
    rows = rows.with_columns(at=start + pl.duration(minutes="latency_ms"))
    failed = rows[:30].with_columns(
        status=pl.lit(Status.ERROR.value, rows.schema["status"]), text=pl.lit("late sorry"), error=pl.lit("late")
    )
    again = rows[20:50].with_columns(text=pl.lit("said twice"))
    odd = rows[60:61].with_columns(probs=pl.lit([7.0], rows.schema["probs"]), text=pl.lit("odd"))
    outside = rows[:1].with_columns(trial=pl.lit(run.study.design.size, pl.UInt64))
    (tmp_path / RESPONSES_FOLDER).mkdir()
    stored = pl.concat([failed, odd, outside, rows[:60], rows[61:], again])
    for number, piece in enumerate(stored.iter_slices(-(-stored.height // SHARDS))):
        write_shard(tmp_path, number + 1, piece.sort("trial", "repeat", maintain_order=True), run.facts.id)
    assert len(shard_paths(tmp_path)) > answer_index._AT_ONCE
    return replace(run, folder=tmp_path)


def test_the_rows_that_count_are_those_of_every_other_reader(scattered: StoredRun) -> None:
    index = AnswerIndex(scattered)
    rows = scan_responses(scattered.folder, 0, scattered.study.design.size - 1, timed=True).collect()
    assert index.trial.tolist() == rows["trial"].to_list()
    assert index.repeat.tolist() == rows["repeat"].to_list()
    assert [answer_index.STATUSES[code] for code in index.status] == rows["status"].to_list()
    for name in ("text", "at", "latency_ms", "error", "probs"):
        stored = answer_index.stored_rows(scattered, index, np.arange(index.trial.size))
        assert stored[name].to_list() == rows[name].to_list(), name
    for name in ("at", "latency_ms"):
        expected = rows.with_row_index().sort(name, nulls_last=True, maintain_order=True)["index"]
        assert index.order(name).tolist() == expected.to_list(), name
    for place in (0, 7, index.trial.size - 1):
        places = np.array([place])
        assert answer_index.stored_rows(scattered, index, places).row(0) == rows.row(place)


def test_answers_are_counted_by_level(scattered: StoredRun) -> None:
    index = AnswerIndex(scattered)
    places = np.flatnonzero(index.trial % 3 == 0)
    design = scattered.study.design
    for name, levels in index.count_levels(["variation", "scenario"], places).items():
        column = design.trials(index.trial[places], [name])[name].cast(pl.String)
        assert dict(levels) == dict(column.drop_nulls().value_counts().iter_rows())
        for level in [*dict(levels), ""]:
            of_level = column == level if level else column.is_null()
            expected = of_level.fill_null(value=False).to_numpy()
            assert (index.at_levels(name, [level])[places] == expected).all()
    assert not index.at_levels("variation", ["no such level"]).any()
    assert index.count_levels(["scenario"], places[:0]) == {"scenario": []}


@pytest.fixture
def shards_read(scattered: StoredRun, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Names of the shards of each reading, from when the index is there."""
    out: list[list[str]] = []

    def recorded(scan: object) -> object:
        def scanning(*args: object, among: Sequence[Path], **more: object) -> object:
            out.append([path.name for path in among])
            return scan(*args, among=among, **more)  # type: ignore[operator]

        return scanning

    for scan in (scan_responses, scan_stored):
        monkeypatch.setattr(answer_index, scan.__name__, recorded(scan))
    return out


def test_a_page_reads_the_shards_of_its_rows_alone(scattered: StoredRun, shards_read: list[list[str]]) -> None:
    state = RunState(scattered, 0)
    index = answer_index.index_of(state)
    assert [len(names) for names in shards_read] == [1] * len(shard_paths(scattered.folder))
    shards_read.clear()
    for pairs in ([("n", "2")], [("n", "2"), ("F.scenario", "polite")], [("n", "2"), ("status", "ok")]):
        page = answers(state, Query(pairs, QUERY, ("F.",)))
        places = [int(index.places_of_trial(row.trial)[row.repeat]) for row in page.rows]
        assert shards_read == [[path.name for path in index.shards_of(np.array(places))]]
        assert len(shards_read[0]) <= 2
        shards_read.clear()
    index.rows_of(5)
    assert len(shards_read) == 1
    assert len(shards_read[0]) <= index.places_of_trial(5).size


def test_words_are_looked_for_in_some_shards_at_a_time(scattered: StoredRun, shards_read: list[list[str]]) -> None:
    state = RunState(scattered, 0)
    answer_index.index_of(state)
    shards_read.clear()
    page = answers(state, Query([("q", "said twice"), ("n", "1")], QUERY, ("F.",)))
    assert page.total == 0, "a request that is answered already keeps its first answer"
    assert max(len(names) for names in shards_read) == answer_index._AT_ONCE
    assert sum(len(names) for names in shards_read) == len(shard_paths(scattered.folder))
    page = answers(state, Query([("q", "late sorry")], QUERY, ("F.",)))
    assert page.total == 0
    page = answers(state, Query([("q", "odd")], QUERY, ("F.",)))
    assert page.total == 0


def test_shards_that_were_merged_meanwhile_are_a_sentence(scattered: StoredRun) -> None:
    index = AnswerIndex(scattered)
    for path in index.shards_of(np.array([0])):
        path.unlink()
    for reading in (lambda: index.rows_of(0), lambda: index.order("at")):
        with pytest.raises(DataError, match="look again in some seconds"):
            reading()
