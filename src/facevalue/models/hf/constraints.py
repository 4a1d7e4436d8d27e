"""Replies held to the options, read token by token: what may come next, and what a reply can still become."""

import re
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from facevalue.errors import DataError, DependencyError, ModelError
from facevalue.models.hf.options import NONE, OPEN, OptionReader, OptionStep
from facevalue.models.hf.vocabulary import TokenVocabulary
from facevalue.types import Option

# Replies that can only be one of a few texts, held to them by a grammar.


class Constraint:
    """Constraint on the tokens with which one reply may go on.

    `matcher` is the grammar in its first state; `size` says how many tokens the model gives a logit to.
    """

    def __init__(self, matcher: Any, size: int) -> None:
        self._matcher = matcher
        self._size = size

    def allowed_tokens(self) -> npt.NDArray[np.bool_]:
        """Return which tokens may come next, shape (size,); the end of the reply is among them where it may end."""
        bits = np.unpackbits(np.frombuffer(self._matcher.compute_bitmask(), np.uint8), bitorder="little")
        allowed = np.zeros(self._size, dtype=np.bool_)
        shared = min(self._size, bits.size)
        allowed[:shared] = bits[:shared]
        return allowed

    def take(self, token: int) -> None:
        """Append a token."""
        if not self._matcher.consume_token(token):
            raise ModelError(f"The grammar doesn't take token {token}: {self._matcher.get_error()}")

    @property
    def complete(self) -> bool:
        """True if the text is complete and nothing more may follow."""
        return bool(self._matcher.is_stopped())


class _Bytes:
    """A vocabulary as llguidance wants it."""

    bos_token_id = None

    def __init__(self, vocabulary: TokenVocabulary) -> None:
        self.eos_token_id = min(vocabulary.stops)
        self.tokens = [piece or b"<|%d|>" % token for token, piece in enumerate(vocabulary.pieces)]
        self.special_token_ids = [token for token, piece in enumerate(vocabulary.pieces) if not piece]
        self._by_piece = {piece: token for token, piece in enumerate(vocabulary.pieces) if piece}
        self._longest = max(map(len, self._by_piece), default=0)

    def __call__(self, text: bytes) -> list[int]:
        """Take the longest token that fits, again and again; what no token begins with is left out."""
        tokens, at = [], 0
        while at < len(text):
            ends = range(min(len(text), at + self._longest), at, -1)
            end = next((end for end in ends if text[at:end] in self._by_piece), None)
            if end is not None:
                tokens.append(self._by_piece[text[at:end]])
            at = end or at + 1
        return tokens


class Constraints:
    """Grammars over a vocabulary; a `DependencyError` if llguidance is not installed."""

    def __init__(self, vocabulary: TokenVocabulary) -> None:
        try:
            from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper  # noqa: PLC0415 - for constrained replies
        except ImportError as error:
            raise DependencyError("llguidance", "hf") from error
        wrapped = TokenizerWrapper(_Bytes(vocabulary))
        self._type = LLMatcher
        self._tokenizer = LLTokenizer(wrapped, n_vocab=vocabulary.size, eos_token=sorted(vocabulary.stops))
        self._size = vocabulary.size
        self._first = lru_cache(maxsize=1024)(self._compile_grammar)

    def start(self, texts: Sequence[str]) -> Constraint:
        """Hold a new reply to one of these texts, with or without a blank before it.

        Many models begin every reply with a blank; to forbid it would make them say what they don't say.
        """
        return Constraint(self._first(tuple(texts)).deep_copy(), self._size)

    def _compile_grammar(self, texts: tuple[str, ...]) -> Any:
        if not texts or not all(text.strip() for text in texts):
            raise DataError("A reply cannot be held to no text: an option is empty, or there is none.")
        choices = "|".join(_escape_text(text.strip()) for text in texts)
        matcher = self._type(self._tokenizer, self._type.grammar_from_regex(f" ?({choices})"))
        if matcher.is_error():
            raise ModelError(f"No grammar holds a reply to {', '.join(map(repr, texts))}: {matcher.get_error()}")
        return matcher


def _escape_text(text: str) -> str:
    return re.sub(r"[\\.+*?()|\[\]{}^$#&\-~/]", r"\\\g<0>", text)


class ConstrainedReader(OptionReader):
    """Reader of replies restricted to the options, as `facevalue.models.hf.constraints` restricts drawn ones.

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
