"""The paper's image prompts, filled in."""

import polars as pl
import pytest

from facevalue.errors import UnknownNameError
from facevalue.studies.stylisticbias.image_prompts import generation_prompts, published_prompts
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


def test_every_configuration_of_table_9_has_a_base_face_and_its_gender_s_variations() -> None:
    found = published_prompts()
    bases = found.filter(pl.col("attribute").is_null())
    assert bases.height == bases["prompt"].n_unique() == 90
    assert found.head(90)["figure"].unique().to_list() == ["9"]
    sizes = found.group_by("identity", "gender").len().group_by("gender").agg(pl.col("len").unique())
    assert dict(sizes.iter_rows()) == {"male": [51], "female": [52]}
    judged = found.filter((pl.col("judged") == "kept") & pl.col("attribute").is_not_null())
    assert judged.group_by("gender").len().sort("gender")["len"].to_list() == [45 * 32, 45 * 31]
    assert ((found["figure"] == "11") == found["prompt"].str.contains("full-body portrait photograph")).all()
    assert found.filter(
        pl.col("reference").is_not_null() & ~pl.col("reference").is_in(bases["image"].implode())
    ).is_empty()
