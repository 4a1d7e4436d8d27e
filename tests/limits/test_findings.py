"""Why limits of findings ended as they did, as a gate says it."""

import polars as pl
import pytest

from facevalue.limits.gate import without_mirrors
from facevalue.limits.limits_file import DeclaredLimit, why_untested
from facevalue.limits.wording import reasons
from facevalue.measures.verdicts import FOUND_UNLESS, LimitOutcome, Verdict

ROWS = pl.DataFrame(
    [
        ("gaps (age)", "not measurable", "One unit."),
        ("gaps (race)", "not measurable", "One unit."),
        ("gaps (race)", "not measurable", "No answer."),
        ("missing answers", str(Verdict.INCONCLUSIVE), "Small."),
        *[("sizes", "not measurable", "No text.")] * 3,
        (None, None, None),
    ],
    schema=["family", "verdict", "why"],
    orient="row",
).with_columns(kind=pl.lit("exploratory"))


@pytest.mark.parametrize(
    ("lead", "why"),
    [
        (("cues", "gaps"), "One unit."),
        (("sizes", "gaps"), "No text."),
        (("cues",), "No text."),  # of all, where nothing leads
        ((), "No text."),
    ],
)
def test_what_is_said_of_most_comparisons_that_lead_is_the_reason(lead: tuple[str, ...], why: str) -> None:
    assert why_untested(ROWS, lead) == why


def test_a_study_that_compares_nothing_is_said_to() -> None:
    assert why_untested(ROWS.clear(), ("gaps",)) == "It compares nothing that leads its page."
    assert why_untested(ROWS.tail(1), ("gaps",)) == "It compares nothing that leads its page."


def test_a_caveat_is_said_of_the_page_that_found_not_of_the_gate_that_did_not() -> None:
    cell = {"limit": 0, "outcome": LimitOutcome.UNDECIDED, "verdict": Verdict.DIFFERENCE, "why": FOUND_UNLESS,
            "is_incomplete": False, "is_unread": False}  # fmt: skip
    (said,) = reasons(pl.DataFrame([cell]), [DeclaredLimit("", 0, "", findings=0)])
    assert said == (
        "A difference was found on the page of the run, unless the missing answers say otherwise. It was not found "
        "among all that this gate decides."
    )


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        # one difference, told of either of two groups in each job
        (
            [("a", "x", "", 0.2), ("b", "x", "", -0.2), ("a", "y", "", -0.1), ("b", "y", "", 0.1)],
            [0, 3],
        ),
        # of three groups none is the other side of one
        ([("a", "x", "others", 0.2), ("b", "x", "others", -0.2), ("c", "x", "others", 0.0)], [0, 1, 2]),
        # the group and the one that it is compared with have changed places
        ([("a", "x", "b", 0.2), ("b", "x", "a", -0.2), ("a", "x", "c", 0.2), ("c", "x", "a", -0.3)], [0, 2, 3]),
        # another job
        ([("a", "x", "others", 0.2), ("b", "y", "others", -0.2)], [0, 1]),
    ],
)  # fmt: skip
def test_a_difference_that_is_told_from_both_sides_counts_once(
    rows: list[tuple[str, str, str, float]], kept: list[int]
) -> None:
    table = pl.DataFrame(rows, schema=["group", "job", "contrast", "value"], orient="row").with_row_index("n")
    ends = {"low": pl.col("value") - 0.05, "high": pl.col("value") + 0.05, "measure": pl.lit("gap")}
    assert without_mirrors(table.with_columns(**ends).cast({"n": pl.Int64}))["n"].to_list() == kept
