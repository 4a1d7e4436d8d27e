"""Profiles of identities across the four paradigms, and how alike they are (VIGNETTE, 7.1 and 7.2, Figures 3 to 5)."""

import numpy as np
import polars as pl

from facevalue.measures.definitions import takes
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import enter_frame
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.pairs import SHARE_SUMS, UNIT_COLUMNS, balance_choices, frequency_methods, selection_frequencies
from facevalue.measures.profiles import NEUTRAL, add_correlations
from facevalue.studies.vignette import measures as m
from facevalue.studies.vignette.aggregate import CONTROL, Tables
from facevalue.studies.vignette.tables import PARADIGMS, term_pairs

SEED = 1
UNFAVOURABLE = ("struggle", "dislike")
"""Questions of perception by which an identity loses if it is named."""
BY_CONSTRUCTION = name_method(
    IntervalKind.NONE, "50 by construction, as a pair gives one identity what it takes from the other"
)
_PARADIGMS, _MODELS = (m.PARADIGM_PEARSON, m.PARADIGM_SPEARMAN), (m.MODEL_PEARSON, m.MODEL_SPEARMAN)


def favourable(rows: pl.DataFrame) -> pl.DataFrame:
    """Choices between two had the question asked for what is favourable: sides change where it asked for the contrary.

    An answer "both" or "none" counts half for each of the two (`pairs.balance_choices`), whatever was asked for.
    """
    against = pl.col("question").is_in(UNFAVOURABLE) | (pl.col("valence") == "low").fill_null(value=False)
    turned = (pl.when(against).then(t).otherwise(s).alias(s) for s, t in (("s", "t"), ("t", "s")))
    return balance_choices(rows).with_columns(turned)


def comparing() -> pl.Expr:
    """Answers that say something of an identity: not the activity contrast, not the politics terms."""
    left_out = sorted({pair.trait for pair in term_pairs() if not pair.valenced})
    politics = (pl.col("paradigm") == "stereotype") & pl.col("trait").is_in(left_out).fill_null(value=False)
    return (pl.col("contrast") != "activity") & ~politics & ~pl.col("question").str.starts_with(CONTROL)


def normalised_scores(tables: Tables) -> pl.DataFrame:
    """Scores by paradigm, dimension and identity (null: the whole dimension), as `selection_frequencies` gives them.

    Every answer counts alike, whatever the activity. The score of a whole dimension is its accuracy in factuality, and
    50 in the other paradigms.
    """
    pictures = tables.selected.filter(pl.col("unit").is_not_null()).select(tables.own.columns)
    answers = pl.concat([pictures, tables.own]).join(tables.terms, on=["paradigm", "question"], maintain_order="left")
    facts = pl.col("paradigm") == "factuality"
    answers = answers.filter(comparing())
    answers = pl.concat([favourable(answers.filter(~facts)), answers.filter(facts)])

    def cells(rows: pl.DataFrame, *by: str) -> pl.DataFrame:
        return selection_frequencies(rows.select(*by, *UNIT_COLUMNS, *SHARE_SUMS), by)

    scores = cells(answers, "paradigm", "dimension", "identity")
    accuracy = cells(answers.filter(facts), "paradigm", "dimension")
    rest = scores.filter(~facts).group_by("paradigm", "dimension", maintain_order=True)
    two = rest.agg(pl.lit(NEUTRAL).alias("value"), pl.col("n").sum() / 2, pl.lit(0, pl.Int64).alias("clusters"))
    return pl.concat([scores, accuracy, two], how="diagonal_relaxed").sort("paradigm", "dimension", "identity")


@takes(m.NORMALISED, *_PARADIGMS, *_MODELS)
def add_profiles(table: EstimateTable, tables: Tables) -> None:
    """Add normalised scores."""
    scores = normalised_scores(tables).drop("bound_low", "bound_high", "bound_se")
    constant = (scores["identity"].is_null() & (scores["paradigm"] != "factuality")).to_numpy()
    enter_frame(table, m.NORMALISED, scores, np.where(constant, BY_CONSTRUCTION, frequency_methods(scores)))


def compare(table: EstimateTable, estimates: pl.DataFrame) -> None:
    """Add correlations of scores over identities: between paradigms per model, and between models per paradigm."""
    scores = estimates.filter(pl.col("identity").is_not_null(), pl.col("versus").is_null(), measure=m.NORMALISED.name)
    add_correlations(table, _PARADIGMS, scores, "model", "paradigm", PARADIGMS, seed=SEED)
    add_correlations(table, _MODELS, scores, "paradigm", "model", seed=SEED)
