"""`facevalue judge` and `review --sorted` of declared studies: a judge, people, and the report of both."""

import json
from itertools import cycle
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.protocol.test_judged_texts import STUDY
from tests.reviews import filled, packet_of, rows_of

RUN = "runs/small-sim-strong"


@pytest.fixture
def run(facevalue: Command, tmp_path: Path) -> Command:
    (tmp_path / "small.toml").write_text(STUDY)
    assert facevalue("run", "small.toml", "--model", "sim/strong").status == 0
    return facevalue


def test_a_judge_and_people_sort_texts(run: Command, tmp_path: Path) -> None:
    judged = run("judge", RUN, "--model", "sim/strong")
    assert judged.status == 0, judged.err
    assert "different texts that no rule settles" in judged.out
    assert "was asked about 0" in run("judge", RUN, "--model", "sim/strong").out
    packet = run("review", RUN, "--sorted", "tone", "--out", "texts", "--sample", "12")
    assert packet.status == 0, packet.err
    assert "12 different replies" in packet.out
    asked = packet_of(Path(RUN))
    assert rows_of(asked)[0]["answers"].startswith("Warm; ")
    first, second = cycle(("Warm", "Cold or distant")), cycle((1, 2))
    files = [filled(asked, Path(), "ann", lambda _: next(first)), filled(asked, Path(), "bo", lambda _: next(second))]
    kept = run("review", RUN, *(x for path in files for x in ("--collect", str(path))), "--json")
    assert kept.status == 0, kept.err
    document = json.loads(kept.out)
    assert document["agreement"][0]["value"] == 1.0
    judge = {(row["label"], row["measure"]): row for row in document["accuracy"]}
    assert judge["all", "accuracy"]["n"] == 12
    assert {"precision", "recall"} == {measure for label, measure in judge if label == "warm"}
    assert run("report", RUN).status == 0
    page = (tmp_path / RUN / "report.html").read_text()
    assert "people alpha tone" in page
    explained = run("measure", RUN, "--explain", "judge_alpha.tone").out
    assert "Krippendorff" in explained


@pytest.mark.parametrize("kind", ["text", "list"])
def test_people_rate_texts_and_entries_that_a_scorer_has_scored(kind: str, facevalue: Command, tmp_path: Path) -> None:
    study = STUDY.replace('kind = "text"', f'kind = "{kind}"').replace("factor = ", 'scores = ["hostility"]\nfactor = ')
    (tmp_path / "small.toml").write_text(study)
    assert facevalue("run", "small.toml", "--model", "sim/strong").status == 0
    assert facevalue("annotate", RUN).status == 0
    packet = facevalue("review", RUN, "--texts", "lexical/hostility", "--out", "texts")
    assert packet.status == 0, packet.err
    asked = packet_of(Path(RUN))
    files = [filled(asked, Path(), name, lambda _: 1) for name in ("ann", "bo")]
    kept = facevalue("review", RUN, *(x for path in files for x in ("--collect", str(path))))
    assert kept.status == 0, kept.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--sorted", "tune", "--out", "x"), "Unknown sorting 'tune'. Did you mean 'tone'"),
        (("--sorted", "tone"), "Say where the packets go"),
        (("--sorted", "tone", "--texts", "a/b", "--out", "x"), "give one of them"),
        (("--sorted", "tone", "--task", "finding", "--out", "x"), "they go with --task parse"),
        (("--collect", "absent.json"), "absent.json"),
    ],
)
def test_mistakes_are_one_sentence(args: tuple[str, ...], message: str, run: Command) -> None:
    refused = run("review", RUN, *args)
    assert refused.status != 0
    assert message in refused.err
