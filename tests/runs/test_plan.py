"""What a plan counts: every text that is sent, and no picture where nothing is shown."""

import pytest

from facevalue import studies
from facevalue.prompts.variants import Variant
from facevalue.protocol.toml_tables import builtin
from facevalue.protocol.variants import add_interventions
from facevalue.runs.plan import plan
from facevalue.types import OptionValue
from tests.runs.tiny import tiny_study

PLAIN = tiny_study(faces=5, prompts=2)


def tokens(*interventions: Variant, image_tokens: int = 100, sample: int | None = None) -> int:
    study = add_interventions(PLAIN, interventions)
    return plan(study, image_tokens=image_tokens, sample=sample).prompt_tokens


def test_a_picture_that_is_taken_away_costs_nothing() -> None:
    asked = PLAIN.design.size * PLAIN.repeats
    no_image, blank = builtin()["no-image"], builtin()["blank-image"]
    assert tokens() - tokens(image_tokens=0) == 100 * asked
    assert tokens(no_image) - tokens(no_image, image_tokens=0) == 100 * asked
    assert tokens(blank) - tokens(blank, image_tokens=0) == 200 * asked


def test_a_sample_counts_its_own_pictures() -> None:
    study = add_interventions(PLAIN, [builtin()["no-image"]])
    one, none = (plan(study, sample=10, image_tokens=each) for each in (100, 0))
    assert 0 < one.asked <= 10
    assert one.prompt_tokens - none.prompt_tokens == 100 * one.asked // 2


def test_the_conversation_before_the_prompt_is_counted() -> None:
    said = Variant("warm", turns=(("user", "x" * 400), ("assistant", "y" * 400)))
    asked = PLAIN.design.size * PLAIN.repeats
    assert tokens(said) == pytest.approx(2 * tokens() + 200 * asked, abs=1)


def test_blocks_that_are_asked_as_text_show_no_picture() -> None:
    chosen = {"dimension": ["age"], "gender": ["male"], "activity": ["cooking"], "shown": ["picture", "text"]}
    study = studies.build("vignette", chosen)
    both, none = (plan(study, image_tokens=each) for each in (100, 0))
    pictured = sum(b.trials for b in both.available or () if b.factors["shown"] == "picture")
    assert 0 < pictured < both.asked
    assert both.prompt_tokens - none.prompt_tokens == 100 * pictured


def test_pairs_of_pictures_are_counted_as_pairs() -> None:
    planned = plan(studies.protocol("vignette").study({"dimension": ["age"], "drawings": "none"}), sample=200)
    assert planned.nouns == ("pair of pictures", "pairs of pictures")
    assert f"pairs_of_pictures={planned.pictures:,}" in repr(planned)


def test_pairs_that_are_asked_as_text_show_no_picture() -> None:
    def pairs(*shown: str, sample: int | None = None) -> int:
        options: dict[str, OptionValue] = {"dimension": ["age"], "drawings": "none", "shown": [*shown]}
        return plan(studies.protocol("vignette").study(options), sample=sample).pictures

    assert pairs("text") == pairs("text", sample=200) == 0
    assert pairs("picture", "text") == pairs("picture")
    assert 0 < pairs("picture", "text", sample=200) < pairs("picture", sample=200)
