"""Comparisons of VIGNETTE: variants of a question, identities across paradigms and models (7.1 to 7.4, A.3, A.7).

Variants of one prompt about one pair (paraphrased, with positional answers, without the picture) are compared with each
other, answer by answer, so that what differs is the way of asking and nothing else. What only one of them has a valid
answer to is left out; `n` says how many were compared. Profiles of identities are compared across the four paradigms.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy import special

from facevalue.errors import UnknownNameError
from facevalue.measures.cluster_bootstrap import LEVEL, RESAMPLES, Array, bca_interval, cell_means
from facevalue.measures.definitions import Measure, takes
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import SumTable, enter_frame, frame_estimates, level_ranks
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.multitest import adjust_within
from facevalue.measures.pairs import (
    MOMENT_COLUMNS,
    SHARE_SUMS,
    SUM_ENDS,
    UNIT_COLUMNS,
    add_sums,
    as_shares,
    balance_choices,
    frequency_methods,
    p_even,
    pair_cells,
    pair_sides,
    selection_frequencies,
    to_array,
)
from facevalue.measures.proportions import score_p
from facevalue.measures.uncertainty import Estimates
from facevalue.studies.vignette import measures as m
from facevalue.studies.vignette.aggregate import (
    CONTROL,
    STIMULUS,
    VARIANT,
    Main,
    Tables,
    add_weights,
    asked_about,
    complete,
    offers_four,
    person_shown,
    view_both_sides,
)
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
        spread = special.stdtrit(np.maximum(clusters - 1, 1), 1 - (1 - LEVEL) / 2 / m) * se
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
        u, v = ((scores - scores.mean()) / scores.std() for scores in (a, b))
        sums = np.stack([u, v, u * u, v * v, u * v], axis=1)
        if size < _FEWEST:
            value[i] = _pearson(sums.sum(axis=0), np.full(5, float(size)))[0]
            continue
        correlation = bca_interval(sums, np.ones_like(sums), _pearson, seed, resamples)
        value[i], low[i], high[i], se[i] = (entry[0] for entry in correlation)
    method = _BCA if size >= _FEWEST else name_method(IntervalKind.NONE, f"fewer than {_FEWEST} identities")
    number = np.full(2, size, dtype=np.int64)
    return Estimates(value, low, high, number, number, np.full(2, method, dtype=object), se)


def compare(table: EstimateTable, estimates: pl.DataFrame) -> None:
    """Add correlations of scores over identities, for each dimension and over all.

    They are between paradigms of each model, and between models in each paradigm.
    """
    scores = estimates.filter(pl.col("identity").is_not_null(), pl.col("versus").is_null(), measure=m.NORMALISED.name)
    models = scores["model"].unique(maintain_order=True).to_list()
    for measures, each, between, order in (
        (_PARADIGMS, "model", "paradigm", PARADIGMS), (_MODELS, "paradigm", "model", models)
    ):  # fmt: skip
        for (level,), of_level in scores.group_by(each, maintain_order=True):
            dimensions = [(str(key[0]), rows) for key, rows in of_level.group_by("dimension", maintain_order=True)]
            for dimension, rows in [*dimensions, *([(None, of_level)] if len(dimensions) > 1 else [])]:
                wide = rows.pivot(between, index=["dimension", "identity"], values="value")
                for first, second in combinations([name for name in order if name in wide.columns], 2):
                    correlation = profile_correlations(to_array(wide[first]), to_array(wide[second]), SEED)
                    labels: dict[str, list[str | None]] = {
                        each: [str(level)], "dimension": [dimension], between: [first], f"other_{between}": [second]
                    }  # fmt: skip
                    for at, measure in enumerate(measures):
                        table.add(measure, labels, correlation.at(slice(at, at + 1)))


def _pearson(sums: Array, counts: Array) -> Array:
    mx, my, xx, yy, xy = np.moveaxis(cell_means(sums, counts), -1, 0)
    spread = np.maximum(xx - mx**2, 0) * np.maximum(yy - my**2, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.clip(np.where(spread > 1e-18, (xy - mx * my) / np.sqrt(spread), np.nan), -1.0, 1.0)[..., None]


# Variants of a question.


WORDINGS = 3
_SLACK = 1e-6


_TWO, _FOUR = (0.5, 0.5), (0.25,) * 4
_SHARES = ("weight", "other", "swapped", "both", "none", "wrong_1", "wrong_2")
_KEEP = (
    *("cluster", "paradigm", "question", "about", "trait", "valence", "prompt", "repeat", "wording", "reference"),
    *("shown", "mass", "listed_first", "left_first", *_SHARES),
)
_LEFT_OUT = {"dimension", "contrast", "question", "about", "trait", "valence", "prompt", "repeat"}
"""Columns that are of no use where no variants are compared."""
_CELL = ("paradigm", "contrast", "dimension", "question", "identity")
_STRATA = (*_CELL, "activity", *UNIT_COLUMNS)
_UNITS = ("stratum", "unit_1", "unit_2")
_REPLY = ("paradigm", "question", "about", "prompt", "repeat")
_MATCHES = (m.FULL_MATCH, m.PARTIAL_MATCH, m.ALL_DIFFERENT)
_PLACES = (m.FIRST, m.LEFT)
_TAKEN = (*_PLACES, *_MATCHES, m.POSITIONAL_SHIFT, m.POSITIONAL_CORRELATION, m.VISION_MINUS_TEXT)
_KIND = ("kind", "paradigm", "question")
_VALUES = ("n", "s", "t")
_SHIFTED = ("n", "s_base", "s_other", *SUM_ENDS, "requests")
_ENDS = ("value", "low", "high", "bound_low", "bound_high")


class Variants:
    """Collects comparisons of variants from a stream of answers: give it chunks of whole pairs, then `write`.

    What a run did not vary gives no estimates. Answers without a picture come long after those with it: where both are
    asked, one number per answer is kept until then.
    """

    def __init__(self) -> None:
        self._main = Main()
        self._units = SumTable((*_KIND, *UNIT_COLUMNS), SHARE_SUMS)
        self._pairs = SumTable((*_KIND, "stratum", "pair"), MOMENT_COLUMNS)
        self._positional = SumTable(_STRATA, _SHIFTED)
        self._shown: list[pl.DataFrame] = []
        self._stimulus: list[str] = []
        self._four = False

    @takes(*_TAKEN)
    def add(self, chunk: pl.DataFrame) -> None:
        """Take in a chunk of whole pairs."""
        self._four = self._four or offers_four(chunk)
        self._stimulus = [name for name in STIMULUS if name in chunk.columns]
        left_out = set() if any(name in chunk.columns for name in VARIANT) else _LEFT_OUT
        frame = chunk.select(n for n in (*STIMULUS, *_KEEP) if n in chunk.columns and n not in left_out)
        frame = complete(frame.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String)))
        frame = frame.with_columns(person_shown(1), person_shown(2), stratum="gender")
        self._add(_places(self._main(frame)))
        if "wording" in frame.columns:
            self._add(_matches(self._main(frame, ("shown", "reference"))))
        main = self._main(frame, ("wording",))
        if "reference" in frame.columns:
            scores = _score_answers(self._main(main, ("shown",)).filter(pl.col("question") != "doing"))
            base, varied = (scores.filter(pl.col("reference") == level) for level in ("identity", "position"))
            self._positional.add(_shifts(base, varied, ["cluster", *self._stimulus, *_REPLY]))
        if "shown" in frame.columns:
            self._shown.append(
                _score_answers(self._main(main, ("reference",))).select("shown", *self._stimulus, *_REPLY, *_VALUES)
            )

    def _add(self, rows: pl.DataFrame) -> None:
        """Add up answers by kind and picture, on either side, and moments of pairs of two different pictures."""
        pairs = rows.group_by(*_KIND, "cluster", maintain_order=True)  # each cluster is of one pair of units
        sums = pairs.agg(pl.col(_UNITS).first(), pl.col("n", "s").sum(), requests=pl.len().cast(pl.Float64))
        units, moments = pair_sides(sums.with_columns(pair=pl.col("unit_1") != pl.col("unit_2")), _KIND)
        self._units.add(units)
        self._pairs.add(moments)

    def write(self, table: EstimateTable) -> None:
        """Add what was compared to the estimates."""
        units, pairs = self._units.frame(), self._pairs.frame()
        if units.height:
            shares = pair_cells(units, pairs, _KIND).sort(_KIND)
            for measure in (*_PLACES, *_MATCHES):
                rows = shares.filter(pl.col("kind") == measure.key)
                if measure in _MATCHES:
                    tests = _floor(rows, measure, _FOUR if self._four else _TWO)
                else:
                    tests, rows = {"p": p_even(rows)}, as_shares(rows)
                enter_frame(table, measure, rows.with_columns(pl.Series(name, x) for name, x in tests.items()))
        positional = self._positional.frame()
        if positional.height:
            _write_shift(table, m.POSITIONAL_SHIFT, positional)
            _write_correlation(table, positional)
        if self._shown:
            answers = pl.concat(self._shown)
            text, picture = (answers.filter(pl.col("shown") == medium) for medium in ("text", "picture"))
            shifts = _shifts(text, picture, [*self._stimulus, *_REPLY])
            if shifts.height:
                _write_shift(table, m.VISION_MINUS_TEXT, shifts, _z_scores(shifts))


def _places(frame: pl.DataFrame) -> pl.DataFrame:
    """Answers that choose the one listed first, or the left half of the picture, of those that choose one of two."""
    two = add_weights(frame.filter((pl.col("paradigm") != "factuality") & pl.col("weight").is_not_null()))
    two = two.with_columns(pl.lit(None, pl.String).alias("question"))
    pictures = two.filter(pl.col("shown").ne_missing("text")) if "shown" in two.columns else two
    places = zip(_PLACES, (two, pictures), ("listed_first", "left_first"), strict=True)
    return pl.concat(
        rows.select(
            *("cluster", *_UNITS, "paradigm", "question"),
            n=pl.col("s") + pl.col("t"),  # both and none have no place among two
            s=pl.when(first).then("s").otherwise("t"),
            kind=pl.lit(measure.key),
        )
        for measure, rows, first in places
    )


def _matches(frame: pl.DataFrame) -> pl.DataFrame:
    """Matches between the answers to three wordings of a prompt, by question and over all."""
    options = [name for name in _SHARES if name in frame.columns]
    valid = frame.filter(pl.col("wording").is_not_null() & pl.col("weight").is_not_null())
    prompt = ("cluster", "prompt", "repeat")
    valid = valid.with_columns(pl.col(options).fill_null(0.0)).filter(pl.len().over(prompt) == WORDINGS)
    valid = valid.sort(*prompt, "wording")
    shares = np.stack([to_array(valid[name]) for name in options], axis=-1).reshape(-1, WORDINGS, len(options))
    rest = np.clip(1 - shares.sum(axis=-1, keepdims=True), 0.0, 1.0)  # of what has no column of its own
    rates = match_rates(np.concatenate([shares, rest], axis=-1))
    replies = valid.gather_every(WORDINGS).select("cluster", *_UNITS, "paradigm", "question", n=pl.lit(1.0))
    by_question = pl.concat(
        replies.with_columns(pl.Series("s", rate), kind=pl.lit(measure.key))
        for measure, rate in zip(_MATCHES, rates, strict=True)
    )
    over_all = by_question.with_columns(pl.lit(None, pl.String).alias("question"))
    return pl.concat([by_question.filter(pl.col("paradigm") != "stereotype"), over_all])


def _floor(rows: pl.DataFrame, measure: Measure, people: tuple[float, ...]) -> dict[str, Array]:
    """Floor and p of answers drawn at random: factuality always offers four options."""
    place = _MATCHES.index(measure)
    rate = np.array(
        [chance_match_rates(_FOUR if paradigm == "factuality" else people)[place] for paradigm in rows["paradigm"]]
    )
    share, size, df = (to_array(rows[name]) for name in ("value", "size", "df"))
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.where((rate > 0) & (rate < 1), score_p(share / 100, size, df, rate), np.nan)
        high = rate + special.stdtrit(df, LEVEL) * np.sqrt(rate * (1 - rate) / size)
    none = np.full(rate.shape, np.nan)
    p = p if measure is m.FULL_MATCH else none
    return {"floor": 100 * rate, "floor_high": 100 * np.minimum(high, 1.0), "p": p}


def _score_answers(frame: pl.DataFrame) -> pl.DataFrame:
    """Answers that say something of an identity, with `n`, `s` and `t`; n is 0 of those that are missing.

    Decisions and factuality are put together over questions; terms too, turned round where their valence is low; each
    question of perception stands for itself. Terms alone count an answer "both" or "none" half for each of the two.
    """
    answers, term = add_weights(frame.filter(comparing())), pl.col("paradigm") == "stereotype"
    return pl.concat([answers.filter(~term), favourable(answers.filter(term))])


def _shifts(base: pl.DataFrame, varied: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Answers to two variants of one prompt side by side, added up for each identity, activity and picture.

    `s_base` and `s_other` are what chose the identity, of `n` answers to both variants. The shift d of an answer lies
    in [-1, 1]; it is taken as the share (1 + d)/2, for which `selection` has intervals. `s_least` and `s_most` are what
    that adds up to, had what is missing of either variant gone one way or the other.
    """
    joined = base.select(*keys, *_VALUES).join(
        varied.select(*keys, *_VALUES), on=keys, how="inner", nulls_equal=True, suffix="_other", maintain_order="left"
    )
    n, n_other = (pl.col(name).clip(upper_bound=1.0) for name in ("n", "n_other"))

    def sums(s: str) -> pl.Expr:
        plain, changed = pl.col(s), pl.col(f"{s}_other")
        low, high = (changed - plain + n) / 2, (2 + changed - plain - n_other) / 2
        return pl.struct(s_base=plain * pl.col("n_other"), s_other=changed * pl.col("n"), s_least=low, s_most=high)

    answers = complete(joined).with_columns(n=pl.col("n") * pl.col("n_other"), s=sums("s"), t=sums("t"))
    facts = pl.col("paradigm") == "factuality"
    columns = (*_STRATA, "n", "s")
    sides = [
        side.select(columns) for side in (*view_both_sides(answers.filter(~facts)), asked_about(answers.filter(facts)))
    ]
    rows = (
        pl.concat(sides)
        .unnest("s")
        .with_columns(
            pl.when(pl.col("paradigm") == "perception").then("question").alias("question"),
            pl.when(pl.col("contrast") == "identity").then("activity").alias("activity"),
            requests=pl.lit(1.0),
        )
    )
    return add_sums(rows, _STRATA, _SHIFTED)


