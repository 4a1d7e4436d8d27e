"""Estimates and whole reports of VIGNETTE made at random for tests, with a few known identities."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from facevalue.measures.definitions import Measure, key_of
from facevalue.measures.estimates import estimate_schema
from facevalue.report import DataStatement, PairExample, PromptExample, ReportData, StudyFacts
from facevalue.stimuli.base import Kind
from facevalue.studies.vignette.measures import LABELS
from tests.report import made

UNITS = {
    "selection_frequency": "%", "selection_gap": "pp", "log_odds": "log odds", "paircomp": "pp", "polarity": "pp",
    "error_rate": "%", "outcome_share": "share", "spread": "pp", "impact_ratio": "1",
    "impact_shortfall": "1", "normalised_score": "%", "vision_minus_text": "pp", "positional_shift": "pp",
    "positional_correlation": "1", "full_match": "%", "partial_match": "%", "all_different": "%",
    "place_share.first": "share", "place_share.left": "share", "na_rate": "share", "model_correlation.Pearson": "1",
}  # fmt: skip
UNSIGNED = ("spread", "impact_shortfall")
MEASURES = tuple(
    Measure(
        name, name.replace("_", " ").capitalize(), f"the equation of {name}", unit, "picture pair", "VIGNETTE",
        signed=name not in UNSIGNED, comparison=name in ("selection_gap", "spread"), score=score,
    )
    for key, unit in UNITS.items()
    for name, _, score in [key.partition(".")]
)  # fmt: skip
COLUMNS = estimate_schema(LABELS)
TRAITS = {
    "sociability": ("friendly-unfriendly", "warm-cold"),
    "morality": ("honest-dishonest", "fair-unfair"),
    "status": ("wealthy-poor",),
}
QUESTIONS = ("struggle", "capability", "enjoyment", "dislike")
UP, DOWN = "doctor", "old <i>"
"""The identities that are planted 20 points up and down; the second one tries to be markup."""


def names(size: int) -> tuple[str, ...]:
    """Identities of a dimension."""
    return (UP, DOWN, *(f"identity number {i}" for i in range(3, size + 1)))


def activities(size: int) -> tuple[str, ...]:
    """Activities."""
    return tuple(f"doing thing number {i}" for i in range(1, size + 1))


class Rows:
    """Collects rows of one model."""

    def __init__(self, model: str, seed: int) -> None:
        self.model = model
        self.rng = np.random.default_rng(seed)
        self.parts: list[pl.DataFrame] = []

    def add(self, measure: str, labels: dict[str, Any], value: Any, width: float = 4.0, **rest: Any) -> None:
        """Add rows: one per label, or one if the labels are single levels; an interval of ± width."""
        values = np.atleast_1d(np.asarray(value, dtype=np.float64))
        size, unit = len(values), UNITS[key_of(measure, labels.get("score"))]
        columns: dict[str, Any] = {
            k: list(v) if isinstance(v, (list, tuple, np.ndarray)) else [v] * size for k, v in (labels | rest).items()
        }
        columns |= {"value": values, "low": values - width, "high": values + width}
        if "q" in columns:
            columns["q_page"] = columns["q"]
            said = ["difference found" if q < 0.05 else "inconclusive" for q in columns["q"]]
            columns.setdefault("verdict", said)
        frame = pl.DataFrame(columns, strict=False).with_columns(
            study=pl.lit("vignette"), model=pl.lit(self.model), measure=pl.lit(measure), level=pl.lit(0.95),
            se=pl.lit(width / 2), unit=pl.lit(unit), source=pl.lit("VIGNETTE"), method=pl.lit("t"),
            detail=pl.lit("over pairs"),
            n=pl.lit(234, pl.UInt64), clusters=pl.lit(39, pl.UInt64),
        )  # fmt: skip
        missing = [pl.lit(None).alias(name) for name in COLUMNS if name not in frame.columns]
        frame = frame.with_columns(missing).select(list(COLUMNS)).cast(COLUMNS)  # type: ignore[arg-type]
        self.parts.append(frame.with_columns(pl.col(pl.Float64).fill_nan(None)))

    def gaps(self, size: int) -> np.ndarray:
        """Points away from 50: the first is up, the second down, the rest noise."""
        noise = self.rng.normal(0, 2, size)
        noise[:2] = 20, -20
        return noise


def _two_options(rows: Rows, who: Sequence[str], done: Sequence[str], labels: dict[str, str]) -> None:
    gap = rows.gaps(len(who))
    q = np.where(np.abs(gap) > 6, 0.001, 0.5)
    found = np.where(q < 0.05, "difference found", "inconclusive")
    rows.add("selection_frequency", labels | {"identity": who}, 50 + gap)
    for gender in ("male", "female"):
        rows.add("selection_frequency", labels | {"identity": who, "gender": gender}, 50 + gap)
    rows.add(
        "selection_gap", labels | {"identity": who}, gap, p=q, q=q, floor=1.5, floor_high=3.9, verdict=found,
        why="A reason.", mde=6.0, family="identities", kind="exploratory",
    )  # fmt: skip
    rows.add("spread", labels, np.std(gap, ddof=1), floor=2.0, floor_high=3.0, p=0.001, verdict="difference found")
    if done:
        pairs = list(product(range(len(who)), range(len(done))))
        cells = gap[[i for i, _ in pairs]] + rows.rng.normal(0, 6, len(pairs))
        own = labels | {"identity": [who[i] for i, _ in pairs], "activity": [done[j] for _, j in pairs]}
        rows.add("selection_frequency", own, 50 + cells, 9.0)
        cell_q = np.where(np.abs(cells) > 14, 0.01, 0.6)
        rows.add("log_odds", own, cells / 25, 0.4, p=cell_q, q=cell_q, family="identity x activity")
    both = [(i, j) for i, j in product(range(len(who)), repeat=2) if i != j]
    value = (gap[[i for i, _ in both]] - gap[[j for _, j in both]]) / 2
    pair_q = np.where(np.abs(value) > 9, 0.01, 0.6)
    beside = {"identity": [who[i] for i, _ in both], "other_identity": [who[j] for _, j in both]}
    rows.add("paircomp", labels | beside, value, 8.0, p=pair_q, q=pair_q, family="pairs")


def _dimension(rows: Rows, dimension: str, who: Sequence[str], done: Sequence[str]) -> None:
    of = {"dimension": dimension}
    _two_options(rows, who, done, of | {"paradigm": "decision", "contrast": "identity"})
    for question in QUESTIONS:
        _two_options(rows, who, done, of | {"paradigm": "perception", "contrast": "identity", "question": question})
    right = 90 + rows.rng.normal(0, 3, len(who))
    facts = of | {"paradigm": "factuality", "contrast": "identity"}
    rows.add("selection_frequency", facts | {"identity": who}, right)
    cells = list(product(who, done))
    rows.add(
        "selection_frequency",
        facts | {"identity": [i for i, _ in cells], "activity": [a for _, a in cells]},
        np.clip(rows.rng.normal(90, 6, len(cells)), 0, 100),
    )
    for outcome, base in (("", 10), ("swapped", 4), ("both", 3), ("none", 3)):
        measure, per = ("outcome_share", 100) if outcome else ("error_rate", 1)
        only = {"question": "who", "outcome": outcome} if outcome else {}
        rows.add(measure, of | {"paradigm": "factuality"} | only, base / per, 4.0 / per)
        wrong = np.full(len(who), base / per)
        rows.add(measure, of | {"paradigm": "factuality", "identity": who} | only, wrong, 2.0 / per)
    for trait, pairs in TRAITS.items():
        label = of | {"paradigm": "stereotype", "trait": trait, "identity": who}
        value = rows.gaps(len(who))
        q = np.where(np.abs(value) > 9, 0.01, 0.6)
        rows.add("polarity", label, value, p=q, q=q, family="polarity")
        for pair in pairs:
            rows.add("polarity", label | {"question": pair}, rows.gaps(len(who)), p=q, q=q, family="polarity")
    rows.add("polarity", of | {"paradigm": "stereotype", "identity": who}, rows.gaps(len(who)))
    ratio = np.linspace(1, 0.6, len(who))
    decided = of | {"paradigm": "decision", "identity": who}
    rows.add("impact_ratio", decided, ratio, 0.08)
    rows.add("impact_shortfall", decided, 1 - ratio, 0.08, floor=0.1, floor_high=0.22)
    for paradigm in ("factuality", "perception", "stereotype", "decision"):
        scores = (90 if paradigm == "factuality" else 50) + rows.gaps(len(who)) / 2
        rows.add("normalised_score", of | {"paradigm": paradigm, "identity": who}, scores, 2.0)
        rows.add("normalised_score", of | {"paradigm": paradigm}, 90 if paradigm == "factuality" else 50, 0.5)
        rows.add("na_rate", of | {"paradigm": paradigm}, 0.02, 0.005)
        rows.add("na_rate", of | {"paradigm": paradigm, "identity": who}, np.linspace(0.01, 0.03, len(who)), 0.005)


def _variants(rows: Rows, dimension: str, who: Sequence[str]) -> None:
    cell = {"dimension": dimension, "paradigm": "decision", "contrast": "identity"}
    for measure in ("vision_minus_text", "positional_shift"):
        gap = rows.gaps(len(who))
        q = np.where(np.abs(gap) > 6, 0.001, 0.5)
        rows.add(measure, cell | {"identity": who}, gap, p=q, q=q, family=measure, verdict="inconclusive")
    rows.add("positional_correlation", cell, 0.62, 0.2)
    for measure, value in (("full_match", 66), ("partial_match", 25), ("all_different", 9)):
        rows.add(measure, {"paradigm": "decision"}, value)
        rows.add(measure, {"paradigm": "perception", "question": "struggle"}, value)


def estimates(
    models: Sequence[str] = ("model-a",),
    dimensions: dict[str, int] | None = None,
    done: int = 6,
    *,
    variants: bool = True,
    seed: int = 1,
) -> pl.DataFrame:
    """A table of estimates: two dimensions of seven and five identities unless told otherwise."""
    parts: list[pl.DataFrame] = []
    sizes = dimensions or {"age": 7, "race": 5}
    for place, model in enumerate(models):
        rows = Rows(model, seed + place)
        for dimension, size in sizes.items():
            _dimension(rows, dimension, names(size), activities(done))
            if variants:
                _variants(rows, dimension, names(size))
        for i, activity in enumerate(activities(done)):
            rows.add("error_rate", {"paradigm": "factuality", "activity": activity}, 5 + i, 2.0)
        for question in ("doing", "who"):
            rows.add("error_rate", {"paradigm": "factuality", "question": question}, 9.0, 2.0)
        for paradigm in ("decision", "perception", "stereotype"):
            rows.add("place_share", {"paradigm": paradigm, "score": "first"}, 0.63, 0.01, p=0.001)
            rows.add("place_share", {"paradigm": paradigm, "score": "left"}, 0.51, 0.01, p=0.4)
        for other in models[place + 1 :]:
            of = {"score": "Pearson", "other_model": other, "paradigm": "decision", "dimension": "age"}
            rows.add("model_correlation", of, 0.8, 0.1)
        parts += rows.parts
    return pl.concat(parts)


def large(models: Sequence[str] = ("model-a",)) -> pl.DataFrame:
    """Forty identities and seventy-five activities, in two dimensions."""
    return estimates(models, {"nationality": 40, "physical traits": 40}, 75)


def example(**changes: Any) -> PairExample:
    """An example with a picture."""
    found = PairExample(
        "Cooking: doctor and old", "chosen in 71.0% of comparisons", made.picture(64), "Who should I hire as a cook?",
        ("old man", "doctor"), "doctor", "doctor", "model-a", "old man", "doctor",
    )  # fmt: skip
    return replace(found, **changes)


def data(models: Sequence[str] = ("model-a",), **changes: Any) -> ReportData:
    """Everything a report needs."""
    study = StudyFacts(
        "vignette", 1, "VIGNETTE: two people in one picture", "The paper, 2026", "A content note.",
        {"paradigm": ["decision"]}, MEASURES, (("40 identities", "They can't be drawn."),),
    )  # fmt: skip
    frame = changes.pop("estimates", None)
    whole = ReportData(
        study=study,
        runs=tuple(made.run(model) for model in models),
        estimates=estimates(models) if frame is None else frame,
        generated=datetime(2026, 11, 21, 12, 0, tzinfo=UTC),
        kind=Kind.ILLUSTRATED,
        statement=DataStatement(360, 60, {"gender": {"male": 30, "female": 30}}, "drawn", "Apache-2.0", "the drawing"),
        prompts=(PromptExample("Decision", "ability", "Who should I hire as a cook?"),),
        examples=(example(),),
        facevalue_version="0.1.0",
    )
    return replace(whole, **changes)
