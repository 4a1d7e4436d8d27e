"""Trials of a study as columns, and replies to them in words, lists, numbers, JSON and forms of their own."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Order
from facevalue.models._sim_replies import (
    ABOUT,
    FIELDS,
    FILLED,
    FOUR,
    KEYWORDS,
    LISTED,
    PAIR,
    SENTENCES,
    SHARE_LISTED,
    STATED,
    YES_NO,
)
from facevalue.models.sim import REFUSAL
from facevalue.protocol.calibration import Calibration
from facevalue.protocol.side_by_side import LEFT, SIDE
from facevalue.protocol.study import Study
from facevalue.statistics.sets import BESIDE
from facevalue.types import Question

if TYPE_CHECKING:
    from facevalue.calibration.planted_answers import DrawnAudit

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


_SCALE = 0.1  # of a number's range: by how much one unit on the logit scale moves it
_KEPT = 0.8  # chance of each sentence of a description but the first


def reply_frame(
    rows: Codes, text: pl.Series, score: Array | None = None, probs: pl.Series | None = None
) -> pl.DataFrame:
    """Replies to some rows; `planted score` is what a scorer says of a text."""
    nothing = pl.Series([None], dtype=pl.List(pl.Float32)).new_from_index(0, rows.size)
    scored = pl.Series(np.full(rows.size, np.nan) if score is None else score)
    return pl.DataFrame(
        {"row": rows, "text": text, "probs": nothing if probs is None else probs, "planted score": scored}
    )


def refusing(text: pl.Series, refused: npt.NDArray[np.bool_]) -> pl.Series:
    """Texts, some of them refusals instead."""
    instead = pl.when(pl.lit(pl.Series(refused))).then(pl.lit(REFUSAL)).otherwise(pl.lit(text))
    return pl.select(instead.alias("text")).to_series()


def write_replies(trials: AuditTrials, audit: "DrawnAudit", written: WritingRows) -> pl.DataFrame:
    """Replies to rows that are asked for words or numbers."""
    hit = audit.hit(written)
    if written.wants == STATED:
        text, score = _write_fields(audit, written, hit)
    elif written.wants == FIELDS:
        text, score = _forms(trials, audit, written)
    elif written.wants == KEYWORDS:
        lists: list[list[str]] = json.loads(written.listed)
        words = audit.words(
            written.rows, [(f"{written.scenario} {index}", choices) for index, choices in enumerate(lists)], hit
        )
        text, score = (
            _join_texts([pl.Series(choices).gather(words[:, index]) for index, choices in enumerate(lists)], ", "),
            _score(words, lists),
        )
    elif written.wants == LISTED:
        text, score = _write_lists(audit, written, hit)
    else:
        text, score = _write_descriptions(audit, written, hit)
    refused = audit.draw_refusals(written.rows, {"": score > 0.5})
    return reply_frame(written.rows, refusing(text, refused), np.where(refused, np.nan, score))


def _join_texts(columns: Sequence[pl.Series], separator: str) -> pl.Series:
    return pl.DataFrame({str(index): column for index, column in enumerate(columns)}).select(
        pl.concat_str(pl.all(), separator=separator, ignore_nulls=True)
    ).to_series()  # fmt: skip


def _score(words: Codes, lists: Sequence[Sequence[str]]) -> Array:
    """Mean place of the words in their lists, from 0 at the last to 1 at the first."""
    return np.asarray(1 - (words / np.array([max(len(choices) - 1, 1) for choices in lists])).mean(axis=1))


def _write_descriptions(
    audit: "DrawnAudit", written: WritingRows, hit: npt.NDArray[np.bool_]
) -> tuple[pl.Series, Array]:
    lists = [words for _, words in SENTENCES]
    words = audit.words(
        written.rows, [(f"{written.scenario} {index}", choices) for index, choices in enumerate(lists)], hit
    )
    present = audit.draw_kept_parts(words.shape, _KEPT)
    present[:, 0] = True
    sentences = []
    for index, (template, listed) in enumerate(SENTENCES):
        sentence = pl.Series([template.format(word) for word in listed])
        sentences.append(sentence.gather(words[:, index]).set(pl.Series(~present[:, index]), None))
    return _join_texts(sentences, " "), _score(words, lists)


def _write_fields(audit: "DrawnAudit", written: WritingRows, hit: npt.NDArray[np.bool_]) -> tuple[pl.Series, Array]:
    fields: Mapping[str, Sequence[str | float]] = json.loads(written.listed)
    columns, scores = {}, []
    for name, listed in fields.items():
        texts = [option for option in listed if isinstance(option, str)]
        if texts:
            words = audit.words(written.rows, [(f"{written.scenario} {name}", texts)], hit)
            columns[name] = pl.Series(texts).gather(words[:, 0])
            scores.append(_score(words, [texts]))
            continue
        low, high = (float(end) for end in listed)
        share = np.clip(
            0.5 + _SCALE * audit.draw_amounts(written.rows, f"{written.scenario} {name}".strip(), hit), 0, 1
        )
        columns[name] = pl.Series(np.rint(low + (high - low) * share).astype(np.int64))
        scores.append(share)
    score = np.mean(scores, axis=0)
    if "" in columns:
        return pl.select(pl.format("About {}.", pl.lit(columns[""]))).to_series(), score
    return pl.DataFrame(columns).select(pl.struct(pl.all()).struct.json_encode()).to_series(), score


def _write_lists(audit: "DrawnAudit", written: WritingRows, hit: npt.NDArray[np.bool_]) -> tuple[pl.Series, Array]:
    """Lists that name options by what is planted for each, the likeliest where there are too few or too many."""
    options, fewest, greatest = json.loads(written.listed)
    words: list[str] = options or [word for _, listed in SENTENCES for word in listed]
    usual = np.log(SHARE_LISTED / (1 - SHARE_LISTED))
    margins = (
        np.stack([audit.draw_amounts(written.rows, f"{written.scenario} {word}", hit) for word in words], axis=1)
        + usual
    )
    rank = np.argsort(np.argsort(-margins, axis=1, kind="stable"), axis=1)
    is_listed = ((margins > 0) & (rank < greatest)) | (rank < fewest)
    entries = [pl.Series([word, None], dtype=pl.String).gather((~column).astype(np.int64))
               for word, column in zip(words, is_listed.T, strict=True)]  # fmt: skip
    return _join_texts(entries, ", ").replace("", "None."), np.asarray(is_listed.mean(axis=1))


def _forms(trials: AuditTrials, audit: "DrawnAudit", written: WritingRows) -> tuple[pl.Series, Array]:
    """Forms whose filled fields stay, and shift what is put in the others."""
    fields: Mapping[str, list[str]] = json.loads(written.listed)
    column = trials.frame[FILLED].cast(pl.String).gather(written.rows)
    distinct = column.unique(maintain_order=True).drop_nulls()
    forms = [json.loads(text) for text in distinct]
    places = column.replace_strict(
        dict(zip(distinct, range(distinct.len()), strict=True)), default=-1, return_dtype=pl.Int64
    )
    filled = {
        name: np.array([*(listed.index(form[name]) if form.get(name) in listed else -1 for form in forms), -1])[places]
        for name, listed in fields.items()
    }
    columns = {}
    for name, listed in fields.items():
        chosen = audit.draw_associated(written.rows, name, listed, filled, fields)
        columns[name] = pl.Series(listed).gather(np.where(filled[name] >= 0, filled[name], chosen))
    return pl.DataFrame(columns).select(pl.struct(pl.all()).struct.json_encode()).to_series(), np.zeros(
        written.rows.size
    )
