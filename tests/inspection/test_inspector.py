"""The inspector as a model: what it is shown, asked, and replies."""

import pytest

from facevalue.answers.rated_scales import parse
from facevalue.errors import DataError, FaceValueError
from facevalue.inspection.inspector import Inspector
from facevalue.inspection.quantities import Expectation
from facevalue.models import registry
from facevalue.stimuli.portraits import Identity
from facevalue.types import Image, Question, Request, Sampling, Status, Stimulus
from tests.inspection.plants import encoded, portrait, shifted

ANNE = Identity("anne", 3, "female", "young", "monk-05", "normal")


def request(images: tuple[Image, ...], prompt: str = "") -> Request:
    stimulus = Stimulus("0", "x", {}, lambda: images)
    return Request(5, 0, 1, stimulus, Question(prompt), Sampling(), exact=False)


def test_a_reply_has_a_line_for_each_quantity_that_there_is() -> None:
    source = portrait(ANNE, size=256)
    (response,) = registry.load("inspect/default").respond([request((encoded(source), encoded(shifted(source, 5))))])
    assert response.status is Status.OK
    assert response.trial == 5
    lines = dict(line.split(": ") for line in (response.text or "").splitlines())
    assert float(lines["shift"]) == pytest.approx(1.953, abs=0.1)
    assert "persons" not in lines
    names: dict[str, tuple[str, ...]] = dict.fromkeys(("shift", "skin_lightness", "persons"), ())
    ratings, reason = parse(response.text or "", names, 0, 100)
    assert reason is None
    assert ratings["persons"] is None
    assert ratings["shift"] == float(lines["shift"])


def test_without_a_source_nothing_is_compared() -> None:
    (response,) = Inspector("inspect/default").respond([request((encoded(portrait(ANNE, size=256)),))])
    assert "skin_ita: " in (response.text or "")
    assert "shift" not in (response.text or "")


BROKEN = Image(b"no picture", "image/png")


def test_a_picture_that_cannot_be_decoded_is_not_readable_and_nothing_else() -> None:
    for images in ((BROKEN,), (encoded(portrait(ANNE, size=64)), BROKEN)):
        (response,) = Inspector("inspect/default").respond([request(images)])
        assert response.status is Status.OK
        assert response.text == "readable: 0.0"


def test_beside_a_source_that_cannot_be_decoded_there_is_the_picture_alone() -> None:
    (response,) = Inspector("inspect/default").respond([request((BROKEN, encoded(portrait(ANNE, size=64))))])
    assert (response.text or "").startswith("readable: 1.0")
    assert "shift" not in (response.text or "")


def test_a_picture_that_is_not_there_is_an_error_of_its_request() -> None:
    def load() -> tuple[Image, ...]:
        raise DataError("a.png: missing or not readable.")

    missing = request(())._replace(stimulus=Stimulus("0", "x", {}, load))
    for asked in (missing, request(())):
        (response,) = Inspector("inspect/default").respond([asked])
        assert response.status is Status.ERROR
        assert (response.error or "").endswith(".")


def test_what_is_looked_for_goes_through_a_prompt_and_back() -> None:
    expectation = Expectation(text="An old man\nwith a cap", attribute="a cap", person="f1", group="man, elderly")
    assert Expectation.from_prompt(expectation.prompt()) == Expectation(
        "An old man with a cap", "a cap", "f1", "man, elderly"
    )
    assert Expectation.from_prompt("Is this person kind?\nnote: hello\ntext:") == Expectation()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("inspect/defualt", "Did you mean 'default'"),
        ("inspect/", "names no model: write inspect/default"),
        ("inspect/identiti=dlib", "Did you mean 'identity'?"),
        ("inspect/identity=", "names no model: write identity=dlib"),
        ("inspect/objects", "write objects=FOLDER"),
        ("inspect/identity=dlib,identity=dlib", "one model for identity"),
        ("inspect/peers=a.parquet", "name a model for it too"),
    ],
)
def test_a_name_that_is_wrong_gets_one_sentence(spec: str, message: str) -> None:
    with pytest.raises(FaceValueError, match=r"^[^\n]*$") as error:
        registry.load(spec)
    assert message in str(error.value)
