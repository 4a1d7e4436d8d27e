"""Spreads of levels of which each unit has several."""

from zlib import crc32

import numpy as np
import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import FaceValueError
from tests.protocol.conftest import Reader

CITIES = ("Rome", "Oslo", "Lima", "Bonn")
ROWS = ",\n".join(f'  {{identity = "{n}", name = "n{n}", city = "{city}"}}' for n in range(16) for city in CITIES)
STUDY = f"""
name = "small"
[pictures]
kind = "none"
rows = [
{ROWS}
]
[prompt]
text = "Would you hire {{name}} from {{city}} as a {{job}}?"
[factor.job]
levels = ["cook", "judge"]
[answer]
kind = "rating"
low = 1
high = 7
[[estimand]]
statistic = "spread"
factor = "city"
by = ["job"]
"""


def spreads(read: Reader, apart: int, *, hushed: bool = False) -> pl.DataFrame:
    def rated(question: fv.Question) -> str:
        number = crc32(question.prompt.encode())
        if hushed and number % 6 == 0:
            return "I would rather not."
        return str(1 + number % 3 + apart * ("Oslo" in question.prompt))

    read(STUDY)
    opened = fv.run(read.folder / "small.toml", rated, read.folder / f"run-{apart}-{hushed}")
    return opened.estimates().filter(measure="spread_within").sort("job")


def test_one_level_apart_is_more_than_chance_gives(read: Reader) -> None:
    table = spreads(read, 4)
    assert table["job"].to_list() == ["cook", "judge"]
    assert table["dimension"].to_list() == ["city", "city"]
    np.testing.assert_allclose(table["value"].to_numpy(), 2.0, atol=0.4)  # sd of 0, 0, 0 and 4
    assert (table["p"] < 0.001).all()
    assert (table["value"] > table["floor_high"]).all()


def test_levels_that_are_alike_lie_no_farther_apart_than_chance(read: Reader) -> None:
    table = spreads(read, 0)
    assert (table["p"] > 0.01).all()
    assert table["low"].to_list() == [0.0 if p >= 0.05 else low for p, low in table.select("p", "low").iter_rows()]


def test_missing_answers_have_bounds(read: Reader) -> None:
    table = spreads(read, 2, hushed=True)
    assert (table["bound_low"] <= table["value"]).all()
    assert (table["bound_high"] > table["value"]).all()


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('by = ["job"]', 'by = ["job"]\nrank_test = true', "of which a unit has several levels, has no 'rank_test'"),
        ('by = ["job"]', 'by = ["jobs"]', "Unknown factor in a spread 'jobs'. Did you mean 'job'?"),
        ('factor = "city"', 'factor = "job"', "names a factor twice"),
        ('by = ["job"]', 'versus = "(alike)"', "A spread has no 'versus'"),
    ],
)  # fmt: skip
def test_each_mistake_is_one_sentence(before: str, after: str, says: str, read: Reader) -> None:
    with pytest.raises(FaceValueError) as error:
        read(STUDY.replace(before, after)).study()
    assert says in str(error.value)
