"""Families that no table lists, asked in the plain way: the numbers are those of an independent eager computation."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from facevalue.models.hf.chat import prepare
from facevalue.models.hf.engine import Engine
from facevalue.models.hf.loading import Loaded
from facevalue.models.hf.reference_pass import plain_logits
from facevalue.models.hf.scoring import OptionScore
from facevalue.types import Option, Question, Sampling
from tests.models.hf import grids, others, planted, tiny

torch: Any = tiny.torch
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # PaliGemma's processor

BUILDERS = others.BUILDERS | grids.BUILDERS
SLOW = {"aria", "deepseek_vl_hybrid", "emu3", "got_ocr2"}
"""Their processors make no small pictures, or their encoders are large."""
FAMILY = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in BUILDERS]
)
EXACT = 2e-5
"""Largest difference of a probability."""
REPLY = [50, 60, 70]
OPTIONS = (Option("(a)", "competent", "favourable"), Option("(b)", "honest", "unfavourable"))
QUESTIONS = [Question("Who is (a) competent or (b) honest?", OPTIONS), Question("Yes or no?", OPTIONS)]
PICTURE = [tiny.picture("one", (60, 40))]
SEEN = 1e-4
"""Least difference of a probability that another picture makes."""


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Loaded]:
    """Builds and loads a family's tiny model once."""
    return tiny.loader(tmp_path_factory, vars(tiny) | BUILDERS)


def eager(loaded: Loaded, inputs: Mapping[str, Any], reply: Sequence[int]) -> Any:
    """Probabilities of what follows the prompt and each token of a reply, in one pass of the model's own code.

    No cache, no `generate`, and attention written out. What goes with each token is longer by the reply.
    """
    model, given = loaded.model, dict(inputs)
    kept = model.config._attn_implementation
    model.set_attn_implementation("eager")
    more = torch.tensor([list(reply)])
    try:
        if (config := model.config.get_text_config()).is_encoder_decoder:
            given["decoder_input_ids"] = torch.cat([torch.tensor([[config.decoder_start_token_id]]), more], dim=1)
        else:
            length = given["input_ids"].shape[1]
            for name in [name for name, tensor in given.items() if tensor.shape[:2] == (1, length)]:
                added = {"input_ids": more, "attention_mask": torch.ones_like(more)}.get(name, torch.zeros_like(more))
                given[name] = torch.cat([given[name], added.to(given[name].dtype)], dim=1)
        with torch.inference_mode():
            return model(**given, use_cache=False).logits[0, -len(reply) - 1 :].float().softmax(dim=-1)
    finally:
        model.set_attn_implementation(kept)


@FAMILY
def test_the_plain_way_is_the_eager_one(load: Callable[[str], Loaded], name: str) -> None:
    loaded = load(name)
    said = []
    for key in ("one", "two"):
        (group,) = prepare(loaded, [tiny.picture(key, (60, 40))], QUESTIONS)
        for number in group.members:
            full = group.full(number)
            assert full["input_ids"][0].tolist() == group.prefix_ids + group.suffixes[number]
            found = plain_logits(loaded, full, REPLY, range(len(REPLY) + 1)).softmax(dim=-1)
            assert float((found - eager(loaded, full, REPLY)).abs().max()) <= EXACT
            said.append(found)
    assert float((said[0] - said[1]).abs().max()) > SEEN, "the question matters"
    assert float((said[0] - said[2]).abs().max()) > SEEN, "the picture matters"


APART = {"blip_2_t5", "florence2", "instructblip"}
"""Families whose questions are asked one by one; what raises in them, or differs, docs/how-to/local-models.md says."""


@FAMILY
def test_the_engine_finds_out_whether_they_share_and_answers_as_plain_passes_do(
    load: Callable[[str], Loaded], name: str
) -> None:
    engine, alone = Engine(load(name)), planted.untried(Engine(load(name)), shares=False)
    found, want = ({n: each for n, each, _ in e.score(PICTURE, QUESTIONS, Sampling())} for e in (engine, alone))
    for number, score in found.items():
        assert isinstance(score, OptionScore)
        assert 0 < sum(score.probs) <= 1
        own = want[number]
        assert isinstance(own, OptionScore)
        assert score.probs == pytest.approx(own.probs, abs=EXACT)
    (verdict,) = engine.trials.verdicts.values()
    assert bool(verdict.failed) == (name in APART), verdict
    assert engine.check.checks >= 1
    assert max(engine.check.difference, alone.check.difference) <= EXACT


class Settings(NamedTuple):
    """A setting of `generate` that comes with a checkpoint, and changes scores, replies or how they are made."""

    name: str
    value: Any


@pytest.mark.parametrize("name", ["paligemma", "blip_2_t5", "instructblip", "janus"])
@pytest.mark.parametrize(
    "setting",
    [
        Settings("repetition_penalty", 5.0),
        Settings("no_repeat_ngram_size", 1),
        Settings("encoder_repetition_penalty", 3.0),
        Settings("suppress_tokens", [50, 60, 70]),
        Settings("begin_suppress_tokens", [50]),
        Settings("forced_bos_token_id", 9),
        Settings("forced_eos_token_id", 2),
        Settings("bad_words_ids", [[60], [50, 60]]),
        Settings("sequence_bias", [[[50], -9.0]]),
        Settings("min_new_tokens", 8),
        Settings("min_length", 80),
        Settings("exponential_decay_length_penalty", (1, 2.0)),
        Settings("top_k", 1),
        Settings("num_beams", 4),
        Settings("num_return_sequences", 2),
        Settings("penalty_alpha", 0.6),
        Settings("prompt_lookup_num_tokens", 4),
        Settings("guidance_scale", 3.0),
        Settings("max_time", 0.0),
        Settings("max_length", 1),
        Settings("stop_strings", ["a"]),
        Settings("use_cache", False),
        Settings("token_healing", True),
        Settings("renormalize_logits", True),
    ],
    ids=lambda setting: setting.name,
)
def test_settings_of_a_checkpoint_change_nothing(
    load: Callable[[str], Loaded], monkeypatch: pytest.MonkeyPatch, name: str, setting: Settings
) -> None:
    loaded = load(name)
    (group,) = prepare(loaded, [tiny.picture("one", (60, 40))], QUESTIONS)
    full, read = group.full(0), range(len(REPLY) + 1)
    free = plain_logits(loaded, full, REPLY, read)
    for part in loaded.model.modules():
        if getattr(part, "generation_config", None) is not None:
            monkeypatch.setattr(part.generation_config, setting.name, setting.value)
    assert torch.equal(plain_logits(loaded, full, REPLY, read), free)
    assert loaded.model.generation_config.to_dict()[setting.name] == setting.value, "put back"
