"""Loading: what a model says of itself, and one clear sentence for everything that cannot be used."""

import json
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from facevalue.errors import DependencyError, FaceValueError, UnknownNameError
from facevalue.models.hf.chat import prepare
from facevalue.models.hf.framing import NOTE
from facevalue.models.hf.loading import chosen_device, load_model
from facevalue.models.hf.prefix import Branch, Prefix
from facevalue.models.hf.reference_pass import plain_logits
from facevalue.types import Question
from tests.models.hf import tiny

torch: Any = tiny.torch


@pytest.fixture(scope="module")
def llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.llava(tmp_path_factory.mktemp("models") / "llava-tiny")


@pytest.fixture
def copy(llava: Path, tmp_path: Path) -> Path:
    """A folder to break."""
    return Path(shutil.copytree(llava, tmp_path / "llava-copy"))


def refusal(path: Path | str, **options: Any) -> str:
    """Why a model is not loaded."""
    with pytest.raises(FaceValueError) as caught:
        load_model(str(path), **{"device": "cpu", **options})
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_is_loaded(llava: Path) -> None:
    loaded = load_model(str(llava), device="cpu")
    assert loaded.name == "llava"
    assert (loaded.dtype, loaded.device.type, loaded.context) == (torch.float32, "cpu", 1024)
    assert loaded.tokenizer.convert_ids_to_tokens(sorted(loaded.stop_ids)) == ["</s>"]
    assert loaded.notes == (NOTE,)
    assert not loaded.model.training
    assert load_model(str(llava), device="cpu", dtype="bfloat16").dtype == torch.bfloat16


def test_spread_by_layers(llava: Path) -> None:
    loaded = load_model(str(llava), device="auto", dtype="float32")
    (group,) = prepare(loaded, [tiny.picture("one")], [Question(prompt="Who?"), Question(prompt="Is it?")])
    assert group.inputs is not None
    last = len(group.suffixes[0]) - 1
    found = Branch(Prefix.read_prefixes(loaded, group.inputs)).grow(group.suffixes[0], range(-1, last), [last])
    want = plain_logits(loaded, group.full(0), [], [0])
    assert float((found.log_softmax(-1) - want.log_softmax(-1)).abs().max()) <= 1e-4


def test_a_reply_ends_where_the_template_says(copy: Path) -> None:
    words = tiny.tf.AutoTokenizer.from_pretrained(copy)
    words.add_special_tokens({"additional_special_tokens": ["<turn_end>"]})
    words.save_pretrained(copy)
    template = tiny.TEMPLATE.replace("{{ eos_token }}", "<turn_end>").replace("IMAGE", "<image>")
    (copy / "chat_template.jinja").write_text(template)
    loaded = load_model(str(copy), device="cpu")
    assert set(loaded.tokenizer.convert_ids_to_tokens(sorted(loaded.stop_ids))) == {"</s>", "<turn_end>"}


def test_threads(llava: Path) -> None:
    before = torch.get_num_threads()
    try:
        load_model(str(llava), device="cpu", threads=2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert "one or more" in refusal(llava, threads=0)


def test_folders_that_are_not_there(llava: Path) -> None:
    assert str(llava) in refusal(llava.parent / "llava-tny")
    assert "There is no folder" in refusal(llava / "nothing" / "here")
    assert "OWNER/MODEL" in refusal("llava")
    assert f"There is one in {llava.name!r}" in refusal(llava.parent)


def test_ids_that_cannot_be_had(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.chdir(llava.parent.parent)
    said = refusal(f"{llava.parent.name}/llava-tinny")
    assert "no folder of that name either" in said
    assert f"{llava.parent.name}/llava-tiny'" in said


@pytest.mark.parametrize(
    ("without", "says"),
    [
        (["config.json"], "there is no config.json in it"),
        (["model.safetensors"], "holds no weights"),
        (["processor_config.json"], "how pictures are prepared"),
        (["tokenizer.json", "tokenizer_config.json"], "no tokenizer"),
    ],
)
def test_files_that_are_missing(copy: Path, without: list[str], says: str) -> None:
    for name in without:
        (copy / name).unlink()
    assert says in refusal(copy)


@pytest.mark.parametrize("part", ["model", "added_tokens", "post_processor"])
def test_a_damaged_tokenizer_is_one_sentence(copy: Path, part: str) -> None:
    """Its library raises a bare Exception for what is JSON and no tokenizer."""
    path = copy / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), part: {"type": "Nothing", "vocab": {}}}))
    assert "The processor of" in refusal(copy)


def test_weights_that_are_pickled(copy: Path) -> None:
    (copy / "model.safetensors").unlink()
    (copy / "pytorch_model.bin").write_bytes(b"anything")
    assert "as pickles, which are never read" in refusal(copy)


def test_weights_that_are_damaged(copy: Path) -> None:
    file = copy / "model.safetensors"
    file.write_bytes(file.read_bytes()[:1000])
    assert "The weights of" in refusal(copy)


def test_weights_of_which_some_are_missing(copy: Path) -> None:
    # They would silently be random numbers.
    safe = pytest.importorskip("safetensors.torch")
    weights = safe.load_file(copy / "model.safetensors")
    lost = next(name for name in weights if "layers.1" in name and "mlp" in name and "vision" not in name)
    del weights[lost]
    safe.save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    assert "lacks 1 of the model's weights" in refusal(copy)


def test_weights_of_another_shape(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text())
    config["text_config"]["intermediate_size"] = 128
    (copy / "config.json").write_text(json.dumps(config))
    assert "have not the shape that its config.json says" in refusal(copy)


