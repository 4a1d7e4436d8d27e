"""Sums behind shares and gaps of missing answers: values, and what each unit adds, follow from them."""

from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.measures.cells import Grouped, MissingBy
from facevalue.measures.cluster_bootstrap import values_only
from facevalue.measures.uncertainty import TermRecord, term_record, terms_kept
from facevalue.statistics.missing_answers import MissingAnswers

BY = MissingBy((Grouped.from_column("group", "person"),), ("question",))


def drawn(seed: int) -> pl.DataFrame:
    """Answers about people, of whom some are in one group, others in several; some are missing, some refused."""
    random = np.random.default_rng(seed)
    person = random.integers(0, 6, 60)
    group = np.where(person < 3, person % 2, random.integers(0, 2, 60))
    na = random.choice(np.array(["refused", "unclear", None, None], dtype=object), 60)
    return pl.DataFrame(
        {
            "person": [f"person {number}" for number in person],
            "group": [("left", "right")[number] for number in group],
            "question": [("who?", "why?")[number] for number in random.integers(0, 2, 60)],
            "na": pl.Series(na.tolist(), dtype=pl.String),
        }
    )


def taken(answers: pl.DataFrame) -> tuple[Mapping[frozenset[object], float], TermRecord]:
    with values_only(), terms_kept() as record:
        missing = MissingAnswers(BY)
        for chunk in (answers[:25], answers[25:]):
            missing.take(chunk, "person\x1f" + chunk["person"])
        table = missing.estimates("study", "model")
    rows = table.drop_nulls("value").select("measure", "dimension", "group", "prompt", "reason", "value")
    return {frozenset(enumerate(row[:-1])): row[-1] for row in rows.iter_rows()}, record


def key(measure: str, labels: Mapping[str, str]) -> frozenset[object]:
    return frozenset(enumerate([measure, *(labels.get(name) for name in ("dimension", "group", "prompt", "reason"))]))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_values_and_what_each_unit_adds_follow_from_the_sums(seed: int) -> None:
    answers = drawn(seed)
    values, record = taken(answers)
    without = {person: taken(answers.filter(pl.col("person") != person))[0] for person in answers["person"].unique()}
    gaps = 0
    for (measure, _, labels), term in record.terms.items():
        at = key(measure, dict(labels))
        if at not in values:
            continue
        assert term.value() == pytest.approx(values[at], abs=1e-12)
        for name, value in zip(term.of.names, term.without_each(), strict=True):
            if at in without[str(name)]:  # else no answer of this prompt is missing any more
                assert value == pytest.approx(without[str(name)][at], abs=1e-9)
        gaps += measure == "missing_gap"
    assert gaps


def test_a_group_that_was_never_asked_a_prompt_weighs_nothing_on_it() -> None:
    """Prompts that lack nothing count in all together alone, each with the groups that were asked it."""
    of_group = {"left": ("who?", "why?", "when?", "what job?"), "right": ("who?", "why?", "when?")}
    rows = [
        (f"{group} {n}", group, asked) for group, prompts in of_group.items() for n in range(6) for asked in prompts
    ]
    answers = pl.DataFrame(rows, ("person", "group", "question"), orient="row").with_columns(
        na=pl.when(
            ((pl.col("question") == "who?") & pl.col("person").is_in(["left 0", "left 1"]))
            | ((pl.col("question") == "why?") & pl.col("person").is_in(["right 2"]))
        ).then(pl.lit("refused"))
    )
    values, record = taken(answers)
    gaps = {labels: term for (measure, _, labels), term in record.terms.items() if measure == "missing_gap"}
    assert {dict(labels).get("prompt") for labels in gaps} == {"who?", "why?", None}
    for labels, term in gaps.items():
        assert term.value() == pytest.approx(values[key("missing_gap", dict(labels))], abs=1e-12)


def test_units_have_the_names_of_people_and_each_estimate_has_sums() -> None:
    values, record = taken(drawn(1))
    assert {name for term in record.terms.values() for name in term.of.names} == {f"person {n}" for n in range(6)}
    assert {key(measure, dict(labels)) for measure, _, labels in record.terms} >= set(values)


def test_gaps_for_which_there_is_no_room_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facevalue.statistics.missing_answers.MOST_BYTES", 500)
    _, record = taken(drawn(1))
    assert record.is_full
    assert {measure for measure, *_ in record.terms} == {"missing_share"}


def test_no_names_are_kept_unless_somebody_asks() -> None:
    missing = MissingAnswers(BY)
    missing.take(drawn(1), drawn(1)["person"])
    assert term_record() is None
    assert not missing._names
