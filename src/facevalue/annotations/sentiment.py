"""Sentiment of texts, by VADER.

VADER rates words and was made for sentences of social media; it reads "poor" as negative whoever is poor. Its shares
depend on what is scored as one text. `score` takes each sentence on its own and averages over a text's sentences.
`concatenated` joins all texts of a group into one, as VisBias does: see there what that measures.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from facevalue.annotations import tokens as tokenising
from facevalue.annotations import vader
from facevalue.annotations.sentences import sentences
from facevalue.annotations.vader import Codes, Edition, Segments, VaderVocabulary
from facevalue.errors import UnknownNameError

SCORES = ("neg", "neu", "pos", "compound")
_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

# What the tokeniser of the published version strips, once, off a word that has no other punctuation.
_STRIPPED = r"!!!|!!|\?\?\?|\?\?|\?!\?!|!\?!\?|\?!\?|!\?!|[.!?,;:'\"\-]"
_BARE = r"[^\s!-/:-@\[-`{-~]{2,}"


def score(frame: pl.DataFrame, text: str) -> pl.DataFrame:
    """Sentiment of each text: the mean over its sentences.

    Notes
    -----
    Within a piece of `tokens.PIECE` bytes, equal sentences are scored once. Scores of a sentence are those of the
    package vaderSentiment before it rounds them, but for rare sentences with "but" (see `vader.shares`).

    Examples
    --------
    >>> score(pl.DataFrame({"said": ["A warm smile. A desk.", None]}), "said").select("pos", "sentences").rows()
    [(0.40740740740740744, 2), (None, None)]
    """
    column = tokenising.texts(frame, text)
    tables = []
    for _, piece in tokenising.pieces(column):
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
    value[at] = vader.valences(words, vocabulary, at)
    return vader.shares(words, vocabulary, value, _marks(column))


def concatenated(frame: pl.DataFrame, text: str, by: str) -> pl.DataFrame:
    """Sentiment of all texts of a group joined into one, as published (VisBias, Table 7).

    Notes
    -----
    What NLTK's version of VADER gives for such a text, before rounding. Two of its rules then mean something else: a
    word's rating is taken in the context where the *group* first uses it, and everything after the group's first "but"
    counts one and a half times, all before it half. Words of one character are dropped. So the figure changes with the
    order of the texts, and has no sampling error that could be stated; `compound` is 1 for any group. `score` is what
    to report. A group's texts are in memory at once.
    """
    column = tokenising.texts(frame, text)
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
        rating[words.code[first]] = vader.valences(words, vocabulary, first.astype(np.int64))
        marks = _marks(texts["word"]).sum()
        scored = vader.shares(words, vocabulary, rating[words.code], marks)
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
    emoji = vader.lexicon().emoji
    has = column.str.contains_any(list(emoji))
    if not has.any():
        return column
    return pl.Series(
        [_described(text, emoji) if has_emoji else text for text, has_emoji in zip(column, has, strict=True)]
    )


def _described(text: str, emoji: dict[str, str]) -> str:
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