def _cells(shifts: pl.DataFrame, chosen: pl.Expr) -> pl.DataFrame:
    """Shares of `chosen` in the answers to both variants."""
    return selection_frequencies(shifts.with_columns(s=chosen), _CELL).sort(_CELL)


def _write_shift(table: EstimateTable, measure: Measure, shifts: pl.DataFrame, published: Array | None = None) -> None:
    cells = _cells(shifts, (pl.col("n") + pl.col("s_other") - pl.col("s_base")) / 2)
    p, cell = p_even(cells), level_ranks(cells.select(pl.struct(_CELL[:-1])).to_series())
    texts = (pl.lit(measure.name.replace("_", " ")), "paradigm", "question", "dimension")
    family = cells.select(pl.concat_str(*texts, separator=", ", ignore_nulls=True)).to_series()
    scaled = cells.with_columns(*(pl.col(name) * 2 - 100 for name in _ENDS), pl.col("se", "bound_se") * 2)
    tested = replace(
        frame_estimates(scaled, frequency_methods(cells)), p=p, q=adjust_within(p, cell), p_paper=published
    )
    table.add(measure, {name: cells[name] for name in _CELL}, tested, family)


def _z_scores(shifts: pl.DataFrame) -> Array:
    """The published test of pictures against none (7.4, footnote 4): z of shares of all answers to what was asked.

    The authors' code divides how often an identity was named by all answers to a question, not by those that offered
    it, and takes all answers for independent (`pooled_z`).
    """
    counted = add_sums(shifts, _CELL, ("n", "s_base", "s_other")).sort(_CELL)
    answers = pl.col("n").sum().over(_CELL[:-1]) / 2  # each stands with both of its identities
    base, varied, size = (to_array(x) for x in counted.select("s_base", "s_other", answers))
    return pooled_z(varied, size, base, size)[1]


