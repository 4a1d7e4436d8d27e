"""Replies that can only be one of a few texts, held to them by a grammar."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from facevalue.errors import DataError, DependencyError, ModelError
from facevalue.models.hf.vocabulary import TokenVocabulary


class Constraint:
    """What one reply may go on with.

    `matcher` is the grammar in its first state; `size` says how many tokens the model gives a logit to.
    """

    def __init__(self, matcher: Any, size: int) -> None:
        self._matcher = matcher
        self._size = size

    def allowed(self) -> npt.NDArray[np.bool_]:
        """Return which tokens may come next, shape (size,); the end of the reply is among them where it may end."""
        bits = np.unpackbits(np.frombuffer(self._matcher.compute_bitmask(), np.uint8), bitorder="little")
        allowed = np.zeros(self._size, dtype=np.bool_)
        shared = min(self._size, bits.size)
        allowed[:shared] = bits[:shared]
        return allowed

    def take(self, token: int) -> None:
        """Go on with a token."""
        if not self._matcher.consume_token(token):
            raise ModelError(f"The grammar doesn't take token {token}: {self._matcher.get_error()}")

    @property
    def complete(self) -> bool:
        """Whether the text is whole and nothing more may follow."""
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
        self._first = lru_cache(maxsize=1024)(self._compiled)

    def start(self, texts: Sequence[str]) -> Constraint:
        """Hold a new reply to one of these texts, with or without a blank before it.

        Many models begin every reply with a blank; to forbid it would make them say what they don't say.
        """
        return Constraint(self._first(tuple(texts)).deep_copy(), self._size)

    def _compiled(self, texts: tuple[str, ...]) -> Any:
        if not texts or not all(text.strip() for text in texts):
            raise DataError("A reply cannot be held to no text: an option is empty, or there is none.")
        choices = "|".join(_escaped(text.strip()) for text in texts)
        matcher = self._type(self._tokenizer, self._type.grammar_from_regex(f" ?({choices})"))
        if matcher.is_error():
            raise ModelError(f"No grammar holds a reply to {', '.join(map(repr, texts))}: {matcher.get_error()}")
        return matcher


def _escaped(text: str) -> str:
    return re.sub(r"[\\.+*?()|\[\]{}^$#&\-~/]", r"\\\g<0>", text)
