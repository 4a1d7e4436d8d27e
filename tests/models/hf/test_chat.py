"""From questions to tokens: just those of the processor, split where the questions part."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facevalue.errors import DataError
from facevalue.models.base import ModelOptions
from facevalue.models.hf import chat
from facevalue.models.hf.adapter import HFModel
from facevalue.models.hf.chat import _expand_rows, prepare, render, write
from facevalue.models.hf.loading import DATED, Loaded
from facevalue.models.hf.prompts import Prompts
from facevalue.types import Question
from tests.models.hf import tiny

pytestmark = pytest.mark.filterwarnings(
    "ignore:__array__ implementation:DeprecationWarning"
)  # in PaliGemma's processor
Load = Callable[..., Loaded]
ONE = [tiny.picture("one", (60, 40))]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Builds and loads a family's tiny model once."""
    return tiny.loader(tmp_path_factory)


def with_template(loaded: Loaded, template: str, **changed: Any) -> Loaded:
    """The model with another chat template."""

    class Words:
        """Its tokenizer."""

        def __getattr__(self, name: str) -> Any:
            return getattr(loaded.tokenizer, name)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return loaded.tokenizer(*args, **kwargs)

        def apply_chat_template(self, messages: Any, **kwargs: Any) -> Any:
            return loaded.tokenizer.apply_chat_template(messages, chat_template=template, **kwargs)

    return replace(loaded, tokenizer=Words(), **changed)


TEXTS = st.text(alphabet=st.sampled_from("aewW ?.(\n\t\u00e9\u4eba'"), max_size=12)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(prompts=st.lists(TEXTS, min_size=1, max_size=4), system=st.none() | TEXTS, images=st.integers(0, 2))
@pytest.mark.parametrize("name", [*tiny.BUILDERS, "paligemma"])
def test_tokens_are_those_of_the_processor(
    load: Load, name: str, prompts: list[str], system: str | None, images: int
) -> None:
    loaded = load(name)
    shown = [tiny.picture("one", (60, 40)), tiny.picture("two", (30, 50))][
        : min(images, 1) if name == "paligemma" else images
    ]
    if name == "paligemma" and not shown:
        return  # it always wants a picture
    questions = [
        Question(prompt=prompt, system=system if number != 1 else None) for number, prompt in enumerate(prompts)
    ]
    groups = prepare(loaded, shown, questions)
    assert sorted(number for group in groups for number in group.members) == list(range(len(questions)))
    for group in groups:
        for number, suffix in zip(group.members, group.suffixes, strict=True):
            assert suffix
            assert group.full(number)["input_ids"].tolist() == [group.prefix_ids + suffix]


