"""Text below pictures: the picture stays, the text fits and can be read, and its digest follows from it."""

import io
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import PIL.Image
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.errors import DataError
from facevalue.protocol.toml_tables import builtin
from facevalue.stimuli.captions import LEAST, Caption, encode_png
from facevalue.stimuli.pairs import NoPicture
from facevalue.stimuli.pixels import WITHOUT
from facevalue.types import Image, Stimulus

DEBIASING = builtin()["vis-debiasing"].caption
Pixels = npt.NDArray[np.uint8]


def grain(width: int, height: int, mode: str = "RGB") -> PIL.Image.Image:
    """A picture without two equal neighbours."""
    channels = len(PIL.Image.new(mode, (1, 1)).getbands())
    data = np.random.default_rng(1).integers(0, 256, (height, width, channels), dtype=np.uint8)
    return PIL.Image.fromarray(data[:, :, 0] if channels == 1 else data, mode)


def saved(image: PIL.Image.Image, kind: str = "PNG", **how: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **how)
    return buffer.getvalue()


def opened(data: bytes) -> Pixels:
    with PIL.Image.open(io.BytesIO(data)) as image:
        return np.asarray(image)


def shown(data: bytes, digest: str = "d") -> Stimulus:
    return Stimulus("7", digest, {"face": "f"}, lambda: (Image(data, "image/png"),))


@settings(max_examples=60)
@given(
    size=st.tuples(st.integers(1, 70), st.integers(1, 150)),
    channels=st.sampled_from([3, 4]),
    flat=st.booleans(),
    seed=st.integers(0, 99),
)
def test_what_is_written_as_png_is_what_was_given(size: tuple[int, int], channels: int, flat: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (size[1], size[0], channels), dtype=np.uint8)
    if flat:
        pixels[::] = pixels[0, 0]
    assert (opened(encode_png(pixels)) == pixels).all()


def test_flat_pictures_are_packed_and_grain_is_not_searched_in_vain() -> None:
    white, noise = np.full((300, 300, 3), 255, np.uint8), np.asarray(grain(300, 300))
    assert len(encode_png(white)) < 0.02 * white.nbytes
    assert len(encode_png(noise)) < 1.01 * noise.nbytes + 300


ENCODED: dict[str, Callable[[], tuple[bytes, Pixels]]] = {
    "png": lambda: (saved(grain(120, 90)), np.asarray(grain(120, 90))),
    "jpeg": lambda: ((jpeg := saved(grain(120, 90), "JPEG", quality=80)), opened(jpeg)),
    "grey": lambda: (saved(grain(120, 90, "L")), np.asarray(grain(120, 90, "L").convert("RGB"))),
    "alpha": lambda: (saved(grain(120, 90, "RGBA")), np.asarray(grain(120, 90, "RGBA"))),
    "palette": lambda: (
        saved(grain(120, 90).quantize(16)),
        np.asarray(grain(120, 90).quantize(16).convert("RGB")),
    ),
}


@pytest.mark.parametrize("kind", ENCODED)
def test_the_picture_stays_as_it_is_to_the_pixel_and_the_band_is_white(kind: str) -> None:
    data, pixels = ENCODED[kind]()
    (image,) = Caption("Be fair.").below(shown(data)).load()
    out = opened(image.data)
    assert image.media_type == "image/png"
    assert (out[:90] == pixels).all()
    assert (out[90] == 255).all()
    assert (out[-1] == 255).all()
    assert out[90:].min() < 100


def test_a_picture_that_a_camera_turned_stands_upright_above_its_text() -> None:
    exif = PIL.Image.Exif()
    exif[274] = 6  # the top is on the right
    upright = grain(90, 120)
    data = saved(upright.transpose(PIL.Image.Transpose.ROTATE_90), "PNG", exif=exif)
    (image,) = Caption("Be fair.").below(shown(data)).load()
    assert (opened(image.data)[:120] == np.asarray(upright)).all()


@pytest.mark.parametrize("size", [(410, 200), (458, 224), (1034, 512), (310, 200)])
def test_the_band_is_as_high_as_a_pair(size: tuple[int, int]) -> None:
    assert Caption(DEBIASING).layout(*size).height == size[1]


@pytest.mark.parametrize("size", [(512, 512), (768, 768), (1024, 768), (224, 224)])
def test_the_band_is_half_as_high_as_a_scene(size: tuple[int, int]) -> None:
    assert Caption(DEBIASING).layout(*size).height == size[1] // 2


