"""Pseudonyms: numbers in place of names of persons and files, in what anybody may read."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, TypeVar

import polars as pl

from facevalue.protocol.study import Study
from facevalue.runs.stored_run import StoredRun
from facevalue.stimuli.base import Kind
from facevalue.stimuli.manifest import FORM
from facevalue.stimuli.manifest_guess import GROUPS, words_of
from facevalue.stimuli.manifest_rows import Column, person_numbers, persons_of

LEFT_OUT = "(left out: it names a person or a file)"
"""What stands in place of a reply."""
PART = "(name)"
"""What stands in place of a part of a name."""
_REPLIES = frozenset(("reply", "said", "text", "answer", "base_answer", "variant_answer", "quote"))
"""Fields of documents and pages that hold replies."""
_TOKEN = re.compile(r"[^\W\d_]+|\d+")
_BETWEEN = re.compile(r"[\s_\-./\\()\[\]+&',]{0,4}")
_NUMBER = re.compile(r"p?\d+")
_SHORTEST, _SHORTEST_PART = 3, 4  # letters of a name of one word, and of a part of one
_COMMON = frozenset((
    "photo", "photograph", "picture", "image", "face", "portrait", "person", "people", "left", "right", "base", "none",
    "png", "jpg", "jpeg", "webp", "gif", "faces", "photos", "pictures", "images", "test", "train", "original",
    *(word for groups in GROUPS.values() for spellings in groups for text in spellings for word in words_of(text)),
))  # fmt: skip
Value = TypeVar("Value")


class Pseudonyms:
    """Names of persons and files of a run's own pictures, and the numbers that stand in their place.

    Persons are p001, p002, ..., pictures picture-001, sets s001. What a study declares, such as the identities that
    VIGNETTE compares and the levels of factors, is no name. Drawings have none.

    Parameters
    ----------
    exact:
        By name, what stands in its place.
    common:
        Words, in small letters, that are no part of a name.
    persons:
        Names by person, of whose words those that few have are parts.
    """

    def __init__(self, exact: Mapping[str, str], common: Iterable[str], persons: Mapping[str, Iterable[str]]) -> None:
        self._exact, self._common = dict(exact), frozenset(common)
        self._phrases: dict[str, dict[tuple[str, ...], str]] = defaultdict(dict)
        for name, number in exact.items():
            for words in _spellings_of(name):
                if not self._says_nothing(words):
                    self._phrases[words[0]].setdefault(words, number)
        self._parts = frozenset(self._parts_of(persons))

    @classmethod
    def of_run(cls, run: StoredRun) -> "Pseudonyms":
        """The pseudonyms of a run."""
        manifest, columns = run.study.manifest, run.protocol.columns()
        persons = persons_of(manifest, columns)
        if persons is None or run.study.source.kind is Kind.ILLUSTRATED:
            return cls({}, (), {})
        named_in = [persons.column, *(name for name, _ in persons.likely)]
        of_persons = [name for name in named_in if name in manifest.columns]
        apart = {*FORM, *of_persons}
        levels = {
            level for name in manifest.columns if name not in apart and manifest.schema[name] == pl.String
            for level in manifest[name].drop_nulls().unique()
        }  # fmt: skip
        exact: dict[str, str] = {}
        for names, letter in (("image", "picture-"), ("path", "picture-"), ("set", "s")):
            if names in manifest.columns:
                exact |= _numbers(manifest[names], letter)
        for name in of_persons:
            exact |= _numbers(manifest[name], "p")
        identities_compared = _compared_identities(columns, manifest)
        exact = {
            name: number for name, number in exact.items() if name not in levels and name not in identities_compared
        }
        unit = manifest[of_persons[0]] if of_persons else manifest["image"]
        by_person: dict[str, list[str]] = defaultdict(list)
        for names in dict.fromkeys([*of_persons, "image", "path"]):
            for person, name in zip(unit, manifest[names], strict=True):
                if name is not None and name in exact:
                    by_person[str(person)].append(name)
        texts = [*levels, *identities_compared, *_options(run.study)]
        return cls(exact, {word for text in texts for word in words_of(text)}, by_person)

    def __bool__(self) -> bool:
        """Return whether there is any name."""
        return bool(self._exact)

    def names_one(self, text: str | None) -> bool:
        """Return whether a text names a person or a file."""
        return bool(text) and next(self._name_spans(str(text)), None) is not None

    def text(self, text: str) -> str:
        """A text with numbers in place of names.

        Examples
        --------
        >>> names = Pseudonyms({"Ada Lovelace": "p001"}, (), {"1": ["Ada Lovelace"], "2": ["Ben"], "3": ["Cem"]})
        >>> names.text("This is Ada_Lovelace (Mrs Lovelace)."), names.text("Ada Lovelace")
        ('This is p001 (Mrs (name)).', 'p001')
        """
        if not self or text in self._exact:
            return self._exact.get(text, text)
        out, end = [], 0
        for start, stop, number in self._name_spans(text):
            out += [text[end:start], number]
            end = stop
        return "".join([*out, text[end:]])

    def document(self, value: Value, name: str = "") -> Value:
        """A document of lists, mappings and records with numbers in place of names; replies that name one are left out.

        `name`: field that the value is of.
        """
        out: Any = value
        if not self:
            return value
        if isinstance(value, str):
            out = LEFT_OUT if name in _REPLIES and self.names_one(value) else self.text(value)
        elif isinstance(value, Mapping):
            out = {self.text(k) if isinstance(k, str) else k: self.document(v, str(k)) for k, v in value.items()}
        elif isinstance(value, tuple) and not hasattr(value, "_fields"):
            out = tuple(self.document(inner, name) for inner in value)
        elif isinstance(value, list):
            out = [self.document(inner, name) for inner in value]
        elif is_dataclass(value) and not isinstance(value, type):
            of_record = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
            out = replace(value, **{key: self.document(inner, key) for key, inner in of_record.items()})
        return out

    def table(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A table with numbers in place of names in its texts; the ends of paths stay, as they say what files are."""
        if not self:
            return frame
        columns = []
        for name in frame.columns:
            if frame.schema[name] != pl.String:
                continue
            texts = frame[name].drop_nulls().unique()
            numbers = {
                text: f"{self.text(text)}{PurePosixPath(text).suffix if name == 'path' else ''}" for text in texts
            }
            columns.append(frame[name].replace(numbers))
        return frame.with_columns(columns)

    def _name_spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Names in a text: where they begin and end, and what stands in their place."""
        tokens = list(_TOKEN.finditer(text))
        words = [token.group().casefold() for token in tokens]
        at = 0
        while at < len(words):
            fits = [
                (len(phrase), number)
                for phrase, number in self._phrases.get(words[at], {}).items()
                if tuple(words[at : at + len(phrase)]) == phrase and _is_one_name(text, tokens[at : at + len(phrase)])
            ]
            if fits:
                size, number = max(fits)
                yield tokens[at].start(), tokens[at + size - 1].end(), number
                at += size
                continue
            if words[at] in self._parts:
                yield tokens[at].start(), tokens[at].end(), PART
            at += 1

    def _says_nothing(self, words: tuple[str, ...]) -> bool:
        """Return whether words are no name: none, numbers, or words that a study uses."""
        telling = [word for word in words if not word.isdigit() and word not in self._common | _COMMON]
        return not telling or (len(words) == 1 and len(words[0]) < _SHORTEST)

    def _parts_of(self, persons: Mapping[str, Iterable[str]]) -> Iterator[str]:
        """Words in the names of few persons."""
        counts = Counter(
            word
            for names in persons.values()
            for word in {word for name in names for words in _spellings_of(name) for word in words}
        )
        limit = max(1, len(persons) // 3)
        for word, count in counts.items():
            if count <= limit and len(word) >= _SHORTEST_PART and word.isalpha() and not self._says_nothing((word,)):
                yield word


def _numbers(names: pl.Series, letter: str) -> dict[str, str]:
    """A number for each name that is none already."""
    numbers = zip(names, person_numbers(names, letter), strict=True)
    return {str(name): number for name, number in numbers if number is not None and not _NUMBER.fullmatch(str(name))}


def _spellings_of(name: str) -> list[tuple[str, ...]]:
    """Words of a name in the ways in which it may be written: whole, as a file's name, without numbers."""
    stem = PurePosixPath(name).name
    stems = (name, stem, stem.rpartition(".")[0] if "." in stem else stem)
    out: dict[tuple[str, ...], None] = {}
    for text in stems:
        for words in (tuple(token.casefold() for token in _TOKEN.findall(text)), tuple(words_of(text))):
            out[words] = None
            bare = tuple(word for word in words if not word.isdigit())
            out[bare] = None
    return [words for words in out if words]


def _is_one_name(text: str, tokens: list[re.Match[str]]) -> bool:
    """Return whether nothing but punctuation of names stands between words."""
    return all(_BETWEEN.fullmatch(text[first.end() : second.start()]) for first, second in pairwise(tokens))


def _compared_identities(columns: Iterable[Column], manifest: pl.DataFrame) -> set[str]:
    """Identities that a study compares, which are nobody's names."""
    if not any(column.name == "identity" and column.paired for column in columns):
        return set()
    sides = [name for name in ("identity", "identity_1", "identity_2") if name in manifest.columns]
    return {level for side in sides for level in manifest[side].drop_nulls()}


def _options(study: Study) -> set[str]:
    """Texts of the options of a study, of the first trial of each block."""
    firsts = [int(start) for start, block in zip(study.design.offsets, study.design.blocks, strict=False) if len(block)]
    questions = study.ask(study.design.trials(firsts)) if firsts else []
    return {option.text for question in questions for option in question.options}
