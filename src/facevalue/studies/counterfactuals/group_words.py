"""Statistics of words: words of groups, by texts of their images, and words of lists, by group and occupation."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, product

import numpy as np
import numpy.typing as npt

from facevalue.annotations import lexicon
from facevalue.measures.cluster_bootstrap import Array, cell_means, only_values
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import column_shares
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.uncertainty import Bounds, Estimates
from facevalue.statistics.answer_arrays import NOT_ASKED
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.scores import ModelScores
from facevalue.studies.counterfactuals import measures as m
from facevalue.studies.counterfactuals.formulas import group_levels
from facevalue.studies.counterfactuals.statistics import (
    BY_OCCUPATION,
    SEED,
    Mask,
    Row,
    SetStatistic,
    Subset,
    SubsetCell,
    contrast_rows,
    mean_rows,
)
from facevalue.studies.counterfactuals.texts import SubsetTexts, TextWords
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

MOST_WORDS = 500
"""Words of a group that are listed, those of the highest scores."""
_SELECTED = name_method(IntervalKind.T, "over sets whose texts have the word, adjusted for the choice of words")
_SLACK = 1e-12
_NO_INTERVAL = name_method(IntervalKind.NONE, "one image alone, or no other, has the word")


@dataclass(frozen=True, kw_only=True)
class TextStatistic(SetStatistic):
    """Words of groups and words of lists, in the texts of each subset that has any.

    Attributes
    ----------
    words:
        Words that are counted.
    frequency:
        How often a group's texts have a word before it is ranked.
    fewest:
        Sets of an occupation from which it is told.
    """

    words: TextWords
    frequency: int
    fewest: int

    kind = "text_words"
    says_difference = True

    @property
    def families(self) -> Mapping[str, str]:
        """Words that chance does not explain, and contrasts of lists with groups that are alike."""
        lists = m.family(m.GROUP_WORDS, "{subset}", "{word_list}", "{prompt}")
        return {m.PMI_STRICT.key: m.family(m.ASSOCIATED, "{subset}"), m.WORDS.gap.key: lists}

    @property
    def paper_measures(self) -> tuple[Measure, ...]:
        """Scores of words; share and number of words of lists, contrasts of the share, and who has the fewest."""
        of_lists = (m.WORD_SHARE, m.WORD_COUNT, m.WORDS.gap, m.WORDS.from_mean, m.WORDS.apart, m.FEWEST)
        return (m.PMI, m.PMI_LEAST, m.PMI_STRICT, *of_lists)

    @property
    def collector(self) -> TextWords:
        """Words, which it needs beside scores."""
        return self.words

    def estimate(self, table: EstimateTable, estimand: Estimand, model: ModelScores) -> None:
        """Add the estimates of each subset with a text."""
        if model.answers is None:
            return
        requests = (model.answers.reasons != NOT_ASKED).sum(axis=2).astype(np.float64)
        for texts in model.collected[self.words].subsets:
            if texts.counted.any():
                of_subset = requests[texts.subset.rows]
                by_prompt = self._prompt_rows(texts, of_subset, model), self._occupation_rows(texts, model)
                for row in chain(self._ranked_rows(texts, of_subset), *by_prompt):
                    self.add(table, estimand, model, row)

    def _ranked_rows(self, texts: SubsetTexts, requests: Array) -> Iterator[Row]:
        """Published words of each group, those that only its texts have, and what chance does not explain."""
        if only_values():
            return
        subset, tokens, words = texts.subset, texts.tokens, texts.words
        often = np.flatnonzero(tokens.sum(axis=0) >= self.frequency)
        counts, sizes = tokens[:, often], tokens.sum(axis=1)
        presence, occurring = texts.presence(often), texts.occurrences(often)
        listed, score = counts >= self.frequency, association_scores(counts, sizes)
        se = standard_errors(occurring, None if len(subset.sets) else texts.images_with_text)
        units = np.asarray(occurring.images.sum(axis=0) if presence is None else presence.units, np.float64)
        names = words.gather(often).to_list()

        def rows(
            measure: Measure, score: Array, listed: Mask, tested: Limits | None = None, bounds: Bounds | None = None
        ) -> Iterator[Row]:
            """The words of each group with the highest scores, with limits and p-values of their test if there is one.

            Scores count mentions, and the test images that have a word: an interval holds its score.
            """
            at = group, word = np.nonzero(_highest(score, listed))
            if not group.size:
                return
            value, error, p = score[at], se[at], None
            if tested is None:
                method = np.where(np.isfinite(error), _SELECTED, _NO_INTERVAL).astype(object)
                low, high = selected_limits(value, error, units[word] - 1.0, counts.size)
            else:
                low, high = np.fmin(tested[0][at], value), np.fmax(tested[1][at], value)
                method = np.full(value.shape, LISTED_INVERSION, dtype=object)
                p = tested[2][at]
            n, clusters = (count[at].astype(np.int64) for count in (counts, occurring.images))
            estimates = Estimates(value, low, high, n, clusters, method, error)
            groups = [subset.groups[x] for x in group]
            labels = {**subset.labels, "group": groups, "word": [names[x] for x in word]}
            yield measure, labels, replace(estimates, bounds=bounds and bounds.select_rows(at), p=p)

        yield from rows(m.PMI, score, listed & np.isfinite(score) & (score >= SCORE_THRESHOLD - _SLACK))
        bound = least_scores(counts, sizes)
        yield from rows(m.PMI_LEAST, bound, listed & np.isinf(score) & (bound >= SCORE_THRESHOLD - _SLACK))
        if presence is None:
            return
        is_masked = words.is_in(_group_words(subset)).to_numpy()
        sizes = sizes - tokens[:, is_masked].sum(axis=1)
        score, bound = association_scores(counts, sizes), least_scores(counts, sizes)
        score = np.where(np.isinf(score), bound, score)
        movable = presence.images.sum(axis=0) - presence.everywhere * len(subset.groups)
        tests = np.broadcast_to((movable >= self.frequency) & ~is_masked[often], score.shape)
        chosen = _highest(score, tests & listed & (score >= SCORE_THRESHOLD - _SLACK))
        if chosen.any():
            tested = listed_limits(presence, chosen, int(tests.sum()))
            of_groups = _texts_of_groups(texts, requests)
            bounds = association_bounds(score, counts, sizes, occurring.images, of_groups)
            yield from rows(m.PMI_STRICT, score, chosen, tested, bounds)

    def _prompt_rows(self, texts: SubsetTexts, requests: Array, model: ModelScores) -> Iterator[Row]:
        """Words of the lists in replies to each prompt."""
        subset, prompts = texts.subset, model.breakdown.levels("prompt")
        for prompt in _answered_prompts(texts):
            about = {**subset.labels, "prompt": prompts[prompt]}
            size = texts.about_prompt(texts.counted, prompt)
            cells = [texts.about_prompt(hits, prompt) for hits in (*texts.shares, *texts.distinct)]
            listings = list(product((m.WORD_SHARE, m.WORD_COUNT), self.words.names))
            for (measure, name), hits in zip(listings, cells, strict=True):
                labels = {**about, "word_list": name}
                yield measure, *mean_rows(labels, subset, subset.by_unit(hits), subset.by_unit(size))
            if not len(subset.sets):
                continue
            requested = requests[:, prompt]
            reply = np.arange(int(requested.max()))  # a picture's replies all have its mean share: sets are what vary
            answered, expected = (reply < many[:, None] for many in (size, requested))
            for (_, name), hits in zip(listings[: len(texts.shares)], cells, strict=False):
                share = np.where(answered, cell_means(hits, size)[:, None], np.nan)
                cell = SubsetCell(subset, {**about, "word_list": name}, share, expected)
                limits = m.WORD_SHARE.limits
                yield from contrast_rows(m.WORDS, cell, cell.in_sets, cell.requests_in_sets, limits)

    def _occupation_rows(self, texts: SubsetTexts, model: ModelScores) -> Iterator[Row]:
        """Words by occupation, for those of enough sets; and which group has the fewest, over occupations."""
        subset, prompts = texts.subset, model.breakdown.levels("prompt")
        answered = _answered_prompts(texts)
        prompt = next((at for at in answered if prompts[at] == BY_OCCUPATION), answered[0])
        size = texts.about_prompt(texts.counted, prompt)
        occupations, of_sets = subset.occupations
        occupation = np.where((size[subset.sets] > 0).all(axis=1), of_sets, -1)
        enough = np.flatnonzero(np.bincount(occupation[occupation >= 0], minlength=len(occupations)) >= self.fewest)
        rates = [cell_means(texts.about_prompt(hits, prompt), size) for hits in (*texts.shares, *texts.distinct)]
        listings = list(product((m.WORD_SHARE, m.WORD_COUNT), self.words.names))
        fewest: dict[str, list[Array]] = {name: [] for name in self.words.names}
        about = {**subset.labels, "prompt": prompts[prompt], "group": subset.groups}
        for number in enough:
            images = subset.sets[occupation == number]
            for (measure, name), rate in zip(listings, rates, strict=True):
                means = group_levels(rate[images], np.ones(images.shape), SEED)
                yield measure, {**about, "occupation": occupations[number], "word_list": name}, means
                if measure is m.WORD_SHARE:
                    least_of = means.value <= means.value.min() + _SLACK
                    fewest[name].append(least_of / least_of.sum())
        for name, shared in fewest.items() if enough.size else ():
            fractions = np.array(shared)
            yield m.FEWEST, {**about, "word_list": name}, column_shares(fractions, np.ones_like(fractions))


def _answered_prompts(texts: SubsetTexts) -> list[int]:
    """Places of the prompts that have a text."""
    return [at for at in range(texts.prompts) if texts.about_prompt(texts.counted, at).any()]


def _texts_of_groups(texts: SubsetTexts, requests: Array) -> tuple[Array, Array]:
    """Texts about each group that there are, and that are missing."""
    subset = texts.subset
    counts, totals = (
        np.bincount(subset.group, of_images, len(subset.groups)).astype(np.float64)
        for of_images in (texts.texts_of_images, requests.sum(axis=1))
    )
    return counts, np.maximum(totals - counts, 0.0)


def _highest(score: Array, listed: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The words of each group with the highest scores."""
    order = np.argsort(np.where(listed, -score, np.inf), axis=1, kind="stable")[:, :MOST_WORDS]
    out = np.zeros_like(listed)
    np.put_along_axis(out, order, True, axis=1)
    return out & listed


def _group_words(subset: Subset) -> list[str]:
    """Words that name groups."""
    group_words = [word for group in subset.groups for word in group.lower().split()]
    words = [*group_words, *(half for word in group_words for half in word.split("-"))]  # "dark-skinned", and "dark"
    return [*words, *(word for listed in lexicon.shipped_lexicon("group_words").lists.values() for word in listed)]
