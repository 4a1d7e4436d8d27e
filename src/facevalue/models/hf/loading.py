"""Loading of a model with its processor, with one clear sentence if it fails."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from facevalue.errors import DependencyError, ModelError, UnknownNameError
from facevalue.models.hf.framing import NOTE, cuts
from facevalue.models.hf.processors import TextProcessor, first_line, load_processor, picture_mark, puts_pictures

if TYPE_CHECKING:
    import torch
    from torch import Tensor


# Folders of models on this machine, and what is checked alike of all that transformers loads.


LOCAL = {"local_files_only": True, "trust_remote_code": False}
"""Arguments by which nothing is downloaded, and no code that comes with a model is run."""


def packages() -> tuple[Any, Any]:
    """Import torch and transformers, or say what to install."""
    try:
        import torch  # noqa: PLC0415
        import transformers  # noqa: PLC0415
    except ImportError as error:
        raise DependencyError("torch with transformers", "hf") from error
    return torch, transformers


def configuration(folder: Path) -> Any:
    """Read what a folder says of its model."""
    try:
        return packages()[1].AutoConfig.from_pretrained(str(folder), **LOCAL)
    except Exception as error:  # transformers raises many kinds
        raise ModelError(f"The configuration of {folder} cannot be read: {first_line(error)}") from error


def check_complete(folder: Path, kind: str, missing: Collection[str]) -> None:
    """Raise a `ModelError` if a folder lacks weights: random numbers would stand in for them."""
    if missing:
        raise ModelError(f"{folder} lacks {len(missing)} of the {kind}'s weights, such as {min(missing)}.")


def check_weights(folder: Path, kind: str) -> None:
    """Raise a `ModelError` unless a folder holds the configuration and the weights of such a thing ("detector")."""
    if not folder.is_dir():
        raise ModelError(f"There is no folder {folder}: a {kind} is a folder with its config.json and weights.")
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder} holds no {kind}: there is no config.json in it.")
    if not any(folder.glob("*.safetensors")):
        raise ModelError(f"{folder} holds no weights: there is no .safetensors in it (pickles are never read).")


# What differs between families of models, found by looking at the model rather than by its name.


AROUND = {"gemma3": "\n\n"}
"""Text that a processor puts before and after the special tokens of a picture, by `model_type`.

