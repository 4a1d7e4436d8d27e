"""Divergence of choices between groups and between tasks (Jensen-Shannon), and bounds of divergences.

Choice distributions of groups, and how far each lies from the mean of all. An item (an image) is the cluster: all that
was said about it goes together in every interval and every permutation. Expected selections (exact probabilities) count
like sampled ones.

Bounds, also of Kullback-Leibler divergences: both distances are sums over categories of parts that are zero where the
two shares agree, never negative, and grow as these move apart. So each part is smallest where its shares come as close
as the missing votes allow, and largest where they are farthest apart, and the sums hold the distance wherever the votes
had gone. No votes bring all categories to their ends at once, so that bounds are wider than need be, never narrower.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.measures.cluster_bootstrap import Array, jackknife_interval
from facevalue.measures.estimators import level_ranks
from facevalue.measures.missing_data_bounds import average_bounds
from facevalue.measures.noise_floors import CHI_SQUARED_INVERSION, FIRST_SHUFFLES, Deals, by_shuffles, distance_interval
from facevalue.measures.pairs import to_array
from facevalue.measures.uncertainty import Bounds, Estimates, Floor

Codes = npt.NDArray[np.int64]

_SLACK = 1e-6
_BLOCK = 2**21  # elements of one block of dealt labels: bounds the work space at about 100 MB


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices made about each item.

    Raises
    ------
    ValueError
        If shapes differ, weights are negative or not finite, or more was answered than asked.
    """

    weights: Array
    """Shape (items, questions, choices): how often each choice was made, or its probability. Zero for choices that a
    question doesn't have. What lacks to `asked` is N/A."""
    asked: Array
    """Shape (items, questions): answers asked for."""
    group: Codes
    """Shape (items,): group of each item, negative for items of none."""
    groups: int

    def __post_init__(self) -> None:
        if self.weights.ndim != 3 or self.asked.shape != self.weights.shape[:2] or len(self.group) != len(self.weights):
            raise ValueError(
                "weights, asked and group need the shapes (items, questions, choices), its first two, one."
            )
        if not np.isfinite(self.weights).all() or (self.weights < 0).any():
            raise ValueError("Weights of choices must be finite and not negative.")
        if (self.weights.sum(axis=2) > self.asked * (1 + _SLACK) + _SLACK).any():
            raise ValueError("More was answered than asked for.")
        if self.group.size and int(self.group.max()) >= self.groups:
            raise ValueError(f"There are {self.groups} groups, and an item of group {int(self.group.max())}.")

    @property
    def member(self) -> Array:
        """Membership of items in groups: 1 or 0, shape (items, groups)."""
        return (self.group[:, None] == np.arange(self.groups)).astype(np.float64)

    @property
    def valid(self) -> Array:
        """Mass of valid answers, shape (items, questions)."""
        return self.weights.sum(axis=2)


def choices_of(rows: pl.DataFrame, questions: Sequence[str], options: Sequence[str]) -> Choices:
    """Gather replies: `unit`, the item that a reply is about; its `group`; `question`; a weight for each option.

    `questions` are in the order of the result, and `options` name the columns of weights: how often each was chosen, or
    its probability; null is N/A. Items are in the order of their names, and so are groups.

    Examples
    --------
    >>> rows = {"unit": ["1", "2"], "question": ["income"] * 2, "group": ["female", "male"], "a": [0.9, None]}
    >>> choices_of(pl.DataFrame(rows), ["income"], ["a"]).valid.tolist()
    [[0.9], [0.0]]
    """
    items = rows.select("unit", "group").unique("unit").sort("unit")
    question = rows["question"].cast(pl.String).replace_strict(questions, range(len(questions)), return_dtype=pl.Int64)
    cell, size = level_ranks(rows["unit"]) * len(questions) + question.to_numpy(), items.height * len(questions)
    weights = [np.bincount(cell, to_array(rows[name].fill_null(0.0)), size).astype(np.float64) for name in options]
    shape = (items.height, len(questions))
    requests = np.bincount(cell, minlength=size).astype(np.float64).reshape(shape)
    return Choices(
        np.stack(weights, axis=1).reshape(*shape, -1), requests, level_ranks(items["group"]), items["group"].n_unique()
    )


