"""Tokenizer of the reference model in plain Python: byte-level BPE, read from its `tokenizer.json`.

Fixed sentences and marks of the conversation are tokens of their own and are looked for first; what is left is cut into
words, digits and marks, and spelled out in the learned pieces. A test compares it with the library that wrote the file.
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from facevalue.errors import ModelError
from facevalue.models.hf.vocabulary import BYTES

_WORD = 64
"""Characters of the longest pieces that are remembered."""


class Tokens:
    """Turns texts into token ids and back, as a `tokenizer.json` says; the `longest` one has so many characters."""

    def __init__(self, path: Path) -> None:
        try:
            settings = json.loads(path.read_text(encoding="utf-8"))
            self._ids: dict[str, int] = settings["model"]["vocab"]
            merges = [tuple(pair) for pair in settings["model"]["merges"]]
            self._added = {entry["content"]: entry["id"] for entry in settings["added_tokens"]}
            self._special = {entry["id"] for entry in settings["added_tokens"] if entry["special"]}
            pattern = settings["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            raise ModelError(f"{path.name} is not a tokenizer of the reference model: {error}.") from error
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        longest = sorted(self._added, key=len, reverse=True)
        self._whole = _any_of(longest)
        self._sentences = _any_of([text for text in longest if self._added[text] not in self._special])
        self._pieces = re.compile(pattern)
        self._bytes = {byte: character for character, byte in BYTES.items()}
        texts = self._ids | self._added
        self._texts = {number: text for text, number in texts.items()}
        self.size = max(texts.values()) + 1
        self.longest = max(map(len, texts))
        self._known = lru_cache(maxsize=65_536)(self._spelled)

    def id(self, text: str) -> int:
        """Return the id of a mark such as "<end>"."""
        return self._added[text]

    def plain(self, text: str) -> tuple[int, ...]:
        """Return the tokens of what people wrote: marks of the conversation are spelled out, and mark nothing."""
        return self._cut(self._sentences, text)

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the tokens of a text as the library does, marks of the conversation included."""
        return self._cut(self._whole, text)

    def _cut(self, at: re.Pattern[str], text: str) -> tuple[int, ...]:
        out: list[int] = []
        for number, fragment in enumerate(at.split(text)):
            if number % 2:
                out.append(self._added[fragment])
            else:
                for piece in self._pieces.findall(fragment):
                    out += self._known(piece) if len(piece) <= _WORD else self._spelled(piece)
        return tuple(out)

    def piece(self, token: int) -> bytes | None:
        """Return the bytes that a token adds to a text; None for marks."""
        text = self._texts.get(token)
        if text is None or token in self._special:
            return None
        if text in self._added:
            return text.encode()
        codes = BYTES
        return bytes(codes[character] for character in text)

    def _spelled(self, piece: str) -> tuple[int, ...]:
        """Merge the bytes of a piece, the pair that was learned first before all others, wherever it stands."""
        pieces = [self._bytes[byte] for byte in piece.encode(errors="replace")]
        while len(pieces) > 1:
            best = min(pairwise(pieces), key=lambda pair: self._ranks.get(pair, len(self._ranks)))
            if best not in self._ranks:
                break
            merged, at = [], 0
            while at < len(pieces):
                is_best = tuple(pieces[at : at + 2]) == best
                merged.append("".join(best) if is_best else pieces[at])
                at += 1 + is_best
            pieces = merged
        return tuple(self._ids[fragment] for fragment in pieces)


def _any_of(texts: Sequence[str]) -> re.Pattern[str]:
    return re.compile("(" + "|".join(map(re.escape, texts)) + ")")
