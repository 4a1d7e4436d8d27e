"""Estimates of marked words: which words tell descriptions of a group from those of the unmarked one."""

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse, special

from facevalue.annotate import lexicon
from facevalue.annotate.counts import WordCounts
from facevalue.errors import UnknownNameError
from facevalue.measures import marked_words
from facevalue.measures.cluster_bootstrap import LEVEL, Array, Estimates
from facevalue.measures.estimates import EstimateTable
from facevalue.studies.visbias import measures as m
from facevalue.studies.visbias.aggregate import Aggregate, WordTables
from facevalue.studies.visbias.dimensions import GROUP, PERSON, UNIT, Dimension
from facevalue.studies.visbias.recorded import SEED, not_measurable, to_array

TASK = "description"
UNMARKED = {"race": "white", "gender": "male", "skin_tone": "light"}
"""The unmarked group of a dimension (section 3.3); of others, that of most images. For skin tones it is our choice."""
_DELTA = "delta method over images, zero by shuffled labels"
_ABOVE_ZERO = 1e-6
_NONE = "no interval: a test statistic"
_RANKED = "no interval: a rank, as published"
_NOTHING = "no word stands in enough descriptions of both groups together"


def add_words(table: EstimateTable, gathered: Aggregate) -> None:
    """Add marked words of each dimension, tested (`strict`) and as published."""
    if gathered.part("texts").is_empty():
        return
    words = gathered.words()
    for name in gathered.asked.groups:
        if name in words.images.columns:
            _add(table, words, Dimension((name,)))


def _add(table: EstimateTable, words: WordTables, one: Dimension) -> None:
    placed = words.images.with_row_index("_at")
    units = one.of(placed)
    if units.is_empty():
        return
    sizes = units.group_by(GROUP).len().sort("len", GROUP, descending=[True, False])
    unmarked = UNMARKED.get(one.factors[0], sizes[GROUP][0])
    labels = placed.join(units.select("_at", GROUP, UNIT), on="_at", how="left", maintain_order="left")
    own = {"task": TASK, "dimension": one.name}
    if sizes.height < 2:
        not_measurable(table, m.MARKED, own, "only one group was described")
        return
    if unmarked not in sizes[GROUP]:
        not_measurable(table, m.MARKED, own, f"the unmarked group, {unmarked}, was not described")
        return
    _add_published(table, words.published, labels[GROUP].to_list(), one, unmarked)
    _add_strict(table, words.strict, labels, one, unmarked)


def _add_published(
    table: EstimateTable, counts: WordCounts, groups: list[str | None], one: Dimension, unmarked: str
) -> None:
    found = marked_words.published(counts, groups, unmarked)
    size = found.height
    rank = to_array(found["rank"])
    none = np.full(size, np.nan)
    estimates = Estimates(
        rank, none, none, found["tokens"].to_numpy(), found["documents"].to_numpy(),
        np.full(size, _RANKED, dtype=object),
    )  # fmt: skip
    table.add(m.MARKED_PUBLISHED, _labels(found, one), estimates)


def _add_strict(table: EstimateTable, counts: WordCounts, labels: pl.DataFrame, one: Dimension, unmarked: str) -> None:
    merged, groups, strata, people = _units(counts, labels)
    masked = [word for listed in lexicon.shipped("group_words").lists.values() for word in listed]
    try:
        found = marked_words.strict(merged, groups, unmarked, strata=strata, people=people, masked=masked, seed=SEED)
    except UnknownNameError:  # no description of the unmarked group
        not_measurable(table, m.MARKED, {"task": TASK, "dimension": one.name}, "the unmarked group has no text")
        return
    if found.is_empty():
        not_measurable(table, m.MARKED, {"task": TASK, "dimension": one.name}, _NOTHING)
        return
    se, images = _errors(merged, groups, found)
    value = to_array(found["log_odds"])
    p = to_array(found["p"])
    low, high = _interval(value, float(special.ndtri(0.5 + LEVEL / 2)) * se, p)
    names = _labels(found, one)
    tokens = (found["tokens"] + found["tokens_against"]).to_numpy()
    method = np.full(value.size, _DELTA, dtype=object)
    estimates = Estimates(value, low, high, tokens, images, method, se)
    # Each comparison is a family, whichever of its two groups a word marks.
    sides = zip(found["group"], found["against"], strict=True)
    family = [f"marked words ({' and '.join(sorted(pair))})" for pair in sides]
    q, p_least = to_array(found["q"]), to_array(found["p_least"])
    table.add(m.MARKED, names, estimates, p=p, q=q, p_least=p_least, family=family)
    none = np.full(value.size, np.nan)
    documents = (found["documents"] + found["documents_against"]).to_numpy()
    z = Estimates(to_array(found["z"]), none, none, documents, images, np.full(value.size, _NONE, dtype=object))
    table.add(m.MARKED_Z, names, z)


