"""From answers to estimates: every measure of VIGNETTE, in one pass over the answers of each model."""

from collections.abc import Iterable, Iterator, Mapping

import polars as pl

from facevalue.measures.estimates import EstimateTable
from facevalue.studies.vignette.aggregate import Tables, Tally
from facevalue.studies.vignette.analysis_pairs import add_log_odds, add_paircomp, add_polarity
from facevalue.studies.vignette.analysis_selection import add_errors, add_missing, add_neither, add_selection
from facevalue.studies.vignette.analysis_spread import add_spreads
from facevalue.studies.vignette.measures import LABELS
from facevalue.studies.vignette.profile import Profiles, compare_models, compare_paradigms, whole_pairs
from facevalue.studies.vignette.variants import Variants

STUDY = "vignette"
POOLED = "(all models)"


def analyse(answers: Mapping[str, Iterator[pl.DataFrame]]) -> pl.DataFrame:
    """Estimate everything, per model, and compare paradigms and models.

    Parameters
    ----------
    answers:
        Per model the answers in chunks, in the order of trials.

    Returns
    -------
    The table of estimates (`measures.estimates`), with the labels of `measures.LABELS`. The measures of selection are
    taken on the paper's wording, the first way to refer to people, and with pictures (`aggregate.core_variant`).

    Raises
    ------
    DataError
        The answers lack a column.
    """
    parts = []
    for model, chunks in answers.items():
        tally, profiles, variants = Tally(), Profiles(), Variants()
        for chunk in whole_pairs(_passing(chunks, tally)):
            profiles.add(chunk)
            variants.add(chunk)
        table = EstimateTable(STUDY, model, LABELS)
        estimate(table, tally.tables())
        profiles.write(table)
        variants.write(table)
        parts.append(table.frame())
    if not parts:
        return EstimateTable(STUDY, POOLED, LABELS).frame()
    estimates = pl.concat(parts)
    across = EstimateTable(STUDY, POOLED, LABELS)
    compare_paradigms(across, estimates)
    compare_models(across, estimates)
    return pl.concat([estimates, across.frame()])


def estimate(table: EstimateTable, tables: Tables) -> None:
    """Add all measures of one model's reduced answers."""
    add_selection(table, tables)
    add_log_odds(table, tables)
    add_paircomp(table, tables)
    add_polarity(table, tables)
    add_spreads(table, tables)
    add_errors(table, tables)
    add_neither(table, tables)
    add_missing(table, tables)


def _passing(chunks: Iterable[pl.DataFrame], tally: Tally) -> Iterator[pl.DataFrame]:
    """The same chunks, counted on their way."""
    for chunk in chunks:
        tally.add(chunk)
        yield chunk
