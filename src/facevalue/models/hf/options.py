"""Options as texts, which a complete reply matches, and as token sequences: what each token makes of a partial one."""

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from facevalue.errors import DataError
from facevalue.models._toplogprobs import _OPEN, _OPENING, _spellings
from facevalue.models.hf.vocabulary import Ints, TokenVocabulary, split
from facevalue.types import Option

OPEN = _OPEN
"""Not decided yet; options are numbered from 0."""
OPENING = _OPENING
"""What may stand before an answer without changing it."""

_ALONE = "()[]{}<>*_`'\"‘’“”.,:;!$#-=\\ \n\t\r"
"""What may stand around a letter that is the whole reply."""
_POINTS = ".,:"
_COMPOUNDS = ("looking", "seeming", "appearing")
"""What a hyphen may join to an option without making another word of it."""

_CLOSED = re.compile(r"""[ \n\t\r]{0,2}(?:[.:]?[)\]}>"'`*_\\‘’“”]|[.,:]\W)""")
_AT_LINE_START = re.compile(r"\)|[ \n\t\r]{0,2}(?:[.,:;!]\W|\n|\r|[–—])|[ \t]--?[ \n\t\r]")


@dataclass(frozen=True, slots=True)
class TokenSpelling:
    """One way to say an option, in lower case.

    A letter or a number (`letter`) is an answer only where none is a word of a sentence.
    """

    text: str
    letter: bool

    def stands(self, rest: str, before: str) -> bool | None:
        """Tell whether what follows leaves this an answer after blanks, quotes, Markdown; None if not known yet."""
        if not self.text[-1].isalnum() and self.text[-1] not in _POINTS:
            return True
        if not rest:
            return None
        if self.text[-1] in _POINTS:  # "1." and not "1.5"
            return not rest[0].isalnum()
        if not self.letter:
            return _word_ends(rest)
        if rest[0].isalnum():
            return False
        bare = self.text[0].isalnum()
        opened = not bare or bool(before.strip())
        if (opened and _CLOSED.match(rest)) or (bare and not before.strip(" \t\r\n*") and _AT_LINE_START.match(rest)):
            return True
        return False if rest.strip(_ALONE) else None

    def stands_at_end(self, rest: str) -> bool:
        """Tell whether it is an answer if the reply ends where `stands` didn't know yet."""
        return self.letter or rest in ("", "-")


def _word_ends(rest: str) -> bool | None:
    if rest[0] == "?" or rest[0].isalnum():
        return False
    if rest[0] != "-":
        return True
    joined = rest[1:]
    if joined and not joined[0].isalnum():
        return True
    if joined.startswith(_COMPOUNDS):
        return True
    return None if any(word.startswith(joined) for word in _COMPOUNDS) else False


def spellings_of(options: Sequence[Option]) -> list[tuple[TokenSpelling, ...]]:
    """Return the ways to say each option."""
    return [tuple(TokenSpelling(text, _is_letter(text)) for text in _spellings(option)) for option in options]


def _is_letter(text: str) -> bool:
    core = "".join(c for c in text if c.isalnum())
    return len(core) == 1 or core.isdigit()


def match_reply(text: str, spellings: Sequence[tuple[TokenSpelling, ...]], *, ended: bool) -> int | None:
    """Return the option that a reply beginning with a text is, None if it is none, or `OPEN` unless it `ended` here.

    Once a text is decided, whatever follows it changes nothing, so that the tokens of a reply don't matter.
    """
    folded = text.casefold()
    reply = folded.lstrip(OPENING)
    before = folded[: len(folded) - len(reply)]
    longest, matching, going = 0, set[int](), set[int]()
    for number, spellings_of_option in enumerate(spellings):
        for spelling in spellings_of_option:
            length = len(spelling.text)
            if not reply.startswith(spelling.text):
                if spelling.text.startswith(reply):
                    going.add(number)
                continue
            stands = spelling.stands(reply[length:], before)
            if stands is None and not ended:
                going.add(number)
            elif stands or (stands is None and spelling.stands_at_end(reply[length:])):
                matching = {number} | (matching if length == longest else set()) if length >= longest else matching
                longest = max(longest, length)
    if not ended and going - matching:
        return OPEN
    if len(matching) == 1:
        return matching.pop()
    return OPEN if going and not ended else None


SPECIAL = frozenset("".join((OPENING, _ALONE, "–—?", *_COMPOUNDS)))
"""Characters that are told from others of their kind, besides those of the spellings."""


__all__ = ["NONE", "OPEN", "OPENING", "OptionReader", "OptionStep", "tokenise_options"]

NONE = -2
"""No option."""
_FEW = 256
"""So many texts of tokens are looked at one by one rather than by the characters that matter."""


@dataclass(frozen=True, eq=False)
class OptionStep:
    """Effect of the next token on a reply: ids, shape (n,), and for each the option it then is, `OPEN` or `NONE`.

    With every other token the reply is no option, or cannot go on with it.
    """

    tokens: Ints
    verdicts: npt.NDArray[np.int16]

    @cached_property
    def going(self) -> frozenset[int]:
        """Tokens after which the reply is open."""
        return frozenset(self.tokens[self.verdicts == OPEN].tolist())


