"""Judgment of estimates, and intervals at the level of the page.

Intervals at the level at which a page judges each row: a verdict can be read off them.

A 95% interval speaks of one row as if it were alone. A page tests many, so that a row may lie clear of zero and yet be
no finding. The page's interval is wider by as much as its correction asks for: it leaves out what the test is against
(zero) exactly where a difference is found.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.definitions import Measure, rows_of, value_by_measure
from facevalue.measures.estimates import fact_of_rows
from facevalue.measures.families import ALPHA, Preregistration, apply_families
from facevalue.measures.family_tests import (
    any_time_p,
    at_any_time,
    check_margins,
    largest_of,
    limits_of,
    single_look_level,
    within_reach,
    worst_tests,
)
from facevalue.measures.instrument import sightless, without_equivalence
from facevalue.measures.intervals import ALIKE_SHIFTS, NOT_MEASURABLE, split_method
from facevalue.measures.judges import with_judge_caveats
from facevalue.measures.multitest import AUDIT_FAMILY, adjust_p, leads_page, p_thresholds, page_levels
from facevalue.measures.noise_floors import detectable_distance, distance_equivalence_p
from facevalue.measures.paired_changes import degrees_of_freedom
from facevalue.measures.pairs import independent_units, to_array
from facevalue.measures.power import minimum_detectable
from facevalue.measures.verdicts import NO_SPREAD, Verdict, reach_verdicts, tost_p, trusted_error, unseen_p

_LEAST = 1e-300  # p-values that are smaller count as this one


def row_levels(
    p: Array,
    q: Array,
    is_finding: npt.NDArray[np.bool_],
    family: npt.NDArray[np.int64],
    methods: Sequence[str],
    alpha: Array,
) -> Array:
    """Level of each test once it is corrected for all others: p lies below it exactly where a difference is found.

    Parameters
    ----------
    p, q:
        P-values, and adjusted within their families.
    is_finding:
        Which are findings.
    family, methods:
        Family of each test, numbered from 0, -1 for none; and the method of each family.
    alpha:
        Level of each test's family (`multitest`).

    Equation
    --------
    `multitest.p_thresholds` of the family. Where q is larger than the method's own (max-T beside it), with alpha times
    the smallest of their ratios; where another test of the family decides (max-T) or the noise floor does, the level
    nearest to it that goes with the finding: alpha p / q where there is one, p where there is none.

    Examples
    --------
    >>> p = np.array([0.001, 0.02, 0.7])
    >>> q = np.array([0.003, 0.03, 0.7])
    >>> row_levels(p, q, q < 0.05, np.zeros(3, dtype=int), ["bh"], np.full(3, 0.05)).round(4).tolist()
    [0.0333, 0.0333, 0.05]
    """
    out = np.full(p.shape, np.nan)
    tested = np.flatnonzero(np.isfinite(p) & np.isfinite(q) & (family >= 0))
    order = tested[np.argsort(family[tested], kind="stable")]
    for rows in np.split(order, np.flatnonzero(np.diff(family[order])) + 1):
        if not rows.size:
            continue
        method = methods[family[rows[0]]]
        adjusted = adjust_p(p[rows], method)
        larger = (q[rows] > adjusted) & (q[rows] < 1)
        share = np.min(adjusted[larger] / q[rows][larger], initial=1.0)
        for level in np.unique(alpha[rows]):
            at = rows[alpha[rows] == level]
            out[at] = p_thresholds(p[rows], method, level * share)[alpha[rows] == level]
    with np.errstate(invalid="ignore", divide="ignore"):
        out = np.where(is_finding & ~(p < out), np.minimum(alpha * p / q, 1.0), out)
    return np.where(~is_finding & (p < out), p, out)


def page_interval(
    value: Array,
    interval: tuple[Array, Array],
    p: Array,
    df: Array,
    levels: tuple[Array, Array],
    limits: tuple[Array, Array],
    null: Array,
) -> tuple[Array, Array]:
    """Interval of each row at the level of its test.

    Parameters
    ----------
    value, interval, p:
        Of each row.
    df:
        Degrees of freedom of its test; NaN for a normal one.
    levels:
        Of errors: that of the row's interval (.05), and that of the page's test (`row_levels`).
    limits:
        Smallest and largest possible value.
    null:
        What is tested against.

    Returns
    -------
    low, high; NaN where there is no interval, or no test.

    Equation
    --------
    With c(a) = t(1 - a/2; df), the interval's side towards the null is as long as a line through what is known of it: 0
    at c = 0, its length at the interval's own level, and |value - null| at c(p), where it just touches the null; beyond
    the last point in proportion to c. The other side is longer in the same proportion as the first. For t this is t's
    interval at the page's level; for any other test it touches the null at p, so that it cannot contradict it.

    Examples
    --------
    >>> one = [np.array([x]) for x in (0.3, 0.1, 0.5, 0.004, np.nan, 0.05, 0.001, -1.0, 1.0, 0.0)]
    >>> low, high = page_interval(one[0], (one[1], one[2]), one[3], one[4], (one[5], one[6]), (one[7], one[8]), one[9])
    >>> low.round(3).item(), high.round(3).item()
    (-0.043, 0.643)
    """

    def critical(level: Array) -> Array:
        tail = np.maximum(level, _LEAST) / 2
        return np.where(
            np.isfinite(df) & (df > 0), -scipy.special.stdtrit(np.maximum(df, 1), tail), -scipy.special.ndtri(tail)
        )

    low, high = interval
    above = value >= null
    near, far = np.where(above, value - low, high - value), np.where(above, high - value, value - low)
    row, test, page = critical(levels[0]), critical(p), critical(levels[1])
    distance = np.abs(value - null)
    with np.errstate(invalid="ignore", divide="ignore"):
        agree = (test > row) == (distance > near)
        first_c, last_c = np.minimum(row, test), np.maximum(row, test)
        first, last = np.minimum(near, distance), np.maximum(near, distance)
        middle = first + (last - first) * np.where(last_c > first_c, (page - first_c) / (last_c - first_c), 0.0)
        line = np.where(page > last_c, last * page / last_c, np.where(page > first_c, middle, first * page / first_c))
        reach = np.where(agree, line, distance * page / test)
        wider = np.where(near > 0, reach / near, page / row)
        ends = np.where(above, -reach, -far * wider), np.where(above, far * wider, reach)
    measurable = np.isfinite(low) & np.isfinite(high) & np.isfinite(reach)
    return (
        np.where(measurable, np.maximum(value + ends[0], limits[0]), np.nan),
        np.where(measurable, np.minimum(value + ends[1], limits[1]), np.nan),
    )


def judge(
    estimates: pl.DataFrame,
    measures: Sequence[Measure],
    declared: Preregistration | None = None,
    margins: Mapping[str, float] | None = None,
    lead: Sequence[str] = (),
    *,
    any_time: bool = False,
    shares: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Complete a table of estimates: q and interval by page, detectable effect, margin, verdict and why.

    Parameters
    ----------
    estimates:
        As the measures give them. Rows of a family have its name and q already; declared families go first.
    measures:
        Definitions; only comparisons (`Measure.comparison`), and differences in any measure, get a verdict.
    margins:
        Margins chosen after it, by measure: their verdicts are marked as not declared. A declared margin stands. That
        of a measure is that of differences in it, too.
    lead:
        Families that the study's answer is about (`Estimated.lead`). Those that were declared before the run go first.
    any_time:
        Whether the run was looked at while it was asked, to stop once enough is known: p, q, intervals and detectable
        effects are then those that hold at all looks together (`any_time`).
    shares:
        Families that are judged together with those of other tables, each with its share of alpha
        (`multitest.audit_families`); no others are judged. The table has been judged as a page. None for a page.

    Raises
    ------
    UnknownNameError
        A margin for a measure that there isn't.
    DataError
        A margin that is not above zero, or that nothing can lie beyond (`check_margins`); a declared family that
        selects nothing.

    Notes
    -----
    The minimum detectable effect is null where any at all could have been missed: if not even the largest possible
    value (`family_tests.largest_of`) would be detected, or if there is no standard error that says anything
    (`verdicts.trusted_error`): none, one of zero, one of a single unit. It is null, too, where the smallest p that the
    test can give (`p_least`) lies above its level. Those of squared distances follow from their floors (`unsigned`).

    Shifts of one and the same cluster are equivalent only if few clusters that move far can't make up the margin either
    (`verdicts.unseen_p`).

    All families of one model (and intervention) are held to alpha together: see `multitest`. So are the worst cases of
    what is found (`family_tests`): a difference is found unless the missing answers say otherwise, if the page would
    not find it with all missing answers gone against each difference. What rests on a judge of texts is found unless
    the judge sorts them by their group, where its measured errors could explain it (`with_judge_caveats`).
    """
    by_key = {m.key: m for m in measures}
    chosen = dict(margins or {})
    for name, margin in chosen.items():
        if name not in by_key:
            raise UnknownNameError("measure", name, by_key)
        if not (np.isfinite(margin) and margin > 0):
            raise DataError(f"The margin of {name} is {margin:g}: it must be above zero, or nothing can be equivalent.")
    check_margins(chosen, measures)
    out = estimates.with_columns(
        pl.when(pl.col("family").is_not_null()).then(pl.lit("exploratory")).otherwise(pl.col("kind")).alias("kind")
    )
    df, single = degrees_of_freedom(out), out
    if any_time and shares is None:
        out = at_any_time(out, df, measures)
    if declared is not None:
        out, single = (apply_families(declared.families, table) for table in (out, single))
    declared_margins = within_reach(declared.margins, measures) if declared is not None else {}
    limits = value_by_measure({**chosen, **declared_margins})
    out = out.with_columns(
        pl.when(pl.any_horizontal(pl.col("family", "p").is_not_null())).then(limits).alias("margin"),
        pl.when(limits.is_not_null())
        .then(rows_of(declared_margins) & (declared is not None and declared.before))
        .alias("declared"),
    )
    is_compared = fact_of_rows(measures, lambda measure: measure.comparison, default=False)
    compared, floored, squared, paired = (
        out.select(fact_of_rows(measures, fact, default=False).alias("fact"))["fact"].to_numpy() for fact in _FACTS
    )
    alpha = _alphas(out, declared)
    out, of_family, tests = _with_page(out, is_compared, alpha, lead, declared, shares)
    level = of_family / tests
    column = {name: to_array(out[name]) for name in _NUMBERS} | {"units": independent_units(out)}
    worst = worst_tests(single, df, floored)
    worst, *_ = _with_page(
        at_any_time(worst, df, measures) if any_time else worst, is_compared, alpha, lead, declared, shares
    )
    open_to_missing = ~(to_array(worst["q_page"]) < alpha)
    column["se"] = trusted_error(column["value"], column["se"])
    if any_time:
        level = single_look_level(level, df, column["units"])
    effect = minimum_detectable(column["se"], np.where(compared & (df > 0), df, np.nan), level)
    floor = column["floor"], column["floor_high"]
    effect = np.where(squared, detectable_distance(*floor, level), effect)
    unreachable = column["p_least"] > level  # not even the clearest effect would be found
    largest = largest_of(out, measures)
    effect = np.where((effect < largest) & ~unreachable, effect, np.nan)
    equivalence = _equivalence(column, df, squared, np.where(paired, largest, np.inf), any_time=any_time)
    outcomes = reach_verdicts(
        column["value"], column["low"], column["high"], column["q_page"], column["margin"], equivalence, alpha,
        column["floor_high"], unsigned=floored, n=column["n"], clusters=column["clusters"], family_q=column["q"],
        open_to_missing=open_to_missing, unreachable=unreachable,
    )  # fmt: skip
    texts = {"verdict": map(str, outcomes.verdict), "why": map(str, outcomes.why)}
    is_found = outcomes.verdict == Verdict.DIFFERENCE
    ends = _page_intervals(out, measures, declared, df, largest, floored, is_found, of_family)
    judged = pl.DataFrame(
        [
            *(pl.Series(name, end).fill_nan(None) for name, end in ends.items()),
            pl.Series("mde", effect).fill_nan(None),
            *(pl.Series(name, list(x), pl.String) for name, x in texts.items()),
        ]
    ).with_columns(pl.lit(_extract_reason(out["detail"])).fill_null(pl.col("why")).alias("why"))
    no_spread = (
        pl.when(out["detail"].str.starts_with(split_method(ALIKE_SHIFTS)[1]).fill_null(value=False))
        .then(pl.col("why") + f" {NO_SPREAD}")
        .otherwise("why")
    )
    judged = without_equivalence(judged.with_columns(why=no_spread), out["model"].is_in(sightless(out)))
    no_bounds = out.select(why=fact_of_rows(measures, _no_bounds, ""))["why"]
    unbounded = is_found & out["bound_low"].is_null().to_numpy()
    judged = judged.with_columns(why=pl.when(pl.Series(unbounded)).then(pl.col("why") + no_bounds).otherwise("why"))
    # A normal limit from few units can lie beyond all that can be: chance gives no more than that either.
    floors = pl.when(pl.col("floor_high").is_not_null()).then(pl.min_horizontal("floor_high", pl.Series(largest)))
    out = out.with_columns(floors.alias("floor_high"), *judged.select(pl.when(pl.lit(compared)).then(pl.all())))
    return with_judge_caveats(out.select(estimates.columns), measures)


