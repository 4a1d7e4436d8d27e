"""Models whose parts differ in what they support load, and answer as their own plain passes do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from facevalue.errors import ModelError
from facevalue.types import Option, Question, Sampling
from tests.models.hf import planted, tiny

torch: Any = tiny.torch
tf: Any = tiny.tf

from facevalue.models.hf.engine import Failed, Wish  # noqa: E402
from facevalue.models.hf.loading import load_model  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # PaliGemma's processor
OPTIONS = (Option("(a)", "competent", "favourable"), Option("(b)", "honest", "unfavourable"))
QUESTIONS = [Question(f"Who is (a) {word} or (b) honest?", OPTIONS) for word in ("competent", "warm")]
PICTURE = tiny.picture("one", (60, 40))
Language = Callable[[dict[str, Any]], Any]


def language(kind: str, **own: Any) -> Language:
    return lambda usual: getattr(tf, f"{kind}Config")(**usual | own)


LANGUAGES: dict[str, Language] = {
    "gemma2": language("Gemma2", head_dim=8),
    "gpt_oss": language("GptOss", head_dim=8, num_local_experts=4, num_experts_per_tok=2, sliding_window=64),
    "xglm": language("XGLM", d_model=32, ffn_dim=64, num_layers=2, attention_heads=4),
}
"""Language models without torch's attention: bounded scores, sinks, their own."""
BUILDERS: dict[str, Callable[[Path], Path]] = {
    "paligemma2": lambda folder: tiny.paligemma(folder, "Gemma2"),
    **{f"llava, {name}": lambda folder, made=made: tiny.llava(folder, made) for name, made in LANGUAGES.items()},  # type: ignore[misc]
}


@pytest.mark.parametrize("name", BUILDERS)
def test_each_part_has_the_attention_it_supports_and_answers_are_checked(tmp_path: Path, name: str) -> None:
    """By the self-check, which compares them with plain passes of the whole conversation."""
    engine = planted.engine(BUILDERS[name](tmp_path))
    assert engine.loaded.model.get_decoder().config._attn_implementation == "eager"
    scores = [score for _, score, _ in engine.score([PICTURE], QUESTIONS, Sampling(0.7))]
    assert all(0 < sum(score.probs) <= 1 for score in scores)
    wishes = [Wish(question, Sampling(1.0, 0.9, most), 1) for question in QUESTIONS for most in (3, 40)]
    assert not any(isinstance(reply, Failed) for _, reply, _ in engine.generate([PICTURE], wishes))
    assert engine.check.checks >= 2
    assert engine.check.difference <= 1e-5


def test_what_a_checkpoint_says_of_attention_is_not_obeyed(tmp_path: Path) -> None:
    folder = tiny.llava(tmp_path)
    config = tf.AutoConfig.from_pretrained(folder)
    config._attn_implementation = "eager"
    config.save_pretrained(folder)
    assert load_model(str(folder), device="cpu").model.get_decoder().config._attn_implementation == "sdpa"


def test_weights_that_are_no_numbers_are_refused_by_name(tmp_path: Path) -> None:
    folder = tiny.llava(tmp_path)
    model = tf.AutoModelForImageTextToText.from_pretrained(folder)
    with torch.no_grad():
        model.get_output_embeddings().weight[3, 3] = float("nan")
    model.save_pretrained(folder)
    with pytest.raises(ModelError, match=r"1 weights of .*no number \(NaN or infinite\), such as lm_head.weight: the"):
        load_model(str(folder), device="cpu")
