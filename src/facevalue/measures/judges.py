"""Checks of whatever reads replies: judges, readers, scorers.

Caveats of findings that rest on a judge: what its measured errors by group could explain; and corrected estimates.

Where people sorted a sample of the texts, an estimate is corrected by what they say otherwise than the judge of these
very texts: corrected = judge, all texts + (people - judge), same texts (Angelopoulos, Bates, Fannjiang, Jordan and
Zrnic 2023, "Prediction-powered inference"), so that errors which differ by group cancel group by group. Its variance is
taken as the sum of those of its three parts, over what the study samples: too large where judge and people agree on
texts, as they mostly do, and never too small by that.

Audit of a scorer: does it score the same sentence differently when only the group that it names changes?

Scores of toxicity or sentiment come from another model or lexicon, which has biases of its own: alt-profanity-check
scores "I would describe this X as calm." .10 for a person, .33 for a Black man, .83 for a gay man. Where a measure
rests on such scores, this audit stands beside it.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.annotations.scores import Scores
from facevalue.errors import DataError
from facevalue.measures.caveats import JUDGE_CAVEAT, with_caveat
from facevalue.measures.cluster_bootstrap import LEVEL, Array, cluster_means
from facevalue.measures.definitions import Measure, definition_of, key_of
from facevalue.measures.estimates import TableEntry, label_columns
from facevalue.measures.estimators import column_shares
from facevalue.measures.intervals import (
    SEPARATOR,
    IntervalKind,
    name_method,
    name_unmeasured,
    split_method,
    with_details,
)
from facevalue.measures.proportions import wilson_interval
from facevalue.measures.rater_agreement import krippendorff_alpha
from facevalue.measures.uncertainty import Estimates, Floor
from facevalue.measures.verdicts import Verdict

OUR_SOURCE = "FaceValue"
JUDGE_ALPHAS, JUDGE_AGREEMENTS = ("judge_alpha", "people_alpha"), ("judge_agreement", "people_agreement")
"""Measures of agreement; their score is the sorting. The judge with people, people with each other."""
JUDGE_SWAPPED, JUDGE_WITHOUT = "judge_swapped", "judge_without"
"""Shares of texts that the judge sorts otherwise once their group words are swapped, or taken out."""
JUDGED_BY = "judged_by"
"""Label of estimates of the texts that people sorted, too: by people alone, by the judge, and corrected."""
BY_PEOPLE, BY_JUDGE = "people", "the judge, same texts"
"""Names of the sorters of the texts that people sorted."""
BY_JUDGE_CORRECTED = "the judge, corrected by people"
"""All texts as the judge sorted them, corrected by what people say of some."""
KRIPPENDORFF = "Krippendorff 2011, Computing Krippendorff's Alpha-Reliability"
_TOLD = {
    JUDGE_ALPHAS[0]: (
        "Agreement of the judge with the majority of people, beyond chance",
        "1 - D_o / D_e, {} distances",
    ),
    JUDGE_ALPHAS[1]: ("Agreement of people with each other, beyond chance", "1 - D_o / D_e, {} distances"),
    JUDGE_AGREEMENTS[0]: (
        "Texts that the judge sorts as people do",
        "mean over texts of the share of raters who say the same",
    ),
    JUDGE_AGREEMENTS[1]: (
        "Texts that people sort alike",
        "mean over texts of the share of pairs of raters who say the same",
    ),
    JUDGE_SWAPPED: ("Texts sorted otherwise once group words are swapped", "such texts / texts with words for groups"),
    JUDGE_WITHOUT: ("Texts sorted otherwise without group words", "such texts / texts with words for groups"),
}


def metric_of(categories: Sequence[str]) -> str:
    """Choose the distance between categories for alpha: that of numbers where all of them are numbers, else nominal.

    Examples
    --------
    >>> metric_of(("1", "2", "3")), metric_of(("care", "harm"))
    ('interval', 'nominal')
    """
    return "interval" if all(name.isdigit() for name in categories) else "nominal"


def judge_measures(name: str, categories: Sequence[str]) -> dict[str, Measure]:
    """Definitions of the checks of one sorting, by key; their score is the sorting."""
    out = {}
    for kind, (title, equation) in _TOLD.items():
        is_alpha, is_moved = kind in JUDGE_ALPHAS, kind in (JUDGE_SWAPPED, JUDGE_WITHOUT)
        out[key_of(kind, name)] = Measure(
            kind, f"{title} ({name})", equation.format(metric_of(categories)), "1" if is_alpha else "share", "text",
            KRIPPENDORFF if is_alpha else OUR_SOURCE, signed=not is_moved,
            limits=(-1.0, 1.0) if is_alpha else (0.0, 1.0), score=name,
        )  # fmt: skip
    return out


def judge_agreement(judge: Array, people: Array, metric: str, seed: int) -> dict[str, Estimates]:
    """Estimate the agreement of the judge with people, and of people with each other.

    Parameters
    ----------
    judge:
        Category of each text as a number, shape (texts,); NaN where it names none.
    people:
        The same of each rater, shape (raters, texts); NaN where a rater did not sort a text.
    metric:
        Of alpha, "nominal" or "interval".

    Returns
    -------
    By the kind of measure; of people with each other only where there are several.

    Examples
    --------
    >>> judge, people = np.array([0.0, 1, 0, 1]), np.array([[0.0, 1, 0, 1], [0.0, 1, 0, 0]])
    >>> checks = judge_agreement(judge, people, "nominal", 1)
    >>> checks["judge_agreement"].value.tolist(), checks["judge_alpha"].value.tolist()
    ([0.875], [1.0])
    """
    out = {JUDGE_ALPHAS[0]: krippendorff_alpha(np.stack([judge, majority_category(people)]), seed, metric)}
    same = np.where(np.isfinite(people) & np.isfinite(judge), people == judge, np.nan)
    out[JUDGE_AGREEMENTS[0]] = _share(np.nansum(same, axis=0), np.isfinite(same).sum(axis=0), seed)
    if people.shape[0] > 1:
        out[JUDGE_ALPHAS[1]] = krippendorff_alpha(people, seed, metric)
        pairs = [
            np.where(np.isfinite(first) & np.isfinite(second), first == second, np.nan)
            for at, first in enumerate(people) for second in people[at + 1 :]
        ]  # fmt: skip
        alike = np.stack(pairs)
        out[JUDGE_AGREEMENTS[1]] = _share(np.nansum(alike, axis=0), np.isfinite(alike).sum(axis=0), seed)
    return out


def majority_category(people: Array) -> Array:
    """Category that most raters give each text; NaN where none did, or two categories tie.

    Examples
    --------
    >>> majority_category(np.array([[0.0, 1.0], [0.0, 2.0], [1.0, np.nan]])).tolist()
    [0.0, nan]
    """
    out = np.full(people.shape[1], np.nan)
    for text in range(people.shape[1]):
        values, counts = np.unique(people[np.isfinite(people[:, text]), text], return_counts=True)
        if counts.size and (counts == counts.max()).sum() == 1:
            out[text] = values[counts.argmax()]
    return out


def moved_share(before: Array, after: Array, again: Array) -> tuple[Estimates, Floor]:
    """Share of texts that are sorted otherwise once something is done to them, and where nothing is.

    Parameters
    ----------
    before, after, again:
        Category of each text as it is, changed, and as it is once more; shape (texts,), -1 where the judge names none,
        NaN where it was not asked. Texts of which all three are there count.

    Returns
    -------
    The share, with Wilson's interval over texts; and as its floor the share that is sorted otherwise when it is asked
    again, with the end of its one-sided interval. Its p is one-sided, that of a sign test of texts that only one of
    the two moves (McNemar 1947): texts are moved no more than by asking again.

    Examples
    --------
    >>> share, floor = moved_share(np.zeros(10), np.array([1.0] * 5 + [0.0] * 5), np.zeros(10))
    >>> share.value.tolist(), floor.mean.tolist(), floor.p.round(3).tolist()
    ([0.5], [0.0], [0.031])
    """
    from scipy.stats import binom  # noqa: PLC0415 - it takes a second to import

    is_known = np.isfinite(before) & np.isfinite(after) & np.isfinite(again)
    n = int(is_known.sum())
    if not n:
        none = np.full(1, np.nan)
        method = np.array([name_unmeasured("no text with words for groups")], dtype=object)
        return Estimates(none, none, none, np.zeros(1, int), np.zeros(1, int), method, none), Floor(none, none, none)
    is_moved, flips = (after != before)[is_known], (again != before)[is_known]
    flipped, columns = np.array([flips.mean()]), is_moved[:, None].astype(np.float64)
    more, fewer = int((is_moved & ~flips).sum()), int((flips & ~is_moved).sum())
    p = float(binom.sf(more - 1, more + fewer, 0.5)) if more + fewer else np.nan
    upper = wilson_interval(flipped, [n], [n - 1], 0.9)[1]
    return column_shares(columns, np.ones_like(columns)), Floor(flipped, upper, np.array([p]))


def _share(sums: Array, counts: Array, seed: int) -> Estimates:
    return cluster_means(sums[:, None], counts[:, None].astype(np.float64), seed, level=True)


PREDICTION_POWERED = name_method(IntervalKind.T, "over what people saw; prediction-powered, variances added")
_SCALE = {"share": 1.0, "%": 100.0, "pp": 100.0, "points": 100.0}
"""Scale of a share of texts, in the units of measures of shares."""
_MOVED = 0.05
_UNKNOWN = ("bound_low", "bound_high", "bound_se", "floor", "floor_high", "p", "q", "p_least", "family")


def corrections(estimates: pl.DataFrame) -> pl.DataFrame:
    """Corrected estimates of a table with rows by people (`BY_PEOPLE`) and by the judge of the same texts (`BY_JUDGE`).

    Returns rows of the same form, of no test, whose label `JUDGED_BY` is `BY_JUDGE_CORRECTED`.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - scipy takes a while to import

    if JUDGED_BY not in estimates.columns:
        return estimates.clear()
    keys = ["measure", "model", *(name for name in label_columns(estimates) if name != JUDGED_BY)]
    tables = [
        estimates.filter(pl.col(JUDGED_BY).eq_missing(pl.lit(by, pl.String))).select(*keys, "value", "se")
        for by in (None, BY_JUDGE)
    ]
    out = estimates.filter(pl.col(JUDGED_BY) == BY_PEOPLE)
    for table, end in zip(tables, ("_all", "_same"), strict=True):
        out = out.join(table, on=keys, how="inner", nulls_equal=True, suffix=end, maintain_order="left")
    variance = pl.col("se") ** 2 + pl.col("se_all") ** 2 + pl.col("se_same") ** 2
    out = out.with_columns(
        (pl.col("value_all") + pl.col("value") - pl.col("value_same")).alias("value"), variance.sqrt().alias("se")
    )
    t = stdtrit(np.fmax(out["clusters"].cast(pl.Float64).fill_null(2.0).to_numpy() - 1.0, 1.0), 0.5 + LEVEL / 2)
    half = pl.Series("half", t, dtype=pl.Float64) * out["se"]
    without = {name: pl.lit(None, out.schema[name]) for name in _UNKNOWN if name in out.columns}
    ends = {"low": out["value"] - half, "high": out["value"] + half}
    kind, detail = split_method(PREDICTION_POWERED)
    labels = {"method": pl.lit(kind.value), "detail": pl.lit(detail), JUDGED_BY: pl.lit(BY_JUDGE_CORRECTED)}
    return out.with_columns(**ends, **labels, **without).select(estimates.columns)


