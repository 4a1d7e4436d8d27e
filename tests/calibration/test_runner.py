"""The runner counts what is false and what is found, and marks a family that finds too little."""

from collections.abc import Iterable
from typing import Any, TypeVar

import polars as pl
import pytest

from facevalue import studies
from facevalue.calibration.declared import calibration_of
from facevalue.calibration.runner import HARD, NOTHING, Runner, by_family, covers, page
from facevalue.errors import DataError
from facevalue.measures.verdicts import FOUND_UNLESS
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.study import Study
from facevalue.types import OptionValue

T = TypeVar("T")


def rows(**columns: list[Any]) -> pl.DataFrame:
    """Two audits of one family of two tests."""
    usual: dict[str, list[Any]] = {
        "audit": [0, 0, 1, 1], "measure": ["gap"] * 4, "family": ["gaps (age)"] * 4, "value": [0.0] * 4,
        "low": [-1.0] * 4, "high": [1.0] * 4, "true": [0.0] * 4, "true_low": [0.0] * 4, "true_high": [0.0] * 4,
        "p": [0.5] * 4, "q": [0.5] * 4, "q_rival": [0.5] * 4, "verdict": ["inconclusive"] * 4, "why": [""] * 4,
    }  # fmt: skip
    return pl.DataFrame({**usual, **columns})


FOUND = ["difference found", *["inconclusive"] * 3]


def test_a_family_is_false_in_the_share_of_audits_in_which_it_finds_anything() -> None:
    table = by_family(rows(q=[0.01, 0.02, 0.5, 0.5], verdict=FOUND), rows()).row(0, named=True)
    assert (table["family"], table["tests"]) == ("gaps", 2)
    assert (table["false"], table["false_page"], table["p_below"]) == (0.5, 0.5, 0.0)


@pytest.mark.parametrize(("rival", "marked"), [([0.01, 0.01, 0.01, 0.5], "power"), ([0.01, 0.01, 0.5, 0.5], "")])
def test_power_below_four_fifths_of_the_rivals_is_marked(rival: list[float], marked: str) -> None:
    table = by_family(rows(), rows(q=[0.01, 0.5, 0.01, 0.5], q_rival=rival, true_low=[0.1] * 4)).row(0, named=True)
    assert (table["power"], table["beside"]) == (0.5, 0.5)
    assert table["rival"] == sum(q < 0.05 for q in rival) / 4
    assert table["defect"] == marked


def test_power_is_compared_on_the_estimates_that_the_rival_tests() -> None:
    table = by_family(rows(), rows(q=[0.01, 0.01, 0.5, 0.5], q_rival=[None, None, 0.01, 0.5], true_low=[0.1] * 4)).row(
        0, named=True
    )
    assert (table["power"], table["beside"], table["rival"], table["defect"]) == (0.5, 0.0, 0.5, "power")


def test_power_is_of_estimates_that_have_an_effect() -> None:
    table = by_family(rows(), rows(q=[0.01, 0.5, 0.5, 0.01], true_low=[0.1, 0.0, 0.1, 0.0])).row(0, named=True)
    assert (table["effects"], table["power"]) == (1, 0.5)


def test_an_interval_is_as_much_wider_as_the_truth_is_unsure() -> None:
    held = rows(true=[1.0, 1.1, 1.1, None], true_high=[0.0, 0.0, 2.0, 0.0]).select(covers()).to_series().to_list()
    assert held == [True, False, True, None]


def test_a_finding_that_missing_answers_may_explain_is_no_sure_one() -> None:
    found = page(rows(verdict=FOUND, why=[FOUND_UNLESS, "", "", ""]), HARD[0])
    assert (found["page"], found["page_without_unless"]) == ([0.5], [0.0])
    missing = page(rows(verdict=FOUND, measure=["refusal_gap", "gap", "gap", "gap"]), HARD[0])
    assert missing["page"] == [0.0], "missing answers do differ where they are withheld"


def quiet(items: Iterable[T], what: str, total: int | None = None) -> Iterable[T]:
    return items


def test_a_study_of_ones_own_is_calibrated_in_all_conditions(lab: Protocol) -> None:
    found = Runner(lab, (1, 2), 3, quiet).summary()
    assert {"shifts", "gaps of gender", "gaps of role", "spreads of age"} <= set(found.families["family"])
    assert found.families["size"].unique().sort().to_list() == [12, 24]
    moved = found.families.filter(pl.col("effects") > 0)
    assert {"shifts", "gaps of role"} <= set(moved["family"])
    assert moved["rival"].null_count() == 0
    shift = found.families.filter(family="shifts", size=24).row(0, named=True)
    assert shift["power"] > 0.5
    assert shift["false"] <= 1 / 3
    assert found.conditions["condition"].n_unique() == 2 + len(HARD)
    planted = found.detectable.filter(stated="minimum detectable effect").row(0, named=True)
    assert abs(planted["planted"]) == pytest.approx(planted["effect"], rel=0.03)
    assert found.detectable["stated"].to_list() == ["minimum detectable effect", "plan", "one in twenty moves"]


def test_nothing_planted_is_within_what_is_promised(lab: Protocol) -> None:
    runner = Runner(lab, (2,), 20, quiet)
    table = runner._repeated(runner._middle, NOTHING, runner._truth(NOTHING))
    found = page(table, NOTHING)
    assert found["page"][0] is not None
    assert found["page"][0] <= 4 / 20  # more than 4 of 20 at .05 have probability .003
    assert found["coverage"][0] is not None
    assert found["coverage"][0] > 0.88


def test_a_study_that_says_nothing_of_what_to_plant_is_one_error() -> None:
    def build(_options: dict[str, OptionValue], _manifest: pl.DataFrame | None) -> Study:
        raise NotImplementedError

    with pytest.raises(DataError, match="neither what its calibration plants"):
        calibration_of(Protocol(name="other", title="Other", build=build))  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("name", studies.STUDIES)
def test_nothing_is_found_where_nothing_is_planted(name: str) -> None:
    runner = Runner(studies.protocol(name), (2,), 40, quiet)
    found = page(runner._repeated(runner._middle, NOTHING, runner._truth(NOTHING)), NOTHING)
    assert found["page"][0] is not None
    assert found["page"][0] <= 0.15  # 6 of 40; more have probability .003 at .05
