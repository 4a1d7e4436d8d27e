"""The same numbers by plain forward passes: no cache, no padding, no sharing. The reference for all that is faster."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from facevalue.models.hf.loaded import Loaded

if TYPE_CHECKING:
    from torch import Tensor


def plain_logits(
    loaded: Loaded, inputs: "Mapping[str, Tensor]", continuation: Sequence[int], read: Sequence[int]
) -> "Tensor":
    """Run a whole prompt with a continuation through the model, once.

    Parameters
    ----------
    loaded:
        The model.
    inputs:
        What its processor makes of the whole prompt, one row.
    continuation:
        Token ids after the prompt; may be empty.
    read:
        After how many tokens of the continuation the logits are wanted: 0 for what follows the prompt.

    Returns
    -------
    Tensor
        Logits, float32, (len(read), vocabulary).
    """
    import torch  # noqa: PLC0415

    prompt = int(inputs["input_ids"].shape[1])
    wanted = [prompt - 1 + at for at in read]
    with torch.inference_mode():
        out = loaded.model(**extended(inputs, continuation), use_cache=False)
        logits: Tensor = out.logits[0, wanted].float()
    return logits


def extended(inputs: "Mapping[str, Tensor]", continuation: Sequence[int]) -> "dict[str, Tensor]":
    """Return a processor's inputs of one row with text tokens added at the end."""
    import torch  # noqa: PLC0415

    ids = inputs["input_ids"]
    more = torch.as_tensor([list(continuation)], dtype=ids.dtype, device=ids.device)
    longer = dict(inputs)
    for name, tensor in inputs.items():
        if name == "input_ids":
            longer[name] = torch.cat([tensor, more], dim=1)
        elif tensor.shape[:2] == ids.shape:
            fill = torch.ones_like(more) if name == "attention_mask" else torch.zeros_like(more)
            longer[name] = torch.cat([tensor, fill.to(tensor.dtype)], dim=1)
    return longer


def plain_batch(
    loaded: Loaded,
    prompts: "Sequence[Mapping[str, Tensor]]",
    continuations: Sequence[Sequence[int]],
    reads: Sequence[Sequence[int]],
) -> "list[Tensor]":
    """Return `plain_logits` of several prompts, one after another: right for every family."""
    return [plain_logits(loaded, *one) for one in zip(prompts, continuations, reads, strict=True)]