def js_divergence(p: Array, q: Array) -> Array:
    """Jensen-Shannon divergence of two distributions in nats: the squared distance, 0 to ln 2.

    `p` and `q`: shares along the last axis, of shapes that broadcast; NaN gives NaN.

    Equation
    --------
    1/2 KL(P || M) + 1/2 KL(Q || M), M = (P + Q)/2 (Lin 1991).

    Examples
    --------
    >>> js_divergence(np.array([1.0, 0.0]), np.array([0.0, 1.0])).round(4).item()
    0.6931
    """
    middle = (p + q) / 2
    return np.maximum((scipy.special.rel_entr(p, middle) + scipy.special.rel_entr(q, middle)).sum(axis=-1) / 2, 0.0)


def divergence_from_mean(counts: Array) -> Array:
    r"""Jensen-Shannon divergence of each group's distribution from the unweighted mean of the groups' distributions.

    `counts`: shape (..., groups, choices): counts or expected selections of valid answers, not negative.
    Returns values of shape (..., groups), in nats times 1000: 0 to 693.1. NaN for a group without answers, which has no
    part in the mean either; NaN for all if fewer than two groups have answers.

    Equation
    --------
    JSD_g = 1000 (1/2 KL(P_g || M) + 1/2 KL(Q || M)), Q = mean_h P_h, M = (P_g + Q)/2 (VisBias, Table 5: the squared
    Jensen-Shannon distance with natural logarithm; Lin 1991).

    Notes
    -----
    With two groups both lie equally far from Q in total variation, yet their values differ a little: the divergence is
    no distance in that sense.

    Examples
    --------
    >>> divergence_from_mean(np.array([[8.0, 2.0], [8.0, 2.0]])).tolist()
    [0.0, 0.0]
    >>> divergence_from_mean(np.array([[1.0, 0.0], [0.0, 1.0]])).round(1).tolist()
    [215.8, 215.8]
    """
    total = counts.sum(axis=-1, keepdims=True)
    measured = total > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.where(measured, counts / total, 0.0)
        groups_measured = measured.sum(axis=-2, keepdims=True)
        q = p.sum(axis=-2, keepdims=True) / groups_measured
        q = np.where(groups_measured > 1, q, np.nan)
    return np.where(measured[..., 0], 1000.0 * js_divergence(p, q), np.nan)


@dataclass(frozen=True, slots=True)
class ChoiceGroups:
    """Groups that are compared with each other."""

    choices: Choices
    unit: Codes | None = None
    """Person whom each item is about; by default each is about somebody else."""
    stratum: Codes | None = None
    """Labels are dealt out anew within one (an occupation); all are one by default."""


def group_divergences(
    several: Sequence[ChoiceGroups], seed: int, resamples: int | None = None, *, ordered: Sequence[bool] | None = None
) -> list[Estimates]:
    """Divergence of every group at every question, with interval, noise floor and tests, of one family.

    Parameters
    ----------
    several:
        Sets of groups (by race, by gender), all asked the same questions.
    seed, resamples:
        Of the permutations; by default as many as the family needs (`noise_floors.by_shuffles`).
    ordered:
        Which questions have choices in an order (of income); none by default.

    Returns
    -------
    For each set tested estimates, arrays of shape (groups x questions,), groups outermost. `n` is the valid
    answers of the group (their mass, rounded), `clusters` its units with an answer. The floor is what the same answers
    show when the group labels are dealt out anew (`permutation.Deals`), and the interval comes from it
    (`noise_floors.distance_interval`). se is that of leaving out one unit.

    Equation
    --------
    A group may differ in all choices or in one, and a divergence over all is a blunt test of the latter. So the test
    statistic is the largest, each in units of its own null (`noise_floors.by_shuffles`), of the divergence itself, of
    z = (k - n P) / sqrt(n (1 - n/N) P (1 - P)) of each choice, made in k of the group's n valid answers and in a share
    P of all N, and, where choices have an order, of all choices up to each. Labels are dealt out anew among those who
    answered, so that a group that gave few answers is held against as few.

    Notes
    -----
    A group is compared with a mean that includes it. Items without a group are left out. Dealing over all items tests
    whether choice and group go together at all: where groups differ in what else is in the picture (occupations in
    unequal numbers), that may be why.
    """
    rngs = np.random.default_rng(seed).spawn(len(several))
    compared = [_Compared(choices, ordered) for choices in several]
    sizes = np.cumsum([0, *(block.shape[0] * block.shape[1] for block in compared)])
    test = np.concatenate([start + block.test for start, block in zip(sizes, compared, strict=False)])
    tests = by_shuffles(
        np.concatenate([block.observed for block in compared]),
        lambda size: np.concatenate(
            [block.shuffle_statistics(size, rng) for block, rng in zip(compared, rngs, strict=True)], axis=1
        ),
        signed=np.diff(test, prepend=-1) == 0, first=resamples or FIRST_SHUFFLES, most=resamples,
        labelings=min(block.labelings for block in compared), test=test,
    )  # fmt: skip
    slices = [slice(start, end) for start, end in pairwise(sizes)]
    of_blocks = ((block, tests.select_tests(at)) for block, at in zip(compared, slices, strict=True))
    return [tests_of.attach_to(block.estimates(tests_of.floor)) for block, tests_of in of_blocks]


