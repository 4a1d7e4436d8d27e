"""A forced choice between two pictures that differ in one thing: the template, and a list of one's own."""

import json
from pathlib import Path

import pytest
from PIL import Image

from facevalue.studies import file_text
from tests.cli.conftest import Command

BESIDE = "Cap beside “none”"
RUN = ("--model", "sim/strong@3", "--seeds", "1", "--out", "run")


def page_of(facevalue: Command) -> tuple[str, list[str]]:
    """The first sentence of a run's page, and the rows of its first chart."""
    page = json.loads(facevalue("report", "run", "--json").out)["page"]
    return page["headline"]["sentence"], [row["label"] for block in page["strongest"] for row in block["rows"]]


def test_the_template_runs_on_drawn_pictures(facevalue: Command) -> None:
    begun = facevalue("new", "mine.toml", "--like", "forced-choice")
    assert "facevalue make mine.toml --generator drawn --editor drawn --out pictures" in begun.out
    planned = facevalue("plan", "mine.toml")
    assert planned.status == 1
    assert planned.err.strip().endswith("facevalue make mine.toml --generator drawn --editor drawn --out pictures")
    make = ("make", "mine.toml", "--generator", "drawn", "--editor", "drawn", "--out", "pictures", "--sets", "2")
    assert facevalue(*make).status == 0
    ran = facevalue("run", "mine.toml", "--manifest", "pictures/manifest.parquet", *RUN)
    assert ran.status == 0, ran.err
    sentence, rows = page_of(facevalue)
    assert "Cap" in sentence
    assert "“none”" in sentence
    assert BESIDE in rows


@pytest.mark.parametrize("by", ['by = ["hat"]\n', ""])
def test_one_level_beside_the_base_is_enough_and_both_sides_are_named(facevalue: Command, by: str) -> None:
    rows = ["path,set,hat"]
    for number in range(6):
        for hat in ("none", "cap"):
            Image.new("RGB", (8, 8), (9 * number, 80, 9 * len(hat))).save(f"{number}{hat}.png")
            rows.append(f"{number}{hat}.png,s{number},{hat}")
    Path("list.csv").write_text("\n".join(rows))
    text, _, rest = file_text("forced-choice").partition('by = ["hat"]\n')
    Path("forced-choice.toml").write_text(f"{text}{by}{rest}")
    checked = facevalue("manifest", "check", "list.csv", "--for", "forced-choice.toml")
    assert checked.status == 0, checked.out
    ran = facevalue("run", "forced-choice.toml", "--manifest", "list.csv", *RUN)
    assert ran.status == 0, ran.err
    sentence, shown = page_of(facevalue)
    assert "cap" in sentence.lower()
    assert "“none”" in sentence
    assert [label.replace("“cap”", "Cap") for label in shown] == [BESIDE]
