"""Words of two genders in texts that name an occupation or a descriptor, counted piece by piece."""

import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.untrusted_files import read_file, to_toml

MAX_BYTES = 2**20
"""Largest file of terms."""
MOST = 1_000
"""Most terms of a list."""
GENDERS = ("male", "female")
_KEYS = ("name", "source", *GENDERS, "instances")


class CorpusTerms:
    """Terms that are counted: words of each gender, and instances such as occupations by kind.

    Terms are found as whole words, whatever their case; of a term of several words, any white space may stand between.
    """

    def __init__(self, name: str, genders: Mapping[str, Sequence[str]], instances: Mapping[str, Sequence[str]]) -> None:
        self.name = name
        self.instances = [(kind, instance) for kind, listed in instances.items() for instance in listed]
        self.genders = {gender: _pattern(words) for gender, words in genders.items()}
        self.each = [_pattern([instance]) for _, instance in self.instances]
        self.any = _pattern([instance for _, instance in self.instances])


class CorpusCounts:
    """Counts over any number of texts; memory does not grow with them.

    Attributes
    ----------
    texts:
        How many were counted.
    words:
        Words of each gender in all of them.

    Examples
    --------
    >>> counts = CorpusCounts(builtin())
    >>> counts.add(pl.Series(["A nurse and her aunt.", "He is a NURSE.", "A man.", "Nurseries"]))
    >>> counts.table().filter(pl.col("instance") == "nurse").rows()
    [('occupation', 'nurse', 2, 1, 2)]
    >>> counts.texts, counts.words
    (4, {'male': 2, 'female': 2})
    """

    def __init__(self, terms: CorpusTerms) -> None:
        self._terms = terms
        self.texts = 0
        self.words = dict.fromkeys(GENDERS, 0)
        self._counts = np.zeros((len(terms.instances), 1 + len(GENDERS)), dtype=np.int64)

    def add(self, texts: pl.Series) -> None:
        """Count more texts, none of them null."""
        counts = pl.DataFrame(
            [
                texts.alias("text"),
                *(texts.str.count_matches(pattern).alias(g) for g, pattern in self._terms.genders.items()),
            ]
        )
        self.texts += texts.len()
        for gender in GENDERS:
            self.words[gender] += int(counts[gender].sum())
        naming = counts.filter(texts.str.contains(self._terms.any))
        for row, pattern in enumerate(self._terms.each):
            matches = naming.filter(naming["text"].str.contains(pattern))
            self._counts[row] += [matches.height, *(int(matches[gender].sum()) for gender in GENDERS)]

    def table(self) -> pl.DataFrame:
        """A row per instance: `kind`, `instance`, `texts` that name it, and `male` and `female` words in these."""
        kinds = pl.DataFrame(self._terms.instances, schema=["kind", "instance"], orient="row")
        return kinds.hstack(pl.DataFrame(self._counts, schema=["texts", *GENDERS]))


def builtin() -> CorpusTerms:
    """The terms of ModSCAN."""
    data = resources.files("facevalue.annotations").joinpath("lists", "corpus_terms.toml").read_bytes()
    return _parse_terms(to_toml(data, "corpus_terms.toml"), "corpus_terms.toml")


def read_terms(path: Path) -> CorpusTerms:
    """Read terms of the user's: TOML with the lists `male` and `female`, and a table `instances` with lists by kind.

    Raises
    ------
    DataError, UnknownNameError
        What is wrong with it.
    """
    return _parse_terms(to_toml(read_file(path, MAX_BYTES, "terms"), str(path)), path.name)


def _parse_terms(document: Mapping[str, Any], source: str) -> CorpusTerms:
    for key in document:
        if key not in _KEYS:
            raise UnknownNameError(f"key of {source}", key, _KEYS)
    instances = document.get("instances")
    if not isinstance(instances, dict) or not instances:
        raise DataError(
            f'{source} needs a table [instances] with a list for each kind: occupation = ["nurse", "chef"].'
        )
    genders = {gender: _terms(document.get(gender), gender, source) for gender in GENDERS}
    shared = set(genders["male"]) & set(genders["female"])
    if shared:
        raise DataError(f"{source}: {min(shared)!r} is in both lists of words.")
    listed = {kind: _terms(terms, kind, source) for kind, terms in instances.items()}
    return CorpusTerms(str(document.get("name", source)), genders, listed)


def _terms(listed: Any, name: str, source: str) -> list[str]:
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST:
        raise DataError(f"{source}: {name} is a list of 1 to {MOST:,} terms.")
    terms = [" ".join(term.split()).lower() if isinstance(term, str) else "" for term in listed]
    for term in terms:
        if not term or not (term[0].isalnum() and term[-1].isalnum()):
            raise DataError(
                f"{source}: {name} has a term that does not begin and end with a letter or digit: {term!r}."
            )
    return list(dict.fromkeys(terms))


def _pattern(terms: Sequence[str]) -> str:
    """A regular expression of Rust's that finds any of the terms as whole words."""
    patterns = (r"\s+".join(re.escape(word) for word in term.split()) for term in sorted(terms, key=len, reverse=True))
    return rf"(?i)\b(?:{'|'.join(patterns)})\b"
