"""Estimates of who is preferred to whom, and where: log-odds, PairComp, polarity."""

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures import selection
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.fisher import fisher_exact
from facevalue.measures.log_odds import BETWEEN, EFFECTIVE, Counts, log_odds, log_odds_between
from facevalue.measures.pair_comparison import paircomp, polarity
from facevalue.measures.proportions import PAIRED
from facevalue.measures.selection import to_array
from facevalue.studies.vignette import measures as m
from facevalue.studies.vignette.aggregate import Tables
from facevalue.studies.vignette.aggregate_pictures import CONTROL, unit
from facevalue.studies.vignette.analysis_selection import heatmap
from facevalue.studies.vignette.recorded import record

_FAMILY = ["contrast", "paradigm", "question", "dimension"]


def add_log_odds(table: EstimateTable, tables: Tables) -> None:
    """Add log-odds by identity and activity, and those that the authors' code keeps."""
    within = [*_FAMILY, "identity"]
    keys = [*within, "activity"]
    both = selection.cells(heatmap(tables), keys).sort(keys)
    if not both.height:
        return
    group = both.select(pl.struct(within).rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()
    x, n, se, df = (to_array(both[name]) for name in ("s", "n", "se", "df"))
    value, error, low, high, p, freedom = log_odds_between(x, n, group)
    inside, outside = _counts(x, n, se / 100 * _wider(tables, both), df, group)
    own = log_odds(inside, outside)
    replicated = np.isfinite(own[1]) & ((df >= freedom) | ~np.isfinite(error))  # a property of the design
    error, low, high, p = (
        np.where(replicated, a, b) for a, b in zip((*own[1:4], own[4]), (error, low, high, p), strict=True)
    )
    numbers = {"value": value, "se": error, "low": low, "high": high}
    frame = both.select(*keys, "n", "s", "clusters").with_columns(
        pl.Series(name, numbers[name]).fill_nan(None) for name in numbers
    )
    how = np.where(replicated, EFFECTIVE, np.where(np.isfinite(error), BETWEEN, selection.TOO_FEW)).astype(object)
    four = (y for side in (inside, outside) for y in (side.chosen, np.maximum(side.options - side.chosen, 0.0)))
    published = np.where(np.isfinite(value), fisher_exact(*four), np.nan)
    record(table, m.LOG_ODDS, frame, how, p=p, p_paper=published, family="identity x activity")
    some = both["s"].to_numpy() > 0
    record(table, m.LOG_ODDS_RELEASED, frame.filter(some), how[some])


def _wider(tables: Tables, cells: pl.DataFrame) -> Array:
    """By how much the pictures on the other side widen an identity's intervals: 1 where they are in its own units."""
    partners, own = tables.pairs.filter("crossed"), tables.selected.filter(pl.col("unit").is_not_null())
    by = [*_FAMILY, "identity"]
    if not partners.height or not own.height:
        return np.ones(cells.height)
    alone, beside = (selection.cells(own, by, None, x).select(*by, "se") for x in (None, partners))
    both = alone.join(beside, on=by, nulls_equal=True, suffix="_beside").select(
        *by, wider=pl.col("se_beside") / pl.col("se")
    )
    found = cells.select(by).join(both, on=by, how="left", nulls_equal=True, maintain_order="left")["wider"]
    return to_array(found.fill_nan(None).fill_null(1.0))


def _counts(x: Array, n: Array, se: Array, df: Array, group: npt.NDArray[np.int64]) -> tuple[Counts, Counts]:
    """The activity and all others, each with its standard error over the pictures within activities."""

    def others(values: Array) -> Array:
        values = np.nan_to_num(values)
        return np.bincount(group, values)[group] - values

    error = np.where(np.isfinite(se), se, np.inf)  # an activity without one leaves the others without
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = (np.nan_to_num(n) * error) ** 2
        rest = others(np.where(np.isfinite(squares), squares, 0.0)) / others(n) ** 2
    rest = np.where(others(np.where(np.isfinite(error), 0.0, 1.0)) > 0, np.nan, np.sqrt(np.maximum(rest, 0.0)))
    return Counts(x, n, se, df + 1), Counts(np.maximum(others(x), 0.0), others(n), rest, others(df) + 1)


def add_paircomp(table: EstimateTable, tables: Tables) -> None:
    """Add PairComp of decisions, over all questions, and of each question of perception."""
    paradigm, question = pl.col("paradigm").cast(pl.String), pl.col("question").cast(pl.String)
    asked = tables.stimuli.filter(pl.col("contrast").cast(pl.String) == "identity")
    asked = asked.filter((paradigm == "perception") | ((paradigm == "decision") & ~question.str.starts_with(CONTROL)))
    if not asked.height:
        return
    summed = pl.when(paradigm != "decision").then(question).alias("question")
    parts = []
    for side, other in ((1, 2), (2, 1)):
        names = {"identity": f"identity_{side}", "other_identity": f"identity_{other}", "stratum": "gender"}
        labels = [pl.col(column).cast(pl.String).alias(name) for name, column in names.items()]
        chosen = "s" if side == 1 else "t"
        one = asked.select(*(x for x in _FAMILY if x != "question"), summed, unit(side), *labels, "n", s=chosen)
        one = one.with_columns(pl.col("contrast", "paradigm", "dimension").cast(pl.String))
        keys = [*_FAMILY, "identity", "other_identity", *selection.UNIT]
        parts.append(selection.add(one, keys, ("n", "s")))
    found = paircomp(pl.concat(parts), _FAMILY, _excess(tables)).sort([*_FAMILY, "identity", "other_identity"])
    p, published = to_array(found["p"]), to_array(found["p_paper"])
    record(table, m.PAIRCOMP, found, PAIRED, p=p, p_paper=published, family="pairs of identities")


def _excess(tables: Tables) -> pl.DataFrame | None:
    """What pictures that stand beside several of another identity add to its variance, where there are such."""
    partners = tables.pairs.filter(pl.col("crossed") & (pl.col("contrast") == "identity"))
    if not partners.height:
        return None
    own = tables.selected.filter((pl.col("contrast") == "identity") & (pl.col("paradigm") != "factuality"))
    by = [*_FAMILY, "identity"]
    found = selection.cells(own.with_columns(activity=pl.lit(None, pl.String)), by)
    variances = found.select(*by, variance=(pl.col("se") / 100) ** 2)
    return selection.excess(variances, partners, by)


def add_polarity(table: EstimateTable, tables: Tables) -> None:
    """Add polarity by term pair, by trait, and over all term pairs with a valence."""
    terms = tables.terms.filter(pl.col("valence").is_not_null())
    labels = ["gender", "dimension", "contrast", "paradigm", "question", "identity_1", "identity_2"]
    asked = tables.stimuli.filter(pl.col("paradigm").cast(pl.String) == "stereotype")
    if not asked.height or not terms.height:
        return
    asked = asked.with_columns(pl.col(labels).cast(pl.String), unit(1).alias("unit_1"), unit(2).alias("unit_2"))
    named = asked.join(terms.select("question", "trait", "pair", "valence"), on="question", maintain_order="left")
    first = named.with_columns(identity="identity_1", unit="unit_1")
    second = named.with_columns(identity="identity_2", unit="unit_2", s="t")
    sums = pl.concat([first, second]).drop("question")
    key = ["paradigm", "contrast", "dimension", "identity"]
    sums = selection.add(sums, [*key, "trait", "pair", "valence", "gender", "unit"], ("n", "s"))
    sums = sums.with_columns(pl.struct("gender", "unit").rank("dense").alias("cluster"))
    for own in (["trait", "pair"], ["trait"], []):
        by = [*key, *own]
        grouped = sums.with_columns(pl.col("pair").alias("question")) if "pair" in own else sums
        by = [name if name != "pair" else "question" for name in by]
        found = polarity(grouped, by).sort(by)
        tested = "polarity" if "trait" not in own or "pair" in own else "polarity, traits"
        p, published = to_array(found["p"]), to_array(found["p_paper"])
        record(table, m.POLARITY, found, PAIRED, p=p, p_paper=published, family=tested)
