"""Estimates of descriptions: lengths, sentiment, words of lists, and words that mark a group."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from facevalue.annotate import lexicon, sentiment
from facevalue.annotate.counts import WordCounts
from facevalue.annotate.group_lists import folded, is_own
from facevalue.annotate.lexicon import Lexicon
from facevalue.annotate.text_statistics import ALL_WORDS, OURS, PUBLISHED, SCORES
from facevalue.errors import UnknownNameError
from facevalue.measures import marked_words, word_odds, word_rates
from facevalue.measures.base import Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.group_dimensions import GROUP, PERSON, UNIT, Dimension, dimensions
from facevalue.measures.multiple_testing import adjust
from facevalue.measures.table_entries import enter, estimates, not_measurable, to_array, values
from facevalue.studies.visbias import measures as m
from facevalue.studies.visbias.aggregate import SEED, TEXT, Aggregate, WordTables
from facevalue.studies.visbias.design import SPECIES
from facevalue.studies.visbias.tables import genders, races

UNMARKED = {"race": "white", "gender": "male", "skin_tone": "light"}
"""The unmarked group of a dimension (section 3.3); of others, that of most images. For skin tones it is our choice."""
_PUBLISHED = {"pos": m.POSITIVE_PUBLISHED, "neg": m.NEGATIVE_PUBLISHED}
_GENDERS = {"female": ("woman", "women"), "male": ("man", "men")}


def add_texts(table: EstimateTable, gathered: Aggregate) -> None:
    """Add lengths, sentiment and rates of words, over all, in each group and between groups; and marked words."""
    rows = gathered.part("texts")
    if rows.is_empty():
        return
    everyone = rows.with_columns(pl.lit("").alias(GROUP), pl.col(PERSON).alias(UNIT))
    _Texts(table, gathered, None, everyone).levels()
    for one in dimensions(gathered.asked.groups, alone=(SPECIES,)):
        mine = one.of(rows)
        if mine.height:
            part = _Texts(table, gathered, one, mine)
            part.levels()
            part.differences()
            part.published()
            part.published_words()
    words = gathered.words()
    for name in gathered.asked.groups:
        if name in words.images.columns:
            _add_marked(table, words, Dimension((name,)))


class _Texts:
    """Estimates of one dimension, or of everyone."""

    def __init__(self, table: EstimateTable, gathered: Aggregate, one: Dimension | None, rows: pl.DataFrame) -> None:
        self._table, self._gathered, self._one, self._rows = table, gathered, one, rows
        self._label: dict[str, str | None] = {"task": TEXT, "dimension": None if one is None else one.name}
        self._plain: list[tuple[Measure, str]] = [(m.CHARACTERS, "characters"), (m.TOKENS, "tokens")]
        if gathered.why_no_scores is None:
            self._plain += [(m.POSITIVE, "pos"), (m.NEGATIVE, "neg")]

    def levels(self) -> None:
        """Lengths, sentiment and rates of each group."""
        for measure, column in self._plain:
            self._add(measure, word_rates.by_group(self._rows, [column], GROUP, UNIT, seed=SEED))
        why = self._gathered.why_no_scores
        if why is not None:
            for measure in (m.POSITIVE, m.NEGATIVE):
                self._nothing(measure, why)
        for listed in self._gathered.lists:
            self._add(m.WORDS, word_rates.by_group(self._rows, *self._words(listed, OURS), **_per(OURS)), OURS)

    def differences(self) -> None:
        """One group less another, for each two."""
        several = self._rows[GROUP].n_unique() > 1
        for measure, column in self._plain:
            between = m.DIFFERENCES[measure.name]
            if several:
                found = word_rates.differences(self._rows, [column], GROUP, UNIT, seed=SEED)
                self._between(between, found)
            else:
                self._nothing(between, "only one group was described")
        for listed in self._gathered.lists if several else ():
            found = word_rates.differences(self._rows, *self._words(listed, OURS), **_per(OURS))
            self._between(m.DIFFERENCES[m.WORDS.name], found, OURS, "" if listed is self._gathered.ours else ", yours")

    def published_words(self) -> None:
        """Each group's own words, where the user gave lists: Table 8 has no other words, and no crossed groups."""
        theirs = self._gathered.theirs
        if theirs is None or self._one is None or len(self._one.factors) > 1:
            return
        rates = word_rates.by_group(self._rows, *self._words(theirs, PUBLISHED), **_per(PUBLISHED))
        lists = rates["measure"].str.strip_prefix(PUBLISHED)
        own = [is_own(group, name, _spellings()) for group, name in zip(rates[GROUP], lists, strict=True)]
        if any(own):
            self._add(m.WORDS_PUBLISHED, rates.filter(pl.Series(own, dtype=pl.Boolean)), PUBLISHED)
        else:
            self._nothing(m.WORDS_PUBLISHED, "no list is called as one of these groups is")

    def published(self) -> None:
        """Sentiment of all texts of a group joined into one, as in Table 7."""
        if self._gathered.why_no_scores is not None or self._one is None:
            return
        if not self._gathered.has_all_texts:
            for measure in _PUBLISHED.values():
                self._nothing(measure, "all texts of a group are needed at once, and these are too many")
            return
        texts = self._one.of(self._gathered.part("said"))
        counted = texts.drop_nulls(TEXT).group_by(GROUP).agg(n=pl.len(), clusters=pl.col(UNIT).n_unique())
        found = sentiment.concatenated(texts, TEXT, GROUP).join(counted, on=GROUP, how="left", maintain_order="left")
        for score in SCORES:
            method = pl.lit("no interval: one text per group")
            self._add(_PUBLISHED[score], found.select(GROUP, "n", "clusters", value=pl.col(score) * 100, method=method))

    @staticmethod
    def _words(listed: Lexicon, prefix: str) -> tuple[list[str], str, str]:
        """Columns of the counts of each list, of the group and of the unit."""
        return [f"{prefix}{name}" for name in listed.lists], GROUP, UNIT

    def _add(self, measure: Measure, found: pl.DataFrame, prefix: str | None = None, **more: Any) -> None:
        labels = dict[str, Any](self._label)
        if self._one is not None:
            labels["group"] = found[GROUP].to_list()
        if prefix is not None:
            labels["word_list"] = found["measure"].str.strip_prefix(prefix).to_list()
        if "against" in found.columns:
            labels["other_group"] = found["against"].to_list()
        enter(self._table, measure, labels, estimates(found), **more)

    def _between(self, measure: Measure, found: pl.DataFrame, prefix: str | None = None, whose: str = "") -> None:
        p = to_array(found["p"])
        family = f"{measure.name} by {self._label['dimension']}{whose}"
        self._add(measure, found, prefix, p=p, q=adjust(p, "bh"), family=family)

    def _nothing(self, measure: Measure, why: str) -> None:
        not_measurable(self._table, measure, self._label, why)