Without it the processor would be asked for every question, picture and all: the same tokens, more slowly.
"""


_AXES = 3
"""Time, height and width."""


@dataclass(frozen=True, slots=True)
class Window:
    """Attention window of some or all layers of a model: a token attends to itself and the `size` - 1 before it.

    Where only some do, the model takes a mask for each kind of layer.
    """

    size: int
    some: bool


def window_of(text_config: Any) -> Window | None:
    """Return the sliding window of a language model, None if every layer sees everything.

    A `NotImplementedError` says that some layers don't attend by a mask over all tokens, or attend forwards.

    >>> from types import SimpleNamespace
    >>> window_of(SimpleNamespace(sliding_window=4096, layer_types=["full_attention", "sliding_attention"]))
    Window(size=4096, some=True)
    """
    kinds = set(getattr(text_config, "layer_types", None) or ())
    if kinds - {"full_attention", "sliding_attention"} or getattr(text_config, "use_bidirectional_attention", None):
        raise NotImplementedError(", ".join(sorted(kinds)) or "attention in both directions")
    size = getattr(text_config, "sliding_window", None)
    if size is None or (kinds and "sliding_attention" not in kinds):
        return None
    return Window(int(size), bool(kinds))


@contextmanager
def watch_positions(model: Any) -> Iterator[Callable[[Sequence[int]], tuple[int, ...]]]:
    """Watch which positions a model's own code gives its tokens, to say which ones come after rows of these lengths.

    Where pictures take positions by their height and width (M-RoPE), that is an earlier one than there are tokens.
    """
    states: list[Tensor | None] = [None]

    def look(_: Any, __: Any, keywords: dict[str, Any]) -> None:
        states[0] = keywords.get("position_ids")

    def following(lengths: Sequence[int]) -> tuple[int, ...]:
        if states[0] is None:
            return tuple(lengths)
        axes = states[0].reshape(-1, *states[0].shape[-2:])[-_AXES:]  # what is before them counts tokens
        rows = axes.amax(0).expand(len(lengths), -1)  # the last part of a picture may be wide, and its first one high
        return tuple(int(row[:length].max()) + 1 for row, length in zip(rows, lengths, strict=True))

    hook = model.get_decoder().register_forward_pre_hook(look, with_kwargs=True)
    try:
        yield following
    finally:
        hook.remove()


def carry_inputs(inputs: "Mapping[str, Tensor]", nodes: int) -> "dict[str, Tensor]":
    """Return what nodes after a prefix take over from its last token: the pictures it may look at (cross-attention)."""
    seen = inputs.get("cross_attention_mask")
    return {} if seen is None else {"cross_attention_mask": seen[:, -1:].expand(-1, nodes, -1, -1)}


DTYPES = ("bfloat16", "float16", "float32")
"""Number formats that a user can choose."""
TOLERANCES = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}
"""Largest difference of a probability that rounding explains, by the format that the model computes in."""

DATE = datetime(2025, 1, 1)
"""The day that it is to chat templates which write the date: else a run's prompts would change at midnight."""
DATED = f"This model's chat template writes the date: to it, every day is {DATE:%d %B %Y}."
"""What the user should know of such models."""
TEXTS_ALONE = (
    "This model has no chat template: it is sent the texts of a question and nothing around them, as its processor "
    "takes them."
)
"""What the user should know of models that were not made for conversations."""


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A model that is ready to be asked.

    `device`: where token ids are sent; with several devices, where the embeddings lie. `context`: most tokens of a
    conversation, pictures included. `marks`: tokens that stand for pictures, videos or sounds; the processor puts
    others in their place, and no reply has them. `notes`: what the user should know, one sentence each. `placed`: the
    processor puts pictures into a text by itself, so that the template needs no marks. `around`: text that it puts
    before and after a picture's special tokens. `at_once`: whether a prompt and a reply may go through the model
    together, by the names of what the processor makes, as far as it has been tried. `differences`: the largest one of
    each way of reading that was tried beside the model's own `generate`.
    """

    model: Any
    processor: Any
    tokenizer: Any
    dtype: "torch.dtype"
    device: "torch.device"
    context: int | None
    stop_ids: frozenset[int]
    marks: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()
    placed: bool = False
    around: str = ""
    at_once: dict[tuple[str, ...], bool] = field(default_factory=dict)
    differences: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Type of the model, by which transformers knows it: "llava"."""
        return str(self.model.config.model_type)

    @property
    def sees(self) -> bool:
        """True if it can be shown pictures; else it takes texts alone."""
        return self.processor.image_processor is not None

    @property
    def tolerance(self) -> float:
        """Largest difference of a probability that rounding explains."""
        return TOLERANCES.get(self.numbers, TOLERANCES["bfloat16"])

    def agrees(self, way: str, difference: float) -> bool:
        """Record the difference of a way of reading from `generate`; returns whether it is no more than rounding."""
        self.differences[way] = max(difference, self.differences.get(way, 0.0))
        return difference <= self.tolerance

    @property
    def numbers(self) -> str:
        """Name of the number format: "float32"."""
        return str(self.dtype).removeprefix("torch.")


def load_model(
    path: str, *, dtype: str | None = None, device: str | None = None, threads: int | None = None, compile: bool = False
) -> Loaded:
    """Load a model of a folder or of the hub ("llava-hf/llava-1.5-7b-hf"), with its processor and tokenizer.

    Only weights in safetensors are read, and no code that comes with a model is run. HF_HUB_OFFLINE=1 takes what was
    downloaded before. Without a `dtype` it is the checkpoint's own on a GPU, and float32 on a CPU; without a `device` a
    GPU if there is one; "auto" spreads the layers. To `compile` takes minutes with the first picture.
    """
    try:
        import accelerate  # noqa: F401, PLC0415 - transformers puts weights on devices by it
        import torch  # noqa: PLC0415 - needed by those who load a model only
        import transformers  # noqa: F401, PLC0415
    except ImportError as error:
        raise DependencyError("torch with transformers and accelerate", "hf") from error
    if dtype is not None and dtype not in DTYPES:
        raise UnknownNameError("number format", dtype, DTYPES)
    if threads is not None:
        if threads < 1:
            raise ModelError(f"{threads} threads cannot compute anything: ask for one or more.")
        torch.set_num_threads(threads)
    place = chosen_device(device)
    source = _find_source(path)
    with silence():
        return _load_found(path, source, dtype, place, compile)


