"""Missing answers by group and prompt, and terms of their estimates.

Missing answers: whether the model declines some groups more often than others, on which prompt.

A refusal is an outcome, and so is a request that failed, whoever withheld the answer. Who gets none is a finding of its
own, in every study by the same measures and the same test, which looks at each group with each prompt, so that no group
hides in the mean of all others or of all prompts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.answers import NA
from facevalue.design import find_changes
from facevalue.measures.cells import (
    MISSING_FAMILY,
    MISSING_GAP,
    MISSING_LABELS,
    MISSING_MEASURES,
    MISSING_SHARE,
    MissingBy,
)
from facevalue.measures.cluster_bootstrap import LEVEL, Array, only_values
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import PART_BY_HASH, Sums, UnitTable, code_levels, in_grains, number_levels
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.noise_floors import FIRST_SHUFFLES, Deals, Shuffled, by_shuffles, sum_by_label
from facevalue.measures.proportions import groups, level_codes
from facevalue.measures.uncertainty import MOST_BYTES, Estimates, EstimateTerm, Terms, UnitSums, term_record
from facevalue.prompts.variants import PLAIN
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.levels import Mean
from facevalue.statistics.scores import SumScores, estimate_sums, share_score

_NOTHING = 1e-9  # of a reply
_PARTS = 3
"""Of a gap on a prompt: units in several groups; of units in one group alone, those of the group, and of the others."""


def terms_of_gaps(
    cells: pl.DataFrame, groups: Sequence[str], prompts: Sequence[str | None], names: Mapping[int, str]
) -> Terms | None:
    """Terms of gaps, of each group by prompt; None where nobody asked.

    `cells`: `unit`, `group`, `prompt`, `replies`, `missing`, `block` (0 for units in one group alone) and `excess` and
    `total` as `_Excess.from_cells` has them. `prompts`: with null last where it stands for all together, those of
    `cells` that lack nothing among them, which are kept as one where the same units were asked them as often. `names`:
    as above.

    Equation
    --------
    (Σ_b T_gb + Σ_p w_p (m_gp / A_gp - m_op / A_op)) / (Σ_b w_gb + Σ_p w_p), w_p = A_gp A_op / (A_gp + A_op): over units
    b in several groups, with their excess T and weight w, and, on each prompt p, the replies A and missing answers m of
    the units in this group alone, and in one of the others alone.
    """
    record = term_record()
    if record is None:
        return None
    cells = cells.with_columns(pl.col("group", "prompt").cast(pl.String))
    single_prompts = prompts[:-1] if len(prompts) > 1 else prompts
    units = cells["unit"].unique(maintain_order=True)
    slots: dict[tuple[Any, ...], int] = {}
    places = {prompt: place for place, prompt in enumerate(single_prompts)}
    unlisted = cells.filter(pl.col("block") == 0, ~pl.col("prompt").is_in(single_prompts, nulls_equal=True))
    alike = unlisted.sort("unit").group_by("prompt", maintain_order=True).agg("unit", "replies")
    for prompt, *units_and_replies in alike.iter_rows() if len(prompts) > 1 else ():
        places[prompt] = len(single_prompts) + slots.setdefault(tuple(map(tuple, units_and_replies)), len(slots))
    shape = (units.len(), len(single_prompts) + max(len(slots), 1), _PARTS)
    if 16 * int(np.prod(shape)) * len(groups) > MOST_BYTES - record.bytes:
        record.is_full = True
        return None
    unit_place, prompt_place = (
        cells[name].replace_strict([*of], [*of.values()], default=len(single_prompts), return_dtype=pl.Int64).to_numpy()
        for name, of in (("unit", dict(zip(units, range(units.len()), strict=True))), ("prompt", places))
    )
    missing, replies, excess, of_group, total = (
        cells[name].cast(pl.Float64).to_numpy() for name in ("missing", "replies", "excess", "group_replies", "total")
    )
    weight, is_crossed = of_group * (total - of_group) / total, (cells["block"] > 0).to_numpy()
    statistic = partial(_gap, prompts=shape[1], listed=len(single_prompts), has_total=len(prompts) > 1)
    unit_names, out = _name_units(units, names), []
    for group in groups:
        is_own = (cells["group"] == group).to_numpy()
        parts = (
            (is_crossed & is_own, excess, weight),
            (~is_crossed & is_own, missing, replies),
            (~is_crossed & ~is_own, missing, replies),
        )
        sums, counts = np.zeros(shape), np.zeros(shape)
        for part, (rows, of_sums, of_counts) in enumerate(parts):
            np.add.at(sums, (unit_place[rows], prompt_place[rows], part), of_sums[rows])
            np.add.at(counts, (unit_place[rows], prompt_place[rows], part), of_counts[rows])
        flat = units.len(), -1
        of = UnitSums(sums.reshape(flat), counts.reshape(flat), statistic, names=unit_names)
        out += [EstimateTerm(of, column) for column in range(len(prompts))]
    return tuple(out)


def _gap(sums: Array, counts: Array, prompts: int, listed: int, has_total: bool) -> Array:
    """Gaps of a group on each prompt and, if there are several, on all together; of totals of the parts of each.

    Those beyond the listed ones lack nothing.
    """
    s, n = (x.reshape(*x.shape[:-1], prompts, _PARTS) for x in (sums, counts))
    own, others = n[..., 1], n[..., 2]
    with np.errstate(invalid="ignore", divide="ignore"):
        alone = np.where((own > _NOTHING) & (others > _NOTHING), own * others / (own + others), 0.0)
        excess = s[..., 0] + np.where(alone > 0, alone * (s[..., 1] / own - s[..., 2] / others), 0.0)
        weight = n[..., 0] + alone
        total = (x.sum(axis=-1, keepdims=True)[..., : int(has_total)] for x in (excess, weight))
        excess, weight = (
            np.concatenate([x[..., :listed], y], axis=-1) for x, y in zip((excess, weight), total, strict=True)
        )
        return np.where(weight > _NOTHING, excess / weight, np.nan)


def _name_units(units: Iterable[int], names: Mapping[int, str]) -> list[str]:
    return [names[int(unit)].replace("\x1f", ", ") for unit in units] if names else []


_SHARE = share_score("missing")
_KEYS = ("intervention", "dimension", "group", "prompt")
_SUMS = ("replies", "missing", "refused", "failed")
_Reasons = Sequence[tuple[str | None, str]]
_REASONS = ((None, "missing"), (NA.REFUSED.value, "refused"), (NA.ERROR.value, "failed"))
"""Reasons that are told apart, and the sums of them: all; declined by signal or in words; no reply came."""
_SEED = 20260
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
    """Missing answers of one model, added up while answers pass by.

    Parameters
    ----------
    by:
        By what it is compared.
    """

    by: MissingBy
    _cells: UnitTable = field(default_factory=lambda: UnitTable(_KEYS, _SUMS))
    _names: dict[int, str] = field(default_factory=dict)
    """Names of units, by their hash; empty unless terms of estimates are kept."""

    def take(self, answers: pl.DataFrame, unit: pl.Series) -> None:
        """Take a chunk of answers, and the unit of each that is asked together, over which totals are."""
        nobody, columns = pl.lit(None, pl.String), answers.columns
        people = [person for grouped in self.by.groups for person in grouped.columns(columns)]
        intervention = pl.col("intervention").cast(pl.String) if "intervention" in columns else pl.lit(PLAIN)
        shared = {"prompt": self.by.question_name(columns), "intervention": intervention}
        everyone = [(nobody, nobody, pl.col("(unit)")), *people]
        used = dict.fromkeys(n for of in (*everyone, shared.values()) for e in of for n in e.meta.root_names())
        rows = answers.with_columns(unit.alias("(unit)")).select(*used)
        start = find_changes(rows)
        rows, sums = rows[start], [np.add.reduceat(in_grains(amount), start) for amount in _amounts(answers)]
        codes = {name: level_codes(rows[name]) for name in used}
        for dimension, group, whose in everyone:
            labels, label = _levels(rows, codes, **shared, dimension=dimension, group=group)
            names, name = _levels(rows, codes, name=whose)
            cell, first = groups(name, label)
            some = slice(None) if group is nobody else labels["group"].is_not_null().to_numpy()[label[first]]
            first, hashes = first[some], names["name"].hash(int(group is not nobody))
            totals = np.stack([np.bincount(cell, amount) for amount in sums])[:, some]
            self._cells.add(labels, label[first], hashes.to_numpy()[name[first]], totals)
            if term_record() is not None:
                called = names["name"].cast(pl.String)
                if group is nobody:
                    without_column = called.str.replace(r"^[^\x1f]*\x1f", "")
                    called = "stimulus " + called if unit.dtype.is_numeric() else without_column
                self._names |= dict(zip(hashes, called, strict=True))

    def estimates(self, study: str, model: str) -> pl.DataFrame:
        """Shares and gaps of everything that was asked, and with each intervention."""
        cells = self._cells.frame()
        tables = []
        interventions = cells["intervention"].unique(maintain_order=True).to_list() if cells.height else [PLAIN]
        for name in interventions:
            table = EstimateTable(study, model, MISSING_LABELS, None if name == PLAIN else name)
            of_intervention = cells.filter(pl.col("intervention") == name) if len(interventions) > 1 else cells
            if of_intervention.height:
                _add_estimates(table, of_intervention, self._cells.one_of > 1, self._names)
            tables.append(table.frame())
        return pl.concat(tables)


def _amounts(answers: pl.DataFrame) -> tuple[npt.NDArray[Any], ...]:
    """Amounts of each answer that are added up: `_SUMS`."""
    ones = np.ones(answers.height)
    mass = answers["mass"].cast(pl.Float64).fill_null(1.0).to_numpy() if "mass" in answers.columns else ones
    is_missing = answers["na"].is_not_null()
    reasons = answers["na"].filter(is_missing).cast(pl.String)
    rows, missing = np.flatnonzero(is_missing), np.clip(1.0 - mass, 0.0, 1.0)
    missing[rows] = 1.0
    of_reasons = (np.bincount(rows[reasons == reason], minlength=ones.size) for reason, _ in _REASONS if reason)
    return ones, missing, *of_reasons


def _levels(
    rows: pl.DataFrame, codes: Mapping[str, npt.NDArray[np.int64]], **expressions: pl.Expr
) -> tuple[pl.DataFrame, npt.NDArray[np.int64]]:
    """Evaluate expressions once for rows that are alike in their columns, and number each row's place in the result."""
    names = dict.fromkeys(name for e in expressions.values() for name in e.meta.root_names())
    level, first = groups(np.zeros(rows.height, np.int64), *(codes[name] for name in names))
    return rows[first].select(**expressions), level


