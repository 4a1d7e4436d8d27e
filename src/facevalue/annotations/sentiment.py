"""Sentiment of texts, by VADER.

VADER rates words and was made for sentences of social media; it reads "poor" as negative whoever is poor. Its shares
depend on what is scored as one text. `score` takes each sentence on its own and averages over a text's sentences.
`concatenated_sentiment` joins all texts of a group into one, as VisBias does: see there what that measures.

Hutto and Gilbert (2014), "VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media Text". Lexicon
and word lists are those of the package vaderSentiment; the rules are evaluated here on whole columns, since the package
takes six times as long for sentences and cannot score long texts at all (its time grows with their square).

Words come in segments (a sentence, a text, a group's texts joined); no rule looks beyond its segment.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.annotations import counts as tokenising
from facevalue.errors import DependencyError, UnknownNameError

# Sentences of texts, over whole columns.


# A point after these ends no sentence.
_ABBREVIATED = r"\b(Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Lt|Capt|Sgt|No|vs|approx|Fig|e\.g|i\.e|[A-Z])\.\s+"
_ENDS = r"([.!?…][\"'”’)\]]*)\s+([\"'“‘(\[]?[\p{Lu}\p{N}])"
_HOLD, _BREAK = "\ue000", "\ue001"  # private-use characters, which no text means anything by


def sentences(column: pl.Series) -> pl.DataFrame:
    r"""All sentences of some texts, one row each.

    A sentence ends at a line break, or at `.`, `!`, `?` or `…` (closing quotes and brackets included) before white
    space and a capital letter or digit. Points of common abbreviations and initials end none.

    Examples
    --------
    >>> sentences(pl.Series(["Dr. Lee smiles. She waves!\n- a hat", None]))["sentence"].to_list()
    ['Dr. Lee smiles.', 'She waves!', '- a hat']
    """
    marked = (
        pl.col("sentence")
        .str.replace_all(f"[{_HOLD}{_BREAK}]", "")
        .str.replace_all(_ABBREVIATED, f"${{1}}.{_HOLD}")
        .str.replace_all(_ENDS, f"${{1}}{_BREAK}${{2}}")
        .str.replace_all(r"[\r\n]+", _BREAK)
        .str.replace_all(_HOLD, " ", literal=True)
        .str.split(_BREAK)
    )
    long = column.alias("sentence").to_frame().with_row_index("row").with_columns(marked).explode("sentence")
    return long.with_columns(pl.col("sentence").str.strip_chars()).filter(pl.col("sentence").str.len_bytes() > 0)


# Rules of VADER, vectorised over millions of words.


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
    """Edition of the rules: they differ in details that move published figures.

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

    def is_any_word(self, code: Codes, *words: str) -> Flags:
        """Return whether each code stands for one of these words, in any case."""
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
    rated = v.known[code] & ~v.is_degree[code] & ~(v.is_any_word(code, "kind") & v.is_any_word(after[1], "of"))

    out = v.valence[code]
    if v.no_negates:
        denied = v.is_any_word(before[1], "no") | v.is_any_word(before[2], "no")
        denied |= v.is_any_word(before[3], "no") & v.is_any_word(before[1], "or", "nor")
        out = np.where(v.is_any_word(code, "no") & v.known[after[1]], 0.0, out)
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
            changed = _rate_phrases(v, before, after, changed)
        out = np.where(counts, changed, out)
    after_least = v.is_any_word(before[1], "least") & ~v.known[before[1]] & ~v.is_any_word(before[2], "at", "very")
    out = np.where(after_least, out * _NEGATED, out)
    return np.where(rated, out, 0.0)


def _negation(v: VaderVocabulary, before: tuple[Codes, ...], distance: int) -> Array:
    """Factor of a negation so many words before; "never so" strengthens, "without doubt" does nothing."""
    factor = np.where(v.negates[before[distance]], _NEGATED, 1.0)
    if distance == 1:
        return factor
    stressed = v.is_any_word(before[1], "so", "this")
    doubtless = v.is_any_word(before[distance], "without") & v.is_any_word(before[1], "doubt")
    if distance == 2:
        never = v.is_any_word(before[2], "never") & stressed
    else:
        never = (v.is_any_word(before[3], "never") & v.is_any_word(before[2], "so", "this")) | stressed
        doubtless |= v.is_any_word(before[3], "without") & v.is_any_word(before[2], "doubt")
    return np.where(never, 1.25, np.where(doubtless, 1.0, factor))


