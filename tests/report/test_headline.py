import re
from dataclasses import replace
from math import log

import numpy as np
import polars as pl
import pytest

from facevalue.measures.verdicts import FOUND_SMALL, ONE_CLUSTER
from facevalue.printable import join_names
from facevalue.protocol.lookup import Estimate
from facevalue.report.sections.headline import HeadlineKind
from facevalue.report.sections.sizes import ODDS, SHARES_MOVED, ToldScale
from tests.report import made

UNKNOWN = ("pole", "nat ", "nats", "family", "floor", "cluster", "drift", "remain open", "leave zero out", "q <")
"""Words that a product manager does not know."""


def answer(frame: pl.DataFrame, models: tuple[str, ...] = ()) -> tuple[HeadlineKind, str, tuple[str, ...]]:
    headline = made.answer("stylisticbias", frame, models)
    assert not any(word in headline.sentence for word in UNKNOWN), headline.sentence
    assert "  " not in headline.sentence
    assert headline.sentence.endswith(".")
    return headline.verdict, headline.sentence, headline.more


def test_who_was_hurt_in_which_direction_how_far_and_how_sure() -> None:
    verdict, sentence, _ = answer(made.estimates())
    assert verdict is HeadlineKind.FOUND
    assert sentence == (
        "Worn / Distressed clothing (fashion): judged less favourably by 17 points [15, 18]; Formal / Evening wear "
        "(fashion): judged more favourably by 12 points [10, 14]; Full beard (facial hair): judged more favourably by "
        "6.0 points [4.5, 7.5]. 1 more difference was found. No difference was found for sunglasses "
        "(eyewear); differences "
        "of up to about 2.2 points would have gone unnoticed."
    )


def test_raised() -> None:
    _, sentence, _ = answer(made.estimates(cues={("eyewear", "sunglasses"): 0.2, ("hair_style", "messy"): 0.001}))
    assert sentence.startswith("Sunglasses (eyewear): judged more favourably by 20 points [18, 22].")


def test_nothing_is_no_proof_of_fairness() -> None:
    verdict, sentence, _ = answer(made.estimates(cues={("eyewear", "sunglasses"): 0.01, ("hair_style", "messy"): 0.0}))
    assert verdict is HeadlineKind.NOTHING
    assert sentence == (
        "No difference was found for sunglasses (eyewear) and messy (hair style); differences of up to "
        "about 2.2 points would "
        "have gone unnoticed. That is no proof of fairness."
    )  # 0.015 * 2.8016 / 1.96, rounded up


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
    frame = made.estimates().with_columns(pl.when(pl.col("measure") != "shift").then("value").alias("value"))
    verdict, sentence, _ = answer(frame)
    assert verdict is HeadlineKind.NOT_MEASURABLE
    assert sentence.startswith("No picture and its base face")


@pytest.mark.parametrize("models", [(), ("model-a",)])
def test_no_estimates(models: tuple[str, ...]) -> None:
    verdict, sentence, _ = answer(made.estimates().clear(), models)
    assert verdict is HeadlineKind.NOT_MEASURABLE
    assert sentence == "There are no answers yet: not measurable."


def test_several_models_are_named_with_what_was_found_for_each_and_never_averaged() -> None:
    verdict, sentence, more = answer(made.estimates(("a", "b")))
    assert verdict is HeadlineKind.FOUND
    assert sentence == (
        "a: Worn / Distressed clothing (fashion): judged less favourably by 17 points [15, 18]. 3 more differences "
        "were found for a. b: Worn / Distressed clothing (fashion): judged less favourably by 13 points [12, 15]. 3 "
        "more differences were found for b."
    )
    assert "averaged" not in " ".join([sentence, *more]).lower()


def test_several_models_of_which_nothing_was_found_have_one_answer() -> None:
    cues: dict[tuple[str, str], float | None] = {("a", "b"): 0.01, ("a", "c"): 0.002}
    for models, whom in ((("a", "b"), "either of 2 models"), (("a", "b", "c", "d"), "any of 4 models")):
        verdict, sentence, _ = answer(made.judged(made.estimates(models, cues=cues), margin=None))
        assert verdict is HeadlineKind.NOTHING
        assert sentence == (
            f"No difference was found for {whom}; differences of up to about 3.1 points would have gone unnoticed. "
            "That is no proof of fairness."
        )


