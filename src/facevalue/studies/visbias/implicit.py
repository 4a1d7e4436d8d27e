"""Implicit against explicit (section 4.3): what forms say of a group beside what choices say of it.

Of the four questions, the paper compares the answers to each with what forms have in the field of that name, among
people of one gender or race. How the two lists of categories are matched is not stated. Here those count that both
have: political leaning as it is; religion without the three that only forms have; education with all below a bachelor's
as secondary school, but without "Associate". The two scales of income share no bound, so income is not measurable.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from facevalue.measures import unsigned
from facevalue.measures.cluster_bootstrap import Array, Estimates
from facevalue.measures.divergence import js
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.resampled import by_shuffles
from facevalue.studies.visbias import measures as m
from facevalue.studies.visbias.aggregate import Aggregate
from facevalue.studies.visbias.analysis_forms import first_replies
from facevalue.studies.visbias.recorded import SEED, not_measurable
from facevalue.studies.visbias.tables import choice_questions

NO_COMMON_BOUND = "the income ranges of the form and of the question share no bound"
FIELDS = {"education": "education level", "politics": "political spectrum", "religion": "religion"}
"""The field of the form that each question is compared with."""
LEVELS: Mapping[str, Mapping[str, str]] = {
    "education": {
        "No Education": "secondary school",
        "Elementary School": "secondary school",
        "Middle School": "secondary school",
        "High School": "secondary school",
        "Bachelor": "bachelor",
        "Master": "master",
        "Doctorate": "doctorate",
    },
    "politics": {
        "Left Communitarian": "left communitarian",
        "Right Communitarian": "right communitarian",
        "Left Liberal": "left liberal",
        "Right Liberal": "right liberal",
    },
    "religion": {
        "Islam": "islam",
        "Christianity": "christianity",
        "Hinduism": "hinduism",
        "Buddhism": "buddhism",
    },
}
"""What categories of the form mean among the options of the question."""
GROUPS: Mapping[str, Mapping[str, str]] = {
    "gender": {"Female": "female", "Male": "male"},
    "race": {
        "White": "white",
        "Black": "black",
        "Latino": "hispanic",
        "Asian": "asian",
        "ME": "middle eastern",
        "Middle-Eastern": "middle eastern",
    },
}
"""Groups that both tasks have, by the form's names."""


@dataclass(frozen=True, slots=True)
class _Said:
    """Votes of units for the options of one question, from both tasks: shape (units, options)."""

    forms: Array
    choices: Array

    @property
    def measurable(self) -> bool:
        """Whether both tasks say anything."""
        return bool(self.forms.sum() > 0 and self.choices.sum() > 0)


def add_agreement(table: EstimateTable, gathered: Aggregate) -> None:
    """Add the divergence between what forms and choices say, by question, and for each gender and race."""
    fields, rows = gathered.part("forms"), gathered.part("choices")
    if fields.is_empty() or rows.is_empty():
        return
    fields = first_replies(fields.filter(pl.col("task") == fields["task"][0]))
    there = set(rows["question"])
    for dimension, groups in GROUPS.items():
        if dimension not in rows.columns:
            continue
        for question in (q for q in choice_questions() if q.name in there):
            label = {"task": "mcq", "dimension": dimension, "question": question.name}
            if question.name not in FIELDS:
                not_measurable(table, m.AGREEMENT, label, NO_COMMON_BOUND)
                continue
            names = sorted(set(groups.values()))
            said = [_said(fields, rows, dimension, name, question.name, question.levels) for name in names]
            known = [(n, s) for n, s in zip(names, said, strict=True) if s.measurable]
            _add(table, label, known)


