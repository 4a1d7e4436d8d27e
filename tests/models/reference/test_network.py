"""The reference model's arithmetic is that of transformers' LLaVA, and its tokenizer that of the library."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file
from threadpoolctl import threadpool_info, threadpool_limits

from facevalue.errors import ModelError
from facevalue.models.reference.adapter import FOLDER
from facevalue.models.reference.network import ONE_THREAD, ROWS, Branches, Network, read_weights
from facevalue.models.reference.replies import Tokens

os.environ.setdefault("HF_HUB_OFFLINE", "1")
CONFIG = json.loads((FOLDER / "config.json").read_text())
NETWORK = Network(read_weights(FOLDER / "model.safetensors"), CONFIG)
TOKENS = Tokens(FOLDER / "tokenizer.json")
PIXELS = np.random.default_rng(4).integers(0, 256, (NETWORK.side, NETWORK.side, 3), dtype=np.uint8)


def plain() -> tuple[Any, Any]:
    """The model and its processor as any LLaVA is loaded."""
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[hf]'")
    transformers = pytest.importorskip("transformers", reason="pip install '.[hf]'")
    torch.set_num_threads(1)
    model = transformers.AutoModelForImageTextToText.from_pretrained(FOLDER, dtype=torch.float32, local_files_only=True)
    return model.eval(), transformers.AutoProcessor.from_pretrained(FOLDER, local_files_only=True)


def prefix(pixels: npt.NDArray[np.uint8] = PIXELS) -> Any:
    user = NETWORK.embeddings[[TOKENS.id("<user>")]]
    return NETWORK.run(np.concatenate([user, NETWORK.look(pixels)]))


def row(text: str) -> list[int]:
    return [*TOKENS.plain(text), TOKENS.id("<end>"), TOKENS.id("<assistant>")]


def test_a_whole_forward_pass_gives_the_logits_that_transformers_gives() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[hf]'")
    from PIL import Image

    model, processor = plain()
    text = "Is the person in the picture competent? Answer with only yes or no."
    said = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": text}]}]
    prompt = processor.apply_chat_template(said, add_generation_prompt=True)
    inputs = processor(text=prompt, images=[Image.fromarray(PIXELS)], return_tensors="pt")
    with torch.no_grad():
        wanted = model(**inputs).logits[0].numpy()
    own = row(text)
    got = NETWORK.read(prefix(), [own], [list(range(len(own)))])[0]
    assert inputs["input_ids"][0, -len(own) :].tolist() == own
    assert np.abs(got - wanted[-len(own) :]).max() < 1e-3


def test_the_processor_reduces_a_picture_as_the_adapter_does() -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install '.[hf]'")
    from PIL import Image

    _, processor = plain()
    large = np.random.default_rng(5).integers(0, 256, (300, 512, 3), dtype=np.uint8)
    reduced = Image.fromarray(large).resize((NETWORK.side, NETWORK.side), Image.Resampling.BICUBIC)
    values = processor.image_processor(images=[Image.fromarray(large)], return_tensors="np")["pixel_values"][0]
    wanted = np.asarray(reduced).transpose(2, 0, 1) / 127.5 - 1
    assert np.abs(values - wanted).max() < 1e-5


def test_rows_know_nothing_of_each_other() -> None:
    one, other = row("Is the person in the picture loyal? Answer with only yes or no."), row("Hello, who are you?")
    both = NETWORK.read(prefix(), [one, other], [[len(one) - 1], [len(other) - 1]])
    for own, got in zip((one, other), both, strict=True):
        assert np.allclose(NETWORK.read(prefix(), [own], [[len(own) - 1]])[0], got, atol=1e-4)


def test_what_rows_share_is_run_once_and_read_where_it_is_wanted() -> None:
    base = row("Is the person in the picture loyal? Answer with only yes or no.")
    branches, plain = Branches(NETWORK, prefix()), prefix()
    stem = branches.enter(base[:-1])
    first = branches.enter(base[-1:], stem)
    branches.run([first])
    second = branches.enter([*base[-1:], 7, 8], stem)
    third = branches.enter([9], first)
    branches.run([third, second, stem])  # the stem was run, and is read only now
    rows = [base[:-1], base, [*base, 7, 8], [*base, 9]]
    for number, tokens in zip((stem, first, second, third), rows, strict=True):
        alone = NETWORK.read(plain, [tokens], [[len(tokens) - 1]])[0]
        assert np.allclose(branches.logits([number]), alone, atol=1e-4)


def test_what_is_never_said_has_no_probability() -> None:
    branches = Branches(NETWORK, prefix(), [5, 6])
    end = branches.enter(row("Hello"))
    branches.run([end])
    logits = branches.logits([end])[0]
    assert np.flatnonzero(np.isneginf(logits)).tolist() == [5, 6]


def test_many_rows_are_run_in_parts_that_change_nothing() -> None:
    rows = [row(f"word {number} {'more ' * (number % 5)}") for number in range(ROWS + 40)]
    places = [[len(own) - 1] for own in rows]
    got = NETWORK.read(prefix(), rows, places)
    for number in (0, 77, ROWS, len(rows) - 1):
        assert np.allclose(NETWORK.read(prefix(), [rows[number]], [places[number]])[0], got[number], atol=1e-4)


def test_large_scores_are_weighed_as_small_ones_are() -> None:
    own = row("Is the person in the picture loyal? Answer with only yes or no.")
    weights = read_weights(FOLDER / "model.safetensors")
    sharp = {name: 40 * w if ".self_attn.q_proj" in name and "language" in name else w for name, w in weights.items()}
    network = Network(sharp, CONFIG)
    said = network.run(np.concatenate([network.embeddings[[TOKENS.id("<user>")]], network.look(PIXELS)]))
    together = network.read(said, [own], [[len(own) - 1]])[0]
    user = network.embeddings[[TOKENS.id("<user>")]]
    whole = network.run(np.concatenate([user, network.look(PIXELS), network.embeddings[own[:-1]]]))
    assert np.isfinite(together).all()
    assert np.allclose(network.read(whole, [own[-1:]], [[0]])[0], together, atol=2e-2)


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_products_are_made_on_one_thread_and_later_on_as_many_as_before() -> None:
    before = blas_threads()
    if not before:
        pytest.skip("NumPy's library of matrix products is none that can be told how many threads to use")
    with threadpool_limits(2, user_api="blas"):
        with ONE_THREAD:
            with ONE_THREAD:
                assert set(blas_threads()) == {1}
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {2}
        with ONE_THREAD:
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {2}
    assert blas_threads() == before


def test_the_picture_matters() -> None:
    own = row("Is the person in the picture competent? Answer with only yes or no.")
    dark = NETWORK.read(prefix(np.zeros_like(PIXELS)), [own], [[len(own) - 1]])[0]
    assert np.abs(dark - NETWORK.read(prefix(), [own], [[len(own) - 1]])[0]).max() > 0.1


@given(st.text(max_size=60))
def test_text_survives_the_tokens(text: str) -> None:
    pieces = [TOKENS.piece(token) or b"" for token in TOKENS.encode(text)]
    if "<" not in text:
        assert b"".join(pieces) == text.encode()


@settings(max_examples=200)
@given(st.one_of(st.text(max_size=60), st.sampled_from(["(a) kind or (b) rude", "Hello<end>", "  two  blanks\n\n x"])))
def test_tokens_are_those_of_the_library(text: str) -> None:
    library = pytest.importorskip("tokenizers", reason="tokenizers is not installed: pip install '.[hf]'")
    known = library.Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    assert list(TOKENS.encode(text)) == known.encode(text).ids


@pytest.mark.parametrize("text", ["Hello<end><assistant>(a)", "<en<end>d>", "<image>"])
def test_marks_in_what_people_write_are_text(text: str) -> None:
    said = TOKENS.plain(text)
    assert b"".join(TOKENS.piece(token) or b"" for token in said) == text.encode()
    assert TOKENS.encode(text) != said


@pytest.mark.parametrize("data", [b"", b"\x00" * 7, b"\xff" * 64, b"\x02\x00\x00\x00\x00\x00\x00\x00[]"])
def test_damaged_weights_are_a_clear_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=r"model\.safetensors has no weights"):
        read_weights(path)


def test_weights_are_those_that_the_library_reads() -> None:
    path = FOLDER / "model.safetensors"
    known = load_file(path)
    read = read_weights(path)
    assert len(read) > 50
    assert read.keys() == known.keys()
    assert all(values.dtype == np.float32 and np.array_equal(values, known[name]) for name, values in read.items())


def test_weights_beyond_the_bound_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    with path.open("wb") as file:
        file.truncate(2**40)  # of zeros that take no room on the disk
    with pytest.raises(ModelError, match="more than 67,108,864 bytes"):
        read_weights(path)


@pytest.mark.parametrize("text", ["", "{}", '{"model": {"vocab": 3}}'])
def test_a_damaged_tokenizer_is_a_clear_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(text)
    with pytest.raises(ModelError, match=r"tokenizer\.json is not a tokenizer"):
        Tokens(path)
