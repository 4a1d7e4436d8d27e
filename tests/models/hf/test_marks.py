"""Tokens that stand for pictures are in no reply and count for nothing, however likely a model finds them."""

from pathlib import Path
from typing import Any

import pytest

from facevalue.types import Sampling
from tests.models.hf import planted, tiny
from tests.models.hf.test_scoring import PICTURE, ask

torch: Any = tiny.torch

from facevalue.models.hf.decoding import mask_picture_tokens  # noqa: E402
from facevalue.models.hf.engine import DrawnReply, Wish  # noqa: E402
from facevalue.models.hf.scoring import OptionScore  # noqa: E402

MARKS = {
    "llava": ("<image>",),
    "qwen2_5_vl": ("<|image_pad|>", "<|video_pad|>"),
    "idefics3": ("<image>",),
    "gemma3": ("<image_soft_token>", "<start_of_image>"),
    "mllama": ("<|image|>",),
}
WISHES = [Wish(ask(word), Sampling(temperature, 1.0, 4), 3) for word in ("warm", "lazy") for temperature in (0.0, 1.0)]


@pytest.mark.parametrize("shares", [True, False], ids=["shared", "plain"])
@pytest.mark.parametrize("name", list(MARKS))
def test_a_picture_is_never_said(name: str, shares: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = planted.plant(tiny.BUILDERS[name](tmp_path), planted.LIKED | dict.fromkeys(MARKS[name], 30.0))
    engine = planted.engine(folder)
    marks = {tiny.token(engine.loaded.tokenizer, mark) for mark in MARKS[name]}
    assert marks <= engine.loaded.marks
    planted.untried(engine, shares=shares)
    replies = [reply for _, reply, _ in engine.generate([PICTURE], WISHES)]
    assert all(isinstance(reply, DrawnReply) for reply in replies), replies
    assert not any(marks & set(reply.tokens) for reply in replies)
    assert engine.unspoken > 0.5
    ((_, score, _),) = engine.score([PICTURE], [ask("warm")], Sampling(1.0, 1.0, 5))
    assert isinstance(score, OptionScore)
    # Were the mark still counted, its 30 logits would leave the options about e**-30 of the replies.
    assert 1e-5 < sum(score.probs) <= 1


def test_what_is_left_is_scaled_up_and_what_was_taken_is_told(tmp_path: Path) -> None:
    loaded = planted.engine(tiny.llava(tmp_path)).loaded
    mark = tiny.token(loaded.tokenizer, "<image>")
    logits = torch.zeros(2, len(loaded.tokenizer))
    logits[1, mark] = 5.0
    want = logits.softmax(1)
    found, share = mask_picture_tokens(loaded, logits.clone())
    assert share == pytest.approx(float(want[1, mark]))
    want[:, mark] = 0
    assert torch.allclose(found.softmax(1), want / want.sum(1, keepdim=True))


def test_words_and_ends_are_no_marks(tmp_path: Path) -> None:
    loaded = planted.engine(tiny.llava(tmp_path)).loaded
    assert loaded.marks == {tiny.token(loaded.tokenizer, "<image>")}
    assert not loaded.marks & loaded.stop_ids
