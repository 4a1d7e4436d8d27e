"""Conditions of interventions: what is done to the requests of a study, and how replies are understood."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers import NA, parse
from facevalue.design import Design
from facevalue.errors import DataError
from facevalue.prompts import caesar
from facevalue.prompts.interventions import PLAIN, Intervention
from facevalue.protocol.study import Study
from facevalue.types import Option, Question, Status

FACTOR = "intervention"
"""Column that says which condition a trial belongs to."""
READING = "reading"
"""Column that says what a reply to a ciphered question was written in; null where nothing was ciphered."""
CAPTIONED = "captioned"
"""Column that tells `Study.answer` which text stood on a band below the picture, null if none; there only with such
interventions."""
_KINDS = pl.Enum([kind.value for kind in caesar.CipherKind])
_STAYS = (NA.REFUSED, NA.HEDGED)
_KEPT = 65_536  # questions kept, so that equal ones stay one object


def asked_blocks(study: Study, design: Design, interventions: Sequence[Intervention]) -> list[npt.NDArray[np.int64]]:
    """Blocks of the plain design that are asked plainly, then of those with each intervention (`Changes`)."""
    out = [np.arange(len(design.blocks))]
    for one in interventions:
        only = study.changes.intervened.get(one.name, {})
        numbers = [
            at
            for at, block in enumerate(design.blocks)
            if all(block.constants.get(name) in levels for name, levels in only.items())
        ]
        if not numbers:
            levels_asked = ", ".join(f"{name} {' or '.join(levels)}" for name, levels in only.items())
            raise DataError(f"{one.name} is asked of {levels_asked} alone, of which nothing is asked: leave it out.")
        out.append(np.array(numbers, dtype=np.int64))
    return out


class _Numbers:
    """Numbers of a design that repeats blocks of a plain one, and back."""

    def __init__(self, offsets: npt.NDArray[np.int64], origin: npt.NDArray[np.int64]) -> None:
        sizes = np.diff(offsets)[origin]
        self._starts = np.cumsum([0, *sizes.tolist()])
        self._origin, self._offsets = origin, np.asarray(offsets, dtype=np.int64)

    def block(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Which of the repeated blocks each is in."""
        return np.searchsorted(self._starts, numbers, side="right") - 1

    def plain(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The same in the plain design."""
        at = self.block(numbers)
        return numbers - self._starts[at] + self._offsets[self._origin[at]]

    def all_of(self, plain: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Every repetition of plain numbers, ascending if these are."""
        at = np.searchsorted(self._offsets, plain, side="right") - 1
        parts = [
            plain[at == own] - self._offsets[own] + start
            for own, start in zip(self._origin, self._starts[:-1], strict=True)
        ]
        return np.concatenate(parts)


class Conditions:
    """A plain study, and what is done to its requests. Condition 0 is the plain one."""

    def __init__(self, study: Study, interventions: Sequence[Intervention]) -> None:
        self.study = study
        self.interventions = tuple(interventions)
        names = [block.name for block in study.design.blocks]
        self._blocks = pl.Series("block", names, dtype=pl.Enum(names))
        asked = asked_blocks(study, study.design, interventions)
        self._condition = np.repeat(np.arange(len(asked)), [len(own) for own in asked])
        self._origin = np.concatenate(asked)
        self._trials = _Numbers(study.design.offsets, self._origin)
        self._stimuli = _Numbers(study.design.stimulus_offsets, self._origin)
        self._captions = pl.Series(CAPTIONED, [None, *(one.caption or None for one in interventions)], pl.String)
        self._ciphered = np.array([False, *(one.cipher for one in interventions)])
        self._known: dict[tuple[int, int], tuple[Question, Question]] = {}

    def of(self, frame: pl.DataFrame) -> npt.NDArray[np.int64]:
        """The condition of each row of a trial frame."""
        return self._condition[self._trials.block(frame["trial"].to_numpy().astype(np.int64))]

    def stimulus(self, number: int) -> tuple[int, int]:
        """The condition of a stimulus, and its number in the plain study."""
        at = np.array([number])
        return int(self._condition[self._stimuli.block(at)][0]), int(self._stimuli.plain(at)[0])

    def plain(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The same rows as trials of the plain study."""
        blocks = self._blocks.gather(self._origin[frame["block"].to_physical().to_numpy()])
        plain = self._trials.plain(frame["trial"].to_numpy().astype(np.int64))
        trials = pl.Series("trial", plain, frame["trial"].dtype)
        return frame.with_columns(trials, blocks).drop(FACTOR)

    def ask(self, frame: pl.DataFrame) -> list[Question]:
        """From a trial frame to its questions, the condition among their factors; equal ones are the same object."""
        plain = self.study.ask(self.plain(frame))
        return [self._question(c, q) for c, q in zip(self.of(frame).tolist(), plain, strict=True)]

    def _question(self, condition: int, plain: Question) -> Question:
        key = (condition, id(plain))
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            asked = self.interventions[condition - 1].question(plain, self.study.changes.led) if condition else plain
            told = {**asked.factors, FACTOR: self.interventions[condition - 1].name if condition else PLAIN}
            # The plain one is kept beside it, as an identity may be given again once its owner is gone.
            found = self._known[key] = (plain, replace(asked, factors=told))
        return found[1]

    def sample(self, wanted: int, seed: int, repeats: int) -> npt.NDArray[np.int64]:
        """The plain study's sample of as many requests as there are for each condition, in all of them."""
        conditions = 1 + len(self.interventions)
        share = wanted // conditions
        try:
            numbers = self.study.sample(share, seed, repeats)
        except DataError as error:
            raise DataError(
                f"{wanted:,} requests are {share:,} for each of {conditions} conditions (with the plain one). {error}"
            ) from error
        return self._trials.all_of(np.sort(numbers))

    def answer(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Decode what was ciphered, then understand it as the plain study does.

        A reply that says that it cannot read the cipher is no refusal: its `na` is `NA.NEITHER`, and `reading` tells it
        apart.
        """
        plain = self.plain(frame)
        if self._captions.count():
            plain = plain.with_columns(self._captions.gather(self.of(frame)))
        told: list[pl.Series] = []
        void = np.zeros(frame.height, dtype=np.bool_)
        if self._ciphered.any():
            rows = np.flatnonzero(self._ciphered[self.of(frame)] & frame["text"].is_not_null().to_numpy())
            text = frame["text"].to_numpy().astype(object)
            kinds = np.full(frame.height, None, dtype=object)
            if rows.size:
                part = plain[rows]
                read = _readings(part["text"].to_list(), self.study.ask(part))
                kinds[rows] = [reading.kind.value for reading in read]
                text[rows] = [reading.text for reading in read]
                void[rows] = [not reading.text for reading in read]
                plain = plain.with_columns(pl.Series("text", text.tolist(), dtype=pl.String))
            told = [pl.Series(READING, kinds.tolist(), dtype=_KINDS)]
        out = self.study.answer(plain).with_columns(frame["trial"], frame["block"], frame[FACTOR], *told)
        out = out.drop(CAPTIONED, strict=False)
        if void.any():
            empty = pl.Series(void) & (frame["status"].cast(pl.String) == Status.OK.value)
            na = pl.when(empty).then(pl.lit(NA.NEITHER.value)).otherwise(pl.col("na").cast(pl.String))
            out = out.with_columns(na.cast(out.schema["na"]).alias("na"))
        return out


def _readings(texts: Sequence[str], questions: Sequence[Question]) -> list[caesar.CipherReading]:
    """What replies to ciphered questions say, each distinct (reply, question) read once; empty if they say nothing."""
    known: dict[tuple[str, int], caesar.CipherReading] = {}
    out = []
    for text, question in zip(texts, questions, strict=True):
        key = (text, id(question))
        if key not in known:
            known[key] = _reading(text, question.options)
        out.append(known[key])
    return out


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
    whole = text[: caesar.LIMIT]
    others = {caesar.CipherKind.PLAIN: whole, caesar.CipherKind.DECODED: caesar.decode(whole)}
    naming = {kind: said for kind, said in others.items() if parse(said, options).choice is not None}
    if len(naming) != 1:
        return reading
    ((kind, said),) = naming.items()
    return caesar.CipherReading(kind if reading.kind is caesar.CipherKind.UNREADABLE else caesar.CipherKind.MIXED, said)
