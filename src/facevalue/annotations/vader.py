"""Rules of VADER, vectorised over millions of words.

Hutto and Gilbert (2014), "VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media Text". Lexicon
and word lists are those of the package vaderSentiment; the rules are evaluated here on whole columns, since the package
takes six times as long for sentences and cannot score long texts at all (its time grows with their square).

Words come in segments (a sentence, a text, a group's texts joined); no rule looks beyond its segment.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DependencyError

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_CAPITALS, _NEGATED = 0.733, -0.74  # what capitals add, what negation multiplies by (Hutto and Gilbert, section 3.3)
_FADE = (1.0, 0.95, 0.9)  # weight of a degree word one, two and three words before
_NORMAL = 15.0  # alpha of compound = x / sqrt(x^2 + alpha)
# Degree words of the package that NLTK's copy, made before, does not have.
_LATER = {
    *("considerable", "enormous", "exceptional", "extreme", "frackin", "fracking", "fuckin", "fuggin", "fugging"),
    *("incredible", "major", "marginal", "occasional", "scarce", "slight", "total", "tremendous", "utter"),
}


class Edition(StrEnum):
    """Whose rules: they differ in details that move published figures.

    Attributes
    ----------
    PACKAGE:
        vaderSentiment 3.3: "no" negates the words after it, and adjectives such as "incredible" are degree words.
    NLTK:
        The copy in NLTK: "no" is a negative word and no negation, and those adjectives are ordinary words.
    """

    PACKAGE = "package"
    NLTK = "nltk"


@dataclass(frozen=True)
class VaderLexicon:
    """Valences and roles of words, as the package has them."""

    valence: dict[str, float]  # mean rating of lower-case words, -4 to 4
    degree: dict[str, float]  # what a word before ("very", "barely") adds, by lower-case word or words
    negations: frozenset[str]  # lower-case words that negate
    phrases: dict[str, float]  # rating of lower-case phrases, in place of their words'
    emoji: dict[str, str]


@lru_cache(maxsize=1)
def lexicon() -> VaderLexicon:
    """The package's lexicon and word lists."""
    try:
        from vaderSentiment import vaderSentiment as package  # noqa: PLC0415, N813
    except ImportError:
        raise DependencyError("vaderSentiment", "text") from None
    analyzer = package.SentimentIntensityAnalyzer()
    return VaderLexicon(
        analyzer.lexicon, package.BOOSTER_DICT, frozenset(package.NEGATE), package.SPECIAL_CASES, dict(analyzer.emojis)
    )


_NAMED = ("kind", "of", "no", "or", "nor", "never", "so", "this", "without", "doubt", "least", "at", "very", "but")
"""Words that the rules name."""
_RATED_LATER = frozenset({"flawed", "heart", "hearts"})
"""Words that the package's lexicon rates since 3.3, and NLTK's copy of it does not."""


class VaderVocabulary:
    """Valence and roles of each distinct word of a text."""

    def __init__(self, words: Iterable[str], edition: Edition = Edition.PACKAGE) -> None:
        published = lexicon()
        spelled = [*words, ""]  # the last stands for "no word there"
        lower = [word.lower() for word in spelled]
        later: set[str] = _LATER if edition is Edition.NLTK else set()
        degree = {word: added for word, added in published.degree.items() if word not in later}
        self.no_negates = edition is Edition.PACKAGE
        self.size = len(spelled)
        unrated = _RATED_LATER if edition is Edition.NLTK else frozenset()
        valence = {word: value for word, value in published.valence.items() if word not in unrated}
        self.valence = np.array([valence.get(word, 0.0) for word in lower])
        self.known: Flags = np.array([word in valence for word in lower])
        self.degree = np.array([degree.get(word, 0.0) for word in lower])
        self.is_degree: Flags = np.array([word in degree for word in lower])
        self.negates: Flags = np.array([word in published.negations or "n't" in word for word in lower])
        self.capitals: Flags = np.array([word.isupper() for word in spelled])
        self.phrases = {tuple(phrase.split()): v for phrase, v in published.phrases.items() if " " in phrase}
        self.degrees = {tuple(phrase.split()): v for phrase, v in degree.items() if " " in phrase}
        phrase_words = {word for phrase in (*self.phrases, *self.degrees) for word in phrase}
        self._number = {word: number for number, word in enumerate(sorted(phrase_words.union(_NAMED)))}
        self._named = np.array([self._number.get(word, -1) for word in lower])

    def named(self, code: Codes, *words: str) -> Flags:
        """Which codes stand for one of these words, in any case."""
        return np.isin(self._named[code], [self._number[word] for word in words])


@dataclass(frozen=True)
class Segments:
    """Words in a row, in segments."""

    code: Codes  # word of each place, as numbered in the vocabulary
    segment: Codes  # segment of each place, from 0 and never falling
    count: int  # how many segments there are; some may be empty

    def bounds(self) -> tuple[Codes, Codes]:
        """First place of each segment, and the place after its last."""
        ends = np.cumsum(np.bincount(self.segment, minlength=self.count))
        return np.concatenate([[0], ends[:-1]]).astype(np.int64), ends

    def sums(self, values: npt.NDArray[np.generic]) -> Array:
        """Sum of values by segment."""
        return np.bincount(self.segment, weights=values.astype(np.float64), minlength=self.count).astype(np.float64)