class OptionReader:
    """Reader of replies to one set of options, token by token, until each is an option, none, or at its end.

    An option labelled "(a)" with the text "competent" is spelt "(a)", "(a", "a" or "competent", in either case, after
    blanks, quotes or asterisks. It is said when a spelling is whole and its end is known: one that ends in a bracket at
    once; a word with the next character that is neither letter nor digit, or with the reply's end; a bare letter or
    number only where `facevalue.answers.parse` takes it for an answer: before the end, a line break, punctuation or a
    bracket, but not before a blank and a word ("A person"). With "A" and "AB" among the options, a reply that begins
    with "A" is open. How a text is cut into tokens changes nothing.

    A beginning of a reply that is rarer than `least` and not decided yet need not be followed; `alone` says that the
    tokens of a step are the only ones that may come.
    """

    least, alone = 1e-4, False

    def __init__(self, options: Sequence[Option], vocabulary: TokenVocabulary) -> None:
        self._spellings = spellings_of(options)
        _check(options, self._spellings)
        self._vocabulary = vocabulary
        self._steps: dict[tuple[bytes, int], OptionStep] = {}
        self._after: dict[tuple[int, ...], int | None] = {}
        self._special = SPECIAL.union(*(spelling.text for spelled in self._spellings for spelling in spelled))
        self._word = next(c for c in "0123456789\u4e00\u4e01" if c not in self._special)
        self._mark = next(c for c in "\x01\x02\x03" if c not in self._special)
        self._wide = {c for s in self._special for c in (s, s.upper()) if not c.isascii()}
        self._first = frozenset(spelling.text[0] for spelled in self._spellings for spelling in spelled)

    def __len__(self) -> int:
        return len(self._spellings)

    def verdict(self, raw: bytes, *, ended: bool = False) -> int | None:
        """Return which option a reply is, `OPEN`, or None; nothing follows where it `ended` or was cut off."""
        text, tail = split(raw)
        return self._read(text + "\N{REPLACEMENT CHARACTER}" if ended and tail else text, ended=ended)

    def after(self, tokens: Iterable[int]) -> int | None:
        """Return which option a reply of these tokens is as far as it goes, `OPEN`, or None."""
        key = tuple(tokens)
        if key not in self._after:
            self._after[key] = self.verdict(self._vocabulary.raw(key))
        return self._after[key]

    def going(self, tokens: Iterable[int], left: int) -> frozenset[int]:
        """Return the tokens after which a reply that is still open is so yet, with so many more after them."""
        return self.step(self._vocabulary.raw(tokens), left).going

    def step(self, raw: bytes, left: int = sys.maxsize) -> OptionStep:
        """Return what each token makes of a reply that is still open and may have so many more after it.

        Where there is none left, the reply is cut off, and is what a reader would make of what is there.
        """
        key = raw, left > 0
        if key not in self._steps:
            step = self._step(raw)
            self._steps[key] = step if left > 0 else self._cut(raw, step)
        return self._steps[key]

    def _read(self, text: str, *, ended: bool = False) -> int | None:
        reply = text.casefold().lstrip(OPENING)
        if reply and reply[0] not in self._first:
            return None  # most of what could be said: there are thousands of such questions for a step
        return match_reply(text, self._spellings, ended=ended)

    def _step(self, raw: bytes) -> OptionStep:
        vocabulary = self._vocabulary
        text, tail = split(raw)
        verdicts = np.full(vocabulary.size, NONE, dtype=np.int16)
        if tail:
            self._after_half_a_character(verdicts, raw, text)
        else:
            self._after_text(verdicts, text)
        verdicts[vocabulary.silent] = OPEN
        verdicts[list(vocabulary.stops)] = _number(self.verdict(raw, ended=True))
        tokens = np.flatnonzero(verdicts != NONE)
        return OptionStep(tokens, verdicts[tokens])

    def _cut(self, raw: bytes, step: OptionStep) -> OptionStep:
        verdicts = step.verdicts.copy()
        for at in np.flatnonzero(verdicts == OPEN).tolist():
            longer = raw + (self._vocabulary.pieces[step.tokens[at]] or b"")
            verdicts[at] = _number(self.verdict(longer, ended=True))
        is_open = verdicts != NONE
        return OptionStep(step.tokens[is_open], verdicts[is_open])

    def _after_text(self, verdicts: npt.NDArray[np.int16], text: str) -> None:
        vocabulary, folded = self._vocabulary, text.casefold()
        verdicts[vocabulary.words] = _number(self._read(folded + self._word))
        verdicts[vocabulary.others] = _number(self._read(folded + self._mark))
        for character in self._special:
            self._enter(verdicts, folded, character, 0, len(vocabulary.index.texts))
        for token in vocabulary.half[verdicts[vocabulary.half] == OPEN].tolist():
            if not self._completions(text + vocabulary.text(token), vocabulary.tail(token)):
                verdicts[token] = NONE
        fitting = self._completions(text, b"")
        for token in vocabulary.unfinished_tokens.tolist() if fitting else ():
            if any(not continuation or continuation.startswith(vocabulary.tail(token)) for continuation in fitting):
                verdicts[token] = OPEN

    def _enter(self, verdicts: npt.NDArray[np.int16], text_before: str, start: str, first: int, last: int) -> None:
        """Enter the verdicts on all tokens that begin with a text, of those between two places of the index.

        As what follows a decided text changes nothing, all that begin alike are decided together, as early as can be.
        """
        index = self._vocabulary.index
        first, last = index.range(start, first, last)
        if first == last:
            return
        verdict = self._read(text_before + start)
        verdicts[index.tokens[first:last]] = _number(verdict)
        if verdict != OPEN:
            return
        while first < last and len(index.texts[first]) == len(start):
            first += 1
        of_word, of_mark = (_number(self._read(text_before + start + c)) for c in (self._word, self._mark))
        if last - first > _FEW and of_word == of_mark == NONE:
            verdicts[index.tokens[first:last]] = NONE
            for character in self._special:
                self._enter(verdicts, text_before, start + character, first, last)
            return
        while first < last:
            character = index.texts[first][len(start)]
            _, end = index.range(start + character, first, last)
            if character in self._special:
                self._enter(verdicts, text_before, start + character, first, end)
            else:
                verdicts[index.tokens[first:end]] = of_word if character.isalnum() else of_mark
            first = max(end, first + 1)

    def _after_half_a_character(self, verdicts: npt.NDArray[np.int16], raw: bytes, text: str) -> None:
        vocabulary = self._vocabulary
        broken = self._read(text + "\N{REPLACEMENT CHARACTER}")
        if broken is not None and broken != OPEN:
            for tokens in (vocabulary.words, vocabulary.others, vocabulary.unfinished_tokens):
                verdicts[tokens] = broken
        for token in vocabulary.completing.tolist():
            longer, tail = split(raw + (vocabulary.pieces[token] or b""))
            verdict = self._read(longer)
            fits = verdict != OPEN or not tail or self._completions(longer, tail)
            verdicts[token] = _number(verdict) if fits else NONE

    def _completions(self, text: str, tail: bytes) -> list[bytes]:
        """Characters that begin with these bytes and can leave a reply an option; an empty one stands for all."""
        if any(self._read(text + c) is not None for c in (self._word, self._mark)):
            return [b""]
        wide = ((c, c.encode()) for c in self._wide)
        return [
            continuation
            for c, continuation in wide
            if continuation.startswith(tail) and self._read(text + c) is not None
        ]


