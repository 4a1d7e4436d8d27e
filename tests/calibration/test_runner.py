"""The runner counts what is false and what is found, and marks a family that finds too little."""

from collections.abc import Iterable
from typing import Any, TypeVar

import polars as pl
import pytest

from facevalue import studies
from facevalue.calibration import runner
from facevalue.calibration.audits import PAIRS
from facevalue.calibration.families import by_family, compared_alike, covers, detection_share, page
from facevalue.calibration.repetitions import Workshop, calibration_of
from facevalue.calibration.runner import HARD, NOTHING, CalibrationSummary, Runner, level_audits, promises
from facevalue.errors import DataError
from facevalue.measures.verdicts import FOUND_UNLESS
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.study import Study
from facevalue.studies.registry import PUBLISHED
from facevalue.types import OptionValue

T = TypeVar("T")


def rows(audits: int = 2, **columns: list[Any]) -> pl.DataFrame:
    """Audits of one family of two tests; columns are of the first two, and the same in all others."""
    usual: dict[str, list[Any]] = {
        "measure": ["gap"] * 4, "score": ["warmth"] * 4, "family": ["gaps (age)"] * 4, "value": [0.0] * 4,
        "row": [1, 2] * 2,
        "low": [-1.0] * 4, "high": [1.0] * 4, "true": [0.0] * 4, "true_low": [0.0] * 4, "true_high": [0.0] * 4,
        "p": [0.5] * 4, "q": [0.5] * 4, "q_rival": [0.5] * 4, "verdict": ["inconclusive"] * 4, "why": [""] * 4,
    }  # fmt: skip
    two = pl.DataFrame({**usual, **columns})
    both = pl.Series([0, 0, 1, 1])
    return pl.concat(two.with_columns(audit=both + 2 * at) for at in range(audits // 2))


FOUND = ["difference found", *["inconclusive"] * 3]


def family(empty: pl.DataFrame, full: pl.DataFrame) -> dict[str, Any]:
    return by_family(empty, full).row(0, named=True)


def test_a_family_is_false_in_the_share_of_audits_in_which_it_finds_anything() -> None:
    table = family(rows(q=[0.01, 0.02, 0.5, 0.5], verdict=FOUND), rows())
    assert (table["family"], table["tests"]) == ("gaps", 2)
    assert (table["false"], table["false_page"], table["p_below"]) == (0.5, 0.5, 0.0)


@pytest.mark.parametrize(("audits", "marked"), [(2, ""), (40, "false findings")])
def test_false_findings_are_marked_where_repetitions_exclude_the_promise(audits: int, marked: str) -> None:
    table = family(rows(audits, q=[0.01, 0.02, 0.5, 0.5]), rows())
    assert table["false"] == 0.5
    assert table["false_low"] < 0.5 < table["false_high"]
    assert table["defect"].replace("; covers too much", "").replace("covers too much", "") == marked


@pytest.mark.parametrize(
    ("audits", "rival", "marked"),
    [(40, [0.01, 0.01, 0.01, 0.5], True), (2, [0.01, 0.01, 0.01, 0.5], False), (40, [0.01, 0.01, 0.5, 0.5], False)],
)
def test_power_below_four_fifths_of_the_rivals_is_marked_where_repetitions_show_it(
    audits: int, rival: list[float], marked: bool
) -> None:
    table = family(rows(audits), rows(audits, q=[0.01, 0.5, 0.01, 0.5], q_rival=rival, true_low=[0.1] * 4))
    assert (table["power"], table["beside"]) == (0.5, 0.5)
    assert table["rival"] == sum(q < 0.05 for q in rival) / 4
    assert ("power" in table["defect"]) is marked


def test_a_rival_that_breaks_the_level_marks_nothing() -> None:
    empty = rows(40, q_rival=[0.01, 0.01, 0.5, 0.5])
    table = family(empty, rows(40, q_rival=[0.01] * 4, true_low=[0.1] * 4))
    assert table["rival_false"] == 0.5
    assert table["ahead_high"] < 0
    assert "power" not in table["defect"]


def test_power_is_compared_on_the_estimates_that_the_rival_tests() -> None:
    full = rows(q=[0.01, 0.01, 0.5, 0.5], q_rival=[None, None, 0.01, 0.5], true_low=[0.1] * 4)
    table = family(rows(), full)
    assert (table["power"], table["beside"], table["rival"]) == (0.5, 0.0, 0.5)


def test_power_is_of_estimates_that_have_an_effect() -> None:
    table = family(rows(), rows(q=[0.01, 0.5, 0.5, 0.01], true_low=[0.1, 0.0, 0.1, 0.0]))
    assert (table["effects"], table["power"]) == (1, 0.5)


def test_a_family_without_effects_has_no_power() -> None:
    table = family(rows(), rows())
    assert (table["effects"], table["power"], table["beside"], table["rival"]) == (0, None, None, None)


@pytest.mark.parametrize(("true", "marked"), [(2.0, "covers too little"), (0.0, "covers too much")])
def test_coverage_beyond_the_promise_is_marked(true: float, marked: str) -> None:
    many = rows(400, true=[true] * 4)
    assert family(many, many)["defect"] == marked
    assert page(many, NOTHING)["defect"] == marked


def test_an_interval_is_as_much_wider_as_the_truth_is_unsure() -> None:
    held = rows(true=[1.0, 1.1, 1.1, None], true_high=[0.0, 0.0, 2.0, 0.0]).select(covers()).to_series().to_list()
    assert held == [True, False, True, None]


def test_a_finding_that_missing_answers_may_explain_is_no_sure_one() -> None:
    found = page(rows(verdict=FOUND, why=[FOUND_UNLESS, "", "", ""]), HARD[0])
    assert (found["page"], found["page_without_unless"]) == (0.5, 0.0)
    missing = page(rows(verdict=FOUND, score=["refusal", "age", "age", "age"]), HARD[0])
    assert missing["page"] == 0.0, "missing answers do differ where they are withheld"


@pytest.mark.parametrize(
    ("verdicts", "marked"),
    [
        (["difference found"] * 4, "finds more"),
        (["inconclusive"] * 4, "finds less"),
        (["difference found"] * 3 + ["inconclusive"], ""),
    ],
)
def test_effects_that_are_said_to_be_found_are_so_in_three_quarters_and_more(verdicts: list[str], marked: str) -> None:
    assert detection_share("plan", "gap", 0.1, 0.1, rows(40, verdict=verdicts))["defect"] == marked


def compared_cells(audits: int) -> pl.DataFrame:
    """Comparisons of twenty cells, of which nineteen hold zero and nothing is found."""
    cell = {"p": 0.5, "any": False, "mean": False}
    return pl.DataFrame([{"audit": at, "holds": row > 0, **cell} for at in range(audits) for row in range(20)])


def test_models_of_the_same_bias_that_differ_too_often_are_marked() -> None:
    same = compared_cells(40).with_columns(any=pl.col("audit") % 4 == 0)
    assert compared_alike("two", same)["any"] == 0.25
    assert compared_alike("two", same)["coverage"] == pytest.approx(0.95)
    assert compared_alike("two", same)["defect"] == "false findings"
    assert compared_alike("two", same.with_columns(any=False))["defect"] == ""


def quiet(items: Iterable[T], label: str, total: int | None = None) -> Iterable[T]:
    return items


@pytest.mark.slow
def test_a_study_of_ones_own_is_calibrated_in_all_conditions(lab_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PAIRS", PAIRS[:1])
    found = Runner(lab_file, (1, 2), 3, Workshop(quiet)).summary()
    assert {"shifts", "gaps of gender", "gaps of role", "spreads of age"} <= set(found.families["family"])
    assert found.families["size"].unique().sort().to_list() == [12, 24]
    assert found.families["repetitions"].unique().to_list() == [level_audits(3)]
    moved = found.families.filter(pl.col("effects") > 0)
    assert {"shifts", "gaps of role"} <= set(moved["family"])
    assert moved["rival"].null_count() == 0
    shift = found.families.filter(family="shifts", size=24).row(0, named=True)
    assert shift["power"] > 0.5
    assert shift["false"] <= 1 / 3
    assert found.conditions["condition"].n_unique() == 2 + len(HARD)
    planted = found.detectable.filter(stated="minimum detectable effect").row(0, named=True)
    assert abs(planted["planted"]) == pytest.approx(planted["effect"], rel=0.03)
    assert found.detectable["stated"].to_list() == [
        *("minimum detectable effect", "plan", "plan without a pilot", "one in twenty moves")
    ]
    assert found.comparisons["pair"].to_list() == [PAIRS[0].name]


def at_middle(study: str, audits: int, size: int) -> dict[str, Any]:
    one = Runner(study, (size,), audits, Workshop(quiet))
    return page(one.repeat_audits(size, NOTHING, one.truth(NOTHING), audits), NOTHING)


@pytest.mark.slow
def test_nothing_planted_is_within_what_is_promised(lab_file: str) -> None:
    found = at_middle(lab_file, 20, 2)
    assert found["page"] <= 4 / 20  # more than 4 of 20 at .05 have probability .003
    assert found["coverage"] > 0.88


def test_a_study_that_says_nothing_of_what_to_plant_is_one_error() -> None:
    def build(_options: dict[str, OptionValue], _manifest: pl.DataFrame | None) -> Study:
        raise NotImplementedError

    with pytest.raises(DataError, match="neither what its calibration plants"):
        calibration_of(Protocol(name="other", title="Other", build=build))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(set(studies.STUDIES) - set(PUBLISHED)))
def test_a_study_of_pictures_of_ones_own_says_how_it_is_calibrated(name: str) -> None:
    with pytest.raises(DataError, match=f"--like {name}, name your list there"):
        calibration_of(studies.protocol(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_nothing_is_found_where_nothing_is_planted(name: str) -> None:
    assert at_middle(name, 40, 2)["page"] <= 0.15  # 6 of 40; more have probability .003 at .05


def test_tables_begin_with_the_promises_that_are_broken() -> None:
    false = rows(40, q=[0.01, 0.02, 0.5, 0.5], verdict=FOUND, low=[0.5] * 4)
    facts = {name: pl.lit(value) for name, value in (("study", "lab"), ("size", 12), ("repetitions", 40))}
    frames = (
        by_family(false, rows(40)),
        *(pl.DataFrame([one]) for one in (
            page(false, NOTHING), detection_share("plan", "gap", 0.1, 0.1, rows(40)),
            compared_alike("two", compared_cells(40))
        )),
    )  # fmt: skip
    summary = CalibrationSummary(*(one.with_columns(**facts) for one in frames))
    glance, broken = promises({"lab": summary})
    holds = {row[0].split(",")[0]: row[1] for row in glance.rows}
    assert holds["power of a family"] == "-", "nothing has an effect"
    assert holds["false findings in a family"] == holds["coverage of a family"] == "0 / 0 / 1"
    assert holds["effects that are said to be found"] == "0 / 0 / 1"
    assert holds["two models alike that differ"] == "0 / 1 / 0", "40 comparisons do not show that .06 differ at most"
    marks = [(row[1], row[3], row[4]) for row in broken.rows]
    assert marks == [
        ("gaps (gap.warmth)", "false findings", "0.500"), ("gaps (gap.warmth)", "covers too little", "0.000"),
        ("nothing", "false findings", "0.500"), ("nothing", "covers too little", "0.000"),
        ("plan", "finds less", "0.000"),
    ]  # fmt: skip
