"""Shares over pairs, and selection frequencies of whoever stands in them.

Shares over pairs of people, where one person stands in several pairs.

Two pairs that share a person are not independent: who looks rich in one comparison does in the next. So the sampled
unit is the person, on either side of a pair, and more pairs of the same people say ever less.

Selection frequencies from sums per sampled picture: VIGNETTE, section 5, with the intervals it does not give.

What is sampled is the picture, or the person in it where somebody stands in several pictures. One picture stands in
pairs with all others, so that pairs are not independent. A cell is summed up by its *units*: for each picture of those
that the cell is about, `n`, the expected number of valid answers about it, and `s`, how much of them chose it. Sums of
different pairs add up, so that a run of any length is reduced chunk by chunk.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.measures.cluster_bootstrap import Array, only_values
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.proportions import (
    FEWEST_UNITS,
    NOTHING,
    TOO_FEW_UNITS,
    WILSON_OVER_UNITS,
    Codes,
    Shares,
    effective_size,
    groups,
    level_codes,
    score_p,
    shares_of_variance,
    unit_shares,
    wilson_interval,
)
from facevalue.measures.uncertainty import Terms, term_record, terms_of

DYADIC = "dyadic-robust over people"
"""Detail of methods of what pairs of people say."""
DYADIC_WILSON = name_method(IntervalKind.WILSON, DYADIC)
TOO_FEW_PEOPLE = name_method(IntervalKind.NONE, "too few people for a standard error over people")


def independent_units(estimates: pl.DataFrame) -> Array:
    """Clusters of each estimate or, of pairs of people, half of them: so many pairs could share nobody.

    Examples
    --------
    >>> rows = pl.DataFrame({"clusters": [40, 40], "detail": ["over units", DYADIC]})
    >>> independent_units(rows).tolist()
    [40.0, 20.0]
    """
    is_of_pairs = estimates["detail"].str.contains(DYADIC, literal=True).fill_null(value=False).to_numpy()
    return to_array(estimates["clusters"]) / np.where(is_of_pairs, 2, 1)


def tail_df(df: Array, size: Array) -> Array:
    """Degrees of freedom of a share's standard error, more of them the nearer its units are to a yes or a no.

    `df`: of the units. `size`: effective number of independent answers.

    Equation
    --------
    df (1 + 2r) / (1 - r), r = min(df / size, df / (df + 1)): r is the variance of units as a part of p (1 - p), which
    units of a mere yes or no have; s² of n values has the variance 2 σ⁴/n (1 + excess/2), and the excess kurtosis of a
    symmetric beta distribution is -6r / (1 + 2r). Shares of graded units keep df, those of yes and no have nearly the
    normal's: what they vary by follows from the share itself.

    Examples
    --------
    >>> tail_df(np.array([19.0, 19.0]), np.array([19.0, 1900.0])).round(1).tolist()
    [1102.0, 19.6]
    """
    fraction = np.minimum(df / size, df / (df + 1))
    return df * (1 + 2 * fraction) / (1 - fraction)


def p_least(shares: Shares, null: npt.ArrayLike) -> Array:
    """P-values against a share that these people would give if all pairs said the same."""
    assert shares.units is not None
    extreme = np.where(np.asarray(null) > 0.5, 0.0, 1.0) + 0 * shares.units
    freedom = tail_df(shares.units - 1, shares.units)
    return np.where(np.isfinite(shares.low), score_p(extreme, shares.units, freedom, null), np.nan)


def pair_shares(
    hits: Array, weight: Array, people: tuple[Codes, Codes], cell: Codes, cells: int, stratum: Codes | None = None
) -> Shares:
    """Share of hits in each cell, with an interval over people.

    Parameters
    ----------
    hits, weight:
        Shape (pairs,): how much of a pair is a hit, and how much of it counts, 0 <= hits <= weight. Zero weight leaves
        a pair out.
    people:
        Number of the person on either side of each pair, from 0. A pair of two pictures of one person has that person
        twice.
    cell:
        Cell of each pair; negative for none.
    stratum:
        Part of the sample that both people of each pair are from.

    Returns
    -------
    Shares of which `n` counts pairs, as far as they weigh, and `clusters` the people in them; `units` is the effective
    number of units of `pair_shares_of_sums`.

    Examples
    --------
    >>> one = np.array([1.0, 0.0, 1.0, 1.0])
    >>> apart, together = ((np.arange(4), 4 + np.arange(4)), (np.zeros(4, int), 1 + np.arange(4)))
    >>> [pair_shares(one, np.ones(4), who, np.zeros(4, int), 1).units.round(1).item() for who in (apart, together)]
    [4.0, 1.6]
    """
    used = (weight > 0) & (cell >= 0)
    hits, weight, cell = hits[used], weight[used], cell[used]
    strata = np.zeros_like(cell) if stratum is None else stratum[used]
    first, second = (np.asarray(side)[used] for side in people)
    alone = first == second
    sides = np.concatenate([np.arange(first.size), np.flatnonzero(~alone)])
    person = np.concatenate([first, second[~alone]])
    of_people = _sum_by_code((cell[sides], strata[sides], person), weight[sides], hits[sides])
    span = int(max(first.max(initial=0), second.max(initial=0))) + 1
    couple = np.minimum(first, second) * span + np.maximum(first, second)
    (owner, layer, code), (w, h) = _sum_by_code((cell, strata, couple), weight, hits)
    moments = np.array([w, h, w * w, h * w, h * h])
    out = pair_shares_of_sums(
        *of_people, (owner, layer, (code // span != code % span).astype(np.int64)), moments, cells
    )
    return replace(out, terms=_terms(hits, weight, first, second, cell, cells))


def pair_shares_of_sums(
    unit_codes: tuple[Codes, ...], unit_sums: Array, pair_codes: tuple[Codes, ...], pair_sums: Array, cells: int
) -> Shares:
    """Shares over pairs from sums by unit and moments of pairs, which add up as answers come.

    Parameters
    ----------
    unit_codes:
        Cell, stratum and unit, shape (units,) each: a pair counts with the unit on either side, with one of which it
        has two pictures once.
    unit_sums:
        n and s of each, shape (2, units).
    pair_codes:
        Cell, stratum, and 1 for pairs of two units, 0 for those of one, shape (rows,) each.
    pair_sums:
        Σ n, Σ s, Σ n², Σ s n and Σ s² over pairs, those of the same two units added up, shape (5, rows).

    Equation
    --------
    p = Σ s / Σ n, e_d = (s_d - p n_d) / Σ n. A unit's pairs sum to S_u = Σ_{d with u} e_d, those of two units to S_uv.
    V = max(Σ_u S_u² - Σ_{u≠v} S_uv², Σ S_uv²): the first is the dyadic cluster-robust variance (Fafchamps and Gubert
    2007; Aronow, Samii and Assenova 2015, "Cluster-robust variance estimation for dyadic data"), the second takes the
    pairs as independent and is right where units don't matter. S_u is divided by one minus its unit's share of the
    weight, so that it is what the share moves by if it is left out (jackknife); S_uv by one minus the mean share,
    Σ n_uv² / (Σ n)². The effective units are m = Σ_u w_u / Σ_u w_u², w_u the share of the weight in which unit u
    stands: half their number, or all of it where nobody has a second unit beside them; for pairs that share nobody, as
    many as there are.

    With strata h, W_h their shares of the weight: V = Σ W_h² V_h and m = 1 / Σ (W_h² / m_h); degrees of freedom
    m⁻² / Σ ((W_h² / m_h)² / (m_h - 1)), m - 1 of one stratum; where a stratum has fewer than two effective units there
    is one. They are more where pairs are a yes or a no (`tail_df`). The interval is Wilson's with p (1 - p) / V answers
    (`proportions.wilson_interval`), from three units on; where all pairs say the same there is no variance to go by,
    and each effective unit counts as one answer.

    Examples
    --------
    >>> none, two = np.zeros(3, int), np.ones(1, int)
    >>> of_three = np.array([[2.0, 2.0, 2.0], [1.0, 2.0, 1.0]])  # three units, three pairs, two of them hits
    >>> out = pair_shares_of_sums(
    ...     (none, none, np.arange(3)), of_three, (two - 1, two - 1, two), np.array([[3.0, 2, 3, 2, 2]]).T, 1
    ... )
    >>> out.value.round(2).item(), out.units.item(), out.clusters.item()
    (0.67, 1.5, 3)
    """
    (owner, _, _), (n_u, _), (at, _, _), (n, s, *_) = unit_codes, unit_sums, pair_codes, pair_sums
    total, hits = (np.bincount(at, x, cells).astype(np.float64) for x in (n, s))
    clusters = np.bincount(owner[n_u > NOTHING], minlength=cells).astype(np.int64)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.clip(np.where(total > NOTHING, hits / total, np.nan), 0.0, 1.0)
    single = [
        tuple(np.zeros_like(x) if place == 1 else x for place, x in enumerate(c)) for c in (unit_codes, pair_codes)
    ]
    variance, units, df = _between_strata(single[0], unit_sums, single[1], pair_sums, cells)
    in_strata = _between_strata(unit_codes, unit_sums, pair_codes, pair_sums, cells)
    enough = np.isfinite(in_strata[2])
    variance, units, df = (np.where(enough, x, y) for x, y in zip(in_strata, (variance, units, df), strict=True))
    variance = np.where((clusters >= FEWEST_UNITS) & (units > 1) & (not only_values()), variance, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        size = effective_size(value, np.sqrt(variance), units)
        df = tail_df(df, size)
        low, high = wilson_interval(value, size, df)
    shares_of_cells = shares_of_variance(value, variance, df, total, clusters)
    method = np.where(np.isfinite(variance), DYADIC_WILSON, TOO_FEW_PEOPLE).astype(object)
    return replace(shares_of_cells, low=low, high=high, size=size, units=units, method=method)


def _between_strata(
    unit_codes: tuple[Codes, ...], unit_sums: Array, pair_codes: tuple[Codes, ...], pair_sums: Array, cells: int
) -> tuple[Array, Array, Array]:
    """Variance of each cell's share, effective units, and degrees of freedom; NaN where a stratum has too few units."""
    strata = int(max(unit_codes[1].max(initial=0), pair_codes[1].max(initial=0))) + 1
    layers = cells * strata
    of_unit, of_pair = (cell * strata + stratum for cell, stratum, _ in (unit_codes, pair_codes))
    n_u, s_u = unit_sums
    n, s, nn, sn, ss = (np.bincount(of_pair, x, layers) for x in pair_sums)
    two = pair_codes[2] > 0
    nn_2, sn_2, ss_2 = (np.bincount(of_pair[two], x[two], layers) for x in pair_sums[2:])
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = s / n
        leverage = n_u / n[of_unit]
        moves = (s_u - rate[of_unit] * n_u) / n[of_unit] / np.maximum(1 - leverage, _LEAST_REST)
        squares, weights, squared_weights = (np.bincount(of_unit, x, layers) for x in (moves**2, leverage, leverage**2))
        rest = np.maximum(1 - nn / n**2, _LEAST_REST) * n
        pairs, shared = (
            np.maximum(x - 2 * rate * y + rate**2 * z, 0.0) / rest**2 for x, y, z in ((ss, sn, nn), (ss_2, sn_2, nn_2))
        )
        variance, units = np.maximum(squares - shared, pairs), weights / squared_weights
        owner = np.repeat(np.arange(cells), strata)
        total = np.bincount(owner, n, cells)
        weight = (n / total[owner]) ** 2
        seen = n > NOTHING
        lost = np.bincount(owner, seen & (strata > 1) & (units < 2), cells) > 0
        spread, expected, squared = (
            np.bincount(owner, np.where(seen, x, 0.0), cells).astype(np.float64)
            for x in (weight * variance, weight / units, (weight / units) ** 2 / np.maximum(units - 1, NOTHING))
        )
        df = np.where(lost | (total <= NOTHING), np.nan, expected**2 / squared)
        return spread, np.where(total > NOTHING, 1 / expected, np.nan), df


