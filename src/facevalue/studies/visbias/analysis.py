"""From answers to estimates: every measure of VisBias, on what was collected while the answers passed by."""

from collections.abc import Iterator, Mapping

import polars as pl

from facevalue.measures.estimates import EstimateTable
from facevalue.studies.visbias.aggregate import Aggregate, Asked
from facevalue.studies.visbias.analysis_choices import add_choices, add_missing
from facevalue.studies.visbias.analysis_forms import add_forms
from facevalue.studies.visbias.analysis_pairs import add_pairs
from facevalue.studies.visbias.analysis_texts import add_texts
from facevalue.studies.visbias.analysis_words import add_words
from facevalue.studies.visbias.implicit import add_agreement
from facevalue.studies.visbias.measures import LABELS

STUDY = "visbias"


def estimated(answers: Mapping[str, Iterator[pl.DataFrame]], asked: Asked) -> pl.DataFrame:
    """Estimate everything, per model.

    Parameters
    ----------
    answers:
        Per model the answers in chunks.
    asked:
        What was asked.

    Returns
    -------
    The table of estimates (`measures.estimates`), with the labels of `measures.LABELS`; null is all people.

    Raises
    ------
    DataError
        The answers lack a column.
    """
    parts = []
    for model, chunks in answers.items():
        gathered = Aggregate(asked)
        for chunk in chunks:
            gathered.add(chunk)
        table = EstimateTable(STUDY, model, LABELS)
        for add in (add_missing, add_choices, add_pairs, add_texts, add_words, add_forms, add_agreement):
            add(table, gathered)
        parts.append(table.frame())
    return pl.concat(parts) if parts else EstimateTable(STUDY, "", LABELS).frame()


__all__ = ["Asked", "estimated"]
