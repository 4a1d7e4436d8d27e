"""The committed tables are of all studies, and say how many audits they rest on."""

from pathlib import Path

import polars as pl

from facevalue import studies
from facevalue.calibration.runner import EFFECTS, HARD, LEAST_POWER, NOTHING

DOCS = Path(__file__).parents[2] / "docs"
FAMILIES, CONDITIONS, DETECTABLE = (
    pl.read_csv(DOCS / f"calibration-power{ending}.csv") for ending in ("", "-conditions", "-detectable")
)


def test_all_studies_and_one_of_ones_own_stand_in_three_sizes() -> None:
    for table in (FAMILIES, CONDITIONS, DETECTABLE):
        assert table["study"].unique().sort().to_list() == sorted([*studies.STUDIES, "hiring-screen"])
        assert (table["repetitions"] >= 1).all()
    assert FAMILIES.group_by("study").agg(pl.col("size").n_unique())["size"].to_list() == [3] * 6


def test_every_condition_is_there() -> None:
    wanted = sorted(one.name for one in (NOTHING, EFFECTS, *HARD))
    for part in CONDITIONS.partition_by("study"):
        assert part["condition"].unique().sort().to_list() == wanted


def test_families_that_find_too_little_are_marked() -> None:
    beyond = FAMILIES["beside"] - LEAST_POWER * FAMILIES["rival"]
    rows = FAMILIES.with_columns(beyond=beyond)
    clear = rows.filter(pl.col("beyond").abs() > 0.001)  # four decimals are written
    assert ((clear["beyond"] < 0) == (clear["defect"].fill_null("") == "power")).all()
