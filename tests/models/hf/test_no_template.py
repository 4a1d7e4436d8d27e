"""Models without a chat template: asked with what their processor takes, and everybody is told."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from facevalue.models import load
from facevalue.models.base import ModelOptions
from facevalue.types import Option, Question, Sampling
from tests.models.hf import others, planted, test_text_only, tiny

torch: Any = tiny.torch
tf: Any = tiny.tf

from facevalue.models.hf.chat import prepare  # noqa: E402
from facevalue.models.hf.engine import DrawnReply, Wish  # noqa: E402
from facevalue.models.hf.framing import frame_pictures  # noqa: E402
from facevalue.models.hf.loading import TEXTS_ALONE  # noqa: E402
from facevalue.models.hf.scoring import OptionScore  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # PaliGemma's processor
OPTIONS = (Option("(a)", "competent", "favourable"), Option("(b)", "honest", "unfavourable"))
QUESTIONS = [Question(f"Who is (a) {word} or (b) honest?", OPTIONS) for word in ("competent", "warm")]
PICTURE = tiny.picture("one", (60, 40))


def git(folder: Path) -> Path:
    """GIT: the picture's tokens stand before the text's, and no text says so."""
    words = tiny.tokenizer()
    torch.manual_seed(0)
    vision = tf.models.git.configuration_git.GitVisionConfig(image_size=28, patch_size=14, **tiny.VISION)
    sizes = {name: value for name, value in tiny.text(words).items() if name != "num_key_value_heads"}
    model = tf.GitForCausalLM(tf.GitConfig(vision_config=vision.to_dict(), **sizes))
    images = tf.CLIPImageProcessorPil(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28})
    return tiny.save(folder, model, "GitProcessor", images, words, "")


BUILDERS: dict[str, Callable[[Path], Path]] = {
    "git": git,
    "paligemma": tiny.paligemma,
    "llava": tiny.llava,
    **{name: others.BUILDERS[name] for name in ("blip_2", "blip_2_t5", "instructblip", "kosmos2", "florence2")},
    "llama": test_text_only.written("Llama"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def build(name: str) -> Path:
        if name not in made:
            made[name] = BUILDERS[name](tmp_path_factory.mktemp(name))
            (made[name] / "chat_template.jinja").unlink()
        return made[name]

    return build


@pytest.mark.parametrize("name", BUILDERS)
def test_it_is_asked_with_what_its_processor_takes(folder: Callable[[str], Path], name: str) -> None:
    engine = planted.engine(folder(name))
    loaded = engine.loaded
    assert TEXTS_ALONE in loaded.notes
    shown = [PICTURE] if loaded.sees else []
    question = QUESTIONS[0]
    (group,) = prepare(loaded, shown, QUESTIONS)
    mark = getattr(loaded.processor, "image_token", None)
    marked = f"{getattr(mark, 'content', mark)}" if mark and not loaded.placed else ""
    given = {"text": [marked + question.prompt], "return_tensors": "pt"}

    pictures = frame_pictures(loaded.processor.image_processor, shown) if shown else None
    want = loaded.processor(images=pictures, **given)["input_ids"][0].tolist()
    assert [*group.prefix_ids, *group.suffixes[0]] == want
    scores = {n: score for n, score, _ in engine.score(shown, QUESTIONS, Sampling())}
    assert all(isinstance(score, OptionScore) and 0 < sum(score.probs) <= 1 for score in scores.values())
    ((_, reply, _),) = engine.generate(shown, [Wish(question, Sampling(1.0, 1.0, 4), 1)])
    assert isinstance(reply, DrawnReply)
    assert reply.completion_tokens <= 4, "the prompt that some models' generate() repeats is no part of the reply"
    assert engine.check.difference <= 2e-5


def test_system_messages_and_earlier_turns_are_lines_before_it(folder: Callable[[str], Path]) -> None:
    loaded = planted.engine(folder("paligemma")).loaded
    asked = Question("Who is warm?", system="Be kind.", turns=(("user", "Look."), ("assistant", "Yes.")))
    (group,) = prepare(loaded, [PICTURE], [asked])
    text = loaded.tokenizer.decode([*group.prefix_ids, *group.suffixes[0]])
    assert text.endswith("<image><s>Be kind.\nLook.\nYes.\nWho is warm?\n")


def test_the_user_is_told_and_the_settings_say_it(folder: Callable[[str], Path], tmp_path: Path) -> None:
    without: Any = load(f"hf/{folder('llava')}", ModelOptions(device="cpu", threads=1))
    assert TEXTS_ALONE in without.notes
    assert without.settings()["prompt"] == "texts alone, without a chat template"
    usual: Any = load(f"hf/{tiny.llava(tmp_path)}", ModelOptions(device="cpu", threads=1))
    assert TEXTS_ALONE not in usual.notes
    assert "prompt" not in usual.settings()