_FACTS: tuple[Callable[[Measure], bool], ...] = (
    lambda measure: measure.comparison,
    lambda measure: not measure.signed,
    lambda measure: measure.squared,
    lambda measure: measure.paired,
)
_NUMBERS = (
    *("value", "low", "high", "q", "q_page", "p_least", "se", "n", "clusters", "floor", "floor_high", "margin"),
)


def _extract_reason(detail: pl.Series) -> pl.Series:
    """The reason that the study itself gave for what could not be measured; null where it gave none."""
    reason = detail.str.extract(f"^{NOT_MEASURABLE}: (.+)$")
    return "Not measurable: " + reason + "."


def _no_bounds(measure: Measure) -> str:
    """Sentence on why a measure has no bounds; empty where the measure gives no reason."""
    return f" No bounds for missing answers: {measure.unbounded}." if measure.unbounded else ""


def _equivalence(
    column: Mapping[str, np.ndarray], df: np.ndarray, squared: np.ndarray, largest: np.ndarray, *, any_time: bool
) -> np.ndarray:
    """P-value of each row's equivalence; `largest`: what a unit not seen can show, infinite where that is no matter."""
    value, se, margin = column["value"], column["se"], column["margin"]
    out = np.full(df.shape, np.nan)
    has = np.isfinite(margin) & (df > 0)
    if has.any():
        out[has] = tost_p(value[has], se[has], df[has], margin[has])
    out = np.where(squared, distance_equivalence_p(value, column["floor"], column["floor_high"], margin), out)
    if any_time:
        out = any_time_p(np.minimum(2 * out, 1.0), df, column["units"])
    far = unseen_p(value, se, column["units"], margin, largest)
    return np.maximum(out, np.where(np.isfinite(largest), far, 0.0))


