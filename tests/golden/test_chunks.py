"""Estimates of stored runs are the same to the last bit, however their answers are cut into chunks."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from facevalue.measures.estimates import stack_estimates
from facevalue.runs import joined_runs
from facevalue.runs.joined_runs import Followed
from facevalue.runs.stored_run import SAID, ReplyTally, StoredRun
from facevalue.runs.stored_run import answers as stored_answers
from tests.golden.cases import RUNS, unpacked

QUICK = ("stylisticbias", "vignette-places", "beauty", "pairs")
"""Runs that take a second; of all others with answers the test is slow."""
IN_ANY_ORDER = ("stylisticbias", "beauty", "pairs", "listed", "tasks")
"""Runs without variants whose answers may come in any order, and not only in that of trials."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("runs"))


def estimates(run: StoredRun, chunks: Sequence[pl.DataFrame], monkeypatch: pytest.MonkeyPatch) -> pl.DataFrame:
    """Everything that is estimated of a run whose answers come in these chunks, before it is judged."""

    def chunked(*_: object) -> Iterator[pl.DataFrame]:
        return iter(chunks)

    monkeypatch.setattr(joined_runs, "answers", chunked)
    seen = Followed.from_runs([run])
    analysed = run.study.analyse({run.model: seen.passing(run, ReplyTally())})
    return stack_estimates([analysed, *seen.estimates(run.study.name, run.model)])


def cut(answers: pl.DataFrame, seed: int) -> list[pl.DataFrame]:
    """The answers cut anywhere, into as many chunks as it happens."""
    rng = np.random.default_rng(seed)
    places = np.unique(rng.integers(1, answers.height, rng.choice([3, 50])))
    return [answers[start:end] for start, end in zip([0, *places], [*places, answers.height], strict=True)]


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in RUNS])
def test_estimates_do_not_depend_on_chunks(runs: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = StoredRun.open(runs / name)
    columns = ("at",) if run.facts.sight is None else ("at", "prompt_tokens", SAID)
    answers = pl.concat(list(stored_answers(run, ReplyTally(), columns)))
    whole = estimates(run, [answers], monkeypatch)
    assert whole["value"].count() > 0
    for seed in range(1 if name in QUICK else 3):
        assert estimates(run, cut(answers, seed), monkeypatch).equals(whole)
    if name in IN_ANY_ORDER:
        shuffled = answers.sample(fraction=1, shuffle=True, seed=1)
        assert estimates(run, cut(shuffled, 1), monkeypatch).equals(whole)
