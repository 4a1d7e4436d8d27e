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
from scipy import stats

from facevalue.measures.divergence import js
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.families import adjust
from facevalue.measures.inference import LEVEL, Array, Estimates, Floor, floor_from
from facevalue.studies.visbias import measures as m
from facevalue.studies.visbias.analysis_forms import first_replies
from facevalue.studies.visbias.gathered import Gathered
from facevalue.studies.visbias.recorded import SEED, not_measurable
from facevalue.studies.visbias.tables import choice_questions

RESAMPLES = 1000
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


def add_agreement(table: EstimateTable, gathered: Gathered) -> None:
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
            label = {"paradigm": "mcq", "dimension": dimension, "question": question.name}
            if question.name not in FIELDS:
                not_measurable(table, m.AGREEMENT, label, NO_COMMON_BOUND)
                continue
            names = sorted(set(groups.values()))
            said = [_said(fields, rows, dimension, name, question.name, question.levels) for name in names]
            known = [(n, s) for n, s in zip(names, said, strict=True) if s.measurable]
            _add(table, label, known, RESAMPLES)


def _add(table: EstimateTable, label: Mapping[str, str | None], said: list[tuple[str, _Said]], resamples: int) -> None:
    if not said:
        not_measurable(table, m.AGREEMENT, label, "no group has both forms and choices")
        return
    found = [_estimated(one, SEED + at, resamples) for at, (_, one) in enumerate(said)]
    value, low, high, se, n, clusters = (np.array([f[at] for f in found]) for at in range(6))
    null = np.stack([f[6] for f in found], axis=1)
    if len(said) > 1:  # and their mean, as the paper gives it
        mean, error = value.mean(), float(np.sqrt((se**2).sum()) / len(said))
        reach = float(stats.norm.ppf(0.5 + LEVEL / 2)) * error
        value, se = np.append(value, mean), np.append(se, error)
        low, high = np.append(low, max(mean - reach, 0.0)), np.append(high, mean + reach)
        n, clusters = np.append(n, n.sum()), np.append(clusters, clusters.sum())
        null = np.column_stack([null, null.mean(axis=1)])
    floor: Floor = floor_from(null, value)
    size = value.size
    labels = {name: [level] * size for name, level in label.items()}
    labels["group"] = [*(name for name, _ in said), *([None] if len(said) > 1 else [])]
    method = np.full(size, "jackknife over images and forms", dtype=object)
    estimates = Estimates(value, low, high, n.astype(np.int64), clusters.astype(np.int64), method, se)
    family = f"forms and choices by {label['dimension']}, {label['question']}"
    table.add(m.AGREEMENT, labels, estimates, floor=floor, q=adjust(floor.p, "bh"), family=family)


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


def _estimated(said: _Said, seed: int, resamples: int) -> tuple[float, float, float, float, int, int, Array]:
    """Divergence with its jackknife interval, and what it is where the two tasks say the same.

    The null deals the units of both tasks out anew, each with all its votes.
    """
    forms, choices = said.forms, said.choices
    totals = forms.sum(axis=0), choices.sum(axis=0)
    value = float(_between(totals[0], totals[1]))
    squares = 0.0
    for at, units in enumerate((forms, choices)):
        left = [totals[0], totals[1]]
        moved = _between(*[left[i] - units if i == at else left[i] for i in (0, 1)])
        squares += (
            float((len(units) - 1) / len(units) * np.nansum((moved - np.nanmean(moved)) ** 2))
            if len(units) > 1
            else np.nan
        )
    se = float(np.sqrt(squares))
    size = len(forms) + len(choices)
    reach = float(stats.t.ppf(0.5 + LEVEL / 2, max(size - 2, 1))) * se
    units = np.concatenate([forms, choices])
    rng = np.random.default_rng(seed)
    order = rng.permuted(np.broadcast_to(np.arange(size), (resamples, size)), axis=1)
    drawn = units[order[:, : len(forms)]].sum(axis=1)
    null = np.nan_to_num(_between(drawn, units.sum(axis=0) - drawn))
    n = round(float(units.sum()))
    return value, max(value - reach, 0.0), value + reach, se, n, size, null


def _between(one: Array, other: Array) -> Array:
    """Divergence of two distributions given as counts; NaN where one is empty."""
    with np.errstate(invalid="ignore", divide="ignore"):
        p, q = one / one.sum(axis=-1, keepdims=True), other / other.sum(axis=-1, keepdims=True)
    return js(p, q)
