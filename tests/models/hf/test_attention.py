"""Attention and relevancy against numbers that are computed another way."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facevalue.errors import DataError, ModelError
from facevalue.types import Option, Question
from tests.models.hf import tiny

torch: Any = tiny.torch

from facevalue.models.hf.attention import (  # noqa: E402
    AttentionReader,
    Watch,
    _log_odds,
    sides,
    watch_attention,
    word_tokens,
)
from facevalue.models.hf.chat import prepare, write  # noqa: E402
from facevalue.models.hf.loading import load_model  # noqa: E402
from facevalue.models.hf.options import tokenise_options  # noqa: E402
from facevalue.models.hf.reference_pass import extend_inputs, plain_logits  # noqa: E402
from facevalue.models.hf.regions import Regions, regions  # noqa: E402
from facevalue.models.hf.vocabulary import TokenVocabulary  # noqa: E402
from tests.models.hf.test_regions import IN_TEXT  # noqa: E402

PAIR = tiny.picture("pair", (112, 56))
OPTIONS = (Option("(a)", "the left person", "l"), Option("(b)", "the right person", "r"))
QUESTION = Question("Who is more competent, (a) the left person or (b) the right person?", OPTIONS)


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    return tiny.loader(tmp_path_factory)


class Toy(torch.nn.Module):  # type: ignore[misc]
    """One layer of attention with two heads, to which a change of its attention can be added."""

    def __init__(self, tokens: int, seed: int) -> None:
        super().__init__()
        random = torch.Generator().manual_seed(seed)
        self.scores = torch.randn(2, tokens, tokens, generator=random, dtype=torch.float64)
        self.values = torch.randn(2, 3, 3, generator=random, dtype=torch.float64)
        self.change = torch.zeros(2, tokens, tokens, dtype=torch.float64)

    def forward(self, x: Any) -> Any:
        future = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
        attention = (self.scores + 0 * x.sum()).masked_fill(future, -torch.inf).softmax(-1)[None] + self.change
        mixed = attention @ (x[:, None] @ self.values)
        return x + mixed.sum(1), attention


def toy_number(layers: list[Toy], x: Any) -> Any:
    for layer in layers:
        x = layer(x)[0].tanh()
    return (x[0, -1] * torch.tensor([1.0, -2.0, 0.5])).sum()


def test_relevancy_of_a_toy_is_that_of_numerical_gradients_by_the_published_equations() -> None:
    tokens, layers = 4, [Toy(4, 1), Toy(4, 2), Toy(4, 3)]
    x = torch.randn(1, tokens, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    relevancy = np.eye(tokens)  # eqs. 5 and 6 of Chefer et al. 2021, as they stand, first layer first
    for layer in layers:
        attended = layer(x)[1][0].numpy()
        gradient = np.zeros_like(attended)
        for at in np.ndindex(*attended.shape):
            ends = []
            for step in (1e-5, -1e-5):
                layer.change[at] = step
                ends.append(float(toy_number(layers, x)))
                layer.change[at] = 0.0
            gradient[at] = (ends[0] - ends[1]) / 2e-5
        relevancy = relevancy + np.maximum(gradient * attended, 0).mean(axis=0) @ relevancy
    watch, start = Watch(layers), x.clone().requires_grad_()
    with watch():
        y = toy_number(layers, start)
    found = watch.relevancy(y, start, tokens - 1)
    assert np.allclose(found, relevancy[-1], rtol=1e-4)
    assert found.max() > 1.01


def test_relevancy_of_one_layer_is_as_computed_by_hand() -> None:
    layer = Toy(2, 0)
    layer.scores[:] = 0.0  # the second token attends to both by a half
    layer.values[:] = torch.eye(3)
    x = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]], dtype=torch.float64, requires_grad=True)
    watch = Watch([layer])
    with watch():
        y = layer(x)[0][0, -1] @ torch.tensor([3.0, -1.0, 0.0], dtype=torch.float64)
    # dy/dA is 3 for the first token and -2 for the second; times 1/2, and what is negative is 0.
    assert watch.relevancy(y, x, 1).tolist() == [1.5, 1.0]


@pytest.mark.parametrize("name", IN_TEXT)
def test_attention_of_every_layer_and_head_sums_to_one(load: Callable[[str], Any], name: str) -> None:
    loaded = load(name)
    inputs = prepare(loaded, [PAIR], [QUESTION])[0].full(0)
    length = int(inputs["input_ids"].shape[1])
    with watch_attention(loaded) as (watch, _):
        with watch():
            loaded.model(**inputs, use_cache=False)
        rows = watch.rows(length - 1)
        first = watch.rows(0)
    text = loaded.model.config.get_text_config()
    assert rows.shape == (text.num_hidden_layers, text.num_attention_heads, length)
    assert np.allclose(rows.sum(-1), 1, atol=1e-5)
    assert np.allclose(first[..., 0], 1)  # the first token sees itself alone


def likeliest(loaded: Any, inputs: Any) -> tuple[Any, int]:
    """Tokens of both options in the manner that begins most probably, and how many they begin with alike."""
    words = loaded.tokenizer
    vocabulary = TokenVocabulary.from_tokenizer(
        words, loaded.model.get_output_embeddings().weight.shape[0], loaded.stop_ids
    )
    ways = tokenise_options(OPTIONS, words, vocabulary)
    shares = plain_logits(loaded, inputs, [], [0])[0].softmax(-1)
    said = max(zip(*ways, strict=True), key=lambda manner: sum(float(shares[t]) for t in {way[0] for way in manner}))
    return said, next(n for n, (a, b) in enumerate(zip(*said, strict=False)) if a != b)


@pytest.mark.parametrize("name", IN_TEXT)
def test_maps_are_those_of_a_plain_forward_pass(load: Callable[[str], Any], name: str) -> None:
    """Probabilities, attention and relevancy, each from the model's own outputs and whole matrices."""
    loaded = load(name)
    found = AttentionReader(loaded).read_attention([PAIR], QUESTION)
    assert loaded.model.get_decoder().config._attn_implementation == "sdpa"  # as it was
    inputs = prepare(loaded, [PAIR], [QUESTION])[0].full(0)
    said, alike = likeliest(loaded, inputs)
    for option, own, other in zip(found.options, said, said[::-1], strict=True):
        logs = plain_logits(loaded, inputs, own, range(len(own))).log_softmax(-1)
        assert option.probability == pytest.approx(
            float(np.exp(sum(float(logs[n, t]) for n, t in enumerate(own)))), rel=1e-4
        )
        assert own[alike] != other[alike]
        loaded.model.get_decoder().set_attn_implementation("eager")
        try:
            loaded.model.requires_grad_(True)
            whole = extend_inputs(inputs, own)
            out = loaded.model(**whole, use_cache=False, output_attentions=True)
            position = int(inputs["input_ids"].shape[1]) - 1 + alike
            p = out.logits[0, position].float().softmax(-1)[own[alike]]
            gradients = torch.autograd.grad(p / (p * (1 - p)).detach(), out.attentions)
        finally:
            loaded.model.get_decoder().set_attn_implementation("sdpa")
        relevancy = torch.eye(gradients[0].shape[-1])
        for attention, gradient in zip(out.attentions, gradients, strict=True):
            relevancy = relevancy + (attention[0] * gradient[0]).clamp(min=0).mean(0).detach() @ relevancy
        tokens = found.regions.positions
        assert np.allclose(option.relevancy, relevancy[position, tokens].numpy(), rtol=2e-3, atol=1e-6)
        rows = torch.stack([attention[0, :, position] for attention in out.attentions]).detach().numpy()
        assert np.allclose(found.attention, rows[:, :, tokens], atol=1e-6)
    assert found.after == loaded.tokenizer.decode(said[0][:alike])
    assert np.allclose(found.mean, found.by_layer.mean(0))
    assert found.mean.sum() == pytest.approx(found.by_head.mean(), rel=1e-5)


