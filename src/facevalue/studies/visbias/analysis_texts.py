"""Estimates of descriptions: lengths, sentiment, words of lists, and words that mark a group."""

from collections.abc import Mapping
from functools import cache

import numpy as np
import polars as pl

from facevalue.annotations.group_lists import folded, is_own
from facevalue.annotations.text_statistics import PUBLISHED
from facevalue.measures.cluster_bootstrap import only_values
from facevalue.measures.definitions import Measure, takes
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.group_shares import GROUP, PERSON, UNIT, Dimension, dimensions
from facevalue.measures.word_rates import WORD_LIST
from facevalue.protocol.marked_estimates import MarkedWords
from facevalue.protocol.text_estimates import TextEstimates
from facevalue.studies.visbias import measures as m
from facevalue.studies.visbias.aggregate import TEXT, TaskAnswers
from facevalue.studies.visbias.design import SPECIES
from facevalue.studies.visbias.tables import genders, races

UNMARKED = {"race": "white", "gender": "male", "skin_tone": "light"}
"""The unmarked group of a dimension (section 3.3); of others, that of most images. For skin tones it is our choice."""
MARKED = MarkedWords(TEXT, m.MARKED, m.MARKED_Z, m.MARKED_PUBLISHED, UNMARKED)
_LENGTHS = {m.CHARACTERS: "characters", m.TOKENS: "tokens"}
_SCORES = {m.POSITIVE: "pos", m.NEGATIVE: "neg"}
_PUBLISHED = {"pos": m.POSITIVE_PUBLISHED, "neg": m.NEGATIVE_PUBLISHED}


def add_texts(table: EstimateTable, aggregate: TaskAnswers) -> None:
    """Add lengths, sentiment and rates of words, over all, in each group and between groups; and marked words."""
    rows = aggregate.part("texts")
    if rows.is_empty():
        return
    everyone = rows.with_columns(pl.lit("").alias(GROUP), pl.col(PERSON).alias(UNIT))
    _add_levels(TextEstimates(table, TEXT, None, everyone), aggregate)
    for dimension in dimensions(aggregate.setting.groups, alone=(SPECIES,)):
        of_dimension = dimension.of(rows)
        if of_dimension.height:
            texts = TextEstimates(table, TEXT, dimension, of_dimension)
            _add_levels(texts, aggregate)
            _add_differences(texts, aggregate)
            _add_joined(texts, dimension, aggregate)
            if len(dimension.factors) == 1:
                _add_own_words(texts, aggregate)
    words = aggregate.words()
    for name in aggregate.setting.groups:
        if name in words.images.columns:
            MARKED.add(table, words, Dimension((name,)))


def _plain(aggregate: TaskAnswers) -> Mapping[Measure, str]:
    return _LENGTHS if aggregate.why_no_scores is not None else _LENGTHS | _SCORES


@takes(*_LENGTHS, *_SCORES, m.WORDS)
def _add_levels(texts: TextEstimates, aggregate: TaskAnswers) -> None:
    for measure, column in _plain(aggregate).items():
        texts.level(measure, column)
    if aggregate.why_no_scores is not None:
        for measure in _SCORES:
            texts.nothing(measure, aggregate.why_no_scores)
    for listed in aggregate.lists:
        texts.add(m.WORDS, texts.rates(listed))


@takes(*m.GAPS.values())
def _add_differences(texts: TextEstimates, aggregate: TaskAnswers) -> None:
    several = texts.rows[GROUP].n_unique() > 1
    for measure, column in _plain(aggregate).items():
        if several:
            texts.difference(m.GAPS[measure], column, None if measure.unbounded else measure.limits)
        else:
            texts.nothing(m.GAPS[measure], "only one group was described")
    for listed in aggregate.lists if several else ():
        whose = "" if listed is aggregate.ours else ", yours"
        texts.rate_differences(m.GAPS[m.WORDS], listed, whose, aggregate.setting.longest)


@takes(*_PUBLISHED.values())
def _add_joined(texts: TextEstimates, dimension: Dimension, aggregate: TaskAnswers) -> None:
    """Sentiment of all texts of a group joined into one, as in Table 7."""
    if aggregate.why_no_scores is not None or only_values():
        return  # they have no interval, so nothing is asked of them without some of the clusters
    if aggregate.has_all_texts:
        texts.joined(_PUBLISHED, dimension.of(aggregate.part("said")), TEXT)
        return
    for measure in _PUBLISHED.values():
        texts.nothing(measure, "all texts of a group are needed at once, and these are too many")


@takes(m.WORDS_PUBLISHED)
def _add_own_words(texts: TextEstimates, aggregate: TaskAnswers) -> None:
    """Each group's own words, where the user gave lists: Table 8 has no other words, and no crossed groups."""
    if aggregate.theirs is None:
        return
    labels, rates = texts.rates(aggregate.theirs, PUBLISHED)
    pairs = zip(labels[GROUP], labels[WORD_LIST], strict=True)
    of_group = [at for at, (group, name) in enumerate(pairs) if is_own(str(group), str(name), _spellings())]
    if of_group:
        picked = {label: [levels[at] for at in of_group] for label, levels in labels.items()}
        texts.add(m.WORDS_PUBLISHED, (picked, rates.at(np.array(of_group))))
    else:
        texts.nothing(m.WORDS_PUBLISHED, "no list is called as one of these groups is")


@cache
def _spellings() -> Mapping[str, str]:
    return {folded(spelling): level.name for level in (*races(), *genders()) for spelling in level.spellings}
