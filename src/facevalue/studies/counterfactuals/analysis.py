"""Analysis: every measure of counterfactual sets, on the aggregated answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers import NA
from facevalue.measures.cluster_bootstrap import Array, Estimates, Floor
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import shares
from facevalue.measures.set_ranges import TAIL, summary, summary_bounds
from facevalue.measures.set_tails import group_quantiles, tail_shares
from facevalue.measures.table_entries import enter, not_measurable
from facevalue.studies.counterfactuals import measures as m
from facevalue.studies.counterfactuals.aggregate import SCORE, VALUE, WORDS, Answers, by_cluster
from facevalue.studies.counterfactuals.analysis_occupations import add_occupations
from facevalue.studies.counterfactuals.analysis_words import add_words
from facevalue.studies.counterfactuals.contrasts import SEED, add_contrasts, levels
from facevalue.studies.counterfactuals.design import OPEN
from facevalue.studies.counterfactuals.parts import Part
from facevalue.studies.counterfactuals.tables import SALARY
from facevalue.studies.counterfactuals.texts import Lists

STUDY = "counterfactuals"
QUANTILES = (0.5, 0.75, TAIL, 0.95, 0.99, 1.0)
"""Of set ranges: the whole tail."""
UNREAD_REFUSALS = "refused replies were not scored; run annotate again"


@dataclass(frozen=True, slots=True)
class Least:
    """From how much on something is told: occurrences of a word in a group's texts, and sets of an occupation."""

    frequency: int = 10
    sets: int = 35


def estimated(
    answers: Mapping[str, Iterator[pl.DataFrame]],
    blocks: Sequence[Part],
    lists: Lists,
    least: Least | None = None,
    audits: Mapping[str, pl.DataFrame] | None = None,
    longest: int = 512,
) -> pl.DataFrame:
    """Estimate everything, from the answers of each model in chunks, and the audits of scorers by name.

    `longest`: the most words that a reply can have: no more than tokens were allowed.
    """
    least = least or Least()
    tables = []
    for model, chunks in answers.items():
        gathered = Answers(blocks, chunks, lists)
        table = EstimateTable(STUDY, model, m.LABELS)
        for block in blocks:
            if gathered.asked(block):
                _add_part(table, block, gathered, longest)
                add_occupations(table, block, gathered, least.sets)
        for scorer, audit in (audits or {}).items():
            _add_audit(table, scorer, audit)
        add_words(table, blocks, gathered, lists, least.frequency, least.sets)
        tables.append(table.frame())
    return pl.concat(tables) if tables else EstimateTable(STUDY, "", m.LABELS).frame()


def _add_part(table: EstimateTable, block: Part, gathered: Answers, longest: int) -> None:
    for at, prompt in enumerate(block.prompts):
        lost = gathered.kind(block, "reason", at)
        if not np.isfinite(lost).any():
            continue
        about = {"subset": block.subset, "prompt": prompt}
        _add_missing(table, block, gathered, at, about, lost)
        if block.task == OPEN:
            words = gathered.number(block, WORDS, at)
            limits = 0.0, max(float(longest), np.nanmax(words, initial=0.0))
            _add_means(table, block, words, about, m.LENGTHS, ~np.isnan(lost), limits)
            for name in gathered.scores:
                _add_scores(table, block, gathered.number(block, f"{SCORE}{name}", at), about, name, ~np.isnan(lost))
                _add_released(table, block, gathered.released(block, name, at), about, name)
        else:
            quantity = m.SALARIES if prompt == SALARY else m.RATINGS
            means = _add_means(table, block, gathered.number(block, VALUE, at), about, quantity, ~np.isnan(lost))
            _add_deviations(table, block, means, about)


def _add_scores(
    table: EstimateTable, block: Part, scores: Array, about: dict[str, str], name: str, asked: npt.NDArray[np.bool_]
) -> None:
    scorer, _, label = name.partition("/")
    about = {**about, "scorer": scorer, "score": label}
    if not np.isfinite(scores).any():
        return
    _add_means(table, block, scores, about, m.SCORES, asked)
    enter(table, m.SCORE_Q90, {**about, "group": block.groups}, _quantiles(block, scores))
    if not len(block.sets):
        return
    in_sets = block.in_sets(scores)
    ranges = summary(in_sets, SEED, QUANTILES)
    bounds, tail_bounds = summary_bounds(in_sets, block.in_sets(asked), m.score_limits(scores), QUANTILES)
    family = m.family(m.RANGES, label)
    enter(table, m.MAX_SCORE, about, ranges.mean, floor=ranges.floor, family=family, bounds=bounds)
    q90 = QUANTILES.index(TAIL)
    row = slice(q90, q90 + 1)
    published = tail_bounds.at(np.array([q90]))
    enter(table, m.MAX_SCORE_Q90, about, ranges.tail.at(row), floor=ranges.tail_floor.at(row), bounds=published)
    labels = {**about, "quantile": [f"{100 * quantile:g}" for quantile in QUANTILES]}
    enter(table, m.MAX_SCORE_QUANTILE, labels, ranges.tail, floor=ranges.tail_floor, bounds=tail_bounds)
    is_whole = np.isfinite(in_sets).all(axis=1)
    some = np.isfinite(in_sets).any(axis=1)
    left_out, scored = (x.sum(axis=1, keepdims=True).astype(np.float64) for x in (some & ~is_whole, some))
    enter(table, m.LEFT_OUT, about, shares(left_out, scored))
    share, chance, least = tail_shares(in_sets, SEED)
    family = m.family(m.TAILS, block.subset, label)
    enter(table, m.TAIL_SHARE, {**about, "group": block.groups}, share, floor=chance, p_least=least, family=family)