def _sum_by_code(codes: tuple[Codes, ...], *numbers: Array) -> tuple[tuple[Codes, ...], Array]:
    """Numbers added up by what the codes say together, and the codes of each sum."""
    spans = [int(code.max(initial=0)) + 1 for code in codes]
    joint = np.ravel_multi_index(codes, spans) if codes[0].size else codes[0]
    names, at = np.unique(joint, return_inverse=True)
    sums = np.array([np.bincount(at, x, names.size) for x in numbers], dtype=np.float64)
    return tuple(code.astype(np.int64) for code in np.unravel_index(names, spans)), sums


def _terms(hits: Array, weight: Array, first: Codes, second: Codes, cell: Codes, cells: int) -> Terms | None:
    """Terms of the shares: the pairs of each person, so that a pair of two people is among those of both."""
    if term_record() is None:
        return None
    people, apart = int(max(first.max(initial=-1), second.max(initial=-1))) + 1, first != second

    def by_person(values: Array) -> Array:
        size = people * cells
        alone = np.bincount(first * cells + cell, values, size) + np.bincount(
            (second * cells + cell)[apart], values[apart], size
        )
        return alone.reshape(people, cells).astype(np.float64)

    s, n = (np.bincount(cell, values, cells).astype(np.float64) for values in (hits, weight))
    plural = "people" if apart.any() else ""
    return terms_of(by_person(hits), by_person(weight), totals=(s, n), plural=plural)