def _number(verdict: int | None) -> int:
    return NONE if verdict is None else verdict


def _check(options: Sequence[Option], spellings: Sequence[tuple[TokenSpelling, ...]]) -> None:
    if not options:
        raise DataError("The question has no options, so there are no probabilities of options.")
    for number, (option, own_spellings) in enumerate(zip(options, spellings, strict=True), 1):
        name = f"Option {number} of {len(options)} ({(option.label or option.text)!r})"
        if not own_spellings:
            raise DataError(f"Option {number} of {len(options)} is empty: give it a label or a text.")
        if not any(c.isalnum() for spelling in own_spellings for c in spelling.text):
            raise DataError(f"{name} has neither letter nor digit, so no reply can be told to be it.")
        others = {spelling for spelled in spellings for spelling in spelled if spelled is not own_spellings}
        if set(own_spellings) <= others:
            raise DataError(f"{name} is spelt like another option, so no reply can be told to be it.")


def tokenise_options(
    options: Sequence[Option], tokenizer: Any, vocabulary: TokenVocabulary
) -> list[list[tuple[int, ...]]]:
    """Return the tokens of each option as a reply would be written, without a blank before it and with one.

    That is its label, or its text if it has none.
    A tokenizer may put a blank before the first word of a text by itself, and a model that was trained so begins its
    reply with one; another joins the first letters to what stands before. So the option is tokenised after a line break
    and after a colon, with and without a blank, and what came before is cut off. A cut that doesn't leave the option's
    own bytes is thrown away: its tokens would run across the boundary.
    """
    ways = []
    for option in options:
        text = option.label or option.text
        readings = [
            way for target in (text.strip(), " " + text.strip()) if (way := _tokens(target, tokenizer, vocabulary))
        ]
        if not readings:
            raise DataError(f"The option {text!r} cannot be written in the model's vocabulary.")
        ways.append(list(dict.fromkeys(readings)))
    return ways


def _tokens(text: str, tokenizer: Any, vocabulary: TokenVocabulary) -> tuple[int, ...] | None:
    for before in ("\n", ":", ""):
        head = tokenizer(before, add_special_tokens=False)["input_ids"] if before else []
        ids = tokenizer(before + text, add_special_tokens=False)["input_ids"]
        tokens = tuple(ids[len(head) :])
        raw = [None if token >= vocabulary.size else vocabulary.pieces[token] for token in tokens]
        if ids[: len(head)] == head and None not in raw and b"".join(filter(None, raw)) == text.encode():
            return tokens
    return None