@contextmanager
def silence() -> Iterator[None]:
    """Keep transformers' bars and warnings off the screen; what matters of them is said in our own words."""
    from transformers.utils import logging  # noqa: PLC0415

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _load_found(path: str, source: str, dtype: str | None, place: str, compile: bool) -> Loaded:
    """Load what `load_model` has found."""
    import torch  # noqa: PLC0415
    import transformers  # noqa: PLC0415

    config, kind = _config(source)
    sees = kind is transformers.AutoModelForImageTextToText
    processor = load_processor(source, config.model_type) if sees else TextProcessor(source)
    template = _template(processor)
    processor.tokenizer.chat_template = _on_a_day(template) if template else _texts_alone(processor)
    numbers = getattr(torch, dtype) if dtype else (torch.float32 if place == "cpu" else "auto")
    _unset(config)
    try:
        model, loading = kind.from_pretrained(
            source,
            config=config,
            dtype=numbers,
            device_map=place,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # refused below, with a name
        )
    except torch.OutOfMemoryError as error:
        raise ModelError(
            f"{path} doesn't fit into the memory of {place}: try device auto or dtype bfloat16."
        ) from error
    except Exception as error:  # safetensors, transformers and accelerate each raise their own
        raise ModelError(f"The weights of {path} cannot be loaded: {first_line(error)}") from error
    # Random numbers would stand in for both.
    if missing := sorted(loading["missing_keys"]):
        raise ModelError(f"{path} lacks {len(missing)} of the model's weights, such as {missing[0]}.")
    if mismatched := sorted(str(name) for name, *_ in loading["mismatched_keys"]):
        raise ModelError(
            f"{len(mismatched)} weights of {path} have not the shape that its config.json says: {mismatched[0]}."
        )
    if broken := _broken_weights(model):
        raise ModelError(
            f"{len(broken)} weights of {path} hold what is no number (NaN or infinite), such as {broken[0]}: the "
            f"checkpoint is damaged, or too large for {str(model.dtype).removeprefix('torch.')}."
        )
    if not isinstance(model, transformers.GenerationMixin):
        raise ModelError(f"{path} is of a type ({config.model_type}) that doesn't reply token by token.")
    model.eval()
    notes = (NOTE,) if sees and cuts(processor.image_processor) else ()
    if template is None:
        notes = (*notes, TEXTS_ALONE)
    elif "strftime_now" in str(template):
        notes = (*notes, DATED)
    if compile:  # the encoder of pictures sees a new shape with every picture, and would be compiled anew
        model.get_decoder().compile(dynamic=True)
    return Loaded(
        model,
        processor,
        processor.tokenizer,
        model.dtype,
        model.get_input_embeddings().weight.device,
        getattr(config.get_text_config(), "max_position_embeddings", None),
        _stops(model, processor.tokenizer),
        _marks(config, processor),
        notes,
        sees and puts_pictures(processor),
        AROUND.get(config.model_type, ""),
    )


def chosen_device(device: str | None) -> str:
    """Return the device to load to."""
    import torch  # noqa: PLC0415

    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "auto":
        return device
    try:
        kind = torch.device(device)
    except RuntimeError:
        kind = None
    if kind is None or not (kind.type in ("cpu", "cuda") or (kind.type == "mps" and torch.backends.mps.is_available())):
        raise ModelError(f"There is no device {device!r}: write cpu, cuda, cuda:1 or auto.")
    if kind.type == "cuda" and (kind.index or 0) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        seen = f"{count} GPU{'s' * (count != 1)}" if count else "no GPU"
        raise ModelError(f"torch sees {seen} here, and not {device}: write cpu or auto, or install torch for your GPU.")
    return device


def _find_source(path: str) -> str:
    """Return where to load from: a folder that holds a model, or an id of the hub."""
    folder = Path(path).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            inside = sorted(entry.parent.name for entry in folder.glob("*/config.json"))
            hint = f" There is one in {inside[0]!r}." if inside else ""
            raise ModelError(f"{path} holds no model: there is no config.json in it.{hint}")
        if not any(folder.glob("*.safetensors")):
            if any(folder.glob("*.bin")) or any(folder.glob("*.pth")):
                raise ModelError(f"{path} holds its weights as pickles, which are never read: save it as safetensors.")
            raise ModelError(f"{path} holds no weights: there is no .safetensors in it.")
        return str(folder)
    if path.count("/") != 1 or path.startswith((".", "/", "~")) or path.endswith("/"):
        raise ModelError(f"There is no folder {path}.{near_paths(folder)} Ids of the hub are written OWNER/MODEL.")
    return path


def near_paths(path: Path) -> str:
    """Return a hint at what is beside a path that doesn't exist, or nothing."""
    try:
        neighbours = [entry.name for entry in path.parent.iterdir() if not entry.name.startswith(".")]
    except OSError:
        return ""
    near = get_close_matches(path.name, neighbours, n=3, cutoff=0.5)
    return f" Did you mean {' or '.join(repr(str(path.parent / name)) for name in near)}?" if near else ""


