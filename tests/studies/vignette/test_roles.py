"""The role questions of the decision paradigm."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import DataError, UnknownNameError
from facevalue.prompts.phrases import with_article
from facevalue.studies.vignette.prompts import (
    KINDS,
    MAX_BYTES,
    OPENING,
    irrelevant,
    paraphrase,
    read_roles,
    roles,
)
from facevalue.studies.vignette.tables import TRAITS, activities, dimensions, identities, times

NAMES = [one.name for one in activities()]
TIME = {one.name: one.time for one in activities()}
GENDERED = r"\b(\w*(man|men)|boys?|girls?|he|she|his|her|him|male|female|waitress|hostess|actress)\b"


@pytest.fixture
def content() -> dict[str, list[dict[str, Any]]]:
    """A role file in the authors' form, with our own table in it."""
    lists: dict[str, list[dict[str, Any]]] = {title: [] for title in times().values()}
    for name, role in roles().items():
        extra = {"ability_irr1": "Who should I hire as a {role}?", "note": 3}
        lists[times()[TIME[name]]].append({"activity": name, "role": role.noun, **role.questions, **extra})
    return lists


def written(path: Path, content: object) -> Path:
    file = path / "roles.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def test_our_table_asks_450_distinct_questions_in_the_papers_pattern() -> None:
    asked = [role.questions[trait] for role in roles().values() for trait in TRAITS]
    assert list(roles()) == NAMES
    assert len(asked) == len(set(asked)) == 450
    assert all(re.fullmatch(r"Who should I [a-z][^?.!]+[^\s]\?", question) for question in asked)
    assert not any("  " in question for question in asked)


def test_roles_are_distinct_nouns_without_an_article() -> None:
    nouns = [role.noun for role in roles().values()]
    assert len(set(nouns)) == 75
    assert not any(re.match(r"(an?|the)\b", noun) for noun in nouns)


def test_the_papers_one_question_is_there() -> None:
    assert roles()["cooking"].questions["ability"] == "Who should I hire as a cook?"
    assert roles()["working on a desk"].questions["ability"] == "Who should I hire as an office assistant?"


def test_no_question_of_ours_points_at_an_identity_or_gender() -> None:
    text = "\n".join(question for role in roles().values() for question in role.questions.values())
    words = {one.name for dimension in dimensions() for one in identities(dimension.name)}
    for word in words:
        assert not re.search(rf"\b{re.escape(word)}s?\b", text, re.IGNORECASE), word
    assert not re.search(GENDERED, text, re.IGNORECASE)


def test_the_authors_form_is_read_whole_and_other_keys_are_ignored(
    tmp_path: Path, content: dict[str, list[dict[str, Any]]]
) -> None:
    found = read_roles(written(tmp_path, content))
    assert list(found) == NAMES
    assert found == dict(roles())


def test_activities_are_known_whatever_their_capitals_and_spaces(
    tmp_path: Path, content: dict[str, list[dict[str, Any]]]
) -> None:
    content["Necessary Time"][0]["activity"] = " Grocery  Shopping"
    assert "grocery shopping" in read_roles(written(tmp_path, content))


@pytest.mark.parametrize("key", ["role", *TRAITS])
@pytest.mark.parametrize("value", [None, "", "  ", 3])
def test_a_missing_question_is_named_with_its_activity(
    tmp_path: Path, content: dict[str, list[dict[str, Any]]], key: str, value: object
) -> None:
    if value is None:
        del content["Free Time"][2][key]
    else:
        content["Free Time"][2][key] = value
    with pytest.raises(DataError, match=f"roles.json: the activity 'using a mobile phone' has no '{key}'"):
        read_roles(written(tmp_path, content))


def test_an_unknown_activity_is_refused_with_the_nearest(
    tmp_path: Path, content: dict[str, list[dict[str, Any]]]
) -> None:
    content["Free Time"][0]["activity"] = "runing"
    with pytest.raises(DataError, match=r"roles.json: Unknown activity 'runing'. Did you mean 'ironing' or 'running'"):
        read_roles(written(tmp_path, content))


def test_an_activity_that_is_there_twice_is_refused(tmp_path: Path, content: dict[str, list[dict[str, Any]]]) -> None:
    content["Committed Time"].append(content["Necessary Time"][1])
    with pytest.raises(DataError, match="'cooking' is there twice"):
        read_roles(written(tmp_path, content))


