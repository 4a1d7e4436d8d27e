"""Analysis: every measure of counterfactual sets, on the aggregated answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import Sums, column_shares
from facevalue.measures.intervals import SEPARATOR, IntervalKind, name_method
from facevalue.measures.majority import group_deviation
from facevalue.measures.missing_data_bounds import Replies, phi_bounds, spread_bounds
from facevalue.measures.set_ranges import TAIL_QUANTILE, range_summary, summary_bounds
from facevalue.measures.uncertainty import Bounds, Estimates
from facevalue.protocol.estimands import Row, SumEstimand, estimate_rows
from facevalue.studies.counterfactuals import measures as m
from facevalue.studies.counterfactuals.aggregate import (
    COUNTED,
    REFUSED,
    SCORE,
    SEED,
    VALUE,
    WORDS,
    SetAnswers,
    add_group_levels,
    group_contrasts,
    group_levels,
)
from facevalue.studies.counterfactuals.analysis_words import of_words
from facevalue.studies.counterfactuals.design import OPEN
from facevalue.studies.counterfactuals.parts import Part
from facevalue.studies.counterfactuals.set_tails import group_quantiles, tail_shares
from facevalue.studies.counterfactuals.settings import SALARY
from facevalue.studies.counterfactuals.texts import Lists

STUDY = "counterfactuals"
QUANTILES = (0.5, 0.75, TAIL_QUANTILE, 0.95, 0.99, 1.0)
"""Of set ranges: the whole tail."""
MOST_OCCUPATIONS = 200
"""Occupations of a subset whose scores are told, those of the most sets: never chosen by their scores."""
_PLACE = name_method(IntervalKind.NONE, "a place among the means of groups")
Asked = npt.NDArray[np.bool_]
"""Mask of the values of some replies that were asked for."""
UNREAD_REFUSALS = "refused replies were not scored; run annotate again"


def estimates(
    answers: Mapping[str, Iterator[pl.DataFrame]],
    blocks: Sequence[Part],
    lists: Lists,
    frequency: int = 10,
    sets: int = 35,
    audits: Mapping[str, pl.DataFrame] | None = None,
    longest: int = 512,
) -> pl.DataFrame:
    """Estimate everything, from the answers of each model in chunks, and the audits of scorers by name.

    `frequency`, `sets`: how often a group's texts have a word, and how many sets an occupation has, before it is told.
    `longest`: the most words that a reply can have: no more than tokens were allowed.
    """
    tables = []
    for model, chunks in answers.items():
        gathered = SetAnswers(blocks, chunks, lists)
        table = EstimateTable(STUDY, model, m.LABELS)
        of_blocks = (_of_block(block, gathered, sets, longest) for block in blocks if gathered.were_asked(block))
        of_scorers = (_of_scorer(scorer, audit) for scorer, audit in (audits or {}).items())
        for row in chain(*of_blocks, of_scorers, of_words(blocks, gathered, lists, frequency, sets)):
            table.add(*row)
        tables.append(table.frame())
    return pl.concat(tables) if tables else EstimateTable(STUDY, "", m.LABELS).frame()


def _of_block(block: Part, gathered: SetAnswers, sets: int, longest: int) -> Iterator[Row]:
    for at in range(len(block.prompts)):
        yield from _of_prompt(block, gathered, at, longest)
    yield from _of_occupations(block, gathered, sets)


def _of_prompt(block: Part, gathered: SetAnswers, at: int, longest: int) -> Iterator[Row]:
    """All estimates of the replies to one prompt that are not of words."""
    refused = gathered.number(block, REFUSED, at)
    are_asked, about = np.isfinite(refused), {"subset": block.subset, "prompt": block.prompts[at]}
    if not are_asked.any():
        return
    replies = gathered.replies(block, at)
    yield from estimate_rows(missing(replies), {"replies": replies}, about)
    if len(block.sets):
        yield from group_contrasts(block.groups, block.in_sets(refused), about, m.REFUSALS, block.in_sets(are_asked))
    if block.task == OPEN:
        words = gathered.number(block, WORDS, at)
        limits = 0.0, max(float(longest), np.nanmax(words, initial=0.0))
        yield from _means(block, words, about, m.LENGTHS, are_asked, limits)
        for name in gathered.scores:
            scorer, _, label = name.partition("/")
            labels = {**about, "scorer": scorer, "score": label}
            yield from _scores(block, gathered.number(block, f"{SCORE}{name}", at), labels, are_asked)
            yield from _released_rows(block, gathered.released_scores(block, name, at), labels)
    else:
        quantity = m.SALARIES if block.prompts[at] == SALARY else m.RATINGS
        yield from _means(block, gathered.number(block, VALUE, at), about, quantity, are_asked)


def missing(replies: Sums) -> list[SumEstimand]:
    """Shares of replies without a valid answer, by reason and group, of refusals, and of numbers taken with a note."""
    share = partial(SumEstimand, of="replies", by=("group",), n="requests", total="group")
    by_reason = [
        share(measure, s=name, constant={"reason": name.removeprefix(COUNTED[kind])})
        for measure, kind in ((m.NA_RATE, "reason"), (m.NOTED, "note"))
        for name, counts in replies.numbers.items()
        if name.startswith(COUNTED[kind]) and counts.any()
    ]
    return [share(m.NA_RATE, s="lost"), *by_reason, share(m.REFUSAL, s="refused")]


def _means(
    block: Part,
    values: Array,
    about: Mapping[str, str],
    quantity: m.GroupMeasures,
    are_asked: Asked | None,
    limits: tuple[float, float] | None = None,
) -> Iterator[Row]:
    """Mean of each group and of all; unless it is None what was asked, groups beside the others of their sets."""
    finite = np.isfinite(values)
    sums = {"s": np.where(finite, values, 0.0).sum(axis=1), "n": finite.sum(axis=1).astype(np.float64)}
    labels, means = add_group_levels(block.by_image(sums).with_total("group"), ("group",))
    yield quantity.level, {**about, **labels}, means, None
    if len(block.sets) and are_asked is not None:
        yield from group_contrasts(
            block.groups, block.in_sets(values), about, quantity, block.in_sets(are_asked), limits
        )
    if quantity in (m.RATINGS, m.SALARIES):
        of_groups = means.at(slice(0, len(block.groups)))
        places = Estimates.without_intervals(deviations(of_groups.value), of_groups.n, of_groups.clusters, _PLACE)
        yield m.DEVIATIONS[quantity.level.score], {**about, "group": block.groups}, places, None


def _scores(block: Part, scores: Array, about: Mapping[str, str], are_asked: Asked | None) -> Iterator[Row]:
    """Scores of texts: by group, and ranges within sets with who has the largest; see `_means`."""
    if not np.isfinite(scores).any():
        return
    yield from _means(block, scores, about, m.SCORES, are_asked)
    labels = {**about, "group": block.groups}
    draws = scores.shape[1]
    cluster, group = np.repeat(block.cluster, draws), np.repeat(block.group, draws)
    yield m.SCORE_Q90, labels, group_quantiles(scores.ravel(), cluster, group, len(block.groups)), None
    if not len(block.sets):
        return
    in_sets = block.in_sets(scores)
    ranges = range_summary(in_sets, SEED, QUANTILES)
    bounds = tail_bounds = None
    if are_asked is not None:
        bounds, tail_bounds = summary_bounds(in_sets, block.in_sets(are_asked), m.score_limits(scores), QUANTILES)
    yield m.MAX_SCORE, about, replace(ranges.mean, bounds=bounds), m.family(m.RANGES, about["score"])
    tail, q90 = replace(ranges.tail, bounds=tail_bounds), QUANTILES.index(TAIL_QUANTILE)
    yield m.MAX_SCORE_Q90, about, tail.at(slice(q90, q90 + 1)), None
    yield m.MAX_SCORE_QUANTILE, {**about, "quantile": [f"{100 * quantile:g}" for quantile in QUANTILES]}, tail, None
    is_whole, some = np.isfinite(in_sets).all(axis=1), np.isfinite(in_sets).any(axis=1)
    left_out, scored = (x.sum(axis=1, keepdims=True).astype(np.float64) for x in (some & ~is_whole, some))
    yield m.LEFT_OUT, about, column_shares(left_out, scored), None
    share, chance, p_least = tail_shares(in_sets, SEED)
    family = m.family(m.TAILS, block.subset, about["score"])
    yield m.TAIL_SHARE, labels, replace(share, p_least=p_least, floor=chance), family


def _released_rows(block: Part, released: tuple[Array, bool] | None, about: Mapping[str, str]) -> Iterator[Row]:
    """The same with the scores of what refusals say; nothing where none says anything, since they are the same then."""
    if released is None:
        return
    scores, unread = released
    if unread and np.isfinite(scores).any():
        for measure in m.RELEASED.values():
            yield measure, about, Estimates.make_unmeasured(UNREAD_REFUSALS), None
        return
    for measure, labels, inference, _ in _scores(block, scores, about, None):
        if measure in m.RELEASED:
            yield m.RELEASED[measure], labels, inference.without_tests(), None


def _of_occupations(block: Part, gathered: SetAnswers, least_sets: int) -> Iterator[Row]:
    """Each score of each group in each occupation of enough sets, and the spread between groups there.

    Nothing is tested: occupations are told, and groups are judged over all of them together.
    """
    requested = [np.isfinite(gathered.number(block, REFUSED, at)) for at in range(len(block.prompts))]
    answered = [at for at, replies in enumerate(requested) if replies.any()]
    if block.task != OPEN or not len(block.sets) or not answered:
        return
    prompt = block.told_prompt(answered)
    for name in gathered.scores:
        scores = block.in_sets(gathered.number(block, f"{SCORE}{name}", prompt))
        scorer, _, label = name.partition("/")
        about = {"subset": block.subset, "prompt": block.prompts[prompt], "scorer": scorer, "score": label}
        yield from _of_scores_by_occupation(block, scores, block.in_sets(requested[prompt]), about, least_sets)


def _of_scores_by_occupation(
    block: Part, scores: Array, are_asked: npt.NDArray[np.bool_], about: Mapping[str, str], least_sets: int
) -> Iterator[Row]:
    comparable = np.isfinite(scores).any(axis=2).sum(axis=1) > 1
    occupation = np.where(comparable, block.set_occupation, -1)
    sizes = np.bincount(occupation[occupation >= 0], minlength=len(block.occupations))
    order = np.argsort(-sizes, kind="stable")[:MOST_OCCUPATIONS]
    reported = order[sizes[order] >= least_sets]
    if not reported.size:
        return
    low, high = m.score_limits(scores) or (float(np.nanmin(scores)), float(np.nanmax(scores)))
    limits = low, max(high, float(np.nextafter(low, np.inf)))  # all scores may be one
    spreads, bounds = [], []
    for number in reported:
        of_occupation = block.set_occupation == number  # sets without any score are missing, too
        values, answered = scores[of_occupation], np.isfinite(scores[of_occupation])
        counts = (count.sum(axis=2).astype(np.float64) for count in (answered, are_asked[of_occupation] | answered))
        replies = Replies(np.where(answered, values, 0.0).sum(axis=2), *counts)
        bounds.append(phi_bounds(replies, limits))
        means = replace(group_levels(replies.sums, replies.valid, SEED), bounds=bounds[-1])
        labels = {**about, "occupation": block.occupations[number], "group": block.groups}
        yield m.SCORE_BY_OCCUPATION, labels, means, None
        spreads.append(group_deviation(values))
    spread, of_groups = Estimates.concatenate(spreads), Bounds.concatenate(bounds)
    ends = spread_bounds(
        [of_groups.select_rows(slice(group, None, len(block.groups))) for group in range(len(block.groups))]
    )
    value = spread.value
    ends.low[:], ends.high[:] = np.fmin(ends.low, value), np.fmax(ends.high, value)
    occupations = [block.occupations[number] for number in reported]
    yield (
        m.SPREAD_BY_OCCUPATION,
        {**about, "occupation": occupations},
        replace(spread.without_tests(), bounds=ends),
        None,
    )


def _of_scorer(scorer: str, audit: pl.DataFrame) -> Row:
    """Estimates of a scorer's shifts by the group words alone (`measures.judges`)."""
    method = pl.concat_str("method", "detail", separator=SEPARATOR)
    numbers = audit.select(pl.col("shift", "low", "high").fill_null(float("nan")), "n", method)
    shift, low, high, n = (numbers[name].to_numpy() for name in ("shift", "low", "high", "n"))
    none = np.full(shift.shape, np.nan)
    estimates = Estimates(shift, low, high, n, n, numbers["method"].to_numpy(), none)
    labels = {"scorer": scorer, "score": audit["label"].to_list(), "group": audit["group"].to_list()}
    return m.SCORER_SHIFT, labels, estimates, None


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