def test_maps_of_pictures_beside_the_text_are_those_of_a_plain_forward_pass(load: Callable[[str], Any]) -> None:
    """Llama-3.2-Vision: eqs. 5 and 6 over text and picture tokens as one, from the model's own outputs."""
    loaded = load("mllama")
    found = AttentionReader(loaded).read_attention([PAIR], QUESTION)
    inputs = prepare(loaded, [PAIR], [QUESTION])[0].full(0)
    said, alike = likeliest(loaded, inputs)
    decoder = loaded.model.get_decoder()
    kept: list[torch.Tensor] = []
    crossing = loaded.model.config.text_config.cross_attention_layers
    modules = [layer.cross_attn if n in crossing else layer.self_attn for n, layer in enumerate(decoder.layers)]
    for option, own in zip(found.options, said, strict=True):
        decoder.set_attn_implementation("eager")
        kept.clear()
        hooks = [module.register_forward_hook(lambda m, i, out: kept.append(out[1])) for module in modules]
        try:
            loaded.model.requires_grad_(True)
            out = loaded.model(**extend_inputs(inputs, own), use_cache=False)
            position = int(inputs["input_ids"].shape[1]) - 1 + alike
            p = out.logits[0, position].float().softmax(-1)[own[alike]]
            gradients = torch.autograd.grad(p / (p * (1 - p)).detach(), kept)
        finally:
            decoder.set_attn_implementation("sdpa")
            for hook in hooks:
                hook.remove()
        text, looked = kept[0].shape[-1], len(found.regions.positions)
        relevancy = torch.eye(text + looked)  # text first, then the pictures, which attend to nothing
        for layer, (attention, gradient) in enumerate(zip(kept, gradients, strict=True)):
            change = torch.zeros_like(relevancy)
            columns = slice(text, None) if layer in crossing else slice(0, text)
            change[:text, columns] = (attention[0] * gradient[0]).clamp(min=0).mean(0).detach()
            relevancy = relevancy + change @ relevancy
        assert found.regions.crossing
        assert np.allclose(option.relevancy, relevancy[position, text:].numpy(), rtol=2e-3, atol=1e-6)
        assert option.relevancy.any()
        rows = torch.stack([kept[layer][0, :, position] for layer in crossing]).detach().numpy()
        assert np.allclose(found.attention, rows, atol=1e-6)
    assert np.allclose(found.by_head, 1, atol=1e-5)  # these layers look at nothing else
    tiles = int(inputs["aspect_ratio_mask"].sum())
    each = found.attention.shape[2] // 4
    assert np.allclose(found.attention[:, :, tiles * each :], 0)  # and not at padding


