"""Analysis: every measure of counterfactual sets, on the aggregated answers; words of groups and of lists last."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.annotations import lexicon
from facevalue.measures.cluster_bootstrap import Array, cell_means, only_values
from facevalue.measures.definitions import Measure, takes
from facevalue.measures.estimates import EstimateTable, TableEntry
from facevalue.measures.estimators import column_shares
from facevalue.measures.intervals import SEPARATOR, IntervalKind, name_method
from facevalue.measures.majority import group_deviation
from facevalue.measures.missing_data_bounds import Replies, phi_bounds, spread_bounds
from facevalue.measures.set_ranges import TAIL_QUANTILE, range_summary, summary_bounds
from facevalue.measures.uncertainty import Bounds, Estimates
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.levels import Mean
from facevalue.statistics.scores import SumScores, estimate_sums, share_score
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
from facevalue.studies.counterfactuals.design import OPEN
from facevalue.studies.counterfactuals.parts import Part
from facevalue.studies.counterfactuals.settings import SALARY
from facevalue.studies.counterfactuals.statistics import group_quantiles, tail_shares
from facevalue.studies.counterfactuals.texts import Lists, Texts
from facevalue.studies.counterfactuals.word_association import (
    LISTED_INVERSION,
    SCORE_THRESHOLD,
    Limits,
    association_bounds,
    association_scores,
    least_scores,
    listed_limits,
    selected_limits,
    standard_errors,
)

STUDY = "counterfactuals"
QUANTILES = (0.5, 0.75, TAIL_QUANTILE, 0.95, 0.99, 1.0)
"""Of set ranges: the whole tail."""
MOST_OCCUPATIONS = 200
"""Occupations of a subset whose scores are told, those of the most sets: never chosen by their scores."""
_PLACE = name_method(IntervalKind.NONE, "a place among the means of groups")
Asked = npt.NDArray[np.bool_]
"""Mask of the values of some replies that were asked for."""
UNREAD_REFUSALS = "refused replies were not scored; run annotate again"
MOST_WORDS = 500
"""Words of a group that are listed, those of the highest scores."""
_SELECTED = name_method(IntervalKind.T, "over sets whose texts have the word, adjusted for the choice of words")
_SLACK = 1e-12
_NO_INTERVAL = name_method(IntervalKind.NONE, "one image alone, or no other, has the word")


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
        asked_blocks = [block for block in blocks if gathered.were_asked(block)]
        for block in asked_blocks:
            _add_missing(table, block, gathered)
        of_blocks = (_of_block(block, gathered, sets, longest) for block in asked_blocks)
        of_scorers = (_of_scorer(scorer, audit) for scorer, audit in (audits or {}).items())
        for row in chain(*of_blocks, of_scorers, of_words(blocks, gathered, lists, frequency, sets)):
            table.add(*row)
        tables.append(table.frame())
    return pl.concat(tables) if tables else EstimateTable(STUDY, "", m.LABELS).frame()


def _of_block(block: Part, gathered: SetAnswers, sets: int, longest: int) -> Iterator[TableEntry]:
    for at in range(len(block.prompts)):
        yield from _of_prompt(block, gathered, at, longest)
    yield from _of_occupations(block, gathered, sets)


def _of_prompt(block: Part, gathered: SetAnswers, at: int, longest: int) -> Iterator[TableEntry]:
    """All estimates of the replies to one prompt that are not of words."""
    refused = gathered.number(block, REFUSED, at)
    are_asked, about = np.isfinite(refused), {"subset": block.subset, "prompt": block.prompts[at]}
    if not are_asked.any():
        return
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


MISSING = tuple(
    Estimand(Mean(), by, scores, measure=measure.name)
    for measure, scores in ((m.NA_RATE, ("lost", "reason")), (m.NOTED, ("note",)), (m.REFUSAL, ("refused",)))
    for by in (("group",), ())
)
"""Shares of replies without a valid answer, by reason, of numbers taken with a note, and of refusals."""


@takes(m.NA_RATE, m.NOTED, m.REFUSAL)
def _add_missing(table: EstimateTable, block: Part, gathered: SetAnswers) -> None:
    """Add the shares of replies to each prompt that have no valid answer."""
    for at, prompt in enumerate(block.prompts):
        replies, about = gathered.replies(block, at), {"subset": block.subset, "prompt": prompt}
        if not replies.numbers["requests"].any():
            continue
        score_of = partial(SumScores, sums=replies, measures=m.MEASURES, n="requests")
        of_kinds = [
            score_of(share_score(kind), s=name, labels={**about, "reason": name.removeprefix(prefix)})
            for kind, prefix in COUNTED.items()
            for name, counts in replies.numbers.items()
            if name.startswith(prefix) and counts.any()
        ]
        of_all = [score_of(share_score(name), s=name, labels=about) for name in ("lost", "refused")]
        estimate_sums(table, MISSING, [*of_all, *of_kinds])


def _means(
    block: Part,
    values: Array,
    about: Mapping[str, str],
    quantity: m.GroupMeasures,
    are_asked: Asked | None,
    limits: tuple[float, float] | None = None,
) -> Iterator[TableEntry]:
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


def _scores(block: Part, scores: Array, about: Mapping[str, str], are_asked: Asked | None) -> Iterator[TableEntry]:
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


def _released_rows(block: Part, released: tuple[Array, bool] | None, about: Mapping[str, str]) -> Iterator[TableEntry]:
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


def _of_occupations(block: Part, gathered: SetAnswers, least_sets: int) -> Iterator[TableEntry]:
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
) -> Iterator[TableEntry]:
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


def _of_scorer(scorer: str, audit: pl.DataFrame) -> TableEntry:
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


def of_words(
    blocks: Sequence[Part], gathered: SetAnswers, lists: Lists, frequency: int, sets: int
) -> Iterator[TableEntry]:
    """Words of groups and of lists."""
    for block in blocks:
        if block.task == OPEN and gathered.texts.counted[id(block)].any():
            if not only_values():
                yield from _word_rows(block, gathered, frequency)
            sizes = [_about_prompt(block, gathered.texts.counted[id(block)], at) for at in range(len(block.prompts))]
            answered = [at for at, size in enumerate(sizes) if size.any()]
            for prompt in answered:
                yield from _of_lists(block, gathered, lists, prompt)
            yield from _words_of_occupations(block, gathered.texts, lists, block.told_prompt(answered), sets)


def _about_prompt(block: Part, cells: Array, prompt: int) -> Array:
    return cells.reshape(block.images, len(block.prompts))[:, prompt]


def _texts_of_groups(block: Part, gathered: SetAnswers) -> tuple[Array, Array]:
    """Texts about each group that there are, and that are missing."""
    requested = [gathered.replies(block, at).numbers["requests"] for at in range(len(block.prompts))]
    texts_of_image = gathered.texts.counted[id(block)].reshape(block.images, -1).sum(axis=1)
    counts, totals = (
        np.bincount(block.group, x, len(block.groups)).astype(np.float64)
        for x in (texts_of_image, np.sum(requested, axis=0))
    )
    return counts, np.maximum(totals - counts, 0.0)


def _word_rows(block: Part, gathered: SetAnswers, frequency: int) -> Iterator[TableEntry]:
    """Published lists of words, those that only one group's texts have, and what chance does not explain."""
    texts = gathered.texts
    tokens, words = texts.tokens(block), texts.vocabulary.words
    often = np.flatnonzero(tokens.sum(axis=0) >= frequency)
    counts, sizes = tokens[:, often], tokens.sum(axis=1)
    presence = texts.presence(block, often)
    listed, score = counts >= frequency, association_scores(counts, sizes)
    occurring = texts.occurrences(block, often)
    se = standard_errors(occurring, None if len(block.sets) else texts.images_with_text(block))
    units = np.asarray(occurring.images.sum(axis=0) if presence is None else presence.units, np.float64)
    listing = _Words(block, words.gather(often).to_list(), counts, occurring.images, units, se)
    yield from listing.rows(m.PMI, score, listed & np.isfinite(score) & (score >= SCORE_THRESHOLD - _SLACK))
    bound = least_scores(counts, sizes)
    yield from listing.rows(m.PMI_LEAST, bound, listed & np.isinf(score) & (bound >= SCORE_THRESHOLD - _SLACK))
    if presence is None:
        return
    is_masked = words.is_in(_group_words(block)).to_numpy()
    sizes = sizes - tokens[:, is_masked].sum(axis=1)
    score, bound = association_scores(counts, sizes), least_scores(counts, sizes)
    score = np.where(np.isinf(score), bound, score)
    movable = presence.images.sum(axis=0) - presence.everywhere * len(block.groups)
    tests = np.broadcast_to((movable >= frequency) & ~is_masked[often], score.shape)
    chosen = _highest(score, tests & listed & (score >= SCORE_THRESHOLD - _SLACK))
    if chosen.any():
        tested = listed_limits(presence, chosen, int(tests.sum()))
        bounds = association_bounds(score, counts, sizes, occurring.images, _texts_of_groups(block, gathered))
        yield from listing.rows(m.PMI_STRICT, score, chosen, tested, bounds)