def effective_units(weight_share: Array, people: tuple[Codes, Codes]) -> float:
    """Effective number of independent units of pairs with these parts of the weight, as `pair_shares` counts them."""
    first, second = people
    alone = first == second
    weights = np.bincount(np.concatenate([first, second[~alone]]), np.concatenate([weight_share, weight_share[~alone]]))
    return float(weights.sum() / (weights**2).sum())


def pair_covariance(error: Array, weight_share: Array, people: tuple[Codes, Codes]) -> Array:
    """Covariance of the shares of several cells over the same pairs, by `pair_shares`' rule.

    `error`, `part`: shape (pairs, cells): what each pair adds to a share's error, and its part of the cell's weight.
    Returns shape (cells, cells), with no negative eigenvalue and the variances of `pair_shares`; each couple has the
    leverage of its own.

    Examples
    --------
    >>> two = np.array([[0.25], [-0.25]]), np.full((2, 1), 0.5)
    >>> pair_covariance(*two, (np.array([0, 1]), np.array([2, 3]))).item()
    0.5
    """
    first, second = people
    pairs, span = np.arange(first.size), int(max(first.max(initial=0), second.max(initial=0))) + 1
    couple = np.minimum(first, second) * span + np.maximum(first, second)
    alone = first == second
    sides = np.concatenate([pairs, pairs[~alone]])
    by_person = _moves(np.concatenate([first, second[~alone]]), sides, error, weight_share)
    by_couple = _moves(couple, pairs, error, weight_share)
    shared = _moves(couple[~alone], pairs[~alone], error, weight_share)
    values, vectors = np.linalg.eigh(by_person.T @ by_person - shared.T @ shared)
    covariances = vectors * np.maximum(values, 0.0) @ vectors.T
    smallest = (by_couple**2).sum(axis=0)
    variances = np.diag(covariances)
    wider = np.sqrt(
        np.divide(np.maximum(variances, smallest), variances, out=np.ones_like(variances), where=variances > 0)
    )
    return covariances * np.outer(wider, wider) + np.diag(np.where(variances > 0, 0.0, smallest))


