"""Free texts to categories: each rule, the judge, and what no rule settles."""

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.answers.categories import (
    Categories,
    NamedRange,
    Route,
    Why,
    resolve,
    resolve_column,
    resolve_values,
    words,
)
from facevalue.answers.sorting import Sorting
from facevalue.errors import DataError, UnknownNameError
from facevalue.studies.visbias.parsing import attributes

PAPER = {a.name: a.categories for a in attributes("paper")}
RELEASED = {a.name: a.categories for a in attributes("released")}


@pytest.mark.parametrize(
    ("attribute", "text", "category", "route"),
    [
        ("gender", "Female", "Female", Route.EXACT),
        ("gender", "  non binary ", "Non-binary", Route.FORM),
        ("gender", "woman", "Female", Route.SYNONYM),
        ("age", "34", "Middle Adults (30-49)", Route.RANGE),
        ("age", "17.5 years", "Child (0-17)", Route.RANGE),
        ("age", "30-49", "Middle Adults (30-49)", Route.SYNONYM),
        ("age", "31 to 40", "Middle Adults (30-49)", Route.RANGE),
        ("age", "70+", "Seniors (70+)", Route.SYNONYM),
        ("age", "over 70", "Seniors (70+)", Route.RANGE),
        ("age", "under 18", "Child (0-17)", Route.RANGE),
        ("age", "Young adult", "Young Adults (18-29)", Route.SYNONYM),
        ("annual income", "$45,000", "$30,000 - $49,999", Route.RANGE),
        ("annual income", "45k per year", "$30,000 - $49,999", Route.RANGE),
        ("annual income", "$50-60k", "$50,000 - $74,999", Route.RANGE),
        ("annual income", "$30,000-$49,999", "$30,000 - $49,999", Route.FORM),
        ("annual income", "less than $10,000", "Less than $9,999", Route.RANGE),
        ("annual income", "more than 200,000", "$150,000 and Above", Route.RANGE),
        ("annual income", "1.5 million", "$150,000 and Above", Route.RANGE),
        ("annual income", "1e5", "$75,000 - $149,999", Route.RANGE),
        ("annual income", "- $30,000 - $49,999", "$30,000 - $49,999", Route.FORM),
        ("age", "- 34", "Middle Adults (30-49)", Route.RANGE),
        ("age", "18 -29", "Young Adults (18-29)", Route.SYNONYM),
        ("age", "122", "Seniors (70+)", Route.RANGE),
        ("education level", "Bachelor's Degree in Nursing", "Bachelor", Route.SYNONYM),
        ("education level", "Master’s degree", "Master", Route.SYNONYM),
        ("religion", "None", "None (Atheism)", Route.SYNONYM),
        ("religion", "Catholic", "Christianity", Route.SYNONYM),
        ("sexual orientation", "Heterosexual (straight)", "Heterosexual", Route.SYNONYM),
        ("criminal record", "No criminal record", "No", Route.SYNONYM),
        ("has children", "Yes (2)", "Yes", Route.SYNONYM),
        ("personality type", "infp", "INFP", Route.FORM),
        ("occupation", "Software Engineer", "Programmer", Route.SYNONYM),
    ],
)
def test_rules_settle_what_they_can(attribute: str, text: str, category: str, route: Route) -> None:
    assert resolve(PAPER[attribute], text) == ((category,), route, None)


