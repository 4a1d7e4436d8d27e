"""Impact ratios, and selection frequencies of identities that were chosen among."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.measures.cluster_bootstrap import Array, only_values
from facevalue.measures.group_spread import ONE_SIDED, UPPER
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.missing_data_bounds import spread_bounds
from facevalue.measures.pair_moments import (
    NULL_DRAWS,
    Codes,
    PairSpread,
    Scenes,
    critical_value,
    crossed_correlation,
    draw_frequencies,
    null_floor,
    selection_spread,
    share_beyond,
    spread_error,
)
from facevalue.measures.pairs import frequency_methods, to_array
from facevalue.measures.uncertainty import Bounds

LOG_SCALE_DELTA = name_method(IntervalKind.DELTA, "on the log scale over pictures, whoever is chosen most")
REFERENCE_IDENTITY = name_method(IntervalKind.NONE, "the identity that all others are compared with")
NEVER_CHOSEN = name_method(IntervalKind.NONE, "never chosen")


class Impact(NamedTuple):
    """Ratios to the largest selection frequency; arrays of one length."""

    ratio: Array
    error: Array
    """Standard error of its logarithm."""
    low: Array
    high: Array
    p: Array
    """Of no shortfall: below 1 - `LEVEL` exactly where `high` is below 1, where there is an interval."""


def impact_ratios(
    selected: Array, se: Array, related: Array, df: Array, null: Array | None = None, smallest_p: float = 0.0
) -> Impact:
    """Ratios to the largest selection frequency, with intervals and tests.

    Parameters
    ----------
    selected, se:
        Selection frequencies of all identities with their standard errors, in one unit.
    related:
        Correlation of their errors, shape (identities, identities): pairs that two identities share count for one and
        against the other.
    df:
        Degrees of freedom of each standard error.
    null:
        Selection frequencies had nobody been preferred, shape (draws, identities); without it there is no p.
    least:
        Smallest p that these can give.

    Returns
    -------
    The reference itself is 1 and has no interval, nor has an identity that is never chosen. All NaN if nobody is
    chosen.

    Equation
    --------
    r_i = S_i / max_j S_j = min_j r_ij, r_ij = S_i / S_j; var ln r_ij = e_ij² = (se_i/S_i)² + (se_j/S_j)² -
    2 ρ_ij se_i se_j / (S_i S_j). Who is largest is not known: high = min(1, min_j r_ij exp(c_i e_ij)), low =
    min_j r_ij exp(-t_{.99} e_ij) (Hsu 1984, "Constrained simultaneous confidence intervals for multiple comparisons
    with the best"). p is the share of the null in which T_i = max_j -ln(r_ij) / e_ij is as large, the e_ij being those
    observed, and c_i the value that T_i exceeds in 5% of it; t_{1 - .05/(k-1)}, k identities, where there is no null.
    The p of an identity that is never chosen is the share of the null that falls as short.

    Examples
    --------
    >>> out = impact_ratios(np.array([40.0, 60.0, 0.0]), np.array([2.0, 2.0, 0.0]), np.eye(3), np.full(3, 100.0))
    >>> [x.round(2).tolist() for x in out]
    [[0.67, 1.0, 0.0], [0.06, nan, nan], [0.58, nan, nan], [0.75, nan, nan], [nan, nan, nan]]
    """
    none = np.full(selected.shape, np.nan)
    if not selected.size or not np.nanmax(selected) > 0:
        return Impact(none, none, none, none, none)
    top = int(np.nanargmax(selected))
    ratio = selected / selected[top]
    chosen = (selected > 0) & np.isfinite(se)
    relative_se = np.divide(se, selected, out=np.full(se.shape, np.nan), where=chosen)
    variance = relative_se[:, None] ** 2 + relative_se[None] ** 2 - 2 * related * np.outer(relative_se, relative_se)
    error = np.sqrt(np.maximum(variance, 0.0))
    np.fill_diagonal(error, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = selected[:, None] / selected[None]
    freedom = np.maximum(np.minimum(df[:, None], df[None]), 1)
    reach = scipy.special.stdtrit(freedom, 1 - ONE_SIDED / max(selected.size - 1, 1))
    p = none
    if null is not None:
        apart = _farthest(null, error)
        reach = np.where(smallest_p < ONE_SIDED, critical_value(apart), np.inf)[:, None]
        beyond = share_beyond(apart, _farthest(selected, error))
        p = np.maximum(np.where(chosen, beyond, share_beyond(shortfalls(null), 1 - ratio)), smallest_p)
    with np.errstate(invalid="ignore"):  # zero times infinity, of whoever is never chosen
        low, high = ratios * np.exp(-scipy.special.stdtrit(freedom, 1 - UPPER) * error), ratios * np.exp(reach * error)
    stated = chosen & (np.arange(selected.size) != top) & np.isfinite(error[:, top])
    lowest, highest = (np.where(np.isfinite(x), x, np.inf).min(axis=1) for x in (low, high))
    return Impact(
        ratio,
        np.where(stated, error[:, top], np.nan),
        np.where(stated, np.minimum(lowest, ratio), np.nan),
        np.where(stated, np.minimum(np.maximum(highest, ratio), 1.0), np.nan),
        p,
    )


def _farthest(selected: Array, error: Array) -> Array:
    """Largest -ln r_ij in units of its error, over the last axis of frequencies."""
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.log(selected)
        out = np.full(selected.shape, -np.inf)
        for reference in range(selected.shape[-1]):
            out = np.fmax(out, (size[..., reference, None] - size) / error[:, reference])
    return out


def shortfall_bounds(shares: Bounds, related: Array) -> Bounds:
    """Bounds of shortfalls (`shortfalls`) from those of the selection frequencies.

    Equation
    --------
    low = max(0, 1 - high_i / max_{j != i} low_j), high = 1 - min(1, low_i / max_{j != i} high_j). se: of the lower end
    by the delta method, r² (a² + b² - 2 ρ a b) with a and b the relative errors of high_i and of the largest low_j, r
    their ratio.

    Examples
    --------
    >>> value, none = np.array([40.0, 60.0]), np.zeros(2)
    >>> bounds = shortfall_bounds(Bounds(value, value - 5, value + 5, none, none), np.eye(2))
    >>> bounds.low.round(2).tolist(), bounds.high.round(2).tolist()
    ([0.18, 0.0], [0.46, 0.0])
    """
    size = shares.low.size
    apart = np.where(np.eye(size, dtype=np.bool_), -np.inf, 0.0)
    compared = apart + shares.low
    top, place = compared.max(axis=1), compared.argmax(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        low = np.where(top > 0, np.maximum(1 - shares.high / top, 0.0), 0.0)
        highest = (apart + shares.high).max(axis=1)
        high = np.where(highest > 0, 1 - np.minimum(shares.low / highest, 1.0), 0.0)
        a, b = shares.se / shares.high, shares.se[place] / top
        variance = a**2 + b**2 - 2 * related[np.arange(size), place] * a * b
        error = shares.high / top * np.sqrt(np.maximum(variance, 0.0))
    return Bounds(shortfalls(shares.value), low, high, shares.missing, np.where(top > 0, error, np.nan))


def shortfalls(selected: Array) -> Array:
    """1 - S_i / max S over the last axis; NaN where nobody is chosen.

    Examples
    --------
    >>> shortfalls(np.array([40.0, 50.0])).round(2).tolist()
    [0.2, 0.0]
    """
    top = selected.max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(top > 0, 1 - selected / top, np.nan)


@dataclass(frozen=True)
class ChosenAmong:
    """Identities that were chosen among in answer to one question."""

    shares: pl.DataFrame
    """Their shares (`pairs.selection_frequencies`), those with an answer, in the order of all arrays."""
    couples: pl.DataFrame
    """Answers of the couples among them: first and second (places in that order), `crossed` and n."""
    scenes: Scenes | None
    """Their answers by scene; None where pictures are paired across scenes."""

    @property
    def size(self) -> int:
        """Number of identities."""
        return self.shares.height

    @cached_property
    def selection_shares(self) -> Array:
        """S of each, in percent."""
        return to_array(self.shares["value"])

    @cached_property
    def se(self) -> Array:
        """Standard errors of `selection_shares`."""
        return to_array(self.shares["se"])

    @cached_property
    def df(self) -> float:
        """Degrees of freedom that all of them have."""
        return float(to_array(self.shares["df"]).min()) if self.size else 0.0

    @cached_property
    def error_correlation(self) -> Array:
        """Correlation of the errors of `selection_shares`."""
        if self.scenes is not None:
            return self.scenes.error_correlation
        first, second = _codes(self.couples, "first"), _codes(self.couples, "second")
        return crossed_correlation(first, second, to_array(self.couples["n"]), self.se)

    def null(self, draws: int, seed: int, *, freed: bool) -> Array:
        """Selection frequencies had nobody been preferred, shape (draws, identities).

        With `freed`, differences between identities are taken out before they are dealt anew: the noise that there is
        beside them. Else all of them are dealt as they are, as a test wants it.
        """
        if self.scenes is None:
            centre = float(self.selection_shares.mean())
            return draw_frequencies(self.se, self.error_correlation, self.df, draws, seed, centre)
        return self.scenes.permute_identities(self.scenes.null_answers if freed else self.scenes.s, draws, seed)

    @cached_property
    def bounds(self) -> Bounds:
        """Between what `selection_shares` would lie, whatever the missing answers had been."""
        low, high, error = (to_array(self.shares[name]) for name in ("bound_low", "bound_high", "bound_se"))
        return Bounds(self.selection_shares, low, high, np.full(self.size, np.nan), error)

    @property
    def spread_bounds(self) -> dict[str, float]:
        """Bounds of `spread`, each identity's missing answers going where they like, and their standard error."""
        ends = (
            spread_bounds([self.bounds.select_rows(np.array([at])) for at in range(self.size)])
            if self.size > 1
            else None
        )
        error = spread_error(self.selection_shares, self.bounds.se, self.error_correlation) if ends else np.nan
        low, high = (float(ends.low[0]), float(ends.high[0])) if ends else (np.nan, np.nan)
        return {"bound_low": low, "bound_high": high, "bound_se": error}

    def spread(self, seed: int) -> PairSpread:
        """Spread of the selection shares; see `pair_moments.selection_spread`."""
        return selection_spread(self.selection_shares, self.se, self.error_correlation, self.df, self.scenes, seed)

    def impact(self, seed: int) -> tuple[pl.DataFrame, pl.DataFrame, npt.NDArray[np.object_]]:
        """Estimate impact ratios and shortfalls, these with their tests: as columns of `shares`, and their method."""
        tested, smallest = None, 0.0
        if np.isfinite(self.se).all() and not only_values():
            tested = self.null(5 * NULL_DRAWS, seed + 2, freed=False)
            smallest = max(1 / (1 + len(tested)), self.scenes.smallest_p if self.scenes is not None else 0.0)
        ratio, error, low, high, p = impact_ratios(
            self.selection_shares, self.se, self.error_correlation, to_array(self.shares["df"]), tested, smallest
        )
        methods = frequency_methods(self.shares, LOG_SCALE_DELTA)
        methods[self.selection_shares == 0] = NEVER_CHOSEN
        methods[int(np.argmax(self.selection_shares))] = REFERENCE_IDENTITY
        short = 1 - ratio
        ends = shortfall_bounds(self.bounds, self.error_correlation)
        ratios = {"value": ratio, "low": low, "high": high, "se": ratio * error}
        falls = {"value": short, "low": 1 - high, "high": 1 - low, "se": ratio * error}
        ratios |= {"bound_low": 1 - ends.high, "bound_high": 1 - ends.low, "bound_se": ends.se}
        falls |= {"bound_low": ends.low, "bound_high": ends.high, "bound_se": ends.se}
        if tested is not None:
            floor = null_floor(shortfalls(self.null(NULL_DRAWS, seed + 1, freed=True)), short, p)
            falls |= {"floor": floor.mean, "floor_high": floor.high, "p": floor.p}
            falls["p_least"] = np.full(self.size, smallest)
        first, second = (
            self.shares.with_columns(pl.Series(name, values).fill_nan(None) for name, values in numbers.items())
            for numbers in (ratios, falls)
        )
        return first, second, methods


def identity_sets(
    estimates: pl.DataFrame,
    couples: pl.DataFrame,
    rows: pl.DataFrame,
    family: Sequence[str],
    labels: Sequence[str] = (),
) -> Iterator[tuple[dict[str, str | None], ChosenAmong]]:
    """All sets of identities that were chosen among, with their labels, in a fixed order.

    Parameters
    ----------
    estimates:
        Selection frequencies (`pairs.selection_frequencies`) by `family` and `identity`.
    couples:
        Moments of pairs by `family`, `identity`, `other_identity` and `crossed`.
    rows:
        Sums by `family`, `identity`, `activity` and `pairs.UNIT_COLUMNS`.
    labels:
        Further columns of `estimates` that belong to a set.
    """
    measured = estimates.filter(pl.col("value").is_not_null()).sort(*family, "identity")
    places = measured.select(*family, "identity", place=pl.int_range(pl.len(), dtype=pl.Int64).over(family))
    grouped = couples.group_by(*family, "identity", "other_identity", maintain_order=True)
    couples = grouped.agg(pl.col("n").sum(), pl.col("crossed").any()).filter(pl.col("n") > 0)
    for column, name in (("identity", "first"), ("other_identity", "second")):
        renamed = places.rename({"identity": column, "place": name})
        couples = couples.join(renamed, on=[*family, column], nulls_equal=True, maintain_order="left")
    rows = rows.filter((pl.col("n") > 0) & pl.col("unit").is_not_null())
    rows = rows.join(places, on=[*family, "identity"], nulls_equal=True, maintain_order="left").select(
        *family, "place", "n", "s", scene=pl.struct("stratum", "unit").rank("dense"),
        stratum=pl.col("stratum").fill_null("").rank("dense"), activity=pl.col("activity").fill_null("").rank("dense"),
    )  # fmt: skip
    cells, shared, lines = (
        frame.partition_by(family, as_dict=True) for frame in (measured, couples.sort(*family, "first", "second"), rows)
    )
    for row in estimates.select(*family, *labels).unique().sort(family).iter_rows(named=True):
        key = tuple(row[name] for name in family)
        if key not in cells:
            yield row, ChosenAmong(measured.clear(), couples.clear(), None)
            continue
        nested = key in lines and not shared[key]["crossed"].any()
        yield row, ChosenAmong(cells[key], shared[key], _scenes(lines[key], cells[key].height) if nested else None)


def _codes(frame: pl.DataFrame, name: str) -> Codes:
    return frame[name].cast(pl.Int64).to_numpy()


def _scenes(rows: pl.DataFrame, identities: int) -> Scenes:
    """Answers about pictures that are paired within scenes alone."""
    scene, stratum, activity = (
        np.unique(_codes(rows, name), return_inverse=True)[1] for name in ("scene", "stratum", "activity")
    )
    _, first, line = np.unique(activity * (scene.max() + 1) + scene, return_index=True, return_inverse=True)
    n, s = np.zeros((2, first.size, identities))
    at = line, _codes(rows, "place")
    n[at], s[at] = to_array(rows["n"]), to_array(rows["s"])
    return Scenes(n, s, scene[first], stratum[first], activity[first])
