"""Statistics of texts: lengths, sentiment, and words of lists, counted in several ways."""

from collections.abc import Sequence

import polars as pl

from facevalue.annotations import lexicon, sentiment
from facevalue.annotations.counts import Tokeniser, token_lengths
from facevalue.annotations.group_lists import add_prefix
from facevalue.annotations.lexicon import Lexicon
from facevalue.errors import DependencyError

SCORES = ("pos", "neg")
OURS, PUBLISHED = "our count: ", "published count: "
"""Prefixes of columns that count a list's words in our way, and as VisBias' released code does."""
COUNTED = {OURS: Tokeniser.WORDS, PUBLISHED: Tokeniser.STEREOTYPE}
ALL_WORDS = {OURS: "all words, our count", PUBLISHED: "all words, published count"}
"""Columns of how many words each text has."""


def statistics(
    frame: pl.DataFrame, text: str, lists: Sequence[Lexicon], *, scored: bool = True
) -> tuple[pl.DataFrame, str | None]:
    """Measure texts, one row each; and say why they are not scored, if they should be and cannot be.

    Columns are `characters`, `tokens`, `pos` and `neg` (percent; if scored), and for each way of counting all words
    (`ALL_WORDS`) and those of each list, whose names are prefixed.

    Examples
    --------
    >>> hats = Lexicon("hats", "1", "me", {"hat": ("hat", "cap")})
    >>> found, why = statistics(pl.DataFrame({"said": ["A hat, a cap."]}), "said", [hats], scored=False)
    >>> found["our count: hat"].to_list(), found["all words, our count"].to_list(), why
    ([2], [4], None)
    """
    measured, reason = [token_lengths(frame, text)], None
    if scored:
        try:
            measured.append(sentiment.score(frame, text).select(pl.col(SCORES) * 100))
        except DependencyError as error:
            reason = str(error)
    for prefix, way in COUNTED.items():
        counts = [lexicon.count(frame, text, add_prefix(listed, prefix), way) for listed in lists]
        measured.append(counts[0].select(pl.col("tokens").alias(ALL_WORDS[prefix])))
        measured += [counted.drop("tokens") for counted in counts]
    return pl.concat(measured, how="horizontal"), reason