@pytest.mark.parametrize("name", [*IN_TEXT, "mllama"])
def test_attention_to_a_word_is_that_of_a_plain_forward_pass_at_the_places_of_its_letters(
    load: Callable[[str], Any], name: str
) -> None:
    """By `output_attentions` of the model itself, and the letters that its tokenizer says each token is of."""
    loaded = load(name)
    words = ("person", "COMPETENT", "the left", "erson", "man")
    found = AttentionReader(loaded).read_attention([PAIR], QUESTION, words).words
    assert list(found) == list(words)
    inputs = prepare(loaded, [PAIR], [QUESTION])[0].full(0)
    said, alike = likeliest(loaded, inputs)
    text = write(loaded, [PAIR], [QUESTION]).texts[0]
    coded = loaded.tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)
    size = int(inputs["input_ids"].shape[1])
    after = size - len(coded["input_ids"])  # pictures may be many tokens, all before the prompt
    loaded.model.get_decoder().set_attn_implementation("eager")
    try:
        out = loaded.model(**extend_inputs(inputs, said[0]), use_cache=False, output_attentions=True)
    finally:
        loaded.model.get_decoder().set_attn_implementation("sdpa")
    crossing = getattr(loaded.model.config.text_config, "cross_attention_layers", ())
    layers = [kept[0, :, size - 1 + alike] for n, kept in enumerate(out.attentions) if n not in crossing]
    rows = torch.stack(layers).detach().numpy()
    for word, times in {"person": 2, "competent": 1, "the left": 1}.items():
        ends = [match.span() for match in re.finditer(word, text)]
        assert len(ends) == times
        tokens = [
            after + n for n, (first, last) in enumerate(coded["offset_mapping"])
            if any(first < end and last > start for start, end in ends)
        ]  # fmt: skip
        assert loaded.tokenizer.decode(inputs["input_ids"][0, tokens]).count(word) == times
        share = found["COMPETENT" if word == "competent" else word]
        assert share.shape == rows.shape[:2]
        assert np.allclose(share, rows[:, :, tokens].sum(2), atol=1e-6)
        assert share.any()
    for word in ("erson", "man"):  # a part of a word, and none
        assert found[word].shape == rows.shape[:2]
        assert np.isnan(found[word]).all()


def test_a_word_is_found_in_the_prompt_alone_and_with_all_bytes_of_its_letters() -> None:
    pieces = [b"user", b": man", b"\n", b"A m", b"an, ", b"caf\xc3", b"\xa9", b" man\nuser"]
    assert word_tokens("man", "A man, caf\u00e9 man", pieces) == [3, 4, 7]
    assert word_tokens("caf\u00e9", "A man, caf\u00e9 man", pieces) == [5, 6]
    assert word_tokens("user", "A man, caf\u00e9 man", pieces) == []
    with pytest.raises(ModelError, match="do not spell the prompt"):
        word_tokens("man", "Another man", pieces)


def test_attention_planted_on_one_half_of_tiles_is_on_its_side(load: Callable[[str], Any]) -> None:
    loaded = load("mllama")
    inputs = prepare(loaded, [PAIR], [QUESTION])[0].full(0)
    where = regions(loaded, inputs, [PAIR.size])
    values = np.where(where.boxes[:, 2] <= 0.5, 1.0, 0.0)
    found = sides(values, where)
    assert found.left == 1.0
    assert found.even_left == pytest.approx(0.5)


