"""Conditions of a study with variants: which of its trials are asked how, and how replies are understood."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers import NA, parse
from facevalue.design import Block, Design
from facevalue.errors import DataError
from facevalue.prompts import caesar
from facevalue.prompts.variants import PLAIN, Variant
from facevalue.protocol.study import Study
from facevalue.types import Option, Question, Status

FACTOR = "intervention"
"""Column that says which condition a trial belongs to."""
READING = "reading"
"""Column that says what a reply to a ciphered question was written in; null where nothing was ciphered."""
CAPTIONED = "captioned"
"""Column that tells `Study.answer` which text stood on a band below the picture, null if none; only with captions."""
_TASK = "task"  # block constant that variants of some tasks alone look at
_KINDS = pl.Enum([kind.value for kind in caesar.CipherKind])
_STAYS = (NA.REFUSED, NA.HEDGED)
_KEPT = 65_536  # questions kept, so that equal ones stay one object
Codes = npt.NDArray[np.int64]


def varied_design(study: Study, plain: Design, variants: Sequence[Variant]) -> tuple[Design, Codes, Codes]:
    """The blocks of a plain design, then those that each variant is asked of (`Changes.intervened`, `Variant.tasks`).

    Returns the design, and of each of its blocks the condition and the place in the plain design; the column
    `intervention` comes last.
    """
    blocks: list[Block] = []
    condition, origin = [], []
    for number, name in enumerate((PLAIN, *(variant.name for variant in variants))):
        levels_of = dict(study.changes.intervened.get(name, {}))
        if number and variants[number - 1].tasks:
            levels_of[_TASK] = variants[number - 1].tasks
        before = len(blocks)
        for at, block in enumerate(plain.blocks):
            if all(block.constants.get(factor) in levels for factor, levels in levels_of.items()):
                label = block.name if name == PLAIN else f"{block.name} + {name}"
                blocks.append(replace(block, name=label, constants={**block.constants, FACTOR: name}))
                condition.append(number)
                origin.append(at)
        if len(blocks) == before and number:
            of = ", ".join(f"{factor} {' or '.join(levels)}" for factor, levels in levels_of.items())
            raise DataError(f"{name} is asked of {of} alone, of which nothing is asked: leave it out.")
    return Design(tuple(blocks)), np.array(condition), np.array(origin)


class Conditions:
    """A plain study, and the variants in which it is asked again. Condition 0 is the plain one.

    `versions`: the study with the wording of each variant that has one of its own, by name.
    """

    def __init__(self, study: Study, variants: Sequence[Variant], versions: Mapping[str, Study]) -> None:
        self.study = study
        self.variants = tuple(variants)
        self.design, self._condition, self._origin = varied_design(study, study.design, variants)
        names = [block.name for block in study.design.blocks]
        self._blocks = pl.Series("block", names, dtype=pl.Enum(names))
        pairs = zip(self.design.blocks, self._origin.tolist(), strict=True)
        self.plain_blocks = {block.name: names[at] for block, at in pairs}
        """Names of the plain study's blocks, by those of the blocks that repeat them."""
        self._versions = [study, *(versions.get(variant.name, study) for variant in variants)]
        self._captions = pl.Series(CAPTIONED, [None, *(v.caption or None for v in variants)], pl.String)
        self._ciphered = np.array([False, *(variant.cipher for variant in variants)])
        self._questions: dict[tuple[int, int], tuple[Question, Question]] = {}

    def conditions_of_trials(self, frame: pl.DataFrame) -> Codes:
        """The condition of each row of a trial frame."""
        return self._condition[_block(self.design.offsets, frame["trial"].to_numpy().astype(np.int64))]

    def stimulus(self, number: int) -> tuple[int, int]:
        """The condition of a stimulus, and its number in the plain study."""
        offsets, plain_offsets = self.design.stimulus_offsets, self.study.design.stimulus_offsets
        at = int(_block(offsets, np.array([number]))[0])
        return int(self._condition[at]), int(number - offsets[at] + plain_offsets[self._origin[at]])

    def plain(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The same rows as trials of the plain study."""
        numbers = frame["trial"].to_numpy().astype(np.int64)
        at = _block(self.design.offsets, numbers)
        plain = numbers - self.design.offsets[at] + self.study.design.offsets[self._origin[at]]
        trials = pl.Series("trial", plain, frame["trial"].dtype)
        return frame.with_columns(trials, self._blocks.gather(self._origin[at])).drop(FACTOR)

    def ask(self, frame: pl.DataFrame) -> list[Question]:
        """From a trial frame to its questions, the condition among their factors; one for each of the plain study's."""
        condition = self.conditions_of_trials(frame)
        plain = self._word_questions(self.plain(frame), condition)
        return [self._question(c, q) for c, q in zip(condition.tolist(), plain, strict=True)]

    def _by_version(self, condition: Codes) -> list[tuple[Study, Codes]]:
        """Studies with one wording each, and the rows that are asked in it."""
        rows: dict[int, tuple[Study, list[Codes]]] = {}
        for number in np.unique(condition).tolist():
            version = self._versions[number]
            rows.setdefault(id(version), (version, []))[1].append(np.flatnonzero(condition == number))
        return [(version, np.sort(np.concatenate(of_version))) for version, of_version in rows.values()]

    def _word_questions(self, plain: pl.DataFrame, condition: Codes) -> list[Question]:
        """Questions of plain trials in the wording of their condition."""
        versions = self._by_version(condition)
        if len(versions) == 1:
            return versions[0][0].ask(plain)
        questions: dict[int, Question] = {}
        for version, rows in versions:
            questions |= zip(rows.tolist(), version.ask(plain[rows]), strict=True)
        return [questions[row] for row in range(plain.height)]

    def _read_answers(self, plain: pl.DataFrame, condition: Codes) -> pl.DataFrame:
        """Answers to plain trials, read with the options of their condition; the same rows."""
        versions = self._by_version(condition)
        if len(versions) <= 1:
            return (versions[0][0] if versions else self.study).answer(plain)
        answers = pl.concat([version.answer(plain[rows]) for version, rows in versions], how="vertical_relaxed")
        return answers[np.argsort(np.concatenate([rows for _, rows in versions]))]

    def _question(self, condition: int, plain: Question) -> Question:
        key = (condition, id(plain))
        entry = self._questions.get(key)
        if entry is None:
            if len(self._questions) >= _KEPT:
                self._questions.clear()
            name, question = PLAIN, plain
            if condition:
                variant = self.variants[condition - 1]
                name, question = variant.name, variant.question(plain, self.study.changes.led)
            question = replace(question, factors={**question.factors, FACTOR: name})
            # The plain one is kept beside it, as an identity may be given again once its owner is gone.
            entry = self._questions[key] = (plain, question)
        return entry[1]

    def sample(self, size: int, seed: int, repeats: int) -> Codes:
        """The plain study's sample of as many requests as there are for each condition, in all of them."""
        conditions = 1 + len(self.variants)
        share = size // conditions
        try:
            numbers = np.sort(self.study.sample(share, seed, repeats))
        except DataError as error:
            raise DataError(
                f"{size:,} requests are {share:,} for each of {conditions} conditions (with the plain one). {error}"
            ) from error
        offsets = self.study.design.offsets
        at = _block(offsets, numbers)
        starts = zip(self._origin.tolist(), self.design.offsets[:-1].tolist(), strict=True)
        return np.concatenate([numbers[at == block] - offsets[block] + start for block, start in starts])

    def answer(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Decode what was ciphered, then understand it as the plain study does.

        A reply that says that it cannot read the cipher is no refusal: its `na` is `NA.NEITHER`, and `reading` tells it
        apart.
        """
        plain, condition = self.plain(frame), self.conditions_of_trials(frame)
        if self._captions.count():
            plain = plain.with_columns(self._captions.gather(condition))
        readings: list[pl.Series] = []
        void = np.zeros(frame.height, dtype=np.bool_)
        if self._ciphered.any():
            rows = np.flatnonzero(self._ciphered[condition] & frame["text"].is_not_null().to_numpy())
            text = frame["text"].to_numpy().astype(object)
            kinds = np.full(frame.height, None, dtype=object)
            if rows.size:
                ciphered = plain[rows]
                deciphered = _decipher(ciphered["text"].to_list(), self._word_questions(ciphered, condition[rows]))
                kinds[rows] = [reading.kind.value for reading in deciphered]
                text[rows] = [reading.text for reading in deciphered]
                void[rows] = [not reading.text for reading in deciphered]
                plain = plain.with_columns(pl.Series("text", text.tolist(), dtype=pl.String))
            readings = [pl.Series(READING, kinds.tolist(), dtype=_KINDS)]
        answers = self._read_answers(plain, condition)
        answers = answers.with_columns(frame["trial"], frame["block"], frame[FACTOR], *readings)
        answers = answers.drop(CAPTIONED, strict=False)
        if void.any():
            empty = pl.Series(void) & (frame["status"].cast(pl.String) == Status.OK.value)
            na = pl.when(empty).then(pl.lit(NA.NEITHER.value)).otherwise(pl.col("na").cast(pl.String))
            answers = answers.with_columns(na.cast(answers.schema["na"]).alias("na"))
        return answers


def _block(offsets: npt.NDArray[np.int64], numbers: Codes) -> Codes:
    """Index of the block that each number is in."""
    return np.searchsorted(offsets, numbers, side="right") - 1


def _decipher(texts: Sequence[str], questions: Sequence[Question]) -> list[caesar.CipherReading]:
    """Decipher replies to ciphered questions, each distinct (reply, question) once; empty if they say nothing."""
    readings: dict[tuple[str, int], caesar.CipherReading] = {}
    for text, question in zip(texts, questions, strict=True):
        key = (text, id(question))
        if key not in readings:
            readings[key] = _reading(text, question.options)
    return [readings[text, id(question)] for text, question in zip(texts, questions, strict=True)]


def _reading(text: str, options: tuple[Option, ...]) -> caesar.CipherReading:
    """Read one reply; where that names no option, see whether another way of reading it names exactly one.

    A refusal stays one, and so does a reply that names an option without committing to it.
    """
    reading = caesar.read(text, options)
    if reading.kind is caesar.CipherKind.UNABLE:
        return caesar.CipherReading(reading.kind, "")
    if len(options) < 2 or (first := parse(reading.text, options)).choice is not None or first.reason in _STAYS:
        return reading
    by_words = caesar.read(text, options, letters=False)
    if parse(by_words.text, options).choice is not None:
        return by_words
    longest = text[: caesar.LIMIT]
    texts = {caesar.CipherKind.PLAIN: longest, caesar.CipherKind.DECODED: caesar.decode(longest)}
    naming = {kind: reply for kind, reply in texts.items() if parse(reply, options).choice is not None}
    if len(naming) != 1:
        return reading
    ((kind, reply),) = naming.items()
    return caesar.CipherReading(
        kind if reading.kind is caesar.CipherKind.UNREADABLE else caesar.CipherKind.MIXED, reply
    )