def valences(words: Segments, vocabulary: VaderVocabulary, at: Codes) -> Array:
    """Rating of the words at some places, in their context; 0 for words without one."""
    v = vocabulary
    starts, ends = words.bounds()
    start, end = starts[words.segment[at]], ends[words.segment[at]]

    def near(offset: int) -> Codes:
        place = at + offset
        inside = (place >= start) & (place < end)
        return np.where(inside, words.code[np.where(inside, place, 0)], v.size - 1)

    code = words.code[at]
    before, after = (code, near(-1), near(-2), near(-3)), (code, near(1), near(2))
    upper = words.sums(v.capitals[words.code])
    shouts = ((upper > 0) & (upper < ends - starts))[words.segment[at]]  # capitals say something if others have none
    rated = v.known[code] & ~v.is_degree[code] & ~(v.named(code, "kind") & v.named(after[1], "of"))

    out = v.valence[code]
    if v.no_negates:
        denied = v.named(before[1], "no") | v.named(before[2], "no")
        denied |= v.named(before[3], "no") & v.named(before[1], "or", "nor")
        out = np.where(v.named(code, "no") & v.known[after[1]], 0.0, out)
        out = np.where(denied, v.valence[code] * _NEGATED, out)
    out = out + np.where(v.capitals[code] & shouts, np.where(out > 0, _CAPITALS, -_CAPITALS), 0.0)
    for distance in (1, 2, 3):
        earlier = before[distance]
        counts = (at - start >= distance) & ~v.known[earlier]
        added = v.degree[earlier] * np.where(out < 0, -1.0, 1.0)
        loud = v.is_degree[earlier] & v.capitals[earlier] & shouts
        added = (added + np.where(loud, np.where(out > 0, _CAPITALS, -_CAPITALS), 0.0)) * _FADE[distance - 1]
        changed = (out + added) * _negation(v, before, distance)
        if distance == 3:
            changed = _phrased(v, before, after, changed)
        out = np.where(counts, changed, out)
    after_least = v.named(before[1], "least") & ~v.known[before[1]] & ~v.named(before[2], "at", "very")
    out = np.where(after_least, out * _NEGATED, out)
    return np.where(rated, out, 0.0)


def _negation(v: VaderVocabulary, before: tuple[Codes, ...], distance: int) -> Array:
    """Factor of a negation so many words before; "never so" strengthens, "without doubt" does nothing."""
    factor = np.where(v.negates[before[distance]], _NEGATED, 1.0)
    if distance == 1:
        return factor
    stressed = v.named(before[1], "so", "this")
    doubtless = v.named(before[distance], "without") & v.named(before[1], "doubt")
    if distance == 2:
        never = v.named(before[2], "never") & stressed
    else:
        never = (v.named(before[3], "never") & v.named(before[2], "so", "this")) | stressed
        doubtless |= v.named(before[3], "without") & v.named(before[2], "doubt")
    return np.where(never, 1.25, np.where(doubtless, 1.0, factor))


def _phrased(v: VaderVocabulary, before: tuple[Codes, ...], after: tuple[Codes, ...], value: Array) -> Array:
    """Ratings of phrases in place of their words', and degree phrases."""

    def found(places: tuple[Codes, ...], phrases: dict[tuple[str, ...], float]) -> Array:
        out = np.full(value.shape, np.nan)
        for phrase, rating in phrases.items():
            if len(phrase) == len(places):
                match = np.logical_and.reduce([v.named(p, w) for p, w in zip(places, phrase, strict=True)])
                out[match] = rating
        return out

    _, first, second, third = before
    phrase_value = np.full(value.shape, np.nan)
    for places in (
        (first, before[0]),
        (second, first, before[0]),
        (second, first),
        (third, second, first),
        (third, second),
    ):
        phrase_value = np.where(np.isnan(phrase_value), found(places, v.phrases), phrase_value)
    for length in (2, 3):
        ahead = found(after[:length], v.phrases)
        phrase_value = np.where(np.isnan(ahead), phrase_value, ahead)
    value = np.where(np.isnan(phrase_value), value, phrase_value)
    for places in ((third, second, first), (third, second), (second, first)):
        value = value + np.nan_to_num(found(places, v.degrees))
    return value


def shares(words: Segments, vocabulary: VaderVocabulary, value: Array, marks: pl.DataFrame) -> pl.DataFrame:
    """Scores of each segment from the ratings of its words.

    Notes
    -----
    What stands before the first "but" of a segment counts half, what stands after it one and a half times. (The package
    finds the words to scale by their rating, and may scale the first of two equal ones; here it is done by place.)
    """
    places = np.arange(len(words.code))
    but = np.full(words.count, np.iinfo(np.int64).max)
    at = np.flatnonzero(vocabulary.named(words.code, "but"))
    np.minimum.at(but, words.segment[at], at)
    first = but[words.segment]
    has = first < np.iinfo(np.int64).max
    value = value * np.where(has & (places < first), 0.5, np.where(has & (places > first), 1.5, 1.0))

    exclaimed, questions = (marks[name].to_numpy().astype(np.float64) for name in ("exclaimed", "asked"))
    emphasis = np.minimum(exclaimed, 4) * 0.292
    emphasis += np.where(questions > 3, 0.96, np.where(questions > 1, questions * 0.18, 0.0))
    total = words.sums(value)
    total += np.sign(total) * emphasis
    up = words.sums(np.where(value > 0, value + 1, 0.0))
    down = words.sums(np.where(value < 0, 1 - value, 0.0))
    more_up, more_down = up > down, up < down
    up, down = up + more_up * emphasis, down + more_down * emphasis
    none = words.sums(value == 0)
    weight = up + down + none
    with np.errstate(invalid="ignore"):
        columns = {"neg": down / weight, "neu": none / weight, "pos": up / weight}
        columns["compound"] = np.where(weight > 0, total / np.sqrt(total**2 + _NORMAL), np.nan)
    return pl.DataFrame(columns).fill_nan(None)