def _moves(key: Codes, pairs: Codes, error: Array, weight_share: Array) -> Array:
    """Change in each cell when each key's pairs are left out, shape (keys, cells)."""
    names, at = np.unique(key, return_inverse=True)
    summing = scipy.sparse.csr_matrix((np.ones(pairs.size), (at, pairs)), shape=(names.size, error.shape[0]))
    moves, weight_shares = (np.asarray(summing @ x) for x in (error, weight_share))
    return moves / np.maximum(1.0 - weight_shares, _LEAST_REST)


_LEAST_REST = 0.2
"""A person who is in all pairs cannot be left out: what is left is taken as this share at least."""


SHARE_SUMS = ("n", "s", "requests")
SUM_ENDS = ("s_least", "s_most")
"""Sums that rows may have besides: s had all missing answers gone one way or the other, where part of each is known."""
"""Expected valid answers, how much of them chose, and answers asked for."""
UNIT_COLUMNS = ("stratum", "unit")
"""Columns of the unit sampled and of its stratum (gender): units of different strata are other units."""
MOMENT_COLUMNS = ("clusters", "n", "s", "nn", "sn", "ss", "requests")
"""Sums over the pairs of a cell: how many answered, n, s, n², s n, s², and the number of answers asked for."""
CELL_NUMBER = "_cell"
"""Number of the cell that a row belongs to, where cells are summed up."""


