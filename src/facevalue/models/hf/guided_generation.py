"""Guided generation: a model led through a reply by `generate`, and whether it followed.

A family may bring a `generate` of its own, which may drop what it is given: Janus passes no logits processor on, and so
says another reply than the one that is asked about. So the processor is put where scores are processed, and what was
said is compared with what was to be said, each time.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from facevalue.errors import ModelError
from facevalue.models.hf.calls import calling
from facevalue.models.hf.loading import Loaded, silence

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
