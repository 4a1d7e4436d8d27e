"""The committed tables are of all studies, made by the code that there is, and mark what their intervals exclude."""

from pathlib import Path

import polars as pl
import pytest

from facevalue.calibration.audits import PAIRS
from facevalue.calibration.families import (
    COVERED,
    DETECTED,
    MOST_FALSE,
    NOT_TESTED,
    by_family,
    compared_alike,
    detection_share,
    page,
)
from facevalue.calibration.planted_answers import PlantedCondition
from facevalue.calibration.runner import ALIKE, ASSUMED_EVEN, EFFECTS, HARD, NOTHING, level_audits
from facevalue.studies.registry import PUBLISHED

ROOT = Path(__file__).parents[2]
RESULTS, DESIGNS = ROOT / "docs/results", ROOT / "benchmarks" / "kinds"
ENDINGS = ("", "-conditions", "-detectable", "-comparisons", "-made")
Tables = dict[str, pl.DataFrame]
POWER, KINDS = (
    {ending: pl.read_csv(RESULTS / f"calibration-{name}{ending}.csv", infer_schema_length=None) for ending in ENDINGS}
    for name in ("power", "kinds")
)
BOTH = pytest.mark.parametrize("tables", [POWER, KINDS], ids=["power", "kinds"])
INTERVALS = {
    "": ("false", "coverage", "coverage_effects", "beside"), "-conditions": ("page", "page_without_unless", "coverage"),
    "-detectable": ("found", "equivalent"), "-comparisons": ("any", "coverage"),
}  # fmt: skip
# The tables of all studies take hours, and were made before these: they may lack these alone.
APART = {"groups of unlike size and variance", "the model wavers, pictures alike"}
WITHHELD = "40% withheld by group"
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
    families, _, detectable, _, made = POWER.values()
    assert made["study"].sort().to_list() == sorted([*PUBLISHED, *OWN])
    assert set(detectable["study"]) == set(made["study"])
    assert families.group_by("study").agg(pl.col("size").n_unique())["size"].to_list() == [3] * made.height


def test_every_kind_of_take_stands_there() -> None:
    families, _, _, _, made = KINDS.values()
    assert made["study"].sort().to_list() == sorted(path.stem for path in DESIGNS.glob("*.toml"))
    kinds = (
        *("shift", "lean", "gap", "spread", "mean", "flip", "flip_floor", "range", "range_q90", "spread_within"),
        *("gap_from_mean", "tally", "moved_share", "similarity.list", "similarity_lost.list", "similarity_within.list"),
        *("preference_between", "shift.tone_warm", "shift.toxicity", "shift.overall", "mean.right", "lean.decided"),
    )
    assert set(kinds) <= set(families["measure"])
    described = families.filter(family=NOT_TESTED)
    assert described["false"].null_count() == described["power"].null_count() == described.height
    assert families.filter(pl.col("family") != NOT_TESTED)["false"].null_count() == 0
    assert families["coverage"].null_count() == 0


@BOTH
def test_they_are_of_all_studies_and_of_one_state_of_the_code(tables: Tables) -> None:
    families, conditions, detectable, comparisons, made = tables.values()
    assert made["made_by"].n_unique() == 1
    for table in (families, conditions, comparisons):
        assert set(table["study"]) == set(made["study"])
    assert set(detectable["study"]) <= set(made["study"])


@BOTH
def test_repetitions_are_what_the_table_says_and_more_where_nothing_is_planted(tables: Tables) -> None:
    families, conditions, detectable, comparisons, made = tables.values()
    many = dict(made.select("study", "repetitions").iter_rows())
    for study, repetitions in many.items():
        assert families.filter(study=study)["repetitions"].unique().to_list() == [level_audits(repetitions)]
        others = conditions.filter(pl.col("study") == study, pl.col("condition") != NOTHING.name)
        assert others["repetitions"].unique().to_list() == [repetitions]
        for table in (detectable, comparisons):
            assert set(table.filter(study=study)["repetitions"]) <= {repetitions}


@BOTH
def test_every_condition_and_pair_of_models_is_there(tables: Tables) -> None:
    wanted = sorted({one.name for one in (NOTHING, EFFECTS, *HARD)} - APART)
    for part in tables["-conditions"].partition_by("study"):
        assert sorted(set(part["condition"]) - APART) == wanted
    for part in tables["-comparisons"].partition_by("study"):
        assert set(part["pair"]) <= {pair.name for pair in PAIRS}
        assert part.height >= len(PAIRS) - 1


