"""The committed tables are of all studies, made by the code that there is, and mark what their intervals exclude."""

from pathlib import Path

import polars as pl
import pytest

from facevalue.calibration.comparisons import PAIRS
from facevalue.calibration.families import by_family, compared_alike, detected, page
from facevalue.calibration.planted import PlantedCondition
from facevalue.calibration.promises import COVERED, DETECTED, MOST_FALSE
from facevalue.calibration.runner import EFFECTS, HARD, NOTHING, level_audits
from facevalue.studies.registry import PUBLISHED

DOCS = Path(__file__).parents[2] / "docs"
ENDINGS = ("", "-conditions", "-detectable", "-comparisons", "-made")
TABLES = {ending: pl.read_csv(DOCS / f"calibration-power{ending}.csv") for ending in ENDINGS}
FAMILIES, CONDITIONS, DETECTABLE, COMPARISONS, MADE = TABLES.values()
INTERVALS = {
    "": ("false", "coverage", "coverage_effects", "beside"), "-conditions": ("page", "page_without_unless", "coverage"),
    "-detectable": ("found", "equivalent"), "-comparisons": ("any", "coverage"),
}  # fmt: skip
OWN = ("caption-assistant", "hiring-screen")
FACTS = ["study", "size", "repetitions"]


def marked(table: pl.DataFrame, mark: str) -> pl.Series:
    return table["defect"].fill_null("").str.contains(mark, literal=True)


def beyond(table: pl.DataFrame, columns: tuple[str, ...]) -> pl.Series:
    """Whether an interval lies beyond what is promised of coverage; four decimals are written."""
    low, high = COVERED
    out = [(pl.col(f"{one}_high") < low - 1e-4) | (pl.col(f"{one}_low") > high + 1e-4) for one in columns]
    return table.select(pl.any_horizontal(*(one.fill_null(value=False) for one in out))).to_series()


def test_all_studies_and_two_of_ones_own_stand_there_made_by_one_state_of_the_code() -> None:
    assert MADE["study"].sort().to_list() == sorted([*PUBLISHED, *OWN])
    assert MADE["made_by"].n_unique() == 1
    for table in (FAMILIES, CONDITIONS, DETECTABLE, COMPARISONS):
        assert set(table["study"]) == set(MADE["study"])
    assert FAMILIES.group_by("study").agg(pl.col("size").n_unique())["size"].to_list() == [3] * MADE.height


def test_repetitions_are_what_the_table_says_and_more_where_nothing_is_planted() -> None:
    many = dict(MADE.select("study", "repetitions").iter_rows())
    for study, repetitions in many.items():
        assert FAMILIES.filter(study=study)["repetitions"].unique().to_list() == [level_audits(repetitions)]
        others = CONDITIONS.filter(pl.col("study") == study, pl.col("condition") != NOTHING.name)
        assert others["repetitions"].unique().to_list() == [repetitions]
        for table in (DETECTABLE, COMPARISONS):
            assert table.filter(study=study)["repetitions"].unique().to_list() == [repetitions]


def test_every_condition_and_pair_of_models_is_there() -> None:
    wanted = sorted(one.name for one in (NOTHING, EFFECTS, *HARD))
    for part in CONDITIONS.partition_by("study"):
        assert part["condition"].unique().sort().to_list() == wanted
    for part in COMPARISONS.partition_by("study"):
        assert set(part["pair"]) <= {pair.name for pair in PAIRS}
        assert part.height >= len(PAIRS) - 1


def test_columns_are_those_that_the_code_makes() -> None:
    tested = {name: [0.0] for name in ("value", "low", "high", "true", "true_low", "true_high", "p", "q", "q_rival")}
    texts = {name: [""] for name in ("measure", "family", "verdict", "why")}
    rows = pl.DataFrame({"audit": [1], "row": [1], **tested, **texts})
    compared = pl.DataFrame({"audit": [1], "p": [0.5], "holds": [True], "any": [False], "mean": [False]})
    assert FAMILIES.columns == [*FACTS, *by_family(rows, rows).columns]
    assert CONDITIONS.columns == [*FACTS, *page(rows, PlantedCondition("")).keys()]
    assert DETECTABLE.columns == [*FACTS, *detected("", "", 1.0, None, rows).keys()]
    assert COMPARISONS.columns == [*FACTS, *compared_alike("", compared).keys()]


@pytest.mark.parametrize("ending", INTERVALS)
def test_intervals_hold_their_shares(ending: str) -> None:
    table = TABLES[ending]
    for name in INTERVALS[ending]:
        there = table.drop_nulls(name)
        inside = (there[f"{name}_low"] <= there[name]) & (there[name] <= there[f"{name}_high"])
        assert inside.all(), name
        assert there[name].is_between(0, 1).all(), name


def test_marks_are_what_the_intervals_exclude() -> None:
    assert (marked(FAMILIES, "false") == (FAMILIES["false_low"] > MOST_FALSE)).all()
    assert (marked(FAMILIES, "covers") == beyond(FAMILIES, ("coverage", "coverage_effects"))).all()
    short = (FAMILIES["ahead_high"] < 0).fill_null(value=False)
    assert not (marked(FAMILIES, "power") & ~short).any()
    assert (marked(COMPARISONS, "false") == (COMPARISONS["any_low"] > MOST_FALSE)).all()
    found = DETECTABLE.drop_nulls("found")
    low, high = DETECTED
    assert (marked(found, "finds less") == (found["found_high"] < low)).all()
    assert (marked(found, "finds more") == (found["found_low"] > high)).all()


def test_where_nothing_is_planted_level_and_coverage_agree() -> None:
    """No more intervals leave out what should be found than tests are below .05, but for methods that differ."""
    null = CONDITIONS.filter(condition=NOTHING.name).drop_nulls("coverage")
    assert (null["coverage"] + null["p_below"]).is_between(0.9, 1.1).all()