def _rate_phrases(v: VaderVocabulary, before: tuple[Codes, ...], after: tuple[Codes, ...], value: Array) -> Array:
    """Ratings of phrases in place of their words', and degree phrases."""

    def find_phrases(places: tuple[Codes, ...], phrases: dict[tuple[str, ...], float]) -> Array:
        out = np.full(value.shape, np.nan)
        for phrase, rating in phrases.items():
            if len(phrase) == len(places):
                match = np.logical_and.reduce([v.is_any_word(p, w) for p, w in zip(places, phrase, strict=True)])
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
        phrase_value = np.where(np.isnan(phrase_value), find_phrases(places, v.phrases), phrase_value)
    for length in (2, 3):
        ahead = find_phrases(after[:length], v.phrases)
        phrase_value = np.where(np.isnan(ahead), phrase_value, ahead)
    value = np.where(np.isnan(phrase_value), value, phrase_value)
    for places in ((third, second, first), (third, second), (second, first)):
        value = value + np.nan_to_num(find_phrases(places, v.degrees))
    return value


def segment_shares(words: Segments, vocabulary: VaderVocabulary, value: Array, marks: pl.DataFrame) -> pl.DataFrame:
    """Scores of each segment from the ratings of its words.

    Notes
    -----
    What stands before the first "but" of a segment counts half, what stands after it one and a half times. (The package
    finds the words to scale by their rating, and may scale the first of two equal ones; here it is done by place.)
    """
    places = np.arange(len(words.code))
    but = np.full(words.count, np.iinfo(np.int64).max)
    at = np.flatnonzero(vocabulary.is_any_word(words.code, "but"))
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


SCORES = ("neg", "neu", "pos", "compound")
_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

# What the tokeniser of the published version strips, once, off a word that has no other punctuation.
_STRIPPED = r"!!!|!!|\?\?\?|\?\?|\?!\?!|!\?!\?|\?!\?|!\?!|[.!?,;:'\"\-]"
_BARE = r"[^\s!-/:-@\[-`{-~]{2,}"


def score(frame: pl.DataFrame, text: str) -> pl.DataFrame:
    """Sentiment of each text: the mean over its sentences.

    Notes
    -----
    Within a piece of `counts.PIECE` bytes, equal sentences are scored once. Scores of a sentence are those of the
    package vaderSentiment before it rounds them, but for rare sentences with "but" (see `segment_shares`).

    Examples
    --------
    >>> score(pl.DataFrame({"said": ["A warm smile. A desk.", None]}), "said").select("pos", "sentences").rows()
    [(0.40740740740740744, 2), (None, None)]
    """
    column = tokenising.checked_texts(frame, text)
    tables = []
    for _, piece in tokenising.text_pieces(column):
        long = sentences(piece)
        distinct = long.select("sentence").unique(maintain_order=True)
        scored = pl.concat([distinct, _sentences(distinct["sentence"])], how="horizontal")
        joined = long.join(scored, on="sentence", how="left", maintain_order="left").drop_nulls("compound")
        means = joined.group_by("row").agg(pl.col(SCORES).mean(), pl.len().alias("sentences"))
        rows = pl.select(pl.int_range(len(piece), dtype=pl.UInt32).alias("row"))
        tables.append(rows.join(means, on="row", how="left", maintain_order="left").drop("row"))
    schema = {**dict.fromkeys(SCORES, pl.Float64), "sentences": pl.UInt32}
    return pl.concat(tables) if tables else pl.DataFrame(schema=schema)


