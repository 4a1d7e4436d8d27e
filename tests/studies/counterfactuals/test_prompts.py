"""Prompts: Tables 6, 7, 15 and 17 in the wording of the paper, mended, and of the authors' code."""

import hashlib
import json
from typing import Any

import polars as pl
import pytest

from facevalue.protocol.study import Study
from facevalue.protocol.toml_tables import builtin
from facevalue.studies.counterfactuals.pictures import with_words
from facevalue.studies.counterfactuals.settings import FURTHER, MAIN, RATINGS, TITLES
from facevalue.types import Question
from tests.studies.counterfactuals.answered import designed, manifest


def study_of(prompt: str, wording: str = "paper", shown: str = "picture", **levels: str | None) -> Study:
    picture = {"image": "1", "subset": "one", "set": "1", "group": "old female", "occupation": "accountant", **levels}
    frame = pl.DataFrame([picture], schema=dict.fromkeys(picture, pl.String))
    versions: dict[str, Any] = {"prompts": wording, "shown": shown}
    questions, ratings = ((), (prompt,)) if prompt in RATINGS else ((prompt,), ())
    return designed(with_words(frame, versions), questions, ratings, **versions)


def asked(prompt: str, wording: str = "paper", shown: str = "picture", **levels: str | None) -> Question:
    study = study_of(prompt, wording, shown, **levels)
    return study.ask(study.design.trials([0]))[0]


def test_prompts_are_those_of_the_paper_to_the_letter() -> None:
    # The digest was taken of texts that were found, each whole, in the paper's Tables 6, 7 and 15.
    texts = {**MAIN, **FURTHER, **RATINGS}
    assert (len(MAIN), len(FURTHER), len(RATINGS)) == (5, 6, 5)
    assert set(texts) == set(TITLES)
    digest = hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()
    assert digest == "c4b6efc00653ed9e56e244bad0839b4b14187553d83893c5aa01832039090b36"


def test_the_occupation_is_named_with_the_papers_article_or_a_mended_one() -> None:
    assert "arrived for their interview as a accountant. Their" in asked("hiring").prompt
    assert "arrived for their interview as an accountant. Their" in asked("hiring", "clean").prompt
    assert asked("performance", "clean", occupation="cook").prompt.startswith("This is a cook you have hired.")


def test_the_released_code_differs_by_an_apostrophe_and_a_space() -> None:
    assert "I’m not interested" in asked("keywords", "released").prompt
    assert "I'm not interested" in asked("keywords").prompt
    assert asked("hiring", "released").prompt.endswith("Rating: ")
    assert asked("salary", "released").prompt.endswith("Salary: ")
    assert asked("salary").prompt.endswith("Salary:")


def test_m1_stands_before_the_prompt_and_the_others_behind_it() -> None:
    plain = asked("characteristics")
    before = builtin()["m1"].question(plain).prompt
    assert before.startswith("People should not be judged")
    assert before.endswith(plain.prompt)
    for name in ("m2", "m3", "m4", "m5"):
        assert builtin()[name].question(plain).prompt.startswith(f"{plain.prompt} ")
    assert builtin()["m5"].after == f"{builtin()['m5-released'].after}."


@pytest.mark.parametrize(
    ("wording", "group", "occupation", "said"),
    [
        ("paper", "old female", "accountant", "You are looking at a picture of a old female accountant, What are"),
        ("clean", "old female", "accountant", "You are looking at a picture of an old female accountant, What are"),
        ("clean", "Black male", None, "You are looking at a picture of a Black male person, What are"),
    ],
)
def test_the_counterpart_says_in_words_who_is_in_the_picture(
    wording: str, group: str, occupation: str | None, said: str
) -> None:
    found = asked("personality", wording, "text", group=group, occupation=occupation)
    assert found.prompt.startswith(said)


def test_a_question_with_a_picture_never_names_the_group() -> None:
    for name in TITLES:
        question = asked(name, group="obese male")
        assert "obese" not in json.dumps([question.prompt, *question.factors.values()])


def test_equal_questions_are_one_object_and_each_reply_has_a_seed_of_its_own() -> None:
    study = designed(manifest(1), ("describe",))
    trials = study.design.trials([0, 3, 2])
    assert trials.select(pl.col("image").cast(pl.String), "draw").rows() == [
        ("age0/old male", "0"), ("age0/old female", "0"), ("age0/old male", "2"),
    ]  # fmt: skip
    one, two, other = study.ask(trials)
    assert one is two
    assert (one.draw, other.draw) == (0, 2)


def test_simulated_models_name_words_where_keywords_are_asked_for() -> None:
    assert "keywords" in asked("personality").factors
    assert "keywords" not in asked("describe").factors
    assert asked("hiring").factors["stated"] == '{"": [1.0, 10.0]}'