class _Compared:
    """One set of groups: observed statistics, and those under labels dealt out anew."""

    def __init__(self, groups: ChoiceGroups, ordered: Sequence[bool] | None) -> None:
        choices = groups.choices
        inside = choices.group >= 0
        self._group, self._weights, self._valid = choices.group[inside], choices.weights[inside], choices.valid[inside]
        self.shape = (choices.groups, *self._weights.shape[1:])
        items = np.arange(self._group.size)
        unit = items if groups.unit is None else np.unique(groups.unit[inside], return_inverse=True)[1]
        stratum = np.zeros(items.size, dtype=np.int64) if groups.stratum is None else groups.stratum[inside]
        self._unit, self._people = unit, int(unit.max(initial=-1)) + 1
        self._patterns, self._pattern = np.unique(self._valid > 0, axis=1, return_inverse=True)  # who answers what
        self._deals = [Deals(self._group[rows], unit[rows], stratum[rows]) for rows in self._patterns.T]
        self.labelings = min((deal.distinct for deal in self._deals), default=1.0)
        self._total = self._weights.sum(axis=0)
        self._contrasts = _contrasts(self._total, ordered or [False] * self.shape[1])
        question = np.concatenate([np.full(1 + len(sets), at) for at, sets in enumerate(self._contrasts)])
        self.test = (np.arange(self.shape[0])[:, None] * self.shape[1] + question).ravel()
        self._by_unit = np.zeros((self._people, *self.shape))
        np.add.at(self._by_unit, (unit, self._group), self._weights)
        self.observed = _statistics(self._by_unit.sum(axis=0), self._contrasts, self._total)

    def shuffle_statistics(self, size: int, rng: np.random.Generator) -> Array:
        """Statistics under so many deals, shape (size, statistics)."""
        step = max(1, _BLOCK // max(self._group.size, 1))
        dealt = [self._shuffle_counts(min(step, size - start), rng) for start in range(0, size, step)]
        return np.concatenate([np.nan_to_num(_statistics(counts, self._contrasts, self._total)) for counts in dealt])

    def _shuffle_counts(self, size: int, rng: np.random.Generator) -> Array:
        """Counts under so many deals, shape (size, groups, questions, choices)."""
        counts = np.zeros((size, *self.shape))
        for at, deal in enumerate(self._deals):
            labels, columns = deal.draw_labels(size, rng), self._pattern == at
            weights = self._weights[self._patterns[:, at]][:, columns]
            weights = weights.reshape(len(weights), columns.sum() * self.shape[2])
            for number in range(self.shape[0]):
                counts[:, number, columns] = ((labels == number) @ weights).reshape(size, -1, self.shape[2])
        return counts

    def estimates(self, floor: Floor) -> Estimates:
        """Divergences with their intervals."""
        sums = self._by_unit.reshape(self._people, int(np.prod(self.shape)))
        value, _, _, se = jackknife_interval(
            sums, (sums > 0).astype(np.float64), lambda s, _: _by_question(s.reshape(*s.shape[:-1], *self.shape))
        )
        low, high = distance_interval(value, floor)
        seen = np.zeros((self._people, *self.shape[:2]))
        np.add.at(seen, (self._unit, self._group), self._valid)
        n, clusters = np.rint(seen.sum(axis=0)).ravel().astype(np.int64), (seen > 0).sum(axis=0).ravel()
        method = np.full(value.size, CHI_SQUARED_INVERSION, dtype=object)
        return Estimates(value, low, high, n, clusters.astype(np.int64), method, se)


def _by_question(counts: Array) -> Array:
    """From counts of shape (..., groups, questions, choices) to divergences of shape (..., groups x questions)."""
    out = divergence_from_mean(np.swapaxes(counts, -3, -2))
    out = np.swapaxes(out, -1, -2)
    return out.reshape(*out.shape[:-2], out.shape[-2] * out.shape[-1])


def _contrasts(total: Array, ordered: Sequence[bool]) -> list[Array]:
    """Of each question, sets of choices that are held against the rest, each a row of zeros and ones.

    `total`: how often each choice was made, shape (questions, choices).
    """
    out = []
    for counts, in_order in zip(total, ordered, strict=True):
        chosen = np.flatnonzero(counts > 0)
        sets = [[at] for at in chosen] + ([chosen[:end].tolist() for end in range(2, chosen.size - 1)] * in_order)
        masks = [np.isin(np.arange(counts.size), members) for members in sets[: None if chosen.size > 2 else 1]]
        out.append(np.array(masks, dtype=np.float64).reshape(-1, counts.size))  # of two, each is the rest of the other
    return out


def _statistics(counts: Array, contrasts: Sequence[Array], total: Array) -> Array:
    """Divergences, each followed by its contrasts.

    `counts`: shape (..., groups, questions, choices); `total`: over all groups, shape (questions, choices).
    Returns shape (..., groups x statistics), groups outermost, the statistics of a question side by side.
    """
    n = counts.sum(axis=-1)
    distance = np.swapaxes(divergence_from_mean(np.swapaxes(counts, -3, -2)), -1, -2)
    statistics = []
    for at, sets in enumerate(contrasts):
        answers, whole_total = n[..., at, None], total[at].sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            share = sets @ total[at] / whole_total
            spread = np.sqrt(np.maximum(answers * (1 - answers / whole_total), 0.0) * share * (1 - share))
            z = (counts[..., at, :] @ sets.T - answers * share) / spread
        statistics += [distance[..., at, None], np.where(spread > 0, z, 0.0)]
    return np.concatenate(statistics, axis=-1).reshape(*n.shape[:-2], -1)


_ITERATIONS = 1000


def divergence_bounds(choices: Choices) -> Bounds:
    """Smallest and largest divergence of each group at each question, wherever the missing answers had gone.

    Returns arrays of shape (groups x questions,), groups outermost, in nats times 1000. The missing answers of each
    group may have been any of the choices that somebody made.

    Equation
    --------
    low = min JSD_g over P_h = (v_h + m_h a_h) / (Σ v_h + m_h), v_h the valid answers of group h, m_h how many are
    missing, a_h any distribution: a convex problem, by exponentiated gradients (Kivinen and Warmuth 1997). high: the
    largest with all missing answers of g at one choice, and all those of the others at one.

    Examples
    --------
    >>> weights = np.array([[[3.0, 1.0]], [[1.0, 3.0]]])
    >>> whole, partly = (Choices(weights, np.full((2, 1), asked), np.arange(2), 2) for asked in (4.0, 8.0))
    >>> [divergence_bounds(one).low.round(1).tolist() for one in (whole, partly)]
    [[33.8, 33.8], [0.0, 0.0]]
    """
    shape = (choices.groups, *choices.weights.shape[1:])
    counts, requests = np.zeros(shape), np.zeros(shape[:2])
    inside = choices.group >= 0
    np.add.at(counts, choices.group[inside], choices.weights[inside])
    np.add.at(requests, choices.group[inside], choices.asked[inside])
    missing = np.maximum(requests - counts.sum(axis=2), 0.0)
    ends = np.array([_ends(counts[:, at], missing[:, at]) for at in range(shape[1])]).reshape(shape[1], 2, shape[0])
    value = np.swapaxes(divergence_from_mean(np.swapaxes(counts, 0, 1)), 0, 1).ravel()
    low, high = np.fmin(ends[:, 0].T.ravel(), value), np.fmax(ends[:, 1].T.ravel(), value)
    with np.errstate(invalid="ignore", divide="ignore"):
        return Bounds(value, low, high, (missing / requests).ravel(), np.full(value.shape, np.nan))


def _ends(counts: Array, missing: Array) -> tuple[Array, Array]:
    """Smallest and largest divergence of each group at one question; `counts`: shape (groups, choices)."""
    chosen, groups = np.flatnonzero(counts.sum(axis=0) > 0), len(counts)
    if not chosen.size or not missing.any():
        value = divergence_from_mean(counts)
        return value, value
    observed = counts[:, chosen]
    itself_mask = np.eye(groups, dtype=np.bool_)[:, None, None, :, None]
    # Of each group: its own missing answers at one choice, and those of all others at one.
    corners = np.eye(chosen.size)
    moved = np.where(itself_mask, corners[None, :, None, None, :], corners[None, None, :, None, :]) * missing[:, None]
    largest = np.diagonal(divergence_from_mean(observed + moved), axis1=0, axis2=3)
    return _least_divergence(observed, missing), np.fmax.reduce(largest, axis=(0, 1))


def _least_divergence(counts: Array, missing: Array) -> Array:
    groups = len(counts)
    total = counts.sum(axis=1) + missing
    answered = total > 0
    share = np.where(answered, missing / np.maximum(total, 1e-300), 0.0)[:, None]
    fixed = counts / np.maximum(total, 1e-300)[:, None]
    start = (counts + 0.5) / (counts + 0.5).sum(axis=1, keepdims=True)
    placed = np.tile(start, (groups, 1, 1))  # of each group's problem: where all groups' missing answers go
    itself = np.eye(groups)[:, :, None]
    weight = answered / max(answered.sum(), 1)
    for _ in range(_ITERATIONS):
        shares = fixed + share * placed + 1e-12
        of_all = (weight[:, None] * shares).sum(axis=1)
        of_itself = (itself * shares).sum(axis=1)
        middle = (of_itself + of_all) / 2
        slope = itself * np.log(of_itself / middle)[:, None] + weight[:, None] * np.log(of_all / middle)[:, None]
        placed = placed * np.exp(-2 * slope)  # four times the gradient over the share that may move: no step overshoots
        placed /= placed.sum(axis=2, keepdims=True)
    moved = divergence_from_mean(counts + missing[:, None] * placed)
    return np.asarray(np.diagonal(moved))


@dataclass(frozen=True, slots=True)
class Votes:
    """Votes for the same options from units of two tasks, each of shape (units, options)."""

    first: Array
    second: Array
    missing: tuple[float, float] = (0.0, 0.0)
    """Votes of either task that nobody knows."""
    possible: npt.ArrayLike = 0.0
    """Votes of the first task for each option, of units that may be of another group."""

    @property
    def measurable(self) -> bool:
        """True if both tasks have votes."""
        return bool(self.first.sum() > 0 and self.second.sum() > 0)


def task_divergences(votes: Sequence[Votes], seed: int) -> Estimates:
    """Jensen-Shannon divergence of each group's two tasks, and behind them their mean where there are several groups.

    Standard errors are jackknifed over the units of both tasks. Floors are those of two samples of one distribution, of
    as many independent votes as vary as much as each task's units do: the votes of one unit are alike, and the units of
    the two tasks may differ in how many they have, so that these can't be dealt out anew.

    Equation
    --------
    m_t = min(V_t, Σ_k p_tk (1 - p_tk) / Σ_k se_tk²), V_t the votes of task t, se jackknifed over its units: its votes
    over their mean design effect (Rao and Scott 1981). Null: JS(X_1 / m_1, X_2 / m_2), X_t multinomial of m_t votes
    with probabilities (m_1 p_1 + m_2 p_2) / (m_1 + m_2).

    Examples
    --------
    >>> told = Votes(np.array([[1.0, 0.0]] * 20), np.array([[0.0, 1.0]] * 20))
    >>> estimates = task_divergences([told], seed=0)
    >>> round(float(estimates.value[0]), 4), bool(estimates.q[0] < 0.05)
    (0.6931, True)
    """
    jackknives = [_jackknife_divergence(v) for v in votes]
    value, se, n, clusters = (np.array([f[at] for f in jackknives]) for at in range(4))
    several = len(votes) > 1
    if several:
        value, se = np.append(value, value.mean()), np.append(se, np.sqrt((se**2).sum()) / len(votes))
        n, clusters = np.append(n, n.sum()), np.append(clusters, clusters.sum())
    rngs = [np.random.default_rng(seed + at) for at in range(len(votes))]

    def draw_null(size: int) -> Array:
        null = np.stack([_draw_null(v, size, rng) for v, rng in zip(votes, rngs, strict=True)], axis=1)
        return np.column_stack([null, null.mean(axis=1)]) if several else null

    tests = by_shuffles(value, draw_null, signed=False)
    low, high = distance_interval(value, tests.floor)
    method = np.full(value.size, CHI_SQUARED_INVERSION, dtype=object)
    return tests.attach_to(Estimates(value, low, high, n.astype(np.int64), clusters.astype(np.int64), method, se))


def vote_bounds(votes: Sequence[Votes]) -> Bounds:
    """Bounds of `task_divergences`, wherever the missing votes had gone (`js_bounds`).

    Examples
    --------
    >>> alone = np.array([[20.0, 0.0]])
    >>> bounds = vote_bounds([Votes(alone, alone[:, ::-1], missing) for missing in ((0, 0), (20, 20))])
    >>> bounds.low.round(3).tolist(), bounds.high.round(3).tolist()
    ([0.693, 0.0, 0.347], [0.693, 0.693, 0.693])
    """
    totals = np.array([[v.first.sum(axis=0), v.second.sum(axis=0)] for v in votes])
    missing = np.array([v.missing for v in votes])
    possible = np.array([np.broadcast_to(v.possible, totals.shape[2]) for v in votes])
    first = share_ranges(totals[:, 0], missing[:, 0], possible)
    bounds = js_bounds(_task_divergence(totals[:, 0], totals[:, 1]), first, share_ranges(totals[:, 1], missing[:, 1]))
    return Bounds.concatenate([bounds, average_bounds(bounds)]) if len(votes) > 1 else bounds


def _jackknife_divergence(votes: Votes) -> tuple[float, float, int, int]:
    """Divergence with its standard error, votes and units."""
    sides = votes.first, votes.second
    totals = sides[0].sum(axis=0), sides[1].sum(axis=0)
    squares = 0.0
    for at, units in enumerate(sides):
        moved = _task_divergence(*[totals[i] - units if i == at else totals[i] for i in (0, 1)])
        squares += (
            float((len(units) - 1) / len(units) * np.nansum((moved - np.nanmean(moved)) ** 2))
            if len(units) > 1
            else np.nan
        )
    n = round(float(sides[0].sum() + sides[1].sum()))
    return float(_task_divergence(*totals)), float(np.sqrt(squares)), n, len(sides[0]) + len(sides[1])


def _draw_null(votes: Votes, size: int, rng: np.random.Generator) -> Array:
    """Divergences where the two tasks say the same, each in so many independent votes."""
    shares = [units.sum(axis=0) / units.sum() for units in (votes.first, votes.second)]
    many = [_independent(units) for units in (votes.first, votes.second)]
    pooled = np.average(shares, axis=0, weights=many)
    first, second = (rng.multinomial(max(round(n), 1), pooled, size).astype(np.float64) for n in many)
    return _task_divergence(first, second)


def _independent(units: Array) -> float:
    """Effective number of independent votes: that with the same sampling variance; one where there is a single unit."""
    totals, n = units.sum(axis=0), len(units)
    if n < 2:
        return 1.0
    share = totals / totals.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = (totals - units) / (totals - units).sum(axis=1, keepdims=True)
    squares = (n - 1) / n * np.nansum((moved - np.nanmean(moved, axis=0)) ** 2)
    spread = (share * (1 - share)).sum()
    return float(min(totals.sum(), spread / squares)) if squares > 0 else float(min(totals.sum(), n))


def _task_divergence(first: Array, second: Array) -> Array:
    """Divergence of two distributions given as counts; NaN where one is empty."""
    with np.errstate(invalid="ignore", divide="ignore"):
        p, q = first / first.sum(axis=-1, keepdims=True), second / second.sum(axis=-1, keepdims=True)
    return js_divergence(p, q)


@dataclass(frozen=True, slots=True)
class ShareRanges:
    """Smallest and largest share that each category could have, shape (..., categories); NaN where nobody votes."""

    low: Array
    high: Array


def share_ranges(
    counts: Array,
    missing: npt.ArrayLike,
    possible: npt.ArrayLike = 0.0,
    prior: ShareRanges | None = None,
    amount: float = 1.0,
) -> ShareRanges:
    """Shares of categories, wherever the missing votes had gone.

    Parameters
    ----------
    counts:
        Votes that there are, shape (..., categories).
    missing:
        Votes for nobody knows what, which may not count at all, shape (...,).
    possible:
        Votes for known categories of which nobody knows whether they count, of the shape of `counts`.
    prior, amount:
        Shares of so many votes that are added.

    Equation
    --------
    low_k = (n_k + s a_k) / (n + sum_{h != k} v_h + m + s), high_k = (n_k + v_k + m + s b_k) / (n + v_k + m + s), n the
    counts, v those possible, m the missing, s the amount, a and b the ends of the prior's shares.

    Examples
    --------
    >>> ranges = share_ranges(np.array([6.0, 2.0]), 2.0)
    >>> ranges.low.tolist(), ranges.high.tolist()
    ([0.6, 0.2], [0.8, 0.4])
    """
    n, v = np.broadcast_arrays(np.asarray(counts, dtype=np.float64), np.asarray(possible, dtype=np.float64))
    lost = np.asarray(missing, dtype=np.float64)[..., None]
    added = 0.0 if prior is None else amount
    prior_low, prior_high = (0.0, 0.0) if prior is None else (amount * prior.low, amount * prior.high)
    total = n.sum(axis=-1, keepdims=True) + lost + added
    with np.errstate(invalid="ignore", divide="ignore"):
        low = (n + prior_low) / (total + v.sum(axis=-1, keepdims=True) - v)
        return ShareRanges(low, (n + v + lost + prior_high) / (total + v))


def kl_bounds(value: Array, base: ShareRanges, condition: ShareRanges) -> Bounds:
    """Bounds of KL(P || Q) from the ranges of P and Q, shapes (..., categories); `value`, what was measured.

    Equation
    --------
    KL = sum_k P_k ln(P_k / Q_k) + Q_k - P_k, whose parts are convex: their largest values are at corners.

    Examples
    --------
    >>> shares = [share_ranges(np.array(votes), 2.0) for votes in ([50.0, 50.0], [90.0, 10.0])]
    >>> bounds = kl_bounds(np.array(0.5108), *shares)
    >>> bounds.low.round(2).item(), bounds.high.round(2).item()
    (0.42, 0.54)
    """
    return _bounds(value, scipy.special.kl_div, base, condition)


def js_bounds(value: Array, first: ShareRanges, second: ShareRanges) -> Bounds:
    """Bounds of JS(P, Q), at most ln 2, from the ranges of P and Q, shapes (..., categories).

    Equation
    --------
    JS = sum_k (P_k ln(P_k / M_k) + Q_k ln(Q_k / M_k)) / 2, M = (P + Q) / 2, whose parts are convex.
    """
    bounds = _bounds(value, _js_part, first, second)
    return Bounds(bounds.value, bounds.low, np.fmin(bounds.high, np.log(2)), bounds.missing, bounds.se)


def _js_part(p: Array, q: Array) -> Array:
    middle = (p + q) / 2
    return np.asarray(scipy.special.rel_entr(p, middle) + scipy.special.rel_entr(q, middle)) / 2


def _bounds(value: Array, term: Callable[[Array, Array], Array], first: ShareRanges, second: ShareRanges) -> Bounds:
    """Sums of the smallest and the largest parts; they hold what was measured but for rounding."""
    nearest = np.clip(second.low, first.low, first.high)  # of P, to the range of Q
    low = term(nearest, np.clip(nearest, second.low, second.high)).sum(axis=-1)
    ends = product((first.low, first.high), (second.low, second.high))
    high = np.max([term(p, q) for p, q in ends], axis=0).sum(axis=-1)
    unknown = np.full(low.shape, np.nan)
    return Bounds(value, np.minimum(low, value), np.maximum(high, value), unknown, unknown)