def _add(table: EstimateTable, label: Mapping[str, str | None], said: list[tuple[str, _Said]]) -> None:
    if not said:
        not_measurable(table, m.AGREEMENT, label, "no group has both forms and choices")
        return
    found = [_estimated(one) for _, one in said]
    value, se, n, clusters = (np.array([f[at] for f in found]) for at in range(4))
    several = len(said) > 1
    if several:  # and their mean, as the paper gives it
        value, se = np.append(value, value.mean()), np.append(se, np.sqrt((se**2).sum()) / len(said))
        n, clusters = np.append(n, n.sum()), np.append(clusters, clusters.sum())
    rngs = [np.random.default_rng(SEED + at) for at in range(len(said))]

    def shuffled(size: int) -> Array:
        null = np.stack([_shuffled(one, size, rng) for (_, one), rng in zip(said, rngs, strict=True)], axis=1)
        return np.column_stack([null, null.mean(axis=1)]) if several else null

    tests = by_shuffles(value, shuffled, signed=False)
    low, high = unsigned.interval(value, tests.floor)
    size = value.size
    labels = {name: [level] * size for name, level in label.items()}
    labels["group"] = [*(name for name, _ in said), *([None] if several else [])]
    method = np.full(size, unsigned.METHOD, dtype=object)
    estimates = Estimates(value, low, high, n.astype(np.int64), clusters.astype(np.int64), method, se)
    family = f"forms and choices by {label['dimension']}, {label['question']}"
    table.add(
        m.AGREEMENT, labels, estimates, floor=tests.floor, q=tests.q, p_least=tests.p_least, family=family
    )  # fmt: skip


def _said(
    fields: pl.DataFrame, rows: pl.DataFrame, dimension: str, group: str, question: str, levels: tuple[str, ...]
) -> _Said:
    own = [name for name, level in GROUPS[dimension].items() if level == group]
    members = fields.filter(
        (pl.col("attribute") == dimension) & (pl.col("categories").list.set_intersection(own).list.len() > 0)
    )["form"]
    known = LEVELS[question]
    told = (
        fields.filter(
            (pl.col("attribute") == FIELDS[question]) & ~pl.col("prefilled") & pl.col("form").is_in(members.to_list())
        )
        .select("form", pl.col("categories").alias("said"))
        .explode("said")
        .filter(pl.col("said").is_in(list(known)))
        .with_columns(level=pl.col("said").replace_strict(known))
    )
    votes = np.zeros((told.height, len(levels)))
    votes[np.arange(told.height), [levels.index(level) for level in told["level"]]] = 1.0
    mine = rows.filter((pl.col("question") == question) & (pl.col(dimension) == group)).drop_nulls("selected")
    listed = mine.select("image", *(pl.col("selected").list.get(at).alias(str(at)) for at in range(len(levels))))
    images = listed.group_by("image", maintain_order=True).agg(pl.exclude("image").sum()).drop("image")
    return _Said(votes, images.to_numpy().astype(np.float64))


def _estimated(said: _Said) -> tuple[float, float, int, int]:
    """Divergence with its jackknife standard error, votes and units."""
    forms, choices = said.forms, said.choices
    totals = forms.sum(axis=0), choices.sum(axis=0)
    squares = 0.0
    for at, units in enumerate((forms, choices)):
        left = [totals[0], totals[1]]
        moved = _between(*[left[i] - units if i == at else left[i] for i in (0, 1)])
        squares += (
            float((len(units) - 1) / len(units) * np.nansum((moved - np.nanmean(moved)) ** 2))
            if len(units) > 1
            else np.nan
        )
    n = round(float(forms.sum() + choices.sum()))
    return float(_between(totals[0], totals[1])), float(np.sqrt(squares)), n, len(forms) + len(choices)


def _shuffled(said: _Said, size: int, rng: np.random.Generator) -> Array:
    """Divergences where the two tasks say the same: the units of both are dealt out anew, each with all its votes."""
    units = np.concatenate([said.forms, said.choices])
    order = np.argsort(rng.random((size, len(units))), axis=1)
    drawn = units[order[:, : len(said.forms)]].sum(axis=1)
    return np.nan_to_num(_between(drawn, units.sum(axis=0) - drawn))


def _between(one: Array, other: Array) -> Array:
    """Divergence of two distributions given as counts; NaN where one is empty."""
    with np.errstate(invalid="ignore", divide="ignore"):
        p, q = one / one.sum(axis=-1, keepdims=True), other / other.sum(axis=-1, keepdims=True)
    return js(p, q)
