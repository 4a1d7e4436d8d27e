"""Aggregation of answers: numbers by trial, words by image, in one pass and bounded memory."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.answers import NA
from facevalue.measures.cluster_bootstrap import LEVEL, Array, cell_means, cluster_means, only_values
from facevalue.measures.estimates import TableEntry
from facevalue.measures.estimators import CellEstimates, Sums, TrialSums, add_by_unit, cells_of
from facevalue.measures.intervals import FEW_CLUSTERS, T_OVER_MEANS, IntervalKind, name_method
from facevalue.measures.majority import from_majority, replies_of
from facevalue.measures.uncertainty import Estimates, name_units
from facevalue.studies.counterfactuals import measures as m
from facevalue.studies.counterfactuals.parts import Part
from facevalue.studies.counterfactuals.statistics import from_set_mean
from facevalue.studies.counterfactuals.texts import Lists, Texts

SEED = 20260
_LEVEL = 0.05
_COUNTED = name_method(IntervalKind.NONE, "a number of groups, by contrast with a majority of alike groups, over sets")
SKEWED_T = name_method(IntervalKind.T, "over cluster means, for their skewness")
_LEAST = 0.25
"""A group's variance counts as at least this share of that of all groups."""
_FLAT = 1e-9


def group_levels(sums: Array, counts: Array, seed: int) -> Estimates:
    """Mean of each group, with an interval that borrows spread and skewness from the other groups of the same units.

    From `intervals.FEW_CLUSTERS` units on, these are the intervals of `cluster_bootstrap.cluster_means`. For fewer, t
    is too sure of rare and skewed values: a group that happens to have none of the rare high scores seems not to vary
    at all.

    Parameters
    ----------
    sums, counts:
        Shape (units, groups).

    Equation
    --------
    Hall's (1992, "On the removal of skewness by transformation") inverse of the cubic transformation of t: with a = g /
    sqrt(G), g the skewness of the units' residuals over all groups, and h(u) = 3 ((1 + a (u - a/6))^(1/3) - 1) / a, the
    interval is m - se h(t) to m - se h(-t), t of G - 1 degrees of freedom; se² at least a quarter of the mean over
    groups.

    Examples
    --------
    >>> rare = np.zeros((20, 2))
    >>> rare[:2, 0] = 0.6
    >>> found = group_levels(rare, np.ones((20, 2)), seed=0)
    >>> found.value.round(2).tolist(), (found.high > 0.1).tolist()
    ([0.06, 0.0], [True, True])
    """
    levels = cluster_means(sums, counts, seed, level=True)
    few = (levels.method == T_OVER_MEANS) & (levels.clusters < FEW_CLUSTERS)
    if only_values() or levels.se is None or not few.any():
        return levels
    apart = np.where(counts > 0, cell_means(sums, counts) - levels.value, np.nan)[:, few]
    square = float(np.nanmean(apart**2))
    if not square > _FLAT * float(np.nanmean(levels.value[few] ** 2)):
        return levels
    skewness = float(np.nanmean(apart**3)) / square**1.5
    units = levels.clusters[few]
    se = np.sqrt(np.fmax(levels.se[few] ** 2, _LEAST * np.nanmean(levels.se[few] ** 2)))
    reach = np.asarray(scipy.special.stdtrit(units - 1, 0.5 + LEVEL / 2), dtype=np.float64)
    low, high = levels.low.copy(), levels.high.copy()
    low[few] = levels.value[few] - se * _invert_skewness(reach, skewness / np.sqrt(units))
    high[few] = levels.value[few] - se * _invert_skewness(-reach, skewness / np.sqrt(units))
    method = levels.method.copy()
    method[few] = SKEWED_T
    return replace(levels, low=low, high=high, method=method)


def _invert_skewness(u: Array, a: Array) -> Array:
    """Inverse of t + a t² / 3 + a² t³ / 27 + a / 6."""
    flat = np.abs(a) < _FLAT
    safe = np.where(flat, 1.0, a)
    return np.where(flat, u, 3 * (np.cbrt(1 + safe * (u - safe / 6)) - 1) / safe)


