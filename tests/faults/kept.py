"""What judges, scorers and people say beside a run: ends at a file operation or is killed, and goes on."""

import contextlib
import multiprocessing
import random
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from facevalue.annotations import scores
from facevalue.annotations.scorers import Scoring
from facevalue.annotations.scoring import score_texts
from facevalue.answers.sorting import Sorting
from facevalue.errors import RunError
from facevalue.models.base import Capabilities
from facevalue.protocol.offers import JudgedWords, WordList
from facevalue.runs.judgments import Doubt, ask, ask_words, read_judgments, read_word_judgments
from facevalue.runs.reviews.outcomes import keep, read_kept
from facevalue.types import Question, Request, Response, Sampling, Status
from tests.faults.disk import Dead, Disk

TEXTS = tuple(f"text {number}" for number in range(9))
PROCESSES = multiprocessing.get_context("forkserver")
Log = Callable[[str], object]


class Judge:
    """Says the first option of everything, and writes down what it was asked."""

    name = "judge"
    capabilities = Capabilities()

    def __init__(self, log: Log, delay: float = 0.0) -> None:
        self._log, self._delay = log, delay

    def settings(self) -> Mapping[str, str | int | float | bool]:
        return {}

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        for request in requests:
            time.sleep(self._delay)
            self._log(f"{request.question.prompt!r} {request.repeat}")
            text = request.question.options[0].label if request.question.options else "[]"
            yield Response(request.trial, request.repeat, Status.OK, text)

    def close(self) -> None:
        """Nothing to let go of."""


class Lengths:
    """Scores a text by its length."""

    name = called = "lengths"
    version, digest, labels, at_once = "1", "none", ("length",), 1

    def __init__(self, log: Log, delay: float = 0.0) -> None:
        self._log, self._delay = log, delay

    def score(self, texts: Sequence[str]) -> Scoring:
        time.sleep(self._delay)
        for text in texts:
            self._log(text)
        return Scoring({"length": [float(len(text)) for text in texts]})

    def close(self) -> None:
        """Nothing to let go of."""


def judge(folder: Path, log: Log, delay: float = 0.0, texts: Sequence[str] = TEXTS) -> None:
    ask(folder, [Doubt(Sorting("job", ("nurse", "chef")), text) for text in texts], Judge(log, delay))


def judgments(folder: Path) -> pl.DataFrame:
    found = read_judgments(folder)
    rows = [] if found is None else [(*key, *value) for key, value in found.judgments.items()]
    return pl.DataFrame(sorted(rows), orient="row")


def judge_words(folder: Path, log: Log, delay: float = 0.0, texts: Sequence[str] = TEXTS) -> None:
    offer = JudgedWords(
        lambda rows: [], lambda words: Question(words.group), Sampling(), lambda rows, said: rows, (1, 2)
    )
    ask_words(folder, [WordList(text, ("kind", "calm")) for text in texts], offer, Judge(log, delay))


def word_judgments(folder: Path) -> pl.DataFrame:
    found = read_word_judgments(folder)
    rows = (
        []
        if found is None
        else sorted((words.group, repeat, str(said)) for (words, repeat), said in found.known.items())
    )
    return pl.DataFrame(rows, orient="row")


def annotate(folder: Path, log: Log, delay: float = 0.0, texts: Sequence[str] = TEXTS) -> None:
    score_texts(folder, Lengths(log, delay), lambda: [pl.Series(list(texts))])


def scored(folder: Path) -> pl.DataFrame:
    (kept,) = scores.read(folder)
    return kept.scores_of_texts(pl.Series(TEXTS))


def rate(folder: Path, log: Log) -> None:
    """Keep ratings by people, in place of older ones."""
    old = pl.DataFrame({"rater": ["ann"], "item": ["1"], "rating": [1]})
    keep(folder, old)
    keep(folder, pl.DataFrame({"rater": ["ann", "bo"], "item": ["1", "1"], "rating": [4, 5]}))


def rated(folder: Path) -> pl.DataFrame:
    found = read_kept(folder)
    assert found is not None
    return found


class Work(NamedTuple):
    """A command beside a run, and what it leaves."""

    do: Callable[[Path, Log], None]
    read: Callable[[Path], pl.DataFrame]


WORKS = {
    "judge": Work(judge, judgments),
    "judge of words": Work(judge_words, word_judgments),
    "annotate": Work(annotate, scored),
    "review": Work(rate, rated),
}


def ended(kind: str, work: Work, place: Path, rng: random.Random) -> Iterator[str]:
    """End at every file operation once, and give the same command again."""
    whole_folder = place / "whole"
    whole_folder.mkdir(parents=True)
    disk = Disk(whole_folder, "kill", -1, rng)
    with pytest.MonkeyPatch.context() as patch:
        disk.install(patch)
        work.do(whole_folder, lambda line: None)
    whole = work.read(whole_folder)
    for at in range(disk.count):
        folder = place / f"{kind}-{at}"
        folder.mkdir()
        first: list[str] = []
        second: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            Disk(folder, kind, at, rng).install(patch)
            with contextlib.suppress(Dead, RunError):
                work.do(folder, first.append)
        work.do(folder, second.append)
        again = set(first) & set(second)
        if not work.read(folder).equals(whole):
            yield "another table"
        elif len(again) > 1 and kind != "power":  # what was not forced to the disk goes with the power
            yield f"{len(again)} asked again"
        else:
            yield "as without the fault"
        shutil.rmtree(folder)


def at_every_operation(rng: random.Random, cases: int, place: Path) -> Iterator[str]:
    """Judges, scorers and ratings, each killed, refused and without power at every operation."""
    for name, work in WORKS.items():
        for kind in ("kill", "error", "power"):
            yield from ended(kind, work, place / name / kind, rng)


def at_random(rng: random.Random, cases: int, place: Path) -> Iterator[str]:
    """Kill processes that judge or score, again and again, until they have ended."""
    texts = [f"text {number}" for number in range(150)]
    for do in (judge, annotate):
        done = 0
        while done < cases // 2:
            folder = place / f"{do.__name__}-{done}"
            folder.mkdir(parents=True)
            log = folder.with_suffix(".log")
            kills = 0
            while True:
                process = PROCESSES.Process(target=_work, args=(do.__name__, folder, log, texts), daemon=True)
                process.start()
                process.join(rng.uniform(0.5, 2.0) if kills < 5 else None)
                if process.exitcode is not None:
                    break
                process.kill()
                process.join()
                kills += 1
            lines = log.read_text().splitlines()
            done += max(kills, 1)
            if sorted(set(lines)) != sorted({*lines}) or len(set(lines)) != len(texts):
                yield "not all asked"
            elif len(lines) - len(set(lines)) > kills:
                yield f"{len(lines) - len(set(lines))} asked again after {kills} kills"
            else:
                yield from ["as without the fault"] * max(kills, 1)


def _work(name: str, folder: Path, log: Path, texts: Sequence[str]) -> None:
    def write(line: str) -> None:
        with log.open("a") as file:
            file.write(line + "\n")

    {"judge": judge, "annotate": annotate}[name](folder, write, 0.01, texts)
