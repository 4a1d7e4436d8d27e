"""One difference between two groups is told once."""

import numpy as np
import polars as pl
import pytest

from facevalue.measures.cells import MISSING_MEASURES, Grouped, MissingBy
from facevalue.measures.judgment import judge
from facevalue.protocol.lookup import EstimateIndex
from facevalue.report.blocks.view import View
from facevalue.report.formatting import Titles
from facevalue.report.sections.findings import findings, without_answer
from facevalue.statistics.missing_answers import MissingAnswers


def viewed(*declined: float) -> View:
    """A view of who gets no answer: 90 people, an equal part of whom are of each group, four questions to each."""
    names = [f"group {at}" for at in range(len(declined))]
    person = np.repeat(np.arange(90), 4)
    group = person % len(declined)
    gone = np.random.default_rng(1).random(person.size) < np.array(declined)[group]
    answers = pl.DataFrame({
        "person": person.astype(str), "group": np.array(names)[group], "prompt": ["open"] * person.size,
        "mass": 1.0 - gone, "na": np.where(gone, "refused", "none"),
    }).with_columns(pl.col("na").replace({"none": None}))  # fmt: skip
    seen = MissingAnswers(MissingBy((Grouped.from_column("group", "person"),), ("prompt",)))
    seen.take(answers, answers["person"])
    return View(
        EstimateIndex(judge(seen.estimates("s", "m"), MISSING_MEASURES), ["m"], measures=MISSING_MEASURES),
        Titles(),
        MISSING_MEASURES,
    )


@pytest.mark.parametrize(("declined", "told"), [((0.05, 0.6), "group 1"), ((0.6, 0.05), "group 0")])
def test_who_is_declined_is_told_once_of_two_groups(declined: tuple[float, ...], told: str) -> None:
    ((comparison, e),) = findings(without_answer(viewed(*declined)))
    assert e["group"] == told
    assert "more often" in comparison.describe_difference(e)


def test_of_three_groups_each_is_told() -> None:
    found = findings(without_answer(viewed(0.9, 0.4, 0.05)))
    assert {e["group"] for _, e in found} >= {"group 0", "group 2"}
