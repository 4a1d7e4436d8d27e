"""Conditional KL divergence: which choice in a form shifts which other attribute (Algorithm 1 of VisBias).

For every attribute a_i, every choice c of it and every other attribute a_j: how far the distribution of a_j among the
forms with a_i = c lies from that among all forms. The form is the unit: the noise floor shuffles the choices of a_i
over the forms, and intervals come from it. docs/papers/visbias-forms.md says in plain words what was decided, and why.

Thousands of pairs of a choice and an attribute are looked at, so that a finding needs p-values of a millionth, which no
affordable number of shuffles gives. But without any association the forms that meet a condition are any n of all forms,
their votes are multivariate hypergeometric, and the divergence of Algorithm 1 is a sum over categories: its
distribution follows by adding them one by one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.cluster_bootstrap import Array, only_values
from facevalue.measures.noise_floors import CHI_SQUARED_INVERSION, FIRST_SHUFFLES, by_shuffles, distance_interval
from facevalue.measures.uncertainty import Bounds, unknown_bounds
from facevalue.studies.visbias.divergence import kl_bounds, share_ranges

_FINE = 20.0  # steps of the sum per nat and form, a fraction of what it varies by without any association
_FAR = 30.0  # sums are followed up to 30 ln(1 + n) / n, which random forms hardly ever pass
_CLOSE = 2.5
_SMALLEST = 1e-13  # p-values below are lost in rounding


def exact_p(base: Array, condition: Array, amount: float = 1.0) -> float:
    """P-value of the divergence under one condition, had its forms been any of all.

    Parameters
    ----------
    base, condition:
        Votes for each category of all forms, and of those that meet the condition: whole numbers.
    amount:
        Pseudo-forms that answer as all forms do.

    Equation
    --------
    KL = Σ_k h_k(x_k), h_k(x) = P_k ln(P_k (n + s) / (x + s P_k)) + (x + s P_k) / (n + s) - P_k >= 0 (what follows the
    logarithm adds up to zero). p = P(Σ_k h_k(X_k) >= KL | Σ_k X_k = n), X_k ~ binomial(N_k, n/N) and independent but
    for their sum: the multivariate hypergeometric distribution. Each h_k is rounded to a step, for the observed votes,
    too, so that p is exact for the sum of what was rounded.

    Examples
    --------
    >>> everyone, those = np.array([6.0, 4.0]), np.array([0.0, 4.0])
    >>> round(float(exact_p(everyone, those) * scipy.special.comb(10, 4)), 3)
    1.0
    """
    held = np.argsort(base)[np.count_nonzero(base == 0) :]  # the rarest first: sums stay short for longest
    sizes, votes = np.rint(base[held]).astype(np.int64), np.rint(condition[held]).astype(np.int64)
    n, total = int(votes.sum()), int(sizes.sum())
    share, rate = sizes / total, n / total
    farthest = int(np.ceil(_FINE * n * np.log1p(n / amount) * min(1.0, _FAR / n)))
    chances, steps = [], []
    for size, fraction in zip(sizes, share, strict=True):
        x = np.arange(min(size, n) + 1)
        ratio = (x + amount * fraction) / (n + amount)
        terms = fraction * np.log(fraction / ratio) + ratio - fraction
        steps.append(np.rint(_FINE * n * terms).astype(np.int64))
        chances.append(_binomial(x, size, rate))
    seen = sum(int(step[vote]) for step, vote in zip(steps, votes, strict=True))
    nearer = min(seen, farthest)  # sums below this are counted: p is the rest
    below = np.ones((1, 1))
    for step, chance in zip(steps, chances, strict=True):
        rows = min(below.shape[0] - 1 + chance.size - 1, n) + 1
        longer = np.zeros((rows, min(below.shape[1] - 1 + int(step.max()) + 1, nearer)))
        for more in np.flatnonzero(step < nearer).tolist():
            high, wide = min(below.shape[0], rows - more), min(below.shape[1], longer.shape[1] - step[more])
            longer[more : more + high, step[more] : step[more] + wide] += chance[more] * below[:high, :wide]
        below = longer
    p_of_total = _binomial(np.array([n]), total, rate).item()
    inside = below[n].sum() if below.shape[0] > n else 0.0
    return float(np.clip(1 - inside / p_of_total, _SMALLEST, 1.0))


def category_p(base: Array, counts: Array) -> Array:
    """P-value that any category is as much more or less frequent under a condition as the one that stands out most.

    KL(P || Q) weighs what is lacking under the condition more than what is frequent there, so that one likely value
    shows in its category long before.

    Returns shape (conditions,). `counts`: votes under each condition, shape (conditions, categories), whole numbers.

    Equation
    --------
    p = min(1, K min_k 2 min(P(X_k >= x_k), P(X_k <= x_k))), X_k hypergeometric (Fisher's exact test of each of the K
    categories that there are, with Bonferroni's correction). Categories within 2.5 standard errors are left out.

    Examples
    --------
    >>> bool(category_p(np.array([10.0, 10, 80]), np.array([[8.0, 0, 2]])) < 1e-6)
    True
    """
    total, n = base.sum(), counts.sum(axis=1, keepdims=True)
    rate = base / total
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (counts - n * rate) / np.sqrt(n * rate * (1 - rate) * (total - n) / (total - 1))
    row, at = np.nonzero(np.abs(z) > _CLOSE)
    law = scipy.stats.hypergeom(np.rint(total), np.rint(base[at]), np.rint(n[row, 0]))
    x = np.rint(counts[row, at])
    out = np.full(len(counts), 1.0)
    np.minimum.at(out, row, 2 * np.count_nonzero(base) * np.fmin(law.sf(x - 1), law.cdf(x)))
    return out


def least_p(base: Array, n: npt.ArrayLike) -> Array:
    """Smallest p-value of conditions of n forms: with as many of one category as there can be.

    Examples
    --------
    >>> least_p(np.array([6.0, 4.0]), [4, 5]).round(4).tolist()
    [0.0048, 0.0238]
    """
    sizes, total, forms = base[base > 0], base.sum(), np.asarray(n, dtype=np.float64)[..., None]
    largest = np.minimum(sizes, forms)
    ways = _choose(sizes, largest) + _choose(total - sizes, forms - largest) - _choose(total, forms)
    return np.asarray(np.exp(ways.min(axis=-1)))


def _binomial(x: npt.NDArray[np.int64], size: int, rate: float) -> Array:
    return np.asarray(np.exp(_choose(size, x) + scipy.special.xlogy(x, rate) + scipy.special.xlog1py(size - x, -rate)))


def _choose(size: npt.ArrayLike, x: npt.ArrayLike) -> Array:
    """Logarithm of the binomial coefficient."""
    n, k = np.asarray(size, dtype=np.float64), np.asarray(x, dtype=np.float64)
    return np.asarray(scipy.special.gammaln(n + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(n - k + 1))


KL_THRESHOLD = 1.0
"""KL from which the paper gives a pair to human raters (section 3.4)."""
PRIORS = ("marginal", "uniform")
COMPLETED = "completed"
CONDITIONS = (COMPLETED, "prefilled")
"""Fields that make a condition: those the model filled in, and those that were drawn at random beforehand."""
LEAST_FORMS = 2
"""Forms of a condition: the paper excludes "cases with only one sample" (section 3.4)."""

MOST_FORM_SHUFFLES = 5000
"""Shuffles at most, of all forms."""
PROMISING = 0.02
"""P-value by shuffles below which the exact one is computed."""
_BLOCK = 2**22  # elements of one block: bounds the work space at about 100 MB
_SHUFFLES = 250  # shuffles at once


@dataclass(frozen=True, slots=True)
class Forms:
    """Completed forms as weights."""

    attributes: tuple[str, ...]
    choices: tuple[tuple[str, ...], ...]
    """The categories of each attribute, the unspecified class not among them."""
    weights: tuple[Array, ...]
    """For each attribute, shape (forms, choices): how a form's one vote is spread over the choices it names, evenly. A
    row of zeros is a form without a category there: missing, doubled or unspecified."""
    prefilled: npt.NDArray[np.bool_]
    """Shape (forms, attributes): fields that were filled in by the protocol, not by the model. All False where that
    isn't known."""
    lost: int = 0
    """Forms that were asked, and of which no reply is a form."""


@dataclass(frozen=True, slots=True)
class Smoothing:
    """Smoothing of the zero cells of a conditional distribution.

    Raises
    ------
    DataError
        If the amount is not positive.
    UnknownNameError
        For another prior.
    """

    amount: float = 1.0
    """Pseudo-forms in all, > 0."""
    prior: str = "marginal"
    """"marginal": they answer as all forms do; "uniform": they answer every category alike."""

    def __post_init__(self) -> None:
        if not 0 < self.amount < float("inf"):
            raise DataError(f"Smoothing needs a positive number of pseudo-forms, not {self.amount}.")
        if self.prior not in PRIORS:
            raise UnknownNameError("prior", self.prior, PRIORS)


DEFAULT_SMOOTHING = Smoothing()


def gather_forms(frame: pl.DataFrame, attributes: Sequence[tuple[str, Sequence[str]]], lost: int = 0) -> Forms:
    """Gather fields into forms.

    Parameters
    ----------
    frame:
        One row per field of a form: `form` and `attribute`, their names; the list of `categories` (null where there are
        none); and `prefilled`, which fields were filled in beforehand (none if there is no such column).
    attributes:
        The attributes and their categories. Fields of others are left out, and so are categories not among these: the
        unspecified class is never counted.
    lost:
        Forms that are not in the frame, since no reply to them is a form.

    Raises
    ------
    UnknownNameError
        For a column the frame lacks.
    DataError
        For a field that a form has twice.

    Examples
    --------
    >>> frame = pl.DataFrame({"form": [1, 1], "attribute": ["age", "hobby"], "categories": [["70+"], ["Art", "Sport"]]})
    >>> gather_forms(frame, [("age", ["0-69", "70+"]), ("hobby", ["Art", "Music", "Sport"])]).weights[1].tolist()
    [[0.5, 0.0, 0.5]]
    """
    for name in ("form", "attribute", "categories"):
        if name not in frame.columns:
            raise UnknownNameError("column", name, frame.columns)
    names = tuple(name for name, _ in attributes)
    frame = frame.filter(pl.col("attribute").cast(pl.String).is_in(names))
    twice = frame.filter(pl.struct("form", "attribute").is_duplicated())
    if twice.height:
        raise DataError(f"Form {twice['form'][0]!r} has the field {twice['attribute'][0]!r} twice.")
    forms = frame["form"].unique(maintain_order=True)
    is_prefilled = pl.col("prefilled").fill_null(value=False) if "prefilled" in frame.columns else pl.lit(value=False)
    fields = frame.select(
        row=pl.col("form").replace_strict(forms, np.arange(len(forms)), return_dtype=pl.Int64),
        column=pl.col("attribute").cast(pl.String).replace_strict(names, np.arange(len(names)), return_dtype=pl.Int64),
        choice=pl.col("categories").cast(pl.List(pl.String)),
        prefilled=is_prefilled,
    )
    filled = np.zeros((len(forms), len(names)), dtype=np.bool_)
    filled_fields = fields.filter("prefilled")
    filled[filled_fields["row"].to_numpy(), filled_fields["column"].to_numpy()] = True
    votes = fields.explode("choice", empty_as_null=True).drop_nulls("choice").unique(["row", "column", "choice"])
    weights = []
    for number, (_, choices) in enumerate(attributes):
        counted = votes.filter((pl.col("column") == number) & pl.col("choice").is_in(list(choices)))
        matrix = np.zeros((len(forms), len(choices)))
        place = counted["choice"].replace_strict(list(choices), np.arange(len(choices)), return_dtype=pl.Int64)
        matrix[counted["row"].to_numpy(), place.to_numpy()] = 1.0
        weights.append(matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1.0))
    return Forms(names, tuple(tuple(choices) for _, choices in attributes), tuple(weights), filled, lost)


