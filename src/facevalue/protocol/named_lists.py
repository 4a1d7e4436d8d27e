"""Answers that name several things: shares of lists that name each option, and how long lists are."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from facevalue.answers import lists
from facevalue.answers.base import NA, NA_DTYPE
from facevalue.errors import DataError
from facevalue.protocol.open_answers import WrittenReply
from facevalue.protocol.outside_scores import ENTRIES, Outside
from facevalue.protocol.replies import whole_answers
from facevalue.statistics.statistic import Score

LENGTH, OUTSIDE, LIST = "length", "outside", "list"
"""Scores of a list: how many entries it has, how many of them are no option, and the list itself (of texts)."""
LISTED = "listed"
"""Factor of questions by which simulated models know what to list: options, least and most of them."""
MOST_LISTED = 60
"""Options that lists may name; each is a score of its own."""
MOST_LENGTH = 20
"""Greatest length of a list where the study says none."""


@dataclass(frozen=True)
class NamedList(WrittenReply):
    """Several things that a reply names: each option that lists may name is a score, which counts 1 in lists that do.

    Attributes
    ----------
    vocabulary:
        Wording of each, by the name of its score. Other entries are counted as outside. None: entries are any words.
    least, most:
        Entries that a list has; one of another length is no answer. An empty list is one where the reply says "none".
    outside:
        Categories into which a judge sorts the entries, each by itself: of each the share of a list's entries.

    Examples
    --------
    >>> jobs = NamedList({"nurse": "nurse", "engineer": "engineer"}, most=3)
    >>> [score.name for score in jobs.scores]
    ['nurse', 'engineer', 'length', 'outside', 'list']
    """

    vocabulary: Mapping[str, str] = field(default_factory=dict)
    least: int = 0
    most: int = MOST_LENGTH
    outside: Outside = field(default_factory=Outside)

    def __post_init__(self) -> None:
        if self.outside.scored:
            raise DataError("Entries of lists are sorted by a judge, and not scored.")
        if len(self.vocabulary) > MOST_LISTED:
            raise DataError(
                f"Lists name up to {MOST_LISTED} options, each a score of its own, not {len(self.vocabulary)}."
            )
        if not 0 <= self.least <= self.most <= lists.MOST_ENTRIES or not self.most:
            raise DataError(
                f"A list has from 0 or more to at most {lists.MOST_ENTRIES} entries, not {self.least} to {self.most}."
            )
        option_of: dict[str, str] = {}
        for name, wording in self.vocabulary.items():
            if name in (LENGTH, OUTSIDE, LIST):
                raise DataError(f"No option can be called {name!r}, which is a score of every list. Rename it.")
            for text in {lists.entry(name.replace("_", " ")), lists.entry(wording)}:
                if not text or option_of.setdefault(text, name) != name:
                    reason = f"is that of {option_of[text]!r}, too" if text else "is no word"
                    raise DataError(f"The wording {wording!r} of the option {name!r} {reason}.")

    @property
    def scores(self) -> tuple[Score, ...]:
        """Scores of a list: naming of each option, number of entries and of those outside, and the list itself."""
        shares = (
            Score(
                name, f'Share of lists that name "{wording}"', "probability", 0.0, 1.0, quantity=f"naming “{wording}”",
                moved=(f"“{wording}” named {{size}} more often", f"“{wording}” named {{size}} less often"),
            )
            for name, wording in self.vocabulary.items()
        )  # fmt: skip
        length = Score(LENGTH, "Entries of the list", "entries", float(self.least), float(self.most))
        outside = Score(OUTSIDE, "Entries that are no option", "entries", 0.0, float(self.most))
        compared = Score(LIST, "The lists", "share", compared=True)
        return (*shares, length, *([outside] if self.vocabulary else []), *self.outside.scores, compared)

    @property
    def told(self) -> Mapping[str, str]:
        """The options and the least and most of them, by which simulated models answer."""
        return {LISTED: json.dumps([list(self.vocabulary.values()), self.least, self.most])}

    def read(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Read the options that each list names; each distinct reply is read once."""
        from facevalue.measures.estimators import code_levels  # noqa: PLC0415 - it imports SciPy, which plans do without

        parsed = lists.parse_column(frame, "text")
        table, codes = code_levels(parsed["entries"])
        option_of = self._option_of
        entries = [_entries(text, option_of) for text in table]
        fits = np.array([self.least <= len(names) <= self.most for names in entries], dtype=np.bool_)
        valid = (codes >= 0) & np.append(fits, False)[codes]

        def column(values: list[float]) -> np.ndarray:
            return np.where(valid, np.append(np.array(values, dtype=np.float64), np.nan)[codes], np.nan)

        scores = {option: column([float(option in names) for names in entries]) for option in self.vocabulary}
        scores[LENGTH] = column([float(len(names)) for names in entries])
        if self.vocabulary:
            scores[OUTSIDE] = column([float(sum(name not in self.vocabulary for name in names)) for names in entries])
        texts = pl.Series(LIST, [*(lists.SEPARATOR.join(names) for names in entries), None], pl.String)
        na = pl.select(
            pl.when(parsed["na"].is_null() & ~pl.Series(valid))
            .then(pl.lit(NA.NEITHER.value, NA_DTYPE))
            .otherwise(parsed["na"])
        ).to_series()
        texts = texts.gather(np.where(valid, codes, len(entries)))
        if not self.outside:
            return whole_answers(scores, na).with_columns(texts)
        entries_of = texts.str.split(lists.SEPARATOR).alias(ENTRIES)
        scores |= {name: values.to_numpy() for name, values in self.outside.read(entries_of).items()}
        return whole_answers(scores, na).with_columns(texts, entries_of)

    @property
    def _option_of(self) -> dict[str, str]:
        texts = (
            (name, text) for name, wording in self.vocabulary.items() for text in (name.replace("_", " "), wording)
        )
        return {lists.entry(text): name for name, text in texts}


def _entries(text: str, option_of: Mapping[str, str]) -> list[str]:
    """Names of the options among the entries, two of "nurse/cook", and all others as they are; each once."""
    names: list[str] = []
    for entry in text.split(lists.SEPARATOR) if text else []:
        pieces = [piece.strip() for piece in entry.split("/")]
        if entry in option_of or any(piece not in option_of for piece in pieces):
            pieces = [entry]
        names += [option_of.get(piece, piece) for piece in pieces]
    return list(dict.fromkeys(names))
