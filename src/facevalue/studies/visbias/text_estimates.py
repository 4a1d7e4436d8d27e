"""Estimates of texts by group: lengths, sentiment and words of lists, and differences between groups."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from facevalue.annotations import lexicon, sentiment
from facevalue.annotations.counts import WordCounts
from facevalue.annotations.lexicon import Lexicon
from facevalue.annotations.text_statistics import ALL_WORDS, OURS
from facevalue.errors import UnknownNameError
from facevalue.measures.definitions import Measure, is_wanted
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import CellEstimates, Sums, frame_estimates
from facevalue.measures.group_shares import GROUP, PERSON, UNIT, Dimension
from facevalue.measures.group_words import (
    PER_THOUSAND,
    WORD_LIST,
    odds_bounds,
    odds_estimates,
    published_words,
    rate_differences,
    strict_words,
    text_sums,
    word_rate,
)
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.pairs import to_array
from facevalue.measures.uncertainty import Estimates

# Estimates of words that mark a group's texts against those of the unmarked group, as published and tested.


SEED = 0


@dataclass(frozen=True, slots=True)
class WordTables:
    """Words by image, cut as in VisBias' released code and in our way.

    `images` says in the same order who is shown: `image`, `person`, the groups, `occupation`; null where nothing is
    described; and how many texts are `missing`.
    """

    published: WordCounts
    strict: WordCounts
    images: pl.DataFrame


@dataclass(frozen=True)
class MarkedWords:
    """Marked words of one task: measures of log-odds ratios, of their z and of published ranks, and unmarked groups."""

    task: str
    odds: Measure
    z: Measure
    rank: Measure
    unmarked: dict[str, str]

    def add(self, table: EstimateTable, words: WordTables, dimension: Dimension) -> None:
        """Add marked words of a dimension. Without an unmarked group, that of most images is it."""
        placed = words.images.with_row_index("_at")
        units = dimension.select_rows(placed)
        if units.is_empty():
            return
        sizes = units.group_by(GROUP).len().sort("len", GROUP, descending=[True, False])
        unmarked = self.unmarked.get(dimension.factors[0], sizes[GROUP][0])
        grouped = placed.join(units.select("_at", GROUP, UNIT), on="_at", how="left", maintain_order="left")
        label = {"task": self.task, "dimension": dimension.name}
        if sizes.height < 2:
            table.add(self.odds, label, Estimates.make_unmeasured("only one group was described"))
        elif unmarked not in sizes[GROUP]:
            table.add(self.odds, label, Estimates.make_unmeasured(f"the unmarked group, {unmarked}, was not described"))
        else:
            published = published_words(words.published, grouped[GROUP].to_list(), unmarked)
            rank, tokens, documents = (to_array(published[c]) for c in ("rank", "tokens", "documents"))
            method = name_method(IntervalKind.NONE, "a rank, as published")
            ranks = Estimates.without_intervals(rank, tokens, documents, method)
            table.add(self.rank, _labels(published, label), ranks)
            if is_wanted([self.odds.name, self.z.name]):
                self._test_words(table, words.strict, grouped, label, unmarked)

    def _test_words(
        self, table: EstimateTable, counts: WordCounts, images: pl.DataFrame, label: dict[str, str], unmarked: str
    ) -> None:
        # Images of one person together, where they are in one group.
        unit = images[UNIT].fill_null("")
        names = unit.unique(maintain_order=True)
        code = unit.cast(pl.Enum(names)).to_physical().cast(pl.Int64).to_numpy()
        merged = counts.merge_units(code, len(names))
        missing = np.bincount(code, images["missing"].to_numpy(), len(names)).astype(np.int64)
        firsts = images.with_columns(unit).unique(UNIT, keep="first", maintain_order=True)
        groups = firsts[GROUP].to_list()
        strata = firsts["occupation"].to_list() if "occupation" in firsts.columns else None
        people = firsts[PERSON].fill_null("").to_list() if PERSON in firsts.columns else None
        masked = [word for listed in lexicon.shipped_lexicon("group_words").lists.values() for word in listed]
        try:
            strict = strict_words(merged, groups, unmarked, strata=strata, people=people, masked=masked, seed=SEED)
        except UnknownNameError:  # no description of the unmarked group
            table.add(self.odds, label, Estimates.make_unmeasured("the unmarked group has no text"))
            return
        if strict.is_empty():
            reason = "no word stands in enough descriptions of both groups together"
            table.add(self.odds, label, Estimates.make_unmeasured(reason))
            return
        odds = odds_estimates(strict, merged, groups)
        # Each comparison is a family, whichever of its two groups a word marks.
        sides = zip(strict["group"], strict["against"], strict=True)
        family = [f"marked words ({' and '.join(sorted(pair))})" for pair in sides]
        p, q, p_least, z = (to_array(strict[c]) for c in ("p", "q", "p_least", "z"))
        bounds = odds_bounds(strict, merged, groups, missing, masked)
        tested = replace(odds, p=p, q=q, p_least=p_least, bounds=bounds)
        table.add(self.odds, _labels(strict, label), tested, family)
        documents = to_array(strict["documents"] + strict["documents_against"])
        statistics = Estimates.without_intervals(
            z, documents, odds.clusters.astype(np.float64), name_method(IntervalKind.NONE, "a test statistic")
        )
        table.add(self.z, _labels(strict, label), statistics)


def _labels(words: pl.DataFrame, label: dict[str, str]) -> dict[str, Any]:
    names = {"group": "group", "other_group": "against", "word": "word"}
    return {**label, **{name: words[column].to_list() for name, column in names.items()}}


@dataclass(frozen=True)
class TextEstimates:
    """Estimates of one dimension, or of everyone."""

    table: EstimateTable
    task: str
    dimension: Dimension | None  # whose groups are compared; None for everyone
    rows: pl.DataFrame  # statistics of the texts (`text_statistics`), with `group` and `unit`

    @property
    def label(self) -> dict[str, str | None]:
        """Labels of all of them."""
        return {"task": self.task, "dimension": None if self.dimension is None else self.dimension.name}

    @property
    def level_labels(self) -> tuple[str, ...]:
        """Labels that levels are broken down by."""
        return (WORD_LIST,) if self.dimension is None else (WORD_LIST, GROUP)

    def level(self, measure: Measure, column: str) -> None:
        """Mean of a column in each group."""
        self.add(measure, word_rate(text_sums(self.rows, {None: column}), self.level_labels))

    def difference(self, measure: Measure, column: str, poles: tuple[float, float] | None) -> None:
        """One group less another, for each two; `poles`: the least and the most that a text can have of it."""
        self._add_comparison(measure, rate_differences(text_sums(self.rows, {None: column}), poles=poles))

    def rates(self, listed: Lexicon, prefix: str = OURS) -> CellEstimates:
        """Words of each list per 1,000 words of each group."""
        labels, rates = word_rate(self._count_words(listed, prefix), self.level_labels)
        return labels, rates.times(PER_THOUSAND)

    def rate_differences(self, measure: Measure, listed: Lexicon, whose: str, longest: int) -> None:
        """Rates of one group less those of another; `longest`: the most words that a text can have."""
        labels, differences = rate_differences(self._count_words(listed, OURS), poles=(0.0, 1.0), longest=longest)
        self._add_comparison(measure, (labels, differences.times(PER_THOUSAND)), whose)

    def add_joined_scores(self, measures: Mapping[str, Measure], texts: pl.DataFrame, text: str) -> None:
        """Scores, in percent, of all texts of a group joined into one (`sentiment.concatenated_sentiment`)."""
        counted = texts.drop_nulls(text).group_by(GROUP).agg(n=pl.len(), clusters=pl.col(UNIT).n_unique())
        rates = sentiment.concatenated_sentiment(texts, text, GROUP).join(
            counted, on=GROUP, how="left", maintain_order="left"
        )
        method = pl.lit(name_method(IntervalKind.NONE, "one text per group"))
        for score, measure in measures.items():
            scores = rates.select("n", "clusters", value=pl.col(score) * 100, method=method)
            self.table.add(measure, {**self.label, GROUP: rates[GROUP].to_list()}, frame_estimates(scores))

    def add(self, measure: Measure, cells: CellEstimates, family: str | None = None) -> None:
        """Add estimates."""
        labels, tested = cells
        self.table.add(measure, {**self.label, **labels}, tested, family)

    def _add_comparison(self, measure: Measure, cells: CellEstimates, whose: str = "") -> None:
        self.add(
            measure, cells, f"{measure.name}s in {measure.score.replace('_', ' ')} by {self.label['dimension']}{whose}"
        )

    def _count_words(self, listed: Lexicon, prefix: str) -> Sums:
        """Words of lists and all words, these cut in the same way."""
        return text_sums(self.rows, {name: f"{prefix}{name}" for name in listed.lists}, ALL_WORDS[prefix])

    def nothing(self, measure: Measure, reason: str) -> None:
        """Say why it could not be measured."""
        self.table.add(measure, self.label, Estimates.make_unmeasured(reason))