@pytest.mark.parametrize("name", tiny.BUILDERS)
def test_the_processor_sees_the_pictures_once(load: Load, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load(name)
    calls = []
    real = type(loaded.processor).__call__

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(kwargs["text"])
        return real(self, *args, **kwargs)

    monkeypatch.setattr(type(loaded.processor), "__call__", counted)
    (group,) = prepare(loaded, ONE, [Question(prompt=f"Who is {word}?") for word in ("warm", "lazy", "honest")])
    assert len(calls) == 1
    assert len(group.suffixes) == 3


@pytest.mark.parametrize("name", tiny.BUILDERS)
def test_what_is_remembered_from_picture_to_picture_is_what_each_needs(load: Load, name: str) -> None:
    """Of Llama-3.2-Vision the tokens say nothing of a picture's shape, but which tiles they look at depends on it."""
    loaded, questions = load(name), [Question("Who?"), Question("Who is warm?")]
    prompts = Prompts(loaded)
    for number, size in enumerate([(28, 28), (120, 30), (28, 28), (28, 28), (120, 30)]):
        shown = [tiny.picture(f"{number}", size)]
        (found,), (fresh,) = prompts.groups(shown, questions), prepare(loaded, shown, questions)
        assert (found.prefix_ids, found.suffixes) == (fresh.prefix_ids, fresh.suffixes)
        assert found.inputs is not None
        assert fresh.inputs is not None
        assert found.inputs.keys() == fresh.inputs.keys()
        assert all((found.inputs[key] == fresh.inputs[key]).all() for key in fresh.inputs)


def test_questions_are_not_tokenised_while_a_processor_is_at_work(load: Load) -> None:
    """Some processors have the tokenizer pad, and rows of others would be padded as well."""
    loaded, busy = load("llava"), list[bool]()

    class Words:
        """Its tokenizer, watched."""

        def __getattr__(self, name: str) -> Any:
            return getattr(loaded.tokenizer, name)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            busy.append(chat.BUSY.locked())
            return loaded.tokenizer(*args, **kwargs)

    write(replace(loaded, tokenizer=Words()), [], [Question("Who?")])
    assert busy == [True]


def test_where_marks_cannot_be_replaced_the_processor_is_asked_again(load: Load) -> None:
    # Line breaks that Gemma-3's processor puts around a picture merge with those of the question.
    loaded = load("gemma3")
    unaware = replace(loaded, around="")
    questions = [Question(prompt=prompt) for prompt in ("Who?", "\nWho?", "\n\nWho?")]
    (group,) = prepare(unaware, ONE, questions)
    for number, suffix in zip(group.members, group.suffixes, strict=True):
        assert group.full(number)["input_ids"].tolist() == [group.prefix_ids + suffix]
    assert group.suffixes == prepare(loaded, ONE, questions)[0].suffixes


@pytest.mark.parametrize("changed", [{"special": False}, {"lstrip": True}, {"rstrip": True}])
def test_marks_that_may_merge_with_their_neighbours_are_not_replaced(changed: dict[str, bool]) -> None:
    plain: Any = SimpleNamespace(special=True, lstrip=False, rstrip=False)
    odd: Any = SimpleNamespace(**{**vars(plain), **changed})
    rows = [[1, 5, 7], [1, 5, 8, 9]]
    for known, want in (({5: plain, 6: plain}, [[1, 6, 5, 5, 7], [1, 6, 5, 5, 8, 9]]), ({5: plain, 6: odd}, None)):
        loaded: Any = SimpleNamespace(tokenizer=SimpleNamespace(added_tokens_decoder=known))
        assert _expand_rows(loaded, [1, 6, 5, 5, 7], rows, 5) == want
    assert _expand_rows(loaded, [2, 6, 5, 5, 7], rows, 5) is None, "what comes before differs"


def test_a_picture_at_the_very_end_is_not_cut(load: Load) -> None:
    loaded = with_template(load("llava"), "{{ messages[-1]['content'][-1]['text'] }}<image>")
    (group,) = prepare(loaded, ONE, [Question(prompt="Who?"), Question(prompt="Who?", draw=1)])
    assert group.inputs is None
    assert group.full(1)["input_ids"].tolist() == [group.prefix_ids + group.suffixes[1]]


def test_what_the_questions_share_is_in_the_prefix(load: Load) -> None:
    loaded = load("llava")
    (group,) = prepare(loaded, ONE, [Question(prompt=f"Does the person look {word}?") for word in ("warm", "lazy")])
    start = loaded.tokenizer.decode(group.prefix_ids)
    assert start.startswith("<s>user: <image>")
    assert start.rstrip().endswith("look")
    (alone,) = prepare(loaded, ONE, [Question(prompt="Who?")])
    assert len(alone.suffixes[0]) == 1, "all but the last token"
    (same,) = prepare(loaded, ONE, [Question(prompt="Who?"), Question(prompt="Who?", draw=1)])
    assert same.suffixes == [alone.suffixes[0]] * 2


def test_one_question_that_goes_on_where_another_ends(load: Load) -> None:
    (group,) = prepare(load("llava"), [], [Question(prompt="Who"), Question(prompt="Who\nassistant: is it?")])
    assert all(group.suffixes)


def test_other_words_before_the_picture_make_other_groups(load: Load) -> None:
    helpful = "You are helpful."
    turns = (("user", "Look."), ("assistant", "Yes."))
    questions = [
        Question(prompt="Who?"),
        Question(prompt="Who?", system=helpful),
        Question(prompt="Who is it?"),
        Question(prompt="Who is warm?", system=helpful),
        Question(prompt="Who?", turns=turns),
    ]
    assert [group.members for group in prepare(load("llava"), ONE, questions)] == [[0, 2], [1, 3], [4]]
    (blind,) = prepare(load("llava"), [], questions)  # without a picture there is nothing that must be shared
    assert blind.members == [0, 1, 2, 3, 4]
    assert blind.inputs is not None
    assert set(blind.inputs) == {"input_ids", "attention_mask"}


def test_what_goes_with_tokens_is_cut_and_pictures_are_not(load: Load) -> None:
    for name in ("gemma3", "qwen2_vl", "mllama"):
        (group,) = prepare(load(name), ONE, [Question(prompt="Who is warm?"), Question(prompt="Who is lazy?")])
        assert group.inputs is not None
        full = group.full(0)
        for key, tensor in group.inputs.items():
            if key in ("input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids", "cross_attention_mask"):
                assert tensor.shape[1] == len(group.prefix_ids)
                assert tensor.equal(full[key][:, : len(group.prefix_ids)])
            else:
                assert tensor.equal(full[key])


def test_context(load: Load) -> None:
    loaded = load("llava")
    (group,) = prepare(loaded, ONE, [Question(prompt="Who?"), Question(prompt="word " * 1100)])
    short = len(group.prefix_ids) + len(group.suffixes[0])
    assert loaded.context == 1024
    assert group.excess(0, 1024 - short, loaded.context) is None
    why = group.excess(0, 1025 - short, loaded.context)
    assert why is not None
    assert f"{short} tokens of prompt" in why
    assert "context of 1024" in why
    assert group.excess(1, 0, loaded.context) is not None
    assert group.excess(1, 0, None) is None


def test_pictures_that_the_processor_rejects(load: Load) -> None:
    with pytest.raises(DataError, match=r"rejects the picture: ValueError: .*aspect ratio"):
        prepare(load("qwen2_vl"), [tiny.picture("thin", (1, 400))], [Question(prompt="Who?")])


def test_the_models_own_mark_in_a_question(load: Load) -> None:
    with pytest.raises(DataError, match="contains <image>, which is this model's mark"):
        prepare(load("llava"), ONE, [Question(prompt="What does <image> mean?")])


TEXT_ONLY = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
NO_SYSTEM = tiny.TEMPLATE.replace("IMAGE", "<image>").replace(
    "{{ bos_token }}", "{% if messages[0]['role'] == 'system' %}{{ raise_exception('No system role.') }}{% endif %}"
)
FORGETFUL = (
    "{% set m = messages[-1] %}{% for part in m['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}{% endfor %}:"
)
TRIMS = tiny.TEMPLATE.replace("IMAGE", "<image>").replace("{{ part['text'] }}", "{{ part['text'] | trim }}")


def test_templates_that_take_texts(load: Load) -> None:
    loaded = with_template(load("llava"), TEXT_ONLY)
    question = Question(prompt="Who?", system="Be kind.", turns=(("user", "Hi."), ("assistant", "Yes.")))
    assert (
        render(loaded, 1, question) == "system: Be kind.\nuser: Hi.\nassistant: Yes.\nuser: <image>\nWho?\nassistant:"
    )
    assert render(loaded, 0, Question(prompt="{'type': 1}")) == "user: {'type': 1}\nassistant:"


def test_templates_that_trim(load: Load) -> None:
    assert render(with_template(load("llava"), TRIMS), 1, Question(prompt=" Who?\n")).endswith("Who?assistant:")


@pytest.mark.parametrize(("template", "says"), [(NO_SYSTEM, "No system role"), (FORGETFUL, "leaves out")])
def test_templates_that_lose_words_are_refused(load: Load, template: str, says: str) -> None:
    loaded = with_template(load("llava"), template)
    assert "Who?" in render(loaded, 1, Question(prompt="Who?"))
    with pytest.raises(DataError, match=says):
        render(loaded, 1, Question(prompt="Who?", system="Be kind."))


def test_an_opening_token_comes_once(load: Load) -> None:
    loaded = load("llava")
    for template in (None, loaded.tokenizer.chat_template.replace("{{ bos_token }}", "")):
        asked = loaded if template is None else with_template(loaded, template)
        (group,) = prepare(asked, ONE, [Question(prompt="Who?")])
        assert group.prefix_ids.count(loaded.tokenizer.bos_token_id) <= 1


def test_a_template_that_writes_the_date_writes_the_same_on_every_day(tmp_path: Path) -> None:
    """As Llama 3.2's: unless a date is given, it asks for the clock's."""
    folder = tiny.llava(tmp_path)
    today = (
        "{% if not date_string is defined %}{% if strftime_now is defined %}"
        "{% set date_string = strftime_now('%d %b %Y') %}"
        "{% else %}{% set date_string = '26 Jul 2024' %}{% endif %}{% endif %}Today Date: {{ date_string }}\n"
        "{% macro day(form) %}{{ strftime_now(form) }}{% endmacro %}{{ day('%A, %-d') }}"
    )
    (folder / "chat_template.jinja").write_text(today + (folder / "chat_template.jinja").read_text())
    model = HFModel(f"hf/{folder}", ModelOptions(device="cpu", threads=1))
    assert DATED in model.notes
    assert model.settings()["date"] == "2025-01-01"
    text = render(model.engine.loaded, 1, Question("Who?"))
    assert text.startswith("Today Date: 01 Jan 2025\nWednesday, 1<s>")


def test_a_template_without_a_date_has_none_in_the_settings(load: Load) -> None:
    assert DATED not in load("llava").notes
