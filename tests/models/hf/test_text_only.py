"""Language models that take texts alone: replies as by plain generate, and no picture is ever shown to them."""

import json
import shutil
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import facevalue as fv
from facevalue.errors import DataError, ModelError
from facevalue.models import load
from facevalue.models.base import ModelOptions
from facevalue.models.hf.chat import prepare
from facevalue.models.hf.loading import Loaded
from facevalue.stimuli.pixels import WITHOUT
from facevalue.types import Image, Option, Question, Request, Sampling, Status, Stimulus
from tests.models.hf import planted, tiny
from tests.models.hf.test_families import QUESTIONS, ROUNDING, gap, plain, shared

torch: Any = tiny.torch
tf: Any = tiny.tf

from facevalue.models.hf.attention import AttentionReader  # noqa: E402
from facevalue.models.hf.engine import Wish  # noqa: E402
from facevalue.models.hf.loading import load_model  # noqa: E402

PLAIN = (
    "{{ bos_token }}{% for m in messages %}{{ m['role'] + ': ' + m['content'] }}"
    "{% if m['role'] == 'assistant' %}{{ eos_token }}{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
"""A template as language models have it: it takes plain texts."""
CHAT = [Question("Is this person kind?"), Question("Who is competent?", system="You are a helpful assistant.")]


def written(kind: str, **changed: Any) -> Callable[[Path], Path]:
    """Writer of a family's tiny model, and its tokenizer; settings may be changed."""

    def write(folder: Path) -> Path:
        words = tiny.tokenizer()
        words.chat_template = PLAIN
        words.save_pretrained(folder)
        torch.manual_seed(0)
        config = getattr(tf, f"{kind}Config")(**tiny.text(words, **changed))
        getattr(tf, f"{kind}ForCausalLM")(config).save_pretrained(folder)
        return folder

    return write


KINDS = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3"}
OTHER = {"gpt_neox": "GPTNeoX", "gemma2": "Gemma2"}  # the latter takes no Boolean masks
BUILDERS = {name: written(kind) for name, kind in (KINDS | OTHER).items()}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Loaded]:
    """Builds and loads a family's tiny model once."""
    return tiny.loader(tmp_path_factory, BUILDERS)


@pytest.mark.parametrize("name", BUILDERS)
def test_shared_is_plain(loaded: Callable[..., Loaded], name: str) -> None:
    model = loaded(name)
    assert (model.sees, model.notes) == (False, ())
    found = shared(model, [], QUESTIONS)
    assert gap(found, plain(model, [], QUESTIONS)) <= ROUNDING
    assert gap(found[0], found[3]) > 0.01, "the question matters"


@pytest.mark.parametrize("name", [*KINDS, *OTHER])
def test_the_prompt_is_the_templates_and_greedy_replies_are_those_of_plain_generate(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    folder = BUILDERS[name](tmp_path_factory.mktemp(name))
    engine = planted.engine(folder)
    words, model = tf.AutoTokenizer.from_pretrained(folder), tf.AutoModelForCausalLM.from_pretrained(folder)
    wishes = [Wish(question, Sampling(0.0, 1.0, 12)) for question in CHAT]
    for number, reply, _ in engine.generate([], wishes):
        question = wishes[number].question
        said = [*([("system", question.system)] if question.system else []), ("user", question.prompt)]
        ids = words.apply_chat_template(
            [{"role": role, "content": text} for role, text in said], add_generation_prompt=True, return_tensors="pt",
            return_dict=True,
        )["input_ids"]  # fmt: skip
        with torch.inference_mode():
            theirs = model.generate(ids, max_new_tokens=12, do_sample=False)[0, ids.shape[1] :].tolist()
        ours = list(reply.tokens)
        assert ours == theirs[: len(ours)]
        assert len(ours) == 12 or theirs[len(ours)] in engine.loaded.stop_ids
        assert reply.prompt_tokens == ids.shape[1]


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return BUILDERS["llama"](tmp_path_factory.mktemp("llama"))


def asked(folder: Path, *stimuli: Stimulus, exact: bool = False) -> list[Any]:
    model = load(f"hf/{folder}", ModelOptions(device="cpu", threads=1))
    assert model.capabilities.images_per_request == 0
    question = Question("Yes or no?", (Option("", "yes", "yes"), Option("", "no", "no")))
    requests = [Request(at, 0, at, one, question, Sampling(0.75, 1.0, 8), exact) for at, one in enumerate(stimuli)]
    found = sorted(model.respond(requests), key=lambda response: response.trial)
    model.close()
    return found


def test_a_request_without_a_picture_is_answered_drawn_and_exactly(llama: Path) -> None:
    (drawn,) = asked(llama, WITHOUT)
    assert drawn.status in (Status.OK, Status.TRUNCATED)
    assert drawn.text
    (exact,) = asked(llama, WITHOUT, exact=True)
    assert exact.probs is not None
    assert len(exact.probs) == 2


def test_a_picture_is_refused_in_one_sentence_and_the_other_requests_are_answered(llama: Path) -> None:
    shown = tiny.picture("one")
    with pytest.raises(DataError, match=r"^This is a text-only model: it cannot be shown a picture\.$"):
        prepare(planted.engine(llama).loaded, [shown], QUESTIONS)
    data = BytesIO()
    shown.save(data, "PNG")
    real = Stimulus("p", "d", {}, lambda: (Image(data.getvalue(), "image/png"),))
    refused, answered = asked(llama, real, WITHOUT)
    assert (refused.status, refused.error) == (Status.ERROR, "This is a text-only model: it cannot be shown a picture.")
    assert answered.status is not Status.ERROR


def test_a_study_that_shows_pictures_is_refused_before_anything_is_asked(llama: Path, tmp_path: Path) -> None:
    study = fv.study("stylisticbias", faces="1M", attributes="eyewear")
    with pytest.raises(ModelError, match=r"shows 1 image in one request \(block '.*'\); hf/.* takes none\."):
        fv.run(study, f"hf/{llama}", tmp_path / "run", exact=True, progress=False)


def test_nobody_looks_where_it_looks(llama: Path) -> None:
    with pytest.raises(ModelError, match="it looks at no picture"):
        AttentionReader(planted.engine(llama).loaded)


def test_a_language_model_without_a_tokenizer_says_so(llama: Path, tmp_path: Path) -> None:
    shutil.copytree(llama, tmp_path / "copy")
    (tmp_path / "copy" / "chat_template.jinja").unlink()
    (tmp_path / "copy" / "tokenizer.json").unlink()
    (tmp_path / "copy" / "tokenizer_config.json").write_text(json.dumps({}))
    with pytest.raises(ModelError, match="tokenizer"):
        load_model(str(tmp_path / "copy"), device="cpu")
