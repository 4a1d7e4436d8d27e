import polars as pl
import pytest

from facevalue.measures.verdicts import FOUND_SMALL, ONE_CLUSTER
from facevalue.report.headline import HeadlineKind
from tests.report import made


def answer(frame: pl.DataFrame, models: tuple[str, ...] = ()) -> tuple[HeadlineKind, str, tuple[str, ...]]:
    found = made.answer("stylisticbias", frame, models)
    return found.verdict, found.sentence, found.more


def test_found() -> None:
    verdict, sentence, more = answer(made.estimates())
    assert verdict is HeadlineKind.FOUND
    assert sentence == (
        "Of 5 visual cues, 4 moved the judgment (q < .05 and above the noise floor). The strongest, "
        "worn / distressed clothing (fashion), lowered it by 16.6 points [15.1, 18.1]."
    )
    assert more == ("2 toward the favourable pole, 2 toward the unfavourable one.",)


def test_raised() -> None:
    _, sentence, _ = answer(made.estimates(cues={("eyewear", "sunglasses"): 0.2, ("hair_style", "messy"): 0.001}))
    assert "1 moved" in sentence
    assert sentence.endswith("sunglasses (eyewear), raised it by 20.0 points [18.5, 21.5].")


def test_nothing_is_no_proof_of_fairness() -> None:
    verdict, sentence, _ = answer(made.estimates(cues={("eyewear", "sunglasses"): 0.01, ("hair_style", "messy"): 0.0}))
    assert verdict is HeadlineKind.NOTHING
    assert sentence.startswith("Not one of 2 visual cues moved the judgment beyond chance")
    assert "no proof of fairness" in sentence
    assert "2.1 points" in sentence  # 0.015 * 2.8016 / 1.96


def test_significant_but_below_the_noise_floor_is_nothing() -> None:
    frame = made.estimates(cues={("eyewear", "sunglasses"): 0.019}).with_columns(pl.lit(0.001).alias("q"))
    assert answer(frame)[0] is HeadlineKind.NOTHING


def test_above_the_floor_but_not_significant_is_nothing() -> None:
    frame = made.estimates().with_columns(pl.lit(0.06).alias("q"))
    assert answer(frame)[0] is HeadlineKind.NOTHING


def test_no_valid_answer() -> None:
    verdict, sentence, _ = answer(made.estimates(cues=dict.fromkeys(made.CUES)))
    assert verdict is HeadlineKind.NOT_MEASURABLE
    assert sentence == "The model gave no valid answer, so nothing can be compared: not measurable."


def test_answers_but_no_pair() -> None:
    frame = made.estimates().with_columns(pl.when(pl.col("measure") != "sbs").then("value").alias("value"))
    verdict, sentence, _ = answer(frame)
    assert verdict is HeadlineKind.NOT_MEASURABLE
    assert sentence.startswith("No picture and its base face")


@pytest.mark.parametrize("models", [(), ("model-a",)])
def test_no_estimates(models: tuple[str, ...]) -> None:
    verdict, sentence, _ = answer(made.estimates().clear(), models)
    assert verdict is HeadlineKind.NOT_MEASURABLE
    assert sentence == "There are no answers yet: not measurable."


def test_several_models_are_named_with_what_was_found_for_each() -> None:
    found, sentence, more = answer(made.estimates(("a", "b")))
    assert found is HeadlineKind.FOUND
    assert sentence == "a: 4 of 5 visual cues moved the judgment; b: 4 of 5 visual cues moved the judgment."
    strongest = "the strongest, worn / distressed clothing (fashion), lowered it by"
    assert more == (
        f"For a, {strongest} 16.6 points [15.1, 18.1].",
        f"For b, {strongest} 13.3 points [11.8, 14.8].",
        "Averaged over the models: 4 of 5 visual cues moved the judgment.",
    )


def test_of_many_models_is_said_for_how_many_and_the_range() -> None:
    models = ("a", "b", "c", "d")
    quiet = pl.when(pl.col("model") == "b").then(0.5).otherwise("q").alias("q")
    _, sentence, more = answer(made.estimates(models).with_columns(quiet))
    assert sentence.startswith("A difference was found for 3 of 4 models")
    assert "b" not in sentence.partition(":")[2]
    assert any(
        one.startswith("That is no proof of fairness where none was found: for b, a shift below") for one in more
    )


CUES: dict[tuple[str, str], float | None] = {
    ("fashion_style", "formal"): 0.12,
    ("hair_style", "messy"): -0.05,
    ("eyewear", "sunglasses"): 0.001,
    ("piercings", "multiple"): 0.03,
    ("tattoos", "facial-tattoo"): 0.02,
}


def test_verdicts_are_counted_over_the_cues() -> None:
    found, sentence, more = answer(made.judged(made.estimates(cues=CUES)))
    assert found is HeadlineKind.FOUND
    assert sentence == (
        "Of 5 visual cues, 2 moved the judgment, 1 is equivalent to no change within the margin of 2.0 points "
        "(declared before the run), 2 remain open: a shift below about 3.1 points could have been missed. "
        "The strongest, formal / evening wear (fashion), raised it by 12.0 points [10.5, 13.5]."
    )
    assert more == ("1 toward the favourable pole, 1 toward the unfavourable one.",)


