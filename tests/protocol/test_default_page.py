"""Pages of studies that declare none: what their headline says."""

from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

import facevalue as fv
from facevalue.report import summary
from facevalue.report.sections.headline import page_of
from facevalue.types import Request, Response, Status
from tests.plain_model import PlainModel
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


HIRED = """
[pictures]
kind = "none"
rows = [
  {rows}
]
[prompt]
text = "Would you hire {{name}}?"
[answer]
kind = "yes-no"
[[estimand]]
statistic = "gap"
factor = "group"
{mean}
"""
MEAN = '[[estimand]]\nstatistic = "mean"\nby = ["group"]\n'


class OfAWord(PlainModel):
    """Says yes to one in four of the first group, and to three in four of the second."""

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        for request in requests:
            number = int(request.question.prompt.rpartition(" ")[2].rstrip("?"))
            says_yes = (number % 4 == 0) == ("first" in request.question.prompt)
            yield Response(request.trial, request.repeat, Status.OK, text="Yes" if says_yes else "No")


@pytest.mark.parametrize(("mean", "rates"), [(MEAN, " (75.0% against 25.0%; at least"), ("", " (at least")])
def test_a_difference_between_groups_is_told_with_both_rates_where_they_are_estimated(
    mean: str, rates: str, read: Reader
) -> None:
    listed = (f'{{name = "{group} {n}", group = "{group}"}},' for group in ("first", "second") for n in range(80))
    read(HIRED.format(rows="\n  ".join(listed), mean=mean), "hired.toml")
    run = fv.run(fv.study(str(read.folder / "hired.toml")), OfAWord(), read.folder / "run", progress=False)
    assert f"got the answer “yes” 50 points more often than first{rates}" in run.report().answer.lower()