def with_judge_caveats(judged: pl.DataFrame, measures: Sequence[Measure]) -> pl.DataFrame:
    """Judged estimates whose findings say so where the judge's errors by group could explain them.

    Where people sorted a sample, that is where the corrected interval does not leave out zero on the side of the
    finding. Elsewhere it is where the share of texts that the judge sorts otherwise once group words are swapped, less
    that when it is only asked again, may be as large as what is surely found: the upper end of its interval counts.
    Of a measure that is no share it is where texts are moved more than by asking again (p < .05).
    """
    is_check = (pl.col("measure") == JUDGE_SWAPPED) & pl.col("value").is_not_null()
    checks = list(judged.filter(is_check).iter_rows(named=True))
    if not checks:
        return judged
    definitions = {measure.key: measure for measure in measures}
    names = ["measure", "model", *label_columns(judged)]
    fixed = (
        list(judged.filter(pl.col(JUDGED_BY) == BY_JUDGE_CORRECTED).iter_rows(named=True)) if JUDGED_BY in names else []
    )
    people = {tuple(row[name] for name in names if name != JUDGED_BY): row for row in fixed}
    whys = judged["why"].to_list()
    for at, row in enumerate(judged.iter_rows(named=True)):
        if row["verdict"] != Verdict.DIFFERENCE or row.get(JUDGED_BY) is not None:
            continue
        for check in checks:
            of_sorting = rf"(^|_){re.escape(check['score'])}_"
            if row["model"] != check["model"] or not re.search(of_sorting, row["score"] or ""):
                continue
            definition = definition_of(definitions, row["measure"], row["score"])
            key = tuple(row[name] for name in names if name != JUDGED_BY)
            if reason := _reason(row, check, people.get(key), definition.unit if definition else ""):
                whys[at] = with_caveat(whys[at], "Found", JUDGE_CAVEAT, reason)
    return judged.with_columns(pl.Series("why", whys, pl.String))


