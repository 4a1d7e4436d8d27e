"""Replies held to the options, read token by token: what may come next, and what a reply can still become."""

import sys
from collections.abc import Sequence

import numpy as np

from facevalue.errors import DataError
from facevalue.models.hf._reading import OPEN
from facevalue.models.hf.options import NONE, OptionReader, OptionStep
from facevalue.models.hf.vocabulary import TokenVocabulary
from facevalue.types import Option


class ConstrainedReader(OptionReader):
    """Reads replies that can only be one of the options, as `facevalue.models.hf._constrain` holds drawn ones to them.

    A reply is an option's label, or the text of one without, with or without a blank before it, and nothing else. It is
    decided as soon as it can become one option only and the tokens left suffice for that. Fewer beginnings are possible
    than of `OptionReader`, so that rarer ones can be followed (`least`).
    """

    least, alone = 1e-6, True

    def __init__(self, options: Sequence[Option], vocabulary: TokenVocabulary) -> None:
        super().__init__(options, vocabulary)
        self._options: dict[bytes, int] = {}
        for number, option in enumerate(options):
            text = (option.label or option.text).strip()
            if self._options.setdefault(text.encode(), number) != number:
                raise DataError(
                    f"Option {number + 1} of {len(options)} ({text!r}) is written like another one or empty."
                )
            self._options[f" {text}".encode()] = number
        self._longest = max(map(len, self._options))

    def verdict(self, raw: bytes, *, ended: bool = False) -> int | None:
        """Return which option a reply is, `OPEN`, or None if it is none; `ended` as of `OptionReader`."""
        return self._verdict(raw, 0 if ended else sys.maxsize)

    def step(self, raw: bytes, left: int = sys.maxsize) -> OptionStep:
        """Return what each token that may come makes of a reply that is still open; parameters as of `OptionReader`."""
        key = raw, min(left, self._longest)
        if key not in self._steps:
            self._steps[key] = self._next(raw, left)
        return self._steps[key]

    def _next(self, raw: bytes, left: int) -> OptionStep:
        vocabulary = self._vocabulary
        rests = {text[len(raw) :] for text in self._options if text.startswith(raw)}
        allowed = {token for rest in rests for n in range(1, len(rest) + 1) for token in vocabulary.tokens_of(rest[:n])}
        verdicts: dict[int, int | None] = {}
        for token in allowed:
            verdicts[token] = self._verdict(raw + vocabulary.raw([token]), left)
        if raw in self._options:
            verdicts |= dict.fromkeys(vocabulary.stops, self._options[raw])
        tokens = sorted(verdicts)
        numbers = [NONE if (verdict := verdicts[token]) is None else verdict for token in tokens]
        return OptionStep(np.array(tokens, dtype=np.int64), np.array(numbers, dtype=np.int16))

    def _verdict(self, raw: bytes, left: int) -> int | None:
        """Return what a reply is or can only become with so many more tokens."""
        longer = [text for text in self._options if text.startswith(raw)]
        numbers = {self._options[text] for text in longer}
        if len(numbers) == 1 and left >= max(map(len, longer)) - len(raw):
            return numbers.pop()
        if not numbers:
            return None
        return OPEN if left else super().verdict(raw, ended=True)
