"""Which choice in a form shifts which other attribute: Algorithm 1 of VisBias, with its noise floor and tests.

For every attribute a_i, every choice c of it and every other attribute a_j: how far the distribution of a_j among the
forms with a_i = c lies from that among all forms. The form is the unit: intervals leave out one form at a time, and the
noise floor shuffles the choices of a_i over the forms. docs/forms.md says in plain words what was decided, and why.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special, stats

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures import families
from facevalue.measures.base import Measure
from facevalue.measures.inference import LEVEL, Array, only_values

KL = Measure(
    name="attribute_shift",
    title="Shift of an attribute's distribution where another has a given value",
    equation="KL(P(a_j) || P(a_j | a_i = c)), natural log",
    unit="nat",
    cluster="form",
    source="VisBias, Algorithm 1",
    signed=False,
    comparison=True,
    squared=True,
    limits=(0.0, float("inf")),
)
THRESHOLD = 1.0
"""KL from which the paper gives a pair to human raters (section 3.4)."""
PRIORS = ("marginal", "uniform")
CONDITIONS = ("completed", "prefilled", "all")

_BLOCK = 2**22  # elements of one block of shuffled forms: bounds the work space at about 100 MB
_METHOD = "form jackknife"


@dataclass(frozen=True, slots=True)
class Forms:
    """Completed forms as weights.

    Attributes
    ----------
    attributes:
        Names of the attributes.
    choices:
        The categories of each attribute, the unspecified class not among them.
    weights:
        For each attribute, shape (forms, choices): how a form's one vote is spread over the choices it names, evenly.
        A row of zeros is a form without a category there: missing, doubled or unspecified.
    prefilled:
        Shape (forms, attributes): fields that were filled in by the protocol, not by the model. All False where that
        isn't known.
    """

    attributes: tuple[str, ...]
    choices: tuple[tuple[str, ...], ...]
    weights: tuple[Array, ...]
    prefilled: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How zero cells of a conditional distribution are filled.

    Attributes
    ----------
    amount:
        Pseudo-forms in all, > 0.
    prior:
        "marginal": they answer as all forms do; "uniform": they answer every category alike.

    Raises
    ------
    DataError
        If the amount is not positive.
    UnknownNameError
        For another prior.
    """

    amount: float = 1.0
    prior: str = "marginal"

    def __post_init__(self) -> None:
        if not 0 < self.amount < float("inf"):
            raise DataError(f"Smoothing needs a positive number of pseudo-forms, not {self.amount}.")
        if self.prior not in PRIORS:
            raise UnknownNameError("prior", self.prior, PRIORS)


DEFAULT = Smoothing()