def test_conditions_that_are_made_apart_stand_in_tables_of_their_own() -> None:
    apart = pl.read_csv(RESULTS / "calibration-conditions.csv")
    assert set(apart["condition"]) == {NOTHING.name, WITHHELD, *APART}
    assert apart["page"].null_count() == apart["coverage"].null_count() == 0
    assert {one.name for one in HARD} >= {WITHHELD, *APART}


def test_false_findings_of_conditions_that_are_made_apart_are_few() -> None:
    apart = pl.read_csv(RESULTS / "calibration-conditions.csv")
    assert (apart["page_without_unless"] <= MOST_FALSE).all()
    assert (apart.filter(pl.col("condition") != WITHHELD)["page"] <= MOST_FALSE).all()
    assert (apart["repetitions"] >= 200).all()


def test_a_plan_without_a_pilot_finds_what_it_says_of_any_number_of_replies() -> None:
    plans = pl.read_csv(RESULTS / "calibration-conditions-plans.csv")
    assert plans["study"].to_list() == ["replies-1", "replies-2", "groups", "replies-8"]
    assert set(plans["stated"]) == {ASSUMED_EVEN.name}
    assert plans["found"].is_between(*DETECTED).all()


def test_intervals_of_flips_hold_zero_where_pictures_are_alike() -> None:
    flips = pl.read_csv(RESULTS / "calibration-conditions-flips.csv")
    assert flips["condition"].to_list() == [ALIKE.name, "the model wavers, pictures alike"]
    assert (flips["coverage_high"] >= COVERED[0]).all()
    assert (flips["coverage"] > 0.9).all()


@BOTH
def test_columns_are_those_that_the_code_makes(tables: Tables) -> None:
    families, conditions, detectable, comparisons, _ = tables.values()
    tested = {name: [0.0] for name in ("value", "low", "high", "true", "true_low", "true_high", "p", "q", "q_rival")}
    texts = {name: [""] for name in ("measure", "score", "family", "verdict", "why")}
    rows = pl.DataFrame({"audit": [1], "row": [1], **tested, **texts})
    compared = pl.DataFrame({"audit": [1], "p": [0.5], "holds": [True], "any": [False], "mean": [False]})
    assert families.columns == [*FACTS, *by_family(rows, rows).columns]
    assert conditions.columns == [*FACTS, *page(rows, PlantedCondition("")).keys()]
    assert detectable.columns == [*FACTS, *detection_share("", "", 1.0, None, rows).keys()]
    assert comparisons.columns == [*FACTS, *compared_alike("", compared).keys()]


@BOTH
@pytest.mark.parametrize("ending", INTERVALS)
def test_intervals_hold_their_shares(ending: str, tables: Tables) -> None:
    table = tables[ending]
    for name in INTERVALS[ending]:
        there = table.drop_nulls(name)
        inside = (there[f"{name}_low"] <= there[name]) & (there[name] <= there[f"{name}_high"])
        assert inside.all(), name
        assert there[name].is_between(0, 1).all(), name


@BOTH
def test_marks_are_what_the_intervals_exclude(tables: Tables) -> None:
    families, _, detectable, comparisons, _ = tables.values()
    assert (marked(families, "false") == (families["false_low"] > MOST_FALSE).fill_null(value=False)).all()
    assert (marked(families, "covers") == beyond(families, ("coverage", "coverage_effects"))).all()
    short = (families["ahead_high"] < 0).fill_null(value=False)
    assert not (marked(families, "power") & ~short).any()
    assert (marked(comparisons, "false") == (comparisons["any_low"] > MOST_FALSE)).all()
    found = detectable.drop_nulls("found")
    low, high = DETECTED
    assert (marked(found, "finds less") == (found["found_high"] < low)).all()
    assert (marked(found, "finds more") == (found["found_low"] > high)).all()


def test_where_nothing_is_planted_level_and_coverage_agree() -> None:
    """No more intervals leave out what should be found than tests are below .05, but for methods that differ."""
    null = POWER["-conditions"].filter(condition=NOTHING.name).drop_nulls("coverage")
    assert (null["coverage"] + null["p_below"]).is_between(0.9, 1.1).all()