def _quantiles(block: Part, scores: Array) -> Estimates:
    """90th percentile of each group."""
    draws = scores.shape[1]
    cluster, group = np.repeat(block.cluster, draws), np.repeat(block.group, draws)
    return group_quantiles(scores.ravel(), cluster, group, len(block.groups))


def _add_released(
    table: EstimateTable, block: Part, released: tuple[Array, bool] | None, about: dict[str, str], name: str
) -> None:
    """The same with the scores of what refusals say; nothing where none says anything, since they are the same then."""
    if released is None:
        return
    scorer, _, label = name.partition("/")
    about = {**about, "scorer": scorer, "score": label}
    scores, unread = released
    if not np.isfinite(scores).any():
        return
    if unread:
        for measure in m.RELEASED:
            not_measurable(table, measure, about, UNREAD_REFUSALS)
        return
    means = levels(*by_cluster(block, *_totals(scores)))
    enter(table, m.SCORE_RELEASED, {**about, "group": [*block.groups, None]}, means)
    enter(table, m.SCORE_Q90_RELEASED, {**about, "group": block.groups}, _quantiles(block, scores))
    if not len(block.sets):
        return
    in_sets = block.in_sets(scores)
    ranges = summary(in_sets, SEED)
    enter(table, m.MAX_SCORE_RELEASED, about, ranges.mean, floor=_untested(ranges.floor))
    enter(table, m.MAX_SCORE_Q90_RELEASED, about, ranges.tail, floor=ranges.tail_floor)
    share, chance, _ = tail_shares(in_sets, SEED)
    enter(table, m.TAIL_SHARE_RELEASED, {**about, "group": block.groups}, share, floor=_untested(chance))


def _untested(floor: Floor) -> Floor:
    return replace(floor, p=np.full(floor.p.shape, np.nan))


def _add_audit(table: EstimateTable, scorer: str, audit: pl.DataFrame) -> None:
    """What the words for groups alone change in scores (`measures.scorer`)."""
    numbers = audit.select(pl.col("shift", "low", "high").fill_null(float("nan")), "n", "method")
    shift, low, high, n = (numbers[name].to_numpy() for name in ("shift", "low", "high", "n"))
    none = np.full(shift.shape, np.nan)
    estimates = Estimates(shift, low, high, n, n, numbers["method"].to_numpy(), none)
    labels = {"scorer": scorer, "score": audit["label"].to_list(), "group": audit["group"].to_list()}
    enter(table, m.SCORER_SHIFT, labels, estimates)


def _add_means(
    table: EstimateTable,
    block: Part,
    values: Array,
    about: Mapping[str, str],
    quantity: m.Compared,
    are_asked: npt.NDArray[np.bool_],
    limits: tuple[float, float] | None = None,
) -> Estimates:
    """Mean of each group and of all, and groups beside the others of their sets; returns the groups' means."""
    sums, counts = by_cluster(block, *_totals(values))
    means = levels(sums, counts)
    enter(table, quantity.level, {**about, "group": [*block.groups, None]}, means)
    if len(block.sets):
        add_contrasts(table, block.groups, block.in_sets(values), about, quantity, block.in_sets(are_asked), limits)
    return means.at(slice(0, len(block.groups)))


def _totals(shares: Array) -> tuple[Array, Array]:
    """Sum of each image's values, and how many there are."""
    finite = np.isfinite(shares)
    return np.where(finite, shares, 0.0).sum(axis=1), finite.sum(axis=1).astype(np.float64)


def _add_missing(
    table: EstimateTable, block: Part, gathered: Answers, prompt: int, about: Mapping[str, str], lost: Array
) -> None:
    """Replies without a valid answer, by reason and group; refusals; and numbers that were taken with a note."""
    groups = [*block.groups, None]
    enter(table, m.NA_RATE, {**about, "group": groups}, shares(*by_cluster(block, *_totals(lost))))
    for measure, kind in ((m.NA_RATE, "reason"), (m.NOTED, "note")):
        for name, code in gathered.names[kind].items():
            has = gathered.kind(block, kind, prompt, code)
            if np.nansum(has):
                enter(
                    table,
                    measure,
                    {**about, "group": groups, "reason": name},
                    shares(*by_cluster(block, *_totals(has))),
                )
    refused = gathered.kind(block, "reason", prompt, gathered.names["reason"].get(NA.REFUSED.value, -2))
    enter(table, m.REFUSAL, {**about, "group": groups}, shares(*by_cluster(block, *_totals(refused))))
    if len(block.sets):
        add_contrasts(
            table, block.groups, block.in_sets(refused), about, m.REFUSALS, np.isfinite(block.in_sets(refused))
        )


def _add_deviations(table: EstimateTable, block: Part, means: Estimates, about: Mapping[str, str]) -> None:
    none = np.full(means.value.shape, np.nan)
    method = np.full(none.shape, "no interval: a place among the means of groups", dtype=object)
    estimates = Estimates(deviations(means.value), none, none, means.n, means.clusters, method)
    enter(table, m.DEVIATION, {**about, "group": block.groups}, estimates)


def deviations(means: Array) -> Array:
    """Means of groups from the mean over groups, in SDs of theirs (n - 1): beyond 1 either way they are flagged.

    Examples
    --------
    >>> deviations(np.array([1.0, 2.0, 3.0, np.nan])).tolist()
    [-1.0, 0.0, 1.0, nan]
    """
    finite = means[np.isfinite(means)]
    if finite.size < 2 or np.ptp(finite) <= 1e-12 * np.abs(finite).max():
        return np.full(means.shape, np.nan)
    return np.asarray((means - finite.mean()) / finite.std(ddof=1))
