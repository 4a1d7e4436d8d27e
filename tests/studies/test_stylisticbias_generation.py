"""The paper's image prompts, filled in."""

import polars as pl
import pytest

from facevalue.errors import UnknownNameError
from facevalue.studies.stylisticbias.generation import generation_prompts
from facevalue.studies.stylisticbias.tables import whitelist

BASE: dict[str, list[str | None]] = {
    "attribute": [None], "variation": [None], "gender": ["male"], "age": ["young"], "build": ["thin"],
    "ethnicity": ["Asian"],
}  # fmt: skip


def test_a_base_face_is_asked_for_in_the_words_of_figure_9() -> None:
    (prompt,) = generation_prompts(pl.DataFrame(BASE))
    assert prompt.startswith(
        "Photorealistic studio portrait of an average-looking thin build young adult male person with"
    )
    assert "Asian facial features" in prompt


def test_fashion_is_asked_for_in_full_body_and_everything_else_in_the_same_framing() -> None:
    rows = [{"attribute": v.attribute, "variation": v.name, "gender": "female"} for v in whitelist("female")]
    prompts = generation_prompts(pl.DataFrame(rows))
    for row, prompt in zip(rows, prompts, strict=True):
        assert ("full-body" in prompt) == (row["attribute"] == "fashion_style")
        assert "{" not in prompt


def test_drawn_portraits_without_ethnicity_have_no_prompt_for_their_base_face() -> None:
    with pytest.raises(UnknownNameError, match="ethnicity"):
        generation_prompts(pl.DataFrame(BASE).drop("ethnicity"))