def _highest(score: Array, listed: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The words of each group with the highest scores."""
    order = np.argsort(np.where(listed, -score, np.inf), axis=1, kind="stable")[:, :MOST_WORDS]
    out = np.zeros_like(listed)
    np.put_along_axis(out, order, True, axis=1)
    return out & listed


@dataclass(frozen=True)
class _Words:
    """Words of a subset with their counts, images that have them and standard errors by group, to be listed."""

    block: Part
    words: list[str]
    counts: Array
    images: Array
    units: Array
    se: Array

    def rows(
        self,
        measure: Measure,
        score: Array,
        listed: npt.NDArray[np.bool_],
        tested: Limits | None = None,
        bounds: Bounds | None = None,
    ) -> Iterator[TableEntry]:
        """The words of each group with the highest scores, with limits and p-values of their test if there is one.

        Scores count mentions, and the test images that have a word: an interval holds its score.
        """
        at = group, word = np.nonzero(_highest(score, listed))
        if not group.size:
            return
        value, se, p, family = score[at], self.se[at], None, None
        if tested is None:
            method = np.where(np.isfinite(se), _SELECTED, _NO_INTERVAL).astype(object)
            low, high = selected_limits(value, se, self.units[word] - 1.0, self.counts.size)
        else:
            low, high = np.fmin(tested.low[at], value), np.fmax(tested.high[at], value)
            method = np.full(value.shape, LISTED_INVERSION, dtype=object)
            p, family = tested.p[at], m.family(m.ASSOCIATED, self.block.subset)
        n, clusters = (count[at].astype(np.int64) for count in (self.counts, self.images))
        estimates = Estimates(value, low, high, n, clusters, method, se)
        groups, words = [self.block.groups[x] for x in group], [self.words[x] for x in word]
        labels = {"subset": self.block.subset, "group": groups, "word": words}
        yield measure, labels, replace(estimates, bounds=bounds and bounds.select_rows(at), p=p), family


def _group_words(block: Part) -> list[str]:
    """Words that name groups."""
    group_words = [word for group in block.groups for word in group.lower().split()]
    words = [*group_words, *(half for word in group_words for half in word.split("-"))]  # "dark-skinned", and "dark"
    return [*words, *(word for listed in lexicon.shipped_lexicon("group_words").lists.values() for word in listed)]


def _of_lists(block: Part, gathered: SetAnswers, lists: Lists, prompt: int) -> Iterator[TableEntry]:
    """Words of each list: share of a text's words, and how many, by group; and each group beside the others."""
    about = {"subset": block.subset, "prompt": block.prompts[prompt]}
    size = _about_prompt(block, gathered.texts.counted[id(block)], prompt)
    cells = [_about_prompt(block, hits, prompt) for hits in _cells(block, gathered.texts)]
    for (measure, name), hits in zip(product((m.WORD_SHARE, m.WORD_COUNT), lists.names), cells, strict=True):
        labels, means = add_group_levels(block.by_image({"s": hits, "n": size}).with_total("group"), ("group",))
        yield measure, {**about, "word_list": name, **labels}, means, None
    if len(block.sets):
        requested = gathered.replies(block, prompt).numbers["requests"]
        reply = np.arange(int(requested.max()))  # a picture's replies all have its mean share: sets are what vary
        answered, expected = (block.in_sets(reply < many[:, None]) for many in (size, requested))
        for name, hits in zip(lists.names, cells, strict=False):
            share = np.where(answered, block.in_sets(cell_means(hits, size)[:, None]), np.nan)
            yield from group_contrasts(block.groups, share, {**about, "word_list": name}, m.WORDS, expected)


def _cells(block: Part, texts: Texts) -> list[Array]:
    """Sums of shares of each list by image and prompt, then of distinct words."""
    return [*texts.shares[id(block)], *texts.distinct[id(block)]]


def _words_of_occupations(block: Part, texts: Texts, lists: Lists, prompt: int, sets: int) -> Iterator[TableEntry]:
    """The same by occupation, for those of enough sets; and which group has the fewest, over occupations."""
    size = _about_prompt(block, texts.counted[id(block)], prompt)
    is_whole = (size[block.sets] > 0).all(axis=1)
    occupation = np.where(is_whole, block.set_occupation, -1)
    enough = np.flatnonzero(np.bincount(occupation[occupation >= 0], minlength=len(block.occupations)) >= sets)
    rates = [cell_means(_about_prompt(block, cells, prompt), size) for cells in _cells(block, texts)]
    measures = list(product((m.WORD_SHARE, m.WORD_COUNT), lists.names))
    fewest: dict[str, list[Array]] = {name: [] for name in lists.names}
    about = {"subset": block.subset, "prompt": block.prompts[prompt], "group": block.groups}
    for number in enough:
        images = block.sets[occupation == number]
        for (measure, name), rate in zip(measures, rates, strict=True):
            means = group_levels(rate[images], np.ones(images.shape), SEED)
            labels = {**about, "occupation": block.occupations[number], "word_list": name}
            yield measure, labels, means, None
            if measure is m.WORD_SHARE:
                least_of = means.value <= means.value.min() + _SLACK
                fewest[name].append(least_of / least_of.sum())
    for name, shared in fewest.items() if enough.size else ():
        parts = np.array(shared)
        yield m.FEWEST, {**about, "word_list": name}, column_shares(parts, np.ones_like(parts)), None