# Groups beside the other groups of their sets: their levels, and which of them stand apart.


def add_group_levels(sums: Sums, by: Sequence[str]) -> CellEstimates:
    """Means of groups, whose intervals know how all of them vary, and of all groups together, by themselves."""
    labels, cell, count = cells_of(sums, by)
    s, n = (add_by_unit(sums.units["unit"], cell, count, sums.numbers[name]) for name in "sn")
    is_total = np.array([level is None for level in labels["group"]])
    families = [group_levels(s[:, at], n[:, at], SEED) for at in (~is_total, is_total) if at.any()]
    estimates = Estimates.concatenate(families)
    return labels, replace(estimates, terms=name_units(estimates.terms, sums.names))


def group_contrasts(
    groups: tuple[str, ...],
    values: Array,
    about: Mapping[str, str],
    quantity: m.GroupMeasures,
    are_asked: npt.NDArray[np.bool_],
    limits: tuple[float, float] | None = None,
) -> Iterator[TableEntry]:
    """Each group against the groups that are alike, and, untested, against the mean of all.

    `values`, `are_asked`: of whole sets, shape (sets, groups, draws); `limits`: of a missing value, by default those of
    the scale, if it has any; see `majority.from_majority`. Each prompt is a family by itself, since q holds for all its
    groups together.
    """
    if quantity is m.SCORES:
        limits = m.score_limits(values)
    elif quantity is not m.SALARIES and np.isfinite(quantity.level.limits).all():
        limits = quantity.level.limits
    contrast = from_majority(values, SEED, limits, replies_of(values, are_asked, limits))
    labels, p_least = {**about, "group": groups}, np.full(len(groups), contrast.p_least)
    scope = [about[label] for label in ("subset", "score", "word_list", "prompt") if label in about]
    gaps = replace(contrast.estimates, bounds=contrast.bounds, q=contrast.q, p_least=p_least)
    yield quantity.gap, labels, gaps, m.family(quantity.family, *scope)
    yield quantity.from_mean, labels, from_set_mean(values).without_tests(), None
    if only_values() or not np.isfinite(contrast.p_any):
        return
    count, sets = float((contrast.q < _LEVEL).sum()), int(contrast.estimates.clusters.max())
    apart = Estimates.single(count, np.nan, np.nan, np.nan, len(groups), sets, _COUNTED)
    yield quantity.apart, about, replace(apart, p=np.array([contrast.p_any])), None


SCORE = "score: "
"""Prefix of columns of scores: "score: SCORER/LABEL"."""
REFUSED_SCORE, UNREAD = "refused score: ", "unread: "
"""Prefixes of scores of what refusals say, and of columns on what a scorer has not read: "unread: SCORER"."""
WORDS, VALUE, REFUSED = "words", "value", "refused"
COUNTED = {"reason": "reason: ", "note": "note: "}
"""Prefixes of sums of replies without a valid answer, by reason, or of a number with a note."""


