"""Replies that programs write: numbers under exact names, each in its own unit, worded as the study says."""

import polars as pl
import pytest

from facevalue.answers import NA
from facevalue.errors import FaceValueError
from facevalue.protocol.open_answers import Field
from facevalue.protocol.structured_replies import Measurements
from tests.protocol.conftest import MINIMAL, Reader

FIELDS = """kind = "measurements"
[answer.fields.lightness]
title = "Lightness of skin"
unit = "L*"
low = -100
high = 100
higher = "skin {size} lighter"
lower = "skin {size} darker"
[answer.fields.shift]
unit = "% of width"
low = 0
high = 100
"""
STUDY = MINIMAL.replace('kind = "yes-no"\n', FIELDS)
REPLY = Measurements({"lightness": Field("L*", -100, 100), "shift": Field("%", 0, 100)})


@pytest.mark.parametrize(
    ("text", "lightness", "shift"),
    [
        ("lightness: -3.25\nshift: 0.5", -3.25, 0.5),
        ("shift: 0.5\r\nlightness: 4", 4.0, 0.5),
        ('{"lightness": 1e1, "shift": 2.5}', 10.0, 2.5),
        ("lightness_change: 9\nshifts: 3\nshift: 1", None, 1.0),
        ("lightness: 200\nshift: 1", None, 1.0),
        ("lightness: about 3\nshift: 1 or 2", None, None),
        ("lightness: nan\nshift: 7", None, 7.0),
        ("Lightness: 3\nskin lightness: 3", None, None),
        ("", None, None),
        ("lightness: 9" + "9" * 400, None, None),
    ],
)
def test_numbers_are_read_under_their_exact_names(text: str, lightness: float | None, shift: float | None) -> None:
    read = REPLY.read(pl.DataFrame({"text": [text]}))
    assert read.select("lightness", "shift").row(0) == (lightness, shift)
    assert read["mass"].to_list() == [float(lightness is not None or shift is not None)]


def test_replies_that_cannot_be_read_say_why() -> None:
    texts, statuses = ["shift: 1", None, "shift: 1", "", "no number"], ["refused", "error", "error", "ok", "ok"]
    read = REPLY.read(pl.DataFrame({"text": texts, "status": statuses}))
    reasons = [NA.REFUSED, NA.ERROR, NA.ERROR, NA.EMPTY, NA.NEITHER]
    assert read["na"].to_list() == [reason.value for reason in reasons]
    assert read["shift"].null_count() == 5


def test_each_field_has_its_unit_and_its_words(read: Reader) -> None:
    ask = read(STUDY).ask
    assert ask is not None
    first, second = ask.reply.scores
    assert (first.title, first.unit, first.quantity) == ("Lightness of skin", "L*", "lightness of skin")
    assert first.moved == ("skin {size} lighter", "skin {size} darker")
    assert (second.title, second.unit, second.moved) == ("Field shift", "% of width", ("", ""))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('higher = "skin {size} lighter"', 'higher = "skin lighter"', r"line 22: .* has \{size\} in it once"),
        ('higher = "skin {size} lighter"', 'higher = "{skin} {size} lighter"', r"line 22: .* \{size\} in it once"),
        ('higher = "skin {size} lighter"', 'higher = "{size} {size}"', r"line 22: .* has \{size\} in it once"),
        ('lower = "skin {size} darker"', "", r"line 22: .* has \{size\} in it once"),
        ('higher = "skin {size} lighter"', "", r"line 23: .* has \{size\} in it once"),
        ('higher = "skin {size} lighter"', "higher = 3", r"line 22: 'higher' is a text in quotes, not 3"),
        ('title = "Lightness of skin"', "title = true", r"line 18: 'title' is a text in quotes, not True"),
        ('title = "Lightness of skin"', 'titel = "Lightness"', r"line 18: Unknown key 'titel'. Did you mean 'title'"),
        ("low = -100", 'low = "-100"', r"line 20: 'low' is a number"),
        ('unit = "L*"', 'options = ["yes", "no"]\nfavourable = "yes"', r"A measurement is a number, and has no option"),
        ('kind = "measurements"', 'kind = "measurement"', r"Unknown kind of answer 'measurement'. Did you mean 'meas"),
        ("[answer.fields.lightness]", "[answer.field.lightness]", r"Unknown key 'field'. Did you mean 'fields'"),
        (FIELDS, 'kind = "measurements"\n', r"'fields' is missing"),
    ],
)
def test_mistakes_are_one_sentence(before: str, after: str, message: str, read: Reader) -> None:
    assert before in STUDY
    with pytest.raises(FaceValueError, match=message) as refused:
        read(STUDY.replace(before, after, 1))
    assert "\n" not in str(refused.value)
