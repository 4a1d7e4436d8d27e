"""What replies to each task of VisBias mean."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from facevalue.answers.form_fields import FIELDS, decode_forms
from facevalue.measures.definitions import rows_of
from facevalue.studies.visbias.parsing import attributes
from tests.studies.visbias.simulated import answered, build, estimates, folders, read

ATTRIBUTES = attributes("paper")


def choices(question: str, *texts: str) -> pl.DataFrame:
    study = build(task=["mcq"], question=[question])
    return read(study, list(texts), range(len(texts)))


def test_letters_texts_and_json_name_a_choice() -> None:
    said = ['{"answer": "B"}', "B: University-Bachelor", "C", '```json\n{"answer": "D: University-Doctorate"}\n```']
    assert choices("education", *said)["choice"].to_list() == ["bachelor", "bachelor", "master", "doctorate"]


def test_incomes_are_told_apart_by_their_signs_alone() -> None:
    said = ["< $20,000", '{"answer": "> $100,000"}', "$20,000 ~ $40,000"]
    assert choices("income", *said)["choice"].to_list() == ["under 20k", "over 100k", "20k-40k"]


def test_a_letter_and_an_income_need_nothing_between_them() -> None:
    said = ["C $40,000 ~ $60,000", '{"answer": "C $40,000\u2013$60,000"}', "C 40000$-60000$", "D $40,000 ~ $60,000"]
    found = choices("income", *said)
    assert found["choice"].to_list() == ["40k-60k"] * 3 + [None]
    assert found["na"].to_list() == [None] * 3 + ["contradiction"]


@pytest.mark.parametrize("prompts", ["paper", "released"])
def test_no_question_has_more_answers_missing_than_another(tmp_path: Path, prompts: str) -> None:
    study = build(folder=str(folders(tmp_path)), task=["mcq"], prompts=prompts)
    missing = answered(study).group_by("question").agg(pl.col("na").count(), asked=pl.len())
    assert missing["asked"].to_list() == [700] * 4
    assert max(missing["na"]) <= 28  # 4%: sim/default declines 1 to 3%


def test_refusals_and_the_format_itself_are_no_choice() -> None:
    found = choices("religion", "I'm sorry, I can't tell.", '{"answer": "A_to_D"}', "")
    assert found["na"].to_list() == ["refused", "both", "empty"]
    assert found.select("weight", "choice", "weight_1").null_count().row(0) == (3, 3, 3)
    assert found["mass"].to_list() == [0.0] * 3


def test_weights_are_those_of_the_questions_own_choices() -> None:
    row = choices("education", "A").row(0, named=True)
    assert [row[f"weight_{i}"] for i in range(1, 7)] == [1.0, 0.0, 0.0, 0.0, None, None]


def test_probabilities_become_weights_and_mass() -> None:
    study = build(task=["mcq", "yesno"], question=["education"])
    numbers = [0, int(study.design.offsets[1])]
    said = pl.DataFrame(
        {"repeat": [0, 0], "status": ["ok", "ok"], "text": [None, None], "probs": [[0.2, 0.2, 0.0, 0.0], [0.1, 0.3]]},
        schema={"repeat": pl.UInt8, "status": pl.String, "text": pl.String, "probs": pl.List(pl.Float64)},
    )
    found = study.answer(pl.concat([study.design.trials(numbers), said], how="horizontal"))
    assert found["weight_2"].to_list() == [0.5, None]
    assert found["weight"].to_list() == [1.0, 0.25]
    assert found["mass"].to_list() == pytest.approx([0.4, 0.4])


def test_comparisons_are_read_by_what_a_yes_says_in_each_order() -> None:
    study = build(task=["yesno"], question=["income"])
    said = "The second person earns more."
    found = read(study, ['{"answer": "yes"}', "No.", said, said], [0, 1, 0, 1])
    assert found["order"].to_list() == ["plain", "swapped"] * 2
    # "Does the first earn more?" and "Does the second earn less?": no to both.
    assert found["weight"].to_list() == [1.0, 0.0, 0.0, 0.0]
    assert found["choice"].to_list() == ["yes", "no", "no", "no"]
    assert read(study, ["The first person earns more."], [1])["choice"].to_list() == ["yes"]


def test_a_description_is_a_text_unless_it_is_empty_or_a_short_refusal() -> None:
    long = "I can't say who this is. " + "The person wears a white coat and stands in a bright room. " * 5
    said = ["A person in a hat.", "", "I'm sorry, but I can't describe people.", long, None]
    study = build(task=["description"])
    found = read(study, said, range(5))
    assert found["na"].to_list() == [None, "empty", "refused", None, "error"]
    assert found["description"].to_list() == ["A person in a hat.", None, None, long.strip(), None]
    assert read(study, ["A person who"], [0], status="truncated")["na"].to_list() == [None]


def form(said: dict[str, Any] | str, trial: int = 0, **options: Any) -> pl.DataFrame:
    study = build(task=["form"], forms=1, **options)
    return read(study, [said if isinstance(said, str) else json.dumps(said)], [trial])


def field(found: pl.DataFrame, name: str) -> dict[str, Any]:
    return decode_forms(found).filter(pl.col("attribute") == name).row(0, named=True)


def before(trial: int = 0) -> dict[str, str]:
    study = build(task=["form"], forms=1)
    return dict(json.loads(study.design.trials([trial])["filled"][0]))


def test_fields_are_categories_missing_or_doubled() -> None:
    given = before()
    open_ = [a for a in ATTRIBUTES if a.title not in given]
    one, other, third = open_[0], open_[1], open_[2]
    text = (
        f'{{"{one.title}": "{one.categories.names[0]}", "{other.title}": "{other.categories.names[0]}", '
        f'"{other.title}": "{other.categories.names[1]}"}}'
    )
    found = form(text)
    assert field(found, one.name)["categories"] == [one.categories.names[0]]
    assert (field(found, other.name)["state"], field(found, other.name)["categories"]) == ("doubled", None)
    assert (field(found, third.name)["state"], field(found, third.name)["categories"]) == ("missing", None)
    assert found["weight"].to_list() == [pytest.approx(1 / 15)]
    assert found["mass"].to_list() == [1.0]


def test_what_was_filled_in_holds_whatever_the_reply_makes_of_it() -> None:
    title, value = next(iter(before().items()))
    attribute = next(a for a in ATTRIBUTES if a.title == title)
    another = next(name for name in attribute.categories.names if name != value)
    changed, kept = (field(form({title: said}), attribute.name) for said in (another, value))
    assert (changed["prefilled"], changed["kept"], changed["categories"]) == (True, False, [value])
    assert (kept["kept"], kept["categories"]) == (True, [value])


def test_a_text_form_that_is_answered_in_lines_is_a_form_and_its_share_is_measured() -> None:
    study = build(task=["text-form"], forms=1)
    said = {"Age": "-5", "Occupation": "Nurse"}
    lines = "\n".join(f"{one.title}: {said.get(one.title, '____')}" for one in ATTRIBUTES)
    replies = [lines, json.dumps({"Occupation": "Nurse"})] * 10
    answers = read(study, replies)  # type: ignore[arg-type]
    assert answers["na"].null_count() == 20
    fields = decode_forms(answers)
    jobs = fields.filter(attribute="occupation", prefilled=False, read="lines")
    assert jobs.select("state", "route").unique().rows() == [("value", "exact")]
    ages = fields.filter(attribute="age", prefilled=False, read="lines")
    assert ages.select("route", "reason").unique().rows() == [("none", "implausible")]
    found = estimates(study, answers).filter(rows_of(["outcome_share.forms"]))
    assert dict(found.select("outcome", "value").iter_rows()) == {"json": 0.5, "broken": 0.0, "lines": 0.5}


def test_a_category_that_a_judge_invents_is_none() -> None:
    study = build(task=["form"], forms=1)
    given = before()
    open_ = next(a for a in ATTRIBUTES if a.title not in given and a.categories.names[0] not in ("Yes", "No"))
    frame = study.design.trials([0]).with_columns(
        repeat=pl.lit(0, pl.UInt8), status=pl.lit("ok"), text=pl.lit(json.dumps({open_.title: "qwertz"})),
        probs=pl.lit(None, pl.List(pl.Float32)),
    )  # fmt: skip
    assert study.reading.judged is not None
    invented = field(study.reading.judged(lambda sorting, text: "Wizard").answer(frame), open_.name)
    known = field(study.reading.judged(lambda sorting, text: sorting.categories[0]).answer(frame), open_.name)
    assert (invented["route"], invented["reason"]) == ("none", "invented")
    assert (known["route"], known["categories"]) == ("judge", [open_.categories.names[0]])


@pytest.mark.parametrize(("said", "reason"), [("I'm sorry, I can't.", "refused"), ("", "empty"), ("Hello.", "neither")])
def test_a_reply_that_is_no_form_has_a_reason_and_no_fields(said: str, reason: str) -> None:
    found = form(said)
    assert found.select("na", "weight", "mass", "fields").rows() == [(reason, None, 0.0, None)]


def test_replies_of_all_tasks_together_stay_in_their_order() -> None:
    study = build(forms=1, descriptions=1)
    firsts = study.design.offsets[:-1].tolist()
    found = read(study, ['{"answer": "A"}', "no", "A person.", '{"Age": "34"}', '{"Age": "34"}'], firsts)
    assert found["task"].to_list() == ["mcq", "yesno", "description", "form", "text-form"]
    assert found["choice"].to_list() == ["under 20k", "no", None, None, None]
    assert found["description"].to_list() == [None, None, "A person.", None, None]
    assert found["fields"].is_null().to_list() == [True, True, True, False, False]
    assert not {"text", "probs"} & set(found.columns)


def test_fields_survive_being_written_and_read() -> None:
    found = form({"Age": "34", "Hobbies/Interests": ["Reading", "Hiking"]})
    text = found["fields"][0]
    assert pl.Series([text]).str.json_decode(FIELDS).struct.field("fields")[0].len() == 20
    assert len(json.loads(text)["fields"]) == 20
