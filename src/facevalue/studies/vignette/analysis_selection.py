"""Estimates of how often: selection frequencies, factual errors, missing answers."""

import numpy as np
import polars as pl
from scipy import special

from facevalue.measures import selection
from facevalue.measures.cluster_bootstrap import LEVEL, Array, Floor
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.fisher import fisher_exact
from facevalue.measures.proportions import WILSON, score_p
from facevalue.measures.selection import to_array
from facevalue.studies.vignette import measures as m
from facevalue.studies.vignette.aggregate import Tables
from facevalue.studies.vignette.aggregate_pictures import SUMMED, balanced
from facevalue.studies.vignette.recorded import both_and_each_gender, record, with_trait

_WITHIN = ["gender", "dimension", "contrast", "paradigm", "question"]
_HALF_NORMAL = float(np.sqrt(2 / np.pi))


def by_identity(tables: Tables, gender: bool = True, preferred: bool = False) -> pl.DataFrame:
    """Selection frequency of each identity per paradigm, contrast, dimension and question, as `selection.cells` has it.

    Parameters
    ----------
    tables:
        One model's answers.
    gender:
        Whether there are rows per gender, too; those of both have gender null.
    preferred:
        Whether answers that name both or none count half for each of the two, so that 50 is an even choice. Only of
        choices between people.
    """
    frames = _chosen(tables), tables.own, tables.pairs.filter("crossed")
    if preferred:
        selected = frames[0].filter(pl.col("paradigm") != "factuality")
        frames = balanced(selected), balanced(tables.own), tables.preferred_pairs.filter("crossed")
    if gender:
        selected, own, partners = map(both_and_each_gender, frames)
    else:
        selected, own, partners = (x.with_columns(pl.lit(None, pl.String).alias("gender")) for x in frames)
    keys = [*_WITHIN, "identity"]
    return with_trait(selection.cells(selected, keys, own, partners), tables.terms).sort(keys)


def _chosen(tables: Tables) -> pl.DataFrame:
    """Sums of contrasts in which identities are chosen, without single questions of factuality."""
    single = (pl.col("paradigm") == "factuality") & pl.col("question").is_not_null()
    return tables.selected.filter((pl.col("contrast") != "activity") & ~single)


def add_selection(table: EstimateTable, tables: Tables) -> None:
    """Add selection frequencies by identity, identity x activity and activity, and what else follows from them."""
    found = by_identity(tables)
    record(table, m.SELECTION, found, WILSON, p_paper=_against_the_rest(found))
    _gap(table, by_identity(tables, preferred=True))
    nowhere = pl.lit(None, pl.String)
    pooled = _chosen(tables).with_columns(gender=nowhere, activity=nowhere)
    whole, partners = (x.with_columns(gender=nowhere) for x in (tables.own, tables.pairs.filter("crossed")))
    keys = [*_WITHIN, "identity"]
    released = selection.cells(pooled, keys, whole, partners).drop("bound_low", "bound_high")
    record(table, m.SHARE_RELEASED, with_trait(released, tables.terms).sort(keys), WILSON)
    _cells(table, tables)


def _against_the_rest(found: pl.DataFrame) -> Array:
    """Fisher's exact test of an identity's counts against those of all others of its dimension."""
    n, s = to_array(found["n"]), to_array(found["s"])
    everyone = found.select(pl.col("n", "s").sum().over(_WITHIN))
    others, chosen = to_array(everyone["n"]) - n, to_array(everyone["s"]) - s
    p = fisher_exact(s, np.maximum(n - s, 0), np.maximum(chosen, 0), np.maximum(others - chosen, 0))
    return np.where((n > 0) & (others > 0), p, np.nan)


def _gap(table: EstimateTable, found: pl.DataFrame) -> None:
    share, size, df = (to_array(found[name]) for name in ("value", "size", "df"))
    p = score_p(share / 100, size, df)
    chance = 50 / np.sqrt(size)  # standard error of an even choice, known from as many answers
    floor = Floor(_HALF_NORMAL * chance, special.stdtrit(df, 0.5 + LEVEL / 2) * chance, p)
    shifted = [pl.col(name) - 50 for name in ("value", "low", "high", "bound_low", "bound_high")]
    asked = pl.when(pl.col("paradigm") != "perception").then("question").alias("asked")  # its four questions together
    gaps = found.with_columns(*shifted, asked)
    record(table, m.GAP, gaps, WILSON, p=p, family=_family(), floor=floor, apart=("paradigm", "asked"))


