"""Shards: whole or absent, in order, damaged ones named, many small ones made few."""

import errno
import re
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.errors import RunError
from facevalue.store import RESPONSES, ShardWriter, read_responses, scan_responses
from facevalue.store.reader import distinct, trials_stored
from facevalue.store.schema import FORMAT
from facevalue.store.shards import compact, next_number, set_aside, shard_paths, write_shard
from facevalue.store.writer import Asked, to_frame
from facevalue.types import Response, Status
from tests.store.flipping import flip_a_bit

Numbers = npt.NDArray[np.int64]


def everything(trials: Numbers, repeats: Numbers) -> npt.NDArray[np.uint64]:
    return (trials * 1000 + repeats).astype(np.uint64)


def ok(trial: int, repeat: int = 0, text: str = "(a)") -> Response:
    return Response(trial, repeat, Status.OK, text)


def error(trial: int, repeat: int = 0) -> Response:
    return Response(trial, repeat, Status.ERROR, error="no luck")


def store(folder: Path, number: int, *rows: Response) -> Path:
    (folder / "responses").mkdir(parents=True, exist_ok=True)
    return write_shard(folder, number, to_frame(rows, np.arange(len(rows), dtype=np.uint64)), "run")


def merge(folder: Path, target: int, least: int) -> None:
    compact(folder, target, least, "run", lambda paths: None)


def write(folder: Path, rows: Iterable[Response], asked: Asked = everything, seconds: float = 5.0) -> None:
    with ShardWriter(folder, asked, seconds=seconds) as writer:
        for row in rows:
            writer.append(row)


def test_all_columns_come_back_verbatim(tmp_path: Path) -> None:
    rows = [
        Response(2**40, 255, Status.TRUNCATED, "Überlang\n\0\t", (0.25, 0.5), 7, 2**32 - 1, 12.5, None),
        Response(3, 0, Status.REFUSED, None, None, None, None, 0.0, "content filter"),
        Response(3, 1, Status.OK, "", (1.0, 0.0), 0, 0, 0.0, None),
    ]
    with ShardWriter(tmp_path, everything) as writer:
        for row in rows:
            writer.append(row)
    frame = read_responses(tmp_path)
    assert frame.schema == RESPONSES
    back = [
        Response(trial, repeat, Status(status), text, None if probs is None else tuple(probs), *rest)
        for trial, repeat, status, text, probs, *rest, _, _ in frame.rows()
    ]
    assert back == sorted(rows)
    assert frame["request"].to_list() == [3000, 3001, 2**40 * 1000 + 255]


@pytest.mark.parametrize(
    "probs",
    [
        [None, None],
        [(0.5, 0.25), None],
        [(0.5,), (0.5, 0.25)],
        [(), (0.5,)],
        [(), ()],
        [None, (0.5,), None, (0.25,)],
    ],
)
def test_probabilities_of_any_lengths(probs: list[tuple[float, ...] | None]) -> None:
    rows = [Response(i, 0, Status.OK, None, p) for i, p in enumerate(probs)]
    frame = to_frame(rows, np.zeros(len(rows), dtype=np.uint64))
    assert frame.schema == RESPONSES
    assert [None if p is None else tuple(p) for p in frame["probs"].to_list()] == probs


def test_no_rows_have_the_schema_too(tmp_path: Path) -> None:
    assert to_frame([], np.zeros(0, dtype=np.uint64)).schema == RESPONSES
    (tmp_path / "responses").mkdir()
    frame = read_responses(tmp_path)
    assert frame.schema == RESPONSES
    assert frame.height == 0