def kl_divergence(base: Array, condition: Array, smoothing: Smoothing = DEFAULT_SMOOTHING) -> Array:
    """Kullback-Leibler divergence of a smoothed conditional distribution from the distribution of all forms.

    Returns values of shape (...,), in nats. NaN where `base` or the condition has no form.

    Parameters
    ----------
    base:
        Shape (..., choices): counts over all forms.
    condition:
        The same over the forms that meet the condition.
    smoothing:
        Fills the zero cells of the conditional distribution; with the uniform prior, those of `base` too.

    Equation
    --------
    P = N / sum N; Q = (n + s P) / (sum n + s); KL = sum P ln(P/Q), s pseudo-forms. With the uniform prior, P and Q both
    get s/K for each of K categories.

    Notes
    -----
    The paper states no smoothing; without any, a choice that a condition never meets makes the divergence infinite.
    Pseudo-forms that answer as all forms do draw a condition of few forms towards no shift, and the divergence cannot
    pass ln(1 + n/s). Equal parts for all categories (add-half among them) draw it towards an even distribution instead:
    two forms that agree with all the others on one of 16 categories would then show a shift of more than 1.

    Examples
    --------
    >>> everyone, two = np.array([90.0, 10.0]), np.array([0.0, 2.0])
    >>> kl_divergence(everyone, two).round(3).item(), kl_divergence(everyone, everyone / 50).round(3).item()
    (0.794, 0.0)
    """
    total, members = base.sum(axis=-1, keepdims=True), condition.sum(axis=-1, keepdims=True)
    uniform = smoothing.prior == "uniform"
    added = smoothing.amount if uniform else 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.where(total > 0, (base + added / base.shape[-1]) / (total + added), np.nan)
        fill = 1 / base.shape[-1] if uniform else p
        q = np.where(members > 0, (condition + smoothing.amount * fill) / (members + smoothing.amount), np.nan)
    return np.maximum(scipy.special.rel_entr(p, q).sum(axis=-1), 0.0)


