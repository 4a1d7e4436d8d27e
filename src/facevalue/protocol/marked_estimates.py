"""Estimates of words that mark a group's texts against those of the unmarked group, as published and tested."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from facevalue.annotations import lexicon
from facevalue.annotations.counts import WordCounts
from facevalue.errors import UnknownNameError
from facevalue.measures.definitions import Measure, is_wanted
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.group_shares import GROUP, PERSON, UNIT, Dimension
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.marked_words import published_words, strict_words
from facevalue.measures.pairs import to_array
from facevalue.measures.uncertainty import Estimates
from facevalue.measures.word_rates import odds_bounds, odds_estimates

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
        units = dimension.of(placed)
        if units.is_empty():
            return
        sizes = units.group_by(GROUP).len().sort("len", GROUP, descending=[True, False])
        unmarked = self.unmarked.get(dimension.factors[0], sizes[GROUP][0])
        grouped = placed.join(units.select("_at", GROUP, UNIT), on="_at", how="left", maintain_order="left")
        label = {"task": self.task, "dimension": dimension.name}
        if sizes.height < 2:
            table.add(self.odds, label, Estimates.unmeasured("only one group was described"))
        elif unmarked not in sizes[GROUP]:
            table.add(self.odds, label, Estimates.unmeasured(f"the unmarked group, {unmarked}, was not described"))
        else:
            published = published_words(words.published, grouped[GROUP].to_list(), unmarked)
            rank, tokens, documents = (to_array(published[c]) for c in ("rank", "tokens", "documents"))
            method = name_method(IntervalKind.NONE, "a rank, as published")
            ranks = Estimates.without_intervals(rank, tokens, documents, method)
            table.add(self.rank, _labels(published, label), ranks)
            if is_wanted([self.odds.name, self.z.name]):
                self._tested(table, words.strict, grouped, label, unmarked)

    def _tested(
        self, table: EstimateTable, counts: WordCounts, images: pl.DataFrame, label: dict[str, str], unmarked: str
    ) -> None:
        # Images of one person together, where they are in one group.
        unit = images[UNIT].fill_null("")
        names = unit.unique(maintain_order=True)
        code = unit.cast(pl.Enum(names)).to_physical().cast(pl.Int64).to_numpy()
        merged = counts.merged(code, len(names))
        missing = np.bincount(code, images["missing"].to_numpy(), len(names)).astype(np.int64)
        firsts = images.with_columns(unit).unique(UNIT, keep="first", maintain_order=True)
        groups = firsts[GROUP].to_list()
        strata = firsts["occupation"].to_list() if "occupation" in firsts.columns else None
        people = firsts[PERSON].fill_null("").to_list() if PERSON in firsts.columns else None
        masked = [word for listed in lexicon.shipped("group_words").lists.values() for word in listed]
        try:
            strict = strict_words(merged, groups, unmarked, strata=strata, people=people, masked=masked, seed=SEED)
        except UnknownNameError:  # no description of the unmarked group
            table.add(self.odds, label, Estimates.unmeasured("the unmarked group has no text"))
            return
        if strict.is_empty():
            reason = "no word stands in enough descriptions of both groups together"
            table.add(self.odds, label, Estimates.unmeasured(reason))
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
