"""Scorers: what gives texts scores, such as how hostile or how flirtatious each is.

A scorer says what it scores (`labels`) and who it is (`version`, and `digest` of its weights or list), and its
scores depend on the text alone: not on the texts beside it, nor on their order.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import polars as pl

from facevalue.annotations import lexicon
from facevalue.annotations.counts import LIMIT, Tokeniser, checked_texts, tokens
from facevalue.errors import UnknownNameError

LEXICAL = "lexical"
"""The scorer that comes with FaceValue."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """Scores that a scorer gives some texts.

    Attributes
    ----------
    scores:
        A score of each text, in their order, by label; None or NaN where there is none, which is never 0.
    reasons:
        Why a text has no score, by its place.
    cut:
        Places of texts that are longer than what the scorer reads at once: scored in pieces, or in part.
    unasked:
        Why a text could not be scored now, by its place: nothing is stored of it, and the next call tries again.
    """

    scores: Mapping[str, Sequence[float | None]]
    reasons: Mapping[int, str] = field(default_factory=dict)
    cut: Collection[int] = ()
    unasked: Mapping[int, str] = field(default_factory=dict)


class Scorer(Protocol):
    """Scorer of texts.

    Examples
    --------
    >>> class Exclaimed:
    ...     name, called, version, digest = "exclaimed", "exclaimed", "1", ""
    ...     labels, at_once = ("exclaimed",), 1000
    ...
    ...     def score(self, texts):
    ...         return Scoring({"exclaimed": [float("!" in text) for text in texts]})
    ...
    ...     def close(self):
    ...         pass
    >>> scorer: Scorer = Exclaimed()
    """

    @property
    def name(self) -> str:
        """Name that the user typed to get it; of a path the last part alone."""
        ...

    @property
    def called(self) -> str:
        """Name of its scores in a run where no other name is given."""
        ...

    @property
    def version(self) -> str:
        """Changes where the same text would get another score."""
        ...

    @property
    def digest(self) -> str:
        """Digest of all that its scores come from: weights, list."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that texts are scored by."""
        ...

    @property
    def at_once(self) -> int:
        """Number of texts it takes at once, as suits it; scores do not hang on it."""
        ...

    def score(self, texts: Sequence[str]) -> Scoring:
        """Score texts."""
        ...

    def close(self) -> None:
        """Let go of memory and connections."""
        ...


def chosen_labels(scorer: str, labels: Sequence[str], chosen: Sequence[str]) -> tuple[str, ...]:
    """Labels that a scorer shall score, each once; each must be among those it knows."""
    for label in chosen:
        if label not in labels:
            raise UnknownNameError(f"label of {scorer}", label, labels)
    return tuple(dict.fromkeys(chosen))


class LexicalHostility:
    """Share of a text's words that are on our list of hostile words (`annotate/lists/hostility.toml`).

    Examples
    --------
    >>> LexicalHostility().score(["A kind person.", "What a fool.", "?!"]).scores["hostility"]
    [0.0, 0.3333333333333333, None]
    """

    name = called = LEXICAL
    version = "1"
    labels = ("hostility",)
    at_once = 50_000

    def __init__(self, labels: Sequence[str] = ()) -> None:
        chosen_labels(self.name, self.labels, labels)
        self._lists = lexicon.shipped_lexicon("hostility")
        self.digest = self._lists.digest

    def score(self, texts: Sequence[str]) -> Scoring:
        """Share of words; none where a text has no word."""
        counted = lexicon.count(pl.DataFrame({"text": texts}, schema={"text": pl.String}), "text", self._lists)
        share = counted.select(pl.when(pl.col("tokens") > 0).then(pl.col("hostility") / pl.col("tokens")))
        scores = share.to_series().to_list()
        reasons = {at: "no word in it" for at, score in enumerate(scores) if score is None}
        return Scoring({"hostility": scores}, reasons, [at for at, text in enumerate(texts) if len(text) > LIMIT])

    def close(self) -> None:
        """Nothing to let go of."""


class RatedWords:
    r"""`lexicon/FILE`: mean rating of the words of a text that a file of ratings has, such as their valence.

    A text that is an entry of the file by itself, as entries of lists may be, has its rating.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "ratings.csv")
    ...     _ = path.write_text("word,valence\nkind,1\nfool,-0.5\nhard work,0.6")
    ...     RatedWords(path).score(["A kind, kind fool.", "Hard  work", "A person."]).scores["valence"]
    [0.5, 0.6, None]
    """

    version = "1"
    at_once = 10_000

    def __init__(self, path: Path, labels: Sequence[str] = ()) -> None:
        self._ratings = lexicon.read_ratings(path)
        self.called, self.name = path.stem, f"lexicon/{path.name}"
        self.digest = hashlib.sha256(
            json.dumps(self._ratings.sort("word").to_dict(as_series=False)).encode()
        ).hexdigest()
        names = self._ratings.columns[1:]
        self.labels = chosen_labels(self.name, names, labels or names)

    def score(self, texts: Sequence[str]) -> Scoring:
        """Mean ratings; none where a text has no word that is rated."""
        frame = pl.DataFrame({"word": texts}, schema={"word": pl.String}).with_row_index("row")
        words = tokens(checked_texts(frame, "word"), Tokeniser.WORDS).rename({"token": "word"})
        plain = pl.col("word").str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()
        alone = frame.with_columns(plain).join(self._ratings, on="word", how="semi")
        rated = pl.concat([alone, words.join(alone, on="row", how="anti")]).join(self._ratings, on="word")
        means = frame.join(rated.group_by("row").agg(pl.col(self.labels).mean()), on="row", how="left").sort("row")
        without = means.filter(pl.col(self.labels[0]).is_null())["row"]
        cut = [at for at, text in enumerate(texts) if len(text) > LIMIT]
        return Scoring(
            means.select(self.labels).to_dict(as_series=False), dict.fromkeys(without, "no word in it is rated"), cut
        )

    def close(self) -> None:
        """Nothing to let go of."""