def kl_limit(n: npt.ArrayLike, choices: int = 1, smoothing: Smoothing = DEFAULT_SMOOTHING) -> Array:
    """Largest divergence that `kl_divergence` can give for a condition.

    `choices`: categories of the outcome; they matter to the uniform prior only.
    Returns the shape of n, in nats.

    Equation
    --------
    With s pseudo-forms that answer as all forms do, Q >= s P / (n + s), so KL(P || Q) <= ln(1 + n/s). With the uniform
    prior, Q >= (s/K) / (n + s) and P <= 1: ln K more.

    Examples
    --------
    >>> kl_limit([2, 400]).round(2).tolist()
    [1.1, 5.99]
    """
    limit = np.log1p(np.asarray(n, dtype=np.float64) / smoothing.amount)
    return limit + np.log(choices) if smoothing.prior == "uniform" else limit


def pseudo_form_factor(n: npt.ArrayLike, smoothing: Smoothing = DEFAULT_SMOOTHING) -> Array:
    """Ratio of the divergence of very many forms to that of `n` forms, which pseudo-forms shrink.

    Returns the shape of n; 1 with the uniform prior, which draws to no shift only where all answers are even.

    Equation
    --------
    With s pseudo-forms that answer as all forms do, Q - P is n / (n + s) of what it is without, and a small divergence
    goes by the square of it: ((n + s) / n)².

    Examples
    --------
    >>> pseudo_form_factor([2, 20, 400]).round(2).tolist()
    [2.25, 1.1, 1.01]
    """
    many = np.asarray(n, dtype=np.float64)
    return np.ones(many.shape) if smoothing.prior == "uniform" else (1 + smoothing.amount / many) ** 2


