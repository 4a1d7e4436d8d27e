"""Log-odds of being chosen in one activity against all others (VIGNETTE, section 5)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.interval_method import IntervalKind, name_method
from facevalue.measures.proportions import effective_size, t_limits
from facevalue.measures.shares import TOO_FEW
from facevalue.measures.uncertainty import Bounds

EFFECTIVE = name_method(IntervalKind.T, "standard error from effective counts over pictures")
BETWEEN = name_method(
    IntervalKind.T, "noise between the pictures of the other activities: this one has too few of its own"
)
_FEWEST = 4  # activities from which their scatter says what a single one may differ by


@dataclass(frozen=True, slots=True)
class Tallies:
    """What was chosen on one side, and how well that is known; arrays of one length."""

    chosen: Array
    options: Array
    """Expected number of times chosen, and of times it was an option."""
    se: Array
    clusters: Array


def log_odds(inside: Tallies, outside: Tallies) -> tuple[Array, Array, Array, Array, Array]:
    """Log-odds ratio with its interval.

    Returns value, standard error, low, high, p; NaN where a side was not an option, no interval where one has a single
    cluster.

    Equation
    --------
    ln[(x_a + 1)/(n_a - x_a + 1)] - ln[(x_b + 1)/(n_b - x_b + 1)] (section 5: x = n_response, n = n_option). Its se²
    is Σ (m + 1)/m [1/(m p + 1/2) + 1/(m (1 - p) + 1/2)] over both sides, with p = x/n and m =
    `proportions.effective_size`: the usual variance, of as many answers as the clusters are worth (Gart and Zweifel
    1967). Interval: ± t se, with clusters - 1 degrees of freedom of the smaller side; p: the same t.

    Examples
    --------
    >>> side = lambda x, n: Tallies(*(np.array([v]) for v in (x, n, (x / n * (1 - x / n) / n) ** 0.5, n)))
    >>> [round(float(v[0]), 2) for v in log_odds(side(8.0, 10.0), side(5.0, 10.0))]
    [1.1, 0.98, -1.13, 3.33, 0.29]
    """
    value = np.zeros_like(inside.chosen)
    variance = np.zeros_like(value)
    for side, sign in ((inside, 1), (outside, -1)):
        x, n = side.chosen, side.options
        with np.errstate(invalid="ignore", divide="ignore"):
            p = np.where(n > 0, x / n, np.nan)
        value = value + sign * np.where(n > 0, np.log((x + 1) / (np.maximum(n - x, 0) + 1)), np.nan)
        m = effective_size(np.clip(p, 0, 1), side.se, side.clusters)
        variance = variance + (m + 1) / m * (1 / (m * p + 0.5) + 1 / (m * (1 - p) + 0.5))
    se = np.sqrt(variance)
    df = np.maximum(np.minimum(inside.clusters, outside.clusters) - 1, 1)
    return value, se, *t_limits(value, se, df)


def log_odds_between(
    chosen: Array, options: Array, group: npt.NDArray[np.int64], reference: Array | None = None
) -> tuple[Array, ...]:
    """Log-odds ratio of each activity, held against how much the other activities differ among themselves.

    For designs with one picture of each identity in each activity. Such a picture can't be told from the activity: what
    is found is that identity *or picture* stands out.

    `chosen` and `options`: x and n of each activity, as in `Tallies`. `group`: whose they are (identity and question):
    activities of one group are compared. Numbered from 0. `beside`: x of each where it is one of the others.
    Returns value, standard error, low, high, p and degrees of freedom; NaN beside the value where a group has fewer
    than four activities with an answer.

    Equation
    --------
    The value is that of `log_odds`, L_a - M_a, with L_a that of the activity and M_a that of all A - 1 others together.
    se² = s² (1 + 1/(A-1)) + max(b_a - mean b, 0), s² = Σ_{b≠a} (L_b - M_a)² / (A - 2): how far single activities are
    from what the others have together. b = 1/(n p (1 - p)) with the others' p stands for activities that were asked
    less often than they. t with A - 2 degrees of freedom.

    Examples
    --------
    >>> out = log_odds_between(np.array([8.0, 3, 5, 4, 6]), np.full(5, 10.0), np.zeros(5, dtype=np.int64))
    >>> [float(x[0].round(2)) for x in out]
    [1.29, 0.49, -0.29, 2.86, 0.08, 3.0]
    """
    seen = options > 0
    size = int(group.max()) + 1 if group.size else 0
    x, n = np.where(seen, chosen, 0.0), np.where(seen, options, 0.0)
    y = x if reference is None else np.where(seen, reference, 0.0)
    of_group, logits = (np.log((z + 1) / (np.maximum(n - z, 0) + 1)) for z in (x, y))

    def others(values: Array) -> Array:
        values = np.where(seen, values, 0.0)
        return np.bincount(group, values, size)[group] - values

    rest, n_rest, count = others(y), others(n), others(np.ones_like(x))
    together = np.log((rest + 1) / (np.maximum(n_rest - rest, 0) + 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = others(logits**2) - 2 * together * others(logits) + count * together**2
        scatter = np.maximum(squares, 0.0) / (count - 1)
        p = (rest + 1) / (n_rest + 2)
        fewer = (1 / n - others(1 / n) / count) / (p * (1 - p))
        variance = scatter * (1 + 1 / count) + np.maximum(fewer, 0.0)
    defined = seen & (n_rest > 0)
    value = np.where(defined, of_group - together, np.nan)
    se = np.where(defined & (count >= _FEWEST - 1), np.sqrt(variance), np.nan)
    df = np.maximum(count - 1, 1)
    return value, se, *t_limits(value, se, df), df


def log_odds_cells(
    chosen: Array, options: Array, se: Array, df: Array, group: npt.NDArray[np.int64], reference: Array | None = None
) -> tuple[Array, Array, Array, Array, Array, npt.NDArray[np.object_], tuple[Array, ...]]:
    """Log-odds ratio of each cell against all others of its group, from its own clusters where it has enough.

    `chosen`, `options`, `se`, `df`: of each cell: x and n as in `Tallies`, the standard error of x/n and its degrees of
    freedom. `beside`: x of each where it is one of the others, if that is not the same.
    Returns value, standard error, low, high and p, by `log_odds` or, of cells with too few clusters of their own, by
    `log_odds_between`; which of the two; and the table of Fisher's test: chosen and not, inside and outside.
    """
    reference = chosen if reference is None else reference
    value, error, low, high, p, freedom = log_odds_between(chosen, options, group, reference)

    def others(values: Array) -> Array:
        values = np.nan_to_num(values)
        return np.bincount(group, values)[group] - values

    finite_se = np.where(np.isfinite(se), se, np.inf)  # a cell without one leaves the others without
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = (np.nan_to_num(options) * finite_se) ** 2
        rest = others(np.where(np.isfinite(squares), squares, 0.0)) / others(options) ** 2
    rest = np.where(others(np.where(np.isfinite(finite_se), 0.0, 1.0)) > 0, np.nan, np.sqrt(np.maximum(rest, 0.0)))
    inside = Tallies(chosen, options, finite_se, df + 1)
    outside = Tallies(np.maximum(others(reference), 0.0), others(options), rest, others(df) + 1)
    effective = log_odds(inside, outside)
    replicated = np.isfinite(effective[1]) & ((df >= freedom) | ~np.isfinite(error))  # a property of the design
    error, low, high, p = (
        np.where(replicated, a, b) for a, b in zip((*effective[1:4], effective[4]), (error, low, high, p), strict=True)
    )
    way = np.where(replicated, 0, np.where(np.isfinite(error), 1, 2))
    methods = np.array([EFFECTIVE, BETWEEN, TOO_FEW], dtype=object)[way]
    four = (y for side in (inside, outside) for y in (side.chosen, np.maximum(side.options - side.chosen, 0.0)))
    return value, error, low, high, p, methods, tuple(four)


def log_odds_bounds(
    chosen: Array, valid: Array, requests: Array, se: Array, df: Array, group: npt.NDArray[np.int64]
) -> Bounds:
    """Bounds of `log_odds_cells` had the missing answers about one activity and about the others gone opposite ways.

    `chosen`, `valid`, `asked`: how often somebody was chosen, valid answers and answers asked for, of each cell. `se`:
    standard error of the share of either end (`selection.cells`, `bound_se`). `df`, `group`: as for `log_odds_cells`.

    Equation
    --------
    low: x_a of the activity with n = answers asked for, and x_b + missing_b of the others; high: x_a + missing_a, and
    x_b. se: of the end that varies more, as that of any log-odds ratio.

    Examples
    --------
    >>> x, n, asked = np.array([8.0, 3, 5, 4, 6]), np.full(5, 10.0), np.array([12.0, 10, 10, 10, 10])
    >>> bounds = log_odds_bounds(x, n, asked, np.full(5, np.nan), np.zeros(5), np.zeros(5, dtype=np.int64))
    >>> bounds.low[0].round(2), bounds.value[0].round(2), bounds.high[0].round(2)
    (np.float64(0.78), np.float64(1.29), np.float64(1.49))
    """
    missing = np.maximum(requests - valid, 0.0)
    full = chosen + missing
    value = log_odds_between(chosen, valid, group)[0]
    low, high = (log_odds_cells(x, valid + missing, se, df, group, y) for x, y in ((chosen, full), (full, chosen)))
    share = np.divide(missing, requests, out=np.full(requests.shape, np.nan), where=requests > 0)
    return Bounds(value, low[0], high[0], share, np.fmax(low[1], high[1]))
