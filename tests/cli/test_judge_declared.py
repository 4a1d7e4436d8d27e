"""`facevalue judge` and `questionnaire --sorted` of declared studies: a judge, people, and the report of both."""

import csv
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.protocol.test_judged_texts import STUDY

RUN = "runs/small-sim-strong"


@pytest.fixture
def run(facevalue: Command, tmp_path: Path) -> Command:
    (tmp_path / "small.toml").write_text(STUDY)
    assert facevalue("run", "small.toml", "--model", "sim/strong").status == 0
    return facevalue


def _filled(path: Path, names: tuple[str, ...]) -> Path:
    with path.open(encoding="utf-8-sig", newline="") as file:
        header, *rows = csv.reader(file)
    out = path.with_stem(names[0])
    with out.open("w", newline="") as file:
        csv.writer(file).writerows([header, *([names[0], *row[1:3], names[1 + at % 2]] for at, row in enumerate(rows))])
    return out


def test_a_judge_and_people_sort_texts(run: Command, tmp_path: Path) -> None:
    judged = run("judge", RUN, "--model", "sim/strong")
    assert judged.status == 0, judged.err
    assert "different texts that no rule settles" in judged.out
    assert "was asked about 0" in run("judge", RUN, "--model", "sim/strong").out
    packet = run("questionnaire", RUN, "--sorted", "tone", "--out", "texts.csv", "--most", "12")
    assert packet.status == 0, packet.err
    assert "12 texts" in packet.out
    assert "warm: Warm" in packet.out
    files = [
        _filled(tmp_path / "texts.csv", ("ann", "warm", "cold")),
        _filled(tmp_path / "texts.csv", ("bo", "1", "2")),
    ]
    kept = run("questionnaire", RUN, "--sorted", "tone", *(x for path in files for x in ("--ratings", path.name)))
    assert kept.status == 0, kept.err
    assert "12 texts by 2 raters" in kept.out
    assert run("report", RUN).status == 0
    page = (tmp_path / RUN / "report.html").read_text()
    assert "people alpha tone" in page
    explained = run("measure", RUN, "--explain", "judge_alpha_tone").out
    assert "Krippendorff" in explained


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--sorted", "tune", "--out", "x.csv"), "Unknown sorting 'tune'. Did you mean 'tone'"),
        (("--sorted", "tone"), "Say where the texts go"),
        (("--sorted", "tone", "--out", "x.html"), "Say where the texts go"),
        (("--sorted", "tone", "--ratings", "absent.csv"), "absent.csv"),
    ],
)
def test_mistakes_are_one_sentence(args: tuple[str, ...], message: str, run: Command) -> None:
    refused = run("questionnaire", RUN, *args)
    assert refused.status != 0
    assert message in refused.err
