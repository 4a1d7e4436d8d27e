"""Plain forward passes: no cache, no padding, no sharing. The reference for everything faster."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from facevalue.models.hf.calls import Rejected, calling, logits_of
from facevalue.models.hf.guided_generation import forced_logits
from facevalue.models.hf.loading import Loaded, carry_inputs

if TYPE_CHECKING:
    from torch import Tensor

AT_ONCE = "one_pass_difference"
_TRIED, _LIKELIEST = 8, 8  # tokens; in fewer a difference may be small by luck
_OF_LOG = 10
"""Where nothing should differ but by rounding, logs of likely tokens may differ by so many tolerances."""


def plain_logits(
    loaded: Loaded, inputs: "Mapping[str, Tensor]", continuation: Sequence[int], places: Sequence[int]
) -> "Tensor":
    """Run a whole prompt, one row, and a continuation through the model: logits, float32, (len(read), vocabulary).

    `read` says after how many tokens of the continuation; 0 is what follows the prompt. A model may let the prompt look
    at what comes after it when both are given at once, or have an encoder for the one and a decoder for the other. That
    is tried; such a model is led through the continuation token by token (`facevalue.models.hf.guided_generation`).
    """
    form = tuple(sorted(inputs))
    if form not in loaded.at_once:
        loaded.at_once[form] = _goes_at_once(loaded, inputs)
    way = _at_once if loaded.at_once[form] else forced_logits
    return way(loaded, inputs, continuation, places)


def _at_once(
    loaded: Loaded, inputs: "Mapping[str, Tensor]", continuation: Sequence[int], places: Sequence[int]
) -> "Tensor":
    """Compute the logits of `plain_logits` in one forward pass."""
    import torch  # noqa: PLC0415

    extended_inputs = extend_inputs(inputs, continuation)
    positions = torch.as_tensor([int(inputs["input_ids"].shape[1]) - 1 + at for at in places])
    with torch.inference_mode(), calling():
        return logits_of(loaded.model, positions, **extended_inputs, use_cache=False)[0].float()


def _goes_at_once(loaded: Loaded, inputs: "Mapping[str, Tensor]") -> bool:
    """Return whether a prompt with a reply in one pass gives what `generate` does, attending to no later token."""
    if loaded.model.config.get_text_config().is_encoder_decoder:
        return False
    words = [token for token in inputs["input_ids"][0].tolist() if token not in loaded.marks]
    first, second = words[-_TRIED:], words[:_TRIED]
    stepwise = forced_logits(loaded, inputs, first, range(len(first)))
    try:
        along = _at_once(loaded, inputs, first, range(len(first)))
        before = _at_once(loaded, inputs, [*second, *first][: len(first)], [0])  # just as long
    except Rejected:
        return False
    top = stepwise[0].topk(_LIKELIEST).indices
    ahead = (along[:1].log_softmax(1) - before.log_softmax(1))[0, top].abs().max()
    return bool(ahead <= loaded.tolerance) and loaded.agrees(AT_ONCE, gap(along, stepwise))


def stepwise(loaded: Loaded) -> tuple[str, ...]:
    """Note on a model whose code computes otherwise where it reads several tokens at once; empty for others."""
    difference = loaded.differences.get(AT_ONCE, 0.0)
    if difference <= loaded.tolerance:
        return ()
    return (
        f"This model's code gives other probabilities where it reads a reply in one pass than where it replies token "
        f"by token (by {difference:.2g}; rounding explains {loaded.tolerance:g}): the latter count, as in generate().",
    )


def gap(first: "Tensor", second: "Tensor") -> float:
    """Return the largest difference of a probability, or a tenth of that of a likely token's log; of NaN infinity.

    Both are logits, (rows, vocabulary). The logs show a fault where its tokens happen to be rare.
    """
    top = second.topk(min(_LIKELIEST, second.shape[1])).indices
    logs = first.log_softmax(1).gather(1, top) - second.log_softmax(1).gather(1, top)
    return max(largest(first.softmax(1) - second.softmax(1)), largest(logs) / _OF_LOG)


def largest(difference: "Tensor") -> float:
    """Return the largest of some differences, infinity where one is no number."""
    widest = float(difference.abs().max())
    return math.inf if math.isnan(widest) else widest


def forward(loaded: Loaded, inputs: "Mapping[str, Tensor]", start: "Tensor") -> "Tensor":
    """Return the logits of a reply's first token by one forward pass, without `generate`: float32, (vocabulary,).

    `start` is what a decoder of its own starts with.
    """
    import torch  # noqa: PLC0415

    arguments = dict(inputs)
    if loaded.model.config.get_text_config().is_encoder_decoder:
        arguments["decoder_input_ids"] = start
    with torch.inference_mode(), calling():
        logits: Tensor = loaded.model(**arguments, use_cache=False).logits[0, -1]
        return logits.float()


def extend_inputs(inputs: "Mapping[str, Tensor]", continuation: Sequence[int]) -> "dict[str, Tensor]":
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
    for name, added in carry_inputs(inputs, more.shape[1]).items():
        longer[name] = torch.cat([inputs[name], added], dim=1)
    return longer
