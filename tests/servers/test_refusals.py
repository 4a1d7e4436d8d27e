"""Forms in which providers decline to answer, and errors that are none."""

import pytest

from facevalue.errors import SettingError
from facevalue.servers.replies import checked_words, holds_words, is_refusal, is_withheld_end
from tests.servers.refused_forms import DECLINED, OTHERWISE


@pytest.mark.parametrize("form", DECLINED)
def test_a_provider_that_declines_is_known(form: str) -> None:
    status, said = DECLINED[form]
    assert is_refusal(said, status)


@pytest.mark.parametrize("form", OTHERWISE)
def test_an_error_of_another_kind_is_no_refusal(form: str) -> None:
    status, said = OTHERWISE[form]
    assert not is_refusal(said, status)


@pytest.mark.parametrize(
    "word",
    ["content_filter", "content_filtered", "guardrail_intervened", "refusal", "SAFETY", "IMAGE_SAFETY", "RECITATION",
     "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "ERROR_TOXIC", "sensitive", "MODEL_ARMOR", "unsafe", "declined"],
)  # fmt: skip
def test_words_with_which_a_reply_was_withheld(word: str) -> None:
    assert is_withheld_end(word)


@pytest.mark.parametrize("word", ["stop", "eos", "end_turn", "length", "max_tokens", "tool_calls", "error", "OTHER"])
def test_words_with_which_a_reply_ended_otherwise(word: str) -> None:
    assert not is_withheld_end(word)


def test_an_error_that_never_ends_is_looked_at_in_part() -> None:
    nested: object = {"code": "content_filter"}
    for _ in range(100):
        nested = {"error": nested}
    assert not is_refusal(nested)
    assert not is_refusal({"message": "x" * 10_000 + "moderation"})


def test_the_users_own_words() -> None:
    assert holds_words("Denied: AI SHIELD rule 7", ["ai shield"])
    assert not holds_words("Denied", ["ai shield"])
    assert not holds_words(None, ["ai shield"])
    assert checked_words(["ai shield"]) == ("ai shield",)
    with pytest.raises(SettingError, match="at least 3 characters, and ' a ' has not"):
        checked_words([" a "])
