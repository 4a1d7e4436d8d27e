"""Simulated respondents: planted effects, reproducible replies, the same numbers in text and in probabilities."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from facevalue.errors import ModelError, UnknownNameError
from facevalue.models import load
from facevalue.models.sim import GIBBERISH, PRESETS, REFUSAL, Planted, Respondent, SimModel
from facevalue.types import Option, Question, Request, Response, Sampling, Status, Stimulus

KIND, RUDE = Option("(a)", "kind", "favourable"), Option("(b)", "rude", "unfavourable")
RUDE_FIRST = (Option("(a)", "rude", "unfavourable"), Option("(b)", "kind", "favourable"))


def request(
    trial: int, *, repeat: int = 0, image: str = "x", options: tuple[Option, ...] = (KIND, RUDE), exact: bool = False,
    **factors: str | None,
) -> Request:  # fmt: skip
    shown = {"image": image, "identity": "someone", **factors}
    stimulus = Stimulus(image, "digest", shown, lambda: ())
    return Request(trial, repeat, 1, stimulus, Question("?", options, None, {"scenario": "kind"}), Sampling(), exact)


def ask(model: SimModel, *requests: Request) -> list[Response]:
    return list(model.respond(requests))


def test_replies_are_text_that_names_an_option() -> None:
    texts = {r.text for r in ask(SimModel("default"), *(request(t) for t in range(2000)))}
    assert {"(a)", "(b)", "A.", "Option B", "**(a)**", "(a) kind", REFUSAL, GIBBERISH} <= texts


def test_replies_depend_on_seed_trial_and_repeat_and_not_on_order_or_batch() -> None:
    requests = [request(t, repeat=k) for t in range(50) for k in range(3)]
    whole = {(r.trial, r.repeat): r.text for r in ask(SimModel("default"), *requests)}
    parts = {(r.trial, r.repeat): r.text for q in reversed(requests) for r in ask(SimModel("default"), q)}
    other = {(r.trial, r.repeat): r.text for r in ask(SimModel("default@5"), *requests)}
    assert whole == parts
    assert whole != other


def test_probabilities_and_samples_agree() -> None:
    model = SimModel("default")
    (exact,) = ask(model, request(0, exact=True))
    assert exact.probs is not None
    drawn = ask(model, *(request(t) for t in range(4000)))
    counts = [sum(r.text is not None and ("a" in r.text.lower()[:9]) and r.text not in (REFUSAL, GIBBERISH)
                  and ("(a)" in r.text or r.text.lower().strip(".") in ("a", "option a")) for r in drawn)]  # fmt: skip
    invalid = sum(r.text in (REFUSAL, GIBBERISH) for r in drawn)
    observed = [counts[0], 4000 - counts[0] - invalid, invalid]
    expected = [4000 * exact.probs[0], 4000 * exact.probs[1], 4000 * (1 - sum(exact.probs))]
    assert stats.chisquare(observed, expected).pvalue > 0.001


def test_options_are_understood_wherever_they_stand() -> None:
    planted = Planted(position=0.0, letter=0.0, refusal=0.0, gibberish=0.0)
    model = SimModel("default")
    model.planted = planted
    model._respondent = Respondent(planted)
    (one,), (two,) = ask(model, request(0, exact=True)), ask(model, request(1, options=RUDE_FIRST, exact=True))
    assert one.probs is not None
    assert two.probs is not None
    assert one.probs == pytest.approx(two.probs[::-1])


def test_position_bias_favours_the_first_option() -> None:
    (first,) = ask(SimModel("first"), request(0, exact=True))
    assert first.probs is not None
    plain = Respondent(PRESETS["null"])
    assert plain.planted.position < PRESETS["first"].position


def test_without_planted_effects_levels_make_no_difference() -> None:
    respondent = Respondent(PRESETS["null"])
    effects = respondent.effects([{"variation": "cap"}, {"variation": "beanie"}], ["kind"], ["f", "u"])
    assert not effects.any()


def test_about_half_of_the_levels_have_no_effect() -> None:
    respondent = Respondent(Planted(none=0.5))
    factors = [{"variation": f"v{i}"} for i in range(400)]
    moved = respondent.effects(factors, ["kind"], ["f", "u"]).any(axis=(1, 2))
    assert 150 < moved.sum() < 250


def test_effects_are_drawn_at_random_and_differ_by_seed() -> None:
    factors = [{"gender": g} for g in ("male", "female")]
    tables = [Respondent(Planted(seed=s, none=0.0)).effects(factors, ["kind"], ["f", "u"]) for s in range(200)]
    difference = np.array([(t[0, 0, 0] - t[0, 0, 1]) - (t[1, 0, 0] - t[1, 0, 1]) for t in tables])
    assert abs(difference.mean()) < 3 * difference.std() / np.sqrt(200)


def test_identifiers_carry_no_effect() -> None:
    respondent = Respondent(Planted(none=0.0))
    assert not respondent.effects([{"identity": "m-1", "image": "m-1/cap", "set": "m-1"}], ["kind"], ["f", "u"]).any()


def test_a_refuser_refuses_everything() -> None:
    assert {r.text for r in ask(SimModel("refuser"), *(request(t) for t in range(100)))} == {REFUSAL}


@pytest.mark.parametrize(("options", "exact"), [((KIND,), False), ((), True)])
def test_a_choice_without_two_options_is_an_error_and_not_an_answer(options: tuple[Option, ...], exact: bool) -> None:
    (response,) = ask(SimModel("default"), request(0, options=options, exact=exact))
    assert response.status is Status.ERROR
    assert response.text is None


def test_unlabelled_options_are_answered_by_their_text() -> None:
    plain = (Option("", "left", "left"), Option("", "right", "right"))
    texts = {r.text for r in ask(SimModel("default"), *(request(t, options=plain) for t in range(300)))}
    assert texts <= {"left", "right", REFUSAL, GIBBERISH}
    assert {"left", "right"} <= texts


def test_settings_say_what_is_planted() -> None:
    assert SimModel("strong@3").settings() == {**SimModel("strong").settings(), "seed": 3}


def test_unknown_respondents_are_named_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="sim/default"):
        load("sim/defautl")
    with pytest.raises(ModelError, match="whole number"):
        load("sim/default@x")
    with pytest.raises(ModelError, match="names no model"):
        load("sim/")
    with pytest.raises(UnknownNameError, match="sim/default"):
        load("gpt")


def test_probabilities_are_the_same_to_the_last_bit_in_every_process() -> None:
    code = (
        "from facevalue.models.sim import Respondent, Planted;"
        "factors = [{name: f'{name} {k}' for name in ('gender', 'age', 'skin_tone', 'build')} for k in range(50)];"
        "print(Respondent(Planted(none=0.0)).effects(factors, ['kind', 'lazy'], ['favourable', 'other']).tolist())"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1
