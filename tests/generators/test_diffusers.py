"""Pipelines of diffusers: what is sent is what is read, seeds decide, sources count, and what cannot be is said."""

import io
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL.Image
import polars as pl
import pytest

from facevalue.errors import DependencyError, FaceValueError, ModelError
from facevalue.generators.base import GeneratedPicture, GeneratorOptions, PictureRequest
from facevalue.generators.diffusers import adapter
from facevalue.generators.diffusers.adapter import DiffusersGenerator
from facevalue.runs.makings.making import make
from facevalue.runs.makings.preparation import prepare_making
from facevalue.runs.progress import SilentProgress
from facevalue.runs.settings import RunSettings
from facevalue.store.manifest import read_manifest
from facevalue.types import Image, Status
from tests.generators import tiny_pipelines
from tests.generators.pictures import plan
from tests.generators.tiny_pipelines import change_index, save_pipeline

torch: Any = tiny_pipelines.torch
safetensors: Any = pytest.importorskip("safetensors.torch")

MAKERS = ("sd", "sdxl", "sd3", "flux", "klein", "z-image", "qwen", "sana")
EDITORS = ("pix2pix", "kontext", "klein", "sd", "flux")
STEPS = {"num_inference_steps": 2}
SETTINGS: dict[str, dict[str, Any]] = {
    "kontext": {"max_area": 32 * 32, "_auto_resize": False},
    "sana": {"use_resolution_binning": False},
    "klein": {"max_sequence_length": 64},
    "flux": {"strength": 0.5},  # with more and two steps it would begin at pure noise
}
PROMPT = "An old man"
LONG = "An old man " + "x" * 90 + " with a hat"


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Tiny products take longer where threads wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Folders of pipelines by family, each written once."""
    root = tmp_path_factory.mktemp("pipelines")

    def of(family: str) -> Path:
        return root / family if (root / family).exists() else save_pipeline(family, root / family)

    return of


@pytest.fixture(scope="session")
def load(folder: Callable[[str], Path]) -> Callable[..., DiffusersGenerator]:
    """Generators by family, each loaded once."""
    loaded: dict[str, DiffusersGenerator] = {}

    def of(family: str) -> DiffusersGenerator:
        if family not in loaded:
            loaded[family] = fresh(folder(family), family)
        return loaded[family]

    return of


def fresh(path: Path | str, family: str = "sd", *, size: Any = None, batch: int = 1, **settings: Any) -> Any:
    options = GeneratorOptions(
        device="cpu", batch=batch, size=size, settings={**STEPS, **SETTINGS.get(family, {}), **settings}
    )
    return DiffusersGenerator(f"diffusers/{path}", options)


@pytest.fixture
def copy(folder: Callable[[str], Path], tmp_path: Path) -> Path:
    """A folder to break."""
    return Path(shutil.copytree(folder("sd"), tmp_path / "copy"))


def face(shift: int = 0, width: int = 32, height: int = 32) -> Image:
    pixels = ((np.indices((height, width)).sum(0) * 4 + shift) % 256).astype(np.uint8)
    buffer = io.BytesIO()
    PIL.Image.fromarray(pixels).convert("RGB").save(buffer, "PNG")
    return Image(buffer.getvalue(), "image/png")


def request(number: int = 0, prompt: str = PROMPT, seed: int = 1, source: Image | None = None) -> PictureRequest:
    return PictureRequest(number, prompt, seed, source)


def pixels(result: GeneratedPicture) -> npt.NDArray[np.int64]:
    assert result.status is Status.OK, result.error
    assert result.image is not None
    assert result.image.media_type == "image/png"
    return np.asarray(PIL.Image.open(io.BytesIO(result.image.data)), dtype=np.int64)


def draw(generator: Any, *requests: PictureRequest) -> list[GeneratedPicture]:
    results = list(generator.generate(iter(requests)))
    assert sorted(result.number for result in results) == sorted(one.number for one in requests)
    return sorted(results)


def texts_read(generator: Any) -> list[str]:
    return [reading.text for reading in generator._readers._readings]


# Seeds, prompts, sources


@pytest.mark.parametrize("family", MAKERS)
def test_a_seed_decides_the_picture_and_the_prompt_is_read_as_it_is_sent(family: str, folder: Any) -> None:
    generator = fresh(folder(family), family, size=(32, 32))
    assert (generator.capabilities.generates, generator.capabilities.seeds) == (True, True)
    first, again, another = draw(generator, request(0), request(1), request(2, seed=2))
    assert np.array_equal(pixels(first), pixels(again))
    assert not np.array_equal(pixels(first), pixels(another))
    assert (first.seed, another.seed) == (1, 2)
    assert pixels(first).shape == (32, 32, 3)
    assert first.facts == {"batch": 1, "batch_place": 0}
    assert first.revised_prompt is None
    assert first.prompt_tokens
    asked = [text for text in texts_read(generator) if PROMPT.casefold() in text.casefold()]
    assert asked
    assert not any("Enhanced" in text for text in asked)


@pytest.mark.parametrize("family", EDITORS)
def test_an_edit_follows_its_source_and_its_seed(family: str, load: Any) -> None:
    generator = load(family)
    assert generator.capabilities.edits
    side = 64 if family == "klein" else 32
    one, two = face(0, side, side), face(90, side, side)
    sent = [request(0, source=one), request(1, source=one), request(2, source=two), request(3, seed=2, source=one)]
    same, again, other, seeded = map(pixels, draw(generator, *sent))
    assert np.array_equal(same, again)
    assert not np.array_equal(same, other)
    assert not np.array_equal(same, seeded)
    assert same.shape == (side, side, 3)


def test_a_source_without_a_size_asked_for_keeps_its_shape(load: Any) -> None:
    (result,) = draw(load("flux"), request(source=face(0, 48, 32)))
    assert pixels(result).shape == (32, 48, 3)
    assert "size_source" not in result.facts


def test_a_size_that_a_pipeline_changes_is_recorded(folder: Any) -> None:
    path = folder("kontext")
    (result,) = draw(fresh(path, "kontext", size=(48, 48)), request(source=face()))
    assert result.facts["size_asked"] == "48x48"
    assert pixels(result).shape == (32, 32, 3)
    (result,) = draw(editor := fresh(folder("pix2pix"), size=(64, 64)), request(source=face()))
    assert result.facts["size_asked"] == "64x64"
    assert editor.notes == ("StableDiffusionInstructPix2PixPipeline takes no size: an edit has that of its source.",)
    (result,) = draw(fresh(path, "kontext"), request(source=face(0, 48, 48)))
    assert result.facts["size_source"] == "48x48"


# Batches


@pytest.mark.parametrize("family", ["sd", "sdxl", "sd3", "flux", "klein", "z-image"])
def test_pictures_of_a_batch_are_those_of_their_seeds_and_say_so(family: str, folder: Any) -> None:
    negative = {} if family == "klein" else {"negative_prompt": "ugly"}
    together = fresh(folder(family), family, size=(32, 32), batch=3, **negative)
    sent = [request(0), request(1, "A young woman", 2), request(2, "A child", 3)]
    results = draw(together, *sent)
    assert [result.facts["batch"] for result in results] == [3, 3, 3]
    assert [result.facts["batch_place"] for result in results] == [0, 1, 2]
    (alone,) = draw(together, sent[1])
    assert alone.facts["batch"] == 1
    assert np.abs(pixels(alone) - pixels(results[1])).max() <= 2
    assert not together.findings()


@pytest.mark.parametrize("family", ["pix2pix", "kontext", "sd", "flux"])
def test_edits_of_a_batch_have_each_its_own_source(family: str, folder: Any) -> None:
    together = fresh(folder(family), family, batch=2)
    sent = [request(0, source=face()), request(1, "A hat", 2, face(90)), request(2, source=face(0, 32, 48))]
    results = draw(together, *sent)
    assert [result.facts["batch"] for result in results] == [2, 2, 1]
    (alone,) = draw(together, sent[1])
    assert np.abs(pixels(alone) - pixels(results[1])).max() <= 2


def test_a_pipeline_that_would_take_two_sources_for_one_request_gets_one_at_a_time(folder: Any) -> None:
    generator = fresh(folder("klein"), "klein", batch=2)
    sent = [request(0, source=face(0, 64, 64)), request(1, source=face(90, 64, 64))]
    results = draw(generator, *sent)
    assert [result.facts["batch"] for result in results] == [1, 1]
    assert generator.notes == (
        "Flux2KleinPipeline edits one picture at a time: several would be views of one request to it.",
    )
    assert not generator.findings()


def test_a_pipeline_that_refuses_batches_gets_one_at_a_time_and_it_is_recorded(
    folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = fresh(folder("sd"), batch=2, size=(32, 32))
    kind = type(generator._pipelines.generate)
    call = kind.__call__

    def single(self: Any, prompt: Any = None, **options: Any) -> Any:
        if isinstance(prompt, list):
            raise ValueError("only one prompt")
        return call(self, prompt=prompt, **options)

    single.__wrapped__ = call  # type: ignore[attr-defined]
    monkeypatch.setattr(kind, "__call__", single)
    results = draw(generator, *(request(number) for number in range(5)))
    assert {result.facts["batch"] for result in results} == {1}
    found = generator.findings()["one_at_a_time"]
    assert found == "StableDiffusionPipeline failed with several pictures at once (ValueError: only one prompt)."


def test_each_request_of_a_call_that_fails_at_its_end_is_answered_once(
    folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = fresh(folder("sd"), batch=2, size=(32, 32))
    encoded, left = adapter._encode_image, [True, False]

    def encode(image: Any) -> Image:
        if left and not left.pop(0):
            raise ValueError("no room")
        return encoded(image)

    monkeypatch.setattr(adapter, "_encode_image", encode)
    results = draw(generator, request(0), request(1))
    assert [result.facts["batch"] for result in results] == [1, 1]


def test_no_more_of_a_stream_is_taken_than_a_batch(load: Any) -> None:
    taken = []

    def stream() -> Iterator[PictureRequest]:
        for number in range(9):
            taken.append(number)
            yield request(number)

    results = load("sd").generate(stream())
    next(results)
    assert taken == [0]


# Prompts that are too long, or rewritten


@pytest.mark.parametrize(
    ("family", "letters", "cut"),
    [
        ("sd", 80, "'xxxxxx'"),
        ("sdxl", 80, "'xxxxxx'"),
        ("sd3", 260, "xxx"),
        ("flux", 520, "xxx"),
        ("klein", 64, "<|im_end|>"),
        ("z-image", 512, "<|im_end|>"),
        ("qwen", 520, "xxx"),
        ("sana", 300, "xxx"),
    ],
)
def test_a_prompt_that_would_be_cut_is_an_error_before_anything_is_drawn(
    family: str, letters: int, cut: str, load: Any
) -> None:
    generator = load(family)
    drawn: list[object] = []
    pipeline = generator._pipelines.generate
    decode = pipeline.vae.register_forward_pre_hook(lambda *_: drawn.append(0))
    denoiser = getattr(pipeline, "transformer", None) or pipeline.unet
    hook = denoiser.register_forward_hook(lambda *_: drawn.append(0))
    (result,) = draw(generator, request(prompt="A " + "x" * letters))
    decode.remove()
    hook.remove()
    assert result.status is Status.ERROR
    assert result.image is None
    assert result.error is not None
    assert "would cut" in result.error
    assert cut in result.error
    assert result.error.endswith("Nothing was drawn.")
    assert not drawn


@pytest.mark.parametrize("family", ["flux", "sd3"])
def test_a_prompt_that_one_encoder_of_several_reads_whole_is_drawn_and_it_is_recorded(family: str, folder: Any) -> None:
    (result,) = draw(fresh(folder(family), family, size=(32, 32)), request(prompt=LONG))
    assert result.status is Status.OK
    assert str(result.facts["read_partly"]).startswith("tokenizer left out 'xxx")
    assert "x with a hat'" in str(result.facts["read_partly"])


def test_of_a_batch_only_the_prompt_that_is_too_long_fails(folder: Any) -> None:
    generator = fresh(folder("sd"), batch=3, size=(32, 32))
    results = draw(generator, request(0), request(1, LONG), request(2, "An old"))
    assert [result.status for result in results] == [Status.OK, Status.ERROR, Status.OK]
    assert [result.facts.get("batch") for result in results] == [2, None, 2]


def test_a_negative_prompt_that_would_be_cut_is_an_error_too(folder: Any) -> None:
    (result,) = draw(fresh(folder("sd"), size=(32, 32), negative_prompt=LONG.replace("An", "No")), request())
    assert str(result.error).startswith("The negative or rewritten prompt is too long: its encoder reads 77 tokens")
    (result,) = draw(fresh(folder("flux"), size=(32, 32), negative_prompt=LONG, true_cfg_scale=2.0), request())
    assert result.status is Status.OK


def test_more_tokens_can_be_asked_for(folder: Any) -> None:
    prompt = "A " + "x" * 260
    (result,) = draw(fresh(folder("sd3"), size=(32, 32), max_sequence_length=300), request(prompt=prompt))
    assert result.status is Status.OK
    (result,) = draw(fresh(folder("qwen"), size=(32, 32), max_sequence_length=8), request())
    assert "takes 8 tokens and would cut 'an'" in str(result.error)


def test_rewriting_of_prompts_is_off_unless_asked_for(folder: Any) -> None:
    plain, asked, worded = (
        fresh(folder("sana"), "sana", size=(32, 32), **settings)
        for settings in ({}, {"complex_human_instruction": True}, {"complex_human_instruction": "Enhanced, in red:"})
    )
    pictures = [pixels(draw(generator, request())[0]) for generator in (plain, asked, worded)]
    assert not any(np.array_equal(pictures[0], picture) for picture in pictures[1:])
    assert PROMPT.lower() in texts_read(plain)
    assert any("Enhanced" in text for text in texts_read(asked))
    assert any("Enhanced, in red:" in text for text in texts_read(worded))
    assert "complex_human_instruction" not in plain.settings()
    assert asked.settings()["complex_human_instruction"] is True


@pytest.mark.parametrize("settings", [{}, {"complex_human_instruction": True}])
def test_a_text_that_takes_the_prompts_place_is_recorded(
    settings: dict[str, Any], folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = fresh(folder("sana"), "sana", size=(32, 32), negative_prompt="Ugly", **settings)

    def rewrite(text: Any, clean_caption: bool = False) -> list[str]:
        return ["a youthful person" if PROMPT in single else single.lower() for single in [text]]

    def each(text: Any, clean_caption: bool = False) -> list[str]:
        return [one for single in ([text] if isinstance(text, str) else text) for one in rewrite(single)]

    monkeypatch.setattr(generator._pipelines.generate, "_text_preprocessing", each)
    (result,) = draw(generator, request())
    assert result.revised_prompt is not None
    assert result.revised_prompt.endswith("a youthful person")


# Refusals and failures


def test_what_the_safety_checker_blackens_is_refused_by_its_place(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = fresh(folder("sd-checked"), size=(32, 32), batch=2)
    checker = generator._pipelines.generate.safety_checker
    monkeypatch.setattr(
        type(checker), "forward", lambda self, clip_input, images: (images * 0, [False, True][: len(images)])
    )
    kept, withheld = draw(generator, request(0), request(1, seed=2))
    assert withheld.status is Status.REFUSED
    assert withheld.image is None
    assert "nsfw_content_detected" in str(withheld.error)
    assert kept.status is Status.OK


def test_a_black_picture_is_a_refusal_whatever_is_said_of_it(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = fresh(folder("sd"), size=(32, 32))
    vae = generator._pipelines.generate.vae
    monkeypatch.setattr(vae, "decode", lambda *args, **options: (torch.full((1, 3, 32, 32), -1.0),))
    (result,) = draw(generator, request())
    assert (result.status, result.image) == (Status.REFUSED, None)
    assert "came out black" in str(result.error)


def test_numbers_that_overflowed_are_no_refusal(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = fresh(folder("sd"), size=(32, 32))
    vae = generator._pipelines.generate.vae
    decode = vae.decode
    monkeypatch.setattr(vae, "decode", lambda *args, **options: (decode(*args, **options)[0] * float("nan"),))
    (result,) = draw(generator, request())
    assert result.status is Status.ERROR
    assert "overflowed" in str(result.error)


def failing(generator: Any, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(generator._pipelines.generate, "encode_prompt", fail)


def test_no_memory_for_the_first_picture_ends_the_run_and_for_a_later_one_fails_it(
    folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = fresh(folder("sd"), size=(32, 32))
    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB.")
    with monkeypatch.context() as patch:
        failing(generator, patch, error)
        with pytest.raises(ModelError, match="Not enough memory on cpu for 1 at once"):
            draw(generator, request())
    draw(generator, request())
    failing(generator, monkeypatch, error)
    (result,) = draw(generator, request())
    assert result.status is Status.ERROR
    assert "smaller size" in str(result.error)


def test_what_fails_again_and_again_ends_the_run(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = fresh(folder("sd"), size=(32, 32))
    failing(generator, monkeypatch, ValueError("no such layer"))
    results = generator.generate(request(number) for number in range(50))
    assert next(results).error == "ValueError: no such layer"
    with pytest.raises(ModelError, match="20 pictures in a row failed"):
        list(results)


def test_requests_that_a_pipeline_cannot_answer_fail_with_a_reason(load: Any) -> None:
    (result,) = draw(load("pix2pix"), request())
    assert "only changes pictures" in str(result.error)
    (result,) = draw(load("sana"), request(source=face()))
    assert "cannot edit" in str(result.error)
    (result,) = draw(load("sd"), request(source=Image(b"no picture", "image/png")))
    assert "source picture" in str(result.error)


# A making


def test_a_making_by_two_pipelines_leaves_a_manifest_and_what_is_to_be_known_of_each_picture(
    load: Any, tmp_path: Path
) -> None:
    prepared = prepare_making(plan(faces=2), "hiring", {}, tmp_path, RunSettings())
    summary = make(prepared, load("sd"), load("pix2pix"), SilentProgress()).summary
    assert (summary.asked, summary.errors, summary.complete) == (4, 0, True)
    rows = pl.read_parquet(tmp_path / "manifest.parquet")
    assert rows["generator"].drop_nulls().unique().to_list() == [load("sd").name]
    assert rows["editor"].drop_nulls().unique().to_list() == [load("pix2pix").name]
    assert rows["picture_seed"].to_list() == ["0", "1", "100", "101"]
    stored = read_manifest(tmp_path / "making").model_settings
    assert stored["generator pipeline"] == "StableDiffusionPipeline"
    assert stored["editor num_inference_steps"] == 2


# What is stored with a run


def test_settings_name_class_versions_files_scheduler_and_every_number(folder: Any, copy: Path) -> None:
    facts = fresh(folder("sd"), size=(32, 48), guidance_scale=3).settings()
    assert facts["pipeline"] == "StableDiffusionPipeline"
    assert facts["editor"] == "StableDiffusionImg2ImgPipeline"
    assert facts["scheduler"] == "DDIMScheduler"
    assert (facts["device"], facts["dtype"], facts["size"], facts["batch"]) == ("cpu", "float32", "32x48", 1)
    assert (facts["num_inference_steps"], facts["guidance_scale"], facts["eta"]) == (2, 3, 0.0)
    assert (facts["edit_strength"], "edit_eta" in facts) == (0.8, False)
    assert {"diffusers", "torch", "transformers"} <= facts.keys()
    assert fresh(copy).settings()["weights"] == facts["weights"]
    config = copy / "scheduler" / "scheduler_config.json"
    config.write_text(config.read_text().replace("0.02", "0.03"))
    assert fresh(copy).settings()["weights"] != facts["weights"]


# Bad input


def refusal(path: Path | str, **options: Any) -> str:
    with pytest.raises(FaceValueError) as caught:
        fresh(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"num_inference_step": 2}, "or 'num_inference_steps'?"),
        ({"guidence_scale": 2.0}, "Did you mean 'guidance_rescale' or 'guidance_scale'?"),
        ({"quality": "high"}, "Unknown setting"),
        ({"num_inference_steps": "many"}, "a whole number, not 'many' (str)"),
        ({"num_inference_steps": 2.5}, "a whole number, not 2.5 (float)"),
        ({"num_inference_steps": 0}, "at least 1, not 0"),
        ({"num_inference_steps": True}, "a whole number, not True (bool)"),
        ({"guidance_scale": "7"}, "a number, not '7' (str)"),
        ({"guidance_scale": float("nan")}, "a number, not nan (float)"),
        ({"negative_prompt": 3}, "a text, not 3 (int)"),
        ({"prompt": "Another"}, "Unknown setting"),
        ({"seed": 3}, "Unknown setting"),
        ({"output_type": "np"}, "Unknown setting"),
        ({"num_images_per_prompt": 4}, "Unknown setting"),
        ({"height": 64}, "ask for a size"),
        ({"complex_human_instruction": True}, "Unknown setting"),
    ],
)
def test_settings_that_a_pipeline_does_not_take_are_refused(settings: dict[str, Any], says: str, folder: Any) -> None:
    assert says in refusal(folder("sd"), **settings)


@pytest.mark.parametrize(
    ("family", "options", "says"),
    [
        (
            "sd",
            {"size": (33, 32)},
            "33x32 is no size of StableDiffusionPipeline: sides are multiples of 2, such as 32x32.",
        ),
        ("sd", {"size": (0, 32)}, "0x32 is no size"),
        ("sd", {"batch": 0}, "a batch of 1 or more"),
    ],
)
def test_sizes_and_batches_that_cannot_be_are_refused(family: str, options: Any, says: str, folder: Any) -> None:
    assert says in refusal(folder(family), **options)


@pytest.mark.parametrize(
    ("options", "says"),
    [({"dtype": "float23"}, "Did you mean 'float16' or 'float32'"), ({"device": "gpu"}, "There is no device 'gpu'")],
)
def test_formats_and_devices_that_do_not_exist_are_refused(options: Any, says: str, folder: Any) -> None:
    with pytest.raises(FaceValueError, match=says):
        DiffusersGenerator(f"diffusers/{folder('sd')}", GeneratorOptions(**options))


def test_one_device_is_what_there_is_to_spread_a_pipeline_over(folder: Any) -> None:
    generator = DiffusersGenerator(f"diffusers/{folder('sd')}", GeneratorOptions(device="auto"))
    assert generator.settings()["device"] == ("cuda" if torch.cuda.is_available() else "cpu")


def without_a_weight(folder: Path, part: str) -> None:
    file = next((folder / part).glob("*.safetensors"))
    weights = safetensors.load_file(file)
    weights.pop(sorted(weights)[3])
    safetensors.save_file(weights, file, metadata={"format": "pt"})


def as_pickle(folder: Path) -> None:
    file = next((folder / "unet").glob("*.safetensors"))
    torch.save(safetensors.load_file(file), file.with_suffix(".bin"))
    file.unlink()


def only_a_model(folder: Path) -> None:
    (folder / "model_index.json").rename(folder / "config.json")


def with_code(folder: Path) -> None:
    (folder / "unet" / "evil.py").write_text("raise SystemExit('run')")
    change_index(folder, unet=["evil", "Evil"])


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "no index": (lambda f: (f / "model_index.json").unlink(), "there is no model_index.json in it."),
    "one model": (only_a_model, "a pipeline is a folder of several"),
    "no JSON": (lambda f: (f / "model_index.json").write_text("{"), "model_index.json of"),
    "a list": (lambda f: (f / "model_index.json").write_text("[]"), "names no class"),
    "no text": (lambda f: (f / "model_index.json").write_bytes(b"\xff\xfe"), "cannot be read"),
    "code for the pipeline": (lambda f: change_index(f, _class_name=["evil", "Evil"]), "brings code of its own"),
    "code for a part": (with_code, "brings code of its own ('evil' (str))"),
    "any library": (lambda f: change_index(f, tokenizer=["subprocess", "Popen"]), "brings code of its own"),
    "no such class": (lambda f: change_index(f, _class_name="StablePipeline"), "'StablePipeline' (str), which"),
    "no pipeline": (lambda f: change_index(f, _class_name="DDIMScheduler"), "which diffusers"),
    "no texts": (lambda f: change_index(f, _class_name="DDPMPipeline"), "needs something else than a text"),
    "a mask": (lambda f: change_index(f, _class_name="StableDiffusionInpaintPipeline"), "it needs a mask"),
    "a video": (lambda f: change_index(f, _class_name="WanPipeline"), "a length in frames"),
    "pickles": (as_pickle, "holds the weights of its unet as pickles, which are never read"),
    "a weight of the drawing network": (lambda f: without_a_weight(f, "unet"), "lacks some of the pipeline's weights"),
    "a weight of the encoder": (lambda f: without_a_weight(f, "text_encoder"), "lacks some of the pipeline's weights"),
    "half a file": (lambda f: (f / "unet/diffusion_pytorch_model.safetensors").write_bytes(b"abc"), "cannot be loaded"),
    "no file": (lambda f: (f / "vae/diffusion_pytorch_model.safetensors").unlink(), "cannot be loaded"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_folder_that_cannot_be_used_is_refused_in_one_sentence(case: str, copy: Path) -> None:
    harm, says = BROKEN[case]
    harm(copy)
    assert says in refusal(copy)


def test_a_folder_that_is_not_there_is_refused_with_the_nearest(copy: Path) -> None:
    assert f"Did you mean '{copy}'?" in refusal(copy.with_name("copi"))
    assert "There is one in 'copy'." in refusal(copy.parent)
    with pytest.raises(FaceValueError, match="names no pipeline: write diffusers/FOLDER"):
        DiffusersGenerator("diffusers/", GeneratorOptions())


def test_an_id_that_is_not_in_the_cache_is_refused_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    constants: Any = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    message = refusal("nobody/nothing-of-the-kind")
    assert message.startswith("nobody/nothing-of-the-kind cannot be had from the hub or its cache (")
    assert "there is no folder of that name" in message


def test_without_the_extra_one_sentence_says_what_to_install(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "diffusers", None)
    with pytest.raises(DependencyError, match=r"pip install '.\[pictures\]'"):
        fresh(copy)


def test_a_closed_generator_holds_no_pipeline(copy: Path) -> None:
    generator = fresh(copy)
    generator.close()
    assert not hasattr(generator, "_pipelines")