def test_first_stored_wins_and_an_answer_beats_an_error(tmp_path: Path) -> None:
    store(tmp_path, 1, error(1), ok(2, text="first"), error(3), ok(5, 1))
    store(tmp_path, 2, ok(1, text="late"), ok(2, text="second"), error(3), error(2))
    store(tmp_path, 10, ok(1, text="later"), ok(5, 0))
    frame = read_responses(tmp_path)
    assert frame.select("trial", "repeat").rows() == [(1, 0), (2, 0), (3, 0), (5, 0), (5, 1)]
    assert frame["text"].to_list() == ["late", "first", None, "(a)", "(a)"]
    assert frame["status"].to_list() == ["ok", "ok", "error", "ok", "ok"]


def test_a_range_of_trials(tmp_path: Path) -> None:
    store(tmp_path, 1, *(ok(i) for i in range(10)))
    assert read_responses(tmp_path, 3, 5)["trial"].to_list() == [3, 4, 5]
    assert scan_responses(tmp_path, first=8).select("trial").collect()["trial"].to_list() == [8, 9]
    assert read_responses(tmp_path, last=1)["trial"].to_list() == [0, 1]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1), st.booleans()), max_size=8), max_size=6))
def test_merging_changes_no_answer(
    tmp_path_factory: pytest.TempPathFactory, shards: list[list[tuple[int, int, bool]]]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    (folder / "responses").mkdir()
    for i, rows in enumerate(shards):
        if rows:
            store(folder, i, *(ok(t, r, f"{i}.{j}") if fine else error(t, r) for j, (t, r, fine) in enumerate(rows)))
    before = read_responses(folder).drop("request", "error")
    merge(folder, target=8, least=2)
    assert read_responses(folder).drop("request", "error").equals(before)


def test_merging_makes_few_files(tmp_path: Path) -> None:
    for i in range(100):
        store(tmp_path, i, ok(i))
    store(tmp_path, 100, *(ok(i) for i in range(1000, 1900)))
    merge(tmp_path, target=1000, least=16)
    assert [path.name[:13] for path in shard_paths(tmp_path)] == ["part-00000000", "part-00000100"]
    assert read_responses(tmp_path).height == 1000


def test_a_kill_while_merging_loses_and_doubles_nothing(tmp_path: Path) -> None:
    for i in range(4):
        store(tmp_path, i, ok(i))
    before = read_responses(tmp_path).drop("request")
    rows = [ok(i) for i in range(4)]
    write_shard(tmp_path, 0, to_frame(rows, np.zeros(4, dtype=np.uint64)), "run")  # and killed before deleting the rest
    assert read_responses(tmp_path).drop("request").equals(before)


def test_merging_leaves_damage_to_others(tmp_path: Path) -> None:
    store(tmp_path, 1, ok(1))
    store(tmp_path, 2, ok(2)).write_bytes(b"")
    merge(tmp_path, target=100, least=2)
    assert len(shard_paths(tmp_path)) == 2


@pytest.mark.parametrize("keep", [0, 3, 20, -1])
def test_a_shard_cut_short_is_named(tmp_path: Path, keep: int) -> None:
    store(tmp_path, 1, ok(1))
    path = store(tmp_path, 2, ok(2))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(RunError, match=r"part-00000002-\w+\.parquet is cut short or damaged .*Rename it"):
        read_responses(tmp_path)


def test_damage_inside_a_shard_is_named(tmp_path: Path) -> None:
    store(tmp_path, 1, ok(1))
    path = store(tmp_path, 2, *(ok(i, text=str(i * 7919)) for i in range(1000)))
    data = bytearray(path.read_bytes())
    for i in range(100, len(data) // 2):
        data[i] ^= 0x55
    path.write_bytes(bytes(data))
    with pytest.raises(RunError, match=r"part-00000002-\w+\.parquet"):
        read_responses(tmp_path)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "responses").mkdir()
    frame = to_frame([ok(1)], np.zeros(1, dtype=np.uint64))
    frame.write_parquet(tmp_path / "responses" / "part-00000001.parquet", metadata={"facevalue.responses": "99"})
    with pytest.raises(RunError, match="format 99"):
        read_responses(tmp_path)


def test_a_folder_without_responses(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="holds no responses"):
        read_responses(tmp_path)


def test_leftovers_are_ignored_then_removed_and_numbers_never_reused(tmp_path: Path) -> None:
    path = store(tmp_path, 7, ok(1))
    aside = path.with_name(".part-00000008.parquet.tmp")
    aside.write_bytes(b"half a sha")
    (path.parent / "notes.txt").write_text("mine")
    assert read_responses(tmp_path).height == 1
    assert next_number(tmp_path) == 8
    set_aside(path)
    assert next_number(tmp_path) == 8
    with ShardWriter(tmp_path, everything) as writer:
        writer.append(ok(2))
    assert sorted(re.sub(r"-[0-9a-f]{16}", "", p.name) for p in path.parent.iterdir()) == [
        "notes.txt",
        "part-00000007.parquet.broken",
        "part-00000008.parquet",
    ]


def test_a_shard_is_written_when_enough_rows_wait(tmp_path: Path) -> None:
    with ShardWriter(tmp_path, everything, rows=4, seconds=3600) as writer:
        for i in range(9):
            writer.append(ok(i))
        assert read_responses(tmp_path).height == 8
    assert read_responses(tmp_path).height == 9


def test_a_shard_is_written_in_time_though_nothing_more_comes(tmp_path: Path) -> None:
    with ShardWriter(tmp_path, everything, seconds=0.1) as writer:
        writer.append(ok(1))
        for _ in range(200):
            if shard_paths(tmp_path):
                break
            time.sleep(0.05)
        assert read_responses(tmp_path).height == 1


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_exception_stores_what_waits(tmp_path: Path, kind: type[BaseException]) -> None:
    def broken_off() -> None:
        with ShardWriter(tmp_path, everything) as writer:
            writer.append(ok(1))
            raise kind

    with pytest.raises(kind):
        broken_off()
    assert read_responses(tmp_path).height == 1


def test_what_follows_each_shard_may_fail_without_loss(tmp_path: Path) -> None:
    def broken_parser(frame: pl.DataFrame) -> None:
        raise ValueError("parser")

    with pytest.raises(ValueError, match="parser"), ShardWriter(tmp_path, everything, stored=broken_parser) as writer:
        writer.append(ok(1))
    assert read_responses(tmp_path).height == 1


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """The disk is full as long as the list is not empty."""
    real, full = Path.open, [True]

    def fail(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def opened(path: Path, mode: str = "r", *args: object, **kwargs: object) -> object:
        file = real(path, mode, *args, **kwargs)  # type: ignore[call-overload]
        if full and "w" in mode and path.name.endswith(".tmp"):
            file.close()
            fail()
        return file

    monkeypatch.setattr(Path, "open", opened)
    return full


def test_a_full_disk_keeps_all_that_was_stored(tmp_path: Path, full_disk: list[bool]) -> None:
    full_disk.clear()
    store(tmp_path, 1, ok(1))
    full_disk.append(True)
    said = r"part-00000002-\w+\.parquet: No space left on device\. Everything stored before is kept"
    with pytest.raises(RunError, match=said):
        write(tmp_path, [ok(2), ok(3)])
    assert read_responses(tmp_path)["trial"].to_list() == [1]
    assert [p.name[:13] for p in (tmp_path / "responses").glob("part-*")] == ["part-00000001"]


def test_rows_that_met_a_full_disk_wait_for_the_next_try(tmp_path: Path, full_disk: list[bool]) -> None:
    with ShardWriter(tmp_path, everything, rows=2) as writer:
        writer.append(ok(1))
        with pytest.raises(RunError):
            writer.append(ok(2))
        full_disk.clear()
        writer.append(ok(3))
    assert read_responses(tmp_path)["trial"].to_list() == [1, 2, 3]


def test_the_thread_tells_of_a_full_disk_with_the_next_response(tmp_path: Path, full_disk: list[bool]) -> None:
    def slowly() -> Iterator[Response]:
        for i in range(400):
            yield ok(i)
            time.sleep(0.02)

    with pytest.raises(RunError, match="No space left"):
        write(tmp_path, slowly(), seconds=0.05)


def test_reading_while_shards_are_merged(tmp_path: Path) -> None:
    merged = []

    def often() -> None:
        for _ in range(8):
            merge(tmp_path, target=1000, least=2)
            merged.append(len(shard_paths(tmp_path)))
            for i in range(1, 30):
                store(tmp_path, 1000 * len(merged) + i, ok(0))

    for i in range(100):
        store(tmp_path, i, ok(i))
    thread = threading.Thread(target=often)
    thread.start()
    while thread.is_alive():
        assert read_responses(tmp_path).height == 100
    assert merged[-1] < 30


@pytest.mark.parametrize("seed", range(20))
def test_a_single_flipped_bit_anywhere_is_named(tmp_path: Path, seed: int) -> None:
    """Parquet checks nothing by itself: a flipped bit is another answer, without a word."""
    store(tmp_path, 1, ok(1))
    path = store(tmp_path, 2, *(ok(i, text=str(i * 7919)) for i in range(300)))
    flip_a_bit(path, np.random.default_rng(seed))
    with pytest.raises(RunError, match=r"part-00000002-\w+\.parquet is cut short or damaged .*not what was written"):
        read_responses(tmp_path)


def test_what_is_listed_is_always_there(tmp_path: Path) -> None:
    """At every moment, so that a kill leaves no list of what is gone."""
    lists: list[set[str]] = []

    def listed(paths: Collection[Path]) -> None:
        lists.append({path.name for path in paths})
        assert all(path.is_file() for path in paths)

    for i in range(20):
        store(tmp_path, i, ok(i))
    with ShardWriter(tmp_path, everything, rows=2, run="run", listed=listed) as writer:
        for i in range(100, 110):
            writer.append(ok(i))
    assert lists[-1] == {path.name for path in shard_paths(tmp_path)}
    assert read_responses(tmp_path).height == 30


def test_shards_name_their_run_as_those_of_old_runs_do(tmp_path: Path) -> None:
    facts = pl.read_parquet_metadata(store(tmp_path, 0, ok(0)))
    assert {name: facts[name] for name in facts if name.startswith("facevalue.")} == {
        "facevalue.responses": str(FORMAT),
        "facevalue.rows": "1",
        "facevalue.run": "run",
    }


def test_trials_by_their_numbers_are_those_of_all_rows(tmp_path: Path) -> None:
    """A failed request that was asked again counts once, and its answer; trials that were not asked are none."""
    store(tmp_path, 1, ok(9), error(2), ok(2, 1), ok(5))
    store(tmp_path, 2, ok(2), ok(30), ok(5, text="(b)"))
    everything_stored = read_responses(tmp_path)
    for numbers in ([2, 30], [3, 5, 5, 99], [4], []):
        trials = np.array(numbers, dtype=np.int64)
        same = everything_stored.filter(pl.col("trial").is_in(numbers))
        assert read_responses(tmp_path, trials=trials).equals(same)
    assert trials_stored(tmp_path, 31).tolist() == [2, 5, 9, 30]
    assert trials_stored(tmp_path, 30).tolist() == [2, 5, 9]
    assert trials_stored(tmp_path, 0).tolist() == []


def test_of_equal_requests_the_first_that_did_not_fail_counts_and_a_row_without_status_is_kept() -> None:
    status = ["error", "ok", None, "error", "ok"]
    rows = pl.LazyFrame({"trial": [2, 2, 1, 2**60, 2], "repeat": [0] * 5, "status": status, "at": range(5)})
    typed = rows.with_columns(pl.col("trial").cast(pl.UInt64), pl.col("repeat").cast(pl.UInt8))
    assert distinct(typed).collect()["at"].to_list() == [2, 1, 3]