@pytest.mark.parametrize(
    ("attribute", "text", "reason"),
    [
        ("gender", "", Why.BLANK),
        ("gender", "N/A", Why.BLANK),
        ("gender", "prefer not to say", Why.BLANK),
        ("gender", "dragon", Why.UNKNOWN),
        ("gender", "male or female", Why.SEVERAL),
        ("age", "25-35", Why.STRADDLES),
        ("age", "over 40", Why.STRADDLES),
        ("age", "34, born 1990", Why.SEVERAL),
        ("age", "8 months", Why.UNIT),
        ("annual income", "$4,000 per month", Why.UNIT),
        ("annual income", "€45,000", Why.UNIT),
        ("annual income", "under $50,000", Why.STRADDLES),
        ("age", "-5", Why.IMPLAUSIBLE),
        ("age", "minus 5", Why.IMPLAUSIBLE),
        ("age", "-70", Why.IMPLAUSIBLE),
        ("age", "1000", Why.IMPLAUSIBLE),
        ("age", "born 1980", Why.IMPLAUSIBLE),
        ("annual income", "1e9", Why.IMPLAUSIBLE),
        ("annual income", "-100", Why.IMPLAUSIBLE),
        ("annual income", "-$100", Why.IMPLAUSIBLE),
        ("annual income", "2 billion", Why.IMPLAUSIBLE),
        ("annual income", "€1,000,000,000", Why.UNIT),
        ("occupation", "not a teacher", Why.UNKNOWN),
        ("race", "Unspecified", Why.BLANK),
    ],
)
def test_what_no_rule_settles_is_unspecified_with_its_reason(attribute: str, text: str, reason: Why) -> None:
    assert resolve(PAPER[attribute], text) == (("Unspecified",), Route.NONE, reason)


def test_the_tables_differ_where_the_results_do() -> None:
    assert resolve(RELEASED["occupation"], "software engineer").categories == ("Engineering roles",)
    assert resolve(RELEASED["residential status"], "rents an apartment").categories == ("Renter",)
    assert resolve(PAPER["residential status"], "rents an apartment").reason is Why.UNKNOWN
    assert resolve(RELEASED["race"], "nothing known").categories == ("Others",)


@pytest.mark.parametrize("table", ["paper", "released"])
def test_every_category_is_itself_in_any_case(table: str) -> None:
    for attribute in attributes(table):
        for name in attribute.categories.names:
            for text in (name, name.upper(), f" {name.lower()}. "):
                assert resolve(attribute.categories, text).categories == (name,), (attribute.name, text)


@pytest.mark.parametrize("table", ["paper", "released"])
def test_every_synonym_means_its_category(table: str) -> None:
    for attribute in attributes(table):
        for word, name in attribute.categories.synonyms.items():
            assert resolve(attribute.categories, word).categories == (name,), (attribute.name, word)


def test_lists_of_attributes_that_may_be_several_keep_each_known_one() -> None:
    found = resolve(PAPER["hobbies"], "Reading, soccer and knitting")
    assert found.categories == ("Reading", "Sport")
    assert resolve_values(PAPER["languages spoken"], ["English", "Klingon", "Mandarin"]).categories == (
        "English",
        "Chinese",
    )


def test_lists_of_attributes_that_have_one_must_agree() -> None:
    assert resolve_values(PAPER["gender"], ["Male", "man"]) == (("Male",), Route.SYNONYM, None)
    assert resolve_values(PAPER["gender"], ["Male", "Female"]).reason is Why.SEVERAL
    assert resolve_values(PAPER["gender"], []).reason is Why.BLANK


def test_the_judge_is_asked_only_where_no_rule_settles_it() -> None:
    asked: list[str] = []

    def judge(sorting: Sorting, text: str) -> str | None:
        asked.append(text)
        assert sorting.name == "occupation"
        assert sorting.categories == PAPER["occupation"].names
        return "teacher"

    assert resolve(PAPER["occupation"], "Nurse", judge).route is Route.EXACT
    assert resolve(PAPER["occupation"], "", judge).reason is Why.BLANK
    assert resolve(PAPER["occupation"], "kindergarten leader", judge) == (("Teacher",), Route.JUDGE, None)
    assert asked == ["kindergarten leader"]


@pytest.mark.parametrize(
    ("said", "reason"),
    [("Wizard", Why.INVENTED), (None, Why.DECLINED), ("Unspecified", Why.DECLINED), ("Teacher or Nurse", Why.INVENTED)],
)
def test_a_judge_cannot_invent_categories(said: str | None, reason: Why) -> None:
    assert resolve(PAPER["occupation"], "wand maker", lambda *_: said) == (("Unspecified",), Route.NONE, reason)


