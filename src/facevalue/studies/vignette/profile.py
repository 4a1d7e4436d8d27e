"""Profiles of identities across the four paradigms, and how alike they are (VIGNETTE, 7.1 and 7.2, Figures 3 to 5)."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl
import scipy

from facevalue.errors import UnknownNameError
from facevalue.measures.cluster_bootstrap import LEVEL, RESAMPLES, Array, bca_interval, cell_means
from facevalue.measures.definitions import Measure, takes
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import enter_frame
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.pairs import (
    SHARE_SUMS,
    UNIT_COLUMNS,
    balance_choices,
    frequency_methods,
    selection_frequencies,
    to_array,
)
from facevalue.measures.uncertainty import Estimates
from facevalue.studies.vignette import measures as m
from facevalue.studies.vignette.aggregate import CONTROL, Tables
from facevalue.studies.vignette.tables import PARADIGMS, term_pairs

NEUTRAL = 50.0
"""Score of an identity that is neither favoured nor disfavoured, where two identities are compared."""
LOW, HIGH, CONFLICTING = "consistently low", "consistently high", "conflicting"
MIXED, ALONE = "mixed or neutral", "one paradigm only"
_FEWEST = 4  # identities from which a correlation gets an interval
_BCA = name_method(IntervalKind.BOOTSTRAP, "BCa over identities")


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
    pictures = tables.selected.lazy().filter(pl.col("unit").is_not_null()).select(tables.own.columns)
    rows = pl.concat([pictures, tables.own.lazy()])
    rows = rows.join(tables.terms.lazy(), on=["paradigm", "question"], maintain_order="left").filter(comparing())
    facts, by = pl.col("paradigm") == "factuality", ("paradigm", "dimension", "identity")
    answers = rows.select(*by, "question", "valence", *UNIT_COLUMNS, *SHARE_SUMS, "t").collect()
    answers = pl.concat([favourable(answers.filter(~facts)), answers.filter(facts)])

    def cells(rows: pl.DataFrame, *by: str) -> pl.DataFrame:
        return selection_frequencies(rows.select(*by, *UNIT_COLUMNS, *SHARE_SUMS), by)

    scores = cells(answers, *by)
    accuracy = cells(answers.filter(facts), "paradigm", "dimension")
    rest = scores.filter(~facts).group_by("paradigm", "dimension", maintain_order=True)
    two = rest.agg(pl.lit(NEUTRAL).alias("value"), pl.col("n").sum() / 2, pl.lit(0, pl.Int64).alias("clusters"))
    return pl.concat([scores, accuracy, two], how="diagonal_relaxed").sort(by)


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


def profile_pattern(scores: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Say of each identity whether its paradigms agree.

    `scores`: a row per identity and paradigm: `keys`, `paradigm`, `value`, `se`, `clusters` and `neutral` (what the
    score is compared with). Rows without a value are left out.
    Returns a row per identity: `keys`, `paradigms` (how many), `low`, `high` (lists of the paradigms whose whole
    interval lies below, or above, neutral) and `pattern`.

    Equation
    --------
    A paradigm is low if value + t_{1 - 0.025/m, G-1} se < neutral, high likewise, with m the identity's paradigms
    (Bonferroni: the chance of any wrong mark for an identity is at most 5%). All low: consistently low; all high:
    consistently high; one low and one high: conflicting (VIGNETTE, section 7.1, which gives no rule; the rule is ours).

    Notes
    -----
    Where nothing varied the interval is not known, and the paradigm is neither low nor high.

    Examples
    --------
    >>> rows = pl.DataFrame(
    ...     {"identity": ["old", "old", "sick", "sick"], "paradigm": ["perception", "decision"] * 2,
    ...      "value": [30.0, 65.0, 20.0, 31.0], "se": [2.0] * 4, "clusters": [50] * 4, "neutral": [50.0] * 4}
    ... )
    >>> profile_pattern(rows, ["identity"]).select("identity", "pattern").rows()
    [('old', 'conflicting'), ('sick', 'consistently low')]
    """
    needed = (*keys, "paradigm", "value", "se", "clusters", "neutral")
    for name in needed:
        if name not in scores.columns:
            raise UnknownNameError("column", name, scores.columns)
    measured = scores.select(needed).filter(pl.col("value").is_not_null() & pl.col("value").is_not_nan())
    measured = measured.with_columns(pl.len().over(keys).alias("m"))
    value, se, neutral, clusters, m = (to_array(measured[c]) for c in ("value", "se", "neutral", "clusters", "m"))
    with np.errstate(invalid="ignore"):
        spread = scipy.special.stdtrit(np.maximum(clusters - 1, 1), 1 - (1 - LEVEL) / 2 / m) * se
        varied = (se > 0) & (clusters > 1)
        below, above = varied & (value + spread < neutral), varied & (value - spread > neutral)
    marked = measured.with_columns(pl.Series("below", below), pl.Series("above", above))
    paradigm = pl.col("paradigm").cast(pl.String)
    patterns = marked.group_by(keys, maintain_order=True).agg(
        pl.len().alias("paradigms"),
        paradigm.filter(pl.col("below")).alias("low"),
        paradigm.filter(pl.col("above")).alias("high"),
    )
    lows, highs, size = pl.col("low").list.len(), pl.col("high").list.len(), pl.col("paradigms")
    cases = {ALONE: size < 2, LOW: lows == size, HIGH: highs == size, CONFLICTING: (lows > 0) & (highs > 0)}
    first = pl.coalesce(*(pl.when(case).then(pl.lit(name)) for name, case in cases.items()), pl.lit(MIXED))
    return patterns.with_columns(pattern=first)


