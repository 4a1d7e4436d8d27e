"""Options of a question that are read as a reply was: what people, and pages, say that it means."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from facevalue.runs.stored_run import StoredRun
from facevalue.types import Question, Status

_EQUAL = 1e-6
_STATUSES = pl.Enum([status.value for status in Status])


def options_read_alike(
    run: StoredRun, rows: pl.DataFrame, questions: Sequence[Question], columns: Sequence[str]
) -> list[list[int]]:
    """Options that are read as the reply of each row was, by their places; none where there is no valid answer.

    An option is read as the study reads an answer with all probability on it.

    Parameters
    ----------
    run:
        The run whose study reads them.
    rows:
        Answers, with their `trial`.
    questions:
        What was asked, a question per row.
    columns:
        Columns that say what was answered, of which those with numbers are compared.
    """
    alike: list[list[int]] = [[] for _ in questions]
    places = [(row, option) for row, question in enumerate(questions) for option in range(len(question.options))]
    if not places:
        return alike
    at = [row for row, _ in places]
    certain = [[float(option == other) for other in range(len(questions[row].options))] for row, option in places]
    answered = run.study.answer(
        run.study.design.trials(rows["trial"].to_numpy().astype(np.int64)[at]).with_columns(
            pl.lit(0, pl.UInt8).alias("repeat"),
            pl.lit(Status.OK.value, _STATUSES).alias("status"),
            pl.lit(None, pl.String).alias("text"),
            pl.Series("probs", certain, pl.List(pl.Float32)),
        )
    )
    schema = answered.schema
    numbers = [name for name in columns if name in schema and (schema[name].is_numeric() or schema[name] == pl.Boolean)]
    if not numbers:
        return alike
    options, replies = (table.select(pl.col(numbers).cast(pl.Float64)).to_numpy() for table in (answered, rows[at]))
    is_said = ~np.isnan(options)
    same = (~is_said | (np.abs(options - replies) < _EQUAL)).all(axis=1) & is_said.any(axis=1)
    for place in np.flatnonzero(same & rows["na"].is_null().to_numpy()[at]):
        row, option = places[place]
        alike[row].append(option)
    return alike