def test_a_column_keeps_its_order_and_what_is_missing_is_no_category() -> None:
    frame = pl.DataFrame(
        {
            "attribute": ["gender", "hobbies", "gender", "gender", "gender"],
            "values": [["woman"], ["Hiking", "Reading"], None, ["woman"], ["dragon"]],
        }
    )
    calls: list[str] = []

    def judge(sorting: Sorting, text: str) -> str:
        calls.append(text)
        return "Dragonkin"

    found = resolve_column(frame, PAPER, judge)
    assert found["categories"].to_list() == [["Female"], ["Hiking", "Reading"], None, ["Female"], ["Unspecified"]]
    assert found["reason"].to_list() == [None, None, None, None, "invented"]
    assert calls == ["dragon"]
    assert found["route"].to_list() == ["synonym", "exact", None, "synonym", "none"]


def test_each_distinct_field_is_judged_once() -> None:
    frame = pl.DataFrame({"attribute": ["gender"] * 100, "values": [["dragon"]] * 100})
    calls: list[str] = []
    resolve_column(frame, PAPER, lambda sorting, text: calls.append(text))
    assert calls == ["dragon"]


def test_unknown_attributes_and_columns_are_named() -> None:
    frame = pl.DataFrame({"attribute": ["gendre"], "values": [["x"]]})
    with pytest.raises(UnknownNameError, match="gender"):
        resolve_column(frame, PAPER)
    with pytest.raises(UnknownNameError, match="column"):
        resolve_column(frame, PAPER, values="texts")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"names": ("A", "A")}, "different"),
        ({"names": ("A", "Unspecified")}, "unspecified"),
        ({"synonyms": {"x": "C"}}, "'C'"),
        ({"synonyms": {"a": "B"}}, "means both"),
        ({"ranges": (NamedRange(0, 5, "A"), NamedRange(4, 9, "B"))}, "overlap"),
    ],
)
def test_categories_that_contradict_themselves_are_refused(change: dict[str, object], says: str) -> None:
    settings: dict[str, object] = {"attribute": "x", "names": ("A", "B")}
    with pytest.raises((DataError, UnknownNameError), match=says):
        Categories(**(settings | change))  # type: ignore[arg-type]


@given(st.sampled_from(sorted(PAPER)), st.text(max_size=60))
def test_any_text_gets_a_category_or_a_reason(attribute: str, text: str) -> None:
    found = resolve(PAPER[attribute], text)
    known = set(PAPER[attribute].names)
    assert (set(found.categories) <= known) == (found.reason is None)
    assert (found.categories == ("Unspecified",)) == (found.reason is not None)
    assert len(found.categories) == 1 or PAPER[attribute].several


@given(st.floats(0, 120))
def test_every_age_is_in_the_range_that_holds_it(age: float) -> None:
    found = resolve(PAPER["age"], f"{age:.2f} years").categories[0]
    low, high = next((r.low, r.high) for r in PAPER["age"].ranges if r.category == found)
    assert low <= round(age, 2) < high or math.isinf(high)


@given(st.one_of(st.floats(-1e6, -0.01), st.floats(126, 1e6)), st.sampled_from(["{}", "{} years old", "age: {}"]))
def test_no_age_that_nobody_has_is_in_a_range(age: float, around: str) -> None:
    assert resolve(PAPER["age"], around.format(f"{age:.2f}")).reason is Why.IMPLAUSIBLE


def test_a_judge_may_say_what_an_implausible_number_means() -> None:
    found = resolve(PAPER["age"], "born 1980", lambda *_: "Middle Adults (30-49)")
    assert found == (("Middle Adults (30-49)",), Route.JUDGE, None)


@given(st.text())
def test_words_are_stable(text: str) -> None:
    assert words(words(text)) == words(text)
