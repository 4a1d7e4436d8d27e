"""Every family, shared and plain: the same numbers, whatever is shown and in whatever order."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from facevalue.models.hf.chat import prepare
from facevalue.models.hf.framing import NOTE, frame_pictures
from facevalue.models.hf.loading import Loaded, load_model, window_of
from facevalue.models.hf.prefix import Branch, Prefix
from facevalue.models.hf.reference_pass import extend_inputs, plain_logits
from facevalue.types import Question
from tests.models.hf import tiny

torch: Any = tiny.torch


ROUNDING = 1e-4
"""Largest difference of a log-probability in float32."""
COARSE = {"bfloat16": 2e-2, "float16": 5e-3}
"""Largest difference of a probability. These nets magnify rounding: the formats' own error is up to 0.06 and 0.004."""
WORDS = ("competent", "warm", "honest", "more trustworthy than the other one")
QUESTIONS = [
    *(Question(prompt=f"Who is {word}?\n(a) left\n(b) right") for word in WORDS),
    Question(prompt="\n\nYes or no?\n\n"),
    Question(prompt="Who is warm?", system="You are a helpful assistant."),
    Question(prompt="Who is honest?", system="You are a helpful assistant."),
    Question(prompt="Who is warm?", turns=(("user", "Look at the picture."), ("assistant", "Yes."))),
]
Load = Callable[..., Loaded]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Builds and loads a family's tiny model once."""
    return tiny.loader(tmp_path_factory)


def shared(loaded: Loaded, images: Sequence[Any], questions: Sequence[Question]) -> Any:
    """Log-probabilities of what follows each question, over shared prefixes."""
    rows: dict[int, Any] = {}
    for group in prepare(loaded, images, questions):
        assert group.inputs is not None, "this family shares"
        logs = Branch(Prefix.read_prefixes(loaded, group.inputs)).grow(*tiny.packed(group.suffixes)).log_softmax(-1)
        rows |= dict(zip(group.members, logs, strict=True))
    return torch.stack([rows[number] for number in range(len(questions))])


def plain(loaded: Loaded, images: Sequence[Any], questions: Sequence[Question]) -> Any:
    """The same, each question by a forward pass of its own."""
    rows: dict[int, Any] = {}
    for group in prepare(loaded, images, questions):
        for number in group.members:
            rows[number] = plain_logits(loaded, group.full(number), [], [0])[0].log_softmax(-1)
    return torch.stack([rows[number] for number in range(len(questions))])


def gap(one: Any, other: Any) -> float:
    """Largest difference."""
    return float((one - other).abs().max())


PICTURES: dict[str, list[Any]] = {
    "one": [tiny.picture("one", (60, 40))],
    "two": [tiny.picture("one", (60, 40)), tiny.picture("two", (30, 50))],
    "blank": [Image.new("RGB", (40, 40), "white")],
    "none": [],
}


@pytest.mark.parametrize("shown", PICTURES)
@pytest.mark.parametrize("name", tiny.BUILDERS)
def test_shared_is_plain(load: Load, name: str, shown: str) -> None:
    loaded = load(name)
    assert set(loaded.notes) <= {NOTE}
    found = shared(loaded, PICTURES[shown], QUESTIONS)
    assert gap(found, plain(loaded, PICTURES[shown], QUESTIONS)) <= ROUNDING
    assert gap(found[0], found[3]) > 0.01, "the question matters"


@pytest.mark.parametrize("dtype", COARSE)
@pytest.mark.parametrize("name", tiny.BUILDERS)
def test_shared_is_plain_in_half_precision(load: Load, name: str, dtype: str) -> None:
    loaded = load(name, dtype)
    assert str(loaded.dtype) == f"torch.{dtype}"
    found = shared(loaded, PICTURES["one"], QUESTIONS)
    assert found.dtype == torch.float32
    assert gap(found.exp(), plain(loaded, PICTURES["one"], QUESTIONS).exp()) <= COARSE[dtype]