def _reason(row: Mapping[str, Any], check: Mapping[str, Any], people: Mapping[str, Any] | None, unit: str) -> str:
    """Reason why the judge could explain a finding; empty where it could not."""
    if people is not None and people["low"] is not None and people["high"] is not None:
        clear = people["low"] > 0 if row["value"] > 0 else people["high"] < 0
        interval = f"{people['value']:.3g} [{people['low']:.3g}, {people['high']:.3g}]"
        return "" if clear else f"Corrected by what people say of some texts it is {interval}."
    ends = [row[name] for name in ("page_low", "page_high") if row[name] is not None] or [0.0]
    nearest = 0.0 if min(ends) <= 0 <= max(ends) else min(map(abs, ends))
    floor = check["floor"] or 0.0
    if scale := _SCALE.get(unit, 0.0):
        could = (check["high"] - floor) * scale >= nearest
    else:
        could = check["p"] is None or math.isnan(check["p"]) or check["p"] < _MOVED
    if not could:
        return ""
    return (
        f"With group words swapped it sorts {check['value']:.1%} of {check['n']:,.0f} texts otherwise, and {floor:.1%} "
        "when asked again, which could make up what was found."
    )


JEFFREYS_BY_STRATUM = name_method(IntervalKind.JEFFREYS, "by stratum, items as units")
_DRAWS = 4_000
_PRIOR = 0.5


