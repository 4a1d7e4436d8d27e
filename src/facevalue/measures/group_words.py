"""Words of texts by group: rates, words that mark a group, and bounds of both.

Rates of words, lengths and sentiment are ratios of two columns summed over texts: hits to tokens (a rate per 1,000
words), characters to texts (a mean length), a score to texts. The unit is the image or person: several descriptions of
one picture tell about one picture.

Marked words tell the texts about one group from those about the unmarked group: log-odds with an informative Dirichlet
prior (Monroe, Colaresi and Quinn 2008, "Fightin' Words", equations 16 to 22), as Cheng, Durmus and Jurafsky (2023,
"Marked Personas", section 3) use it. `published_words` gives the lists as printed, with their fixed threshold.
`strict_words` asks which of these words would come up if the labels meant nothing.

Bounds say what texts that are missing could have made of log-odds ratios. Nobody knows whether a missing text had a
word. Else it counts as a text like those that are there: as long as they are on average, and if it had the word, with
as many mentions as those that have it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.annotations.counts import WordCounts
from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.cluster_bootstrap import LEVEL, Array, cell_means, cluster_means
from facevalue.measures.estimates import Level
from facevalue.measures.estimators import CellEstimates, Codes, Sums, cells_of
from facevalue.measures.group_means import compare_groups
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.missing_data_bounds import Replies, shift_bounds
from facevalue.measures.noise_floors import FIRST_SHUFFLES, Deals, by_shuffles
from facevalue.measures.pairs import to_array
from facevalue.measures.uncertainty import Bounds, Estimates

THRESHOLD, FIRST = 1.96, 20
"""As published: z above the threshold, the first so many words."""
MINIMUM_DOCUMENTS = 10
_FIXED = 1e-9  # spread of log-odds that is rounding
_BLOCK = 2**20  # elements of one matrix of resamples x words: bounds the work space at some hundred MB

Labels = Sequence[str | None]
"""The group (or stratum) of each unit of the counts; None leaves the unit out."""
_SCHEMA: dict[str, type[pl.DataType]] = {
    "word": pl.String, "group": pl.String, "against": pl.String, "z": pl.Float64, "log_odds": pl.Float64,
    "tokens": pl.Int64, "documents": pl.Int64, "tokens_against": pl.Int64, "documents_against": pl.Int64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LogOdds:
    """Log-odds ratio of each word and its z-score; arrays of one shape."""

    delta: Array
    z: Array


def word_log_odds(marked: Array, unmarked: Array, prior: Array, sizes: tuple[Array, Array] | None = None) -> LogOdds:
    """Log-odds ratios of words between two groups, with the prior's counts added to both.

    Parameters
    ----------
    marked, unmarked:
        Counts of each word in the two groups; words are the last axis.
    prior:
        Counts of each word in the prior corpus, all above zero.
    sizes:
        Tokens of the two groups, where `marked` and `unmarked` do not hold all words; shape (..., 1). The prior's total
        is then part of them.

    Equation
    --------
    delta_w = log((y1_w + a_w)/(n1 + a_0 - y1_w - a_w)) - log((y2_w + a_w)/(n2 + a_0 - y2_w - a_w)),
    z_w = delta_w / sqrt(1/(y1_w + a_w) + 1/(y2_w + a_w)), with a the prior, unscaled (Monroe et al. 2008).

    Examples
    --------
    >>> found = word_log_odds(np.array([30.0, 70.0]), np.array([10.0, 90.0]), np.array([40.0, 160.0]))
    >>> found.delta.round(3).tolist(), found.z.round(3).tolist()
    ([0.42, -0.42], [2.267, -4.595])
    """
    x, y = marked + prior, unmarked + prior
    if sizes is None:
        sizes = x.sum(axis=-1, keepdims=True), y.sum(axis=-1, keepdims=True)
    delta = np.log(x / (sizes[0] - x)) - np.log(y / (sizes[1] - y))
    return LogOdds(delta, delta / np.sqrt(1 / x + 1 / y))


def published_words(counts: WordCounts, groups: Labels, unmarked: str) -> pl.DataFrame:
    """Marked words of each group as VisBias prints them (Table 1).

    Every group is set against the unmarked one; the prior is the whole corpus, labelled or not. The unmarked group's
    words are read off the opposite lists: with one other group its own first ones; with several, the words in the
    first 20 of exactly two of the opposite lists, in the order in which the lists name them. (So the release does: a
    word that marks the unmarked group against three others or all is left out.)

    `counts`: with the tokeniser `marked`; any units that lie within one group. `unmarked`: which of them is the
    unmarked one ("white", "male").

    Returns
    -------
    DataFrame
        `rank` (from 1 within group), `word`, `group`, `against` (null where several lists were merged), `z` and
        `log_odds` (positive: more in the group; null where lists were merged), `tokens` and `documents` in the group,
        `tokens_against` and `documents_against`.

    Notes
    -----
    z is not corrected for the number of words, takes every token for an observation of its own, and its prior, being
    as large as the corpus, pulls it towards zero: neither side of the threshold means what it says. See `strict_words`.
    """
    others, sides = _sides(counts, groups, unmarked)
    prior = _total(counts.tokens)
    base = sides[unmarked]
    marked, opposite = [], []
    for group in others:
        odds = word_log_odds(sides[group].tokens, base.tokens, prior)
        marked.append(_list_first_words(counts, odds, group, sides[group], unmarked, base))
        mirrored = LogOdds(-odds.delta, -odds.z)
        opposite.append(_list_first_words(counts, mirrored, unmarked, base, group, sides[group]))
    if len(others) == 1:
        return pl.concat([*marked, *opposite])
    listed = pl.concat(opposite)
    twice = listed.filter(pl.len().over("word") == 2).unique("word", keep="first", maintain_order=True).head(FIRST)
    rest = [side for group, side in sides.items() if group != unmarked]
    places = counts.words.to_frame().with_row_index("at").join(twice.select("word"), on="word", maintain_order="right")
    at = places["at"].to_numpy()
    merged = _table(counts, at, LogOdds(np.full(len(at), np.nan), np.full(len(at), np.nan)), unmarked, base, None, rest)
    return pl.concat([*marked, _rank_rows(merged)])


def strict_words(
    counts: WordCounts,
    groups: Labels,
    unmarked: str,
    *,
    strata: Labels | None = None,
    people: Labels | None = None,
    masked: Collection[str] = (),
    minimum_documents: int = MINIMUM_DOCUMENTS,
    resamples: int | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """Marked words that chance does not explain.

    Group labels are dealt out anew among the units of the two groups, within strata, and the log-odds of all words
    are taken again. A unit is what was sampled and labelled: the image, with all its descriptions; a description, where
    there is one per image or the image is not known. (Sixteen descriptions of one picture are not sixteen pictures:
    "helicopter" in all of them is one helicopter.)

    Parameters
    ----------
    counts:
        By those units.
    strata:
        Labels move only between units of one stratum (an occupation). All units are one stratum by default.
    people:
        Who each unit is about; by default each is about somebody else. Labels move among people, or among the units of
        one who is in both groups (`permutation.Deals`).
    masked:
        Words that are taken out of the corpus: those that name the groups.
    minimum_documents:
        Words in fewer texts of the two groups are not tested.
    resamples, seed:
        Of the permutation; by default as many as the family needs (`noise_floors.by_shuffles`).

    Returns
    -------
    DataFrame
        Every word that was tested, for every group against the unmarked one, by p and then size of t. `word`; `group`,
        the one in which it is more common, and `against`, the other; `z` and `log_odds` as in `published_words`,
        positive: more in `group`; `t`, the log-odds in units of what labels dealt by chance give; counts as in
        `published_words`; `p`, two-sided, that labels dealt by chance give such log-odds either way; `p_family`, that
        they do so for any word of the comparison (max-T); `q`, adjusted over its words; `p_least`, the smallest p that
        would be found. They are null for a word that cannot vary.

    Raises
    ------
    UnknownNameError
        No unit of the unmarked group.
    DataError
        Labels of another length than the units, or fewer than one resample.

    Notes
    -----
    t rather than z is compared, because permuted z have spreads far above one where a word comes with a picture.
    """
    if resamples is not None and resamples < 1:
        raise DataError(f"A permutation test needs at least one resample, not {resamples}.")
    others, sides = _sides(counts, groups, unmarked)
    label = np.array(groups, dtype=object)
    stratum, person = _codes(strata, len(label)), None if people is None else _codes(people, len(label))
    free = ~counts.words.is_in(list(masked)).to_numpy()
    prior = _total(counts.tokens)
    rng = np.random.default_rng(seed)
    tables = []
    for group in others:
        side, base = sides[group], sides[unmarked]
        at = np.flatnonzero(free & (side.documents + base.documents >= minimum_documents))
        units = np.flatnonzero((label == group) | (label == unmarked))
        is_marked = (label[units] == group).astype(np.int64)
        within = counts.tokens[units]
        sizes = np.asarray(within @ free.astype(np.int64), dtype=np.float64)
        null = _Null(within[:, at], sizes, prior[at], float(prior[free].sum()))
        null_sizes = null.log_odds(is_marked[None, :].astype(np.float64))
        deals = Deals(is_marked, None if person is None else person[units], stratum[units])
        tests = by_shuffles(
            null_sizes.delta[0], partial(null.draw_log_odds, deals, rng), signed=True,
            first=resamples or FIRST_SHUFFLES, most=resamples, labelings=deals.distinct,
        )  # fmt: skip
        fixed = null.fixed
        t, p, q, p_family, p_least = (
            np.where(fixed, np.nan, x)
            for x in (_copy_sign(null_sizes.delta[0], tests.size), tests.p, tests.q, tests.p_family, tests.p_least)
        )
        table = _table(counts, at, LogOdds(null_sizes.delta[0], null_sizes.z[0]), group, side, unmarked, [base])
        tested = table.with_columns(t=t, p=p, q=q, p_family=p_family, p_least=p_least)
        tables.append(_named_by_side(tested, group, unmarked))
    return pl.concat(tables)


class _Null:
    """The log-odds of the tested words under any labelling of the units."""

    def __init__(self, tokens: scipy.sparse.csr_array, sizes: Array, prior: Array, prior_size: float) -> None:
        self._words = tokens.T.tocsr().astype(np.float64)
        self._sizes, self._prior, self._prior_size = sizes, prior, prior_size
        self._total = np.asarray(self._words.sum(axis=1), dtype=np.float64)
        self.fixed = np.ones(len(prior), dtype=np.bool_)
        """Words whose log-odds were the same under all labels so far."""

    def log_odds(self, labels: Array) -> LogOdds:
        """Log-odds for labellings of shape (n, units): 1 is marked, 0 unmarked."""
        marked = (self._words @ labels.T).T
        size = (labels @ self._sizes)[:, None]
        sizes = size + self._prior_size, self._sizes.sum() - size + self._prior_size
        return word_log_odds(marked, self._total - marked, self._prior, sizes)

    def draw_log_odds(self, deals: Deals, rng: np.random.Generator, resamples: int) -> Array:
        """The words' log-odds under labels dealt out anew, shape (resamples, words)."""
        out = np.empty((resamples, len(self._prior)))
        step = max(1, _BLOCK // max(len(self._prior), len(self._sizes)))
        for start in range(0, resamples, step):
            size = min(step, resamples - start)
            out[start : start + size] = self.log_odds(deals.draw_labels(size, rng).astype(np.float64)).delta
        self.fixed &= np.ptp(out, axis=0) < _FIXED if len(out) else True
        return out


def _copy_sign(delta: Array, size: Array) -> Array:
    return np.where(np.isfinite(size), np.sign(delta) * np.where(np.isfinite(size), size, 0.0), np.nan)


def _named_by_side(table: pl.DataFrame, group: str, unmarked: str) -> pl.DataFrame:
    """Name in each row the group that the word marks, and turn signs and counts to its side."""
    down = pl.col("log_odds") < 0  # t, where there is one, has its sign
    swapped = [
        pl.when(down).then(a).otherwise(b).alias(name)
        for name, a, b in (
            ("group", pl.lit(unmarked), pl.col("group")),
            ("against", pl.lit(group), pl.col("against")),
            *((name, -pl.col(name), pl.col(name)) for name in ("z", "log_odds", "t")),
            *((n, pl.col(f"{n}_against"), pl.col(n)) for n in ("tokens", "documents")),
            *((f"{n}_against", pl.col(n), pl.col(f"{n}_against")) for n in ("tokens", "documents")),
        )
    ]
    numbers = ["z", "log_odds", "t", "p", "q", "p_family", "p_least"]
    ordered = table.with_columns(swapped).sort(pl.col("p").fill_nan(2), -pl.col("t"), maintain_order=True)
    return ordered.with_columns(pl.col(numbers).fill_nan(None))


@dataclass(frozen=True, slots=True)
class _Side:
    """Counts of all words in one group."""

    tokens: Array
    documents: Array


def _sides(counts: WordCounts, groups: Labels, unmarked: str) -> tuple[list[str], dict[str, _Side]]:
    """The marked groups in order of appearance, and the counts of all groups."""
    if len(groups) != len(counts.sizes):
        raise DataError(f"There are {len(counts.sizes)} units, but {len(groups)} group labels.")
    label = np.array(groups, dtype=object)
    names = [name for name in dict.fromkeys(groups) if name is not None]
    if unmarked not in names:
        raise UnknownNameError("group", unmarked, names)
    others = [name for name in names if name != unmarked]
    if not others:
        raise DataError(f"Marked words need a group other than {unmarked!r}; all texts are about that one.")
    sides = {
        name: _Side(_total(counts.tokens[label == name]), _total(counts.documents[label == name])) for name in names
    }
    return others, sides


def _total(matrix: scipy.sparse.csr_array) -> Array:
    return np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()


def _codes(labels: Labels | None, units: int) -> npt.NDArray[np.int64]:
    if labels is None:
        return np.zeros(units, dtype=np.int64)
    if len(labels) != units:
        raise DataError(f"There are {units} units, but {len(labels)} strata.")
    return np.unique(np.array([str(label) for label in labels]), return_inverse=True)[1]


def _list_first_words(
    counts: WordCounts, odds: LogOdds, group: str, side: _Side, against: str, rival: _Side
) -> pl.DataFrame:
    """The first words of one group; equal z in order of first appearance."""
    at = np.argsort(-odds.z, kind="stable")[:FIRST]
    at = at[odds.z[at] > THRESHOLD]
    return _rank_rows(_table(counts, at, LogOdds(odds.delta[at], odds.z[at]), group, side, against, [rival]))


def _rank_rows(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col("z", "log_odds").fill_nan(None)).with_row_index("rank", offset=1)


def _table(
    counts: WordCounts, at: npt.NDArray[np.int64], odds: LogOdds, group: str, side: _Side, against: str | None,
    others: Sequence[_Side],
) -> pl.DataFrame:  # fmt: skip
    columns = {
        "word": counts.words.gather(at), "z": odds.z, "log_odds": odds.delta,
        "tokens": side.tokens[at], "documents": side.documents[at],
        "tokens_against": np.sum([rival.tokens[at] for rival in others], axis=0),
        "documents_against": np.sum([rival.documents[at] for rival in others], axis=0),
    }  # fmt: skip
    frame = pl.DataFrame(columns).with_columns(group=pl.lit(group), against=pl.lit(against, pl.String))
    return frame.select(list(_SCHEMA)).cast(_SCHEMA)  # type: ignore[arg-type]


PER_THOUSAND = 1000.0
FLAT_TEXTS = name_method(IntervalKind.NONE, "the clusters do not differ, so that their spread is unknown")
"""Method where no unit differs from another, as where a word never occurs: that is not known for certain."""
WORD_LIST, GROUP_LABEL, RIVAL_LABEL = "word_list", "group", "other_group"
"""Labels: which of several columns was added up, whose texts they are, and whom a group is compared with."""


def text_sums(frame: pl.DataFrame, columns: Mapping[Level, str], per: str = "") -> Sums:
    """Add up columns of texts by list, group and unit.

    Parameters
    ----------
    frame:
        Texts, a row each, with `group` and `unit`; rows where either is null are left out.
    columns:
        What is added up, by its level of the label `word_list`: hits of word lists, characters, a score.
    per:
        Column that it is a rate of, such as the number of words; by default the texts, which gives means.

    Returns
    -------
    Sums with `s` and `n`, how many `texts` they are of, and how many are `missing`: a text where either is missing
    counts in neither.
    """
    weight = pl.col(per).cast(pl.Float64) if per else pl.lit(1.0)
    keys = [pl.col(GROUP_LABEL).cast(pl.String), pl.col("unit").cast(pl.String)]
    placed = frame.drop_nulls([GROUP_LABEL, "unit"])
    tables = []
    for level, name in columns.items():
        value = pl.col(name).cast(pl.Float64).fill_nan(None)
        counted = value.is_not_null() & weight.is_not_null()
        tables.append(placed.select(
            pl.lit(level, pl.String).alias(WORD_LIST), *keys, s=pl.when(counted).then(value).otherwise(0.0),
            n=pl.when(counted).then(weight).otherwise(0.0), texts=counted.cast(pl.Float64),
            missing=(~counted).cast(pl.Float64),
        ))  # fmt: skip
    return Sums.from_frame(
        pl.concat(tables).group_by(WORD_LIST, GROUP_LABEL, "unit", maintain_order=True).sum(), (WORD_LIST, GROUP_LABEL)
    )


def word_rate(sums: Sums, by: Sequence[str] = (WORD_LIST, GROUP_LABEL)) -> CellEstimates:
    """Rate s / n of each cell, with its interval over units.

    The interval is as `cluster_bootstrap.cluster_means`, of one group's own level; none where no unit differs from
    another.

    Examples
    --------
    >>> rows = {"unit": ["x", "x", "y", "y"], "group": ["black"] * 4, "hits": [1, 0, 2, 1], "tokens": [50] * 4}
    >>> labels, rates = word_rate(text_sums(pl.DataFrame(rows), {"hats": "hits"}, "tokens"))
    >>> labels, rates.times(PER_THOUSAND).value.tolist(), rates.n.tolist()
    ({'word_list': ['hats'], 'group': ['black']}, [20.0], [4])
    """
    labels, cell, count = cells_of(sums, by)
    rates = []
    for at in range(count):
        s, n, texts = (sums.numbers[name][cell == at, None] for name in ("s", "n", "texts"))
        rates.append(_of_texts(_without_flat(cluster_means(s, n, 0, level=True), s, n), texts))
    return labels, Estimates.concatenate(rates)


def rate_differences(
    sums: Sums, by: Sequence[str] = (WORD_LIST,), poles: tuple[float, float] | None = None, longest: float = 1.0,
    seed: int = 0,
) -> CellEstimates:  # fmt: skip
    """Rate of every group less that of each earlier one.

    Parameters
    ----------
    poles, longest:
        Smallest and largest rate of a single text, and the most that a text has of `n`, so that there are bounds for
        texts whose value is missing (`missing_data_bounds.shift_bounds`). None without poles.

    Raises
    ------
    DataError
        A unit that belongs to two groups: then it is no two samples that are compared.
    """
    labels, cell, count = cells_of(sums, by)
    levels, codes = sums.labels[GROUP_LABEL]
    out: dict[str, list[Level]] = {name: [] for name in (*by, GROUP_LABEL, RIVAL_LABEL)}
    differences = []
    for at in range(count):
        rows, unit = np.flatnonzero(cell == at), sums.units["unit"][cell == at]
        if np.unique(unit).size < unit.size:
            raise DataError("A unit belongs to more than one group: their groups are not two samples.")
        for base, number in combinations(sorted(set(codes[rows].tolist())), 2):
            side = np.where(codes[rows] == number, 1, np.where(codes[rows] == base, 0, -1))
            differences.append(_compare_rates(sums, rows, side, poles, longest, seed))
            for name, level in (
                *((n, labels[n][at]) for n in by),
                (GROUP_LABEL, levels[number]),
                (RIVAL_LABEL, levels[base]),
            ):
                out[name].append(level)
    return out, Estimates.concatenate(differences)


def _compare_rates(
    sums: Sums, rows: Codes, side: Codes, poles: tuple[float, float] | None, longest: float, seed: int
) -> Estimates:
    s, n, texts, missing = (sums.numbers[name][rows, None] for name in ("s", "n", "texts", "missing"))
    estimates = _of_texts(compare_groups(s, n, side, seed), texts[side >= 0])
    bounds = None
    if poles is not None:
        base, variant = (Replies(s, n, n + longest * missing).select_clusters(side == number) for number in (0, 1))
        bounds = shift_bounds(base, variant, poles, paired=False)
    return replace(estimates, bounds=bounds, p=estimates.p)


def _of_texts(estimates: Estimates, texts: Array) -> Estimates:
    return replace(estimates, n=np.rint(texts.sum(axis=0)).astype(np.int64))


def _without_flat(estimates: Estimates, sums: Array, counts: Array) -> Estimates:
    """No interval and no standard error where all units are alike but for rounding."""
    assert estimates.se is not None
    rounding = 1e-12 * cell_means(np.sqrt((sums**2).sum(axis=0)), counts.sum(axis=0))
    flat = (estimates.clusters > 1) & (estimates.se <= rounding)
    low, high, se = (np.where(flat, np.nan, array) for array in (estimates.low, estimates.high, estimates.se))
    return replace(estimates, low=low, high=high, se=se, method=np.where(flat, FLAT_TEXTS, estimates.method))


ODDS_DELTA = name_method(IntervalKind.DELTA, "over images, zero by shuffled labels")
_ABOVE_ZERO = 1e-6


def odds_estimates(marked: pl.DataFrame, counts: WordCounts, groups: Sequence[str | None]) -> Estimates:
    """Log-odds ratios with intervals.

    `marked`: rows of `strict_words`.
    """
    se, units = _errors(counts, groups, marked)
    value = to_array(marked["log_odds"])
    low, high = _interval(value, float(scipy.special.ndtri(0.5 + LEVEL / 2)) * se, to_array(marked["p"]))
    tokens = (marked["tokens"] + marked["tokens_against"]).to_numpy()
    return Estimates(value, low, high, tokens, units, np.full(value.size, ODDS_DELTA, dtype=object), se)


def _interval(value: Array, reach: Array, p: Array) -> tuple[Array, Array]:
    """Interval of so much on either side, which leaves zero out exactly where the test does.

    Labels dealt out anew keep their level for rare words, where the delta method is too certain.
    """
    is_found = p < 1 - LEVEL
    inner = np.where(is_found, np.minimum(reach, (1 - _ABOVE_ZERO) * np.abs(value)), np.fmax(reach, np.abs(value)))
    up = value >= 0
    return value - np.where(up, inner, reach), value + np.where(up, reach, inner)


def _errors(
    counts: WordCounts, groups: Sequence[str | None], marked: pl.DataFrame
) -> tuple[Array, npt.NDArray[np.int64]]:
    """Standard error of each log-odds ratio over units, the prior taken as fixed; and how many units there were.

    Equation
    --------
    se² = sum over both groups of G/(G-1) sum_i (y_i - p n_i)² / ((n + a_0) p (1 - p))², p = (y + a)/(n + a_0): each
    logit is linear in its units' counts to first order.
    """
    label = np.array(groups, dtype=object)
    places = dict(zip(counts.words, range(len(counts.words)), strict=True))
    at = np.array([places[word] for word in marked["word"]], dtype=np.int64)
    prior = np.asarray(counts.tokens.sum(axis=0), dtype=np.float64).ravel()
    variance, images = np.zeros(at.size), np.zeros(at.size, dtype=np.int64)
    for side in ("group", "against"):
        names = marked[side].to_numpy()
        for group in np.unique(names):
            rows = np.flatnonzero(names == group)
            units = np.flatnonzero(label == group)
            y = scipy.sparse.csc_array(counts.tokens[units].astype(np.float64))[:, at[rows]]
            n = counts.sizes[units].astype(np.float64)
            total = n.sum() + prior.sum()
            p = (np.asarray(y.sum(axis=0)).ravel() + prior[at[rows]]) / total
            share = np.asarray(y.sum(axis=0)).ravel() / max(n.sum(), 1.0)  # so that residuals sum to zero
            squares = np.asarray(y.multiply(y).sum(axis=0)).ravel()
            squares += share**2 * (n**2).sum() - 2 * share * np.asarray(y.T @ n).ravel()
            with np.errstate(invalid="ignore", divide="ignore"):
                factor = units.size / (units.size - 1) if units.size > 1 else np.nan
                variance[rows] += factor * np.maximum(squares, 0) / (total * p * (1 - p)) ** 2
            images[rows] += units.size
    return np.sqrt(variance), images


def odds_bounds(
    marked: pl.DataFrame, counts: WordCounts, groups: Sequence[str | None], missing: Codes, masked: Collection[str] = ()
) -> Bounds:
    """Bounds of log-odds ratios between groups.

    Parameters
    ----------
    marked:
        Rows of `strict_words`.
    counts, groups, masked:
        As there.
    missing:
        How many texts of each unit are missing, shape (units,).

    Equation
    --------
    `word_log_odds` with m L more words in each group, and as many in the prior as in all groups. low: all
    missing texts of the other group have the word, k mentions each, and none of the group itself; high: the other way
    round. Those of further groups, which are in the prior alone, have it where that goes farther.
    """
    label, units = np.array(groups, dtype=object), counts.texts
    free = ~counts.words.is_in(list(masked)).to_numpy()
    prior = np.asarray(counts.tokens.sum(axis=0), dtype=np.float64).ravel()
    documents = np.asarray(counts.documents.sum(axis=0), dtype=np.float64).ravel()
    sizes = np.asarray(counts.tokens @ free.astype(np.float64))
    length = sizes.sum() / max(units.sum(), 1)
    place = {word: at for at, word in enumerate(counts.words)}
    at = np.array([place[word] for word in marked["word"]], dtype=np.int64)
    sums = {name: (sizes[label == name].sum(), missing[label == name].sum()) for name in set(groups)}
    (size, lost), (size_against, lost_against) = (
        np.array([sums[name] for name in marked[side]], dtype=np.float64).reshape(-1, 2).T
        for side in ("group", "against")
    )
    mentions, further = prior[at] / documents[at], missing.sum() - lost - lost_against
    y, y_against = (marked[name].to_numpy().astype(np.float64) for name in ("tokens", "tokens_against"))
    total_size = sizes.sum() + missing.sum() * length

    def shifted_odds(count: Array, rival: Array, rest: Array) -> Array:
        added = (count * lost * mentions, rival * lost_against * mentions)
        added_prior = prior[at] + sum(added) + rest * further * mentions
        total = size + lost * length + total_size, size_against + lost_against * length + total_size
        return word_log_odds(y + added[0], y_against + added[1], added_prior, total).delta

    no, yes = np.zeros(at.size), np.ones(at.size)
    value = marked["log_odds"].to_numpy()
    low = np.fmin(np.fmin(shifted_odds(no, yes, no), shifted_odds(no, yes, yes)), value)
    high = np.fmax(np.fmax(shifted_odds(yes, no, no), shifted_odds(yes, no, yes)), value)
    unknown = np.full(at.size, np.nan)
    return Bounds(value, low, high, unknown, unknown)
