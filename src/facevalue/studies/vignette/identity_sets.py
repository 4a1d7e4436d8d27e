"""Identities that were chosen among: how far their selection frequencies lie apart, and their impact ratios.

Identities share pairs, so that the errors of their frequencies go together; and had nobody been preferred, it would not
matter which of a scene's pictures shows whom. Spread, impact ratios and shortfalls are judged beside both.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.measures.cluster_bootstrap import Array, only_values
from facevalue.measures.group_spread import impact_ratios, shortfall_bounds, shortfalls
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.missing_data_bounds import spread_bounds
from facevalue.measures.noise_floors import null_floor, share_beyond, spread_interval
from facevalue.measures.pairs import frequency_methods, to_array
from facevalue.measures.uncertainty import Bounds

Codes = npt.NDArray[np.int64]
Orders = npt.NDArray[np.unsignedinteger[Any]]
NULL_DRAWS = 1000
"""Of a floor, and of a test at first."""
MOST_NULL_DRAWS = 20_000
"""Of a test that has fewer than `ENOUGH_NULL_DRAWS` hits until then."""
ENOUGH_NULL_DRAWS = 20
_BLOCK = 2**16  # numbers held at once: what fits a processor's cache
LOG_SCALE_DELTA = name_method(IntervalKind.DELTA, "on the log scale over pictures, whoever is chosen most")
REFERENCE_IDENTITY = name_method(IntervalKind.NONE, "the identity that all others are compared with")
NEVER_CHOSEN = name_method(IntervalKind.NONE, "never chosen")


class PairSpread(NamedTuple):
    """A spread with its interval, floor and test."""

    value: float
    se: float
    low: float
    high: float
    floor: float
    floor_high: float
    p: float
    p_least: float


@dataclass(frozen=True)
class Scenes:
    """Answers by scene: pictures of all identities that are paired with each other and with no others.

    A line is a scene's pictures of one activity. A scene has several where one person stands for all of them.
    """

    n: Array
    s: Array
    """Valid answers about each picture, and how much of them chose it, shape (lines, identities)."""
    scene: Codes
    stratum: Codes
    activity: Codes
    """Of each line, numbered from 0; lines are ordered by activity."""

    @property
    def identities(self) -> int:
        """Number of them."""
        return self.n.shape[1]

    @cached_property
    def count(self) -> int:
        """Number of scenes."""
        return int(np.unique(self.scene).size)

    @cached_property
    def strata(self) -> int:
        """Number of strata."""
        return int(np.unique(self.stratum).size)

    def selection_frequencies(self, n: Array, s: Array) -> Array:
        """Selection frequencies in percent, shape (identities, ...), of answers shaped (lines, identities, ...)."""
        sums = (self._adding @ x.reshape(len(x), -1) for x in (n, s))
        return _frequencies(*(x.reshape(-1, *n.shape[1:]) for x in sums), axis=0)

    @cached_property
    def _adding(self) -> scipy.sparse.csr_matrix:
        """Membership of lines in activities: 1 or 0, shape (activities, lines)."""
        lines = np.arange(self.activity.size)
        return scipy.sparse.csr_matrix((np.ones(lines.size), (np.unique(self.activity, return_inverse=True)[1], lines)))

    @cached_property
    def _residuals(self) -> tuple[Array, Array]:
        """Residuals of lines from their identity's own rate, and the rate of everybody, shape (lines, identities)."""
        size = int(self.stratum.max()) + 1
        own_n, own_s = np.zeros((2, size, self.identities))
        np.add.at(own_n, self.stratum, self.n)
        np.add.at(own_s, self.stratum, self.s)
        rate = np.divide(own_s, own_n, out=np.zeros_like(own_s), where=own_n > 0)
        total = own_n.sum(axis=1)
        everyone = np.divide(own_s.sum(axis=1), total, out=np.zeros(size), where=total > 0)
        return self.s - rate[self.stratum] * self.n, np.broadcast_to(everyone[self.stratum, None], self.s.shape)

    @cached_property
    def null_answers(self) -> Array:
        """The answers had nobody been preferred: differences between identities taken out, their scatter kept."""
        residual, everyone = self._residuals
        _, first = np.unique(self.scene, return_index=True)  # each is of one stratum
        scenes = np.bincount(self.stratum[first])[self.stratum]
        wider = np.sqrt(scenes / np.maximum(scenes - 1, 1))[:, None]
        return everyone * self.n + wider * residual

    @cached_property
    def error_correlation(self) -> Array:
        """Correlation of the errors of the identities' frequencies, shape (identities, identities)."""
        residual, _ = self._residuals
        of_scene = np.zeros((int(self.scene.max()) + 1, self.identities))
        np.add.at(of_scene, self.scene, residual / np.maximum(self.n.sum(axis=0), 1e-12))
        return correlation_matrix(of_scene.T @ of_scene)

    def permute_identities(self, s: Array, draws: int, seed: int) -> Array:
        """Selection frequencies with identities dealt anew to the pictures of each scene, shape (draws, identities).

        Had nobody been preferred, it would not matter which of a scene's pictures shows whom. All pictures of one
        person as one identity go together.
        """
        scenes, activities = int(self.scene.max()) + 1, int(self.activity.max()) + 1
        crossed = scenes * activities <= 2 * len(self.n)  # scenes have about the same activities
        deal = self._dealt_by_scene(s, scenes, activities) if crossed else self._dealt_by_line(s)
        step = max(1, _BLOCK // max(self.n.size, 2 * activities * self.identities))
        orders = draw_orders(draws, scenes, self.identities, seed)
        return np.concatenate([deal(orders[start : start + step]) for start in range(0, draws, step)])

    def _dealt_by_scene(self, s: Array, scenes: int, activities: int) -> Callable[[Orders], Array]:
        """From deals of the shape (deals, scenes, identities) to frequencies; a scene's activities move as one."""
        answers = np.zeros((scenes, self.identities, 2, activities))
        answers[self.scene, :, 0, self.activity], answers[self.scene, :, 1, self.activity] = self.n, s

        def deal(order: Orders) -> Array:
            sums = answers[0].take(order[:, 0], axis=0)
            for scene in range(1, scenes):
                sums += answers[scene].take(order[:, scene], axis=0)
            return _frequencies(sums[:, :, 0], sums[:, :, 1], axis=-1)

        return deal

    def _dealt_by_line(self, s: Array) -> Callable[[Orders], Array]:
        """The same where each scene has activities of its own."""
        first = np.arange(0, self.n.size, self.identities)[:, None, None]

        def deal(order: Orders) -> Array:
            place = first + np.ascontiguousarray(order.transpose(1, 2, 0))[self.scene]  # (lines, identities, deals)
            return self.selection_frequencies(self.n.take(place), s.take(place)).T

        return deal

    @property
    def smallest_p(self) -> float:
        """Smallest p of a test by dealing: all deals that only rename identities look alike."""
        return float(np.exp(-scipy.special.gammaln(self.identities + 1) * (self.count - 1)))


@lru_cache(maxsize=16)
def draw_orders(draws: int, scenes: int, identities: int, seed: int) -> Orders:
    """Orders of the identities in each scene; kept between calls, as most questions have the same scenes."""
    rng, out = np.random.default_rng(seed), np.empty((draws, scenes, identities), np.min_scalar_type(identities))
    step = max(1, _BLOCK // (scenes * identities))
    for start in range(0, draws, step):
        orders = out[start : start + step]
        orders[:] = rng.random(orders.shape).argsort(axis=2)
    return out


def _frequencies(options: Array, chosen: Array, *, axis: int) -> Array:
    """Mean over activities, along an axis, of the percentage of options that were chosen; NaN without any option."""
    seen = options > 0
    rate = np.divide(chosen, options, out=np.zeros_like(chosen), where=seen)
    count = seen.sum(axis=axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 0, 100 * rate.sum(axis=axis) / count, np.nan)


def correlation_matrix(covariance: Array) -> Array:
    """Correlations of a covariance matrix; those of what does not vary are zero.

    Examples
    --------
    >>> correlation_matrix(np.array([[4.0, -2.0], [-2.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    scale = np.sqrt(np.maximum(np.diag(covariance), 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        out = np.nan_to_num(covariance / np.outer(scale, scale))
    np.fill_diagonal(out, 1.0)
    return np.clip(out, -1.0, 1.0)


def crossed_correlation(first: Codes, second: Codes, n: Array, se: Array) -> Array:
    """Correlation of errors where pictures stand beside several pictures of the same other identity.

    `first`, `second`, `n`: answers of each couple of identities, which is there in both orders.

    Equation
    --------
    M diag(se²) M', M_ii = 1, M_ij = -n_ij / n_i: what is added to one identity is taken from those beside it.

    Examples
    --------
    >>> crossed_correlation(np.array([0, 1]), np.array([1, 0]), np.ones(2), np.ones(2)).round(6).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    size = se.size
    moved = np.zeros((size, size))
    np.add.at(moved, (first, second), -n / np.bincount(first, n, size)[first])
    np.fill_diagonal(moved, 1.0)
    return correlation_matrix(moved * np.nan_to_num(se) ** 2 @ moved.T)


def draw_frequencies(se: Array, related: Array, df: float, draws: int, seed: int, centre: float = 50.0) -> Array:
    """Selection frequencies had nobody been preferred, drawn from t with the errors of those found.

    `se` and `related`: standard errors in percent, and their correlations. `centre`: what everybody has then.
    Returns values of shape (draws, identities), in percent.
    """
    values, vectors = np.linalg.eigh(related * np.outer(se, se))
    root = vectors * np.sqrt(np.maximum(values, 0))
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal((draws, se.size)) @ root.T
    scale = np.sqrt(max(df, 1.0) / rng.chisquare(max(df, 1.0), size=(draws, 1)))
    return np.clip(centre + scale * normal, 0.0, 100.0)


def frequency_spread(selected: Array) -> Array:
    """Standard deviation (ddof 1) over the last axis: how far identities lie apart; NaN of fewer than two."""
    if selected.shape[-1] < 2:
        return np.full(selected.shape[:-1], np.nan)
    return selected.std(axis=-1, ddof=1)


def spread_error(selected: Array, se: Array, related: Array) -> float:
    """Standard error of `frequency_spread` by the delta method.

    Equation
    --------
    se² = g' Σ g, g_i = (S_i - mean S) / ((k - 1) spread), Σ the covariance of the S_i.
    """
    size = float(frequency_spread(selected))
    if not size > 0 or not np.isfinite(se).all():
        return float("nan")
    slope = (selected - selected.mean()) / ((selected.size - 1) * size)
    return float(np.sqrt(max(slope @ (related * np.outer(se, se)) @ slope, 0.0)))


def selection_spread(
    selected: Array, se: Array, related: Array, df: float, scenes: Scenes | None, seed: int
) -> PairSpread:
    """Take the spread of selection frequencies with all that goes with it.

    `scenes`: answers by scene; None where pictures are paired across scenes: then the null is `draw_frequencies`.

    Notes
    -----
    p: identities are dealt anew to the pictures of each scene (`Scenes.permute_identities`), 1,000 times, and on to
    20,000 until 20 deals reach the value (Besag and Clifford 1991). The floor and the interval are of the same deals
    with differences between identities taken out first, so that they don't grow with what was found.
    """
    none = float("nan")
    if selected.size < 2 or not np.isfinite(se).all() or only_values():
        value = float(frequency_spread(selected)) if selected.size else none
        return PairSpread(value, none, none, none, none, none, none, none)
    value, error = float(frequency_spread(selected)), spread_error(selected, se, related)
    if scenes is None:
        null = frequency_spread(draw_frequencies(se, related, df, NULL_DRAWS * 10, seed))
        p, p_least = float(share_beyond(null, value)), 1.0 / (1 + null.size)
        freedom = max(df, 1.0)
    else:
        null = frequency_spread(scenes.permute_identities(scenes.null_answers, NULL_DRAWS, seed + 1))
        p, p_least = _dealt_p(scenes, value, seed)
        freedom = max((selected.size - 1.0) * (scenes.count - scenes.strata), 1.0)
    low, high = spread_interval(value, null, selected.size, freedom, p)
    return PairSpread(value, error, low, high, float(null.mean()), float(np.quantile(null, 0.95)), p, p_least)


def _dealt_p(scenes: Scenes, value: float, seed: int) -> tuple[float, float]:
    hits = draws = 0
    while draws < MOST_NULL_DRAWS and hits < ENOUGH_NULL_DRAWS:
        spreads = frequency_spread(scenes.permute_identities(scenes.s, NULL_DRAWS, seed + 2 + draws))
        hits += int((spreads >= value - 1e-9).sum())
        draws += NULL_DRAWS
    return max((1.0 + hits) / (1.0 + draws), scenes.smallest_p), max(1.0 / (1 + MOST_NULL_DRAWS), scenes.smallest_p)


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
        """Spread of the selection shares; see `selection_spread`."""
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
