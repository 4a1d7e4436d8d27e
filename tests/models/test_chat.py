"""What is sent: the system message, the conversation before, the pictures, the question."""

import json
from typing import Any, cast

import httpx
from hypothesis import given
from hypothesis import strategies as st

from facevalue.models._chat import Dialect, Way, body, conversation, encode_images, image_parts
from facevalue.types import Image, Option, Question, Sampling

texts = st.one_of(
    st.text(),
    st.lists(st.sampled_from(['{"picture":0}', '"', "\\", "{", "picture", ":0}", ",", "\n", "\u2028", "é🙂"])).map(
        "".join
    ),
)
images = st.builds(Image, st.binary(max_size=50), st.sampled_from(["image/png", "image/jpeg"]))
questions = st.builds(
    Question,
    texts,
    st.lists(st.builds(Option, texts, texts, texts), max_size=3).map(tuple),
    st.none() | texts,
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), texts), max_size=3).map(tuple),
)


def messages(question: Question, images: int = 0) -> list[dict[str, Any]]:
    shown = encode_images([Image(b"x", "image/png")] * images)
    sent = json.loads(body("m", shown, question, Sampling(), 1, dialect=Dialect(), logprobs=False))
    return cast("list[dict[str, Any]]", sent["messages"])


@given(texts, st.lists(images, max_size=3), questions, st.floats(0, 2), st.booleans(), st.none() | st.sampled_from(Way))
def test_a_body_is_byte_for_byte_what_httpx_makes_of_it_with_its_pictures_inside(
    model: str, shown: list[Image], question: Question, temperature: float, logprobs: bool, way: Way | None
) -> None:
    sent = body(
        model,
        encode_images(shown),
        question,
        Sampling(temperature),
        7,
        dialect=Dialect(),
        logprobs=logprobs,
        way=way,
        more={"chat_template_kwargs": {"thinking": False}},
    )
    value = json.loads(sent)
    assert value["model"] == model
    assert value["messages"] == conversation(image_parts(shown), question)
    assert value["temperature"] == (0 if logprobs else temperature)
    assert httpx.Request("POST", "http://127.0.0.1", json=value).content == sent


def test_earlier_turns_stand_between_the_system_message_and_the_prompt() -> None:
    question = Question("Who?", system="Be brief.", turns=(("user", "Hello."), ("assistant", "Hi.")))
    assert [(m["role"], m["content"]) for m in messages(question)] == [
        ("system", "Be brief."),
        ("user", "Hello."),
        ("assistant", "Hi."),
        ("user", "Who?"),
    ]


def test_pictures_are_shown_with_the_prompt_and_not_with_earlier_turns() -> None:
    question = Question("Who?", turns=(("user", "Hello."), ("assistant", "Hi.")))
    *earlier, last = messages(question, images=2)
    assert [type(m["content"]) for m in earlier] == [str, str]
    assert [part["type"] for part in last["content"]] == ["image_url", "image_url", "text"]
    assert last["content"][-1]["text"] == "Who?"


def test_without_earlier_turns_nothing_is_added() -> None:
    assert messages(Question("Who?")) == [{"role": "user", "content": "Who?"}]
