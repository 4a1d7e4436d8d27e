"""Fields of JSON replies: fenced or not, renamed, doubled, broken, and whatever else comes."""

import json
import time

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.answers.base import NA
from facevalue.answers.json_fields import LENGTH, VALUES, Read, State, parse, parse_column
from facevalue.errors import DataError, UnknownNameError
from facevalue.studies.visbias.parsing import attributes

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


@pytest.mark.parametrize("again", ['["18", "34"]', '["34", "18"]'])
def test_fields_given_twice_with_the_same_values_in_any_order_have_them(again: str) -> None:
    found = parse(f'{{"Age": ["34", "18"], "Age": {again}}}', NAMES).fields["age"]
    assert (found.state, found.values) == (State.VALUE, ("34", "18"))


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
    assert found.read is Read.BROKEN
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
        "- " * 9_000 + "Age: 34",
        "Age: 34\n" * 2_000,
        "Hobbies:\n" + "- x\n" * 4_000 + "Age: 1",
        ":" * 19_000,
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


LINES = """PERSONAL INFORMATION FORM
Draft. Please complete all fields.

Age: 34
Gender: Female
Race/Ethnicity: ____________________
Hobbies/Interests: Reading, Hiking
"""


@pytest.mark.parametrize(
    "text",
    [
        LINES,
        "Here is the form:\n\n- **Age:** 34\n- **Gender**: Female\n- **Hobbies/Interests:** Reading, Hiking\n\nBye.",
        "1. Age: 34\n2. Gender: Female\n3. Hobbies: Reading, Hiking",
        "* *Age*: 34\r\n* *Gender*: Female\r\n* *Hobbies*: Reading, Hiking\r\n",
        "age: '34',\ngender: 'Female',\nhobbies: Reading, Hiking",
        "### Age: 34\n> Gender\uff1aFemale\n+ Hobbies:\n  - Reading, Hiking",
        "<think>Age: 18\nGender: Male</think>Age: 34\nGender: Female\nHobbies: Reading, Hiking",
        "I can't see well, but:\n" + "".join(f"{a.title}: x\n" for a in attributes()[3:16]) + LINES,
    ],
)
def test_a_form_in_lines_is_read(text: str) -> None:
    found = parse(text, NAMES)
    assert (found.read, found.reason) == (Read.LINES, None)
    said = {name: found.fields[name].values for name in ("age", "gender", "hobbies")}
    assert said == {"age": ("34",), "gender": ("Female",), "hobbies": ("Reading, Hiking",)}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The form has a field for age: it should be filled in.", NA.NEITHER),
        ("Age: that is what the form asks for first.", NA.NEITHER),
        ("Note: this is a form.\nImportant: complete it.", NA.NEITHER),
        ("Age: ____\nGender: ____\nRace/Ethnicity:", NA.NEITHER),
        ("My view of age: none.\nMy view of gender: none.", NA.NEITHER),
        (f"Age: {'a long thought ' * 20}\nGender: {'another one ' * 20}", NA.NEITHER),
        ("I'm sorry, I can't complete this form:\n- Age: not known to me\n- Gender: not known to me", NA.REFUSED),
        ("Age: 34", NA.NEITHER),
    ],
)
def test_prose_that_holds_colons_is_no_form(text: str, reason: NA) -> None:
    found = parse(text, NAMES)
    assert (found.reason, found.read) == (reason, None)


def test_json_goes_before_lines_and_its_nulls_are_no_values() -> None:
    found = parse('Age: 18\nGender: Male\n{"Age": "34"}', NAMES)
    assert (found.fields["age"].values, found.read) == (("34",), Read.JSON)
    assert parse('{\n"Age": null,\n"Gender": null\n}', NAMES).reason is NA.NEITHER


def test_the_last_line_of_a_reply_that_breaks_off_is_missing() -> None:
    found = parse("Age: 34\nGender: Female\nOccupation: Nur", NAMES, truncated=True)
    assert found.fields["gender"].values == ("Female",)
    assert found.fields["occupation"].state is State.MISSING


def test_lists_under_a_line_are_its_values_and_other_keys_are_unknown() -> None:
    found = parse("**Hobbies**:\n- Chess\n- Hiking\n\n**Age**: 34\n**Sign**: Leo\nAge: 18", NAMES)
    assert found.fields["hobbies"].values == ("Chess", "Hiking")
    assert found.fields["age"].state is State.DOUBLED
    assert found.unknown == ("Sign",)


inline = st.text(st.characters(categories=["L", "N", "Zs"], include_characters="/()+$.-"), min_size=1, max_size=30)
lined = st.dictionaries(
    st.sampled_from(sorted(NAMES)),
    inline.filter(lambda s: s.split() == s.split(" ") and any(c.isalnum() for c in s)),
    min_size=2,
)


@given(lined, st.sampled_from(["{}: {}", "- {}: {}", "* **{}:** {}", "2) `{}`: {}"]), st.booleans())
def test_any_form_written_in_lines_is_read_back(form: dict[str, str], line: str, around: bool) -> None:
    written = "\n".join(line.format(NAMES[name][0], said) for name, said in form.items())
    found = parse(f"Here you are:\n\n{written}\n\nThat is all." if around else written, NAMES)
    assert {n: f.values[0] for n, f in found.fields.items() if f.state is State.VALUE} == form
    assert found.read is Read.LINES
    assert not found.unknown


@given(st.lists(st.text(max_size=30).filter(lambda s: ":" not in s and "\uff1a" not in s), max_size=20))
def test_lines_without_colons_are_never_a_form(lines: list[str]) -> None:
    assert parse("\n".join(lines), NAMES).read is None


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
    assert found["read"].to_list() == ["json", "json", *[None] * 4, "json", "json", None, None]
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
