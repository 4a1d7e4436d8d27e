import polars as pl
import pytest

from facevalue.report.headline import Outcome, headline
from facevalue.report.numbers import Numbers
from facevalue.report.words import Titles
from tests.report import made


def answer(frame: pl.DataFrame, models: tuple[str, ...] = ()) -> tuple[Outcome, str, tuple[str, ...]]:
    numbers = Numbers(frame, models)
    found = headline(numbers, Titles("stylisticbias"), numbers.primary)
    return found.verdict, found.sentence, found.more


def test_found() -> None:
    verdict, sentence, more = answer(made.estimates())
    assert verdict is Outcome.FOUND
    assert sentence == (
        "Of 5 visual cues, 4 moved the judgment (q < .05 and above the noise floor); the strongest, "
        "worn / distressed clothing (fashion), lowered it by 16.6 points [15.1, 18.1]."
    )
    assert more == ("2 toward the favourable pole, 2 toward the unfavourable one.",)


def test_raised() -> None:
    _, sentence, _ = answer(made.estimates(cues={("eyewear", "sunglasses"): 0.2, ("hair_style", "messy"): 0.001}))
    assert "1 moved" in sentence
    assert sentence.endswith("sunglasses (eyewear), raised it by 20.0 points [18.5, 21.5].")


def test_nothing_is_no_proof_of_fairness() -> None:
    verdict, sentence, _ = answer(made.estimates(cues={("eyewear", "sunglasses"): 0.01, ("hair_style", "messy"): 0.0}))
    assert verdict is Outcome.NOTHING
    assert sentence.startswith("None of 2 visual cues moved the judgment beyond chance")
    assert "no proof of fairness" in sentence
    assert "2.1 points" in sentence  # 0.015 * 2.8016 / 1.96


def test_significant_but_below_the_noise_floor_is_nothing() -> None:
    frame = made.estimates(cues={("eyewear", "sunglasses"): 0.019}).with_columns(pl.lit(0.001).alias("q"))
    assert answer(frame)[0] is Outcome.NOTHING


def test_above_the_floor_but_not_significant_is_nothing() -> None:
    frame = made.estimates().with_columns(pl.lit(0.06).alias("q"))
    assert answer(frame)[0] is Outcome.NOTHING


def test_no_valid_answer() -> None:
    verdict, sentence, _ = answer(made.estimates(cues=dict.fromkeys(made.CUES)))
    assert verdict is Outcome.NOT_MEASURABLE
    assert sentence == "The model gave no valid answer: not measurable."


def test_answers_but_no_pair() -> None:
    frame = made.estimates().with_columns(pl.when(pl.col("measure") != "sbs").then("value").alias("value"))
    verdict, sentence, _ = answer(frame)
    assert verdict is Outcome.NOT_MEASURABLE
    assert sentence.startswith("No picture and its base face")


@pytest.mark.parametrize("models", [(), ("model-a",)])
def test_no_estimates(models: tuple[str, ...]) -> None:
    verdict, sentence, _ = answer(made.estimates().clear(), models)
    assert verdict is Outcome.NOT_MEASURABLE
    assert sentence == "There are no answers yet: not measurable."


def test_several_models() -> None:
    _, sentence, more = answer(made.estimates(("a", "b")))
    assert sentence.startswith("Averaged over 2 models, of 5 visual cues, 4 moved")
    assert more[-1] == "Model by model: a: 4 of 5; b: 4 of 5."