def _per(prefix: str) -> dict[str, Any]:
    """Words of lists count per 1,000 words, all of these cut in the same way."""
    return {"per": ALL_WORDS[prefix], "scale": word_rates.PER_THOUSAND, "seed": SEED}


@cache
def _spellings() -> Mapping[str, str]:
    named = [(level.name, (*level.folders, *_GENDERS.get(level.name, ()))) for level in (*races(), *genders())]
    return {folded(spelling): name for name, spellings in named for spelling in spellings}


def _add_marked(table: EstimateTable, words: WordTables, one: Dimension) -> None:
    """Add marked words of a dimension, as published and tested (`strict`)."""
    placed = words.images.with_row_index("_at")
    units = one.of(placed)
    if units.is_empty():
        return
    sizes = units.group_by(GROUP).len().sort("len", GROUP, descending=[True, False])
    unmarked = UNMARKED.get(one.factors[0], sizes[GROUP][0])
    labels = placed.join(units.select("_at", GROUP, UNIT), on="_at", how="left", maintain_order="left")
    own = {"task": TEXT, "dimension": one.name}
    if sizes.height < 2:
        not_measurable(table, m.MARKED, own, "only one group was described")
    elif unmarked not in sizes[GROUP]:
        not_measurable(table, m.MARKED, own, f"the unmarked group, {unmarked}, was not described")
    else:
        found = marked_words.published(words.published, labels[GROUP].to_list(), unmarked)
        rank, tokens, documents = (to_array(found[c]) for c in ("rank", "tokens", "documents"))
        ranks = values(rank, tokens, documents, "no interval: a rank, as published")
        enter(table, m.MARKED_PUBLISHED, _marked_labels(found, one), ranks)
        _add_strict(table, words.strict, labels, one, unmarked)


def _add_strict(table: EstimateTable, counts: WordCounts, labels: pl.DataFrame, one: Dimension, unmarked: str) -> None:
    # Images of one person together, where they are in one group.
    unit = labels[UNIT].fill_null("")
    names = unit.unique(maintain_order=True)
    merged = counts.merged(unit.cast(pl.Enum(names)).to_physical().cast(pl.Int64).to_numpy(), len(names))
    firsts = labels.with_columns(unit).unique(UNIT, keep="first", maintain_order=True)
    groups = firsts[GROUP].to_list()
    strata = firsts["occupation"].to_list() if "occupation" in firsts.columns else None
    people = firsts[PERSON].fill_null("").to_list() if PERSON in firsts.columns else None
    masked = [word for listed in lexicon.shipped("group_words").lists.values() for word in listed]
    own = {"task": TEXT, "dimension": one.name}
    try:
        found = marked_words.strict(merged, groups, unmarked, strata=strata, people=people, masked=masked, seed=SEED)
    except UnknownNameError:  # no description of the unmarked group
        not_measurable(table, m.MARKED, own, "the unmarked group has no text")
        return
    if found.is_empty():
        not_measurable(table, m.MARKED, own, "no word stands in enough descriptions of both groups together")
        return
    odds = word_odds.estimates(found, merged, groups)
    # Each comparison is a family, whichever of its two groups a word marks.
    sides = zip(found["group"], found["against"], strict=True)
    family = [f"marked words ({' and '.join(sorted(pair))})" for pair in sides]
    p, q, p_least, z = (to_array(found[c]) for c in ("p", "q", "p_least", "z"))
    enter(table, m.MARKED, _marked_labels(found, one), odds, p=p, q=q, p_least=p_least, family=family)
    documents = to_array(found["documents"] + found["documents_against"])
    enter(
        table, m.MARKED_Z, _marked_labels(found, one),
        values(z, documents, odds.clusters.astype(np.float64), "no interval: a test statistic"),
    )  # fmt: skip


def _marked_labels(found: pl.DataFrame, one: Dimension) -> dict[str, Any]:
    names = {"group": "group", "other_group": "against", "word": "word"}
    return {"task": TEXT, "dimension": one.name, **{label: found[column].to_list() for label, column in names.items()}}
