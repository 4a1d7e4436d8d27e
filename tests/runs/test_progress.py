"""What people see while a run goes on."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from facevalue.errors import ModelError
from facevalue.runs import RichProgress, RunSettings, RunSummary, SilentProgress, Snapshot, rich_progress, run, session
from facevalue.runs.progress import Meter
from facevalue.runs.rich_progress import conclusion_line, duration, progress_line, short
from facevalue.store.manifest import read_manifest
from tests.runs.tiny import TinyModel, failed, mixed, say, tiny_study

NOW = Snapshot(1200, 10_000, 12.345, 712.0, 360_000, 2_400, 0.5, 1000, 25, 200)


class Recorder(SilentProgress):
    def __init__(self) -> None:
        self.calls: list[str] = []
        self.seen: list[Snapshot] = []

    def start(self, done: int, total: int) -> None:
        self.calls.append(f"start {done} {total}")

    def update(self, now: Snapshot) -> None:
        self.seen.append(now)

    def finish(self, summary: RunSummary | None) -> None:
        self.calls.append(f"finish {summary is not None}")


@pytest.fixture(autouse=True)
def every_response(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_UPDATE", -1.0)


def test_the_count_goes_up_to_the_total(tmp_path: Path) -> None:
    progress, settings = Recorder(), RunSettings(flush_rows=3, price_in=1.0)
    model = TinyModel(lambda r: failed(r) if r.trial == 0 else say("hm" if r.trial == 1 else "(a)")(r))
    run(tiny_study(), model, tmp_path, settings, progress)
    assert progress.calls == ["start 0 12", "finish True"]
    assert [now.done for now in progress.seen] == [*range(1, 13), 12]
    last = progress.seen[-1]
    assert (last.total, last.stored, last.errors, last.na) == (12, 12, 1, 1)
    assert last.na_rate == pytest.approx(1 / 11)
    assert last.cost == pytest.approx(110 / 1e6)
    assert last.eta == 0 or last.eta is None


def test_resumed_it_starts_where_it_was(tmp_path: Path) -> None:
    run(tiny_study(), TinyModel(lambda r: failed(r) if r.trial > 6 else mixed(r)), tmp_path)
    progress = Recorder()
    run(tiny_study(), TinyModel(), tmp_path, progress=progress)
    assert progress.calls == ["start 7 12", "finish True"]
    assert progress.seen[-1].done == 12


def test_the_total_grows_with_reasks(tmp_path: Path) -> None:
    progress = Recorder()
    run(tiny_study(reasks=1), TinyModel(say("hm")), tmp_path, progress=progress)
    assert (progress.seen[0].total, progress.seen[-1].total, progress.seen[-1].done) == (12, 24, 24)


def test_a_failure_is_told(tmp_path: Path) -> None:
    def fails(r: object) -> None:
        raise ModelError("x")

    progress = Recorder()
    with pytest.raises(ModelError, match="x"):
        run(tiny_study(), TinyModel(fails), tmp_path, progress=progress)  # type: ignore[arg-type]
    assert progress.calls[-1] == "finish False"


def test_nothing_to_divide_by() -> None:
    assert replace(NOW, stored=5, errors=5).na_rate is None
    assert Meter().rate(5, now=1.0) == 0.0


def test_the_rate_forgets_what_is_long_ago() -> None:
    meter = Meter(window=30)
    for second in range(100):
        meter.rate(second, now=float(second))
    assert meter.rate(99 + 310, now=130.0) > 9


def test_one_line_says_it_all() -> None:
    assert progress_line(NOW) == (
        "1,200/10,000 (12%), 12.3/s, 11 min 52 s to go, 360k + 2.4k tokens, cost 0.50, N/A 3.1%, 200 failed"
    )
    assert progress_line(
        replace(NOW, rate=54321.0, eta=None, prompt_tokens=0, completion_tokens=0, cost=None, errors=0)
    ) == ("1,200/10,000 (12%), 54,321/s, N/A 2.5%")
    assert progress_line(Snapshot(0, 0, 0.0, None, 0, 0, None, 0, 0, 0)) == "0/0 (100%), 0/s"


def test_the_end_is_said() -> None:
    summary = RunSummary(20, 10, 10, 2, 3, 0, 0, 75.0, 0, 0, 1.5, True, False)
    assert conclusion_line(summary) == (
        "Not complete: 10 asked in 1 min 15 s, 10 stored before, 3 without a valid answer, 2 failed, cost 1.50."
    )
    assert conclusion_line(replace(summary, complete=False, interrupted=True)).startswith("Interrupted: ")
    assert conclusion_line(replace(summary, complete=False)).startswith("Not complete: ")
    assert "2 failed, 48% of prompt tokens from the cache, cost" in conclusion_line(replace(summary, cached=0.4801))


def test_what_came_from_the_cache_is_stored_and_said(tmp_path: Path) -> None:
    class Cached(TinyModel):
        def findings(self) -> dict[str, int]:
            return {"prompt_tokens_cached": 30, "prompt_tokens_counted": 40}

    out = io.StringIO()
    assert run(tiny_study(), Cached(), tmp_path, progress=RichProgress(Console(file=out, width=200))).cached == 0.75
    assert "75% of prompt tokens from the cache" in out.getvalue()
    (session,) = read_manifest(tmp_path).sessions
    assert session.findings == {"prompt_tokens_cached": 30, "prompt_tokens_counted": 40}


def test_elsewhere_than_a_terminal_lines_are_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rich_progress, "_EVERY", 0.0)
    out = io.StringIO()
    progress = RichProgress(Console(file=out, width=40))
    progress.note("[bold]brackets[/] stay")
    run(tiny_study(), TinyModel(), tmp_path, progress=progress)
    lines = out.getvalue().splitlines()
    assert lines[0] == "[bold]brackets[/] stay"
    assert lines[1].startswith("1/12 (8%), ")
    assert lines[-1].startswith("Complete: 12 asked in ")
    assert "\x1b" not in out.getvalue()


def test_a_line_every_so_often_only(tmp_path: Path) -> None:
    out = io.StringIO()
    run(tiny_study(), TinyModel(), tmp_path, progress=RichProgress(Console(file=out)))
    assert len(out.getvalue().splitlines()) == 1


def test_a_bar_in_a_terminal(tmp_path: Path) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100)
    run(tiny_study(), TinyModel(), tmp_path / "a", progress=RichProgress(console))
    assert "Complete: 12 asked" in out.getvalue()
    progress = RichProgress(console)
    progress.start(3, 12)
    progress.update(NOW)
    progress.finish(None)
    assert "3 of 12 requests are stored already" in out.getvalue()


def test_by_default_it_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    RichProgress().note("here")
    assert capsys.readouterr() == ("", "here\n")


def test_units() -> None:
    assert [duration(s) for s in (0.4, 59.6, 3600, 86_400)] == ["0 s", "1 min 0 s", "1 h 0 min", "1 d 0 h"]
    assert [short(n) for n in (0, 999, 1000, 999_499, 999_500)] == ["0", "999", "1k", "999k", "1M"]