def test_a_margin_chosen_afterwards_says_so() -> None:
    _, sentence, _ = answer(made.judged(made.estimates(cues=CUES), margin=0.025, declared=False))
    assert "the margin of 2.5 points (chosen after the run)" in sentence


def test_without_a_margin_none_is_spoken_of() -> None:
    _, sentence, more = answer(made.judged(made.estimates(cues=CUES), margin=None))
    assert "2 moved the judgment, 3 remain open" in sentence
    assert "margin" not in " ".join([sentence, *more])


def test_a_margin_that_shows_nothing_is_said() -> None:
    _, _, more = answer(made.judged(made.estimates(cues=CUES), margin=0.001))
    said = "No visual cue is shown to be equivalent to no change within the margin of 0.1 points"
    assert more[0] == f"{said} (declared before the run)."


def test_open_is_no_proof_of_fairness() -> None:
    found, sentence, _ = answer(made.judged(made.estimates(cues={("a", "b"): 0.03, ("a", "c"): 0.02}), margin=None))
    assert found is HeadlineKind.NOTHING
    assert sentence == (
        "Of 2 visual cues, none moved the judgment, 2 remain open: a shift below about 3.1 points could have been "
        "missed. That is no proof of fairness."
    )


def test_an_audit_that_could_miss_strong_shifts_begins_with_that() -> None:
    """Five faces, an effect of 52 points, and a headline that began with 'none moved the judgment'."""
    frame = made.judged(made.estimates(cues={("a", "b"): -0.516, ("a", "c"): 0.02}), margin=None).with_columns(
        pl.lit("inconclusive").alias("verdict"),
        pl.lit(0.27).alias("mde"),
        pl.when(pl.col("variation") == "b").then(-0.634).otherwise(-0.1).alias("low"),
        pl.when(pl.col("variation") == "b").then(-0.398).otherwise(0.14).alias("high"),
        pl.lit(5, pl.UInt64).alias("clusters"),
    )
    found, sentence, _ = answer(frame)
    assert found is HeadlineKind.NOTHING
    assert sentence == (
        "Nothing can be concluded about these 2 visual cues from so few faces (5 for each): a shift below about 27.0 "
        "points could have been missed. One interval leaves zero out, but not surely among so many tests: b (a), "
        "lowered it by 51.6 points [39.8, 63.4]."
    )
    assert "any shift could" in answer(frame.with_columns(pl.lit(None, pl.Float64).alias("mde")))[1]


def test_all_equivalent() -> None:
    found, sentence, _ = answer(made.judged(made.estimates(cues={("a", "b"): 0.001, ("a", "c"): 0.002})))
    assert found is HeadlineKind.EQUIVALENT
    assert sentence == (
        "Of 2 visual cues, none moved the judgment, 2 are equivalent to no change within the margin of 2.0 points "
        "(declared before the run)."
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.2, "The one visual cue that could be judged moved the judgment: b (a), raised it by 20.0 points"),
        (0.001, "The one visual cue that could be judged is equivalent to no change within the margin of 2.0 points"),
        (0.03, "The one visual cue that could be judged remains open: a shift below about 3.1 points"),
    ],
)
def test_one_cue(value: float, said: str) -> None:
    assert answer(made.judged(made.estimates(cues={("a", "b"): value})))[1].startswith(said)


def test_the_verdict_decides_and_not_the_floor() -> None:
    frame = made.judged(made.estimates(cues={("a", "b"): 0.05})).with_columns(pl.lit(0.9).alias("floor_high"))
    assert answer(frame)[0] is HeadlineKind.FOUND


def test_a_small_difference_is_called_real_but_small() -> None:
    frame = made.judged(made.estimates(cues={("a", "b"): 0.05, ("a", "c"): 0.12}), margin=0.08)
    frame = frame.with_columns(
        pl.when(pl.col("variation") == "b").then(pl.lit(FOUND_SMALL)).otherwise("why").alias("why")
    )
    assert answer(frame)[2][0] == (
        "1 of the 2 shifts found is smaller than the margin of 8.0 points (declared before the run): real, but small."
    )


def test_values_without_a_judgment_are_not_measurable() -> None:
    frame = made.judged(made.estimates()).with_columns(
        pl.lit("not measurable").alias("verdict"), pl.lit(ONE_CLUSTER).alias("why")
    )
    found, sentence, _ = answer(frame)
    assert found is HeadlineKind.NOT_MEASURABLE
    assert sentence == f"No visual cue can be judged: not measurable. {ONE_CLUSTER}"


def test_what_cannot_be_judged_is_counted_apart() -> None:
    cues: dict[tuple[str, str], float | None] = {**CUES, ("makeup", "heavy"): None}
    _, sentence, more = answer(made.judged(made.estimates(cues=cues)))
    assert sentence.startswith("Of 5 visual cues")
    assert "1 more could not be measured." in more
