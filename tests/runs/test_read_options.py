"""Options that are read as a reply was, of each kind of reply."""

from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.runs.read_options import options_read_alike
from facevalue.runs.stored import StoredRun, answers


@pytest.mark.parametrize(("reply", "at"), [("(a)", [0]), ("(b)", [1]), ("I can't judge people by their looks.", [])])
def test_a_reply_is_read_as_the_option_that_it_names(tmp_path: Path, reply: str, at: list[int]) -> None:
    study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear")
    fv.run(study, lambda _: reply, tmp_path, sample=72, progress=False)
    run = StoredRun.open(tmp_path)
    rows = pl.concat(answers(run))
    questions = run.study.ask(run.study.design.trials(rows["trial"].to_numpy()))
    alike = options_read_alike(run, rows, questions, ["weight"])
    assert [[question.options[place].label for place in of] for question, of in zip(questions, alike, strict=True)] == [
        [question.options[place].label for place in at] for question in questions
    ]
    assert not any(options_read_alike(run, rows, questions, []))