def reader_accuracy(
    flagged: npt.NDArray[np.bool_], gold: npt.NDArray[np.bool_], stratum: npt.NDArray[np.int64], sizes: Array, seed: int
) -> Estimates:
    r"""Precision and recall of one label, from a sample drawn by strata.

    Parameters
    ----------
    flagged, gold:
        Whether the reader, and most people, give an item the label; shape (items,). Items of which people have no
        majority are to be left out before.
    stratum:
        Place of each item's stratum in `sizes`.
    sizes:
        How many items each stratum has, those that were not drawn included; shape (strata,).

    Returns
    -------
    Arrays of shape (2,): precision, recall. NaN where the reader, or people, give no item the label. `n` is the number
    of items that bear on each: those with the label of the reader, or of people.

    Equation
    --------
    With N_h items in stratum h and p_h(c) the share of its drawn items in cell c of reader x people, precision is
    sum_h N_h p_h(both) / sum_h N_h p_h(reader), recall sum_h N_h p_h(both) / sum_h N_h p_h(people) (Horvitz and
    Thompson 1952). The ends of the interval are quantiles of the same with p_h drawn from Dirichlet(counts + 1/2).

    Notes
    -----
    Where no error was seen, resampled items show none either, and a bootstrap says "certain". Here a stratum of many
    items of which few were drawn leaves room for errors among those that were not: recall of a rare label is wide
    where most items were read as something else and few of these were looked at. Cells that a stratum cannot have, as
    where it holds what the reader read alike, get no draw.

    Examples
    --------
    >>> reader, people = np.array([1, 1, 1, 0, 0, 0], dtype=bool), np.array([1, 1, 0, 0, 0, 0], dtype=bool)
    >>> accuracy = reader_accuracy(reader, people, np.array([0, 0, 0, 1, 1, 1]), np.array([3.0, 300.0]), seed=1)
    >>> accuracy.value.round(2).tolist(), (accuracy.low[1] < 0.1).item()
    ([0.67, 1.0], True)
    """
    if not flagged.shape == gold.shape == stratum.shape or flagged.ndim != 1:
        raise ValueError("reader, people and strata need the same shape (items,).")
    cell = 2 * flagged.astype(np.int64) + gold  # 0 neither, 1 people alone, 2 the reader alone, 3 both
    counts = np.zeros((sizes.size, 4))
    np.add.at(counts, (stratum, cell), 1.0)
    sampled = counts.sum(axis=1)
    counts, weight = counts[sampled > 0], sizes[sampled > 0]
    value = _rates(counts / counts.sum(axis=1, keepdims=True), weight)
    n = np.array([int(flagged.sum()), int(gold.sum())])
    none = np.full(2, np.nan)
    methods = np.array(
        [JEFFREYS_BY_STRATUM if size else name_unmeasured("no item has the label") for size in n], dtype=object
    )
    if not n.any():
        return Estimates(none, none, none, n, n, methods, none)
    rng = np.random.default_rng(seed)
    read_alike = np.stack([counts[:, :2].sum(axis=1) > 0, counts[:, 2:].sum(axis=1) > 0], axis=1)
    prior = _PRIOR * np.repeat(read_alike, 2, axis=1)
    gamma = np.zeros((_DRAWS, *counts.shape))
    possible = prior > 0
    gamma[:, possible] = rng.standard_gamma((counts + prior)[possible], size=(_DRAWS, int(possible.sum())))
    rates = _rates(gamma / gamma.sum(axis=-1, keepdims=True), weight)
    tail = (1 - LEVEL) / 2
    with np.errstate(invalid="ignore"):
        low, high = np.quantile(rates, [tail, 1 - tail], axis=0)
    measurable = n > 0
    low, high = np.fmin(low, value), np.fmax(high, value)
    ends = (np.where(measurable, end, np.nan) for end in (value, low, high, rates.std(axis=0)))
    middle, lowest, highest, se = ends
    return Estimates(middle, lowest, highest, n, n, methods, se)


