"""Pages of studies that declare none: what their headline says."""

from io import StringIO
from pathlib import Path

import polars as pl
from rich.console import Console

import facevalue as fv
from facevalue.report import summary
from facevalue.report.sections.headline import page_of
from tests.protocol.conftest import Reader

SPREADS = """
name = "small"
[pictures]
kind = "portraits"
people = "24"
[pictures.cues]
eyewear = ["thick-rimmed"]
[prompt]
text = "Is this person {trait}?"
[factor.trait]
levels = ["kind", "lazy"]
[answer]
kind = "yes-no"
[[estimand]]
statistic = "spread"
factor = "gender"
[[estimand]]
statistic = "spread"
factor = "age"
"""
LISTS = """
name = "small"
[pictures]
kind = "portraits"
people = "12"
[pictures.cues]
eyewear = ["thick-rimmed"]
accessories = ["cap"]
[prompt]
text = "Name three values of this person."
[answer]
kind = "list"
[[estimand]]
statistic = "similarity"
by = ["variation"]
[sampling]
seeds = [1, 2]
"""


def terminal(opened: fv.Run) -> str:
    """What `measure` prints, as one line."""
    console = Console(width=200, file=StringIO())
    console.print(summary(opened.estimates(), opened.stored.measures, page=page_of(opened.stored.study)))
    return " ".join(str(console.file.getvalue()).split())  # type: ignore[attr-defined]


def test_a_spread_is_led_by_the_name_of_its_own_factor(read: Reader, tmp_path: Path) -> None:
    read(SPREADS)
    printed = terminal(fv.run(tmp_path / "small.toml", "sim/strong", tmp_path / "run", progress=False))
    assert "2 spreads" not in printed
    clearest = printed.partition("Clearest: spreads of gender")[2].partition("Clearest: ")[0]
    assert "Gender" in clearest
    assert "Age" not in clearest


def test_spreads_of_one_family_lead_together(read: Reader, tmp_path: Path) -> None:
    read(SPREADS.replace('statistic = "spread"', 'statistic = "spread"\nfamily = "spreads between groups"'))
    printed = terminal(fv.run(tmp_path / "small.toml", "sim/strong", tmp_path / "run", progress=False))
    assert "for each of 2 factors, even a difference of" in " ".join(printed.split())


def test_a_similarity_stands_beside_that_of_two_lists_about_one_picture(read: Reader, tmp_path: Path) -> None:
    read(LISTS)
    opened = fv.run(tmp_path / "small.toml", "sim/strong", tmp_path / "run", progress=False)
    floors = opened.estimates().filter(pl.col("measure") == "similarity_floor")["value"].drop_nulls()
    assert floors.len() == 2
    printed = terminal(opened)
    assert all(f"two lists about one picture {100 * floor:.1f}%" in printed for floor in floors), printed