def _alphas(estimates: pl.DataFrame, declared: Preregistration | None) -> np.ndarray:
    """Level of each row: that of its declared family, else that of the page."""
    alphas = {family.name: family.alpha for family in declared.families} if declared is not None else {}
    page = _page_alpha(declared)
    return estimates["family"].replace_strict(alphas, default=page, return_dtype=pl.Float64).fill_null(page).to_numpy()


def _page_alpha(declared: Preregistration | None) -> float:
    return ALPHA if declared is None else declared.alpha


def _with_page(
    estimates: pl.DataFrame,
    compared: pl.Expr,
    alpha: np.ndarray,
    lead: Sequence[str],
    declared: Preregistration | None,
    shares: pl.DataFrame | None,
) -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
    """Add `q_page`; with it, the level of each row's family, alpha outside; and how many tests that has, at least 1."""
    tested = pl.col("p").is_not_null() & pl.col("q").is_not_null() & pl.col("family").is_not_null() & compared
    tests = tested.sum().over(AUDIT_FAMILY)
    rows = estimates.select(*AUDIT_FAMILY, "kind", "q", tested=tested, tests=tests)
    rows = rows.with_row_index("row")
    q_page, level, many = np.full(estimates.height, np.nan), alpha.copy(), np.ones(estimates.height)
    if shares is not None:
        joined = rows.join(shares, on=AUDIT_FAMILY, how="left", nulls_equal=True, maintain_order="left")
        share = to_array(joined["share"])
        judged = joined["tested"].to_numpy() & np.isfinite(share)
        q_page[judged] = np.minimum(to_array(rows["q"])[judged] / share[judged], 1.0)
        level[judged], many[judged] = (alpha * share)[judged], rows["tests"].to_numpy()[judged]
        return estimates.with_columns(pl.Series("q_page", q_page).fill_nan(None)), level, many
    for page_rows in rows.filter("tested").partition_by("model", "intervention", maintain_order=True):
        is_lead = page_rows.select(leads_page(page_rows, lead, page_rows)).to_series().to_numpy()
        code = page_rows.select(pl.struct("measure", "score", "family").rank("dense").cast(pl.Int64))[
            "measure"
        ].to_numpy()
        levels = page_levels(page_rows["q"].to_numpy(), code, is_lead, _page_alpha(declared))
        at = page_rows["row"].to_numpy()
        q_page[at], level[at], many[at] = levels.q, alpha[at] * levels.share, page_rows["tests"].to_numpy()
    return estimates.with_columns(pl.Series("q_page", q_page).fill_nan(None)), level, many


