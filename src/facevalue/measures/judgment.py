"""Judgment of estimates: families, detectable effects, margins, verdicts."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures import unsigned
from facevalue.measures.any_time import any_time_p, at_any_time, single_look_level
from facevalue.measures.audit_level import FAMILY
from facevalue.measures.base import Measure, rows_of, value_by_measure
from facevalue.measures.cluster_bootstrap import LEVEL
from facevalue.measures.estimates import fact_of_rows
from facevalue.measures.interval_method import NOT_MEASURABLE, split_method
from facevalue.measures.intervention_effects import degrees_of_freedom
from facevalue.measures.judge_caveats import with_judge_caveats
from facevalue.measures.multiple_testing import ALPHA, apply
from facevalue.measures.page_error import leads_page, page_levels
from facevalue.measures.page_interval import page_interval, row_levels
from facevalue.measures.power import minimum_detectable
from facevalue.measures.preregistration import Preregistration
from facevalue.measures.selection import to_array
from facevalue.measures.sight import sightless, without_equivalence
from facevalue.measures.unseen import SAME
from facevalue.measures.value_limits import check_margins, largest_of, limits_of, within_reach
from facevalue.measures.verdicts import NO_SPREAD, Verdict, tost, trusted_error, unseen, verdicts
from facevalue.measures.worst_case import worst_tests


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
        (`audit_level.audit_families`); no others are judged. The table has been judged as a page. None for a page.

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
    value (`value_limits.largest_of`) would be detected, or if there is no standard error that says anything
    (`verdicts.trusted_error`): none, one of zero, one of a single unit. It is null, too, where the smallest p that the
    test can give (`p_least`) lies above its level. Those of squared distances follow from their floors (`unsigned`).

    Shifts of one and the same cluster are equivalent only if few clusters that move far can't make up the margin either
    (`verdicts.unseen`).

    All families of one model (and intervention) are held to alpha together: see `page_error`. So are the worst cases of
    what is found (`worst_case`): a difference is found unless the missing answers say otherwise, if the page would not
    find it with all missing answers gone against each difference. What rests on a judge of texts is found unless the
    judge sorts them by their group, where its measured errors could explain it (`with_judge_caveats`).
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
        out, single = (apply(declared.families, table) for table in (out, single))
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
    column = {name: to_array(out[name]) for name in _NUMBERS}
    worst = worst_tests(single, df, floored)
    worst, *_ = _with_page(
        at_any_time(worst, df, measures) if any_time else worst, is_compared, alpha, lead, declared, shares
    )
    open_to_missing = ~(to_array(worst["q_page"]) < alpha)
    column["se"] = trusted_error(column["value"], column["se"])
    if any_time:
        level = single_look_level(level, df, column["clusters"])
    effect = minimum_detectable(column["se"], np.where(compared & (df > 0), df, np.nan), level)
    floor = column["floor"], column["floor_high"]
    effect = np.where(squared, unsigned.detectable(*floor, level), effect)
    unreachable = column["p_least"] > level  # not even the clearest effect would be found
    largest = largest_of(out, measures)
    effect = np.where((effect < largest) & ~unreachable, effect, np.nan)
    equivalence = _equivalence(column, df, squared, np.where(paired, largest, np.inf), any_time=any_time)
    outcomes = verdicts(
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
    ).with_columns(pl.lit(_stated(out["detail"])).fill_null(pl.col("why")).alias("why"))
    no_spread = (
        pl.when(out["detail"].str.starts_with(split_method(SAME)[1]).fill_null(value=False))
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


def _stated(detail: pl.Series) -> pl.Series:
    """The reason that the study itself gave for what could not be measured; null where it gave none."""
    reason = detail.str.extract(f"^{NOT_MEASURABLE}: (.+)$")
    return "Not measurable: " + reason + "."


def _no_bounds(measure: Measure) -> str:
    """Why a measure has no bounds, as a further sentence; empty where it says nothing of that."""
    return f" No bounds for missing answers: {measure.unbounded}." if measure.unbounded else ""


def _equivalence(
    column: Mapping[str, np.ndarray], df: np.ndarray, squared: np.ndarray, largest: np.ndarray, *, any_time: bool
) -> np.ndarray:
    """P-value of each row's equivalence; `largest`: what a unit not seen can show, infinite where that is no matter."""
    value, se, margin = column["value"], column["se"], column["margin"]
    out = np.full(df.shape, np.nan)
    has = np.isfinite(margin) & (df > 0)
    if has.any():
        out[has] = tost(value[has], se[has], df[has], margin[has])
    out = np.where(squared, unsigned.equivalence(value, column["floor"], column["floor_high"], margin), out)
    if any_time:
        out = any_time_p(np.minimum(2 * out, 1.0), df, column["clusters"])
    far = unseen(value, se, column["clusters"], margin, largest)
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
    tests = tested.sum().over(FAMILY)
    rows = estimates.select(*FAMILY, "kind", "q", tested=tested, tests=tests)
    rows = rows.with_row_index("row")
    q_page, level, many = np.full(estimates.height, np.nan), alpha.copy(), np.ones(estimates.height)
    if shares is not None:
        joined = rows.join(shares, on=FAMILY, how="left", nulls_equal=True, maintain_order="left")
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
    scope = (pl.when(~by_name).then(pl.col(name)) for name in FAMILY[:-1])
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