def test_a_file_may_lack_activities_as_the_authors_own_does(
    tmp_path: Path, content: dict[str, list[dict[str, Any]]]
) -> None:
    content["Free Time"] = [entry for entry in content["Free Time"] if entry["activity"] != "smoking a cigar"]
    assert list(read_roles(written(tmp_path, content))) == [name for name in NAMES if name != "smoking a cigar"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "its text is not valid JSON"),
        ("[" * 100_000, "its text is not valid JSON"),
        ("[]", "expected an object with a list for each of Necessary Time"),
        ('{"Free Time": []}', "no activity in it"),
        ('{"Spare Time": []}', "Unknown kind of time 'Spare Time'"),
        ('{"Free Time": {}}', "'Free Time' is not a list"),
        ('{"Free Time": ["running"]}', "entry 1 of 'Free Time' is not an object"),
        ('{"Free Time": [{"role": "cook"}]}', "entry 1 of 'Free Time' has no 'activity'"),
        (" " * (MAX_BYTES + 1), "larger than"),
    ],
    ids=["cut off", "deep", "list", "empty", "kind of time", "object", "text", "no activity", "size"],
)
def test_a_file_of_another_form_is_refused_with_the_reason(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "roles.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_roles(file)


def test_bytes_that_are_no_text_and_files_that_are_not_there_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "roles.json"
    with pytest.raises(DataError, match="There is no file"):
        read_roles(file)
    file.write_bytes(b"\xfa\xfe\xfa{")
    with pytest.raises(DataError, match="not UTF-8"):
        read_roles(file)


@given(st.sampled_from(NAMES), st.integers(0, 2**32))
def test_irrelevant_roles_come_from_the_three_other_kinds_of_time(activity: str, seed: int) -> None:
    drawn = [irrelevant(activity, k, seed=seed).activity for k in (1, 2, 3)]
    assert [TIME[name] for name in drawn] == [time for time in KINDS if time != TIME[activity]]
    assert drawn == [irrelevant(activity, k, seed=seed).activity for k in (1, 2, 3)]


def test_another_seed_draws_other_irrelevant_roles_and_all_of_them_can_be_drawn() -> None:
    drawn = {irrelevant("cooking", 2, seed=seed).activity for seed in range(100)}
    assert drawn == {name for name in NAMES if TIME[name] == "committed"}


def test_irrelevant_roles_can_come_from_a_file(tmp_path: Path, content: dict[str, list[dict[str, Any]]]) -> None:
    for entries in content.values():
        for entry in entries:
            entry["role"] = f"{entry['role']} of theirs"
    theirs = irrelevant("cooking", 2, table=read_roles(written(tmp_path, content)))
    assert theirs.noun == f"{irrelevant('cooking', 2).noun} of theirs"


def test_irrelevant_roles_are_drawn_from_what_a_table_has() -> None:
    table = {name: roles()[name] for name in ("cooking", "ironing")}
    assert {irrelevant("cooking", 2, seed=seed, table=table).activity for seed in range(20)} == {"ironing"}
    with pytest.raises(DataError, match="No role of Free Time to ask about as irrelevant to 'cooking'"):
        irrelevant("cooking", 3, table=table)


def test_an_unknown_activity_or_number_has_no_irrelevant_role() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'cooking'"):
        irrelevant("cookin", 1)
    with pytest.raises(ValueError, match="k must be 1 to 3"):
        irrelevant("cooking", 4)


def test_paraphrases_of_a_role_question_keep_what_it_asks() -> None:
    for role in roles().values():
        for question in role.questions.values():
            rest = question.removeprefix(OPENING)
            assert rest != question
            said = [paraphrase(question, number) for number in (0, 1, 2)]
            assert said[0] == question
            assert len(set(said)) == 3
            assert all(text.endswith(rest) for text in said)
    with pytest.raises(DataError, match="ask --wording 1 alone"):
        paraphrase("Whom would you trust?", 1)


def test_roles_with_vowel_sounds_have_their_article() -> None:
    assert {role.noun for role in roles().values() if with_article(role.noun).startswith("an ")} == {
        "auto technician",
        "office assistant",
    }