def gather(
    frame: pl.DataFrame,
    attributes: Sequence[tuple[str, Sequence[str]]],
    *,
    form: str = "form",
    attribute: str = "attribute",
    categories: str = "categories",
    prefilled: str = "prefilled",
) -> Forms:
    """Gather fields into forms.

    Parameters
    ----------
    frame:
        One row per field of a form.
    attributes:
        The attributes and their categories. Fields of others are left out, and so are categories not among these: the
        unspecified class is never counted.
    form, attribute, categories:
        Columns with the form's name, the attribute's name and the list of categories (null where there are none).
    prefilled:
        Column that says which fields were filled in beforehand; none are if there is no such column.

    Raises
    ------
    UnknownNameError
        For a column the frame lacks.
    DataError
        For a field that a form has twice.

    Examples
    --------
    >>> frame = pl.DataFrame({"form": [1, 1], "attribute": ["age", "hobby"], "categories": [["70+"], ["Art", "Sport"]]})
    >>> gather(frame, [("age", ["0-69", "70+"]), ("hobby", ["Art", "Music", "Sport"])]).weights[1].tolist()
    [[0.5, 0.0, 0.5]]
    """
    for name in (form, attribute, categories):
        if name not in frame.columns:
            raise UnknownNameError("column", name, frame.columns)
    names = tuple(name for name, _ in attributes)
    frame = frame.filter(pl.col(attribute).cast(pl.String).is_in(names))
    twice = frame.filter(pl.struct(form, attribute).is_duplicated())
    if twice.height:
        raise DataError(f"Form {twice[form][0]!r} has the field {twice[attribute][0]!r} twice.")
    forms = frame[form].unique(maintain_order=True)
    given = pl.col(prefilled).fill_null(value=False) if prefilled in frame.columns else pl.lit(value=False)
    fields = frame.select(
        row=pl.col(form).replace_strict(forms, np.arange(len(forms)), return_dtype=pl.Int64),
        column=pl.col(attribute).cast(pl.String).replace_strict(names, np.arange(len(names)), return_dtype=pl.Int64),
        said=pl.col(categories).cast(pl.List(pl.String)),
        given=given,
    )
    filled = np.zeros((len(forms), len(names)), dtype=np.bool_)
    before = fields.filter("given")
    filled[before["row"].to_numpy(), before["column"].to_numpy()] = True
    named = fields.explode("said", empty_as_null=True).drop_nulls("said").unique(["row", "column", "said"])
    weights = []
    for at, (_, choices) in enumerate(attributes):
        own = named.filter((pl.col("column") == at) & pl.col("said").is_in(list(choices)))
        matrix = np.zeros((len(forms), len(choices)))
        place = own["said"].replace_strict(list(choices), np.arange(len(choices)), return_dtype=pl.Int64)
        matrix[own["row"].to_numpy(), place.to_numpy()] = 1.0
        weights.append(matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1.0))
    return Forms(names, tuple(tuple(choices) for _, choices in attributes), tuple(weights), filled)


def kl(base: Array, condition: Array, smoothing: Smoothing = DEFAULT) -> Array:
    """Kullback-Leibler divergence of a smoothed conditional distribution from the distribution of all forms.

    Parameters
    ----------
    base:
        Shape (..., choices): counts over all forms.
    condition:
        The same over the forms that meet the condition.
    smoothing:
        Fills the zero cells of the conditional distribution; with the uniform prior, those of `base` too.

    Returns
    -------
    Shape (...,), in nats. NaN where `base` or the condition has no form.

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
    >>> kl(everyone, two).round(3).item(), kl(everyone, everyone / 50).round(3).item()
    (0.794, 0.0)
    """
    total, members = base.sum(axis=-1, keepdims=True), condition.sum(axis=-1, keepdims=True)
    uniform = smoothing.prior == "uniform"
    own = smoothing.amount if uniform else 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.where(total > 0, (base + own / base.shape[-1]) / (total + own), np.nan)
        fill = 1 / base.shape[-1] if uniform else p
        q = np.where(members > 0, (condition + smoothing.amount * fill) / (members + smoothing.amount), np.nan)
    return np.maximum(special.rel_entr(p, q).sum(axis=-1), 0.0)


def kl_limit(n: npt.ArrayLike, choices: int = 1, smoothing: Smoothing = DEFAULT) -> Array:
    """Largest divergence that `kl` can give for a condition.

    Parameters
    ----------
    n:
        Forms that meet the condition.
    choices:
        Categories of the outcome; they matter to the uniform prior only.
    smoothing:
        As for `kl`.

    Returns
    -------
    Shape of n, in nats.

    Equation
    --------
    With s pseudo-forms that answer as all forms do, Q >= s P / (n + s), so KL(P || Q) <= ln(1 + n/s). With the uniform
    prior, Q >= (s/K) / (n + s) and P <= 1: ln K more.

    Examples
    --------
    >>> kl_limit([2, 400]).round(2).tolist()
    [1.1, 5.99]
    """
    most = np.log1p(np.asarray(n, dtype=np.float64) / smoothing.amount)
    return most + np.log(choices) if smoothing.prior == "uniform" else most


