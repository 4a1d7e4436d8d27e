"""Vocabularies: what each token adds to a text, and which tokens continue it in a given way."""

import codecs
import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from facevalue.errors import ModelError

Ints = npt.NDArray[np.int64]

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_LAST = "\U0010ffff"


def split(raw: bytes) -> tuple[str, bytes]:
    r"""Return the whole characters of a text in UTF-8, and the bytes at its end that begin another one.

    >>> split("né".encode()[:2])
    ('n', b'\xc3')
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(raw)
    return text, decoder.getstate()[0]


class Index:
    """Texts of tokens in order, so that those which begin alike stand together, and their tokens, shape (n,).

    Several tokens may have the same text.
    """

    def __init__(self, texts: Iterable[tuple[int, str]]) -> None:
        pairs = sorted((text, token) for token, text in texts)
        self.texts = [text for text, _ in pairs]
        self.tokens: Ints = np.array([token for _, token in pairs], dtype=np.int64)

    def range(self, start: str, first: int, last: int) -> tuple[int, int]:
        """Return where, from `first` to before `last`, the texts that begin with a text begin and end."""
        begin = bisect_left(self.texts, start, first, last)
        return begin, bisect_left(self.texts, start + _LAST, begin, last)


class TokenVocabulary:
    """The tokens of a model as what they add to a reply; those that are no text, such as that of an image, add None."""

    def __init__(self, pieces: Sequence[bytes | None], stops: Iterable[int]) -> None:
        self.stops = frozenset(stops)
        self.pieces = tuple(None if token in self.stops else piece for token, piece in enumerate(pieces))
        self.size = len(self.pieces)
        self._split = [split(piece or b"") for piece in self.pieces]

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, size: int, stops: Iterable[int]) -> Self:
        """Read a fast tokenizer of transformers; what it lacks of the `size` tokens with a logit adds no text."""
        core = getattr(tokenizer, "backend_tokenizer", None)
        if core is None:
            raise ModelError(f"{type(tokenizer).__name__} is not a fast tokenizer: save one as tokenizer.json.")
        kinds = set(_kinds(json.loads(core.to_str())["decoder"]))
        if not kinds & {"ByteLevel", "ByteFallback", "Metaspace", "Replace"}:
            raise ModelError(f"{type(tokenizer).__name__} decodes by {', '.join(sorted(kinds)) or 'nothing'}; "
                             "byte-level and SentencePiece tokenizers can be read.")  # fmt: skip
        decode = _byte_level if "ByteLevel" in kinds else _sentencepiece
        pieces: list[bytes | None] = [None] * size
        for text, token in tokenizer.get_vocab().items():
            if token < size:
                pieces[token] = decode(text)
        for token, added in tokenizer.added_tokens_decoder.items():
            if token < size:
                pieces[token] = None if added.special else added.content.encode()
        return cls(pieces, stops)

    def text(self, token: int) -> str:
        """Return the whole characters that a token adds at the beginning of a text."""
        return self._split[token][0]

    def tail(self, token: int) -> bytes:
        """Return the bytes of a character that a token leaves open."""
        return self._split[token][1]

    def raw(self, tokens: Iterable[int]) -> bytes:
        """Return what tokens add one after the other."""
        return b"".join(self.pieces[token] or b"" for token in tokens)

    def tokens_of(self, piece: bytes) -> Sequence[int]:
        """Return the tokens that add just these bytes."""
        return self._by_piece.get(piece, ())

    @cached_property
    def _by_piece(self) -> dict[bytes, list[int]]:
        tokens: dict[bytes, list[int]] = {}
        for token, piece in enumerate(self.pieces):
            if piece:
                tokens.setdefault(piece, []).append(token)
        return tokens

    @cached_property
    def index(self) -> Index:
        """Whole characters of the tokens, in lower case (casefolded)."""
        return Index((token, text) for token, text in enumerate(self._folded_texts) if text)

    @cached_property
    def _folded_texts(self) -> list[str]:
        return [text.casefold() for text, _ in self._split]

    @cached_property
    def silent(self) -> Ints:
        """Tokens that are no text and don't end the reply."""
        silent = (token for token, piece in enumerate(self.pieces) if not piece and token not in self.stops)
        return np.fromiter(silent, dtype=np.int64)

    @cached_property
    def speaking(self) -> npt.NDArray[np.bool_]:
        """Mask of the tokens that are text, shape (size,)."""
        return np.array([bool(piece) for piece in self.pieces], dtype=np.bool_)

    @cached_property
    def unfinished_tokens(self) -> Ints:
        """Tokens that hold the beginning of a character and nothing before it."""
        unfinished = (token for token, (text, tail) in enumerate(self._split) if tail and not text)
        return np.fromiter(unfinished, dtype=np.int64)

    @cached_property
    def half(self) -> Ints:
        """Tokens that hold whole characters and the beginning of another one."""
        half = (token for token, (text, tail) in enumerate(self._split) if tail and text)
        return np.fromiter(half, dtype=np.int64)

    @cached_property
    def completing(self) -> Ints:
        """Tokens that begin in the middle of a character."""
        middle = (token for token, piece in enumerate(self.pieces) if piece and 0x80 <= piece[0] < 0xC0)
        return np.fromiter(middle, dtype=np.int64)

    @cached_property
    def words(self) -> Ints:
        """Tokens that begin with a letter or digit."""
        words = (token for token, text in enumerate(self._folded_texts) if text and text[0].isalnum())
        return np.fromiter(words, dtype=np.int64)

    @cached_property
    def others(self) -> Ints:
        """Tokens that begin with another whole character."""
        others = (token for token, text in enumerate(self._folded_texts) if text and not text[0].isalnum())
        return np.fromiter(others, dtype=np.int64)


def _kinds(decoder: Any) -> Iterable[str]:
    if isinstance(decoder, dict):
        yield str(decoder.get("type"))
        for inner in decoder.get("decoders", ()):
            yield from _kinds(inner)


def _byte_level(token: str) -> bytes:
    values = [BYTES.get(character) for character in token]
    return token.encode() if None in values else bytes(value for value in values if value is not None)


def _sentencepiece(token: str) -> bytes:
    byte = _BYTE.fullmatch(token)
    return bytes([int(byte[1], 16)]) if byte else token.replace("\u2581", " ").encode()


def _byte_alphabet() -> dict[str, int]:
    """Bytes as byte-level tokenizers write them: printable Latin-1 as itself, the others from U+0100 on, in order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(others)}


BYTES = _byte_alphabet()
"""Bytes by the characters that stand for them."""
