"""Fields of JSON replies: fenced or not, renamed, doubled, broken, and whatever else comes."""

import json
import time

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.answers.base import NA
from facevalue.answers.json_fields import LENGTH, VALUES, State, parse, parse_column
from facevalue.errors import DataError, UnknownNameError
from facevalue.studies.visbias.tables import attributes

NAMES = {a.name: [a.title, *a.keys] for a in attributes()}


def values(text: str, name: str) -> tuple[str, ...]:
    return parse(text, NAMES).fields[name].values


@pytest.mark.parametrize(
    "text",
    [
        '{"Age": "34"}',
        '{"Age": 34}',
        '```json\n{"Age": "34"}\n```',
        'Sure! Here it is:\n```\n{"Age": "34",}\n```\nAnything else?',
        "{“Age”: “34”}",
        '{"age": " 34 "}',
        '{"AGE:": "34"}',
        '{"Personal Information": {"Name": "Jo", "Age": "34"}}',
        '{"form": {"part 1": {"Age": "34"}}}',
        '[{"Gender": "Male"}, {"Age": "34"}]',
        '{"fields": [{"Age": "34"}]}',
        '{"Age": ["34"]}',
        '{"Age": "34", "Age": "34"}',
        '{"Age": null, "Age Group": "34"}',
        '<think>{"Age": "18"}</think>{"Age": "34"}',
        '{"Age": "34", "Gender": "Ma',
        '{"Age": "34" "Gender": Male}\n{"Age": "34"}',
        '{"note": "a } in a string", "Age": "34"}',
        'A set {of words} and then {"Age": "34"}',
    ],
)
def test_a_field_is_read_whatever_is_around_it(text: str) -> None:
    assert values(text, "age") == ("34",)
    assert parse(text, NAMES).reason is None


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("Race", "race"),
        ("race_ethnicity", "race"),
        ("Ethnicity", "race"),
        ("HasChildren", "has children"),
        ("Language Spoken", "languages spoken"),
        ("Educational Level", "education level"),
        ("Occuption", "occupation"),
        ("hobbies_and_interests", "hobbies"),
        ("Politcal Spectrum", "political spectrum"),
    ],
)
def test_renamed_keys_find_their_field(key: str, name: str) -> None:
    found = parse(json.dumps({key: "x"}), NAMES).fields[name]
    assert (found.state, found.values, found.key) == (State.VALUE, ("x",), key)


@pytest.mark.parametrize("key", ["Name", "Height", "Ag", "", "?", "Status", "x" * 1000])
def test_other_keys_are_no_field(key: str) -> None:
    found = parse(json.dumps({key: "x", "Age": "34"}), NAMES)
    assert [name for name, field in found.fields.items() if field.state is State.VALUE] == ["age"]
    assert found.unknown == (key[:LENGTH],)


def test_lists_and_other_values_become_texts() -> None:
    text = '{"Hobbies/Interests": ["Reading", "", null, "Hiking"], "Has Children": false, "Annual Income": 45000.50}'
    assert values(text, "hobbies") == ("Reading", "Hiking")
    assert values(text, "has children") == ("No",)
    assert values(text, "annual income") == ("45000.50",)
    assert values('{"Languages": {"first": "English", "second": "Thai"}}', "languages spoken") == ("English", "Thai")


@pytest.mark.parametrize("text", ['{"Age": null}', '{"Age": ""}', '{"Age": []}', "{}"])
def test_empty_fields_are_missing(text: str) -> None:
    found = parse(text, NAMES)
    assert found.fields["age"].state is State.MISSING
    assert found.reason in (NA.NEITHER, NA.EMPTY)


@pytest.mark.parametrize(
    "text", ['{"Age": "34", "Age": "18"}', '{"Age": "34", "age group": "18"}', '{"Age": "34"} or {"Age": "18"}']
)
def test_fields_given_twice_differently_are_doubled(text: str) -> None:
    found = parse(text, NAMES).fields["age"]
    assert (found.state, found.values) == (State.DOUBLED, ())