def graph(
    forms: Forms,
    seed: int,
    *,
    smoothing: Smoothing = DEFAULT,
    minimum: int = 2,
    conditions: str = "completed",
    resamples: int = 1000,
) -> pl.DataFrame:
    """Algorithm 1: the shift of every attribute under every choice of every other.

    Parameters
    ----------
    forms:
        What was filled in.
    seed, resamples:
        Of the shuffles. The smallest possible p is 1 / (1 + resamples).
    smoothing:
        Of the conditional distributions.
    minimum:
        Conditions with fewer forms are dropped (the paper: those with one).
    conditions:
        Which fields make a condition: "completed" by the model, "prefilled" by the protocol (those were drawn at
        random, so that what follows is an effect of theirs), or "all". The outcome is always the model's own.

    Returns
    -------
    One row per (`attribute`, `choice`, `outcome`), the largest `value` first: `value` the KL divergence in nats, `low`
    and `high` its interval, `se`, `method`; `n` forms that meet the condition and have the outcome, `total` forms that
    have the outcome; `likely` the outcome's most probable choice under the condition with its share `likely_share`, and
    `overall_share` among all forms; `floor` and `floor_high`, the mean and 95th percentile of the shuffles; `p` and `q`
    (Benjamini-Hochberg over all rows); `above` whether the value passes the published threshold of 1.

    Raises
    ------
    UnknownNameError
        For other conditions.
    DataError
        For a minimum below 1.

    Notes
    -----
    A form meets the condition of every choice that it names, and spreads one vote over its choices as an outcome.
    Shuffled, the forms that meet a condition are a random subset of those that have the outcome. So the null of a row
    depends on the outcome and on n alone, and is drawn once for each n.
    """
    if conditions not in CONDITIONS:
        raise UnknownNameError("kind of conditions", conditions, CONDITIONS)
    if minimum < 1:
        raise DataError(f"A condition needs at least one form, not {minimum}.")
    columns: dict[str, list[Array]] = {}
    labels: dict[str, list[str]] = {"attribute": [], "choice": [], "outcome": [], "likely": []}
    parts = list(_attributes(forms, conditions))
    member = np.concatenate([part for part, _ in parts], axis=1)
    owner = np.repeat(np.arange(len(parts)), [part.shape[1] for part, _ in parts])
    choice = [name for own in forms.choices for name in own]
    quick = only_values()
    orders = _orders(len(member), seed, 0 if quick else resamples)
    for j, (_, outcome) in enumerate(parts):
        there = outcome.sum(axis=1) > 0
        own, met = outcome[there], member[there]
        n = met.sum(axis=0)
        rows = np.flatnonzero((owner != j) & (n >= minimum))
        if not rows.size:
            continue
        n, met = n[rows].astype(np.int64), met[:, rows]
        counts, base = met.T @ own, own.sum(axis=0)
        value = kl(base, counts, smoothing)
        low = high = se = mean = top = p = np.full(value.size, np.nan)
        if not quick:
            low, high, se = _jackknife(value, own, met, base, counts, smoothing)
            mean, top, p = _floor(value, n, own, there, orders, smoothing)
        likely = counts.argmax(axis=1)
        labels["attribute"] += [forms.attributes[owner[r]] for r in rows]
        labels["choice"] += [choice[r] for r in rows]
        labels["outcome"] += [forms.attributes[j]] * rows.size
        labels["likely"] += [forms.choices[j][at] for at in likely]
        found = {"value": value, "low": low, "high": high, "se": se, "n": n, "total": np.full(n.size, len(own))}
        found |= {"likely_share": counts[np.arange(n.size), likely] / n, "overall_share": base[likely] / len(own)}
        found |= {"floor": mean, "floor_high": top, "p": p}
        for name, values in found.items():
            columns.setdefault(name, []).append(values)
    frame = pl.DataFrame(labels, schema=dict.fromkeys(labels, pl.String))
    values = {name: np.concatenate(columns[name]) if columns else np.empty(0) for name in _NUMBERS}
    whole = frame.with_columns(pl.Series(name, column, _NUMBERS[name]) for name, column in values.items())
    return whole.with_columns(
        pl.Series("q", families.adjust(values["p"], "bh"), pl.Float64),
        method=pl.lit(_METHOD),
        above=pl.col("value") > THRESHOLD,
    ).sort("value", "attribute", "choice", "outcome", descending=[True, False, False, False])