def sum_moments(sums: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Reduce pairs to the moments of their cells.

    `sums`: one row per pair and cell: `n`, `s`, `requests` and the columns of `by`.
    Returns the columns of `by` and `MOMENT_COLUMNS`, a row per cell. Sums are taken in the order of the rows: the same
    rows always give the same numbers to the last bit.
    """
    n, s = pl.col("n"), pl.col("s")
    seen = (n > NOTHING).sum().cast(pl.Float64)
    products = {"clusters": seen, "n": n.sum(), "s": s.sum(), "nn": (n * n).sum(), "sn": (s * n).sum()}
    out = sums.group_by(by, maintain_order=True)
    return out.agg(**products, ss=(s * s).sum(), requests=pl.col("requests").sum().cast(pl.Float64))


def add_sums(frame: pl.DataFrame, by: Sequence[str], columns: Sequence[str] = SHARE_SUMS) -> pl.DataFrame:
    """Add up what belongs to one cell, in the order of the rows."""
    return frame.group_by(by, maintain_order=True).agg(pl.col(columns).sum())


def selection_frequencies(
    frame: pl.DataFrame,
    by: Sequence[str],
    unit_totals: pl.DataFrame | None = None,
    partners: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Selection frequency of each cell with its interval over units.

    Parameters
    ----------
    frame:
        Rows of sums: the columns of `by`, `activity` (if any, and null where there is none), `UNIT_COLUMNS` and
        `SHARE_SUMS`, and `SUM_ENDS` where less than all of a missing answer is unknown. What a cell puts together must
        be different answers: never several questions about the same pair without `question` in `by`.
    by:
        What names a cell, one column or more. Unless `activity` is among it, activities weigh the same.
    unit_totals:
        Sums by unit over all activities together, with the columns of `by`, `UNIT_COLUMNS` and `SHARE_SUMS`: for cells
        whose rows in `frame` have no unit, as where a pair answers for two activities.
    partners:
        Of cells that are an identity's (`identity` in `by`): moments by `other_identity` of pairs whose other pictures
        stand in several of the identity's own units. They are sampled, too.

    Returns
    -------
    The columns of `by`; `value`, `low`, `high` and `se` in percent; `n` (expected valid answers), `clusters` (units),
    `df` (degrees of freedom of `se`), `size` (effective number of answers), `s` (how much of n chose), `bound_low` and
    `bound_high` (in percent: had all missing answers gone one way), `bound_se` (of the end that varies more). Null
    is not measurable: a cell without valid answers has value null and n 0; one of fewer than three units has no
    interval.

    Equation
    --------
    `proportions.unit_shares`, averaged over the activities with an answer (section 5). With `unit_totals`, a unit adds
    s_u / n with the weight n_u / n, and se² is multiplied by n Σ_a (1/n_a) / A² (Kish) for activities that are not
    asked equally often. With `partners`, se_i² grows by Σ_j max(se_j² - P_j, 0) (n_ij / n_i)², P_j the variance over
    pairs as if they were independent: a picture that stands beside several of i's own adds to all of them (Aronow,
    Samii and Assenova 2015, "Cluster-robust variance estimation for dyadic data").

    Raises
    ------
    ValueError
        A cell would put several questions together.

    Examples
    --------
    >>> pictures = pl.DataFrame({"activity": ["cooking", "hiking", "rowing"], "n": [6.0] * 3, "s": [2.0, 3, 4],
    ...                          "requests": [6] * 3, "identity": ["old"] * 3, "stratum": ["male"] * 3})
    >>> out = selection_frequencies(pictures.with_columns(unit="activity"), ["identity"])
    >>> out.select("identity", "value", pl.col("se").round(1), "n", "clusters", "df").row(0)
    ('old', 50.0, 9.6, 18.0, 3, 2.0)
    """
    by = list(by)
    if "question" in frame.columns and "question" not in by and _mixed(frame, by):
        raise ValueError("A cell would put several questions about one pair together; name `question` in `by`.")
    labels, cell = number_cells(frame, by)
    count, stratum, unit, activity = labels.height, *(_codes(frame, name) for name in (*UNIT_COLUMNS, "activity"))
    n, s, requests = (to_array(frame[name]) for name in SHARE_SUMS)
    ends = (to_array(frame[SUM_ENDS[0]]), to_array(frame[SUM_ENDS[1]])) if set(SUM_ENDS) <= set(frame.columns) else None
    missing_of = None if only_values() else requests
    shares = unit_shares(cell, count, unit, n, s, stratum=stratum, inner=activity, requests=missing_of, ends=ends)
    variance, df, units = shares.variance, shares.df, shares.clusters
    if unit_totals is not None and unit_totals.height:
        rows = unit_totals.join(labels, on=by, nulls_equal=True, maintain_order="left")
        of_totals = unit_shares(
            rows[CELL_NUMBER].cast(pl.Int64).to_numpy(),
            count,
            _codes(rows, "unit"),
            to_array(rows["n"]),
            to_array(rows["s"]),
            stratum=_codes(rows, "stratum"),
        )
        has_no_unit = units == 0
        variance = np.where(has_no_unit, of_totals.variance * _unevenness(cell, count, activity, n), variance)
        df, units = (np.where(has_no_unit, x, y) for x, y in ((of_totals.df, df), (of_totals.clusters, units)))
    out = labels.drop(CELL_NUMBER).with_columns(pl.Series("variance", variance).fill_nan(None))
    if partners is not None and partners.height:
        variance = to_array(_beside(out, partners, by))
    numbers = {name: np.bincount(cell, x, count).astype(np.float64) for name, x in (("n", n), ("s", s))}
    final = shares_of_variance(shares.value, variance, df, numbers["n"], units)
    percent = {"value": final.value, "low": final.low, "high": final.high, "se": final.se}
    if (bounds := shares.bounds) is not None:
        wider = np.nan_to_num(variance) - np.nan_to_num(shares.variance)
        percent |= {"bound_low": bounds.low, "bound_high": bounds.high, "bound_se": np.sqrt(bounds.se**2 + wider)}
    numbers |= {"df": df, "size": final.size} | {name: 100 * x for name, x in percent.items()}
    nothing = np.full(count, np.nan)
    columns = (pl.Series(name, numbers.get(name, nothing)).fill_nan(None) for name in _COLUMNS if name != "clusters")
    return out.with_columns(*columns, pl.Series("clusters", units, pl.Int64)).select(*by, *_COLUMNS)


_COLUMNS = ("value", "low", "high", "se", "n", "clusters", "df", "size", "s", "bound_low", "bound_high", "bound_se")


def number_cells(frame: pl.DataFrame, by: Sequence[str]) -> tuple[pl.DataFrame, Codes]:
    """Labels of all cells with their number (`CELL_NUMBER`), in the order in which they come, and the cell of each row.

    Examples
    --------
    >>> labels, cell = number_cells(pl.DataFrame({"group": ["f", "m", "f"]}), ["group"])
    >>> labels["group"].to_list(), cell.tolist()
    (['f', 'm'], [0, 1, 0])
    """
    group, first = groups(*(level_codes(frame[name]) for name in by))
    order = np.argsort(first)
    return frame[first[order]].select(by).with_row_index(CELL_NUMBER), np.argsort(order)[group]


def _codes(frame: pl.DataFrame, name: str) -> Codes:
    """Levels of a column as numbers, -1 for null; of one that is not there, -1."""
    return level_codes(frame[name]) if name in frame.columns else np.full(frame.height, -1)


def _unevenness(cell: Codes, cells: int, activity: Codes, n: Array) -> Array:
    """Kish's factor of activities that are not asked equally often."""
    rows = (
        pl.DataFrame({CELL_NUMBER: cell, "activity": activity, "n": n})
        .group_by(CELL_NUMBER, "activity")
        .agg(pl.col("n").sum())
    )
    rows = rows.filter(pl.col("n") > NOTHING).sort(CELL_NUMBER, "n")
    owner, of_activity = rows[CELL_NUMBER].to_numpy(), to_array(rows["n"])
    total, inverse, levels = (np.bincount(owner, x, cells) for x in (of_activity, 1 / of_activity, None))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total * inverse / levels**2)


