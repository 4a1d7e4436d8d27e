"""Plain forward passes, the reference for everything faster: no cache, no padding, no sharing; guided generation.

A model is led through a reply by `generate`, and it is checked whether it followed. A family may bring a `generate` of
its own, which may drop what it is given: Janus passes no logits processor on, and so says another reply than the one
that is asked about. So the processor is put where scores are processed, and what was said is compared with what was to
be said, each time.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from facevalue.errors import ModelError
from facevalue.models.hf.calls import Rejected, calling, logits_of
from facevalue.models.hf.loading import Loaded, carry_inputs, silence

if TYPE_CHECKING:
    from torch import Tensor

_NO_TOKEN = 2**31 - 1
_KEPT = ("bos_token_id", "decoder_start_token_id")
"""Of a checkpoint's settings for `generate`: where a decoder starts."""


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """A reply that a model has said, and what each token was chosen by: logits, float32, (len(tokens), vocabulary).

    `start` stands before it: the prompt's tokens, or what a decoder starts with. `marks` stand for pictures, which no
    reply says (`decoding.mask_picture_tokens`).
    """

    tokens: list[int]
    logits: "Tensor"
    start: "Tensor"
    marks: Sequence[int] = ()

    def follows(self, lead: Sequence[int]) -> bool:
        """Return whether it begins with the given tokens, and goes on with the likeliest tokens that can be said."""
        spoken = self.logits.clone()
        spoken[:, list(self.marks)] = -float("inf")
        free = range(len(lead), len(self.tokens))
        likeliest = all(spoken[n, self.tokens[n]] == spoken[n].max() for n in free)
        return self.tokens[: len(lead)] == list(lead) and likeliest


def forced_logits(
    loaded: Loaded, inputs: "Mapping[str, Tensor]", continuation: Sequence[int], places: Sequence[int]
) -> "Tensor":
    """Return the logits of `reference_pass.plain_logits` while a model is made to reply with a continuation."""
    count = max(places, default=0) + 1
    lead = list(continuation[: count - 1])
    reply = force_reply(loaded, inputs, count, lead)
    if reply is None or not reply.follows(lead):
        raise ModelError(
            f"A model of type {loaded.model.config.model_type!r} cannot be asked here: its generate() doesn't say the "
            "reply that it is led to, so the probability of a reply is unknown."
        )
    return reply.logits[list(places)]


def force_reply(loaded: Loaded, inputs: "Mapping[str, Tensor]", count: int, lead: Sequence[int] = ()) -> Said | None:
    """Have a model reply with just so many tokens, the likeliest after the `lead`; None without logits for each."""
    import torch  # noqa: PLC0415
    from transformers import LogitsProcessor, LogitsProcessorList  # noqa: PLC0415

    begun: list[int] = []
    marks = sorted(loaded.marks)

    class Lead(LogitsProcessor):  # type: ignore[misc]
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            begun.append(input_ids.shape[1])
            place = begun[-1] - begun[0]
            if place >= len(lead):  # after the last one anything may come that is no picture
                scores = scores.clone()
                scores[:, [mark for mark in marks if mark < scores.shape[-1]]] = -torch.inf
                return scores
            only = torch.full_like(scores, -torch.inf)
            only[:, lead[place]] = 0
            return only

    leads = LogitsProcessorList([Lead()])
    with torch.inference_mode(), calling(), silence(), bare(loaded.model, leads[0]):
        out = loaded.model.generate(**inputs, generation_config=settings(count), logits_processor=leads)
    logits = getattr(out, "logits", None) or ()
    if len(logits) != count or out.sequences.shape[1] < count:
        return None
    joined = torch.cat(logits).float()
    marks_there = [mark for mark in marks if mark < joined.shape[-1]]
    return Said(out.sequences[0, -count:].tolist(), joined, out.sequences[:, :-count], marks_there)


def settings(count: int) -> Any:
    """Return settings to have `generate` say just so many tokens, the likeliest."""
    from transformers import GenerationConfig  # noqa: PLC0415

    return GenerationConfig(
        do_sample=False,
        num_beams=1,
        eos_token_id=_NO_TOKEN,  # so that it goes on to the end; None would stand for the usual one
        pad_token_id=0,  # with one row nothing is padded
        max_new_tokens=count,
        return_dict_in_generate=True,
        output_logits=True,
    )


@contextmanager
def bare(model: Any, lead: Any = None) -> Iterator[None]:
    """Have `generate`, for as long as it lasts, do to scores and replies what we say and nothing else.

    Penalties, forced and forbidden tokens, beams, guidance and quantised caches that come with a checkpoint are put
    aside: `generate` takes from there whatever it isn't told. A language model within has settings of its own. What
    leads it is put where scores are processed if it has not come so far.
    """
    from transformers import GenerationConfig, LogitsProcessorList  # noqa: PLC0415

    def add_lead(usual: Any, *positional: Any, **keywords: Any) -> Any:
        processors = usual(*positional, **keywords)
        return processors if lead is None or lead in processors else LogitsProcessorList([*processors, lead])

    settings_of = {
        module: generation
        for module in model.modules()
        if (generation := getattr(module, "generation_config", None)) is not None
        and hasattr(module, "_get_logits_processor")
    }
    try:
        for module, settings in settings_of.items():
            module.generation_config = bare = copy(settings)
            for name, usual in vars(GenerationConfig()).items():
                if name not in _KEPT:
                    setattr(bare, name, usual)
            module._get_logits_processor = partial(add_lead, module._get_logits_processor)
        yield
    finally:
        for module, settings in settings_of.items():
            module.generation_config = settings
            module.__dict__.pop("_get_logits_processor", None)


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
    is tried; such a model is led through the continuation token by token (`facevalue.models.hf.reference_pass`).
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
