"""`facevalue annotate`: open replies are scored once each, by one scorer beside another, and reports use the scores."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from facevalue.annotations import scores
from facevalue.runs.stored_run import StoredRun, answers
from facevalue.studies import STUDIES
from tests.cli.conftest import Command
from tests.scored_study import PROTOCOL, run

RUN = Path("runs/texts")
REPLIES = ["A calm person.", "I'm sorry, I can't describe people.", "What an idiot.", "A calm person."]


@pytest.fixture
def annotated(facevalue: Command) -> Iterator[Command]:
    """A run of a study of texts that is known by its name."""
    STUDIES[PROTOCOL.name] = PROTOCOL
    run(RUN, REPLIES)
    yield facevalue
    del STUDIES[PROTOCOL.name]


def found(*columns: str) -> list[tuple[object, ...]]:
    """The first three answers."""
    return pl.concat(answers(StoredRun.open(RUN))).select(columns).rows()[:3]


def test_lexical_hostility_is_the_default_and_answers_carry_it(annotated: Command) -> None:
    first = annotated("annotate", str(RUN))
    assert first.status == 0, first.err
    assert "74 different texts; 0 of them had been scored by lexical before." in first.out
    assert "Scored: 74; failed: 0; longer than the scorer reads: 0." in first.out
    assert "The words of a group alone move hostility by up to +0.000 [+0.000, +0.000] (Black male)." in first.out
    assert found("score: lexical/hostility") == [(0.0,), (None,), (pytest.approx(1 / 3),)]
    again = annotated("annotate", str(RUN))
    assert "74 different texts; 74 of them had been scored by lexical before." in again.out
    assert "Scored: 0; failed: 0" in again.out
    assert annotated("verify", str(RUN)).status == 0


def test_scorers_stand_side_by_side_under_names_of_their_own(annotated: Command) -> None:
    Path("warmth.txt").write_text("Rate how warm this text is, from 0 to 10.")
    judge = ("--scorer", "judge/sim/default", "--rubric", "warmth.txt")
    assert annotated("annotate", str(RUN), "--scorer", "lexical").status == 0
    other = annotated("annotate", str(RUN), *judge, "--name", "asked")
    assert other.status == 0, other.err
    assert "Scored: 0; failed: 74;" in other.out
    assert "Without a score: 73, the judge gives no number." in other.out
    assert found("score: asked/warmth", "score: lexical/hostility")[0] == (None, 0.0)
    mixed = annotated("annotate", str(RUN), *judge, "--name", "lexical")
    assert mixed.status == 1
    assert "The scores called 'lexical' are of lexical" in mixed.err
    assert [one.name for one in scores.read(RUN)] == ["asked", "lexical"]


def test_replies_to_one_prompt_alone_are_scored_and_the_others_later(annotated: Command) -> None:
    assert "73 different texts" in annotated("annotate", str(RUN), "--prompt", "p1").out
    assert found("score: lexical/hostility") == [(0.0,), (None,), (None,)]
    assert "74 different texts; 73 of them" in annotated("annotate", str(RUN), "--prompt", "p0").out
    assert found("score: lexical/hostility")[2] == (pytest.approx(1 / 3),)
    wrong = annotated("annotate", str(RUN), "--prompt", "p3")
    assert (wrong.status, wrong.err.startswith("Error: Unknown prompt with open replies 'p3'.")) == (2, True)


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--scorer", "detoxify"], 2, "Unknown scorer 'detoxify'"),
        (["--scorer", "lexical/x"], 2, "Unknown scorer 'lexical/x'"),
        (["--scorer", "hf-text"], 2, "'hf-text' names no scorer: write hf-text/FOLDER"),
        (["--scorer", "lexicon/"], 2, "'lexicon/' names no scorer: write lexicon/FILE"),
        (["--scorer", "lexicon/nowhere.tsv"], 1, "There is no file nowhere.tsv (ratings of words)."),
        (["--scorer", "hf-text/nowhere"], 3, "There is no folder nowhere"),
        (["--scorer", "judge/sim/default", "--rubric", "nowhere.txt"], 1, "There is no file nowhere.txt"),
        (["--scorer", "judge/sim/default"], 2, "A judge needs a --rubric"),
        (["--rubric", "a.txt"], 2, "other scorers take none"),
        (["--labels", "toxicity"], 2, "Unknown label of lexical 'toxicity'."),
        (["--name", "judge"], 2, "Scores cannot be called 'judge'"),
        (["--name", "../up"], 2, "Scores cannot be called '../up'"),
    ],
)
def test_what_is_no_scorer_or_name_is_one_sentence(
    annotated: Command, options: list[str], status: int, said: str
) -> None:
    if options[-1] == "hf-text/nowhere":
        pytest.importorskip("transformers")
    out = annotated("annotate", str(RUN), *options)
    assert (out.status, said in out.err) == (status, True), out.err
    assert not (RUN / "annotations").exists()


def test_a_study_without_open_replies_says_which_have_them(annotated: Command) -> None:
    options = ("--faces", "1M", "--attributes", "eyewear", "--sample", "36", "--model", "sim/default")
    assert annotated("run", "stylisticbias", *options, "--out", "runs/other").status == 0
    out = annotated("annotate", "runs/other")
    assert out.status == 1
    assert "stylisticbias offers no replies that a scorer reads; " in out.err
    assert "texts do" in out.err