def _family() -> pl.Expr:
    """What is tested together with what, before paradigm and question; see `study.LEAD`."""
    apart = pl.when(pl.col("contrast") == "identity-activity").then(pl.lit(" in two activities")).otherwise(pl.lit(""))
    by = pl.when(pl.col("gender").is_not_null()).then(pl.lit(" by gender")).otherwise(pl.lit(""))
    return pl.concat_str(pl.lit("identities"), apart, by)


def heatmap(tables: Tables) -> pl.DataFrame:
    """Sums of identity x activity, genders together; decision and factuality over questions, perception for each."""
    summed = pl.col("paradigm").is_in(SUMMED)
    wanted = pl.col("activity").is_not_null() & (summed == pl.col("question").is_null())
    cells = tables.selected.filter((pl.col("contrast") != "activity") & wanted)
    return selection.add(cells, [*_WITHIN[1:], "identity", "activity", *selection.UNIT])


def _cells(table: EstimateTable, tables: Tables) -> None:
    keys = [*_WITHIN[1:], "identity", "activity"]
    record(table, m.SELECTION, selection.cells(heatmap(tables), keys).sort(keys), WILSON)
    # Who is chosen doing what, man or woman: the rows of Tables 15-19.
    decided = tables.selected.filter((pl.col("paradigm") == "decision") & pl.col("question").is_null())
    if decided["gender"].n_unique() > 1:
        each = ["gender", *keys]
        record(table, m.SELECTION, selection.cells(decided.drop_nulls("activity"), each).sort(each), WILSON)
    activities = tables.selected.filter(pl.col("contrast") == "activity")
    nobody = [name for name in keys if name != "identity"]
    for own, names in ((activities.drop_nulls("identity"), keys), (activities, nobody)):  # null where a picture has two
        record(table, m.SELECTION, selection.cells(own, names).sort(names), WILSON)


def add_neither(table: EstimateTable, tables: Tables) -> None:
    """Add how many choices between two people name both or none, where that was offered."""
    keys = ["paradigm", "contrast", "dimension", "question"]
    for measure, outcome in ((m.BOTH, "both"), (m.NONE, "none")):
        of = pl.col("outcome") == outcome
        found = selection.either_side(tables.neither.filter(of), tables.neither_pairs.filter(of), keys)
        record(table, measure, found.sort(keys), WILSON)


def add_errors(table: EstimateTable, tables: Tables) -> None:
    """Add error rates by dimension, question, identity and activity, and which errors those of "who" are."""
    keys = ["paradigm", "contrast", "dimension"]
    facts = tables.selected.filter(pl.col("paradigm") == "factuality")
    every, asked = facts.filter(pl.col("question").is_null()), facts.filter(pl.col("question").is_not_null())
    _errors(table, every, keys)
    _errors(table, asked, [*keys, "question"])
    _errors(table, _by_picture(every), [*keys, "activity"])
    _errors(table, every, [*keys, "identity"])
    for measure, outcome in ((m.SWAPPED, "swapped"), (m.BOTH, "both"), (m.NONE, "none")):
        wrong, names = tables.wrong.filter(pl.col("outcome") == outcome), [*keys, "question"]
        for by in (names, [*names, "identity"]):
            record(table, measure, selection.cells(wrong, by).sort(by), WILSON)


def _by_picture(frame: pl.DataFrame) -> pl.DataFrame:
    """Units told apart by identity, too: each picture is one, not all pictures of one activity or person together."""
    return frame.with_columns(pl.concat_str("identity", "unit", separator="|").alias("unit"))


def _errors(table: EstimateTable, right: pl.DataFrame, keys: list[str]) -> None:
    found = selection.cells(right, keys).sort(keys)
    swapped = {"value": "value", "low": "high", "high": "low", "bound_low": "bound_high", "bound_high": "bound_low"}
    wrong = found.with_columns((100 - pl.col(other)).alias(name) for name, other in swapped.items())
    record(table, m.ERROR, wrong, WILSON)


def add_missing(table: EstimateTable, tables: Tables) -> None:
    """Add shares of replies without a valid answer, by paradigm and dimension, and by identity shown."""
    nowhere = pl.lit(None, pl.String).alias("activity")
    for shown in (pl.col("identity").is_null(), pl.col("identity").is_not_null()):
        part = tables.missing.filter(shown).with_columns(nowhere)
        keys = ["paradigm", "dimension", "identity"]
        record(table, m.NA_RATE, selection.cells(part, keys).drop("bound_low", "bound_high").sort(keys), WILSON)
