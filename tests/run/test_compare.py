"""Two runs compared cell by cell, from their estimates."""

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from facevalue.errors import DataError, RunError
from facevalue.measures.estimates import schema
from facevalue.run.compare import compare_estimates, compare_runs, differences
from facevalue.run.stored import StoredRun
from facevalue.studies.vignette.measures import LABELS


def estimates(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Rows of the table of estimates; what is not said is null."""
    common: dict[str, Any] = {
        "study": "vignette",
        "measure": "selection_frequency",
        "model": "m",
        "unit": "%",
        "contrast": "identity",
    }
    common |= {"paradigm": "decision", "dimension": "race", "se": 2.0, "n": 100, "clusters": 20}
    return pl.DataFrame([common | row for row in rows], schema=schema(LABELS), strict=False)


def by_activity(*values: float, **more: Any) -> list[dict[str, Any]]:
    """Two identities and as many activities as fit."""
    return [
        {"identity": ("black", "asian")[k % 2], "activity": f"a{k // 2}", "value": value, **more}
        for k, value in enumerate(values)
    ]


def test_the_second_minus_the_first_over_all_and_by_activity() -> None:
    found = compare_estimates(estimates(by_activity(40, 60, 30, 70)), estimates(by_activity(50, 50, 30, 70)))
    assert found.matched.cells["delta"].to_list() == [10, -10, 0, 0]
    assert found.overall["value"].to_list() == pytest.approx([0, 5, 50**0.5, 10])
    assert found.overall["clusters"].to_list() == [2] * 4
    table = found.by_activity.filter(pl.col("statistic") == "mean_absolute_error")
    assert table.select("paradigm", "activity", "value").rows() == [("decision", "a0", 10.0), ("decision", "a1", 0.0)]
    assert (found.overall["floor"][1:] > 0).all()


def test_nothing_goes_beyond_100_points() -> None:
    first = by_activity(0, 100, 0, 100, se=0.0, clusters=2)
    second = by_activity(100, 0, 100, 0, se=0.0, clusters=2)
    found = compare_estimates(estimates(first), estimates(second))
    for table in (found.overall, found.by_activity, found.matched.cells):
        numbers = table.select(pl.col("^(value|delta|low|high|floor|floor_high)$"))
        assert all(x <= 100 for x in numbers.select(pl.all().abs().max()).row(0) if x is not None)


def test_cells_are_as_fine_as_both_runs_have_them() -> None:
    coarse: list[dict[str, Any]] = [{"identity": who, "value": 50.0} for who in ("black", "asian")]
    gendered = [row | {"gender": "female"} for row in coarse]
    questions = [row | {"question": "ability", "trait": "ability"} for row in coarse]
    every = estimates(coarse + gendered + questions + by_activity(40, 60))
    assert compare_estimates(every, every).matched.cells["activity"].to_list() == ["a0", "a0"]
    plain = compare_estimates(every, estimates(coarse + gendered + questions)).matched.cells
    assert plain["gender"].to_list() == ["female", "female"]
    least = compare_estimates(every, estimates(coarse + questions)).matched.cells
    assert least.select("gender", "activity", "question").null_count().row(0) == (2, 2, 2)


def test_cells_by_gender_and_activity_are_the_papers_rows() -> None:
    both = [row for gender in ("male", "female") for row in by_activity(40, 60, 20, 80, gender=gender)]
    found = compare_estimates(estimates(both + by_activity(40, 60)), estimates(both + by_activity(40, 60)))
    assert found.matched.cells.height == 8
    assert found.overall["clusters"].to_list() == [4] * 4


def test_other_measures_and_whole_dimensions_are_no_cells() -> None:
    other: list[dict[str, Any]] = [{"measure": "spread", "identity": "black", "value": 3.0}, {"value": 50.0}]
    table = estimates(by_activity(40, 60) + other)
    assert compare_estimates(table, table).matched.cells.height == 2


def test_cells_and_paradigms_of_one_run_only_are_named() -> None:
    more = by_activity(55, 45, paradigm="perception", question="struggle")
    found = compare_estimates(estimates(by_activity(40, 60, 30, 70) + more), estimates(by_activity(40, 60)))
    assert found.matched.cells.height == 2
    assert found.matched.only_first.select("paradigm", "identity", "activity").rows() == [
        ("decision", "black", "a1"),
        ("decision", "asian", "a1"),
        ("perception", "black", "a0"),
        ("perception", "asian", "a0"),
    ]
    assert found.matched.only_second.height == 0


def test_nothing_in_common_is_an_error_that_shows_a_cell_of_each() -> None:
    with pytest.raises(DataError, match=r"no cell in common: dimension race.*in the first, dimension age"):
        compare_estimates(estimates(by_activity(40, 60)), estimates(by_activity(40, 60, dimension="age")))


def test_q_is_adjusted_within_a_paradigm() -> None:
    rng = np.random.default_rng(0)
    rows = by_activity(*rng.uniform(30, 70, 8)) + by_activity(
        *rng.uniform(30, 70, 8), paradigm="perception", question="x"
    )
    both = estimates(rows)
    moved = both.with_columns(
        value=pl.when(pl.col("paradigm") == "decision").then(pl.col("value") + 30).otherwise("value")
    )
    cells = compare_estimates(both, moved).matched.cells
    assert (cells.filter(pl.col("paradigm") == "decision")["q"] < 0.001).all()
    assert cells.filter(pl.col("paradigm") == "perception")["q"].to_list() == [1.0] * 8


def test_json_has_everything() -> None:
    found = compare_estimates(estimates(by_activity(40, 60)), estimates(by_activity(45, 55)), notes=["x"]).json()
    assert found["cells_matched"] == len(found["cells"]) == 2
    assert found["overall"][0]["statistic"] == "mean_signed_delta"
    assert found["notes"] == ["x"]


@dataclass(frozen=True)
class Facts:
    """What a comparison reads of run.toml."""

    sample: int | None = None
    seed: int = 0


def run(
    folder: str, study: str = "vignette", measure: str = "selection_frequency", model: str = "m", **options: Any
) -> Any:
    """A run without answers."""
    declared = SimpleNamespace(
        name=study, compared=None, measures=(SimpleNamespace(name=measure),), options=options, version=1
    )
    made = SimpleNamespace(folder=Path(folder), study=declared, model=model, facts=Facts())
    return cast(StoredRun, made)


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (run("a"), run("a"), "compared with itself"),
        (run("a"), run("b", "stylisticbias"), "a is a run of vignette, b one of stylisticbias"),
        (run("a", measure="sbs"), run("b", measure="sbs"), "no selection frequencies"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(first: StoredRun, second: StoredRun, says: str) -> None:
    with pytest.raises(RunError, match=says):
        compare_runs(first, second)


def test_what_differs_besides_the_pictures_is_said() -> None:
    first, second = run("a", pata="list.txt"), run("b", model="n", pata="", seeds=["1"])
    second.facts = replace(second.facts, sample=500)
    models, settings = differences(first, second)
    assert "m and n" in models
    assert settings == "Settings that differ: pata, sample, seeds."
    assert differences(first, run("b", pata="list.txt")) == ()
