"""Estimates of the multiple-choice questions, and of missing answers to all tasks."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from facevalue.answers import NA
from facevalue.measures import divergence
from facevalue.measures.estimates import EstimateTable
from facevalue.studies.visbias import measures as m
from facevalue.studies.visbias.aggregate import Aggregate
from facevalue.studies.visbias.design import SPECIES
from facevalue.studies.visbias.dimensions import GROUP, PERSON, UNIT, dimensions
from facevalue.studies.visbias.recorded import SEED, as_shares, columns, shares
from facevalue.studies.visbias.tables import ChoiceQuestion, choice_questions

TASK = "mcq"
Names = list[tuple[str | None, str | None]]
"""Dimension and group; both null for all people."""


def add_choices(table: EstimateTable, gathered: Aggregate) -> None:
    """Add choice shares and divergences, of each dimension."""
    rows = gathered.part("choices")
    if rows.is_empty():
        return
    there = set(rows["question"])
    asked = [question for question in choice_questions() if question.name in there]
    counts = {question.name: len(question.levels) for question in asked}
    people = rows if SPECIES not in rows.columns else rows.filter(pl.col(SPECIES).is_null())
    if people.height:
        everyone = people.with_columns(pl.lit("").alias(GROUP))
        found, _ = divergence.from_answers(everyone, [GROUP], counts, item=PERSON, answer="selected")
        _add_shares(table, found, [(None, None)], asked)
    for one in dimensions(gathered.asked.groups):
        mine = one.of(rows)
        if mine.is_empty():
            continue
        found, groups = divergence.from_answers(mine, [GROUP], counts, item=UNIT, answer="selected")
        names: Names = [(one.name, group) for (group,) in groups]
        _add_shares(table, found, names, asked)
        unit, stratum = _sampled(mine)
        estimates, tests = divergence.divergence(found, SEED, unit=unit, stratum=stratum)
        rows_of: list[tuple[str | None, ...]] = [(TASK, *name, question.name) for name in names for question in asked]
        labels = columns(("task", "dimension", "group", "question"), rows_of)
        table.add(
            m.DIVERGENCE, labels, estimates, floor=tests.floor, q=tests.q, p_least=tests.p_least,
            family=f"choices by {one.name}",
        )  # fmt: skip


def _sampled(rows: pl.DataFrame) -> tuple[divergence.Codes, divergence.Codes | None]:
    """Who each unit is, and its occupation where every group has the same share of each; in the order of units' names.

    Then occupations make no difference between groups, and what they do to answers is no noise of these either.
    """
    kept = [c for c in (UNIT, PERSON, GROUP, "occupation") if c in rows.columns]
    units = rows.select(kept).unique(UNIT, keep="first").sort(UNIT)
    who = units[PERSON].fill_null("") if PERSON in kept else units[UNIT]
    person = who.rank("dense").cast(pl.Int64).to_numpy()
    if "occupation" not in kept or units["occupation"].null_count():
        return person, None
    stratum, group = (units[c].rank("dense").cast(pl.Int64).to_numpy() - 1 for c in ("occupation", GROUP))
    counts = np.zeros((stratum.max() + 1, group.max() + 1))
    np.add.at(counts, (stratum, group), 1)
    shares = counts / counts.sum(axis=1, keepdims=True)
    return person, stratum if np.allclose(shares, shares[0]) else None


def _add_shares(table: EstimateTable, found: divergence.Choices, names: Names, asked: Sequence[ChoiceQuestion]) -> None:
    most = found.weights.shape[2]
    cells: list[tuple[str | None, ...]] = [
        (TASK, *name, question.name, question.levels[at] if at < len(question.levels) else None)
        for name in names
        for question in asked
        for at in range(most)
    ]
    labels = columns(("task", "dimension", "group", "question", "choice"), cells)
    keep = np.array([cell[-1] is not None for cell in cells], dtype=np.bool_)
    table.add(m.SHARE, labels, as_shares(divergence.shares(found, SEED)), keep=keep)


def add_missing(table: EstimateTable, gathered: Aggregate) -> None:
    """Add how many replies have no valid answer, by task, question and group, and for which reasons."""
    rows = gathered.part("missing")
    if rows.is_empty():
        return
    rows = rows.with_columns(pl.when(pl.col("being").is_not_null()).then(pl.lit(SPECIES)).alias("dimension"))
    for by in (["task", "dimension"], ["task", "dimension", "question"]):
        part = rows.filter(pl.col("question").is_not_null()) if "question" in by else rows
        if part.height:
            labels, found = shares(part, "lost", by, "shown")
            table.add(m.NA_RATE, labels, found)
    reasons = sorted(set(rows["na"].drop_nulls()), key=[reason.value for reason in NA].index)
    for reason in reasons:
        said = pl.when(pl.col("na") == reason).then(pl.col("lost")).otherwise(0.0)
        labels, found = shares(rows.with_columns(said.alias("said")), "said", ["task", "dimension"], "shown")
        table.add(m.NA_RATE, {**labels, "reason": [reason] * len(labels["task"])}, found)
    if "image" not in rows.columns:
        return
    shown = rows.filter(pl.col("image").is_not_null())
    for one in dimensions(gathered.asked.groups):
        mine = one.of(shown.drop("dimension"))
        for by in (["task", GROUP], ["task", GROUP, "question"]):
            part = mine.filter(pl.col("question").is_not_null()) if "question" in by else mine
            if part.height:
                labels, found = shares(part, "lost", by, UNIT)
                size = len(labels[GROUP])
                table.add(m.NA_RATE, {**labels, "dimension": [one.name] * size}, found)
