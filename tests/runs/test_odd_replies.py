"""A model of one's own that answers oddly among good answers: the run goes on, keeps them, resumes and is read."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from facevalue.errors import ModelError
from facevalue.runs import RunSettings, run
from facevalue.runs.stored_run import ReplyTally, StoredRun, answers
from facevalue.runs.verify import verify
from facevalue.store import read_manifest, read_responses, write_manifest
from facevalue.store.shards import shard_paths, write_shard
from facevalue.types import Request, Response
from tests.runs.test_progress import Recorder
from tests.runs.tiny import TinyModel, keys, mixed, say, tiny_study
from tests.test_checked_replies import ODD

AT = 400
STUDY = tiny_study(faces=100, prompts=8)
"""800 requests."""


@pytest.fixture(autouse=True)
def _rebuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facevalue.studies.build", lambda name, options, manifest: STUDY)


class Odd(TinyModel):
    """After so many good answers one that is odd, whatever it is."""

    def __init__(self, odd: Callable[[Request], Iterable[Any]]) -> None:
        super().__init__()
        self._odd = odd

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        for request in requests:
            self.asked.append(request)
            if len(self.asked) == AT + 1:
                yield from self._odd(request)
            else:
                yield mixed(request)


def readdressed(odd: Any) -> Callable[[Request], Iterable[Any]]:
    return lambda r: [odd._replace(trial=r.trial) if isinstance(odd, Response) else odd]


def raising(request: Request) -> Iterator[Response]:
    if request.trial >= 0:
        raise ValueError("out of luck")
    yield mixed(request)


@pytest.mark.parametrize("kind", [*ODD, "raises", "nothing"])
def test_one_odd_reply_costs_its_own_request_alone(kind: str, tmp_path: Path) -> None:
    odd = {"raises": raising, "nothing": lambda r: []}.get(kind) or readdressed(ODD[kind][0])
    model, progress = Odd(odd), Recorder()
    summary = run(STUDY, model, tmp_path, progress=progress)
    lost = keys([model.asked[AT]])
    assert sorted(keys(model.asked)) == [(trial, 0) for trial in range(800)]
    stored = read_responses(tmp_path)
    assert stored.filter(pl.col("status") == "ok").height == 799
    assert summary.warnings
    if kind != "nothing":
        assert (summary.errors, summary.complete) == (1, True)
        (error,) = stored.filter(pl.col("status") == "error")["error"]
        assert summary.failure == error
        assert f"Trial {lost[0][0]}, repeat 0" in summary.warnings[0] or "raised ValueError: out of luck" in error
        assert len(error) < 400
    assert (pl.concat(answers(StoredRun.open(tmp_path)))["na"] == "error").sum() == (kind != "nothing")
    again = TinyModel()
    run(STUDY, again, tmp_path)
    assert keys(again.asked) == lost
    assert pl.concat(answers(StoredRun.open(tmp_path))).height == 800


def test_a_model_of_which_no_reply_can_count_is_asked_a_few_times_and_quoted(tmp_path: Path) -> None:
    model = TinyModel(lambda r: mixed(r)._replace(text=7))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"20 replies of tiny in a row cannot count. The last: .*text is 7 \(int\)"):
        run(STUDY, model, tmp_path)
    assert len(model.asked) == 20
    assert read_manifest(tmp_path).counts.errors == 20
    assert run(STUDY, TinyModel(), tmp_path).complete


def test_a_run_of_which_no_reply_can_be_read_stops_and_quotes_one(tmp_path: Path) -> None:
    study = tiny_study(faces=700, prompts=8)
    model = TinyModel(say("I see a\x1b[2J garden."))
    summary = run(study, model, tmp_path)
    assert len(model.asked) == 200
    assert "200 replies" in summary.stopped
    assert "“I see a\\x1b[2J garden.”" in summary.stopped
    assert not summary.complete
    assert run(study, TinyModel(), tmp_path).complete


def test_who_asks_once_more_or_allows_it_gets_them_all(tmp_path: Path) -> None:
    study, said = tiny_study(faces=100), say("hm")
    run(study, TinyModel(said), tmp_path / "again")
    assert run(study, TinyModel(said), tmp_path / "again").complete  # a hundred replies more are too few to judge by
    assert run(study, TinyModel(said), tmp_path / "allowed", RunSettings(max_invalid=1.0)).complete


@pytest.mark.parametrize("settings", [None, 7, {"x": None}, {"x": float("nan")}, {"x": [1]}, {7: "x"}, {"x": object()}])
def test_settings_that_no_file_can_hold_are_one_sentence(settings: Any, tmp_path: Path) -> None:
    model = TinyModel()
    model.settings = lambda: settings  # type: ignore[method-assign]
    with pytest.raises(ModelError, match="The settings of tiny"):
        run(STUDY, model, tmp_path)


def test_capabilities_that_are_none_are_one_sentence(tmp_path: Path) -> None:
    model = TinyModel()
    model.capabilities = None  # type: ignore[assignment]
    with pytest.raises(ModelError, match="capabilities of tiny are None"):
        run(STUDY, model, tmp_path)


@pytest.mark.parametrize("found", [None, {"x": float("nan")}, {"x": object()}, ValueError("no")])
def test_findings_that_no_file_can_hold_cost_no_answer(found: Any, tmp_path: Path) -> None:
    class Finds(TinyModel):
        def findings(self) -> Any:
            if isinstance(found, Exception):
                raise found
            return found

    study = tiny_study()
    assert run(study, Finds(), tmp_path).complete
    assert read_manifest(tmp_path).sessions[0].findings == {}


def stranger(folder: Path, change: pl.Expr) -> None:
    """Change a stored row as no check would let it through, in a file that says it is whole."""
    facts = read_manifest(folder)
    (path,) = shard_paths(folder)
    frame = pl.read_parquet(path)
    path.unlink()
    path = write_shard(folder, 1, pl.concat([frame[:1].with_columns(change), frame[1:]]), facts.id)
    write_manifest(folder, replace(facts, shards=(path.name,)))


STORED = {
    "a trial outside the design": pl.lit(801, pl.UInt64).alias("trial"),
    "a trial beyond all": pl.lit(2**64 - 1, pl.UInt64).alias("trial"),
    "no trial": pl.lit(None, pl.UInt64).alias("trial"),
    "no repeat": pl.lit(None, pl.UInt8).alias("repeat"),
    "a repeat beyond the seeds": pl.lit(7, pl.UInt8).alias("repeat"),
    "no status": pl.lit(None).cast(pl.Enum(["ok", "refused", "truncated", "error"])).alias("status"),
    "NaN": pl.lit([float("nan"), 0.5], pl.List(pl.Float32)).alias("probs"),
    "more than 1": pl.lit([0.75, 0.75], pl.List(pl.Float32)).alias("probs"),
    "a probability too many": pl.lit([0.2, 0.3, 0.1], pl.List(pl.Float32)).alias("probs"),
    "nothing said": pl.lit(None, pl.String).alias("text"),
}


@pytest.mark.parametrize("kind", STORED)
def test_a_stored_row_that_cannot_count_is_named_left_out_and_asked_again(kind: str, tmp_path: Path) -> None:
    run(STUDY, TinyModel(), tmp_path)
    whole = read_responses(tmp_path)
    stranger(tmp_path, STORED[kind])
    tally = ReplyTally()
    assert pl.concat(answers(StoredRun.open(tmp_path), tally)).height == 799 + tally.failed_requests
    assert tally.failed_requests == (not kind.endswith(("design", "all", "seeds", "trial", "repeat")))
    (odd,) = verify(StoredRun.open(tmp_path)).odd
    assert "1 row cannot count, such as trial" in odd
    model = TinyModel()
    summary = run(STUDY, model, tmp_path)
    assert len(model.asked) == 1
    (warning,) = summary.warnings
    assert "1 row cannot count" in warning
    assert ".broken" in warning
    assert read_responses(tmp_path).drop("latency_ms").equals(whole.drop("latency_ms"))
    assert verify(StoredRun.open(tmp_path)).odd == ()