class SetAnswers:
    """One model's answers: numbers of each trial and repeat, replies by reason and note, and the words of texts."""

    def __init__(self, blocks: Sequence[Part], chunks: Iterator[pl.DataFrame], lists: Lists) -> None:
        self._size = max((block.trials.stop for block in blocks), default=0)
        self._numbers: dict[tuple[str, int], Array] = {}
        self._replies = TrialSums(self._size)
        self.repeats = 0
        self.scores: list[str] = []
        """Scores that the answers carry: SCORER/LABEL."""
        self._declined: list[pl.DataFrame] = []
        self.texts = Texts(blocks, lists)
        for chunk in chunks:
            self._add(chunk)

    def _add(self, chunk: pl.DataFrame) -> None:
        if "repeat" not in chunk.columns:
            chunk = chunk.with_columns(repeat=pl.lit(0))
        trial, repeat = (chunk[name].to_numpy().astype(np.int64) for name in ("trial", "repeat"))
        scores = [name for name in chunk.columns if name.startswith(SCORE)]
        self.scores += [name.removeprefix(SCORE) for name in scores if name.removeprefix(SCORE) not in self.scores]
        nothing = [pl.lit(None).alias(name) for name in COUNTED if name not in chunk.columns]
        kinds = chunk.with_columns(nothing).select(pl.col(list(COUNTED)).cast(pl.String)).to_dict()
        reason = kinds["reason"]
        refused = (reason == NA.REFUSED.value).fill_null(value=False).cast(pl.Float64)
        columns = {name: chunk[name].cast(pl.Float64) for name in (WORDS, VALUE, *scores) if name in chunk.columns}
        self._replies.add(
            trial, requests=np.ones(trial.size), lost=reason.is_not_null().to_numpy(), refused=refused.to_numpy()
        )
        for kind, names in kinds.items():
            for name in names.unique(maintain_order=True).drop_nulls():
                self._replies.add(
                    trial, **{f"{COUNTED[kind]}{name}": (names == name).fill_null(value=False).to_numpy()}
                )
        for at in np.unique(repeat).tolist():
            rows = repeat == at
            self.repeats = max(self.repeats, at + 1)
            for name, values in {REFUSED: refused, **columns}.items():
                numbers = self._numbers.setdefault((name, at), np.full(self._size, np.nan))
                numbers[trial[rows]] = values.fill_null(float("nan")).to_numpy()[rows]
        if "declined" in chunk.columns and scores:
            columns_of_refusals = ("trial", "repeat", f"^({REFUSED_SCORE}|{UNREAD}).*$")
            self._declined.append(chunk.filter(pl.col("declined").is_not_null()).select(columns_of_refusals))
        if "text" in chunk.columns:
            self.texts.add(trial, chunk["text"])

    def were_asked(self, block: Part) -> bool:
        """Return whether anything of a block was asked."""
        return bool(self._replies["requests"][block.trials].any())

    def number(self, block: Part, name: str, prompt: int) -> Array:
        """Numbers of one prompt, shape (images, draws); NaN where there is none. Repeats are further draws."""
        numbers = [self._numbers[name, at][block.trials] for at in range(self.repeats) if (name, at) in self._numbers]
        if not numbers:
            return np.full((block.images, 1), np.nan)
        return np.concatenate([block.of_prompt(values, prompt) for values in numbers], axis=1)

    def replies(self, block: Part, prompt: int) -> Sums:
        """Replies to one prompt by image: `requests`, those `lost` and `refused`, and of each reason and note."""
        columns = {name: self._replies[name][block.trials] for name in self._replies.names}
        return block.by_image({name: block.of_prompt(x, prompt).sum(axis=1) for name, x in columns.items()})

    def released_scores(self, block: Part, name: str, prompt: int) -> tuple[Array, bool] | None:
        """Scores as `number` gives them, with those of refusals, and whether the scorer has not read some of these.

        None where no refusal says anything.
        """
        at = pl.col("trial").cast(pl.Int64) - block.start
        of_prompt = at // block.draws
        in_block = at.is_between(0, block.trials.stop - block.start, closed="left") & (
            of_prompt % len(block.prompts) == prompt
        )
        rows = pl.concat([chunk.filter(in_block) for chunk in self._declined]) if self._declined else pl.DataFrame()
        if not rows.height:
            return None
        repeats = [repeat for repeat in range(self.repeats) if (f"{SCORE}{name}", repeat) in self._numbers]
        place_of_repeat = (
            pl.col("repeat").replace_strict(repeats, range(len(repeats)), return_dtype=pl.Int64) * block.draws
        )
        image, draw = rows.select(of_prompt // len(block.prompts), draw=place_of_repeat + at % block.draws)
        scores = self.number(block, f"{SCORE}{name}", prompt)
        scores[image.to_numpy(), draw.to_numpy()] = rows[f"{REFUSED_SCORE}{name}"].fill_null(float("nan")).to_numpy()
        return scores, bool(rows[f"{UNREAD}{name.partition('/')[0]}"].any())
