"""Missing answers: whether the model declines some groups more often than others, on which prompt.

A refusal is an outcome, and so is a request that failed, whoever withheld the answer. Who gets none is a finding of its
own, in every study by the same measures and the same test, which looks at each group with each prompt, so that no group
hides in the mean of all others or of all prompts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.answers import NA
from facevalue.measures import missing_terms
from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import LEVEL, Array, only_values
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.interval_method import IntervalKind, name_method
from facevalue.measures.labels import Deals
from facevalue.measures.missing_by import MissingBy
from facevalue.measures.resampled import FIRST, Shuffled, by_shuffles
from facevalue.measures.shares import unit_shares
from facevalue.measures.sum_table import PART, SumTable
from facevalue.measures.terms import Terms, record
from facevalue.measures.uncertainty import Estimates
from facevalue.prompts.variants import PLAIN

SHARE = Measure(
    "missing_share", "Share of questions without a valid answer",
    "Σ missing / Σ asked; missing is 1 - mass, and 1 for each refusal and each request that failed; for the reason "
    "'refused' refusals alone, for 'error' requests that failed",
    "share", "unit sampled", "FaceValue", limits=(0.0, 1.0),
)  # fmt: skip
GAP = Measure(
    "missing_gap", "Share of questions without a valid answer, from that of all other groups",
    "Σ_b w_b (m_gb - m_ob) / Σ_b w_b, w_b = A_gb A_ob / (A_gb + A_ob): the share missing of a group's answers less "
    "that of all other groups, on the same prompt, within the same units where these are in several groups",
    "share", "unit sampled", "FaceValue; weights of Mantel and Haenszel 1959", comparison=True, limits=(-1.0, 1.0),
)  # fmt: skip
MEASURES = (SHARE, GAP)
PUBLISHED = ("na_rate", "refusal_rate")
"""Keys under which studies have the rates of their protocols, each by its own definition and in its own unit."""
FAMILY = "missing answers"
LABELS = ("dimension", "group", "prompt", "reason")
"""What estimates are broken down by: what groups differ in, which group, which prompt, and why there is no answer."""
_KEYS = ("intervention", "dimension", "group", "prompt", "unit")
_SUMS = ("replies", "missing", "refused", "failed")
_REASONS = ((None, "missing"), (NA.REFUSED.value, "refused"), (NA.ERROR.value, "failed"))
"""Reasons that are told apart, and the sums of them: all; declined by signal or in words; no reply came."""
_SEED = 20260
_NOTHING = 1e-9  # of a reply
_FEWEST = 10  # missing answers for one reason from which on it is tested by itself
_MOST = 5000  # shuffles
_WORK = 5e8  # multiplications of all shuffles: some seconds
_BLOCK = 2**20  # labels that are dealt at once
_FEW_GROUPS = 4  # up to which a dense product of matrices is faster than a sparse one
_NEAR = 0.5  # p above which nothing follows from it for an interval, whose width is then that of the null
_WITHIN = name_method(IntervalKind.PERMUTATION, "labels dealt anew within units")
_BETWEEN = name_method(IntervalKind.PERMUTATION, "labels dealt anew among units")


@dataclass
class MissingAnswers:
    """What one model did not answer, added up while answers pass by.

    Parameters
    ----------
    by:
        By what it is compared.
    """

    by: MissingBy
    _cells: SumTable = field(default_factory=lambda: SumTable(_KEYS, _SUMS, thinned=True))
    _names: dict[int, str] = field(default_factory=dict)
    """What units are called, by their hash; empty unless terms of estimates are kept."""

    def take(self, answers: pl.DataFrame, unit: pl.Series) -> None:
        """Take a chunk of answers, and the unit of each that is asked together, over which totals are."""
        mass = pl.col("mass").cast(pl.Float64).fill_null(1.0) if "mass" in answers.columns else pl.lit(1.0)
        rows = answers.with_columns(
            pl.lit(1.0).alias("(replies)"),
            pl.when(pl.col("na").is_null()).then((1.0 - mass).clip(0.0, 1.0)).otherwise(1.0).alias("(missing)"),
            *(
                (pl.col("na").cast(pl.String) == reason).fill_null(value=False).cast(pl.Float64).alias(f"({name})")
                for reason, name in _REASONS
                if reason
            ),
            unit.hash().alias("(unit)"),
        )
        if record() is not None:
            called = unit.cast(pl.String).str.replace(r"^[^\x1f]*\x1f", "")  # without the name of the column
            self._call(rows["(unit)"], "stimulus " + called if unit.dtype.is_numeric() else called)
        nobody = pl.lit(None, pl.String)
        people = [who for groups in self.by.groups for who in groups.columns(answers.columns)]
        keys = [(nobody, nobody, pl.col("(unit)")), *((of, group, whose.hash(1)) for of, group, whose in people)]
        intervention = pl.col("intervention").cast(pl.String) if "intervention" in rows.columns else pl.lit(PLAIN)
        columns = {"prompt": self.by.question_name(rows.columns), "intervention": intervention}
        used = sorted({name for e in (*columns.values(), *chain(*keys)) for name in e.meta.root_names()})
        sums = rows.group_by(used).agg(pl.col(f"({name})").sum().alias(name) for name in _SUMS)
        for dimension, group, whose in keys:
            grouped = sums.filter(group.is_not_null()) if group.meta.root_names() else sums
            self._cells.add(grouped.select(*_SUMS, **columns, dimension=dimension, group=group, unit=whose))
        if record() is not None:
            for _, _, whose in people:
                self._call(sums.select(whose.hash(1)).to_series(), sums.select(whose).to_series())

    def _call(self, codes: pl.Series, names: pl.Series) -> None:
        """Note what units are called."""
        self._names |= dict(pl.DataFrame({"code": codes, "name": names}).unique().iter_rows())

    def estimates(self, study: str, model: str) -> pl.DataFrame:
        """Shares and gaps of everything that was asked, and with each intervention."""
        cells = self._cells.frame()
        tables = []
        interventions = cells["intervention"].unique(maintain_order=True).to_list() if cells.height else [PLAIN]
        for name in interventions:
            table = EstimateTable(study, model, LABELS, None if name == PLAIN else name)
            of_intervention = cells.filter(pl.col("intervention") == name) if cells.height else cells
            if of_intervention.height:
                _add_estimates(table, of_intervention, self._cells.one_of > 1, self._names)
            tables.append(table.frame())
        return pl.concat(tables)


def _add_estimates(table: EstimateTable, cells: pl.DataFrame, partly: bool, names: Mapping[int, str]) -> None:
    """Shares of all, of prompts, of groups and of groups by prompt, and the gaps of these last two."""
    if cells["prompt"].n_unique() == 1:  # what was asked is all that was asked
        cells = cells.with_columns(prompt=pl.lit(None, pl.String))
    for reason, column in _REASONS:
        kind = cells.with_columns(missing=column)
        if reason and not kind.select((pl.col("missing") > 0).any()).item():
            continue
        overall = kind.filter(pl.col("dimension").is_null())
        _add_shares(table, overall, [], reason, names)
        if overall["prompt"].n_unique() > 1:
            _add_shares(table, overall.drop_nulls("prompt"), ["prompt"], reason, names)
        grouped = kind.filter(pl.col("dimension").is_not_null())
        _add_shares(table, grouped, ["dimension", "group"], reason, names)
        short = grouped.filter((pl.col("missing").sum() > 0).over("dimension", "prompt"))
        if grouped["prompt"].n_unique() > 1:
            _add_shares(table, short.drop_nulls("prompt"), ["dimension", "group", "prompt"], reason, names)
    gaps = [
        (reason, rows)
        for reason, column in _REASONS
        for rows in cells.with_columns(missing=column, all="missing").drop_nulls("dimension").partition_by("dimension")
        if rows["missing"].sum() > 0 and rows["group"].n_unique() > 1 and (not reason or _apart(rows))
    ]
    compared = [_Excess.of(rows, reason) for reason, rows in gaps]
    compared = [excess for excess in compared if excess.size]
    if compared:
        _add_gaps(table, compared, partly, names)


def _apart(of_reason: pl.DataFrame) -> bool:
    """Whether a reason is tested by itself, too: there are others, and it is not so rare that it could show nothing.

    How often it occurs is the same whatever labels are dealt, so the test stays exact. A few refusals among many
    failures would only make the largest statistic of the family larger.
    """
    if of_reason["missing"].sum() < _FEWEST:
        return False
    return bool(of_reason.select(((pl.col("all") - pl.col("missing")) > _NOTHING).any()).item())


def _add_shares(
    table: EstimateTable, cells: pl.DataFrame, by: list[str], reason: str | None, names: Mapping[int, str]
) -> None:
    """Shares over units (`shares.unit_shares`)."""
    if not cells.height:
        return
    units = cells.group_by([*by, "unit"]).agg(pl.col("replies", "missing").sum()).sort([*by, "unit"])
    labels = units.select(by).unique(maintain_order=True)
    cell = (
        units.select(pl.struct(by).rle_id()).to_series().cast(pl.Int64)
        if by
        else pl.zeros(units.height, pl.Int64, eager=True)
    )
    replies, missing = (units[name].cast(pl.Float64).to_numpy() for name in ("replies", "missing"))
    shares = unit_shares(cell.to_numpy(), max(labels.height, 1), np.arange(units.height), replies, missing)
    levels = {**labels.to_dict(as_series=False), "reason": [reason] * shares.value.size}
    table.add(SHARE, levels, replace(shares, terms=missing_terms.of_shares(units, by, names)))


@dataclass(frozen=True)
class _Excess:
    """Groups of one dimension: what each unit's replies about each group are short of, or beyond, by prompt."""

    cells: pl.DataFrame
    """Replies and missing answers by unit, group and prompt, and the block of each unit: 0 for those of one group."""
    dimension: str
    reason: str | None
    groups: list[str]
    prompts: list[str | None]
    """With null for all of them together, where there are several."""
    excess: Array
    """Missing less expected, shape (units x groups that were asked, prompts)."""
    pair: Array
    """A_g A_o / A of units that are in several groups, of the same shape; 0 for the others."""
    weight: Array
    """Σ_b A_g A_o / A, shape (groups, prompts)."""
    replies: npt.NDArray[np.int64]
    """Replies, shape (prompts,)."""
    label: npt.NDArray[np.int64]
    block: npt.NDArray[np.int64]
    """Group, and within what labels are dealt, of each row of `excess`."""
    deals: Deals
    units: int
    crossed: bool

    @classmethod
    def of(cls, cells: pl.DataFrame, reason: str | None) -> "_Excess":
        """Expected is what the unit's replies have together, or, of units of one group, what all these have."""
        several = (pl.col("group").n_unique() > 1).over("unit")
        cells = cells.with_columns(
            block=pl.when(several).then(pl.col("unit").rank("dense").cast(pl.Int64)).otherwise(0)
        )
        inside = ["block", "prompt"]
        total, lost = (pl.col(name).sum().over(inside) for name in ("replies", "missing"))
        cells = cells.with_columns(
            excess=pl.col("missing") - pl.col("replies") * lost / total,
            group_replies=pl.col("replies").sum().over(*inside, "group"), total=total,
        )  # fmt: skip
        groups = cells["group"].unique().sort().to_list()
        lacks = (pl.col("missing").sum() > 0).over("prompt")
        prompts = cells.filter(lacks)["prompt"].unique().sort(nulls_last=True).to_list()
        elements = cells.select("unit", "group", "block").unique().sort("unit", "group")
        row = cells.join(elements.with_row_index("row"), on=["unit", "group"], how="left", maintain_order="left")["row"]
        column = _places(cells["prompt"], prompts)
        excess = np.zeros((elements.height, len(prompts) + 1))
        np.add.at(excess, (row.to_numpy(), column), cells["excess"].to_numpy())
        share = cells.unique([*inside, "group"], maintain_order=True).with_columns(
            w=pl.col("group_replies") * (pl.col("total") - pl.col("group_replies")) / pl.col("total")
        )
        pair = np.zeros(excess.shape)
        of_group, of_block = (cells[name].to_numpy() for name in ("group_replies", "total"))
        have_block = (cells["block"] > 0).to_numpy()
        pair[row.to_numpy()[have_block], column[have_block]] = (of_group * (of_block - of_group) / of_block)[have_block]
        weight, place = np.zeros((len(groups), len(prompts) + 1)), {name: at for at, name in enumerate(groups)}
        at = share["group"].replace_strict(place).to_numpy(), _places(share["prompt"], prompts)
        np.add.at(weight, at, share["w"].to_numpy())
        replies = np.bincount(column, weights=cells["replies"].to_numpy(), minlength=len(prompts) + 1)
        for of_prompts in (excess, pair, weight, replies[None]):  # those that lack nothing count in all together alone
            of_prompts[:, -1] = of_prompts.sum(axis=1)
        if len(prompts) > 1:
            prompts = [*prompts, None]
        else:
            excess, pair, weight, replies = excess[:, :-1], pair[:, :-1], weight[:, :-1], replies[:-1]
        label = elements["group"].replace_strict(place).to_numpy().astype(np.int64)
        block = (elements["block"].rank("dense").cast(pl.Int64) - 1).to_numpy()
        unit = (elements["unit"].rank("dense").cast(pl.Int64) - 1).to_numpy()
        crossed = bool(cells.select((pl.col("block") > 0).any()).item())
        dimension = cells["dimension"][0] if cells.height else ""
        return cls(
            cells, dimension, reason, groups, prompts, excess, pair, weight, replies.astype(np.int64), label, block,
            Deals(label, unit), int(unit.max(initial=-1)) + 1, crossed,
        )  # fmt: skip

    @property
    def size(self) -> int:
        """How many gaps there are."""
        return self.weight.size if (self.weight > 0).any() else 0

    def observed(self) -> Array:
        """Excess of each group by prompt; NaN where there is nobody to compare it with."""
        return np.where(self.weight > 0, self._sums(self.label[None])[0], np.nan).ravel()

    def dealt(self, shuffles: int, rng: np.random.Generator) -> Array:
        """The same with labels dealt anew, shape (shuffles, gaps)."""
        step = max(1, _BLOCK // max(self.label.size, 1))
        sums = [self._sums(self.deals.drawn(min(step, shuffles - at), rng)) for at in range(0, shuffles, step)]
        return np.concatenate(sums).reshape(shuffles, -1)

    def null_error(self) -> Array:
        """Standard deviation of a gap under dealt labels.

        Equation
        --------
        Σ_b n_g (n - n_g) / (n (n - 1)) S²_b / W², S²_b the squares about the mean of a block of n (sampling without
        replacement: Cochran, Sampling Techniques, 1977, section 2.5).
        """
        n, size = np.bincount(self.block)[:, None], len(self.groups)
        counts = np.bincount(self.block * size + self.label, minlength=n.size * size).reshape(n.size, -1)
        first, second = (_by(self.block, moment) for moment in (self.excess, self.excess**2))
        variance = counts * (n - counts) / (n * np.maximum(n - 1, 1))
        return self._root(variance.T @ (second - first**2 / n))

    def limits(self, value: Array) -> tuple[Array, Array, Array, Array]:
        """Standard error of gaps of this size, each group with a variance of its own, t times it, and low and high.

        Equation
        --------
        W² se² = U/(U-1) Σ_u e_u², e_u = T_gu - d w_gu over units in several groups, with their excess T and weight w;
        for units of one group Σ over it and the others of (n_other / n)² n/(n-1) SS, as Welch's, with his degrees of
        freedom. What is rarely missing varies more the more of it there is: at a gap θ the variance is se² + a (θ - d),
        a = Σ e³ / (W Σ e²), as in a natural exponential family. Limits: where (θ - d)² = t² (se² + a (θ - d)), that is
        d + a t²/2 ± t sqrt(se² + a² t²/4), the score interval of a rate if all of it is Poisson's.
        """
        size, shared = len(self.groups), self.pair.any(axis=1)
        on = self.label[shared]
        apart = self.excess[shared] - value[on] * self.pair[shared]
        units = _by(on, (self.pair[shared] > 0).astype(np.float64), size)
        out = units / np.maximum(units - 1, 1) * _by(on, apart**2, size)
        square, cube, variance = _by(on, apart**2, size), _by(on, apart**3, size), out**2 / np.maximum(units - 1, 1)
        alone, label = self.excess[~shared], self.label[~shared]
        if label.size:
            n = np.bincount(label, minlength=size)[:, None]
            first, second = _by(label, alone, size), _by(label, alone**2, size)
            rest = label.size - n
            left, squares = first.sum(axis=0) - first, second.sum(axis=0) - second
            third = _by(label, alone**3, size)
            sides = (n, first, second, third, rest, 1), (rest, left, squares, third.sum(axis=0) - third, n, -1)
            for many, total, power, triple, factor, sign in sides:
                mean, share = total / np.maximum(many, 1), factor / label.size
                scatter = np.maximum(power - mean * total, 0.0)
                added = share**2 * many / np.maximum(many - 1, 1) * scatter
                out, variance = out + added, variance + added**2 / np.maximum(many - 1, 1)
                square = square + share**2 * scatter
                cube = cube + sign * share**3 * (triple - 3 * mean * power + 2 * many * mean**3)
        se = self._root(out)
        with np.errstate(invalid="ignore", divide="ignore"):
            t = scipy.special.stdtrit(np.where(variance > 0, out**2 / variance, 1.0), 0.5 + LEVEL / 2)
            skew = np.where(square > 0, cube / square, 0.0) / self.weight
        middle, half = value + skew * t**2 / 2, t * np.sqrt(se**2 + (skew * t / 2) ** 2)
        return se, t * se, middle - half, middle + half

    def _root(self, variance: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.weight > 0, np.sqrt(np.maximum(variance, 0.0)) / self.weight, np.nan)

    def _sums(self, labels: npt.NDArray[np.int64]) -> Array:
        """Sums of excess by group, shape (deals, groups, prompts)."""
        many, groups, items = len(labels), len(self.groups), self.label.size
        if groups <= _FEW_GROUPS:
            of_group = (labels[:, None, :] == np.arange(groups)[:, None]).reshape(-1, items)
            return (of_group.astype(np.float64) @ self.excess).reshape(many, groups, -1)
        places = (labels + groups * np.arange(many)[:, None]).T.ravel()
        shape = (many * groups, items)
        of_group = scipy.sparse.csc_array((np.ones(places.size), places, many * np.arange(items + 1)), shape=shape)
        return (of_group @ self.excess).reshape(many, groups, -1)


def _places(names: pl.Series, levels: Sequence[str | None]) -> npt.NDArray[np.int64]:
    """Place of each name among levels; behind them for one that is none."""
    return names.replace_strict(levels, range(len(levels)), default=len(levels), return_dtype=pl.Int64).to_numpy()


def _by(place: npt.NDArray[np.int64], values: Array, places: int = 0) -> Array:
    """Sums of rows by place, shape (places, columns)."""
    return np.stack([np.bincount(place, weights=column, minlength=places) for column in values.T], axis=-1)


def _add_gaps(table: EstimateTable, compared: Sequence[_Excess], partly: bool, names: Mapping[int, str]) -> None:
    """One family over all dimensions, groups and prompts: labels dealt anew, and the largest compared (max-T)."""
    rng = np.random.default_rng(_SEED)
    work = sum(e.label.size * e.excess.shape[1] for e in compared)
    tested = by_shuffles(
        np.concatenate([e.observed() for e in compared]),
        lambda shuffles: np.concatenate([e.dealt(shuffles, rng) for e in compared], axis=1),
        signed=True,
        most=FIRST if only_values() else int(np.clip(_WORK / max(work, 1), FIRST, _MOST)),
        labelings=max(e.deals.distinct for e in compared),
    )
    start = 0
    for e in compared:
        rows_of_one = slice(start, start + e.size)
        start += e.size
        terms = missing_terms.of_gaps(e.cells, e.groups, e.prompts, names)
        _add_gap(table, e, tested, rows_of_one, partly, terms)


def _add_gap(
    table: EstimateTable, excess: _Excess, tested: Shuffled, rows: slice, partly: bool, terms: Terms | None
) -> None:
    """Add the gaps of one dimension, with the interval that has the p-value of the shuffles.

    Equation
    --------
    value ± t(.975) |value| / t(p), t with one degree of freedom less than units: it leaves out zero exactly where
    p < .05. Where p is no guide (above one half) the width is that of dealt labels; where no shuffle came near, p is
    smaller than can be told, and the width that of `_Excess.limits` if that is smaller.

    Dealt labels know the scatter of all groups together. A group that is declined more often varies more, so that the
    interval is nowhere narrower than `_Excess.limits`. Only where p < .05 its end towards zero is where a gap of that
    size would be rejected: (value - x)² = V_0 + (V_1 - V_0) x / value, between the squared reach of dealt labels, which
    have no gap (V_0), and that of gaps as large as the one observed (V_1).
    """
    weight = excess.weight.ravel()
    p, df = tested.p[rows], max(excess.units - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(weight > 0, excess.observed() / weight, np.nan)
    null = excess.null_error().ravel()
    clear, reach, lowest, highest = (x.ravel() for x in excess.limits(value.reshape(excess.weight.shape)))
    with np.errstate(invalid="ignore", divide="ignore"):
        tied = np.abs(value) / -scipy.special.stdtrit(df, p / 2)
    se: Array = np.where(p < _NEAR, tied, null)
    se = np.where(p * (1 + tested.shuffles) < 2, np.fmin(se, clear), se)  # no shuffle came near: p is smaller than that
    half = float(scipy.special.stdtrit(df, 0.5 + LEVEL / 2)) * se
    labels: Mapping[str, list[str | None]] = {
        "dimension": [excess.dimension] * weight.size,
        "group": [name for name in excess.groups for _ in excess.prompts],
        "prompt": [*excess.prompts] * len(excess.groups),
        "reason": [excess.reason] * weight.size,
    }
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = (reach**2 - half**2) / np.abs(value)
        near = (np.sqrt(slope**2 + 4 * reach**2) - slope) / 2
    low, high = np.fmin(value - half, lowest), np.fmax(value + half, highest)
    significant = p < 1 - LEVEL
    low, high = (
        np.where(significant & (value > 0), value - near, low),
        np.where(significant & (value < 0), value + near, high),
    )
    method = (_WITHIN if excess.crossed else _BETWEEN) + (f", {PART}" if partly else "")
    estimates = Estimates(
        value, low, high, np.tile(excess.replies, len(excess.groups)), np.full(weight.size, excess.units),
        np.full(weight.size, method, dtype=object), se, terms=terms,
    )  # fmt: skip
    table.add(
        GAP,
        labels,
        replace(estimates, p=p, q=tested.q[rows], p_least=tested.p_least[rows]),
        family=FAMILY,
        keep=weight > 0,
    )
