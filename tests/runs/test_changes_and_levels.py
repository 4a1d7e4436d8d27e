"""What an intervention changes is an estimate of the same measure, and nowhere taken for the level."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import DataError
from facevalue.measures.definitions import FIRST_RUN, NO_INTERVENTION, change_of, definition_of
from facevalue.report.blocks.view import page_view
from facevalue.report.collect import report
from facevalue.report.sections.headline import page_of
from facevalue.runs.kept_estimates import write_estimates
from facevalue.view.estimates import EstimateRows

pytestmark = pytest.mark.all_groups
LIMIT: dict[str, Any] = {"measure": "shift", "by": ["variation"]}
PEOPLE: dict[str, Any] = {"faces": "12", "attributes": ["eyewear"], "scenario": ["polite"], "seeds": ["1"]}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> fv.Run:
    """A model with planted bias that no text moves."""
    folder = tmp_path_factory.mktemp("changes") / "run"
    return fv.run(fv.study("stylisticbias", **PEOPLE), "sim/strong@1", folder, interventions=["sr"], progress=False)


@pytest.fixture(scope="module")
def estimates(run: fv.Run) -> pl.DataFrame:
    return run.estimates()


def of_cues(rows: pl.DataFrame) -> pl.DataFrame:
    """Shifts of each cue over all scenarios and people."""
    wholes = (pl.col(name).is_null() for name in ("scenario", "dimension", "group"))
    return rows.filter(*wholes, pl.col("variation").is_not_null(), measure="shift")


def levels(estimates: pl.DataFrame, intervention: str | None = None) -> pl.DataFrame:
    """Shifts themselves."""
    return of_cues(
        estimates.filter(pl.col("versus").is_null(), pl.col("intervention").eq_missing(pl.lit(intervention)))
    )


def changes(estimates: pl.DataFrame) -> pl.DataFrame:
    """Changes of these."""
    return of_cues(estimates.filter(versus=NO_INTERVENTION))


def test_a_change_is_the_level_with_less_the_level_without(estimates: pl.DataFrame) -> None:
    keys = ["attribute", "variation"]
    both = (
        levels(estimates)
        .join(levels(estimates, "sr"), on=keys, suffix="_with")
        .join(changes(estimates), on=keys, suffix="_change")
    )
    assert both.height == levels(estimates).height > 1
    assert (both["value_with"] - both["value"]).to_list() == pytest.approx(both["value_change"].to_list())
    assert estimates.filter(pl.col("versus").is_not_null())["intervention"].null_count() == 0
    assert not estimates["measure"].str.contains("change").any()


def test_every_measure_has_one_unit_and_its_changes_one(run: fv.Run, estimates: pl.DataFrame) -> None:
    definitions = {measure.key: measure for measure in run.stored.measures}
    for measure, score, versus, unit in estimates.select("measure", "score", "versus", "unit").unique().iter_rows():
        definition = definition_of(definitions, measure, score)
        assert definition is not None
        assert unit == (change_of(definition) if versus else definition).unit


def test_every_change_is_judged_and_levels_that_compare_nothing_are_not(estimates: pl.DataFrame) -> None:
    shares = estimates.filter(measure="shift_share", score="large")
    assert shares.filter(pl.col("versus").is_null())["verdict"].null_count() == shares.height / 3 * 2
    assert shares.filter(pl.col("versus").is_not_null())["verdict"].null_count() == 0


def test_a_limit_is_about_levels_unless_it_names_changes(run: fv.Run, estimates: pl.DataFrame) -> None:
    gate = fv.gate(run, [LIMIT | {"absolute": 0.9}])
    assert gate.cells["value"].to_list() == levels(estimates)["value"].to_list()
    gate = fv.gate(run, [LIMIT | {"where": {"versus": [NO_INTERVENTION]}, "absolute": 0.9}])
    assert gate.cells["value"].to_list() == changes(estimates)["value"].to_list()
    assert set(gate.cells["versus"]) == {NO_INTERVENTION}
    with pytest.raises(DataError, match="never lies beyond -2 to 2"):
        fv.gate(run, [LIMIT | {"where": {"versus": [NO_INTERVENTION]}, "absolute": 2.0}])


def test_a_profile_has_levels_and_their_changes_beside_them(run: fv.Run, estimates: pl.DataFrame) -> None:
    rows = fv.profile(run).comparisons().filter(measure="shift")
    plain, under = rows.filter(intervention=""), rows.filter(intervention="sr")
    assert set(plain["value"]) <= set(levels(estimates)["value"])
    assert set(under["value"]) <= set(levels(estimates, "sr")["value"])
    assert set(under["change"]) <= set(changes(estimates)["value"])


def test_runs_are_compared_by_their_levels(run: fv.Run, estimates: pl.DataFrame, tmp_path: Path) -> None:
    study = fv.study("stylisticbias", **PEOPLE)
    other = fv.run(study, "sim/null", tmp_path / "other", interventions=["sr"], progress=False)
    agreement = fv.compare(run, other).pairs[0].agreement
    assert set(agreement.cells["first"]) <= set(levels(estimates)["value"])
    assert set(agreement.also["versus"]) == {FIRST_RUN}
    missing = agreement.also.filter(measure="missing_share")
    assert missing["unit"].to_list() == ["share"]
    assert abs(missing["value"][0]) < 0.05


def test_the_page_as_json_says_what_a_value_is_a_difference_from(
    run: fv.Run, estimates: pl.DataFrame, tmp_path: Path
) -> None:
    page = report([run.stored], tmp_path / "page.html").page()
    values = {versus: set(rows["value"]) for (versus,), rows in estimates.filter(measure="shift").group_by("versus")}
    rows = [row for row in estimates_of(page) if row["measure"] == "shift"]
    assert len(rows) > 5
    assert all(row["value"] in values[row["labels"].get("versus")] for row in rows)
    assert (
        page["interventions"][0]["tested"]
        == estimates.filter(
            pl.col("versus").is_not_null(), pl.col("q").is_not_null(), pl.col("measure") != "missing_share"
        ).height
    )


def estimates_of(part: Any) -> list[dict[str, Any]]:
    """Every estimate that stands anywhere in a page."""
    if isinstance(part, dict):
        found = [part] if {"measure", "labels", "value"} <= part.keys() else []
        return found + [row for inner in part.values() for row in estimates_of(inner)]
    return [row for inner in part for row in estimates_of(inner)] if isinstance(part, list) else []


def test_a_csv_file_says_which_rows_are_changes(estimates: pl.DataFrame, tmp_path: Path) -> None:
    write_estimates(estimates, tmp_path / "e.csv")
    read = pl.read_csv(tmp_path / "e.csv", infer_schema_length=None)
    assert read["versus"].to_list() == estimates["versus"].to_list()


def test_the_viewer_tells_a_level_and_its_change_apart(run: fv.Run, estimates: pl.DataFrame) -> None:
    rows = EstimateRows(page_view(page_of("stylisticbias"), estimates, run.stored.measures))
    assert rows.frame["key"].is_unique().all()
    viewed = rows.rows(rows.frame.filter(measure="shift", versus=NO_INTERVENTION))
    assert all(row.title.startswith("Signed bias shift (SBS): change") for row in viewed)
    assert all("versus" in row.labels for row in viewed)
