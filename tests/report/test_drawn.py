"""How replies were drawn: what a model refused, and models that were drawn with other settings."""

from facevalue.report.data import RunFacts
from facevalue.report.sections.checks import CardStatus, drawn_otherwise
from facevalue.types import Sampling


def facts(model: str, temperature: float, left_out: str = "", *, exact: bool = False) -> RunFacts:
    settings = {"left_out": left_out} if left_out else {}
    return RunFacts(model, settings=settings, sampling=Sampling(temperature), exact=exact)


def test_models_that_were_drawn_alike_need_no_card() -> None:
    assert not drawn_otherwise([facts("a", 0.2), facts("b", 0.2)])
    assert not drawn_otherwise([facts("a", 0.2), facts("b", 0.7, exact=True)])
    assert not drawn_otherwise([facts("a", 0.2, "seed")])


def test_models_at_different_temperatures_are_said_to_be() -> None:
    (card,) = drawn_otherwise([facts("a", 0.2), facts("b", 0.7)])
    assert (card.value, card.status) == ("Differs between models", CardStatus.CAUTION)
    assert card.lines == ("a: temperature 0.2", "b: temperature 0.7")
    assert "a difference between them may be one of that" in card.note


def test_a_temperature_that_was_refused_is_said_beside_one_that_was_not() -> None:
    (card,) = drawn_otherwise([facts("a", 0.2), facts("b", 0.2, "seed, temperature")])
    assert card.value == "Differs between models"
    assert card.lines[1] == "b: temperature not sent, as the model refuses it"
    (alone,) = drawn_otherwise([facts("b", 0.2, "temperature")])
    assert alone.value == "Temperature not sent, as the model refuses it"
