"""What is sent: the system message, the conversation before, the pictures, the question."""

from typing import Any, cast

from facevalue.models._chat import Dialect, body, image_parts
from facevalue.types import Image, Question, Sampling


def messages(question: Question, images: int = 0) -> list[dict[str, Any]]:
    parts = image_parts([Image(b"x", "image/png")] * images)
    sent = body("m", parts, question, Sampling(), 1, dialect=Dialect(), logprobs=False)
    return cast("list[dict[str, Any]]", sent["messages"])


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
