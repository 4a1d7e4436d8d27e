"""Options that are read as a reply was, of each kind of reply."""

from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.runs.reviews.replies import options_read_alike
from facevalue.runs.stored_run import StoredRun, answers


@pytest.mark.parametrize("reply", ["(a)", "(b)", "I can't judge people by their looks."])
def test_a_reply_is_read_as_the_option_that_it_names_wherever_that_stands(tmp_path: Path, reply: str) -> None:
    study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear")
    fv.run(study, lambda _: reply, tmp_path, sample=72, progress=False)
    run = StoredRun.open(tmp_path)
    rows = pl.concat(answers(run))
    questions = run.study.ask(run.study.design.trials(rows["trial"].to_numpy()))
    labels = [[option.label for option in question.options] for question in questions]
    assert len({tuple(row) for row in labels}) == 2
    alike = options_read_alike(run, rows, questions, ["preference"])
    assert [[row[place] for place in places] for row, places in zip(labels, alike, strict=True)] == [
        [label for label in row if label == reply] for row in labels
    ]
    assert not any(options_read_alike(run, rows, questions, []))