def _page_intervals(
    out: pl.DataFrame,
    measures: Sequence[Measure],
    declared: Preregistration | None,
    df: np.ndarray,
    largest: np.ndarray,
    floored: np.ndarray,
    is_found: np.ndarray,
    of_family: np.ndarray,
) -> dict[str, np.ndarray]:
    """Interval of each row at the page's level of its test, and that level; NaN where the page tests nothing."""
    methods = {family.name: family.method for family in declared.families} if declared is not None else {}
    value, low, high, p, q, q_page = (to_array(out[name]) for name in ("value", "low", "high", "p", "q", "q_page"))
    by_name = pl.col("family").is_in(list(methods))  # a declared family may hold several models
    scope = (pl.when(~by_name).then(pl.col(name)) for name in AUDIT_FAMILY[:-1])
    rows = out.select(pl.struct(*scope, "family").rank("dense").alias("code") - 1, "family")
    code = rows["code"].cast(pl.Int64).to_numpy()
    family_names = dict(rows.unique().iter_rows())
    rules = [methods.get(family_names[number], "bh") for number in range(len(family_names))]
    levels = row_levels(p, q, is_found, np.where(np.isfinite(q_page), code, -1), rules, of_family)
    lowest, highest = limits_of(out, measures)
    ends = np.fmax(lowest, np.fmin(-largest, low)), np.fmin(highest, np.fmax(largest, high))
    null = np.where(floored & np.isfinite(lowest), lowest, 0.0)
    of_row = 1 - to_array(out["level"].fill_null(LEVEL))
    page_low, page_high = page_interval(value, (low, high), p, df, (of_row, levels), ends, null)
    return {
        "page_low": page_low,
        "page_high": page_high,
        "page_level": 1 - np.where(np.isfinite(page_low), levels, np.nan),
    }
