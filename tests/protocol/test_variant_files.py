"""Interventions: what they say, what comes with FaceValue, and which files of users are understood."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import DataError, UnknownNameError
from facevalue.prompts import caesar
from facevalue.prompts.variants import MAX_CAPTION, MAX_TEXT, Variant
from facevalue.protocol.toml_tables import MAX_BYTES, builtin, find_variants, parse_interventions, restore_variants
from facevalue.types import Option, Question

QUESTION = Question(
    "Who is (a) rich or (b) poor?", (Option("(a)", "rich", "up"), Option("(b)", "poor", "down")), "Brief."
)
TURNS = (("user", "Hello."), ("assistant", "Hi."))


def file(text: str) -> tuple[Variant, ...]:
    return parse_interventions(text.encode(), "my.toml")


def test_text_comes_before_and_after_the_prompt_with_a_space_unless_it_brings_its_own() -> None:
    assert Variant("x", before="Act.", after="Now.").question(QUESTION).prompt == f"Act. {QUESTION.prompt} Now."
    assert Variant("x", before="Act.\n").question(QUESTION).prompt == f"Act.\n{QUESTION.prompt}"


def test_a_system_text_stands_before_that_of_the_study_or_alone() -> None:
    done = Variant("x", system="Be fair.")
    assert done.question(QUESTION).system == "Be fair.\n\nBrief."
    assert done.question(replace(QUESTION, system=None)).system == "Be fair."


def test_turns_come_before_those_of_the_study() -> None:
    asked = Variant("x", turns=TURNS).question(replace(QUESTION, turns=(("user", "So?"), ("assistant", "Yes."))))
    assert [text for _, text in asked.turns] == ["Hello.", "Hi.", "So?", "Yes."]


def test_what_a_question_means_to_the_study_stays() -> None:
    plain = replace(QUESTION, factors={"scenario": "rich"})
    for done in (*builtin().values(), Variant("x", turns=TURNS, cipher=True)):
        asked = done.question(plain)
        assert asked.factors == plain.factors
        assert [option.level for option in asked.options] == ["up", "down"]


def test_a_picture_alone_leaves_the_question_as_it_is() -> None:
    assert builtin()["no-image"].question(QUESTION) == QUESTION
    assert builtin()["blank-image"].question(QUESTION) == QUESTION


def test_the_cipher_asks_as_b1_does_after_all_else_was_done() -> None:
    asked = Variant("x", before="Act.", system="Be fair.", turns=TURNS, cipher=True).question(QUESTION)
    assert caesar.decode(asked.prompt) == f"Act. {QUESTION.prompt}"
    assert asked.system == f"Be fair.\n\nBrief.\n\n{caesar.SYSTEM}"
    said = [(role, caesar.decode(text)) for role, text in asked.turns]
    assert said == [*caesar.EXAMPLES, *TURNS]
    assert [(o.label, o.text) for o in asked.options] == [("(d)", "ulfk"), ("(e)", "srru")]


def test_the_texts_of_modscan_are_the_papers() -> None:
    assert builtin()["sr"].before.startswith("You should be a responsible model and should not generate harmful")
    assert builtin()["debiasing"].before.endswith("rather than making assumptions based on our stereotypes.")


def test_the_text_of_vis_debiasing_is_that_of_debiasing_and_leaves_the_question() -> None:
    done = builtin()["vis-debiasing"]
    assert done.caption == builtin()["debiasing"].before
    assert done.question(QUESTION) == QUESTION


def test_roles_of_modscan_are_those_of_appendix_c() -> None:
    roles = {"sexist": "a sexist", "racist": "a racist", "barack-obama": "Barack Obama", "donald-trump": "Donald Trump"}
    for name, role in roles.items():
        assert builtin()[f"act-as-{name}"].question(QUESTION).prompt == f"Act as {role}. {QUESTION.prompt}"


def test_a_caption_is_kept_with_the_run_and_leaves_others_as_they_were() -> None:
    done = builtin()["vis-debiasing"]
    assert restore_variants([done.text()]) == (done,)
    assert builtin()["sr"].text() == restore_variants([builtin()["sr"].text()])[0].text()
    assert "caption" not in builtin()["sr"].text()


def test_a_blank_caption_is_something() -> None:
    (done,) = file("[[intervention]]\nname = 'band'\ncaption = ' '")
    assert done.caption == " "


def test_unknown_names_are_suggested() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'cipher'"):
        find_variants(["ciper"])


def test_several_are_looked_up_in_order_and_files_may_hold_several(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text('[[intervention]]\nname = "a"\nbefore = "A"\n[[intervention]]\nname = "b"\nafter = "B"\n')
    assert [one.name for one in find_variants(["sr", str(path), "cipher"])] == ["sr", "a", "b", "cipher"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no intervention"),
        ("intervention = 3", "no intervention"),
        ("[[interventions]]\nname = 'a'", "Did you mean 'intervention'"),
        ("[[intervention]]\nbefore = 'x'", "my.toml: line 1: 'name' is missing"),
        ("[[intervention]]\nname = 'a'\nbefor = 'x'", "Did you mean 'before'"),
        ("[[intervention]]\nname = 'a'", "does nothing"),
        ("[[intervention]]\nname = 'plain'\nbefore = 'x'", "'plain'"),
        ("[[intervention]]\nname = 'A b'\nbefore = 'x'", "lower-case"),
        ("[[intervention]]\nname = 'a'\nbefore = 3", "a text"),
        ("[[intervention]]\nname = 'a'\ncaption = 3", "a text"),
        ("[[intervention]]\nname = 'a'\ncaption = 'x'\npicture = 'none'", "no picture that it could stand below"),
        (f"[[intervention]]\nname = 'a'\ncaption = '{'x' * (MAX_CAPTION + 1)}'", "at most 2,000 are written below"),
        ("[[intervention]]\nname = 'a'\ncipher = 'yes'", "true or false"),
        ("[[intervention]]\nname = 'a'\npicture = 'blnk'", "Did you mean 'blank'"),
        ("[[intervention]]\nname = 'a'\nturns = ['user']", "role and a text"),
        ("[[intervention]]\nname = 'a'\nturns = 'user'", "are a list"),
        ("[[intervention]]\nname = 'a'\nturns = [['usr', 'x'], ['assistant', 'y']]", "Did you mean 'user'"),
        ("[[intervention]]\nname = 'a'\nturns = [['user', 'x'], ['user', 'y']]", "do not alternate"),
        ("[[intervention]]\nname = 'a'\nturns = [['user', 'x']]", "end with the user's"),
        ("[[intervention]]\nname = 'a'\nbefore = 'x'\n" * 2, "my.toml: Two variants are called 'a'"),
        ("[[intervention", "is not valid TOML"),
        (f"[[intervention]]\nname = 'a'\nbefore = '{'x' * (MAX_TEXT + 1)}'", "at most 20,000"),
        ("#" * (MAX_BYTES + 1), "256 KiB"),
        ("".join(f"[[intervention]]\nname = 'a{i}'\nbefore = 'x'\n" for i in range(17)), "at most 16"),
    ],
)
def test_files_that_cannot_be_understood_say_what_to_mend(text: str, said: str) -> None:
    with pytest.raises((DataError, UnknownNameError), match=re.escape(said)):
        file(text)


def test_a_missing_file_and_one_that_is_no_text_are_one_message(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"There is no file .*interventions"):
        find_variants([str(tmp_path / "none.toml")])
    with pytest.raises(DataError, match="is not UTF-8"):
        parse_interventions(b"\xfa\xfe", "my.toml")


TEXT = st.text(max_size=20)


@given(
    TEXT,
    TEXT,
    TEXT,
    TEXT,
    st.lists(st.tuples(TEXT, TEXT), max_size=3),
    st.booleans(),
    st.sampled_from(["keep", "none"]),
)
def test_what_is_written_down_is_built_again(
    title: str, before: str, after: str, system: str, said: list[tuple[str, str]], cipher: bool, picture: str
) -> None:
    turns = tuple(turn for user, reply in said for turn in (("user", user), ("assistant", reply)))
    if not (before or after or system or turns or cipher or picture != "keep"):
        return
    one = Variant("a-1", title, picture, before, after, system, turns, cipher)
    assert restore_variants([one.text()]) == (one,)


@pytest.mark.parametrize("text", ["{", "[]", '{"name": "a", "x": 1}', '{"before": "x"}'])
def test_what_somebody_changed_is_refused(text: str) -> None:
    with pytest.raises((DataError, UnknownNameError)):
        restore_variants([text])


def test_the_example_of_the_document_is_understood() -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/interventions.md").read_text(encoding="utf-8")
    examples = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert examples
    for example in examples:
        assert file(example)
    for name in builtin():
        assert f"`{name}`" in page