@pytest.mark.parametrize(
    ("text", "truncated", "reason"),
    [
        ("", False, NA.EMPTY),
        ("I'm sorry, I can't fill in personal information.", False, NA.REFUSED),
        ("The form asks for many things.", False, NA.NEITHER),
        ("The form asks for", True, NA.TRUNCATED),
        ('{"Name": "Jo"}', False, NA.NEITHER),
    ],
)
def test_replies_without_a_field_say_why(text: str, truncated: bool, reason: NA) -> None:
    assert parse(text, NAMES, truncated=truncated).reason is reason


def test_a_reply_cut_short_keeps_its_whole_fields() -> None:
    found = parse('{"Age": "34", "Hobbies": ["Reading", "Hiking"], "Gender": "Fem', NAMES, truncated=True)
    assert found.broken
    assert found.fields["hobbies"].values == ("Reading", "Hiking")
    assert found.fields["gender"].state is State.MISSING
    assert found.reason is None


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"Age": ' + "9" * 19_000 + "}",
        '{"Age": NaN, "Gender": -Infinity}',
        '"' * 19_999,
        "{" + '"Age": "34", ' * 1_000 + "}",
        '{"Hobbies": [' + '"x",' * 4_000 + "]}",
        '{"Age": "\\ud800"}',
        "{" * 9_000 + "}" * 9_000,
    ],
)
def test_hostile_replies_are_read_within_bounds(text: str) -> None:
    start = time.perf_counter()
    found = parse(text, NAMES)
    assert time.perf_counter() - start < 2
    for field in found.fields.values():
        assert len(field.values) <= VALUES
        assert all(len(value) <= LENGTH for value in field.values)


forms = st.dictionaries(
    st.sampled_from(sorted(NAMES)),
    st.lists(st.text(min_size=1, max_size=12).filter(lambda s: s.strip() == s), min_size=1, max_size=3),
    min_size=1,
)


@given(forms, st.booleans(), st.sampled_from(["{}", "```json\n{}\n```", "Here you are: {} Bye."]))
def test_any_form_written_as_json_is_read_back(form: dict[str, list[str]], indent: bool, around: str) -> None:
    written = json.dumps({NAMES[name][0]: said for name, said in form.items()}, indent=2 if indent else None)
    found = parse(around.replace("{}", written), NAMES)
    assert {n: list(f.values) for n, f in found.fields.items() if f.state is State.VALUE} == form
    assert not found.unknown


@given(st.text(max_size=200))
def test_any_text_gives_each_field_or_a_reason(text: str) -> None:
    found = parse(text, NAMES)
    assert list(found.fields) == list(NAMES)
    there = any(field.state is not State.MISSING for field in found.fields.values())
    assert there == (found.reason is None)


def test_a_column_has_a_row_per_reply_and_field() -> None:
    frame = pl.DataFrame(
        {
            "text": ['{"Age": "34"}', None, '{"Age": "34"}', '{"Age": 1, "Age": 2}', "sorry"],
            "status": ["ok", "error", "refused", "ok", "ok"],
        }
    )
    found = parse_column(frame, "text", {"age": ["Age"], "gender": ["Gender"]})
    assert found["row"].to_list() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    ages = found.filter(attribute="age")
    assert ages["values"].to_list() == [["34"], None, None, None, None]
    assert ages["state"].to_list() == ["value", "missing", "missing", "doubled", "missing"]
    assert ages["na"].to_list() == [None, "error", "refused", None, "refused"]


def test_half_a_character_does_not_stop_a_column() -> None:
    found = parse_column(pl.DataFrame({"text": ['{"Age": "\\ud800"}']}), "text", {"age": ["Age"]})
    assert found["values"].to_list() == [["?"]]


def test_keys_of_two_fields_and_missing_columns_are_named() -> None:
    with pytest.raises(DataError, match="two fields"):
        parse("{}", {"a": ["x"], "b": ["X"]})
    with pytest.raises(UnknownNameError, match="text"):
        parse_column(pl.DataFrame({"text": ["{}"]}), "txt", NAMES)