def test_an_option_is_explained_where_it_parts_from_every_other(load: Callable[[str], Any]) -> None:
    loaded = load("llava")
    options = tuple(Option("", text, text) for text in ("A", "AB", "yes"))
    found = AttentionReader(loaded).read_attention([PAIR], Question("Which?", options))
    assert [option.label for option in found.options] == ["A", "AB", "yes"]
    assert all(option.relevancy.any() and np.isfinite(option.relevancy).all() for option in found.options)
    assert found.after == ""


def test_log_odds_are_of_the_options_own_token_or_that_no_other_goes_on() -> None:
    logits = torch.tensor([0.1, 0.2, 0.7]).log()
    assert float(_log_odds(logits, (2,), (0,))) == pytest.approx(np.log(0.7 / 0.3))
    assert float(_log_odds(logits, (), (0, 1))) == pytest.approx(np.log(0.7 / 0.3))


def test_what_cannot_be_explained_is_refused(load: Callable[[str], Any]) -> None:
    reader = AttentionReader(load("llava"))
    with pytest.raises(DataError, match="No picture"):
        reader.read_attention([], QUESTION)
    with pytest.raises(DataError, match="no options"):
        reader.read_attention([PAIR], Question("Describe the picture."))
    with pytest.raises(DataError, match="written like another"):
        reader.read_attention([PAIR], Question("Which?", (Option("A", "x", "x"), Option("A", "y", "y"))))
    with pytest.raises(DataError, match="context"):
        reader.read_attention([PAIR], Question("Who? " * 2000, OPTIONS))


BOXES = np.array([[x / 4, y / 2, (x + 1) / 4, (y + 1) / 2] for y in range(2) for x in range(4)] + [[np.nan] * 4])


def shown(boxes: Any, picture: Any = 0) -> Regions:
    return Regions(np.arange(len(boxes)), np.broadcast_to(picture, len(boxes)).astype(np.int64), np.asarray(boxes))


@pytest.mark.parametrize("token", range(8))
def test_attention_planted_on_one_token_is_on_its_side(token: int) -> None:
    values = np.zeros(9)
    values[token], values[8] = 3.0, 5.0  # the last stands for nothing
    found = sides(values, shown(BOXES))
    assert (found.left, found.right) == ((1.0, 0.0) if token % 4 < 2 else (0.0, 1.0))
    assert (found.even_left, found.even_right) == (0.5, 0.5)


def test_shares_are_compared_with_what_area_alone_gives() -> None:
    cut = shown(BOXES[[0, 1, 2, 4, 5, 6]])  # the right quarter was not shown
    found = sides(np.ones(6), cut)
    assert found.left == found.even_left == pytest.approx(2 / 3)
    middle = shown([[0.375, 0, 0.75, 1]])
    assert sides([1.0], middle).left == pytest.approx(1 / 3)


def test_of_two_pictures_the_first_is_left() -> None:
    found = sides([3, 0, 1], shown([[0, 0, 1, 1]] * 3, [0, 0, 1]), pictures=2)
    assert found.left == 0.75
    assert found.even_left == pytest.approx(2 / 3)


def test_where_nothing_is_attended_to_there_are_no_shares() -> None:
    found = sides(np.zeros(9), shown(BOXES))
    assert np.isnan([found.left, found.right]).all()
    assert found.even_left == 0.5


def test_the_model_answers_as_before_after_it_was_looked_at(tmp_path: Path) -> None:
    loaded = load_model(str(tiny.llava(tmp_path)), device="cpu", threads=1)
    inputs = prepare(loaded, [PAIR], [QUESTION])[0].full(0)
    before = plain_logits(loaded, inputs, [], [0])
    AttentionReader(loaded).read_attention([PAIR], QUESTION)
    assert torch.equal(plain_logits(loaded, inputs, [], [0]), before)


def too_much(*args: Any) -> None:
    torch.empty(2**60)


def no_memory_left(*args: Any) -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")


@pytest.mark.parametrize("lack", [too_much, no_memory_left])
def test_maps_that_do_not_fit_into_memory_are_one_sentence(load: Callable[[str], Any], lack: Any) -> None:
    loaded = load("llava")
    decoder = loaded.model.get_decoder()
    runs = []

    def hook(module: Any, inputs: Any, output: Any) -> None:
        if decoder.config._attn_implementation == "eager":  # the maps are being made
            runs.append(output)
            lack()

    handle = decoder.layers[1].self_attn.register_forward_hook(hook)
    try:
        with pytest.raises(ModelError, match=r"The attention of \d+ tokens.*doesn't fit into memory") as raised:
            AttentionReader(loaded).read_attention([PAIR], QUESTION)
    finally:
        handle.remove()
    assert len(runs) == 1
    assert "\n" not in str(raised.value)
    assert AttentionReader(loaded).read_attention([PAIR], QUESTION).options  # and goes on where there is enough