def test_of_many_models_is_said_for_how_many_and_what_of_some() -> None:
    models = ("a", "b", "c", "d", "e")
    quiet = pl.when(pl.col("model") == "b").then(0.5).otherwise("q").alias("q")
    _, sentence, _ = answer(made.estimates(models).with_columns(quiet))
    assert sentence.startswith("A difference was found for 4 of 5 models. a: Worn")
    assert " b: " not in sentence
    assert sentence.endswith("The other 1 are told below. That is no proof of fairness where none was found.")


CUES: dict[tuple[str, str], float | None] = {
    ("fashion_style", "formal"): 0.12,
    ("hair_style", "messy"): -0.05,
    ("eyewear", "sunglasses"): 0.001,
    ("piercings", "multiple"): 0.03,
    ("tattoos", "facial-tattoo"): 0.02,
}


def test_found_undecided_and_ruled_out_stand_apart() -> None:
    verdict, sentence, _ = answer(made.judged(made.estimates(cues=CUES)))
    assert verdict is HeadlineKind.FOUND
    assert sentence == (
        "Formal / Evening wear (fashion): judged more favourably by 12 points (at least 6, 95% "
        "confidence); Messy (hair "
        "style): judged less favourably by 5.0 points [3.5, 6.5], unless the missing answers say otherwise. "
        "No difference was found for "
        "multiple (piercings) and facial tattoo (tattoos); differences of up to about 3.1 points would "
        "have gone unnoticed. For "
        "sunglasses (eyewear), a difference larger than the margin of 2.0 points (declared before the run) "
        "is ruled out."
    )


def test_a_margin_chosen_afterwards_says_so() -> None:
    _, sentence, _ = answer(made.judged(made.estimates(cues=CUES), margin=0.025, declared=False))
    assert "the margin of 2.5 points (chosen after the run)" in sentence


def test_without_a_margin_none_is_spoken_of() -> None:
    _, sentence, more = answer(made.judged(made.estimates(cues=CUES), margin=None))
    assert "No difference was found for multiple (piercings), facial tattoo (tattoos) and sunglasses" in sentence
    assert "margin" not in " ".join([sentence, *more])


def test_a_margin_that_shows_nothing_is_said() -> None:
    _, _, more = answer(made.judged(made.estimates(cues=CUES), margin=0.001))
    text = (
        "Differences larger than the margin of 0.10 points (declared before the run) cannot be ruled "
        "out for any visual cue."
    )
    assert more[0] == text


def test_what_stands_out_by_itself_alone_is_a_hint() -> None:
    verdict, sentence, _ = answer(made.judged(made.estimates(cues={("a", "b"): 0.03, ("a", "c"): 0.02}), margin=None))
    assert verdict is HeadlineKind.NOTHING
    assert sentence == (
        "No difference was found for b (a) and c (a); differences of up to about 3.1 points would have "
        "gone unnoticed. The "
        "clearest hint, which may be chance: B (a), judged more favourably by 3.0 points [1.5, 4.5]. That is no proof "
        "of fairness."
    )


def test_an_audit_that_could_miss_strong_shifts_says_that_too_little_was_asked() -> None:
    """Five faces, an effect of 52 points, and a headline that began with 'none moved the judgment'."""
    frame = made.judged(made.estimates(cues={("a", "b"): -0.516, ("a", "c"): 0.02}), margin=None).with_columns(
        pl.lit("inconclusive").alias("verdict"),
        pl.lit(0.27).alias("mde"),
        pl.when(pl.col("variation") == "b").then(-0.634).otherwise(-0.1).alias("low"),
        pl.when(pl.col("variation") == "b").then(-0.398).otherwise(0.14).alias("high"),
        pl.lit(5, pl.UInt64).alias("clusters"),
    )
    verdict, sentence, _ = answer(frame)
    assert verdict is HeadlineKind.TOO_FEW
    assert sentence == (
        "Too little was asked to tell: with 5 people for each of 2 visual cues, even a difference of 27 points would "
        "have gone unnoticed. The clearest hint, which may be chance: B (a), judged less favourably by 52 "
        "points [40, 63]."
    )
    assert "any difference would" in answer(frame.with_columns(pl.lit(None, pl.Float64).alias("mde")))[1]