def profile_correlations(first: Array, second: Array, seed: int, resamples: int = RESAMPLES) -> Estimates:
    """Correlate two profiles over identities, after Pearson and after Spearman.

    `first` and `second`: scores of the same identities; where either is NaN the identity is left out.
    Returns two estimates, Pearson's and Spearman's; `n` and `clusters` are identities.

    Equation
    --------
    r = Σ (x - x̄)(y - ȳ) / sqrt(Σ (x - x̄)² Σ (y - ȳ)²); Spearman's is r of the mid-ranks. Intervals by the
    bias-corrected accelerated bootstrap over identities (Efron 1987); for Spearman the ranks are taken once.

    Notes
    -----
    Noise in the scores pulls r towards zero: profiles of few pictures agree less than the same profiles of many.

    Examples
    --------
    >>> found = profile_correlations(np.array([1.0, 2, 3, 4, 5]), np.array([1.0, 4, 9, 16, 25]), seed=0)
    >>> found.value.round(3).tolist()
    [0.981, 1.0]
    """
    have_both = np.isfinite(first) & np.isfinite(second)
    x, y = np.asarray(first, dtype=np.float64)[have_both], np.asarray(second, dtype=np.float64)[have_both]
    size = int(have_both.sum())
    pairs = [(x, y), tuple(pl.Series(scores).rank().to_numpy() for scores in (x, y))] if size else []
    value, low, high, se = (np.full(2, np.nan) for _ in range(4))
    for i, (a, b) in enumerate(pairs):
        if np.ptp(a) <= 1e-12 * np.abs(a).max() or np.ptp(b) <= 1e-12 * np.abs(b).max():
            continue
        sums = _products((a - a.mean()) / a.std(), (b - b.mean()) / b.std())
        if size < _FEWEST:
            value[i] = _pearson(sums.sum(axis=0), np.full(5, float(size)))[0]
            continue
        correlation = bca_interval(sums, np.ones_like(sums), _pearson, seed, resamples)
        value[i], low[i], high[i], se[i] = (entry[0] for entry in correlation)
    method = _BCA if size >= _FEWEST else name_method(IntervalKind.NONE, f"fewer than {_FEWEST} identities")
    number = np.full(2, size, dtype=np.int64)
    return Estimates(value, low, high, number, number, np.full(2, method, dtype=object), se)


def add_correlations(
    table: EstimateTable,
    measures: tuple[Measure, Measure],
    scores: pl.DataFrame,
    each: str,
    between: str,
    levels: Sequence[str] | None = None,
    *,
    seed: int,
) -> None:
    """Add the correlations between any two levels of a column, for each dimension and over all.

    Parameters
    ----------
    scores:
        Estimates of one measure, by `dimension`, `identity`, `each` and `between`.
    each:
        Column of whose levels each is taken for itself.
    between:
        Column whose levels are compared; the second is in the label `other_` and its name.
    """
    order = scores[between].unique(maintain_order=True).to_list() if levels is None else levels
    for (level,), of_level in scores.group_by(each, maintain_order=True):
        dimensions = [(str(key[0]), rows) for key, rows in of_level.group_by("dimension", maintain_order=True)]
        for dimension, rows in [*dimensions, *([(None, of_level)] if len(dimensions) > 1 else [])]:
            wide = rows.pivot(between, index=["dimension", "identity"], values="value")
            for first, second in combinations([name for name in order if name in wide.columns], 2):
                correlation = profile_correlations(to_array(wide[first]), to_array(wide[second]), seed)
                labels: dict[str, list[str | None]] = {
                    each: [str(level)], "dimension": [dimension], between: [first], f"other_{between}": [second]
                }  # fmt: skip
                for at, measure in enumerate(measures):
                    table.add(measure, labels, correlation.at(slice(at, at + 1)))


def _products(x: Array, y: Array) -> Array:
    return np.stack([x, y, x * x, y * y, x * y], axis=1)


def _pearson(sums: Array, counts: Array) -> Array:
    mx, my, xx, yy, xy = np.moveaxis(cell_means(sums, counts), -1, 0)
    spread = np.maximum(xx - mx**2, 0) * np.maximum(yy - my**2, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.clip(np.where(spread > 1e-18, (xy - mx * my) / np.sqrt(spread), np.nan), -1.0, 1.0)[..., None]
