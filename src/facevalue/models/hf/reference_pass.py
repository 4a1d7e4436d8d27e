"""Plain forward passes: no cache, no padding, no sharing. The reference for everything faster."""

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING

from facevalue.models.hf.calls import calling
from facevalue.models.hf.families import carried
from facevalue.models.hf.led import led
from facevalue.models.hf.loaded import Loaded

if TYPE_CHECKING:
    from torch import Tensor


def plain_logits(
    loaded: Loaded, inputs: "Mapping[str, Tensor]", continuation: Sequence[int], read: Sequence[int]
) -> "Tensor":
    """Run a whole prompt, one row, and a continuation through the model: logits, float32, (len(read), vocabulary).

    `read` says after how many tokens of the continuation; 0 is what follows the prompt. A model of an unknown family
    may let the prompt look at what comes after it when both are given at once, or have an encoder for the one and a
    decoder for the other. It is led through the continuation token by token (`facevalue.models.hf.led`).
    """
    import torch  # noqa: PLC0415

    if not loaded.family.causal:
        return led(loaded, inputs, continuation, read)
    whole = extended(inputs, continuation)
    wanted = torch.as_tensor([int(inputs["input_ids"].shape[1]) - 1 + at for at in read])
    picks = "logits_to_keep" in signature(type(loaded.model).forward).parameters
    with torch.inference_mode(), calling():
        out = loaded.model(**whole, use_cache=False, **({"logits_to_keep": wanted} if picks else {}))
        logits: Tensor = out.logits[0] if picks else out.logits[0, wanted]
        return logits.float()


def forward(loaded: Loaded, inputs: "Mapping[str, Tensor]", start: "Tensor") -> "Tensor":
    """Return the logits of a reply's first token by one forward pass, without `generate`: float32, (vocabulary,).

    `start` is what a decoder of its own starts with.
    """
    import torch  # noqa: PLC0415

    given = dict(inputs)
    if loaded.model.config.get_text_config().is_encoder_decoder:
        given["decoder_input_ids"] = start
    with torch.inference_mode(), calling():
        logits: Tensor = loaded.model(**given, use_cache=False).logits[0, -1]
        return logits.float()


def extended(inputs: "Mapping[str, Tensor]", continuation: Sequence[int]) -> "dict[str, Tensor]":
    """Return a processor's inputs of one row with text tokens added at the end."""
    import torch  # noqa: PLC0415

    ids = inputs["input_ids"]
    more = torch.as_tensor([list(continuation)], dtype=ids.dtype, device=ids.device)
    longer = dict(inputs)
    for name, tensor in inputs.items():
        if tensor.shape == ids.shape:
            # Marks of each token: 1 in a mask for "is there", 0 for "is text" in all others.
            added = {"input_ids": more, "attention_mask": torch.ones_like(more)}.get(name, torch.zeros_like(more))
            longer[name] = torch.cat([tensor, added.to(tensor.dtype)], dim=1)
    for name, added in carried(inputs, more.shape[1]).items():
        longer[name] = torch.cat([inputs[name], added], dim=1)
    return longer
