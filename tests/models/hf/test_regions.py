"""Each token of a picture stands for the part it is said to: where the picture changes, just those tokens change."""

from typing import Any

import numpy as np
import pytest
from PIL import Image

from facevalue.errors import ModelError
from facevalue.types import Question
from tests.models.hf import tiny

torch: Any = tiny.torch

from facevalue.models.hf.chat import prepare  # noqa: E402
from facevalue.models.hf.regions import check_known, regions  # noqa: E402

IN_TEXT = ("llava", "llava_next", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "idefics3", "smolvlm", "gemma3")
KNOWN = (*IN_TEXT, "mllama")
REFUSED = ("internvl", "pixtral", "mistral3")
ASK = Question(prompt="Who is more competent?")
SIZES = ((112, 56), (56, 112), (56, 56), (64, 40))
_REACH = 4 / 28  # how far the kernel of the scaling reaches on either side, as a share of a picture scaled to 28 pixels


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return tiny.loader(tmp_path_factory)


def apart(loaded: Any) -> None:
    """Make every patch of a picture know of itself alone: what its vision model's attention gives is thrown away."""
    for name, weight in loaded.model.named_parameters():
        if ("vision" in name or "visual" in name) and "attn." in name and "proj" in name.rsplit(".", 2)[-2]:
            torch.nn.init.zeros_(weight)


def told(loaded: Any, pictures: list[Image.Image]) -> tuple[Any, Any]:
    """What the language model is told, token by token of the text or of what it looks at besides, and the inputs."""
    inputs = prepare(loaded, pictures, [ASK])[0].full(0)
    seen: list[Any] = []

    def keep(module: Any, args: Any, kwargs: Any) -> None:
        if kwargs.get("inputs_embeds") is None:
            states = kwargs["cross_attention_states"]
            seen.append(states.detach().clone().reshape(-1, states.shape[-1]))
        else:
            seen.append(kwargs["inputs_embeds"][0].detach().clone())

    hook = loaded.model.get_decoder().register_forward_pre_hook(keep, with_kwargs=True)
    with torch.inference_mode():
        loaded.model(**inputs, use_cache=False)
    hook.remove()
    return seen[0], inputs


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", KNOWN)
def test_a_change_of_a_part_changes_the_tokens_of_that_part(load: Any, name: str, size: tuple[int, int]) -> None:
    loaded = load(name)
    apart(loaded)
    plain = tiny.picture("plain", size)
    before, inputs = told(loaded, [plain])
    found = regions(loaded, inputs, [plain.size])
    if name in IN_TEXT:
        assert np.all(np.asarray(inputs["input_ids"][0])[found.positions] == loaded.model.config.image_token_id)
    else:
        assert np.array_equal(found.positions, np.arange(len(before)))
    assert found.is_of_picture.any()
    width, height = size
    changed_ever = np.zeros(len(found.boxes), bool)
    for column in range(5):
        for row in range(5):
            box = np.array([column, row, column + 1, row + 1]) / 5
            left, top, right, bottom = np.rint(box * [width, height, width, height]).astype(int)
            pixels = np.asarray(plain).copy()
            pixels[top:bottom, left:right] = 255 - pixels[top:bottom, left:right]
            after, _ = told(loaded, [Image.fromarray(pixels)])
            changed = ((after - before).abs().amax(-1) > 1e-6).numpy()[found.positions]
            changed_ever |= changed
            inside = np.array([left / width, top / height, right / width, bottom / height])
            touched = overlap(found.boxes, inside, -0.02)
            near = overlap(found.boxes, inside, _REACH)
            assert not (changed & ~near).any(), "a token changed whose part of the picture did not"
            assert not (touched & ~changed).any(), "a token did not change whose part of the picture did"
    assert np.array_equal(changed_ever, found.is_of_picture)


def overlap(boxes: Any, box: Any, margin: float) -> Any:
    """Whether boxes overlap a box that is made larger by a margin; those of no place don't."""
    with np.errstate(invalid="ignore"):
        return (
            (boxes[:, 0] < box[2] + margin)
            & (boxes[:, 2] > box[0] - margin)
            & (boxes[:, 1] < box[3] + margin)
            & (boxes[:, 3] > box[1] - margin)
        )


@pytest.mark.parametrize("name", KNOWN)
def test_two_pictures_are_told_apart(load: Any, name: str) -> None:
    loaded = load(name)
    apart(loaded)
    one, two, other = (tiny.picture(key, size) for key, size in (("1", (56, 56)), ("2", (112, 56)), ("3", (112, 56))))
    before, inputs = told(loaded, [one, two])
    after, _ = told(loaded, [one, other])
    found = regions(loaded, inputs, [one.size, two.size])
    changed = ((after - before).abs().amax(-1) > 1e-6).numpy()[found.positions]
    assert np.array_equal(changed, (found.picture == 1) & found.is_of_picture)


@pytest.mark.parametrize("name", REFUSED)
def test_a_family_without_a_rule_is_refused(load: Any, name: str) -> None:
    with pytest.raises(ModelError, match=r"not known here which part.*Known: .*llava"):
        check_known(load(name))


def test_a_processor_that_does_otherwise_is_refused(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load("llava")
    picture = tiny.picture("plain", (56, 56))
    inputs = prepare(loaded, [picture], [ASK])[0].full(0)
    monkeypatch.setattr(loaded.processor.image_processor, "crop_size", {"height": 14, "width": 14})
    with pytest.raises(ModelError, match="another size"):
        regions(loaded, inputs, [picture.size])
    gemma = load("gemma3")
    inputs = prepare(gemma, [picture], [ASK])[0].full(0)
    with pytest.raises(ModelError, match="pan and scan"):
        regions(gemma, {**inputs, "pixel_values": inputs["pixel_values"].repeat(2, 1, 1, 1)}, [picture.size])
    monkeypatch.setattr(gemma.model.config, "mm_tokens_per_image", 16)
    with pytest.raises(ModelError, match="expected to take 16 tokens"):
        regions(gemma, inputs, [picture.size])


@pytest.mark.parametrize("pads", [False, True], ids=["as here", "as its processor"])
def test_llavas_patches_lie_in_a_square_around_the_picture(load: Any, pads: bool) -> None:
    loaded = load("llava")
    picture = tiny.picture("plain", (112, 56))
    inputs = prepare(loaded, [picture], [ASK])[0].full(0)
    images = loaded.processor.image_processor
    images.do_pad = pads
    try:
        boxes = regions(loaded, inputs, [picture.size]).boxes
    finally:
        images.do_pad = False
    assert boxes.tolist() == [[0, 0, 0.5, 0.5], [0.5, 0, 1, 0.5], [0, 0.5, 0.5, 1], [0.5, 0.5, 1, 1]]


def test_patches_of_padding_alone_have_no_place(load: Any) -> None:
    loaded = load("llava")
    picture = tiny.picture("plain", (56, 112))
    four = {
        "pixel_values": torch.zeros(1, 3, 56, 56),
        "input_ids": torch.full((1, 16), loaded.model.config.image_token_id),
    }
    images = loaded.processor.image_processor
    before = images.size, images.crop_size
    images.size, images.crop_size = {"shortest_edge": 56}, {"height": 56, "width": 56}
    try:
        found = regions(loaded, four, [picture.size])
    finally:
        images.size, images.crop_size = before
    assert found.is_of_picture.tolist() == [False, True, True, False] * 4
    assert found.boxes[found.is_of_picture][:2].tolist() == [[0, 0, 0.5, 0.25], [0.5, 0, 1, 0.25]]
