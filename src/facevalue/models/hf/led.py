"""A model led through a reply by `generate`, and whether it said what it was led to.

A family may bring a `generate` of its own, which may drop what it is given: Janus passes no logits processor on, and so
says another reply than the one that is asked about. What was said is therefore compared, each time.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from facevalue.errors import ModelError
from facevalue.models.hf.calls import calling
from facevalue.models.hf.loaded import Loaded, silence

if TYPE_CHECKING:
    from torch import Tensor

_NO_TOKEN = 2**31 - 1
_KEPT = ("bos_token_id", "decoder_start_token_id")
"""Of a checkpoint's settings for `generate`: where a decoder starts."""


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """A reply that a model has said.

    Attributes
    ----------
    tokens:
        Its tokens.
    logits:
        What each was chosen by, float32, (len(tokens), vocabulary).
    start:
        Tokens that stand before it: those of the prompt, or what a decoder starts with.
    """

    tokens: list[int]
    logits: "Tensor"
    start: "Tensor"

    def follows(self, lead: Sequence[int]) -> bool:
        """Whether it begins as it was led, and goes on with the likeliest tokens."""
        free = range(len(lead), len(self.tokens))
        likeliest = all(self.logits[n, self.tokens[n]] == self.logits[n].max() for n in free)
        return self.tokens[: len(lead)] == list(lead) and likeliest

    def agrees(self, other: "Said", tolerance: float) -> bool:
        """Whether probabilities differ by no more than this from those along the same reply."""
        difference = (self.logits.softmax(dim=1) - other.logits.softmax(dim=1)).abs().max()
        return self.tokens == other.tokens and bool(difference <= tolerance)


def led(loaded: Loaded, inputs: "Mapping[str, Tensor]", continuation: Sequence[int], read: Sequence[int]) -> "Tensor":
    """Return the logits that a model has while it is made to reply with a continuation.

    Where the family's own `generate` doesn't say what it is led to, transformers' own loop is taken, if along the reply
    that the family's own does say both give the same probabilities.

    Parameters
    ----------
    loaded, inputs, continuation, read:
        As of `facevalue.models.hf.plain.plain_logits`.

    Raises
    ------
    ModelError
        The model cannot be led.
    """
    count = max(read, default=0) + 1
    lead = list(continuation[: count - 1])
    own = said(loaded, inputs, count, lead)
    if own is not None and own.follows(lead):
        return own.logits[list(read)]
    if own is not None:
        usual, same = (said(loaded, inputs, count, way, own=False) for way in (lead, own.tokens))
        if usual and same and usual.follows(lead) and same.agrees(own, loaded.tolerance):
            return usual.logits[list(read)]
    raise ModelError(
        f"A model of type {loaded.model.config.model_type!r} cannot be asked here: its generate() doesn't say the "
        "reply that it is led to, so that nobody knows how likely a reply is."
    )


def said(
    loaded: Loaded, inputs: "Mapping[str, Tensor]", count: int, lead: Sequence[int] = (), *, own: bool = True
) -> Said | None:
    """Have a model reply with so many tokens, the likeliest where it isn't led; None if it gives no logits for each.

    Parameters
    ----------
    loaded, inputs:
        The model and the whole prompt, one row.
    count:
        Tokens of the reply; it doesn't end before.
    lead:
        Its first tokens.
    own:
        Whether the family's own `generate` is called, or else that of transformers.
    """
    import torch  # noqa: PLC0415
    from transformers import GenerationConfig, GenerationMixin, LogitsProcessor, LogitsProcessorList  # noqa: PLC0415

    begun: list[int] = []

    class Lead(LogitsProcessor):  # type: ignore[misc]
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            begun.append(input_ids.shape[1])
            place = begun[-1] - begun[0]
            if place >= len(lead):  # after the last one anything may come
                return scores
            only = torch.full_like(scores, -torch.inf)
            only[:, lead[place]] = 0
            return only

    settings = GenerationConfig(
        do_sample=False,
        num_beams=1,
        eos_token_id=_NO_TOKEN,  # so that it goes on to the end; None would stand for the usual one
        pad_token_id=0,  # with one row nothing is padded
        max_new_tokens=count,
        return_dict_in_generate=True,
        output_logits=True,
    )
    processors = LogitsProcessorList([Lead()])
    with torch.inference_mode(), calling(), silence(), _bare(loaded.model):
        if own:
            out = loaded.model.generate(**inputs, generation_config=settings, logits_processor=processors)
        else:
            out = GenerationMixin.generate(
                loaded.model, **inputs, generation_config=settings, logits_processor=processors
            )
    logits = getattr(out, "logits", None) or ()
    if len(logits) != count or out.sequences.shape[1] < count:
        return None
    return Said(out.sequences[0, -count:].tolist(), torch.cat(logits).float(), out.sequences[:, :-count])


@contextmanager
def _bare(model: Any) -> Iterator[None]:
    """Put aside, for as long as it lasts, what a checkpoint has `generate` do to scores and replies.

    Penalties, forced and forbidden tokens, beams, guidance and quantised caches are not the model's own probabilities.
    `generate` takes from here whatever it isn't told; a language model within has settings of its own.
    """
    from transformers import GenerationConfig  # noqa: PLC0415

    kept = {part: own for part in model.modules() if (own := getattr(part, "generation_config", None)) is not None}
    try:
        for part, settings in kept.items():
            part.generation_config = bare = copy(settings)
            for name, usual in vars(GenerationConfig()).items():
                if name not in _KEPT:
                    setattr(bare, name, usual)
        yield
    finally:
        for part, settings in kept.items():
            part.generation_config = settings
