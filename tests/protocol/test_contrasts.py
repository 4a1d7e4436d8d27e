"""Contrasts of gaps: all pairs of levels, and each level against the mean of its unit's levels."""

from collections.abc import Callable
from itertools import combinations
from zlib import crc32

import numpy as np
import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import FaceValueError
from tests.protocol.conftest import Reader

CITIES = ("Rome", "Oslo", "Lima", "Bonn")
ROWS = ",\n".join(
    f'  {{identity = "{n}", name = "n{n}", city = "{city}", group = "{n % 2}"}}' for n in range(12) for city in CITIES
)
STUDY = f"""
name = "small"
[pictures]
kind = "none"
rows = [
{ROWS}
]
[prompt]
text = "Would you hire {{name}} from {{city}}?"
[answer]
kind = "rating"
low = 1
high = 7
[sampling]
seeds = [1, 2]
[[estimand]]
statistic = "gap"
factor = "city"
versus = "%s"
"""


def rated(question: fv.Question) -> str:
    return str(1 + crc32(question.prompt.encode()) % 7)


def mumbled(question: fv.Question) -> str:
    return "I would rather not." if crc32(question.prompt.encode()) % 5 == 0 else rated(question)


def gaps(read: Reader, versus: str, model: Callable[[fv.Question], str] = rated) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Estimates of the gaps by city, and the mean ratings of each person, a column for each city."""
    read(STUDY % versus)
    opened = fv.run(read.folder / "small.toml", model, read.folder / versus.strip("()").replace(" ", "-"))
    answers = opened.answers().with_columns(pl.col("identity", "city").cast(pl.String))
    means = answers.pivot("city", index="identity", values="rating", aggregate_function="mean").select(CITIES)
    measures = ["paired_gap", "gap_from_mean", "gap_from_alike"]
    return opened.estimates().filter(pl.col("measure").is_in(measures)).sort("city"), means


def test_all_pairs_of_levels_are_compared_within_units(read: Reader) -> None:
    table, means = gaps(read, "(each other)")
    pairs = set(zip(table["city"], table["contrast"], strict=True))
    assert pairs == {(level, other) for other, level in combinations(CITIES, 2)}
    for level, other, value in table.select("city", "contrast", "value").iter_rows():
        assert value == pytest.approx((means[level] - means[other]).mean())


def test_each_level_is_compared_with_the_mean_of_its_units_levels(read: Reader) -> None:
    table, means = gaps(read, "(mean)")
    assert set(table["measure"]) == {"gap_from_mean"}
    assert set(table["contrast"]) == {"(mean)"}
    less_mean = means.to_numpy() - means.to_numpy().mean(axis=1, keepdims=True)
    expected = dict(zip(CITIES, less_mean.mean(axis=0), strict=True))
    assert dict(table.select("city", "value").iter_rows()) == pytest.approx(expected)


def test_with_missing_answers_the_mean_is_that_of_the_levels_that_a_unit_has(read: Reader) -> None:
    table, means = gaps(read, "(mean)", mumbled)
    expected = {city: (means[city] - means.select(CITIES).mean_horizontal()).mean() for city in CITIES}
    assert dict(table.select("city", "value").iter_rows()) == pytest.approx(expected)
    assert (table["bound_high"] > table["bound_low"]).all()


def favouring_oslo(question: fv.Question) -> str:
    return str(1 + crc32(question.prompt.encode()) % 4 + 3 * ("Oslo" in question.prompt))


def hushed_oslo(question: fv.Question) -> str:
    return "I would rather not." if crc32(question.prompt.encode()) % 5 == 0 else favouring_oslo(question)


def test_one_level_apart_is_found_and_does_not_move_the_others(read: Reader) -> None:
    table, means = gaps(read, "(alike)", favouring_oslo)
    assert set(table["contrast"]) == {"(alike)"}
    assert set(table["measure"]) == {"gap_from_alike"}
    assert table.filter(pl.col("q") < 0.05)["city"].to_list() == ["Oslo"]
    others = means.select(pl.exclude("Oslo")).to_numpy().mean()
    assert table.filter(city="Oslo")["value"].item() == pytest.approx(means["Oslo"].mean() - others, abs=0.3)
    of_mean = gaps(read, "(mean)", favouring_oslo)[0]
    of_others = [np.abs(rows.filter(pl.col("city") != "Oslo")["value"].to_numpy()) for rows in (table, of_mean)]
    assert of_others[0].max() < of_others[1].min()


def test_missing_answers_widen_the_bounds_of_alike_levels(read: Reader) -> None:
    table = gaps(read, "(alike)", hushed_oslo)[0]
    assert (table["bound_low"] <= table["value"]).all()
    assert (table["value"] <= table["bound_high"]).all()
    assert (table["bound_high"] - table["bound_low"] > 0.5).all()


def test_alike_levels_are_a_family_in_each_cell(read: Reader) -> None:
    read(STUDY.replace("[[estimand]]", '[factor.job]\nlevels = ["cook", "judge"]\n[[estimand]]\nby = ["job"]').replace(
        "from {city}", "from {city} as a {job}") % "(alike)")  # fmt: skip
    table = fv.run(read.folder / "small.toml", favouring_oslo, read.folder / "jobs").estimates()
    found = table.filter(measure="gap_from_alike")
    assert set(found["family"]) == {"gaps of city by job (cook)", "gaps of city by job (judge)"}
    assert set(found.filter(pl.col("q") < 0.05)["city"]) == {"Oslo"}


@pytest.mark.parametrize(
    ("versus", "of", "says"),
    [
        ("(allike)", "city", "Unknown level of city '(allike)'. Did you mean '(alike)'?"),
        ("(alike)", "group", "A unit has one level of 'group', so that it has none that are alike: compare with"),
        ('(alike)"\nconfirmatory = "true', "city", "'confirmatory' is true or false, not 'true'."),
        ('(alike)"\nwelch = true\nmeasure = "x', "city", "A gap versus (alike) has no 'welch': it is between scores"),
        (
            '(alike)"\nof_shifts = true\nmeasure = "x',
            "city",
            "A gap versus (alike) has no 'of_shifts': it is between scores",
        ),
        ('(alike)"\nconfirmatory = true\nmeasure = "x', "city", "A gap versus (alike) has no 'confirmatory'"),
        ("(means)", "city", "Unknown level of city '(means)'. Did you mean '(mean)' or"),
        ("(mean)", "group", "A unit has one level of 'group', so that there is no mean of its levels: compare with"),
    ],
)
def test_each_mistake_is_one_sentence(versus: str, of: str, says: str, read: Reader) -> None:
    with pytest.raises(FaceValueError) as error:
        read((STUDY % versus).replace('factor = "city"', f'factor = "{of}"')).study()
    assert says in str(error.value)


def test_more_pairs_than_a_page_can_show_are_refused(read: Reader) -> None:
    many = ",\n".join(f'  {{identity = "1", name = "n", city = "c{n}"}}' for n in range(200))
    with pytest.raises(FaceValueError, match="makes 19,900 estimates; 10,000 are the most"):
        read((STUDY % "(each other)").replace(ROWS, many)).study()
