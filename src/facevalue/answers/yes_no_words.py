"""Words of one's own for yes and no, in any language: which of the two a reply gives.

How a language denies or hedges is not known, so a word is an answer only where it stands alone: between punctuation,
line ends or the ends of the reply ("Nein, weil ...", "Antwort: ja"), or behind words that only introduce an answer
("I would say", "la respuesta es", "this person is"). "Das ist ja unklar" and "No se puede saber" are none. English
denials are known where they stand right before a word: "not suitable" is "unsuitable", if that is the other word, and
never "suitable".
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from facevalue.answers._text import plain, spelled
from facevalue.errors import DataError

YES, NO = 0, 1
"""Choices of a parsed reply."""

_ENGLISH = """a am answer are be choose completely conclusion definitely final fully generally he he's i i'd i'm is it
    it's mostly my person probably response say select she she's so somewhat statement strongly that that's the
    therefore they they're think this thus totally we would"""
_OTHERS = """also antwort das definitiv die eher eindeutig ich ist lautet meine sage sagen würde
    c'est dirais dis donc est je la ma que réponse
    creo digo diría es mi respuesta yo
    acho de di direi diria eu mia minha resposta risposta è é
    antwoord er het jag mijn mitt svar svaret zeg zou är
    думаю мой ответ что я"""  # German, French, Spanish, Portuguese and Italian, Dutch and Scandinavian, Russian
_ENGLISH_LEADS = frozenset(_ENGLISH.split())
_LEADS = _ENGLISH_LEADS.union(_OTHERS.split())
_SUBJECTS = frozenset(("i", "it", "he", "she", "they", "this", "that", "the", "there", "we"))
"""Words that begin a sentence behind yes or no; "no opinion" is none."""
_CONTINUED = frozenset(("because", "with", "that", "based", "since", "as"))
_SUFFIXES = ("的", "です", "ですね", "だ", "だと思います", "ครับ", "ค่ะ", "คะ", "입니다", "이에요", "예요")
_ECHOING = frozenset("/|")
_NEGATIONS = frozenset(("not", "never", "nor", "cannot"))
_AUXILIARIES = frozenset(("do", "does", "did"))
_OPPOSITES = ("dis", "un", "in", "im", "il", "ir", "non", "non-")
_SENTENCE_ENDS = frozenset(".!?\n")
_STRESS = frozenset("*_`\"'")
_INDIAN = range(0x0900, 0x0D00, 0x80)
"""Beginnings of the Indian scripts in Unicode, which are laid out alike."""
_ACCENTS = re.compile(f"[\u0300-\u036f{''.join(chr(script + 0x3C) for script in _INDIAN)}]")
"""Accents, and the dots below letters of Indian scripts."""
_NASAL = {script + 1: script + 2 for script in _INDIAN}
"""The two signs of a nasal vowel, which are written for each other: हाँ, हां."""