def ink(pixels: Pixels) -> list[tuple[int, int]]:
    """First and last row of each line of text."""
    dark = np.flatnonzero(np.diff(np.concatenate([[0], (pixels.min(axis=(1, 2)) < 128).astype(int), [0]])))
    return [(int(a), int(b)) for a, b in zip(dark[::2], dark[1::2], strict=True)]


@pytest.mark.parametrize("size", [(410, 200), (512, 512), (400, 100), (1600, 400), (100, 400), (2000, 400)])
def test_letters_are_at_least_a_32nd_of_the_width_and_within_the_band(size: tuple[int, int]) -> None:
    width, height = size
    caption = Caption("Hlp" + DEBIASING.replace(" ", " Hlp", 5))  # each of the first lines has the tallest letters
    layout = caption.layout(width, height)
    assert layout.size >= width / LEAST
    band = caption.write_below(saved(PIL.Image.new("RGB", size)))[height:]
    lines = ink(band)
    assert lines[0][1] - lines[0][0] >= width / 32
    assert lines[0][0] > 0
    assert lines[-1][1] < len(band)
    columns = np.flatnonzero(band.min(axis=(0, 2)) < 128)
    assert 0 < columns[0] < columns[-1] < width - 1


def test_a_wide_picture_gets_a_band_that_the_text_fits() -> None:
    layout = Caption(DEBIASING * 2).layout(400, 100)
    assert layout.height > 100
    assert layout.size == pytest.approx(400 / LEAST)


@settings(max_examples=80)
@given(
    text=st.text("abc WilM.,\n", max_size=400),
    size=st.tuples(st.integers(16, 900), st.integers(1, 600)),
)
def test_all_words_are_there_in_order_whatever_the_size(text: str, size: tuple[int, int]) -> None:
    layout = Caption(text).layout(*size)
    assert "".join(layout.lines).replace(" ", "") == "".join(text.split())
    assert layout.height >= len(layout.lines) * layout.size


def test_a_word_wider_than_the_picture_is_broken() -> None:
    assert len(Caption("m" * 200).layout(200, 200).lines) > 3


def test_lines_of_the_text_stay_lines() -> None:
    assert Caption("Be fair.\nBe kind.").layout(400, 400).lines == ("Be fair.", "Be kind.")


def test_a_blank_caption_is_a_band_without_text() -> None:
    out = Caption(" ").write_below(saved(grain(90, 90)))
    assert out.shape == (135, 90, 3)
    assert (out[90:] == 255).all()


def test_key_and_factors_stay_and_the_digest_follows_from_picture_and_text() -> None:
    data = saved(grain(60, 60))
    one, other = Caption("Be fair."), Caption("Be kind.")
    made = [one.below(shown(data)), other.below(shown(data)), one.below(shown(data, "e"))]
    assert len({"d", *(stimulus.digest for stimulus in made)}) == 4
    assert Caption("Be fair.").below(shown(data)).digest == made[0].digest
    assert (made[0].key, made[0].factors) == ("7", {"face": "f"})


def test_each_of_several_pictures_gets_it() -> None:
    data = saved(grain(60, 60))
    two = Stimulus("7", "d", {}, lambda: (Image(data, "image/png"), Image(data, "image/png")))
    assert [opened(image.data).shape for image in Caption("Be fair.").below(two).load()] == [(90, 60, 3)] * 2


def test_the_same_picture_is_written_on_once() -> None:
    loads = []

    def load() -> tuple[Image, ...]:
        loads.append(1)
        return (Image(saved(grain(60, 60)), "image/png"),)

    caption = Caption("Be fair.")
    first, again = (caption.below(Stimulus("7", "d", {}, load)).load()[0] for _ in range(2))
    assert first.data is again.data


def test_no_picture_cannot_have_a_caption() -> None:
    for nothing in (WITHOUT, NoPicture().stimulus(1, {})):
        with pytest.raises(DataError, match="A caption stands below a picture, and none is shown"):
            Caption("Be fair.").below(nothing)


def test_pictures_and_texts_that_cannot_be_used_are_one_sentence() -> None:
    with pytest.raises(DataError, match="'日' of '日本' can't be drawn"):
        Caption("日本")
    with pytest.raises(DataError, match="too narrow for a caption"):
        Caption("Be fair.").write_below(saved(grain(9, 90)))
    with pytest.raises(DataError, match="not a PNG, JPEG"):
        Caption("Be fair.").write_below(b"no picture")
    with pytest.raises(DataError, match="too large for a caption"):
        Caption(DEBIASING * 6).layout(40_000, 100)