def _config(path: str) -> tuple[Any, Any]:
    """Return the configuration of a model that takes texts, with pictures or alone, and what loads it."""
    import transformers  # noqa: PLC0415
    from transformers.models.auto import modeling_auto  # noqa: PLC0415

    try:
        config = transformers.AutoConfig.from_pretrained(path, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        if "custom code" in str(error):
            raise ModelError(
                f"{path} brings code of its own, which is never run: use a model of transformers."
            ) from error
        hint = "" if Path(path).is_dir() else f" There is no folder of that name either.{near_paths(Path(path))}"
        raise ModelError(f"The configuration of {path} cannot be read: {first_line(error)}{hint}") from error
    kind = config.model_type
    if kind in modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES:
        return config, transformers.AutoModelForImageTextToText
    if kind in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return config, transformers.AutoModelForCausalLM
    raise ModelError(f"{path} is a model of type {kind!r}, which answers no questions, with pictures or without.")


def _unset(config: Any) -> None:
    """Have each part of a model take torch's attention, or its own where it has no other, whatever its checkpoint says.

    Parts differ: a language model that bounds its scores (Gemma 2) comes with an encoder that doesn't.
    """
    config._attn_implementation = None
    for name in config.sub_configs:
        if (nested := getattr(config, name, None)) is not None:
            _unset(nested)


def _broken_weights(model: Any) -> list[str]:
    """Return the names of weights with values that are not finite."""
    import torch  # noqa: PLC0415

    # What is quantised has no such values or no such test, and may be a tensor of another kind that claims such a type.
    halves = (torch.float32, torch.float16, torch.bfloat16)
    plain = {n: w for n, w in model.named_parameters() if type(w.data) is torch.Tensor and not w.is_meta}
    return [n for n, w in plain.items() if w.dtype in halves and not torch.isfinite(w.detach()).all()]


def _template(processor: Any) -> str | None:
    """Return the chat template, None if there is none."""
    template = processor.chat_template or processor.tokenizer.chat_template
    if isinstance(template, dict):  # several by name
        template = template.get("default") or next(iter(template.values()), None)
    return None if not template else str(template)


def _texts_alone(processor: Any) -> str:
    """Return a template that puts texts as they are, a line each, after the pictures' marks: what a processor takes."""
    return (
        "{% for m in messages %}{% for part in m['content'] %}{% if part['type'] == 'image' %}MARK{% endif %}"
        "{% endfor %}{% endfor %}"
        "{% for m in messages %}{% for part in m['content'] %}{{ part['text'] if part['type'] == 'text' }}"
        "{% endfor %}{{ '' if loop.last else '\\n' }}{% endfor %}"
    ).replace("MARK", picture_mark(processor) or "")


def _marks(config: Any, processor: Any) -> frozenset[int]:
    """Return the tokens that stand for pictures, videos or sounds, as the configuration and the processor have them."""
    kinds = ("image", "video", "audio")
    tokens = [getattr(config, f"{kind}_token_{end}", None) for kind in kinds for end in ("id", "index")]
    written = [getattr(processor, name, None) for name in ("boi_token", "video_token", "audio_token")]
    written.append(picture_mark(processor))
    tokens += [processor.tokenizer.convert_tokens_to_ids(mark) for mark in written if isinstance(mark, str)]
    return frozenset(token for token in tokens if isinstance(token, int) and token != processor.tokenizer.unk_token_id)


def _on_a_day(template: str) -> str:
    """Return a chat template to which every day is `DATE`: `strftime_now` of its own stands before transformers'."""
    if "strftime_now" not in template:
        return template
    codes = [sign + code for sign in ("", "-") for code in "aAbBdeHIjmMpSuUwyY"]
    written = "".join(f"|replace('%{code}', '{DATE.strftime('%' + code)}')" for code in codes)
    return f"{{% macro strftime_now(form) %}}{{{{ form{written} }}}}{{% endmacro %}}{{{{ '' }}}}{template}"


def _stops(model: Any, tokenizer: Any) -> frozenset[int]:
    """Return the tokens that end a reply: those the model states, and the one its template puts after a reply."""
    stated = model.generation_config.eos_token_id
    ends: set[int] = set(stated if isinstance(stated, Sequence) else [stated]) | {tokenizer.eos_token_id}
    mark = "reply"
    turns = [
        {"role": role, "content": [{"type": "text", "text": text}]}
        for role, text in (("user", "ask"), ("assistant", mark))
    ]
    try:
        after = tokenizer.apply_chat_template(turns, tokenize=False).rpartition(mark)[2]
    except Exception:  # a template may refuse a conversation that ends so; the stated tokens do
        after = ""
    tokens = tokenizer(after, add_special_tokens=False)["input_ids"]
    if tokens and tokens[0] in tokenizer.all_special_ids:
        ends.add(tokens[0])
    return frozenset(end for end in ends if end is not None)