def shift_graph(
    forms: Forms,
    seed: int,
    *,
    smoothing: Smoothing = DEFAULT_SMOOTHING,
    conditions: str = "completed",
    resamples: int | None = None,
) -> pl.DataFrame:
    """Algorithm 1: the shift of every attribute under every choice of every other.

    Parameters
    ----------
    seed, resamples:
        Of the shuffles; by default as many as the family needs (`by_shuffles`), up to `MOST_FORM_SHUFFLES`.
    conditions:
        Which fields make a condition: "completed" by the model, or "prefilled" by the protocol (those were drawn at
        random, so that what follows is an effect of theirs). The outcome is always the model's own.

    Returns
    -------
    One row per (`attribute`, `choice`, `outcome`) with `LEAST_FORMS` forms or more, the largest `value` first: `value`
    the KL divergence in nats, `low` and `high` the interval of what more such forms would show (`high` without what
    pseudo-forms take, see `pseudo_form_factor`), `se`, `method`; `n` forms that meet the condition and have the
    outcome, `total` forms that have the outcome; `likely` the outcome's most probable choice under the condition with
    its share `likely_share`; `floor` and `floor_high`, the mean and 95th percentile of the shuffles; `p`, `q` over all
    rows and `p_least`, the smallest p that would be found; `above` whether the value passes the published threshold
    of 1.

    Raises
    ------
    UnknownNameError
        For other conditions.

    Notes
    -----
    A form meets the condition of every choice that it names, and spreads one vote over its choices as an outcome.
    Shuffled, the forms that meet a condition are a random subset of those that have the outcome. One order of the forms
    is dealt to all outcomes of a shuffle, so that what goes together among outcomes, or among conditions, still does.
    """
    if conditions not in CONDITIONS:
        raise UnknownNameError("kind of conditions", conditions, CONDITIONS)
    columns: dict[str, list[Array]] = {}
    labels: dict[str, list[str]] = {"attribute": [], "choice": [], "outcome": [], "likely": []}
    votes_of_forms = list(members_and_votes(forms, conditions))
    member = np.concatenate([form for form, _ in votes_of_forms], axis=1)
    owner = np.repeat(np.arange(len(votes_of_forms)), [form.shape[1] for form, _ in votes_of_forms])
    choice = [name for choices in forms.choices for name in choices]
    tables: list[_Table] = []
    for j, (_, outcome) in enumerate(votes_of_forms):
        has_outcome = outcome.sum(axis=1) > 0
        votes, met = outcome[has_outcome], member[has_outcome]
        n = met.sum(axis=0)
        rows = np.flatnonzero((owner != j) & (n >= LEAST_FORMS))
        if not rows.size:
            continue
        n, met = n[rows].astype(np.int64), met[:, rows]
        table = _Table(votes, met, np.where(has_outcome, np.cumsum(has_outcome) - 1, -1), smoothing)
        tables.append(table)
        likely = table.counts.argmax(axis=1)
        labels["attribute"] += [forms.attributes[owner[r]] for r in rows]
        labels["choice"] += [choice[r] for r in rows]
        labels["outcome"] += [forms.attributes[j]] * rows.size
        labels["likely"] += [forms.choices[j][number] for number in likely]
        numbers = {
            "value": table.value, "n": n, "total": np.full(n.size, len(votes)), "se": table.error(),
            "likely_share": table.counts[np.arange(n.size), likely] / n,
            "limit": kl_limit(n, votes.shape[1], smoothing),
            "factor": pseudo_form_factor(n, smoothing),
        }  # fmt: skip
        for name, values in numbers.items():
            columns.setdefault(name, []).append(values)
    if tables:
        value = np.concatenate(columns["value"])
        tests = by_shuffles(
            value,
            partial(_shuffle_tables, tables, np.random.default_rng(seed), len(member)),
            signed=False,
            first=resamples or FIRST_SHUFFLES,
            most=resamples or MOST_FORM_SHUFFLES,
            block=_SHUFFLES,
            exact=partial(_exact, tables),
        )
        low, high = distance_interval(value, tests.floor)
        high = np.minimum(high * np.concatenate(columns.pop("factor")), np.concatenate(columns.pop("limit")))
        columns |= {"low": [low], "high": [high]}
        columns |= {"floor": [tests.floor.mean], "floor_high": [tests.floor.high]}
        columns |= {"p": [tests.p], "q": [tests.q], "p_least": [tests.p_least]}
    frame = pl.DataFrame(labels, schema=dict.fromkeys(labels, pl.String))
    values = {name: np.concatenate(columns[name]) if columns else np.empty(0) for name in _NUMBERS}
    filled = frame.with_columns(pl.Series(name, column, _NUMBERS[name]) for name, column in values.items())
    return filled.with_columns(method=pl.lit(CHI_SQUARED_INVERSION), above=pl.col("value") > KL_THRESHOLD).sort(
        "value", "attribute", "choice", "outcome", descending=[True, False, False, False]
    )


