"""Trials of a study as columns: who is shown, what is asked, in which order options stand."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Order
from facevalue.models._sim_pairs import FOUR, PAIR
from facevalue.models._sim_text import ABOUT, FIELDS, KEYWORDS, LISTED, STATED, YES_NO
from facevalue.protocol.calibration import Calibration
from facevalue.protocol.side_by_side import LEFT, SIDE
from facevalue.protocol.study import Study
from facevalue.statistics.sets import BESIDE
from facevalue.types import Question

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
SIDES = ("", "_1", "_2")
_ORDERS = ("order", "ordering", "draw", "wording", ABOUT)
"""Factors of a question that say how it is asked, not what."""
_TEXTS = (FIELDS, STATED, KEYWORDS, LISTED)


@dataclass(frozen=True)
class AlikeRows:
    """Rows that are asked alike; `question` is the number of each row's question among `questions`."""

    rows: Codes
    questions: tuple[str, ...]
    question: Codes
    factors: Sequence[Mapping[str, str | None]]
    """Factors of each of `questions`."""

    def matches(self, labels: Mapping[str, str]) -> Flags:
        """Rows whose question agrees with the labels of an estimate."""
        agrees = [
            all(factors.get(name) in (None, "", level) for name, level in labels.items()) for factors in self.factors
        ]
        return np.array(agrees, dtype=np.bool_)[self.question]


@dataclass(frozen=True)
class ChoiceRows(AlikeRows):
    """Rows that are asked to choose among the same options."""

    options: tuple[str, ...]
    """Their levels, as the first question lists them."""
    scenarios: tuple[str, ...]
    scenario: Codes
    order: Codes
    """Option at each place as shown, (rows, options)."""
    texts: pl.Series
    wording: Codes
    """Each row's number of a question as worded, whose replies stand one after the other in `texts`."""
    sides: bool
    """True if the question is about two people, `_1` and `_2`."""
    about: Array
    """1 where the first of these is asked about, -1 where the second is."""


@dataclass(frozen=True)
class WritingRows(AlikeRows):
    """Rows that are asked for words or numbers of their own: `wants` is the factor that says which, if any."""

    scenario: str
    wants: str
    listed: str


