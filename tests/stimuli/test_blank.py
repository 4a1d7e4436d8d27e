"""Blank pictures have the size of what they stand for, and nothing else of it."""

import io

import PIL.Image

from facevalue.stimuli.pixels import SIZE, WITHOUT, blank_stimulus
from facevalue.types import Image, Stimulus


def picture(width: int, height: int, colour: str = "red") -> Image:
    buffer = io.BytesIO()
    PIL.Image.new("RGB", (width, height), colour).save(buffer, "JPEG")
    return Image(buffer.getvalue(), "image/jpeg")


def stimulus(*images: Image, digest: str = "d") -> Stimulus:
    return Stimulus("7", digest, {"gender": "female"}, lambda: images)


def opened(image: Image) -> PIL.Image.Image:
    return PIL.Image.open(io.BytesIO(image.data))


def test_each_picture_becomes_a_white_one_of_its_size() -> None:
    shown = [opened(image) for image in blank_stimulus(stimulus(picture(30, 20), picture(5, 8))).load()]
    assert [image.size for image in shown] == [(30, 20), (5, 8)]
    assert all(image.convert("L").getextrema() == (255, 255) for image in shown)


def test_a_picture_whose_size_cannot_be_told_becomes_a_square() -> None:
    assert opened(blank_stimulus(stimulus(Image(b"?", "image/png"))).load()[0]).size == (SIZE, SIZE)


def test_nothing_is_told_of_what_was_shown() -> None:
    assert blank_stimulus(stimulus()).factors == {}
    assert WITHOUT.factors == {}
    assert WITHOUT.load() == ()


def test_it_is_another_stimulus_than_the_plain_one() -> None:
    plain = stimulus()
    blank = blank_stimulus(plain)
    assert blank.digest not in (plain.digest, blank_stimulus(stimulus(digest="e")).digest)
    assert blank.key != plain.key


def test_the_plain_picture_is_not_made_before_the_blank_one_is_looked_at() -> None:
    def fail() -> tuple[Image, ...]:
        raise AssertionError

    blank_stimulus(Stimulus("1", "d", {}, fail))