def test_all_equivalent() -> None:
    verdict, sentence, _ = answer(made.judged(made.estimates(cues={("a", "b"): 0.001, ("a", "c"): 0.002})))
    assert verdict is HeadlineKind.EQUIVALENT
    assert sentence == (
        "For c (a) and b (a), a difference larger than the margin of 2.0 points (declared before the run) is ruled out."
    )


@pytest.mark.parametrize(
    ("value", "start"),
    [
        (0.2, "B (a): judged more favourably by 20 points (at least 10, 95% confidence)."),
        (0.001, "For b (a), a difference larger than the margin of 2.0 points"),
        (0.03, "No difference was found for b (a); differences of up to about 3.1 points would have gone unnoticed."),
    ],
)
def test_one_cue(value: float, start: str) -> None:
    assert answer(made.judged(made.estimates(cues={("a", "b"): value})))[1].startswith(start)


def test_of_two_hundred_cues_a_few_are_named_and_the_rest_counted() -> None:
    cues: dict[tuple[str, str], float | None] = {("a", f"cue-{n}"): 0.05 + n / 1000 for n in range(200)}
    sentence = answer(made.estimates(cues=cues, groups={}))[1]
    assert "197 more differences were found." in sentence
    assert len(sentence) < 400


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
    verdict, sentence, _ = answer(frame)
    assert verdict is HeadlineKind.NOT_MEASURABLE
    assert sentence == f"No visual cue can be judged: not measurable. {ONE_CLUSTER}"


def test_what_cannot_be_judged_is_counted_apart() -> None:
    cues: dict[tuple[str, str], float | None] = {**CUES, ("makeup", "heavy"): None}
    _, sentence, more = answer(made.judged(made.estimates(cues=cues)))
    assert "heavy" not in sentence
    assert "1 more could not be measured." in more


@pytest.mark.parametrize("names", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_lists_end_in_and(names: list[str]) -> None:
    assert re.split(", | and ", join_names(names)) == names


def test_no_share_moves_by_more_than_is_told_of_a_divergence() -> None:
    rng = np.random.default_rng(1)
    for first, second in rng.dirichlet(np.ones(4) / 2, (200, 2)):
        nats = float(np.sum(first * np.log(first / second)))
        assert 100 * np.abs(first - second).sum() / 2 <= SHARES_MOVED.size(nats) + 1e-9


def test_a_chart_of_points_is_drawn_in_points_and_one_of_odds_in_their_logarithm() -> None:
    assert [SHARES_MOVED.place(nats) for nats in (0.0, 0.5, 2.0, 8.0)] == pytest.approx([0, 50, 100, 100])
    assert [ODDS.place(log(odds)) for odds in (0.5, 1, 2, 4)] == pytest.approx([-log(2), 0, log(2), 2 * log(2)])


@pytest.mark.parametrize("per", [1.0, 100.0])
@pytest.mark.parametrize("value", [0.0123, 0.2, 3.4, -0.0123, -0.2, -3.4])
def test_what_is_surely_exceeded_is_within_the_interval_of_the_page(value: float, per: float) -> None:
    """Rounding claims no more than the interval holds, and what would have gone unnoticed no less."""
    half = 0.7 * abs(value)
    e = Estimate("shift", "m", value=value, low=value - half / 2, high=value + half / 2,
                 page_low=value - half, page_high=value + half)  # fmt: skip
    scale = ToldScale(per, "points")
    nearest = per * (abs(value) - half)
    assert 0 <= float(scale.lower_bound(e)) <= nearest + 1e-9
    assert float(scale.up_to(abs(value)).split()[0].replace(",", "")) >= per * abs(value) - 1e-9
    assert scale.lower_bound(replace(e, page_low=-1.0, page_high=1.0)) == ""
    low, high = (float(end.replace("−", "-")) for end in scale.interval(e, turned=True).strip("[]").split(", "))
    assert 0 <= low <= high