@pytest.mark.parametrize("name", tiny.BUILDERS)
def test_the_picture_matters_and_the_processor_says_the_same(load: Load, name: str) -> None:
    # The numbers are those of the library's own way from a conversation to a model.
    loaded = load(name)
    images = [tiny.picture("one", (60, 40))]
    whole = frame_pictures(loaded.processor.image_processor, images)  # where it would be cut otherwise
    content = [{"type": "image", "image": whole[0]}, {"type": "text", "text": QUESTIONS[0].prompt}]
    made = tiny.tf.ProcessorMixin.apply_chat_template(  # SmolVLM's own asks for its video processor first
        loaded.processor,
        [[{"role": "user", "content": content}]],
        chat_template=loaded.tokenizer.chat_template,
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        return_tensors="pt",
    )
    with torch.inference_mode():
        theirs = loaded.model(**made).logits[0, -1].log_softmax(-1)
    ours = shared(loaded, images, QUESTIONS[:2])[0]
    assert gap(ours, theirs) <= ROUNDING
    assert gap(ours, shared(loaded, [tiny.picture("other", (60, 40))], QUESTIONS[:2])[0]) > 0.01


@pytest.mark.parametrize("name", tiny.BUILDERS)
def test_no_cross_talk(load: Load, name: str) -> None:
    # Pictures of different sizes: what a model remembers of the last one would be wrong for the next.
    loaded = load(name)
    shows = [
        [tiny.picture("a", (60, 40))],
        [tiny.picture("b", (30, 60))],
        [],
        [tiny.picture("c", (50, 50)), tiny.picture("a", (60, 40))],
    ]
    alone = [shared(loaded, images, QUESTIONS) for images in shows]
    work = [(show, number) for show in range(len(shows)) for number in range(len(QUESTIONS))]
    random.Random(6).shuffle(work)
    # First all prefixes are run, then the questions come one by one, in any order, each on a branch of its own.
    groups = {(show, number): prepare(loaded, shows[show], [QUESTIONS[number]])[0] for show, number in work}
    prefixes = {
        at: Prefix.read_prefixes(loaded, group.inputs) for at, group in groups.items() if group.inputs is not None
    }
    for show, number in work:
        found = Branch(prefixes[show, number]).grow(*tiny.packed(groups[show, number].suffixes)).log_softmax(-1)
        assert gap(found[0], alone[show][number]) <= ROUNDING


@pytest.mark.parametrize("name", tiny.BUILDERS)
def test_replies_grow_on(load: Load, name: str) -> None:
    # Node by node, two replies to each question: what generation does.
    loaded = load(name)
    (group,) = prepare(loaded, PICTURES["one"], QUESTIONS[:2])
    assert group.inputs is not None
    branch = Branch(Prefix.read_prefixes(loaded, group.inputs))
    ids, parents, ends = tiny.packed(group.suffixes)
    branch.grow(ids, parents, [])
    first = branch.grow([50, 60, 50, 60], [ends[0], ends[0], ends[1], ends[1]], range(4))
    second = branch.grow([70, 71], [len(ids) + 1, len(ids) + 2], [1, 0])
    prompts = [group.full(number) for number in group.members]
    replies = [[60, 70], [50, 71]]
    want = [plain_logits(loaded, prompt, reply, [1, 2]) for prompt, reply in zip(prompts, replies, strict=True)]
    assert gap(torch.stack([first[1], second[1]]).log_softmax(-1), want[0].log_softmax(-1)) <= ROUNDING
    assert gap(torch.stack([first[2], second[0]]).log_softmax(-1), want[1].log_softmax(-1)) <= ROUNDING


