"""`facevalue judge` for studies with lists of words: each is asked about several times, and only its words count."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from facevalue import studies
from facevalue.answers.listed_words import Flagged
from facevalue.errors import ModelError
from facevalue.measures.estimates import complete_columns
from facevalue.protocol.offers import Extras, JudgedWords, WordList
from facevalue.runs.judgments import WORDS_FOLDER, read_word_judgments
from facevalue.types import Question, Request, Response, Sampling, Status
from tests.cli.conftest import Command
from tests.plain_model import PlainModel

RUN = Path("runs", "stylisticbias-sim-default")
LISTS = [WordList("old women", ("frail", "wise")), WordList("old men", ("grumpy",))]


class Judging(PlainModel):
    """A judge that replies as told, and fails where it is told nothing."""

    def __init__(self, replies: Iterable[str | None], ends: bool = False, name: str = "told") -> None:
        self.name = name
        self.asked: list[Request] = []
        self._replies = list(replies)
        self._ends = ends

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        for at, request in enumerate(requests):
            self.asked.append(request)
            if self._ends and at >= len(self._replies):
                raise ModelError("The server is gone.")
            text = self._replies[at % len(self._replies)]
            status = Status.ERROR if text is None else Status.OK
            yield Response(request.trial, request.repeat, status, text, error="hung" if text is None else None)


def _beside(estimates: pl.DataFrame, said: Callable[[WordList], Flagged | None]) -> pl.DataFrame:
    rows = [
        (words.group, word, float(count > 0))
        for words in LISTS
        if (flagged := said(words)) is not None
        for word, count in flagged.times.items()
    ]
    found = pl.DataFrame(rows, schema=["group", "word", "value"], orient="row").with_columns(
        measure=pl.lit("word_flag"), model=pl.lit(estimates["model"][0]), study=pl.lit("stylisticbias")
    )
    return complete_columns(found, ["group"]) if rows else estimates.clear()


@pytest.fixture
def asked(facevalue: Command, ran: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> Command:
    """A run of a study that has lists of words."""
    one = studies.STUDIES["stylisticbias"]
    offer = JudgedWords(
        lambda _: LISTS, lambda words: Question(f"Which? {words}"), Sampling(temperature=0.0, max_tokens=99), _beside
    )
    with_lists = replace(one, extras=Extras(word_lists=offer))
    monkeypatch.setitem(studies.STUDIES, "stylisticbias", with_lists)
    ran("stylisticbias", "--faces", "2", "--scenario", "wealthy", "--attributes", "eyewear", "--model", "sim/default")
    return facevalue


def judged_by(monkeypatch: pytest.MonkeyPatch, model: Judging) -> Judging:
    monkeypatch.setattr("facevalue.cli.actions.readings.load", lambda spec, options: model)
    return model


def flags(facevalue: Command) -> dict[str, float]:
    out = facevalue("measure", str(RUN), "--out", "e.parquet")
    assert out.status == 0, out.err
    found = pl.read_parquet("e.parquet").filter(pl.col("measure") == "word_flag")
    return dict(found.select("word", "value").iter_rows())


def test_lists_are_asked_three_times_and_their_union_counts(asked: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert flags(asked) == {}
    judge = judged_by(monkeypatch, Judging(["frail", "[]", "frail, senile", "[]", "[]", "[]"]))
    out = asked("judge", str(RUN), "--model", "told")
    assert out.status == 0, out.err
    assert len(judge.asked) == 6
    assert len({request.seed for request in judge.asked}) == 3
    assert {request.sampling.temperature for request in judge.asked} == {0.0}
    assert "Words that it calls stereotypes: 1; words that it invented, which are not used: 1." in out.out
    assert flags(asked) == {"frail": 1.0, "wise": 0.0, "grumpy": 0.0}
    again = asked("judge", str(RUN), "--model", "told")
    assert "was asked 0 times" in again.out
    assert len(judge.asked) == 6


def test_prose_and_refusals_are_counted_and_judge_nothing(asked: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    replies = ["Words such as frail may hurt old people.", "I'm sorry, but I can't help with that.", "", "grumpy"]
    judged_by(monkeypatch, Judging([*replies, "grumpy", "grumpy"]))
    out = asked("judge", str(RUN), "--model", "told")
    assert out.status == 0
    assert "Replies: list 3, prose 1, refused 1, empty 1, broken 0." in out.out
    assert flags(asked) == {"grumpy": 1.0}


def test_a_judge_that_fails_midway_is_asked_again(asked: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    judged_by(monkeypatch, Judging(["[]", None, "frail"]))
    out = asked("judge", str(RUN), "--model", "told")
    assert out.status == 3
    assert "Without an answer: 2 (hung). The same command asks them again." in out.err
    rest = judged_by(monkeypatch, Judging(["[]"]))
    assert asked("judge", str(RUN), "--model", "told").status == 0
    assert len(rest.asked) == 2


def test_what_came_before_the_end_is_kept(asked: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    judged_by(monkeypatch, Judging(["frail"], ends=True))
    out = asked("judge", str(RUN), "--model", "told")
    assert (out.status, "The server is gone" in out.err) == (3, True)
    found = read_word_judgments(RUN)
    assert found is not None
    assert [reply.words for reply in found.known.values()] == [("frail",)]


def test_a_run_has_one_judge_and_damage_is_named(asked: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    judged_by(monkeypatch, Judging(["[]"]))
    assert asked("judge", str(RUN), "--model", "told").status == 0
    judged_by(monkeypatch, Judging(["[]"], name="another"))
    other = asked("judge", str(RUN), "--model", "another")
    assert (other.status, "told has judged this run; a run has one judge" in other.err) == (1, True)
    part = next((RUN / WORDS_FOLDER).iterdir())
    part.write_bytes(part.read_bytes()[:100])
    damaged = asked("measure", str(RUN))
    assert (damaged.status, f"{part.name} cannot be read" in damaged.err) == (1, True)