def _add_estimates(table: EstimateTable, cells: pl.DataFrame, partly: bool, names: Mapping[int, str]) -> None:
    """Shares of all, of prompts, of groups and of groups by prompt, and the gaps of these last two."""
    if cells["prompt"].n_unique() == 1:  # what was asked is all that was asked
        cells = cells.with_columns(prompt=pl.lit(None, pl.String))
    cells = cells.with_columns((pl.col("unit").rank("dense") - 1).alias("(unit)"))
    unit_names = _name_units(cells["unit"].unique().sort(), names) if names else ()
    reasons = [(reason, column) for reason, column in _REASONS if reason is None or cells[column].sum() > 0]
    of_groups = cells.height - cells["dimension"].null_count()
    grouped, overall = cells[:of_groups], cells[of_groups:]  # cells are in the order of labels, null last
    _add_shares(table, overall, (), reasons, unit_names)
    _add_shares(table, grouped, ("dimension", "group"), reasons, unit_names)
    if cells["prompt"].n_unique() > 1:
        _add_shares(table, overall.drop_nulls("prompt"), ("prompt",), reasons, unit_names)
        for reason, column in reasons:
            short = grouped.drop_nulls("prompt").filter((pl.col(column).sum() > 0).over("dimension", "prompt"))
            _add_shares(table, short, ("dimension", "group", "prompt"), [(reason, column)], unit_names)
    several, number = (pl.col("group").n_unique() > 1).over("unit"), pl.col("unit").rank("dense").cast(pl.Int64)
    numbered = {"number": number, "block": pl.when(several).then(number).otherwise(0)}
    tables = [rows.with_columns(**numbered) for rows in grouped.partition_by("dimension")] if grouped.height else []
    compared = [
        excess
        for reason, column in _REASONS
        for rows in tables
        if rows[column].sum() > 0 and rows["group"].n_unique() > 1 and (not reason or _is_tested_alone(rows, column))
        if (excess := _Excess.from_cells(rows.with_columns(missing=column), reason)).size
    ]
    if compared:
        _add_gaps(table, compared, partly, names)