class AuditTrials:
    """All trials and repeats of a study, with what its `Calibration` says is planted, who is a person, what is same."""

    def __init__(self, study: Study, calibration: Calibration) -> None:
        self.study, self.same = study, calibration.same
        plain = study.design.trials(np.arange(study.design.size))
        repeats = study.repeats
        self.frame = pl.concat([
            plain.with_columns(pl.lit(repeat, pl.UInt8).alias("repeat"), pl.lit("ok").alias("status"))
            for repeat in range(repeats)
        ])  # fmt: skip
        self.stimulus = np.tile(study.design.stimulus_numbers(plain["trial"].to_numpy()), repeats).astype(np.int64)
        self.levels = {name: levels for name in calibration.planted if (levels := self._levels(name))}
        self._calibration = calibration
        questions = study.ask(plain)
        numbers: dict[int, int] = {}
        codes = np.array([numbers.setdefault(id(question), len(numbers)) for question in questions], dtype=np.int64)
        distinct = list({id(question): question for question in questions}.values())
        self._question = np.tile(codes, repeats)
        self.kinds, self.written = _kinds(distinct, self._question, plain.columns, self.levels)

    def _levels(self, name: str) -> list[str]:
        names = (*(name + side for side in SIDES), BESIDE + name)
        columns = [self.frame[column].cast(pl.String) for column in names if column in self.frame.columns]
        return pl.concat(columns).drop_nulls().unique().sort().to_list() if columns else []

    @cached_property
    def codes(self) -> dict[tuple[str, str], Codes]:
        """Level of a planted factor that each row shows on a side, -1 for none; of factors and sides that rows have."""
        return {
            (name, side): self._codes(name, name + side)
            for name, side in product(self.levels, SIDES) if name + side in self.frame.columns
        }  # fmt: skip

    @cached_property
    def other_codes(self) -> dict[str, Codes]:
        """The same of the other of any two pictures that stand side by side, by factor."""
        return {name: self._codes(name, BESIDE + name) for name in self.levels if BESIDE + name in self.frame.columns}

    def _codes(self, name: str, column: str) -> Codes:
        places = {level: index for index, level in enumerate(self.levels[name])}
        levels = self.frame[column].cast(pl.String)
        return levels.replace_strict(places, default=-1, return_dtype=pl.Int64).to_numpy()

    @cached_property
    def shows(self) -> Flags:
        """Rows whose question is asked of anybody with a level of a planted factor."""
        out = np.zeros(self.frame.height, dtype=np.bool_)
        for codes in self.codes.values():
            out |= codes >= 0
        return (np.bincount(self._question, out) > 0)[self._question]

    @cached_property
    def signs(self) -> Array:
        """-1 where a pair of pictures has its base on the left, so that scores count the other way round; else 1."""
        if SIDE not in self.frame.columns:
            return np.ones(self.frame.height)
        return np.where((self.frame[SIDE].cast(pl.String) == LEFT).fill_null(value=False).to_numpy(), -1.0, 1.0)

    @cached_property
    def times(self) -> Array:
        """Times at which rows are asked in the order of a run, from -.5 at the first to .5 at the last."""
        design = self.study.design
        order = np.concatenate(list(Order(design, self.study.asked_together, 0).pieces(2**16)))
        places = np.empty(design.size, dtype=np.int64)
        places[order] = np.arange(design.size)
        return np.tile(places / max(design.size - 1, 1) - 0.5, self.frame.height // design.size)

    def of_first_group(self, side: str) -> Flags:
        """Rows that show on a side somebody of the first level of any planted factor that people differ in."""
        people = self.units[side][0] if side in self.units else np.full(self.frame.height, -1)
        out = np.zeros(self.frame.height, dtype=np.bool_)
        for name in self.levels:
            codes = self.codes.get((name, side))
            if codes is None:
                continue
            present = (people >= 0) & (codes >= 0)
            pairs = np.unique(np.stack([people[present], codes[present]]), axis=1)
            if np.unique(pairs[0]).size == pairs.shape[1] and np.unique(pairs[1]).size > 1:
                out |= present & (codes == 0)
        return out

    def uneven_rows(self, share: float) -> Flags:
        """Rows without most people of the first groups: this share of them is left, two at least."""
        rows = np.ones(self.frame.height, dtype=np.bool_)
        for side, (people, _) in self.units.items():
            few = self.of_first_group(side)
            first = np.unique(people[few])
            rows &= ~few | np.isin(people, first[: max(round(share * first.size), 2)])
        return rows

    @cached_property
    def units(self) -> dict[str, tuple[Codes, Codes]]:
        """Person, or whatever else was sampled, and picture that each row shows on a side, -1 for none, by side."""
        return {side: of_side for side in SIDES if (of_side := self._of_side(side)) is not None}

    def _of_side(self, side: str) -> tuple[Codes, Codes] | None:
        frame, manifest = self.frame, self.study.manifest
        if f"image{side}" in frame.columns:
            images = frame[f"image{side}"].cast(pl.String)
            names = (self._calibration.sampled, "identity", "set")
            owner = next((name for name in names if name in manifest.columns), "image")
            person_of = dict(zip(manifest["image"], manifest[owner], strict=True))
            return _dense(images.replace(person_of)), _dense(images)
        columns_of_side = [name + side for name in self._calibration.planted if side and name + side in frame.columns]
        if not columns_of_side:
            return None
        axes = (axis for block in self.study.design.blocks for axis in block.stimulus)
        columns = (column.name for axis in axes for column in axis.columns())
        shared = [name for name in dict.fromkeys(columns) if not name.endswith(SIDES[1:]) and name in frame.columns]
        people = [name for name in self._calibration.units if name in frame.columns]
        nobody = frame[columns_of_side[0]].is_null()
        persons, pictures = (
            _dense(_join_columns(frame, [*columns_of_side, *columns_of_unit]).set(nobody, None))
            for columns_of_unit in (people, shared)
        )
        return persons, pictures


def _join_columns(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    texts = [pl.col(name).cast(pl.String).fill_null("") for name in columns]
    return frame.select(pl.concat_str(texts, separator="|").alias("joined")).to_series()


def _dense(column: pl.Series) -> Codes:
    return (column.rank("dense").cast(pl.Int64) - 1).fill_null(-1).to_numpy()


def _scenario(question: Question) -> str:
    return question.factors.get("scenario") or question.prompt


def _key(question: Question) -> str:
    return json.dumps({name: level for name, level in question.factors.items() if name not in _ORDERS}, sort_keys=True)


def _wanted_level(question: Question) -> tuple[str, str]:
    """Factor that says which words or numbers are wanted, and its level; empty where any are."""
    wants = next((name for name in _TEXTS if question.factors.get(name)), "")
    return wants, question.factors.get(wants) or ""


_Facts = tuple[tuple[str, ...], Codes, Sequence[Mapping[str, str | None]]]
"""Fields of `AlikeRows` but its rows."""


def _kinds(
    distinct: Sequence[Question], codes: Codes, columns: Sequence[str], planted: Mapping[str, Sequence[str]]
) -> tuple[list[ChoiceRows], list[WritingRows]]:
    """Group rows by what is asked."""
    together: dict[tuple[object, ...], list[int]] = {}
    for index, question in enumerate(distinct):
        levels = tuple(sorted(option.level for option in question.options))
        kind = (levels,) if levels else (_scenario(question), *_wanted_level(question))
        together.setdefault(kind, []).append(index)
    two = any(f"{name}_1" in columns for name in planted)
    kinds, written = [], []
    for indices in together.values():
        place = np.full(len(distinct), -1, dtype=np.int64)
        place[indices] = np.arange(len(indices))
        rows = np.flatnonzero(place[codes] >= 0)
        number = place[codes[rows]]
        questions = [distinct[index] for index in indices]
        keys = [_key(question) for question in questions]
        names = tuple(dict.fromkeys(keys))
        of_names = [questions[keys.index(name)].factors for name in names]
        factors = [{name: level for name, level in levels.items() if name not in planted} for levels in of_names]
        facts = (names, np.array([names.index(key) for key in keys])[number], factors)
        if questions[0].options:
            kinds.append(_kind(questions, rows, number, facts, two))
        else:
            written.append(WritingRows(rows, *facts, _scenario(questions[0]), *_wanted_level(questions[0])))
    return kinds, written


def _kind(questions: Sequence[Question], rows: Codes, number: Codes, facts: _Facts, two: bool) -> ChoiceRows:
    levels = tuple(option.level for option in questions[0].options)
    scenarios = sorted({_scenario(question) for question in questions})
    scenario = np.array([scenarios.index(_scenario(question)) for question in questions])
    order = np.array([[levels.index(option.level) for option in question.options] for question in questions])
    texts = [option.label or option.text for question in questions for option in question.options]
    about = np.array([-1.0 if question.factors.get(ABOUT) == "2" else 1.0 for question in questions])
    compared = set(levels) in (set(PAIR), set(FOUR)) or (
        set(levels) == set(YES_NO) and two and ABOUT in questions[0].factors
    )
    return ChoiceRows(
        rows, *facts, levels, tuple(scenarios), scenario[number], order[number], pl.Series(texts, dtype=pl.String),
        number, compared, about[number],
    )  # fmt: skip