_NUMBERS: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("value", "low", "high", "se"), pl.Float64),
    **dict.fromkeys(("n", "total"), pl.Int64),
    **dict.fromkeys(("likely_share", "floor", "floor_high", "p", "q", "p_least"), pl.Float64),
}


def members_and_votes(forms: Forms, conditions: str) -> Iterator[tuple[Array, Array]]:
    """Of each attribute, which forms meet the condition of each choice, and the votes of the outcome."""
    for column, weights in enumerate(forms.weights):
        prefilled = forms.prefilled[:, column : column + 1]
        counted = {"completed": ~prefilled, "prefilled": prefilled}[conditions]
        yield ((weights > 0) & counted).astype(np.float64), np.where(prefilled, 0.0, weights)


class _Table:
    """The rows of one outcome: which forms meet each condition, and how they vote."""

    def __init__(self, votes: Array, met: Array, place: npt.NDArray[np.int64], smoothing: Smoothing) -> None:
        self._votes, self._met, self._smoothing = votes, met, smoothing
        self._place = place
        self.base, self.counts = votes.sum(axis=0), met.T @ votes
        self.value = kl_divergence(self.base, self.counts, smoothing)
        self._whole = bool((votes == np.rint(votes)).all())

    def exact(self, p: Array) -> tuple[Array, Array]:
        """P-values of the divergence and of each category, and the smallest there could be; NaN where votes are parts.

        `p`: of the divergence, by shuffles; those that are small are made exact.
        """
        if not self._whole or self._smoothing.prior != "marginal":
            return np.full(p.shape, np.nan), np.full(p.shape, np.nan)
        p_exact, lowest = p.copy(), least_p(self.base, self.counts.sum(axis=1))
        for row in np.flatnonzero(p < PROMISING):
            p_exact[row] = exact_p(self.base, self.counts[row], self._smoothing.amount)
        if np.count_nonzero(self.base) < 3:  # of two categories the divergence says all there is
            return p_exact, lowest
        return np.minimum(2 * np.fmin(p_exact, category_p(self.base, self.counts)), 1.0), 2 * lowest

    def shuffle_votes(self, orders: npt.NDArray[np.int64]) -> Array:
        """Divergences if the votes are dealt out anew in these orders of all forms, shape (orders, conditions)."""
        places = self._place[orders]
        dealt = places[places >= 0].reshape(len(orders), len(self._votes))
        kind = np.dtype(np.float32 if self._whole else np.float64)  # counts are exact in both, and ties stay ties
        votes = self._votes.astype(kind)[dealt.T].reshape(len(self._votes), -1)
        counts: Array = np.matmul(self._met.T.astype(kind), votes).astype(np.float64)
        return kl_divergence(self.base, counts.reshape(-1, len(orders), self._votes.shape[1]), self._smoothing).T

    def error(self) -> Array:
        """Standard error by leaving out one form at a time; NaN where one form meets the condition."""
        if only_values():
            return np.full(self.value.size, np.nan)
        forms, n = len(self._votes), self._met.sum(axis=0)
        total, squares = np.zeros(self.value.size), np.zeros(self.value.size)
        step = max(1, _BLOCK // max(self.counts.size, 1))
        for start in range(0, forms, step):
            votes, met = self._votes[start : start + step], self._met[start : start + step]
            left = self.counts - met[:, :, None] * votes[:, None, :]
            moved = kl_divergence((self.base - votes)[:, None, :], np.maximum(left, 0.0), self._smoothing) - self.value
            total += moved.sum(axis=0)
            squares += (moved**2).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            se = np.sqrt(np.maximum(squares - total**2 / forms, 0.0) * (forms - 1) / forms)
        return np.where(n > 1, se, np.nan)


def _exact(tables: Sequence[_Table], p: Array) -> tuple[Array, Array]:
    """Exact p-values of all rows, as far as they are known (`_Table.exact`)."""
    p_of_tables = np.split(p, np.cumsum([table.value.size for table in tables])[:-1])
    by_table = [table.exact(p_of) for table, p_of in zip(tables, p_of_tables, strict=True)]
    return np.concatenate([p_exact for p_exact, _ in by_table]), np.concatenate([lowest for _, lowest in by_table])


def _shuffle_tables(tables: Sequence[_Table], rng: np.random.Generator, forms: int, size: int) -> Array:
    """Divergences of all rows if nothing goes with anything: one order of the forms for all outcomes of a shuffle."""
    out = []
    for start in range(0, size, _SHUFFLES):
        orders = np.argsort(rng.random((min(_SHUFFLES, size - start), forms)), axis=1)
        out.append(np.concatenate([table.shuffle_votes(orders) for table in tables], axis=1))
    return np.concatenate(out)


def form_bounds(forms: Forms, shifts: pl.DataFrame, conditions: str) -> Bounds:
    """Between what each shift would lie, whatever the missing fields are.

    Parameters
    ----------
    shifts, conditions:
        Rows of `shift_graph`, and the conditions that they were taken with, smoothed as by default.

    Equation
    --------
    `divergence.kl_bounds`. Votes of the outcome are missing where a form has no category in it; they count for the
    condition if the form meets it, and may if nobody knows whether it does: if it has no category there either, or no
    reply. Votes of a form with an outcome, and without a category in the condition, may count for the condition.

    Examples
    --------
    >>> from facevalue.studies.visbias.form_graph import shift_graph
    >>> names, eye = (("a1", "a2"), ("b1", "b2")), np.eye(2)[[0] * 10 + [1] * 10]
    >>> whole, few = (Forms(("a", "b"), names, (eye, eye), np.zeros((20, 2), bool), lost) for lost in (0, 1))
    >>> [form_bounds(x, shift_graph(x, 0), "completed").low.round(2).tolist() for x in (whole, few)]
    [[0.88, 0.88, 0.88, 0.88], [0.36, 0.36, 0.36, 0.36]]
    """
    members = list(members_and_votes(forms, conditions))
    absent = np.stack([weights.sum(axis=1) == 0 for weights in forms.weights], axis=1) & ~forms.prefilled
    place = {name: at for at, name in enumerate(forms.attributes)}
    order, bounds = [np.empty(0, np.int64)], []
    for outcome, rows in shifts.with_row_index("row").group_by("outcome", maintain_order=True):
        at = place[str(outcome[0])]
        owner = np.array([place[name] for name in rows["attribute"]], dtype=np.int64)
        choice = [forms.choices[i].index(name) for i, name in zip(owner, rows["choice"], strict=True)]
        met = np.stack([members[i][0][:, c] for i, c in zip(owner, choice, strict=True)], axis=1)
        unknown = np.where(conditions == "prefilled", 0.0, absent[:, owner].astype(np.float64))
        bounds.append(_of_outcome(rows["value"].to_numpy(), members[at][1], absent[:, at], met, unknown, forms.lost))
        order.append(rows["row"].to_numpy().astype(np.int64))
    return (
        Bounds.concatenate(bounds).select_rows(np.argsort(np.concatenate(order)))
        if bounds
        else unknown_bounds(np.empty(0))
    )


def _of_outcome(
    value: Array, votes: Array, without: npt.NDArray[np.bool_], met: Array, unknown: Array, lost: int
) -> Bounds:
    """Bounds of shifts of one outcome.

    Parameters
    ----------
    votes, without:
        Votes of each form for its categories, shape (forms, categories), and which forms have none and should.
    met, unknown:
        Which forms meet each condition, and of which nobody knows, shape (forms, conditions).
    """
    counts, possible = met.T @ votes, unknown.T @ votes
    more = (met + unknown)[without].sum(axis=0) + lost
    base = share_ranges(votes.sum(axis=0), without.sum() + lost)
    condition = share_ranges(counts, more, possible, base, DEFAULT_SMOOTHING.amount)
    bounds = kl_bounds(value, base, condition)
    limit = np.fmax(kl_limit((counts + possible).sum(axis=1) + more), value)
    return Bounds(bounds.value, bounds.low, np.fmin(bounds.high, limit), bounds.missing, bounds.se)