_NUMBERS: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("value", "low", "high", "se"), pl.Float64),
    **dict.fromkeys(("n", "total"), pl.Int64),
    **dict.fromkeys(("likely_share", "overall_share", "floor", "floor_high", "p"), pl.Float64),
}


def _attributes(forms: Forms, conditions: str) -> Iterator[tuple[Array, Array]]:
    """Of each attribute, which forms meet the condition of each choice, and the votes of the outcome."""
    for at, weights in enumerate(forms.weights):
        given = forms.prefilled[:, at : at + 1]
        counted = {"completed": ~given, "prefilled": given, "all": np.ones_like(given)}[conditions]
        yield ((weights > 0) & counted).astype(np.float64), np.where(given, 0.0, weights)


def _orders(forms: int, seed: int, resamples: int) -> npt.NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    return rng.permuted(np.broadcast_to(np.arange(forms), (resamples, forms)), axis=1)


def _floor(
    value: Array,
    n: npt.NDArray[np.int64],
    own: Array,
    there: npt.NDArray[np.bool_],
    orders: npt.NDArray[np.int64],
    smoothing: Smoothing,
) -> tuple[Array, Array, Array]:
    """Mean and 95th percentile of the shuffles, and p, for each row.

    The first n forms of a shuffled order are a random subset of n: one order serves all n.
    """
    sizes, which = np.unique(n, return_inverse=True)
    place = np.cumsum(there) - 1
    step = max(1, _BLOCK // max(own.size, 1))
    null = np.empty((len(orders), sizes.size))
    base = own.sum(axis=0)
    for start in range(0, len(orders), step):
        block = orders[start : start + step]
        mine = place[block[there[block]].reshape(len(block), len(own))]
        upto = np.cumsum(own[mine], axis=1)[:, sizes - 1]
        null[start : start + step] = kl(base, upto, smoothing)
    mean, high = null.mean(axis=0), np.quantile(null, 0.95, axis=0)
    null.sort(axis=0)
    hits = np.empty(value.size)
    for at in range(sizes.size):
        rows = which == at
        hits[rows] = len(null) - np.searchsorted(null[:, at], value[rows] - 1e-9, side="left")
    return mean[which], high[which], (1.0 + hits) / (1.0 + len(null))


def _jackknife(
    value: Array, own: Array, met: Array, base: Array, counts: Array, smoothing: Smoothing
) -> tuple[Array, Array, Array]:
    """Interval from leaving out one form at a time, never below zero or above what n forms can give at most.

    The forms that meet the condition move the value; t has one degree of freedom less than there are of them.
    """
    forms, n = len(own), met.sum(axis=0)
    total, squares = np.zeros(value.size), np.zeros(value.size)
    step = max(1, _BLOCK // max(counts.size, 1))
    for start in range(0, forms, step):
        block = slice(start, start + step)
        left = counts - met[block, :, None] * own[block, None, :]
        moved = kl((base - own[block])[:, None, :], np.maximum(left, 0.0), smoothing) - value
        total += moved.sum(axis=0)
        squares += (moved**2).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        se = np.sqrt(np.maximum(squares - total**2 / forms, 0.0) * (forms - 1) / forms)
        reach = stats.t.ppf(0.5 + LEVEL / 2, np.maximum(n - 1, 1)) * se
    known = n > 1
    reach = np.where(known, reach, np.nan)
    high = np.minimum(value + reach, kl_limit(n, own.shape[1], smoothing))
    return np.maximum(value - reach, 0.0), high, np.where(known, se, np.nan)
