"""Profiles of identities across the four paradigms, and how alike they are (VIGNETTE, 7.1 and 7.2, Figures 3 to 5)."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from facevalue.measures import selection
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.profiles import NEUTRAL, add_correlations
from facevalue.measures.table_entries import estimates
from facevalue.measures.wanted import takes
from facevalue.studies.vignette import measures as m
from facevalue.studies.vignette.aggregate import CONTROL, STIMULUS, VARIANT, Main, unit
from facevalue.studies.vignette.tables import PARADIGMS, term_pairs

SEED = 1
UNFAVOURABLE = ("struggle", "dislike")
"""Questions of perception by which an identity loses if it is named."""
BY_CONSTRUCTION = "no interval: 50 by construction, as a pair gives one identity what it takes from the other"

_MOST_PARTS = 64  # sums of chunks that wait to be added up
_SCORE = ("paradigm", "dimension", "identity")
_PARADIGMS, _MODELS = (m.PARADIGM_PEARSON, m.PARADIGM_SPEARMAN), (m.MODEL_PEARSON, m.MODEL_SPEARMAN)


def pair_columns(frame: pl.DataFrame) -> list[str]:
    """Columns that tell picture pairs apart, whether the picture is shown or not."""
    return [name for name in STIMULUS if name in frame.columns]


def with_units(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with what was sampled on either side of the pair (`aggregate.unit`): `stratum`, `unit_1`, `unit_2`."""
    absent = [name for name in STIMULUS if name not in frame.columns]
    full = frame.with_columns(pl.lit(None, pl.String).alias(name) for name in absent)
    return full.with_columns(*(unit(k).alias(f"unit_{k}") for k in (1, 2)), stratum="gender").drop(absent)


def by_identity(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per answer and identity that it is about, with `n` and `s` of that identity, and its `unit`.

    Two rows for a choice between two identities, `s` being what chose each; one row for factuality, of the identity
    that was asked about. `frame` has units, `n` (mass), `s` (of it, what chose option 1 or was right) and `t` (what
    chose option 2), without the activity contrast.
    """
    two = frame.filter(pl.col("paradigm") != "factuality")
    facts = frame.filter(pl.col("paradigm") == "factuality")
    second = pl.col("about") == "2"
    columns = [pl.when(second).then(f"{name}_2").otherwise(f"{name}_1").alias(name) for name in ("identity", "unit")]
    first = two.with_columns(identity="identity_1", unit="unit_1")
    return pl.concat(
        [first, two.with_columns(identity="identity_2", unit="unit_2", s="t"), facts.with_columns(columns)]
    )


def other_weight(frame: pl.DataFrame) -> pl.Expr:
    """Weight of option 2; that of both and none belongs to nobody."""
    return pl.col("other") if "other" in frame.columns else 1 - pl.col("weight")


def favourable_weight(frame: pl.DataFrame) -> pl.Expr:
    """Weight of option 1 had the question asked for what is favourable: 1 - w where it asked for the contrary.

    An answer "both" or "none" counts half for each of the two, whatever was asked for; factuality is taken as it is.
    """
    even = (1 + pl.col("weight") - other_weight(frame)) / 2
    weight = pl.when(pl.col("paradigm").cast(pl.String) == "factuality").then("weight").otherwise(even)
    against = pl.col("question").is_in(UNFAVOURABLE) | (pl.col("valence") == "low").fill_null(value=False)
    return pl.when(against).then(1 - weight).otherwise(weight)


def comparing() -> pl.Expr:
    """Answers that say something of an identity: not the activity contrast, not the politics terms."""
    left_out = sorted({pair.trait for pair in term_pairs() if not pair.valenced})
    politics = (pl.col("paradigm") == "stereotype") & pl.col("trait").is_in(left_out).fill_null(value=False)
    return (pl.col("contrast") != "activity") & ~politics & ~pl.col("question").str.starts_with(CONTROL)


class Profiles:
    """Collects normalised scores from a stream of answers: give it chunks of whole pairs, then `write`."""

    def __init__(self) -> None:
        self._main = Main()
        self._parts: list[pl.DataFrame] = []
        self._overall: list[pl.DataFrame] = []

    @takes(m.NORMALISED, *_PARADIGMS, *_MODELS)
    def add(self, chunk: pl.DataFrame) -> None:
        """Take in a chunk of whole pairs."""
        answers = chunk.select(
            *("paradigm", "question", "about", "trait", "valence"),
            *(name for name in ("weight", "other", "mass", *STIMULUS, *VARIANT) if name in chunk.columns),
        )
        answers = self._main(answers).with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String)).filter(comparing())
        valid = pl.col("weight").is_not_null()
        answers = answers.with_columns(
            pl.when(valid).then("mass").otherwise(0.0).alias("n"),
            pl.when(valid).then(favourable_weight(answers) * pl.col("mass")).otherwise(0.0).alias("s"),
        ).with_columns(t=pl.col("n") - pl.col("s"))
        if not answers.height:
            return
        rows = by_identity(with_units(answers))
        self._reduce(self._parts, rows, _SCORE)
        self._reduce(self._overall, rows.filter(pl.col("paradigm") == "factuality"), ("paradigm", "dimension"))

    @staticmethod
    def _reduce(into: list[pl.DataFrame], rows: pl.DataFrame, by: Sequence[str]) -> None:
        keys = [*by, *selection.UNIT]
        into.append(selection.add(rows.with_columns(asked=pl.lit(1.0)), keys))
        if len(into) > _MOST_PARTS:
            into[:] = [selection.add(pl.concat(into), keys)]

    def frame(self) -> pl.DataFrame:
        """Scores by paradigm, dimension and identity (null: the whole dimension), as `selection.cells` gives them.

        The score of a whole dimension is its accuracy in factuality, and 50 in the other paradigms.
        """
        if not self._parts:
            return pl.DataFrame()
        scores, facts = _cells(self._parts, _SCORE), _cells(self._overall, ("paradigm", "dimension"))
        rest = scores.filter(pl.col("paradigm") != "factuality").group_by("paradigm", "dimension", maintain_order=True)
        two = rest.agg(pl.lit(NEUTRAL).alias("value"), pl.col("n").sum() / 2, pl.lit(0, pl.Int64).alias("clusters"))
        return pl.concat([scores, facts, two], how="diagonal_relaxed").sort("paradigm", "dimension", "identity")

    def write(self, table: EstimateTable) -> None:
        """Add `normalised_score` to the estimates."""
        scores = self.frame()
        if not scores.height:
            return
        constant = (scores["identity"].is_null() & (scores["paradigm"] != "factuality")).to_numpy()
        methods = np.where(constant, BY_CONSTRUCTION, selection.method(scores))
        labels = {name: scores[name].to_list() for name in _SCORE}
        table.add(m.NORMALISED, labels, estimates(scores, methods))


def _cells(frames: Sequence[pl.DataFrame], by: Sequence[str]) -> pl.DataFrame:
    """Pooled over activities: every answer counts alike."""
    return selection.cells(pl.concat(frames).with_columns(pl.lit(None, pl.String).alias("activity")), by)


def compare(table: EstimateTable, estimates: pl.DataFrame) -> None:
    """Add correlations of scores over identities: between paradigms per model, and between models per paradigm."""
    scores = estimates.filter((pl.col("measure") == m.NORMALISED.name) & pl.col("identity").is_not_null())
    add_correlations(table, _PARADIGMS, scores, "model", "paradigm", PARADIGMS, seed=SEED)
    add_correlations(table, _MODELS, scores, "paradigm", "model", seed=SEED)
