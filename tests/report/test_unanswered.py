"""Who was left without an answer, on the page."""

import numpy as np
import polars as pl

from facevalue.measures.cells import MISSING_MEASURES, Grouped, MissingBy
from facevalue.measures.judgment import judge
from facevalue.protocol.lookup import EstimateIndex
from facevalue.report.blocks.view import View
from facevalue.report.formatting import Titles
from facevalue.report.sections.checks import Card, CardStatus
from facevalue.report.sections.findings import without_answer
from facevalue.report.sections.missing import missing_card, sections
from facevalue.statistics.missing_answers import MissingAnswers

GROUPS = ("young man", "obese man", "tattooed woman")


def viewed(rate: float, more: float, size: float = 1.0) -> View:
    """60 sets of three groups, two prompts, four replies each; obese men are refused more often on one prompt."""
    person, group, prompt, _ = (
        x.ravel() for x in np.meshgrid(np.arange(60), np.arange(3), np.arange(2), np.arange(4), indexing="ij")
    )
    chance = rate + np.where((group == 1) & (prompt == 1), more, 0.0)
    gone = np.random.default_rng(1).random(person.size) < chance
    answers = pl.DataFrame({
        "set": person.astype(str), "group": np.array(GROUPS)[group], "prompt": np.array(["open", "rating"])[prompt],
        "mass": 1.0 - gone, "na": np.where(gone, "refused", "none"),
    }).with_columns(pl.col("na").replace({"none": None}))  # fmt: skip
    seen = MissingAnswers(MissingBy((Grouped.from_column("group", "set"),), ("prompt",)))
    seen.take(answers, answers["set"])
    judged = judge(seen.estimates("s", "m"), MISSING_MEASURES).with_columns(pl.col("value") * size)
    return View(EstimateIndex(judged, ["m"], measures=MISSING_MEASURES), Titles(), MISSING_MEASURES)


def card(view: View) -> Card:
    (made,) = missing_card(view)
    return made


def test_the_worst_group_and_prompt_are_named_and_hide_in_no_mean() -> None:
    made = card(viewed(0.01, 0.2))
    assert made.status is CardStatus.CAUTION
    assert made.value.endswith("found")
    assert made.lines[0].startswith("Obese man (group), Rating: +")
    assert "of its questions)" in made.lines[0]


def test_differences_too_slight_to_be_read_need_no_warning() -> None:
    made = card(viewed(0.01, 0.2, 0.004))
    assert made.status is CardStatus.OK
    assert made.value.endswith("found, each below 0.1 points")
    assert without_answer(viewed(0.01, 0.2)), "the first screen tells the same difference where it can be read"
    assert without_answer(viewed(0.01, 0.2, 0.004)) == []


def test_where_nothing_differs_the_card_says_so_with_the_clearest() -> None:
    made = card(viewed(0.05, 0.0))
    assert (made.status, made.value) == (CardStatus.OK, "No group more often than others")
    assert made.lines[0].endswith("no difference found")


def test_where_nothing_is_missing_there_is_no_section() -> None:
    view = viewed(0.0, 0.0)
    assert card(view).value == "Every question has an answer"
    assert sections(view) == ()
    assert [one.id for one in sections(viewed(0.05, 0.0))] == ["unanswered"]


def test_tables_of_earlier_versions_have_no_card() -> None:
    none = viewed(0.0, 0.0).numbers.part("missing_gap", "m")
    assert missing_card(View(EstimateIndex(none, ["m"]), Titles(), MISSING_MEASURES)) == []