def _interval(value: Array, reach: Array, p: Array) -> tuple[Array, Array]:
    """Interval of so much on either side, which leaves zero out exactly where the test does.

    Labels dealt out anew keep their level for rare words, where the delta method is too certain.
    """
    shown = p < 1 - LEVEL
    inner = np.where(shown, np.minimum(reach, (1 - _ABOVE_ZERO) * np.abs(value)), np.fmax(reach, np.abs(value)))
    up = value >= 0
    return value - np.where(up, inner, reach), value + np.where(up, reach, inner)


def _labels(found: pl.DataFrame, one: Dimension) -> dict[str, list[str | None]]:
    return {
        "task": [TASK] * found.height,
        "dimension": [one.name] * found.height,
        "group": found["group"].to_list(),
        "other_group": found["against"].to_list(),
        "word": found["word"].to_list(),
    }


def _units(
    counts: WordCounts, labels: pl.DataFrame
) -> tuple[WordCounts, list[str | None], list[str | None] | None, list[str | None] | None]:
    """Counts by unit, images of one person together where they are in one group; group, occupation, person of each."""
    unit = labels[UNIT].fill_null("")
    names = unit.unique(maintain_order=True)
    code = unit.cast(pl.Enum(names)).to_physical().cast(pl.Int64).to_numpy()
    size = len(names)
    joins = sparse.csr_array(
        (np.ones(code.size, dtype=np.int64), (code, np.arange(code.size))), shape=(size, code.size)
    )
    merged = WordCounts(
        counts.words,
        sparse.csr_array(joins @ counts.tokens),
        sparse.csr_array(joins @ counts.documents),
        np.bincount(code, weights=counts.sizes, minlength=size).astype(np.int64),
        np.bincount(code, weights=counts.texts, minlength=size).astype(np.int64),
    )
    firsts = labels.with_columns(unit).unique(UNIT, keep="first", maintain_order=True)
    strata = firsts["occupation"].to_list() if "occupation" in firsts.columns else None
    people = firsts[PERSON].fill_null("").to_list() if PERSON in firsts.columns else None
    return merged, firsts[GROUP].to_list(), strata, people


def _errors(counts: WordCounts, groups: list[str | None], found: pl.DataFrame) -> tuple[Array, npt.NDArray[np.int64]]:
    """Standard error of each log-odds ratio over units, the prior taken as fixed; and how many units there were.

    Equation
    --------
    se² = sum over both groups of G/(G-1) sum_i (y_i - p n_i)² / ((n + a_0) p (1 - p))², p = (y + a)/(n + a_0): each
    logit is linear in its units' counts to first order.
    """
    label = np.array(groups, dtype=object)
    places = dict(zip(counts.words, range(len(counts.words)), strict=True))
    at = np.array([places[word] for word in found["word"]], dtype=np.int64)
    prior = np.asarray(counts.tokens.sum(axis=0), dtype=np.float64).ravel()
    variance, images = np.zeros(at.size), np.zeros(at.size, dtype=np.int64)
    for side in ("group", "against"):
        names = found[side].to_numpy()
        for group in np.unique(names):
            rows = np.flatnonzero(names == group)
            units = np.flatnonzero(label == group)
            y = sparse.csc_array(counts.tokens[units].astype(np.float64))[:, at[rows]]
            n = counts.sizes[units].astype(np.float64)
            total = n.sum() + prior.sum()
            p = (np.asarray(y.sum(axis=0)).ravel() + prior[at[rows]]) / total
            share = np.asarray(y.sum(axis=0)).ravel() / max(n.sum(), 1.0)  # so that residuals sum to zero
            squares = np.asarray(y.multiply(y).sum(axis=0)).ravel()
            squares += share**2 * (n**2).sum() - 2 * share * np.asarray(y.T @ n).ravel()
            with np.errstate(invalid="ignore", divide="ignore"):
                factor = units.size / (units.size - 1) if units.size > 1 else np.nan
                variance[rows] += factor * np.maximum(squares, 0) / (total * p * (1 - p)) ** 2
            images[rows] += units.size
    return np.sqrt(variance), images