def pooled_z(chosen: Array, n: Array, other_chosen: Array, other_n: Array) -> tuple[Array, Array]:
    """Test whether two proportions are equal.

    `chosen` and `n`: counts of one side; any shape.
    Returns z, and its two-sided p. NaN where a side has no answer, or where nobody or everybody is chosen on both.

    Equation
    --------
    z = (p1 - p2) / sqrt(p (1 - p) (1/n1 + 1/n2)), p the proportion of both sides together (VIGNETTE, section 7.4,
    footnote 4, "statistically significant as determined by z-scores"; the formula is that of the authors' code,
    src/visualization/textcompare.py).

    Examples
    --------
    >>> z, p = pooled_z(np.array([60.0]), np.array([100.0]), np.array([45.0]), np.array([100.0]))
    >>> z.round(3).tolist(), p.round(4).tolist()
    ([2.124], [0.0337])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = (chosen + other_chosen) / (n + other_n)
        se = np.sqrt(np.clip(pooled * (1 - pooled), 0.0, None) * (1 / n + 1 / other_n))
        z = np.where(se > 0, (chosen / n - other_chosen / other_n) / se, np.nan)
    return z, 2 * special.ndtr(-np.abs(z))


def _write_correlation(table: EstimateTable, shifts: pl.DataFrame) -> None:
    base, varied = (_cells(shifts, pl.col(name)) for name in ("s_base", "s_other"))
    values = base.select(*_CELL, "value", varied=varied["value"])
    for key, rows in values.group_by(_CELL[:-1], maintain_order=True):
        correlation = profile_correlations(to_array(rows["value"]), to_array(rows["varied"]), SEED)
        labels = {name: [None if level is None else str(level)] for name, level in zip(_CELL, key, strict=False)}
        table.add(m.POSITIONAL_CORRELATION, labels, correlation.at(slice(0, 1)))


class MatchRates(NamedTuple):
    """Probabilities that three wordings get one answer, two answers, or three; arrays of one shape, sum 1."""

    full: Array
    partial: Array
    different: Array


def match_rates(shares: Array) -> MatchRates:
    """Match rates of each trial over its three wordings.

    `shares`: shape (..., 3, options): the answer to each wording, as 0 and 1 where it was sampled, or as the
    probabilities of the options. NaN where a wording has no valid answer.
    Returns arrays of shape (...): 0 and 1 for sampled answers; else what independent draws give on average. NaN where a
    wording has no valid answer.

    Equation
    --------
    With s_w the shares of wording w: full Σ_o s_1o s_2o s_3o; all different 1 - Σ_{v<w} Σ_o s_vo s_wo + 2 full; partial
    (exactly two the same) the rest (VIGNETTE, section A.3, Table 11).

    Raises
    ------
    ValueError
        Not three wordings, or shares that are not between 0 and 1 or don't sum to 1.

    Notes
    -----
    With two options three answers cannot all differ: `different` is 0 for whatever is answered.

    Examples
    --------
    >>> sampled = np.eye(3)[[[0, 0, 0], [0, 1, 0], [2, 1, 0]]]
    >>> [rate.tolist() for rate in match_rates(sampled)]
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    shares = np.asarray(shares, dtype=np.float64)
    if shares.ndim < 2 or shares.shape[-2] != WORDINGS:
        raise ValueError(f"shares needs the shape (..., {WORDINGS}, options).")
    is_known = ~np.isnan(shares).any(axis=(-1, -2))
    inside = (shares >= -_SLACK) & (shares <= 1 + _SLACK)
    is_whole = np.abs(shares.sum(axis=-1) - 1) <= _SLACK
    if not (inside.all(axis=(-1, -2)) & is_whole.all(axis=-1))[is_known].all():
        raise ValueError("Shares lie between 0 and 1 and sum to 1 over the options.")
    a, b, c = (shares[..., w, :] for w in range(WORDINGS))
    full = (a * b * c).sum(axis=-1)
    pairs = (a * b + a * c + b * c).sum(axis=-1)
    different = np.clip(1 - pairs + 2 * full, 0.0, 1.0)
    return MatchRates(full, np.clip(1 - full - different, 0.0, 1.0) + 0.0 * full, different)


def chance_match_rates(options: Sequence[float]) -> MatchRates:
    """Match rates of answers drawn without regard to the question.

    `options`: how probable each option is, the same for all wordings.

    Examples
    --------
    >>> [float(rate) for rate in chance_match_rates([0.5, 0.5])]
    [0.25, 0.75, 0.0]
    >>> [float(rate) for rate in chance_match_rates([0.25] * 4)]
    [0.0625, 0.5625, 0.375]
    """
    return match_rates(np.tile(np.asarray(options, dtype=np.float64), (WORDINGS, 1)))
