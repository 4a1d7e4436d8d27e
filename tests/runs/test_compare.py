"""Two runs compared cell by cell, from their estimates."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from facevalue.errors import DataError, RunError
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import estimate_schema
from facevalue.protocol.kept_answers import KeptAnswers
from facevalue.protocol.offers import CellComparison
from facevalue.protocol.study import Study
from facevalue.runs.comparisons.cells import RunAgreement, comparable
from facevalue.runs.comparisons.comparison import differing_settings, models_note
from facevalue.runs.comparisons.models import _share_units, check_comparable
from facevalue.runs.stored_run import StoredRun
from facevalue.stimuli.base import Kind
from facevalue.studies.vignette import COMPARED
from facevalue.studies.vignette.measures import LABELS
from facevalue.studies.vignette.measures import MEASURES as VIGNETTE
from facevalue.types import Sampling
from tests.runs.left_out import compared_tables, declared

pytestmark = pytest.mark.all_groups

STUDY = declared("vignette", VIGNETTE, COMPARED, LABELS)


def compared(first: pl.DataFrame, second: pl.DataFrame, margin: float | None = None) -> RunAgreement:
    """Two tables of VIGNETTE's estimates, compared as it declares."""
    return compared_tables(STUDY, first, second, margin)


def estimates(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Rows of the table of estimates; what is not said is null."""
    common: dict[str, Any] = {
        "study": "vignette",
        "measure": "selection_frequency",
        "model": "m",
        "unit": "%",
        "contrast": "identity",
    }
    common |= {"paradigm": "decision", "dimension": "race", "se": 2.0, "n": 100, "clusters": 20, "low": 0.0}
    return pl.DataFrame([common | row for row in rows], schema=estimate_schema(LABELS), strict=False)


def by_activity(*values: float, **more: Any) -> list[dict[str, Any]]:
    """Two identities and as many activities as fit."""
    return [
        {"identity": ("black", "asian")[k % 2], "activity": f"a{k // 2}", "value": value, **more}
        for k, value in enumerate(values)
    ]


def test_the_second_minus_the_first_over_all_and_by_activity() -> None:
    found = compared(estimates(by_activity(40, 60, 30, 70)), estimates(by_activity(50, 50, 30, 70)))
    assert found.cells["delta"].to_list() == [10, -10, 0, 0]
    assert found.overall["value"].to_list() == pytest.approx([0, 5, 50**0.5, 10])
    assert found.overall["clusters"].to_list() == [20] * 4
    table = found.beside.filter(pl.col("statistic") == "mean_absolute_error")
    assert table.select("paradigm", "activity", "value").rows() == [("decision", "a0", 10.0), ("decision", "a1", 0.0)]
    assert (found.overall["floor"][1:] > 0).all()


def test_nothing_goes_beyond_100_points() -> None:
    first = by_activity(0, 100, 0, 100, se=0.0, clusters=2)
    second = by_activity(100, 0, 100, 0, se=0.0, clusters=2)
    found = compared(estimates(first), estimates(second))
    for table in (found.overall, found.beside, found.cells):
        numbers = table.select(pl.col("^(value|delta|low|high|floor|floor_high)$"))
        assert all(x <= 100 for x in numbers.select(pl.all().abs().max()).row(0) if x is not None)


def test_cells_are_as_fine_as_both_runs_have_them() -> None:
    coarse: list[dict[str, Any]] = [{"identity": who, "value": 50.0} for who in ("black", "asian")]
    gendered = [row | {"gender": "female"} for row in coarse]
    questions = [row | {"question": "ability", "trait": "ability"} for row in coarse]
    every = estimates(coarse + gendered + questions + by_activity(40, 60))
    assert compared(every, every).cells["activity"].to_list() == ["a0", "a0"]
    plain = compared(every, estimates(coarse + gendered + questions)).cells
    assert plain["gender"].to_list() == ["female", "female"]
    least = compared(every, estimates(coarse + questions)).cells
    assert least.select("gender", "activity", "question").null_count().row(0) == (2, 2, 2)


def test_cells_by_gender_and_activity_are_the_papers_rows() -> None:
    both = [row for gender in ("male", "female") for row in by_activity(40, 60, 20, 80, gender=gender)]
    found = compared(estimates(both + by_activity(40, 60)), estimates(both + by_activity(40, 60)))
    assert found.cells.height == 8
    assert found.overall["cells"].to_list() == [8] * 4


def test_other_measures_and_whole_dimensions_are_no_cells() -> None:
    other: list[dict[str, Any]] = [{"measure": "spread", "identity": "black", "value": 3.0}, {"value": 50.0}]
    table = estimates(by_activity(40, 60) + other)
    assert compared(table, table).cells.height == 2


def test_cells_and_paradigms_of_one_run_only_are_named() -> None:
    more = by_activity(55, 45, paradigm="perception", question="struggle")
    found = compared(estimates(by_activity(40, 60, 30, 70) + more), estimates(by_activity(40, 60)))
    assert found.cells.height == 2
    assert found.only_first.select("paradigm", "identity", "activity").rows() == [
        ("decision", "black", "a1"),
        ("decision", "asian", "a1"),
        ("perception", "black", "a0"),
        ("perception", "asian", "a0"),
    ]
    assert found.only_second.height == 0


def test_nothing_in_common_is_an_error_that_shows_a_cell_of_each() -> None:
    with pytest.raises(DataError, match=r"no cell in common: dimension race.*in the first, dimension age"):
        compared(estimates(by_activity(40, 60)), estimates(by_activity(40, 60, dimension="age")))


def test_q_is_adjusted_within_a_paradigm() -> None:
    rng = np.random.default_rng(0)
    rows = by_activity(*rng.uniform(30, 70, 8)) + by_activity(
        *rng.uniform(30, 70, 8), paradigm="perception", question="x"
    )
    both = estimates(rows)
    moved = both.with_columns(
        value=pl.when(pl.col("paradigm") == "decision").then(pl.col("value") + 30).otherwise("value")
    )
    cells = compared(both, moved).cells
    assert (cells.filter(pl.col("paradigm") == "decision")["q"] < 0.001).all()
    assert cells.filter(pl.col("paradigm") == "perception")["q"].to_list() == [1.0] * 8


def test_json_has_everything() -> None:
    found = compared(estimates(by_activity(40, 60)), estimates(by_activity(45, 55))).json()
    assert found["cells_matched"] == len(found["cells"]) == 2
    assert found["overall"][0]["statistic"] == "mean_signed_delta"
    assert found["units"] == {"unit": "picture", "shared": 20, "only_first": 0, "only_second": 0, "paired": True}


@dataclass(frozen=True)
class Facts:
    """What a comparison reads of run.toml."""

    model: str
    sample: int | None = None
    seed: int = 0
    exact: bool = False
    sampling: Sampling = field(default_factory=lambda: Sampling(0.2))
    seeds: tuple[int, ...] = (1,)
    model_settings: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


def run(
    folder: str, study: str = "vignette", measure: str = "selection_frequency", model: str = "m", **options: Any
) -> Any:
    """A run without answers."""
    estimates = SimpleNamespace(measures=(SimpleNamespace(name=measure),))
    listed = pl.DataFrame({"path": ["a.png"]})
    declared = SimpleNamespace(
        name=study, estimates=estimates, options=options, version=1, manifest=listed,
        source=SimpleNamespace(kind=Kind.UNSTATED),
    )  # fmt: skip
    made = SimpleNamespace(folder=Path(folder), place=folder, study=declared, facts=Facts(model))
    return cast(StoredRun, made)


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (run("a"), run("a"), "compared with itself"),
        (
            run("a"),
            run("b", "stylisticbias"),
            "two runs or more of one study; there is one of vignette, one of stylisticbias",
        ),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(first: StoredRun, second: StoredRun, says: str) -> None:
    with pytest.raises(RunError, match=says):
        check_comparable((first, second))


def test_what_differs_besides_the_pictures_is_said() -> None:
    first, second = run("a", roles="list.txt"), run("b", model="n", roles="", seeds=["1"])
    second.facts = replace(second.facts, sample=500, sampling=Sampling(0.7))
    assert "m and n" in models_note(first, second)[0]
    assert models_note(first, first) == ()
    assert differing_settings((first, second)) == {
        "model": ["m", "n"], "roles": ["list.txt", ""], "sample": [None, 500], "temperature": [0.2, 0.7],
        "seeds": [[1], ["1"]],
    }  # fmt: skip
    assert differing_settings((first, run("b", roles="list.txt"))) == {}


def test_of_a_model_its_name_version_and_sampling_are_listed_and_nothing_planted() -> None:
    first, second = run("a", model="sim/default"), run("b", model="sim/strong")
    for of_run, effect in ((first, 0.6), (second, 1.5)):
        of_run.facts = replace(of_run.facts, model_settings={"effect": effect})
    assert differing_settings((first, second)) == {"model": ["sim/default", "sim/strong"]}
    for of_run, weights in ((first, "ab12"), (second, "cd34")):
        of_run.facts = replace(of_run.facts, model=f"hf/{weights}", model_settings={"weights": weights})
    assert list(differing_settings((first, second))) == ["model", "model's weights"]


def test_where_the_same_pictures_lie_is_no_difference() -> None:
    first, second = (
        run(at, manifest=f"{at}/m.csv", root=f"/{at}", social=f"{at}/sets", exclude=f"{at}/checks") for at in "ab"
    )
    assert differing_settings((first, second)) == {}
    second.study.manifest = pl.DataFrame({"path": ["b.png"]})
    assert differing_settings((first, second))["manifest"] == ["a/m.csv", "b/m.csv"]


def measure(name: str, unit: str = "probability", **more: Any) -> Measure:
    return Measure(name, name, "", unit, "person", "FaceValue", **more)


def shifts(*values: float, se: float | None = 0.02, **more: Any) -> pl.DataFrame:
    """Shifts by cue, as any study may have them, and their mean over all."""
    common = {
        "study": "own",
        "model": "m",
        "measure": "shift",
        "unit": "probability",
        "n": 40,
        "clusters": 20,
        "low": 0.0,
    }
    rows = [{"cue": f"c{k}", "value": value, "family": "cues", "se": se} for k, value in enumerate(values)]
    rows.append({"value": sum(values) / len(values), "family": "overall", "se": se})
    return pl.DataFrame([common | row | more for row in rows], schema=estimate_schema(["cue", "other"]), strict=False)


def own(*measures: Measure, lead: tuple[str, ...] = ("cues",), compared: str = "") -> Study:
    return declared("own", measures, CellComparison((compared,) if compared else ()), ("cue", "other"), lead=lead)


def test_a_study_is_compared_by_what_leads_its_page_and_all_labels_that_has() -> None:
    first, second = shifts(0.1, 0.2, -0.1), shifts(0.1, 0.5, -0.1)
    known = own(measure("shift", limits=(-1.0, 1.0)))
    (asked,), how = comparable(known, (first, second))
    assert (asked.name, how.cells, how.families) == ("shift", ("cue",), ("cues",))
    found = compared_tables(known, first, second)
    assert found.measures[0].unit == "probability"
    assert found.cells["cue"].to_list() == ["c0", "c1", "c2"]
    assert found.cells["delta"].to_list() == pytest.approx([0, 0.3, 0])
    assert found.cells["se"].to_list() == pytest.approx([0.02] * 3)
    assert found.differing["cue"].to_list() == ["c1"]
    assert found.overall["value"].to_list() == pytest.approx([0.1, 0.1, (0.09 / 3) ** 0.5, 0.3])


def test_where_nothing_differs_the_floor_is_the_mean_error() -> None:
    rng = np.random.default_rng(0)
    first, second = shifts(*np.zeros(400)), shifts(*rng.normal(0, 0.02, 400))
    found = compared_tables(own(measure("shift", limits=(-1.0, 1.0))), first, second)
    error = found.overall.row(1, named=True)
    assert error["floor"] == pytest.approx(0.02 * (2 / np.pi) ** 0.5, rel=0.1)
    assert error["p"] > 0.05
    assert (found.cells["p"] < 0.05).mean() == pytest.approx(0.05, abs=0.03)
    assert not found.differing.height


def test_differences_are_equivalent_only_within_a_margin_that_was_named() -> None:
    known = own(measure("shift", limits=(-1.0, 1.0)))
    first, second = (shifts(*values, clusters=200) for values in ((0.1, 0.2, -0.1), (0.11, 0.19, 0.2)))
    assert (compared_tables(known, first, second).cells["verdict"] == "inconclusive").sum() == 2
    verdicts = compared_tables(known, first, second, margin=0.15).cells["verdict"].to_list()
    assert verdicts == ["equivalent within the margin"] * 2 + ["difference found"]
    with pytest.raises(
        DataError, match=r"The margin of shift is 5, and shift never lies further than 2 from zero.* Name one below 2"
    ):
        compared_tables(known, first, second, margin=5.0)


def test_missing_answers_of_either_run_are_part_of_a_difference() -> None:
    known = own(measure("shift", limits=(-1.0, 1.0)))
    bounds = {"bound_low": 0.0, "bound_high": 0.6}
    found = compared_tables(known, shifts(0.1, 0.1), shifts(0.5, 0.5, **bounds).with_columns(bound_low=0.5))
    assert found.cells["bound_low"].null_count() == 2
    found = compared_tables(known, shifts(0.1, 0.1, bound_low=0.05, bound_high=0.6), shifts(0.5, 0.5, **bounds))
    assert found.cells.select("bound_low", "bound_high").row(0) == pytest.approx((-0.6, 0.55))
    assert found.cells["why"].str.contains("unless the missing answers").all()


def test_declared_measures_come_before_those_of_the_lead() -> None:
    other = shifts(0.4, 0.6, measure="share", unit="share", family=None)
    tables = (pl.concat([shifts(0.1), other]),) * 2
    known = own(measure("shift"), measure("share", "share", limits=(0.0, 1.0)), compared="share")
    assert comparable(known, tables)[0][0].name == "share"
    assert comparable(known, (tables[0], shifts(0.1)))[0][0].name == "shift"


def test_what_leads_is_not_compared_besides() -> None:
    known = declared("own", (measure("shift"),), CellComparison(also=("shift",)), ("cue", "other"), lead=("cues",))
    (leading,), how = comparable(known, (shifts(0.1), shifts(0.2)))
    assert (leading.name, how.also) == ("shift", ())


@pytest.mark.parametrize(
    ("table", "known"),
    [
        (shifts(0.1, se=None), own(measure("shift"))),
        (shifts(0.1), own(measure("shift", signed=False))),
        (shifts(0.1), own(measure("shift"), lead=("other",))),
    ],
    ids=["no standard error", "no direction", "not tested"],
)
def test_a_study_without_a_measure_to_compare_is_refused(table: pl.DataFrame, known: Study) -> None:
    with pytest.raises(RunError, match=r"own have no measure with a direction and a standard error in common"):
        comparable(known, (table, table))


def test_a_run_that_answered_all_units_alike_is_said_to() -> None:
    tables = (shifts(0.0, se=None), shifts(0.1))
    with pytest.raises(RunError, match=r"All units of the first run \(.*\) were answered alike, so that nothing") as e:
        comparable(own(measure("shift")), tables)
    assert "second run" not in str(e.value)


def test_a_measure_without_labels_is_one_cell() -> None:
    one, two = (shifts(value).filter(pl.col("family") == "overall") for value in (0.1, 0.2))
    known = own(measure("shift"), lead=("overall",))
    found = compared_tables(known, one, two)
    assert found.cells.select("measure", pl.col("delta").round(6)).rows() == [("shift", 0.1)]


def test_forms_that_all_runs_share_do_not_make_other_people_the_same() -> None:
    def asked(people: range) -> KeptAnswers:
        blocks = {"mcq": np.array(people), "form": np.arange(1000, 1400)}
        return cast(KeptAnswers, SimpleNamespace(units_by_block=lambda: blocks))

    assert _share_units(asked(range(20)), asked(range(5, 30)))
    assert not _share_units(asked(range(20)), asked(range(20, 40)))