def _is_tested_alone(cells: pl.DataFrame, column: str) -> bool:
    """Return whether a reason is tested by itself, too: there are others, and it is common enough to show something.

    How often it occurs is the same whatever labels are dealt, so the test stays exact. A few refusals among many
    failures would only make the largest statistic of the family larger.
    """
    return bool(cells[column].sum() >= _FEWEST and ((cells["missing"] - cells[column]) > _NOTHING).any())


def _add_shares(
    table: EstimateTable, cells: pl.DataFrame, by: tuple[str, ...], reasons: _Reasons, unit_names: Sequence[str]
) -> None:
    """Shares over units; `unit_names`: in the order of their numbers."""
    if not cells.height:
        return
    unit = level_codes(cells["(unit)"])
    row, first = groups(*(level_codes(cells[name]) for name in by), unit)
    columns = ("replies", *(column for _, column in reasons))
    numbers = {name: np.bincount(row, cells[name]).astype(np.float64) for name in columns}
    sums = Sums(numbers, {"unit": unit[first]}, {name: code_levels(cells[name][first]) for name in by}, unit_names)
    scores = [
        SumScores(_SHARE, sums, MISSING_MEASURES, s=column, n="replies", labels={"reason": reason})
        for reason, column in reasons
    ]
    estimate_sums(table, [Estimand(Mean(), by, measure=MISSING_SHARE.name)], scores)


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
    def from_cells(cls, cells: pl.DataFrame, reason: str | None) -> "_Excess":
        """Expected is what the unit's replies have together, or, of units of one group, what all these have."""
        names, prompts = (cells[name].unique().sort(nulls_last=True).to_list() for name in ("group", "prompt"))
        group, column = number_levels(cells["group"], names), number_levels(cells["prompt"], prompts)
        column = column % max(len(prompts), 1)  # null is the last
        unit, block, missing, replies = (cells[name].to_numpy() for name in ("number", "block", "missing", "replies"))
        inside, _ = groups(block, column)
        share, first = groups(inside, group)
        sums = ((inside, replies), (inside, missing), (share, replies))
        total, missing_total, of_group = (np.bincount(by, x)[by] for by, x in sums)
        shortfall, products = missing - replies * missing_total / total, of_group * (total - of_group) / total
        row, of_row = groups(unit, group)
        excess, pair = np.zeros((2, of_row.size, len(prompts)))
        excess[row, column], pair[row, column] = shortfall, np.where(block > 0, products, 0.0)
        size = len(names), len(prompts)
        weight = np.bincount(group[first] * size[1] + column[first], products[first], prod(size)).reshape(size)
        requests = np.bincount(column, replies, len(prompts))[None]
        lacks = np.flatnonzero(np.bincount(column, missing, len(prompts)) > 0)
        together = [] if lacks.size < 2 else [None]  # prompts that lack nothing count in all together alone
        excess, pair, weight, requests = (
            np.append(x[:, lacks], x.sum(axis=1, keepdims=True)[:, : len(together)], axis=1)
            for x in (excess, pair, weight, requests)
        )
        prompts = [*(prompts[at] for at in lacks.tolist()), *together]
        numbers = {"excess": shortfall, "group_replies": of_group, "total": total}
        return cls(
            cells.with_columns(**{name: pl.Series(x) for name, x in numbers.items()}),
            cells["dimension"][0] if cells.height else "", reason, names, prompts, excess, pair, weight,
            requests[0].astype(np.int64), group[of_row], np.unique(block[of_row], return_inverse=True)[1],
            Deals(group[of_row], unit[of_row] - 1), int(unit.max(initial=0)), bool((block > 0).any()),
        )  # fmt: skip

    @property
    def size(self) -> int:
        """Number of gaps."""
        return self.weight.size if (self.weight > 0).any() else 0

    def observed(self) -> Array:
        """Excess of each group by prompt; NaN where there is nobody to compare it with."""
        return np.where(self.weight > 0, self._sums(self.label[None])[0], np.nan).ravel()

    def dealt(self, shuffles: int, rng: np.random.Generator) -> Array:
        """The same with labels dealt anew, shape (shuffles, gaps)."""
        step = max(1, _BLOCK // max(self.label.size, 1))
        sums = [self._sums(self.deals.draw_labels(min(step, shuffles - at), rng)) for at in range(0, shuffles, step)]
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
        squares = apart**2
        square, cube = _by(on, squares, size), _by(on, squares * apart, size)
        out = units / np.maximum(units - 1, 1) * square
        variance = out**2 / np.maximum(units - 1, 1)
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

    def _sums(self, labels: npt.NDArray[np.integer[Any]]) -> Array:
        """Sums of excess by group, shape (deals, groups, prompts)."""
        groups = len(self.groups)
        if groups > _FEW_GROUPS:
            return sum_by_label(labels, groups, self.excess)
        of_group = (labels[:, None, :] == np.arange(groups)[:, None]).reshape(-1, self.label.size)
        return (of_group.astype(np.float64) @ self.excess).reshape(len(labels), groups, -1)


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
        most=FIRST_SHUFFLES if only_values() else int(np.clip(_WORK / max(work, 1), FIRST_SHUFFLES, _MOST)),
        labelings=max(e.deals.distinct for e in compared),
    )
    start = 0
    for e in compared:
        rows_of_one = slice(start, start + e.size)
        start += e.size
        terms = terms_of_gaps(e.cells, e.groups, e.prompts, names)
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
    method = (_WITHIN if excess.crossed else _BETWEEN) + (f", {PART_BY_HASH}" if partly else "")
    estimates = Estimates(
        value, low, high, np.tile(excess.replies, len(excess.groups)), np.full(weight.size, excess.units),
        np.full(weight.size, method, dtype=object), se, terms=terms,
    )  # fmt: skip
    table.add(
        MISSING_GAP,
        labels,
        replace(estimates, p=p, q=tested.q[rows], p_least=tested.p_least[rows]),
        family=MISSING_FAMILY,
        keep=weight > 0,
    )
