"""Runs that stop once enough is known."""

import re
import shutil
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import facevalue as fv
from facevalue.cli.actions.run_folders import status
from facevalue.errors import RunError, SettingError
from facevalue.measures.family_tests import AT_ANY_TIME
from facevalue.measures.verdicts import Verdict
from facevalue.models import load
from facevalue.runs import RunSettings, SilentProgress, settings
from facevalue.runs.preparation import prepare
from facevalue.runs.runner import begin
from facevalue.runs.settings import Looks, RunSummary, StopRule
from facevalue.store import read_manifest, read_responses
from facevalue.types import Question, Request, Response

MARGIN = "[margin]\nshift = 0.5\n"


@pytest.fixture(scope="module", autouse=True)
def few_looks() -> Iterator[None]:
    """Looks at a quarter and half of a run: each takes a second or two, however small the run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "_FIRST", 0.25)
        patch.setattr(settings, "_GROWTH", 2.0)
        yield


def study() -> fv.Study:
    return fv.study("stylisticbias", faces="30M,30F", attributes=["eyewear"], scenario=["polite"], seeds=["1"])


def even(question: Question) -> str:
    """Either option, drawn for each request: an equal chance for every picture."""
    return question.options[int(DRAWN.integers(2))].label


DRAWN = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def drawn_anew() -> None:
    """Whichever tests came before: of some draws most units are equal, and nothing can be compared."""
    _from_the_start()


def _from_the_start() -> None:
    DRAWN.bit_generator.state = np.random.default_rng(1).bit_generator.state


def asked(folder: Path | str, rule: str = "width<0.9", preregister: Path | None = None) -> fv.Run:
    return fv.run(study(), even, folder, stop_when=rule, preregister=preregister, progress=False)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> fv.Run:
    """A run that stopped."""
    _from_the_start()
    return asked(tmp_path_factory.mktemp("stopped") / "run")


@pytest.fixture
def copied(stopped: fv.Run, tmp_path: Path) -> Path:
    """Its folder, to be changed."""
    return Path(shutil.copytree(stopped.folder, tmp_path / "copied"))


def shifts(run: fv.Run) -> pl.DataFrame:
    return run.estimates().filter(measure="shift", family="variations")


def known_and_answered(summary: RunSummary) -> tuple[int, int]:
    """Requests after which enough was known, and those that were answered in the end, as the sentence says them."""
    rest = r"(, and ([\d,]+) were answered in the end)?\.$"
    match = re.search(rf" That was known after ([\d,]+) of {summary.requests:,} requests{rest}", summary.enough)
    assert match is not None, summary.enough
    assert match[1] != match[3]
    known_after, answered = (int(text.replace(",", "")) for text in (match[1], match[3] or match[1]))
    return known_after, answered


@pytest.mark.parametrize(("size", "are_more"), [(1, False), (64, True)])
def test_the_sentence_counts_what_was_on_its_way_when_enough_was_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, are_more: bool
) -> None:
    model = load("sim/null@1")
    respond = model.respond

    def in_batches(requests: Iterable[Request]) -> Iterator[Response]:
        left = iter(requests)
        while batch := list(islice(left, size)):
            yield from list(respond(batch))

    monkeypatch.setattr(model, "respond", in_batches)
    settings = RunSettings(stop_when=StopRule(0.9))
    summary = begin(prepare(study().compiled, model.name, tmp_path / "run", settings), model, SilentProgress())
    known_after, answered = known_and_answered(summary)
    assert answered == summary.asked == read_responses(tmp_path / "run").height
    assert (answered > known_after) is are_more
    assert read_manifest(tmp_path / "run").enough == summary.enough


@pytest.mark.parametrize(("text", "rule"), [("decided", StopRule()), (" width < 2e-2 ", StopRule(0.02))])
def test_a_rule_is_read(text: str, rule: StopRule) -> None:
    assert StopRule.from_text(text) == rule == StopRule.from_text(rule.text)


@pytest.mark.parametrize(
    "text", ["", "decide", "width", "width<", "width<0", "width<-1", "width<nan", "width<inf", "width>0.1",
             "width<0.1.2", "p<0.05", "decided or width<0.1"]
)  # fmt: skip
def test_another_rule_is_refused_with_both_that_there_are(text: str) -> None:
    with pytest.raises(SettingError, match=r'--stop-when is "decided" .* or "width<0.02"'):
        StopRule.from_text(text)


def test_looks_come_at_fixed_numbers_of_requests_and_none_at_the_end() -> None:
    looks = Looks(StopRule(), 1_000)
    assert [answered for answered in range(1_001) if looks.due(answered)] == [250, 500]
    assert not any(Looks(None, 1_000).due(answered) for answered in range(1_001))


def test_a_run_stops_once_its_intervals_are_narrow(stopped: fv.Run) -> None:
    run = stopped
    assert run.summary is not None
    assert run.summary.complete
    assert 0 < run.summary.asked < run.summary.requests
    assert run.summary.enough.startswith("Enough is known: no interval is wider than 0.")
    known_after, answered = known_and_answered(run.summary)
    assert known_after <= answered == run.summary.asked
    leading = shifts(run)
    assert (leading["page_high"] - leading["page_low"]).max() < 0.9  # type: ignore[operator]
    assert leading["detail"].str.ends_with(AT_ANY_TIME).all()
    lines = list(map(str, status(run.folder).text))
    assert run.summary.enough in lines
    assert any(line.startswith("Complete since") for line in lines)


def test_a_run_stops_once_all_is_decided(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(MARGIN)
    run = asked(tmp_path / "run", rule="decided", preregister=tmp_path / "plan.toml")
    assert run.summary is not None
    assert "all 2 comparisons are decided (0 differ, 2 are equivalent)" in run.summary.enough
    assert shifts(run)["verdict"].to_list() == [Verdict.EQUIVALENT] * 2


def test_a_run_of_which_nothing_is_decided_asks_everything(tmp_path: Path) -> None:
    run = asked(tmp_path, rule="width<0.001")
    assert run.summary is not None
    assert (run.summary.asked, run.summary.enough) == (run.summary.requests, "")


def test_the_same_call_asks_nothing_more(stopped: fv.Run, copied: Path) -> None:
    before = read_responses(copied)
    again = asked(copied)
    assert stopped.summary is not None
    assert again.summary is not None
    assert (again.summary.asked, again.summary.complete, again.summary.enough) == (0, True, stopped.summary.enough)
    assert read_responses(copied).equals(before)


def test_a_rule_cannot_be_taken_up_or_dropped_later(copied: Path) -> None:
    with pytest.raises(RunError, match=r"rule to stop by: width<0\.9 in the folder, width<0\.1 asked"):
        asked(copied, rule="width<0.1")
    with pytest.raises(RunError, match=r"rule to stop by: width<0\.9 in the folder, none asked"):
        fv.run(study(), even, copied, progress=False)


def test_a_run_that_lost_its_end_stops_where_it_would_have_stopped(stopped: fv.Run, copied: Path) -> None:
    shards = sorted((copied / "responses").iterdir())
    shards[-1].unlink()  # as if it had been killed before the last look
    run = asked(copied)
    assert run.summary is not None
    assert run.summary.enough
    both = read_responses(copied).join(read_responses(stopped.folder), on=["trial", "repeat"], how="anti")
    assert both.height == 0


def test_a_run_in_object_storage_stops_too(tmp_path: Path) -> None:
    url, settings = f"file://{tmp_path}/run", RunSettings(unit=20, stop_when=StopRule(0.9))
    for again in (False, True):
        model = load("sim/null@1")
        summary = begin(prepare(study().compiled, model.name, url, settings), model, SilentProgress())
        assert summary.enough.startswith("Enough is known")
        assert again or known_and_answered(summary)[1] == summary.asked
        assert summary.complete
        assert (summary.asked == 0) is again
        assert summary.asked < summary.requests


def test_a_study_that_is_scored_afterwards_has_no_rule(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="--stop-when looks at counterfactuals while it is asked"):
        fv.run("counterfactuals", "sim/null@1", tmp_path, stop_when="decided", progress=False)


def test_a_run_that_stopped_is_compared_at_any_time(tmp_path: Path) -> None:
    stopped = asked(tmp_path / "stopped", rule="width<0.7")
    whole = fv.run(study(), even, tmp_path / "whole", progress=False)
    assert fv.compare(stopped, whole).cells["detail"].str.ends_with(AT_ANY_TIME).all()
    assert (
        not fv.compare(whole, fv.run(study(), even, tmp_path / "other", progress=False))
        .cells["detail"]
        .str.ends_with(AT_ANY_TIME)
        .any()
    )


def test_a_run_without_a_rule_is_judged_as_at_a_single_look(tmp_path: Path) -> None:
    run = fv.run(study(), even, tmp_path, progress=False)
    assert not shifts(run)["detail"].str.contains(AT_ANY_TIME, literal=True).any()
    assert read_manifest(tmp_path).stop_when == ""