@dataclass(frozen=True)
class YesNoWords:
    """The words, or phrases, that a question has for yes and for no.

    Raises
    ------
    DataError
        A word has no letter or digit, or both are the same.

    Examples
    --------
    >>> words = YesNoWords("ja", "nein")
    >>> sorted(words.answers("nein, die person lächelt.")), sorted(words.answers("das ist ja unklar."))
    ([1], [])
    """

    yes: str
    no: str

    def __post_init__(self) -> None:
        for word in (self.yes, self.no):
            if not any(character.isalnum() for character in word):
                raise DataError(f"{word!r} has no letter or digit: an answer of yes or no is read by its words.")
        if self._forms[0] == self._forms[1]:
            raise DataError(f"{self.yes!r} and {self.no!r} are one word: nothing tells yes from no.")

    @cached_property
    def english(self) -> bool:
        """Whether these are yes and no, or sentences of them, so that replies are read by the rules of English."""
        (yes, *after_yes), (no, *after_no) = self._forms
        is_said = all(not rest or not _is_word(rest[0]) or rest[0] in _SUBJECTS for rest in (after_yes, after_no))
        return (yes, no) == ("yes", "no") and is_said

    @cached_property
    def _forms(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The tokens of either word, without punctuation around them."""
        out = []
        for word in (self.yes, self.no):
            tokens = _tokens(spelled(plain(word)))
            places = [at for at, token in enumerate(tokens) if _is_word(token)]
            out.append(tuple(tokens[places[0] : places[-1] + 1]))
        return out[0], out[1]

    @cached_property
    def _folded_forms(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The same without accents, unless that makes one word of both."""
        yes, no = (tuple(map(_without_accents, form)) for form in self._forms)
        return self._forms if yes == no else (yes, no)

    def answers(self, reply: str) -> set[int]:
        """Which of the two a reply in plain form gives: one, none, or both."""
        tokens = _tokens(reply)
        places = self._places(tokens)
        echoed = {
            place
            for first, second in pairwise(places)
            if first[2] != second[2] and second[0] == first[1] + 1 and _links(tokens[first[1]])
            for place in (first, second)
        }
        begins = {place: _denial(tokens, place[0]) for place in set(places) - echoed}
        denied = {place[2] for place, begin in begins.items() if begin < place[0]}
        choices: set[int] = set()
        for (start, end, answer), begin in begins.items():
            if not _stands_alone(tokens, begin, end):
                continue
            if begin == start:
                choices.add(answer)
            elif len(denied) == 1 and self._denies(answer):
                choices.add(NO if answer == YES else YES)
        return choices or ({YES, NO} if echoed else set())

    def rest(self, reply: str) -> str:
        """A reply in plain form without either word, in which phrases are looked for: a word may hold one itself."""
        tokens = _tokens(reply)
        of_words = {at for start, end, _ in self._places(tokens) for at in range(start, end)}
        return " ".join(token for at, token in enumerate(tokens) if at not in of_words)

    def _places(self, tokens: list[str]) -> list[tuple[int, int, int]]:
        """Where either word stands: first token, the one behind it, and which; the longer word first."""
        places: list[tuple[int, int, int]] = []
        longest = sorted((YES, NO), key=lambda answer: -len(self._forms[answer]))
        start = 0
        while start < len(tokens):
            for answer in longest:
                end = start + len(self._forms[answer])
                if self._stands(tokens[start:end], answer):
                    places.append((start, end, answer))
                    start = end
                    break
            else:
                start += 1
        return places

    def _denies(self, answer: int) -> bool:
        """Whether one of the two denied is the other: "not suitable" is "unsuitable", "not rich" need not be "poor"."""
        form, other = self._forms[answer], self._forms[NO if answer == YES else YES]
        return other == ("not", *form) or (len(form) == 1 and other in [(before + form[0],) for before in _OPPOSITES])

    def _stands(self, tokens: list[str], answer: int) -> bool:
        forms = {self._forms[answer], self._folded_forms[answer]}
        if len(tokens) != len(self._forms[answer]):
            return False
        last = {tokens[-1], *(tokens[-1].removesuffix(suffix) for suffix in _SUFFIXES)}
        return any(
            (*tokens[:-1], end) in forms or (*map(_without_accents, tokens[:-1]), _without_accents(end)) in forms
            for end in last
        )


def _stands_alone(tokens: list[str], start: int, end: int) -> bool:
    """Whether nothing but an introduction stands before a word in its clause, and nothing behind it."""
    before: list[str] = []
    for token in reversed(tokens[:start]):
        if not _is_word(token):
            break
        before.append(token)
    if not _LEADS.issuperset(before):
        return False
    after = tokens[end] if end < len(tokens) else ""
    if after == "?":
        return False
    if not _is_word(after):
        return True
    is_question = next((token for token in tokens[end:] if token in _SENTENCE_ENDS), "") == "?"
    goes_on = bool(before) and _ENGLISH_LEADS.issuperset(before) and tokens[start:end] != ["no"]
    return not is_question and (after in _CONTINUED or goes_on)


def _denial(tokens: list[str], start: int) -> int:
    """Where the English denial of a word begins; at the word itself if nothing denies it right before."""
    at = start - 1
    while at >= 0 and tokens[at] in _STRESS:
        at -= 1
    if at < 0 or not (tokens[at] in _NEGATIONS or tokens[at].endswith("n't")):
        return start
    return at - 1 if at and tokens[at - 1] in _AUXILIARIES else at


def _links(token: str) -> bool:
    """Whether a token between yes and no makes them a list of what could be answered, or both at once."""
    return _is_word(token) or token in _ECHOING


def _without_accents(word: str) -> str:
    """A word in bare letters; the dotless i of Turkish is one, which capitals don't tell from that with a dot."""
    if word.isascii():
        return word
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", word)).translate(_NASAL)
    return unicodedata.normalize("NFC", bare).replace("ı", "i")


def _is_word(token: str) -> bool:
    return bool(token) and _joins(token[0])


def _joins(character: str) -> bool:
    """Whether a character is part of a word: a letter, a mark on one, or a digit."""
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def _is_decimal(before: str, character: str, behind: str) -> bool:
    """Whether a character is the point within a number: "0.5" is not "0"."""
    return character in ".," and before.isdigit() and behind.isdigit()


def _tokens(text: str) -> list[str]:
    """Words and single other characters; spaces are none, line ends are."""
    tokens: list[str] = []
    joined = False
    for at, character in enumerate(text):
        behind = text[at + 1 : at + 2]
        inner = (
            joined
            and behind != ""
            and _joins(behind)
            and (character in "'-" or _is_decimal(text[at - 1], character, behind))
        )
        if inner or _joins(character):
            if joined:
                tokens[-1] += character
            else:
                tokens.append(character)
            joined = True
            continue
        joined = False
        if character == "\n" or not character.isspace():
            tokens.append(character)
    return tokens
