"""Tokenizers of a pipeline: the part of a prompt that they read, and the part that they would cut.

Pipelines shorten a text that is too long and go on, with a warning at most. How long is too long differs by tokenizer,
family and template; so nothing is computed beforehand: each tokenizer is watched while the pipeline itself calls it,
and the call ends before the first step where a prompt was cut.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from facevalue.printable import printable

_UNLIMITED = 10**6  # what says that there is no limit is larger
_SHOWN = 160  # characters


class PromptReading(NamedTuple):
    """A text that a tokenizer was given, template included, and the end that it did not take."""

    tokenizer: str
    text: str
    tokens: int
    excess: str

    def about(self, prompt: str) -> bool:
        """Return whether the text contains a prompt; case and blanks around it are ignored: pipelines change them."""
        return prompt.casefold().strip() in self.text.casefold()


class CutPromptError(Exception):
    """A prompt that no encoder of a pipeline would have read to its end: which ones, with the reason."""

    def __init__(self, reasons: dict[int, str]) -> None:
        super().__init__(*reasons.values())
        self.reasons = reasons


class PromptReaders:
    """The tokenizers of a pipeline, watched.

    A prompt that at least one encoder reads whole is not cut: FLUX and SD3 read its first 77 tokens with CLIP for the
    style of the whole, and all of it with T5. What a single encoder did not read is in `partly`.
    """

    def __init__(self, pipeline: Any, denoisers: Sequence[Any]) -> None:
        self._readings: list[PromptReading] = []
        self._prompts: Sequence[str] = ()
        self._checked = True
        self._slice: int | None = None
        self._tokenizers: dict[str, Any] = {}
        for name, component in pipeline.components.items():
            tokenizer = getattr(component, "tokenizer", component)
            if hasattr(tokenizer, "num_special_tokens_to_add"):
                self._tokenizers[name] = tokenizer
                _watch(tokenizer, name, self._readings)
        for denoiser in denoisers:
            denoiser.register_forward_pre_hook(self._before_a_step)

    def watch(self, prompts: Sequence[str], slice_length: int | None) -> None:
        """Take prompts for those of the next call; `slice_length`: tokens at which it cuts what it has encoded."""
        self._readings.clear()
        self._prompts, self._slice, self._checked = prompts, slice_length, False

    def check(self) -> None:
        """Raise a `CutPromptError` if a prompt of this call was cut."""
        self._checked = True
        reasons = {place: reason for place, prompt in enumerate(self._prompts) if (reason := self._reason(prompt))}
        if reasons:
            raise CutPromptError(reasons)

    def partly(self, prompt: str) -> str:
        """Return which encoders did not read a prompt to its end, and what they left out; empty if none."""
        excesses = {reading.tokenizer: reading.excess for reading in self._about(prompt) if reading.excess}
        return "; ".join(f"{name} left out {_quote_prompt(excess)}" for name, excess in excesses.items())

    def tokens(self, prompt: str) -> int | None:
        """Return how many tokens the encoder with the longest text read of a prompt; None if none did."""
        return max((reading.tokens for reading in self._about(prompt)), default=None)

    def rewritten_prompt(self, prompt: str, negative: str, *, expected: bool) -> str | None:
        """Return the text that was read in a prompt's place, the longest of several; None if there is none.

        `negative`: the negative prompt. `expected`: whether there may be one although the prompt was read as well, by
        the model that wrote it anew.
        """
        if not expected and any(reading.about(prompt) for reading in self._readings):
            return None
        texts = [reading.text for reading in self._readings if not reading.about(prompt)]
        stray = ("", negative.casefold().strip())
        return max((text for text in texts if text.casefold().strip() not in stray), key=len, default=None)

    def _before_a_step(self, *_: object) -> None:
        if not self._checked:
            self.check()

    def _about(self, prompt: str) -> list[PromptReading]:
        """Return the readings of a prompt: of prompts that begin alike, a text is about the longest that it has."""
        longer = [text for text in self._prompts if len(text) > len(prompt)]
        return [r for r in self._readings if r.about(prompt) and not any(r.about(text) for text in longer)]

    def _reason(self, prompt: str) -> str:
        """Return why a prompt cannot be drawn from, as a sentence's beginning; empty if it is read whole."""
        stray = [reading for reading in self._readings if not any(map(reading.about, self._prompts))]
        for name, readings in (("", self._about(prompt)), ("negative or rewritten ", stray)):
            # A tokenizer that cuts may be asked again without a limit, for a warning.
            cuts = [reading for reading in readings if reading.excess]
            if cuts and {reading.tokenizer for reading in readings} == {reading.tokenizer for reading in cuts}:
                longest = max(cuts, key=lambda reading: reading.tokens)
                return (
                    f"The {name}prompt is too long: its encoder reads {longest.tokens} tokens and would cut "
                    f"{_quote_prompt(longest.excess)}"
                )
        if self._slice is None:
            return ""
        for tokenizer in self._tokenizers.values():
            ids = _ids(tokenizer, prompt)
            if len(ids) > self._slice:
                excess = tokenizer.decode(ids[self._slice :])
                excess_text = _quote_prompt(excess)
                return f"The prompt is too long: the pipeline takes {self._slice} tokens and would cut {excess_text}"
        return ""


def _watch(tokenizer: Any, name: str, readings: list[PromptReading]) -> None:
    """Have a tokenizer note what it is given. It becomes one of a class of its own, as calls are looked up there."""
    kind = type(tokenizer)

    def noting_call(self: Any, text: Any = None, *args: Any, **options: Any) -> Any:
        for single in [text] if isinstance(text, str) else text or ():
            if isinstance(single, str):
                readings.append(_reading(self, name, single, options))
        return kind.__call__(self, text, *args, **options)

    tokenizer.__class__ = type(kind.__name__, (kind,), {"__call__": noting_call, "__module__": kind.__module__})


def _reading(tokenizer: Any, name: str, text: str, options: dict[str, Any]) -> PromptReading:
    ids = _ids(tokenizer, text)
    special = tokenizer.num_special_tokens_to_add() if options.get("add_special_tokens", True) else 0
    limit = options.get("max_length") or tokenizer.model_max_length
    room = limit - special if options.get("truncation") and limit < _UNLIMITED else len(ids)
    if len(ids) <= room:
        return PromptReading(name, text, len(ids) + special, "")
    excess = ids[:-room] if tokenizer.truncation_side == "left" else ids[room:]
    return PromptReading(name, text, limit, tokenizer.decode(excess))


def _ids(tokenizer: Any, text: str) -> list[int]:
    """Return the tokens of a text alone."""
    plain = type(tokenizer).__mro__[1].__call__
    ids: list[int] = plain(tokenizer, text, add_special_tokens=False, truncation=False, verbose=False)["input_ids"]
    return ids


def _quote_prompt(text: str) -> str:
    return repr(printable(text.strip()[:_SHOWN])) + (" and more" if len(text.strip()) > _SHOWN else "")
