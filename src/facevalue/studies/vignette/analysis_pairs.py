"""Estimates of who is preferred to whom, and where: log-odds, PairComp, polarity."""

import numpy as np
import polars as pl

from facevalue.measures.estimates import EstimateTable
from facevalue.measures.fisher import fisher_exact
from facevalue.measures.inference import Array
from facevalue.measures.log_odds import EFFECTIVE, Counts, log_odds
from facevalue.measures.pair_comparison import paircomp, polarity
from facevalue.measures.proportions import SQUARE_AND_ADD
from facevalue.measures.selection import MOMENTS, ratio, to_array
from facevalue.studies.vignette import measures as m
from facevalue.studies.vignette.analysis_selection import heatmap
from facevalue.studies.vignette.moments import STIMULUS
from facevalue.studies.vignette.recorded import record
from facevalue.studies.vignette.tallies import Tables

_FAMILY = ["contrast", "paradigm", "question", "dimension"]


def add_log_odds(table: EstimateTable, tables: Tables) -> None:
    """Add log-odds by identity and activity, and those that the authors' code keeps."""
    within = [*_FAMILY, "identity"]
    cells = heatmap(tables)
    total = cells.group_by(within, maintain_order=True).agg(pl.col(MOMENTS).sum().name.prefix("all_"))
    both = cells.join(total, on=within, nulls_equal=True, maintain_order="left").sort([*within, "activity"])
    if not both.height:
        return
    own = {name: to_array(both[name]) for name in MOMENTS}
    rest = {name: np.maximum(to_array(both[f"all_{name}"]) - own[name], 0.0) for name in MOMENTS}
    value, se, low, high = log_odds(_counts(own), _counts(rest))
    four = (x for side in (own, rest) for x in (side["s"], np.maximum(side["n"] - side["s"], 0.0)))
    p = np.where(np.isfinite(value), fisher_exact(*four), np.nan)
    numbers = {"value": value, "se": se, "low": low, "high": high}
    frame = both.select(*within, "activity", "n", "s", "clusters")
    frame = frame.with_columns(*(pl.Series(name, x).fill_nan(None) for name, x in numbers.items()))
    record(table, m.LOG_ODDS, frame, EFFECTIVE, p=p, family="identity x activity")
    record(table, m.LOG_ODDS_RELEASED, frame.filter(pl.col("s") > 0), EFFECTIVE)


def _counts(moments: dict[str, Array]) -> Counts:
    _, se = ratio(moments)
    return Counts(moments["s"], moments["n"], se, moments["clusters"])


def add_paircomp(table: EstimateTable, tables: Tables) -> None:
    """Add PairComp of decisions, over all questions, and of each question of perception."""
    decided = (pl.col("paradigm") == "decision") & pl.col("question").is_null()
    wanted = (pl.col("contrast") == "identity") & (decided | (pl.col("paradigm") == "perception"))
    found = paircomp(tables.pairs.filter(wanted), _FAMILY).sort([*_FAMILY, "identity", "other_identity"])
    record(table, m.PAIRCOMP, found, SQUARE_AND_ADD, p=to_array(found["p"]), family="pairs of identities")


def add_polarity(table: EstimateTable, tables: Tables) -> None:
    """Add polarity by term pair, by trait, and over all term pairs with a valence."""
    terms = tables.terms.filter(pl.col("valence").is_not_null())
    labels = ["gender", "dimension", "contrast", "paradigm", "question", "identity_1", "identity_2"]
    asked = tables.stimuli.filter(pl.col("paradigm").cast(pl.String) == "stereotype")
    if not asked.height or not terms.height:
        return
    asked = asked.with_columns(pl.struct(STIMULUS).rank("dense").alias("cluster"), pl.col(labels).cast(pl.String))
    named = asked.join(terms.select("question", "trait", "pair", "valence"), on="question", maintain_order="left")
    first = named.with_columns(pl.col("identity_1").alias("identity"))
    second = named.with_columns(pl.col("identity_2").alias("identity"), pl.col("t").alias("s"))
    sums = pl.concat([first, second]).drop("question")
    key = ["paradigm", "contrast", "dimension", "identity"]
    for own in (["trait", "pair"], ["trait"], []):
        by = [*key, *own]
        grouped = sums.with_columns(pl.col("pair").alias("question")) if "pair" in own else sums
        by = [name if name != "pair" else "question" for name in by]
        found = polarity(grouped, by).sort(by)
        tested = "polarity" if "trait" not in own or "pair" in own else "polarity, traits"
        record(table, m.POLARITY, found, SQUARE_AND_ADD, p=to_array(found["p"]), family=tested)