def _sentences(column: pl.Series) -> pl.DataFrame:
    """Scores of each sentence, words as the package cuts them."""
    column = _emoji_described(column)
    long = column.alias("word").to_frame().with_row_index("row")
    long = long.with_columns(pl.col("word").str.extract_all(r"\S+")).explode("word").drop_nulls("word")
    stripped = pl.col("word").str.strip_chars(_PUNCTUATION)
    long = long.with_columns(pl.when(stripped.str.len_chars() > 2).then(stripped).otherwise("word").alias("word"))
    words, vocabulary = _segments(long["word"], long["row"].to_numpy().astype(np.int64), len(column))
    at = np.flatnonzero(vocabulary.known[words.code])
    value = np.zeros(len(words.code))
    value[at] = valences(words, vocabulary, at)
    return segment_shares(words, vocabulary, value, _marks(column))


def concatenated_sentiment(frame: pl.DataFrame, text: str, by: str) -> pl.DataFrame:
    """Sentiment of all texts of a group joined into one, as published (VisBias, Table 7).

    Notes
    -----
    What NLTK's version of VADER gives for such a text, before rounding. Two of its rules then mean something else: a
    word's rating is taken in the context where the *group* first uses it, and everything after the group's first "but"
    counts one and a half times, all before it half. Words of one character are dropped. So the figure changes with the
    order of the texts, and has no sampling error that could be stated; `compound` is 1 for any group. `score` is what
    to report. A group's texts are in memory at once.
    """
    column = tokenising.checked_texts(frame, text)
    if by not in frame.columns:
        raise UnknownNameError("column", by, frame.columns)
    tables = []
    labelled = pl.DataFrame({by: frame[by], "word": column}).drop_nulls()
    for (group,), texts in labelled.group_by(by, maintain_order=True):
        long = texts.select(pl.col("word").str.extract_all(r"\S+")).explode("word").drop_nulls("word")
        bare = (
            pl.col("word")
            .str.replace(rf"^(?:{_STRIPPED})({_BARE})$", "$1")
            .str.replace(rf"^({_BARE})(?:{_STRIPPED})$", "$1")
        )
        word = long.filter(pl.col("word").str.len_chars() > 1).select(bare)["word"]
        words, vocabulary = _segments(word, np.zeros(len(word), dtype=np.int64), 1, Edition.NLTK)
        _, first = np.unique(words.code, return_index=True)  # each word's first place
        rating = np.zeros(vocabulary.size)
        rating[words.code[first]] = valences(words, vocabulary, first.astype(np.int64))
        marks = _marks(texts["word"]).sum()
        scored = segment_shares(words, vocabulary, rating[words.code], marks)
        tables.append(scored.select(pl.lit(group).alias(by), *SCORES, pl.lit(len(word), pl.UInt32).alias("words")))
    schema: dict[str, pl.DataType] = {by: frame[by].dtype, **dict.fromkeys(SCORES, pl.Float64()), "words": pl.UInt32()}
    return pl.concat(tables).cast(schema) if tables else pl.DataFrame(schema=schema)  # type: ignore[arg-type]


def _segments(
    word: pl.Series, segment: Codes, count: int, edition: Edition = Edition.PACKAGE
) -> tuple[Segments, VaderVocabulary]:
    distinct = word.unique(maintain_order=True)
    code = word.cast(pl.Enum(distinct)).to_physical().cast(pl.Int64).to_numpy()
    return Segments(code, segment, count), VaderVocabulary(distinct.to_list(), edition)


def _marks(column: pl.Series) -> pl.DataFrame:
    text = column.alias("text").to_frame()
    return text.select(
        exclaimed=pl.col("text").str.count_matches("!", literal=True),
        asked=pl.col("text").str.count_matches("?", literal=True),
    )


def _emoji_described(column: pl.Series) -> pl.Series:
    """Put descriptions in place of emoji, with a space before as the package does. Few texts have any."""
    emoji = lexicon().emoji
    has = column.str.contains_any(list(emoji))
    if not has.any():
        return column
    return pl.Series(
        [_describe_emoji(text, emoji) if has_emoji else text for text, has_emoji in zip(column, has, strict=True)]
    )


def _describe_emoji(text: str, emoji: dict[str, str]) -> str:
    out: list[str] = []
    spaced = True
    for character in text:
        described: Sequence[str] | None = emoji.get(character)
        if described is None:
            out.append(character)
            spaced = character == " "
        else:
            out.extend(("" if spaced else " ", *described))
            spaced = False
    return "".join(out).strip()