def _mixed(frame: pl.DataFrame, by: list[str]) -> bool:
    questions = frame.select(*by, "question").unique()
    return questions.height > questions.select(by).unique().height


def excess_variance(variances: pl.DataFrame, partners: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Variance of shares that comes from pictures standing in several pairs, beyond that of independent pairs.

    `variances`: `by` (with `identity`) and `variance`. `partners`: as in `selection_frequencies`.
    Returns `by`, `excess` (0 or more) and `total`, the answers in all pairs of the cell.
    """
    sums = add_sums(partners, by, MOMENT_COLUMNS).filter(pl.col("n") > NOTHING)
    rate = pl.col("s") / pl.col("n")
    squares = pl.col("ss") - 2 * rate * pl.col("sn") + rate**2 * pl.col("nn")
    joined = sums.with_columns(_pairs=squares / pl.col("n") ** 2).join(variances, on=list(by), nulls_equal=True)
    more = (pl.col("variance") - pl.col("_pairs")).fill_null(0.0).clip(lower_bound=0.0)
    return joined.select(*by, more.alias("excess"), pl.col("n").alias("total"))


def _beside(cells: pl.DataFrame, partners: pl.DataFrame, by: list[str]) -> pl.Series:
    """Variance with that of the other pictures, which stand beside several of an identity's own."""
    rows = add_sums(partners, [*by, "other_identity"], MOMENT_COLUMNS).filter(pl.col("n") > NOTHING)
    own_excess = excess_variance(cells.select(*by, "variance"), partners, by)
    rest = [name for name in by if name != "identity"]
    partner_excess = own_excess.select(*rest, pl.col("identity").alias("other_identity"), "excess")
    rows = rows.join(partner_excess, on=[*rest, "other_identity"], nulls_equal=True)
    rows = rows.join(own_excess.select(*by, "total"), on=by, nulls_equal=True)
    added = rows.group_by(by, maintain_order=True).agg(
        _more=(pl.col("excess") * (pl.col("n") / pl.col("total")) ** 2).sum()
    )
    joined = cells.join(added, on=by, how="left", nulls_equal=True, maintain_order="left")
    return (joined["variance"] + joined["_more"].fill_null(0.0)).alias("variance")


def balance_choices(rows: pl.DataFrame) -> pl.DataFrame:
    """Choices between two, an answer that names both or none counting half for each: s + t = n, s - t as it was.

    `rows`: with `n`, `s` (of it, what chose the one) and `t` (what chose the other).
    """
    n, s, t = pl.col("n"), pl.col("s"), pl.col("t")
    return rows.with_columns(s=(n + s - t) / 2, t=(n - s + t) / 2)


def pair_sides(
    pairs: pl.DataFrame, by: Sequence[str], unit: Sequence[str] = UNIT_COLUMNS
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Prepare what `pair_cells` needs: sums by unit, on whichever side of a pair it is, and moments of pairs.

    `pairs`: a row per pair: `by`, `SHARE_SUMS`, `unit_1`, `unit_2`, and `pair`, whether these are two.
    """
    sides = pairs.with_columns(unit="unit_1"), pairs.filter("pair").with_columns(unit="unit_2")
    strata = [name for name in unit if name != "unit"]
    return pl.concat([add_sums(side, (*by, *unit)) for side in sides]), sum_moments(pairs, [*by, *strata, "pair"])


def pair_cells(units: pl.DataFrame, pairs: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Shares of answers that are about both pictures of a pair alike, with their interval over pictures.

    `units`: sums by `by` and `UNIT_COLUMNS`, a pair's answers in the row of either picture; of one where both are the
    same unit. `pairs`: moments of pairs by `by`, `stratum` and `pair`: whether it is of two units.
    Returns `by`, `value`, `low`, `high`, `se` in percent, `n`, `clusters` (units), `df`, `size`: see
    `pair_shares_of_sums`.
    """
    by = list(by)
    sums, of_pairs = (
        add_sums(units, [*by, *UNIT_COLUMNS], ("n", "s")),
        add_sums(pairs, [*by, "stratum", "pair"], MOMENT_COLUMNS),
    )
    labels, at = number_cells(of_pairs, by)
    owner = sums.join(labels, on=by, nulls_equal=True, maintain_order="left")[CELL_NUMBER].cast(pl.Int64).to_numpy()
    of_both = pl.concat([frame.select(pl.col("stratum").cast(pl.String)) for frame in (sums, of_pairs)])
    strata = of_both["stratum"].rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    shares = pair_shares_of_sums(
        (owner, strata[: sums.height], _codes(sums, "unit")), np.array([to_array(sums[name]) for name in ("n", "s")]),
        (at, strata[sums.height :], of_pairs["pair"].cast(pl.Int64).to_numpy()),
        np.array([to_array(of_pairs[name]) for name in ("n", "s", "nn", "sn", "ss")]), labels.height,
    )  # fmt: skip
    numbers = {name: 100 * getattr(shares, name) for name in ("value", "low", "high", "se")}
    numbers |= {"n": np.bincount(at, to_array(of_pairs["n"]), labels.height), "df": shares.df, "size": shares.size}
    columns = (pl.Series(name, x, pl.Float64).fill_nan(None) for name, x in numbers.items())
    out = labels.with_columns(*columns, pl.Series("clusters", shares.clusters))
    return out.select(*by, "value", "low", "high", "se", "n", "clusters", "df", "size")


def to_array(series: pl.Series) -> Array:
    """Numbers with NaN for null."""
    return (series if series.dtype == pl.Float64 else series.cast(pl.Float64)).to_numpy()


def as_shares(percentages: pl.DataFrame) -> pl.DataFrame:
    """The same as shares from 0 to 1."""
    return percentages.with_columns(pl.col("^(value|low|high|se|bound_.*)$") / 100)


def p_even(cells: pl.DataFrame) -> Array:
    """P of each share against one half, by the arithmetic of its interval."""
    share, size, df = (to_array(cells[name]) for name in ("value", "size", "df"))
    return score_p(share / 100, size, df)


def frequency_methods(frame: pl.DataFrame, name: str = WILSON_OVER_UNITS) -> npt.NDArray[np.object_]:
    """Method of each row's interval, or the reason why there is none."""
    enough = to_array(frame["clusters"]) >= FEWEST_UNITS
    return np.array([TOO_FEW_UNITS, name], dtype=object)[enough.astype(np.int64)]
