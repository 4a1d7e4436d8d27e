"""From a real run of VisBias to its report: examples are stored answers, sentences come from the descriptions."""

import sys

import polars as pl
import pytest

from facevalue import report
from facevalue.cli import main
from facevalue.report.blocks.content import MOST_BYTES
from facevalue.report.blocks.view import page_view
from facevalue.report.collect import gather
from facevalue.report.data import PairExample, Sentence
from facevalue.report.sections.findings import leading, row, rows_of
from facevalue.report.sections.headline import page_of
from facevalue.runs.joined_runs import estimate
from facevalue.runs.pictures import TrialPictures
from facevalue.runs.stored_run import ReplyTally, StoredRun
from facevalue.store import read_responses
from tests.report.test_html import page

ASKED = (
    "--species",
    "drawn",
    "--task",
    "mcq,yesno,description,form",
    "--forms",
    "1",
    "--descriptions",
    "2",
    "--pairs",
    "2",
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[StoredRun, pl.DataFrame, dict[str, ReplyTally]]:
    """A small run with its estimates."""
    folder = tmp_path_factory.mktemp("visbias") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            sys, "argv", ["facevalue", "run", "visbias", "--model", "sim/strong", "--out", str(folder), *ASKED]
        )
        with pytest.raises(SystemExit) as end:
            main()
    assert not end.value.code
    run = StoredRun.open(folder)
    frame, tallies = estimate([run])
    return run, frame, tallies


def test_examples_are_stored_answers_of_every_task(
    finished: tuple[StoredRun, pl.DataFrame, dict[str, ReplyTally]],
) -> None:
    run, frame, tallies = finished
    found = gather([run], frame, tallies).examples
    shown = [e for e in found if isinstance(e, PairExample) and not isinstance(e, Sentence)]
    assert [e.title.split(":")[0].split(",")[0] for e in shown] == [
        "Multiple choice", "Comparisons", "Descriptions", "Forms", "Multiple choice",
    ]  # fmt: skip
    stored = set(read_responses(run.folder)["text"])
    for example in shown:
        assert example.answer in stored
        assert example.image is not None
        assert len(example.image) <= MOST_BYTES
    assert shown[1].left
    assert shown[1].right


def test_sentences_are_of_the_group_that_they_are_quoted_for(
    finished: tuple[StoredRun, pl.DataFrame, dict[str, ReplyTally]],
) -> None:
    run, frame, tallies = finished
    quoted = [e for e in gather([run], frame, tallies).examples if isinstance(e, Sentence)]
    assert quoted
    texts = [text for text in read_responses(run.folder)["text"] if text]
    for one in quoted:
        assert any(one.answer in text for text in texts)
        assert any(is_word for _, is_word in one.parts)


def test_a_run_becomes_a_page_with_everything_in_it(
    finished: tuple[StoredRun, pl.DataFrame, dict[str, ReplyTally]],
) -> None:
    run, frame, tallies = finished
    data = gather([run], frame, tallies)
    parsed = page(data)
    for words in ("Skin tone × gender", "Refusals, by group", "Who is ranked above whom", "All divergences of species"):
        assert words in parsed.text
    assert len(report.render(data).encode()) < 6_000_000
    asked = [(prompt.title, prompt.note) for prompt in data.prompts]
    assert len(asked) == len(set(asked)) == 4 + 4 + 1 + 1
    assert data.study.left_out[0][0] in parsed.text


def test_an_example_without_its_picture_says_so(
    finished: tuple[StoredRun, pl.DataFrame, dict[str, ReplyTally]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, frame, tallies = finished
    monkeypatch.setattr(
        "facevalue.report.stored_answers.load_shown", lambda run, trial: TrialPictures((), "no picture: lost")
    )
    html = report.render(gather([run], frame, tallies))
    assert html.count('<div class="nopicture shown">no picture: lost') == 5


def test_rows_of_the_first_screen_are_called_by_their_own_score(
    finished: tuple[StoredRun, pl.DataFrame, dict[str, ReplyTally]],
) -> None:
    run, frame, _ = finished
    shown = page_of("visbias")
    view = page_view(shown, frame, run.measures)
    (lead,) = (lead for lead in leading(shown, view) if lead.quantity == "lengths of descriptions")
    names = {(e["score"], row(lead, view, e).split(",")[0].lower()) for e in rows_of(lead, view)}
    assert names == {("characters", "characters"), ("tokens", "tokens")}
