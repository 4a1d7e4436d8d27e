"""All of a picture is shown: what is planted at any of its edges changes what the model is given."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from facevalue.errors import DataError
from facevalue.models import load
from facevalue.models.base import ModelOptions
from facevalue.types import Question
from tests.models.hf import tiny

torch: Any = tiny.torch
tf: Any = tiny.tf

from facevalue.models.hf.chat import prepare  # noqa: E402
from facevalue.models.hf.framing import NOTE, cuts, frame, frame_pictures  # noqa: E402

SIZES = ((120, 60), (60, 120), (60, 60), (64, 40), (300, 50))
ASK = Question(prompt="Who is more competent?")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return tiny.loader(tmp_path_factory)


def planted(size: tuple[int, int], side: str) -> Image.Image:
    """A white picture with one black edge, a tenth of it."""
    pixels = np.full((size[1], size[0], 3), 255, dtype=np.uint8)
    wide, high = -(-size[0] // 10), -(-size[1] // 10)
    where: dict[str, Any] = {
        "left": np.s_[:, :wide],
        "right": np.s_[:, -wide:],
        "top": np.s_[:high],
        "bottom": np.s_[-high:],
    }
    if side:
        pixels[where[side]] = 0
    return Image.fromarray(pixels)


def given(model: Any, picture: Image.Image) -> Any:
    """The pixels that a model is given."""
    return prepare(model, [picture], [ASK])[0].full(0)["pixel_values"]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", list(tiny.BUILDERS))
def test_every_edge_of_every_picture_is_seen(loaded: Any, name: str, size: tuple[int, int]) -> None:
    model = loaded(name)
    plain = given(model, planted(size, ""))
    for side in ("left", "right", "top", "bottom"):
        assert not torch.equal(given(model, planted(size, side)), plain), side


@pytest.mark.parametrize("name", list(tiny.BUILDERS))
def test_pictures_are_left_alone_where_nothing_would_be_cut_off(loaded: Any, name: str) -> None:
    """The processor by itself is asked: a picture is changed by us if and only if it would not be seen whole."""
    model = loaded(name)
    images = model.processor.image_processor
    assert cuts(images) is (name == "llava")
    for size in SIZES:
        picture = planted(size, "")
        plain = torch.as_tensor(np.asarray(images(picture, return_tensors="np")["pixel_values"]))
        seen = []
        for side in ("left", "right", "top", "bottom"):
            other = torch.as_tensor(np.asarray(images(planted(size, side), return_tensors="np")["pixel_values"]))
            seen.append(not torch.equal(other, plain))
        assert (frame_pictures(images, [picture]) == [picture]) is all(seen)


def test_a_person_at_the_edge_of_a_pair_changes_what_the_vision_model_says(loaded: Any) -> None:
    model = loaded("llava")
    features = []
    for side in ("", "left", "right"):
        with torch.inference_mode():
            features.append(model.model.get_image_features(given(model, planted((120, 60), side))).pooler_output[0])
    assert not torch.equal(features[1], features[0])
    assert not torch.equal(features[2], features[0])
    assert not torch.equal(features[1], features[2])


def test_the_padding_is_that_of_the_processor_that_pads_by_itself() -> None:
    clip = tiny._clip(tf.CLIPImageProcessorPil)
    own = tiny._clip(tf.models.llava.image_processing_pil_llava.LlavaImageProcessorPil, do_pad=True)
    assert (cuts(clip), cuts(own)) == (True, False)
    for size in ((121, 60), (60, 121), (45, 45)):
        picture = tiny.picture("noise", size)
        mine = clip(frame_pictures(clip, [picture]), return_tensors="np")["pixel_values"][0]
        assert np.array_equal(mine, own(picture, return_tensors="np")["pixel_values"][0])
        assert frame(own, size) == frame(clip, size)


def test_a_square_that_loses_its_border_by_design_is_left_alone() -> None:
    images = SimpleNamespace(
        do_resize=True, size={"shortest_edge": 32}, do_center_crop=True, crop_size={"height": 28, "width": 28}
    )
    assert frame(images, (100, 100)).outer == (100, 100)
    assert frame(images, (110, 100)).outer == (110, 110)


def test_a_processor_that_only_cuts_is_told_apart_from_one_that_can_be_helped() -> None:
    images = SimpleNamespace(do_resize=False, size={}, do_center_crop=True, crop_size={"height": 28, "width": 28})
    assert frame(images, (28, 20)).outer == (28, 20)
    with pytest.raises(DataError, match="middle 28 x 28 pixels of a picture of 56 x 28"):
        frame(images, (56, 28))


def test_the_run_is_told_once_and_by_its_settings(tmp_path: Path) -> None:
    model: Any = load(f"hf/{tiny.llava(tmp_path / 'llava')}", ModelOptions(device="cpu", threads=1))
    assert model.notes.count(NOTE) == 1
    assert model.settings()["pictures"] == "padded to a square"
    other: Any = load(f"hf/{tiny.llava_next(tmp_path / 'next')}", ModelOptions(device="cpu", threads=1))
    assert NOTE not in other.notes
    assert "pictures" not in other.settings()
