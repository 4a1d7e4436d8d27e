"""Requests of a unit, whose pictures take turns, gathered by picture for a model that computes here."""

from collections.abc import Iterable

from facevalue.models._pictures import EncodedStimuli
from facevalue.models.base import by_stimulus
from facevalue.types import Image, Question, Request, Sampling, Stimulus


def requests(order: Iterable[str]) -> Iterable[Request]:
    for trial, key in enumerate(order):
        stimulus = Stimulus(key, key, {}, lambda: (Image(b"1234", "image/png"),))
        yield Request(trial, 0, 0, stimulus, Question("Who?", ()), Sampling(), exact=False)


def lots(order: Iterable[str], most: int = 100) -> list[str]:
    return ["".join(request.stimulus.key for request in lot) for lot in by_stimulus(requests(order), most)]


def test_all_questions_about_a_picture_of_a_unit_come_together() -> None:
    assert lots("abccabbac" + "deed") == ["aaa", "bbb", "ccc", "dd", "ee"]


def test_units_of_one_picture_and_several_seeds_to_a_question_come_as_they_are() -> None:
    assert lots("aaabbb") == ["aaa", "bbb"]
    assert lots("aabbbbaa" + "cc") == ["aaaa", "bbbb", "cc"]
    assert lots("abab", most=1) == ["a", "a", "b", "b"]
    assert lots("") == []


def test_no_more_than_a_few_thousand_requests_are_taken_before_the_first_is_answered() -> None:
    taken = 0

    def endless() -> Iterable[Request]:
        nonlocal taken
        for request in requests("ab" * 10_000):
            taken += 1
            yield request

    next(iter(by_stimulus(endless(), 100)))
    assert 4_000 < taken < 5_000


def test_pictures_that_take_turns_are_loaded_and_encoded_once() -> None:
    encoded = 0

    def encode(images: tuple[Image, ...]) -> str:
        nonlocal encoded
        encoded += 1
        return images[0].data.decode()

    kept = EncodedStimuli(encode)
    assert {kept.content(request.stimulus) for request in requests("abcdefgh" * 20)} == {"1234"}
    assert encoded == 8
    kept.clear()
    assert kept.content(next(iter(requests("a"))).stimulus) == "1234"
    assert encoded == 9
