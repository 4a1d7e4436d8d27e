"""A model with its processor, loaded and ready, or one clear sentence on why not."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from facevalue.errors import DependencyError
from facevalue.models.hf.families import Family, family_of

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that is ready to be asked.

    Attributes
    ----------
    model, processor, tokenizer:
        The parts of transformers.
    family:
        How its prefix is shared.
    dtype:
        The number format that it computes in.
    device:
        Where token ids are sent; with several devices, where the embeddings lie.
    context:
        Most tokens of a conversation, pictures included; None if the model doesn't say.
    stop_ids:
        Tokens that end a reply.
    notes:
        What the user should know, such as a family that cannot share its prefix; one sentence each.
    """

    model: Any
    processor: Any
    tokenizer: Any
    family: Family
    dtype: "torch.dtype"
    device: "torch.device"
    context: int | None
    stop_ids: frozenset[int]
    notes: tuple[str, ...] = ()


def load_model(
    path: str,
    *,
    dtype: str | None = None,
    device: str | None = None,
    threads: int | None = None,
    compile: bool = False,  # noqa: A002 - the name of the option
) -> Loaded:
    """Load a model of a folder or of the hub's cache, with its processor and tokenizer.

    Parameters
    ----------
    path:
        A folder, or an id of the hub ("llava-hf/llava-1.5-7b-hf").
    dtype:
        "float32", "bfloat16" or "float16"; None for the checkpoint's own on a GPU and float32 on a CPU.
    device:
        "cpu", "cuda", "cuda:1", or "auto" to spread the layers; None for a GPU if there is one.
    threads:
        CPU threads of a computation; None leaves torch's choice.
    compile:
        Whether to compile the model's forward pass.

    Raises
    ------
    DependencyError
        torch or transformers is not installed.
    ModelError
        The model cannot be used; the text says why.
    """
    try:
        import torch  # noqa: PLC0415 - needed by those who load a model only
        import transformers  # noqa: PLC0415
    except ImportError as error:
        raise DependencyError("torch with transformers", "hf") from error
    if threads is not None:
        torch.set_num_threads(threads)
    place = device or ("cuda" if torch.cuda.is_available() else "cpu")
    number = getattr(torch, dtype) if dtype else ("auto" if place != "cpu" else torch.float32)
    model = transformers.AutoModelForImageTextToText.from_pretrained(
        path, dtype=number, device_map=place, use_safetensors=True, attn_implementation="sdpa"
    ).eval()
    processor = transformers.AutoProcessor.from_pretrained(path, backend="pil")
    tokenizer = processor.tokenizer
    if compile:
        model.forward = torch.compile(model.forward, dynamic=True)
    text = model.config.get_text_config()
    ends = model.generation_config.eos_token_id
    stops = {tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])} - {None}
    return Loaded(
        model,
        processor,
        tokenizer,
        family_of(model.config.model_type),
        model.dtype,
        model.get_input_embeddings().weight.device,
        getattr(text, "max_position_embeddings", None),
        frozenset(stops),
    )