@pytest.mark.parametrize("name", [name for name in tiny.BUILDERS if name.startswith("qwen")])
def test_positions_after_a_picture_follow_its_grid(load: Load, name: str) -> None:
    loaded = load(name)
    (group,) = prepare(loaded, PICTURES["one"], QUESTIONS[:2])
    assert group.inputs is not None
    _, height, width = group.inputs["image_grid_thw"][0].tolist()
    prefix = Prefix.read_prefixes(loaded, group.inputs)
    # The picture has a token for each square of 2 x 2 patches, and takes as many positions as its longer side.
    assert prefix.length - prefix.next_positions[0] == height * width // 4 - max(height, width) // 2 > 0
    # Forgotten, they give other numbers; after another picture, the same.
    plainly = replace(prefix, next_positions=(prefix.length,))
    packed = tiny.packed(group.suffixes)
    assert gap(Branch(plainly).grow(*packed), Branch(prefix).grow(*packed)) > 0.01
    Prefix.read_prefixes(loaded, prepare(loaded, [tiny.picture("wide", (120, 20))], QUESTIONS[:1])[0].inputs or {})
    assert Prefix.read_prefixes(loaded, group.inputs).next_positions == prefix.next_positions


@pytest.mark.parametrize("window", [5, 40])
@pytest.mark.parametrize("build", [tiny.gemma3, tiny.mistral3, tiny.qwen2_vl])
def test_windows_slide(tmp_path: Path, build: Callable[[Path, int], Path], window: int) -> None:
    # Shorter than a suffix, and shorter than prefix and suffix together.
    loaded = load_model(str(build(tmp_path, window)), device="cpu")
    found = window_of(loaded.model.config.get_text_config())
    assert found is not None
    assert (found.size, found.some) == (window, build is not tiny.mistral3)
    for images in PICTURES.values():
        assert gap(shared(loaded, images, QUESTIONS), plain(loaded, images, QUESTIONS)) <= ROUNDING
    group = prepare(loaded, PICTURES["one"], QUESTIONS[:2])[0]
    assert group.inputs is not None
    branch = Branch(Prefix.read_prefixes(loaded, group.inputs))
    ids, parents, ends = tiny.packed(group.suffixes)
    branch.grow(ids, parents, [])
    reply = [50, 51, 52, 53, 54, 55, 56]
    grown = branch.grow(reply, [ends[1], *range(len(ids), len(ids) + 6)], [6])
    want = plain_logits(loaded, group.full(1), reply, [7])
    assert gap(grown.log_softmax(-1), want.log_softmax(-1)) <= ROUNDING


def test_windows_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_model(str(tiny.gemma3(tmp_path, 5)), device="cpu")
    monkeypatch.setattr("facevalue.models.hf.prefix.window_of", lambda _: None)
    assert gap(shared(loaded, PICTURES["one"], QUESTIONS), plain(loaded, PICTURES["one"], QUESTIONS)) > 0.01


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_prompts_that_look_ahead_are_led_by_their_own_code(load: Load) -> None:
    loaded = load("paligemma")
    (group,) = prepare(loaded, PICTURES["one"], QUESTIONS[:4])
    for number in group.members:
        full = group.full(number)
        assert full["input_ids"][0].tolist() == group.prefix_ids + group.suffixes[number]
        out = loaded.model.generate(
            **full, max_new_tokens=3, do_sample=False, output_logits=True, return_dict_in_generate=True
        )
        reply = out.sequences[0, -3:].tolist()
        assert gap(plain_logits(loaded, full, reply[:2], [0, 1, 2]), torch.cat(out.logits)) <= ROUNDING
    # Here prompt and reply together are another thing than the reply after the prompt; a reply may hold any token.
    with torch.inference_mode():
        at_once = loaded.model(**extend_inputs(full, reply[:2])).logits[0, -1]
    assert gap(at_once, out.logits[2][0]) > 0.01
    assert plain_logits(loaded, full, sorted(loaded.stop_ids), [1]).shape == (1, 1700)


def test_layers_of_other_kinds_are_not_shared() -> None:
    class Config:
        layer_types = ("linear_attention", "full_attention")

    with pytest.raises(NotImplementedError, match="linear_attention"):
        window_of(Config)
