"""Which replies are which option: what each token makes of a reply that has begun."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from facevalue.errors import DataError
from facevalue.models._toplogprobs import _OPEN, _OPENING, _spellings, _verdict
from facevalue.models.hf.vocabulary import Ints, Vocabulary, split
from facevalue.types import Option

OPEN = _OPEN
"""Not decided yet; options are numbered from 0."""
OPENING = _OPENING
"""What may stand before an answer without changing it."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What the next token makes of a reply, where it makes it an option or leaves it open.

    Attributes
    ----------
    tokens:
        Token ids, shape (n,). With every other one the reply is no option.
    verdicts:
        Shape (n,): which option it is then, or `OPEN`.
    """

    tokens: Ints
    verdicts: npt.NDArray[np.int16]


class OptionReader:
    """Reads replies to one set of options, token by token, as `facevalue.models._toplogprobs` reads them.

    An option labelled "(a)" with the text "competent" is spelt "(a)", "(a", "a" or "competent", in either case, after
    blanks, quotes or asterisks, and ends at a word boundary. A reply is decided by the first token after which it can
    only be one option, or by its end: with "A" and "AB" among the options, a reply that begins with "A" is open, and is
    the option "A" if it goes on with anything but a letter or digit.

    Parameters
    ----------
    options:
        The question's options.
    vocabulary:
        The model's tokens.

    Raises
    ------
    DataError
        There is no option; or one is empty, has neither letter nor digit, or cannot be told from another.
    """

    def __init__(self, options: Sequence[Option], vocabulary: Vocabulary) -> None:
        self._spellings = [_spellings(option) for option in options]
        _check(options, self._spellings)
        self._vocabulary = vocabulary
        self._steps: dict[bytes, Step] = {}
        all_spellings = "".join(spelling for each in self._spellings for spelling in each)
        self._word = next(c for c in "0123456789\u4e00\u4e01" if c not in all_spellings)
        self._mark = next(c for c in "\x01\x02\x03" if c not in all_spellings)

    def __len__(self) -> int:
        return len(self._spellings)

    def verdict(self, raw: bytes, *, ended: bool = False) -> int | None:
        """Return which option a reply is, `OPEN`, or None if it is none."""
        return _verdict(split(raw)[0], self._spellings, final=ended)

    def step(self, raw: bytes) -> Step:
        """Return what each token makes of a reply that is still open.

        Parameters
        ----------
        raw:
            The reply so far, in UTF-8.
        """
        if raw not in self._steps:
            self._steps[raw] = self._step(raw)
        return self._steps[raw]

    def _step(self, raw: bytes) -> Step:
        vocabulary = self._vocabulary
        text, tail = split(raw)
        verdicts: dict[int, int | None] = {}
        if tail:
            self._after_half_a_character(verdicts, raw, text)
        else:
            self._after_text(verdicts, text)
        verdicts |= dict.fromkeys(vocabulary.silent.tolist(), OPEN)
        verdicts |= dict.fromkeys(vocabulary.stops, _verdict(text, self._spellings, final=True))
        kept = [(token, verdict) for token, verdict in verdicts.items() if verdict is not None]
        return Step(np.array([t for t, _ in kept], dtype=np.int64), np.array([v for _, v in kept], dtype=np.int16))

    def _after_text(self, verdicts: dict[int, int | None], text: str) -> None:
        vocabulary = self._vocabulary
        said = text.lstrip(OPENING).casefold()
        if said:
            for tokens, character in ((vocabulary.words, self._word), (vocabulary.others, self._mark)):
                verdict = _verdict(text + character, self._spellings, final=False)
                if verdict is not None and verdict != OPEN:
                    verdicts |= dict.fromkeys(tokens.tolist(), verdict)
        else:
            verdicts |= dict.fromkeys(vocabulary.blank.tolist(), OPEN)
        index = vocabulary.going_on if said else vocabulary.beginning
        remainders = {s[len(said) :] for each in self._spellings for s in each if s.startswith(said) and s != said}
        boundary = bool(verdicts) and bool(said)  # an unfinished character may be what ends a word
        for remainder in remainders:
            for token in index.related(remainder):
                verdict = _verdict(text + vocabulary.text(token), self._spellings, final=False)
                verdicts[token] = self._completable(verdict, text + vocabulary.text(token), vocabulary.tail(token))
        characters = self._next_characters(said)
        for token in vocabulary.unfinished.tolist():
            if said and vocabulary.text(token):
                continue  # a blank in a word: one of `others`
            if boundary or any(character.startswith(vocabulary.tail(token)) for character in characters):
                verdicts[token] = OPEN

    def _after_half_a_character(self, verdicts: dict[int, int | None], raw: bytes, text: str) -> None:
        vocabulary = self._vocabulary
        broken = _verdict(text + "\N{REPLACEMENT CHARACTER}", self._spellings, final=False)
        if broken is not None and broken != OPEN:
            everything = np.concatenate([vocabulary.words, vocabulary.others, vocabulary.unfinished])
            verdicts |= dict.fromkeys(everything.tolist(), broken)
        for token in vocabulary.completing.tolist():
            longer, tail = split(raw + (vocabulary.pieces[token] or b""))
            verdicts[token] = self._completable(_verdict(longer, self._spellings, final=False), longer, tail)

    def _completable(self, verdict: int | None, text: str, tail: bytes) -> int | None:
        """Return a verdict; where it is open and half a character has been said, None if no character fits."""
        if verdict != OPEN or not tail:
            return verdict
        characters = self._next_characters(text.lstrip(OPENING).casefold())
        return OPEN if any(character.startswith(tail) for character in characters) else None

    def _next_characters(self, said: str) -> set[bytes]:
        """Return the characters that may come next, in UTF-8."""
        firsts = {s[len(said)] for each in self._spellings for s in each if s.startswith(said) and s != said}
        characters = firsts | {c.upper() for c in firsts} | (set() if said else set(OPENING))
        return {character.encode() for character in characters if not character.isascii()}


def _check(options: Sequence[Option], spellings: Sequence[tuple[str, ...]]) -> None:
    if not options:
        raise DataError("The question has no options, so there are no probabilities of options.")
    for number, (option, own) in enumerate(zip(options, spellings, strict=True), 1):
        name = f"Option {number} of {len(options)} ({(option.label or option.text)!r})"
        if not own:
            raise DataError(f"Option {number} of {len(options)} is empty: give it a label or a text.")
        if not any(c.isalnum() for spelling in own for c in spelling):
            raise DataError(f"{name} has neither letter nor digit, so no reply can be told to be it.")
        others = {spelling for other in spellings for spelling in other if other is not own}
        if set(own) <= others:
            raise DataError(f"{name} is spelt like another option, so no reply can be told to be it.")


def written(options: Sequence[Option], tokenizer: Any, vocabulary: Vocabulary) -> list[list[tuple[int, ...]]]:
    """Return the tokens of each option as a reply would be written: its label, or its text if it has none.

    A tokenizer may put a blank before the first word of a text by itself, and a model that was trained so begins its
    reply with one; another joins the first letters to what stands before. So the option is tokenised after a line break
    and after a colon, with and without a blank, and what came before is cut off. A cut that doesn't leave the option's
    own bytes is thrown away: its tokens would run across the boundary.

    Parameters
    ----------
    options:
        The question's options.
    tokenizer, vocabulary:
        The model's.

    Returns
    -------
    list
        For each option one or two different ways to write it: without a blank before it, and with one.

    Raises
    ------
    DataError
        An option cannot be written in this vocabulary.
    """
    ways = []
    for option in options:
        text = option.label or option.text
        found = [
            way for target in (text.strip(), " " + text.strip()) if (way := _tokens(target, tokenizer, vocabulary))
        ]
        if not found:
            raise DataError(f"The option {text!r} cannot be written in the model's vocabulary.")
        ways.append(list(dict.fromkeys(found)))
    return ways


def _tokens(text: str, tokenizer: Any, vocabulary: Vocabulary) -> tuple[int, ...] | None:
    for before in ("\n", ":", ""):
        head = tokenizer(before, add_special_tokens=False)["input_ids"] if before else []
        whole = tokenizer(before + text, add_special_tokens=False)["input_ids"]
        tokens = tuple(whole[len(head) :])
        raw = [None if token >= vocabulary.size else vocabulary.pieces[token] for token in tokens]
        if whole[: len(head)] == head and None not in raw and b"".join(filter(None, raw)) == text.encode():
            return tokens
    return None