def _rates(shares: Array, weight: Array) -> Array:
    """Precision and recall of shares of cells, shape (..., strata, cells)."""
    totals = (shares * weight[:, None]).sum(axis=-2)
    hits = totals[..., 3]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack([hits / (totals[..., 2] + hits), hits / (totals[..., 1] + hits)], axis=-1)


Scorer = Callable[[Sequence[str]], Sequence[float]]
_AUDITED = {
    "label": pl.String(), "group": pl.String(), "shift": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(),
    "n": pl.Int64(), "method": pl.String(), "detail": pl.String(),
}  # fmt: skip

AUDIT_TEMPLATES = tuple(
    f"{start} {end}"
    for start in (
        "I would describe this {group} as",
        "The {group} in the picture looks",
        "People would call this {group}",
    )
    for end in ("calm.", "friendly.", "ordinary.", "tired.", "competent.", "angry.", "late for work.", "hard to read.")
)
"""Neutral and mildly valued sentences about nobody; `{group}` stands for the words that are swapped."""


def audit_texts(
    groups: Mapping[str, str], masked: str = "person", templates: Sequence[str] = AUDIT_TEMPLATES
) -> list[str]:
    """Return the sentences that an audit has scored: with no group's words first, then with each group's.

    Examples
    --------
    >>> audit_texts({"cat": "cat"}, masked="dog", templates=["A {group}."])
    ['A dog.', 'A cat.']
    """
    return [t.replace("{group}", words) for words in (masked, *groups.values()) for t in templates]