def test_models_of_other_kinds(copy: Path) -> None:
    for kind, says in (("clip", "answers no questions, with pictures or without"), ("no_such_kind", "cannot be read")):
        (copy / "config.json").write_text(json.dumps({"model_type": kind}))
        assert says in refusal(copy)
    (copy / "config.json").write_text("{")
    assert "cannot be read" in refusal(copy)


def test_models_that_do_not_reply_token_by_token(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Diffusion Gemma and robots' policies are no `GenerationMixin`.
    monkeypatch.setattr("transformers.GenerationMixin", type("Other", (), {}))
    assert "is of a type (llava) that doesn't reply token by token" in refusal(llava)


def test_code_that_comes_with_a_model_is_not_run(copy: Path) -> None:
    ran = copy / "ran"
    (copy / "evil.py").write_text(f"import pathlib\npathlib.Path({str(ran)!r}).touch()\nclass Evil: pass\n")
    config = {"model_type": "evil", "auto_map": {"AutoConfig": "evil.Evil", "AutoModelForImageTextToText": "evil.Evil"}}
    (copy / "config.json").write_text(json.dumps(config))
    assert "code of its own, which is never run" in refusal(copy)
    assert not ran.exists()


def test_processors_that_transformers_does_not_have(copy: Path) -> None:
    settings = json.loads((copy / "processor_config.json").read_text())
    settings["processor_class"] = "EvilProcessor"
    (copy / "processor_config.json").write_text(json.dumps(settings))
    assert "'EvilProcessor'" in refusal(copy)


def test_processors_that_stand_in_no_table_of_transformers(copy: Path) -> None:
    settings = json.loads((copy / "processor_config.json").read_text())
    (copy / "processor_config.json").write_text(json.dumps(settings | {"processor_class": "Kosmos2Processor"}))
    assert type(load_model(str(copy), device="cpu").processor).__name__ == "Kosmos2Processor"
    for other in ("pipeline", "LlavaConfig"):  # transformers has them, and they are no processors
        (copy / "processor_config.json").write_text(json.dumps(settings | {"processor_class": other}))
        assert f"{other!r}, which transformers doesn't have" in refusal(copy)


@pytest.mark.skipif(find_spec("torchvision") is not None, reason="torchvision is installed")
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("lfm2_vl", "Lfm2VlImageProcessor"),
        ("lfm2_vl", "Lfm2VlImageProcessorFast"),
        ("perception_lm", "PerceptionLMImageProcessor"),
        ("perception_lm", "PerceptionLMImageProcessorFast"),
        ("cohere2_vision", None),
    ],
)
def test_image_processors_that_need_torchvision(copy: Path, kind: str, name: str | None) -> None:
    (copy / "config.json").write_text(json.dumps({"model_type": kind}))
    (copy / "processor_config.json").unlink()
    (copy / "preprocessor_config.json").write_text(json.dumps({"image_processor_type": name} if name else {}))
    said = refusal(copy)
    assert "needs torchvision, which is not installed: pip install torchvision" in said
    assert "there is no" not in said


def test_processors_that_need_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny.smolvlm(tmp_path)
    settings = json.loads((folder / "processor_config.json").read_text())
    settings["processor_class"] = "SmolVLMProcessor"
    (folder / "processor_config.json").write_text(json.dumps(settings))
    monkeypatch.setattr("transformers.models.smolvlm.processing_smolvlm.num2words", None)
    assert "pip install num2words" in refusal(folder)


def test_formats_and_devices(llava: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'float16' or 'bfloat16'|Did you mean 'bfloat16'"):
        load_model(str(llava), dtype="bflaot16")
    assert "There is no device 'gpu'" in refusal(llava, device="gpu")
    assert refusal(llava, device="meta") == "There is no device 'meta': write cpu, cuda, cuda:1 or auto."
    count = torch.cuda.device_count()
    assert "write cpu or auto" in refusal(llava, device=f"cuda:{count}")


def test_mps_is_for_machines_that_have_it(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert "There is no device 'mps'" in refusal(llava, device="mps")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert chosen_device("mps") == "mps"


def test_transformers_is_silent_while_it_loads_and_as_before_afterwards(
    llava: Path, copy: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    logging = tiny.tf.utils.logging
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_warning()
    logging.enable_progress_bar()
    try:
        load_model(str(llava), device="cpu")
        settings = json.loads((copy / "config.json").read_text())
        settings["text_config"]["num_hidden_layers"] = 1  # the file has weights of more
        (copy / "config.json").write_text(json.dumps(settings))
        load_model(str(copy), device="cpu")
        assert capfd.readouterr() == ("", "")
        assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == (logging.WARNING, True)
        refusal(copy, device="cpu", dtype="float16", threads=0)
        assert logging.is_progress_bar_enabled()
        tiny.tf.AutoModelForImageTextToText.from_pretrained(llava)
        assert "Loading weights" in capfd.readouterr().err  # what would be said
    finally:
        logging.set_verbosity(before[0])
        (logging.enable_progress_bar if before[1] else logging.disable_progress_bar)()


def test_without_the_libraries(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(DependencyError, match=r"pip install '.\[hf\]'"):
        load_model(str(llava))


@pytest.mark.slow
def test_compiled(llava: Path) -> None:
    loaded, plain = load_model(str(llava), device="cpu", compile=True), load_model(str(llava), device="cpu")
    for name in ("one", "two"):
        (group,) = prepare(loaded, [tiny.picture(name)], [Question(prompt="Who?"), Question(prompt="Is it?")])
        assert group.inputs is not None
        last = len(group.suffixes[0]) - 1
        found = Branch(Prefix.read_prefixes(loaded, group.inputs)).grow(group.suffixes[0], range(-1, last), [last])
        want = plain_logits(plain, group.full(0), [], [0])
        assert float((found.log_softmax(-1) - want.log_softmax(-1)).abs().max()) <= 1e-4
