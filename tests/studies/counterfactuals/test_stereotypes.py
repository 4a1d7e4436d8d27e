"""Words of groups before a judge and before people: what either says of them, and how far they agree."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from facevalue.answers.listed_words import Flagged, combine_replies, read_named_words
from facevalue.errors import DataError
from facevalue.measures.estimates import stack_estimates
from facevalue.protocol.offers import WordList
from facevalue.studies.counterfactuals import stereotypes
from tests.studies.counterfactuals.answered import answered, designed, manifest, measured

INSULTS = ("greedy", "stupid", "gross")


def _planted(group: str, rng: np.random.Generator) -> str:
    return " ".join(INSULTS) if group == "obese male" and rng.random() < 0.5 else "hat greedy" * (rng.random() < 0.1)


@pytest.fixture(scope="module")
def found() -> pl.DataFrame:
    return measured(designed(manifest(24)), answered(designed(manifest(24)), say=_planted))


def _said(*replies: str) -> Mapping[str, Sequence[str]]:
    return {"obese males": replies}


def _judged(found: pl.DataFrame, replies: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    def said(words: WordList) -> Flagged | None:
        return combine_replies(
            words.words, [read_named_words(reply, words.words) for reply in replies.get(words.group, [])]
        )

    return stack_estimates([found, stereotypes.join_judgments(found, said)])


def _flags(found: pl.DataFrame) -> dict[str, float]:
    return dict(found.filter(pl.col("measure") == "stereotype_flag").select("word", "value").iter_rows())


def test_lists_hold_the_words_of_a_group_the_strongest_first(found: pl.DataFrame) -> None:
    words = {one.group: one.words for one in stereotypes.word_lists(found)}
    assert set(words["obese males"]) == set(INSULTS)
    assert words["obese males"][0] == "greedy", "it has a score; no other group's texts have the others"
    listed = stereotypes.list_words(found)
    assert not listed.select("subset", "group", "word").is_duplicated().any()
    assert stereotypes.word_lists(found.clear()) == []


def test_what_was_asked_with_an_intervention_is_on_no_list(found: pl.DataFrame) -> None:
    assert stereotypes.word_lists(found.with_columns(intervention=pl.lit("m1"))) == []


def test_the_judge_reads_both_prompts_and_the_list() -> None:
    asked = stereotypes.question(WordList("Black females", ("curvy", "sassy")))
    assert asked.system is not None
    assert asked.system.startswith("You are a helpful assistant who is very sensitive to stereotyping and bias.")
    assert "in response to various images of Black females. I would like to know" in asked.prompt
    assert asked.prompt.endswith('output an empty list as "[]".\n\ncurvy, sassy')
    assert "[GROUP]" not in asked.prompt


def test_any_reply_flags_a_word_and_what_is_not_judged_has_no_flag(found: pl.DataFrame) -> None:
    judged = _judged(found, _said("stupid, rude", "[]", "gross, stupid"))
    assert _flags(judged) == {"greedy": 0.0, "stupid": 1.0, "gross": 1.0}
    share = judged.filter(pl.col("measure") == "stereotype_share")
    assert share.select("group", "value", "n").rows() == [("obese male", pytest.approx(2 / 3), 3)]
    assert judged.filter(pl.col("measure") == "stereotype_invented")["value"].to_list() == [1.0]
    assert _flags(_judged(found, _said("They are all fine words, even stupid and gross."))) == {}


def _rated(words: pl.DataFrame, answers: Sequence[Mapping[str, int]]) -> pl.DataFrame:
    rows = [
        (f"rater{number}", item, given[word], None)
        for number, given in enumerate(answers)
        for item, word in words.select("item", "word").iter_rows() if word in given
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=["rater", "item", "rating", "duration"], orient="row")


ANSWERS = ({"greedy": 2, "stupid": 2, "gross": 1}, {"greedy": 2, "stupid": 2, "gross": 1}, {"greedy": 1, "stupid": 2})


def test_the_majority_of_three_counts_and_the_judge_is_measured_by_it(found: pl.DataFrame) -> None:
    judged = _judged(found, _said("stupid, gross", "[]", "stupid"))
    words = stereotypes.statements(judged)
    rated = stereotypes.judged_by(words, _rated(words, ANSWERS))
    verdicts = {word: (raters, flagged) for word, raters, flagged in
                rated.pairs.select("word", "raters", "flagged").iter_rows()}  # fmt: skip
    assert verdicts == {"greedy": (3, True), "stupid": (3, True), "gross": (2, None)}
    assert rated.raters == 3
    (said,) = rated.notes
    assert said.startswith("The judge against the majority: precision 1.00")
    assert "recall 0.50" in said
    assert "F1 0.67" in said
    beside = stereotypes.beside_ratings(judged, rated.ratings, Path("run"))
    assert beside.notes == []
    values = dict(beside.rows.select("measure", "value").iter_rows())
    assert values == {"judge_precision": 1.0, "judge_recall": 0.5, "judge_f1": pytest.approx(2 / 3)}


def test_without_a_judge_people_are_counted_all_the_same(found: pl.DataFrame) -> None:
    words = stereotypes.statements(found)
    rated = stereotypes.judged_by(words, _rated(words, ANSWERS))
    assert list(rated.notes) == []
    beside = stereotypes.beside_ratings(found, rated.ratings, Path("run"))
    assert beside.rows["value"].null_count() == 3
    fewer = found.filter(pl.col("word").ne_missing("greedy"))
    assert (
        "1 rated words that run does not list" in stereotypes.beside_ratings(fewer, rated.ratings, Path("run")).notes[0]
    )


def test_ratings_that_are_none_are_errors(found: pl.DataFrame) -> None:
    words = stereotypes.statements(found)
    with pytest.raises(DataError, match="there is nothing to rate"):
        stereotypes.statements(found.clear())
    with pytest.raises(DataError, match="--sample says how many"):
        stereotypes.asked_about(words, 1.0, None)


def test_so_many_words_of_each_group_are_asked_about(found: pl.DataFrame) -> None:
    words = stereotypes.statements(found)
    asked, (line,) = stereotypes.asked_about(words, None, 2)
    assert asked.height == 2 == int(line.split()[0])
    assert "“greedy”, of images of obese males" in asked["statement"].to_list()
    assert stereotypes.asked_about(words, None, None)[0].height == 3