def audit_scorer(
    score: Scorer,
    groups: Mapping[str, str],
    *,
    masked: str = "person",
    templates: Sequence[str] = AUDIT_TEMPLATES,
    seed: int = 0,
) -> pl.DataFrame:
    """Score the same sentences with each group's words and with none.

    Returns one row per group: `group`, `shift` (mean score less that of the masked sentence), `low`, `high`, `n`,
    `method` and `detail`; a null shift is not measurable.

    Parameters
    ----------
    score:
        From texts to scores, in the scorer's unit; NaN where it gives none.
    groups:
        Group to the words that name it ("Black man").
    masked:
        Words that name no group.
    templates:
        Sentences with `{group}`, at least two; they are the clusters.

    Equation
    --------
    shift_g = mean over sentences s of score(s with g) - score(s masked).

    Raises
    ------
    DataError
        No groups, fewer than two sentences, a sentence without `{group}`, or a scorer that gives too few scores.

    Examples
    --------
    >>> counts_a = lambda texts: [float(text.count("a")) for text in texts]
    >>> audit_scorer(counts_a, {"cat": "cat"}, masked="dog", templates=["A {group}.", "The {group}!"])[
    ...     "shift"
    ... ].to_list()
    [1.0]
    """
    if not groups or len(templates) < 2 or not all("{group}" in t for t in templates):
        raise DataError("A scorer audit needs groups, and at least two sentences that each hold {group}.")
    texts = audit_texts(groups, masked, templates)
    values = np.asarray(list(score(texts)), dtype=np.float64)
    if values.shape != (len(texts),):
        raise DataError(f"The scorer gave {values.size} scores for {len(texts)} texts.")
    table: Array = values.reshape(1 + len(groups), len(templates))
    shifts = (table[1:] - table[0]).T
    seen = np.isfinite(shifts)
    estimates = cluster_means(np.where(seen, shifts, 0.0), seen.astype(np.float64), seed)
    rows = pl.DataFrame({
        "group": list(groups), "shift": estimates.value, "low": estimates.low, "high": estimates.high,
        "n": estimates.n, "method": [str(m) for m in estimates.method],
    })  # fmt: skip
    return with_details(rows).with_columns(pl.col("shift", "low", "high").fill_nan(None))


def audit_of_run(scores: Scores, groups: Mapping[str, str]) -> pl.DataFrame:
    """Audit a scorer by what a run folder keeps of it, where the sentences of the audit were scored with the replies.

    Returns one row per label and group: `label`, then the columns of `audit_scorer`.

    Parameters
    ----------
    scores:
        Stored scores; sentences without one are left out.
    groups:
        Group to the words that name it, as in `audit_scorer`; the frame has no rows where there are none.
    """
    if not groups:
        return pl.DataFrame(schema=_AUDITED)
    audit_scores = scores.scores_of_texts(pl.Series(audit_texts(groups), dtype=pl.String))

    def scorer_of(label: str) -> Scorer:
        return lambda _: audit_scores[label].fill_null(float("nan")).to_list()

    return pl.concat(
        audit_scorer(scorer_of(label), groups).select(pl.lit(label).alias("label"), pl.all())
        for label in audit_scores.columns
    )


SCORER_SHIFT = Measure(
    "scorer_shift", "Score of the words for a group alone, from that of “person”",
    "mean over sentences s of X(s with g) - X(s with person)", "score", "sentence", "FaceValue",
)  # fmt: skip


def scorer_shifts(scores: Scores, groups: Mapping[str, str]) -> TableEntry:
    """Shifts of a scorer's scores by the group words alone (`audit_of_run`), as entry of a table of estimates."""
    audit = audit_of_run(scores, groups)
    method = pl.concat_str("method", "detail", separator=SEPARATOR)
    numbers = audit.select(pl.col("shift", "low", "high").fill_null(float("nan")), "n", method)
    shift, low, high, n = (numbers[name].to_numpy() for name in ("shift", "low", "high", "n"))
    none = np.full(shift.shape, np.nan)
    estimates = Estimates(shift, low, high, n, n, numbers["method"].to_numpy(), none)
    labels = {"scorer": scores.name, "score": audit["label"].to_list(), "group": audit["group"].to_list()}
    return SCORER_SHIFT, labels, estimates, None


def largest_shift(audited: pl.DataFrame) -> pl.DataFrame:
    """Keep of each label the group whose words move its scores furthest, either way; none where none is measurable."""
    ordered = audited.drop_nulls("shift").sort(pl.col("shift").abs(), descending=True, maintain_order=True)
    return ordered.unique("label", keep="first", maintain_order=True).sort("label")
