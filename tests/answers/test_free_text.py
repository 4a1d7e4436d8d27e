"""Free texts, and replies that are none."""

import polars as pl
import pytest

from facevalue.answers import free_text
from facevalue.errors import UnknownNameError


def reasons(*said: str | None, status: str = "ok") -> list[str | None]:
    frame = pl.DataFrame(
        {"said": list(said), "status": [status] * len(said)}, schema={"said": pl.String, "status": pl.String}
    )
    return free_text.parse_column(frame, "said")["na"].to_list()


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("A woman in a red coat.", None),
        ("", "empty"),
        ("...", "empty"),
        (None, "error"),
        ("I'm sorry, but I can't help with that.", "refused"),
        ("I cannot describe people in images.", "refused"),
        ("I can't tell who it is. " + "A tall person in a coat looks at the camera and smiles. " * 4, None),
    ],
)
def test_short_refusals_and_blanks_are_no_text(said: str | None, reason: str | None) -> None:
    assert reasons(said) == [reason]


def test_a_signal_of_the_server_goes_before_the_text() -> None:
    assert reasons("A person.", status="refused") == ["refused"]
    assert reasons("A person.", status="error") == ["error"]
    assert reasons("A person", status="truncated") == [None]


def test_what_refusals_say_is_kept_apart_and_what_is_empty_or_failed_says_nothing() -> None:
    rows = [("I'm sorry, I can't.", "ok"), ("A calm person.", "refused"), (None, "refused"), ("!", "refused"),
            ("<think>Rude?</think> I can't help with that.", "ok"), ("A cat.", "ok"), ("x", "error")]  # fmt: skip
    found = free_text.parse_column(pl.DataFrame(rows, ["said", "status"], orient="row"), "said")
    said = ["I'm sorry, I can't.", "A calm person.", None, None, "I can't help with that.", None, None]
    assert found["declined"].to_list() == said
    assert found["text"].to_list() == [None] * 5 + ["A cat.", None]


def test_thinking_is_no_part_of_the_text() -> None:
    found = free_text.parse_column(pl.DataFrame({"said": ["<think>A cat?</think> A person.", "<think>hm"]}), "said")
    assert found.select("text", "na").rows() == [("A person.", None), (None, "empty")]


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(UnknownNameError, match="said"):
        free_text.parse_column(pl.DataFrame({"said": [""]}), "sayd")
