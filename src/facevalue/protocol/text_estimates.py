"""Estimates of texts by group: lengths, sentiment and words of lists, and differences between groups."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from facevalue.annotations import sentiment
from facevalue.annotations.lexicon import Lexicon
from facevalue.annotations.text_statistics import ALL_WORDS, OURS
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import CellEstimates, Sums, frame_estimates
from facevalue.measures.group_shares import GROUP, UNIT, Dimension
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.uncertainty import Estimates
from facevalue.measures.word_rates import PER_THOUSAND, WORD_LIST, rate_differences, text_sums, word_rate


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
    def by(self) -> tuple[str, ...]:
        """Labels that levels are broken down by."""
        return (WORD_LIST,) if self.dimension is None else (WORD_LIST, GROUP)

    def level(self, measure: Measure, column: str) -> None:
        """Mean of a column in each group."""
        self.add(measure, word_rate(text_sums(self.rows, {None: column}), self.by))

    def difference(self, measure: Measure, column: str, poles: tuple[float, float] | None) -> None:
        """One group less another, for each two; `poles`: the least and the most that a text can have of it."""
        self._between(measure, rate_differences(text_sums(self.rows, {None: column}), poles=poles))

    def rates(self, listed: Lexicon, prefix: str = OURS) -> CellEstimates:
        """Words of each list per 1,000 words of each group."""
        labels, rates = word_rate(self._counted(listed, prefix), self.by)
        return labels, rates.times(PER_THOUSAND)

    def rate_differences(self, measure: Measure, listed: Lexicon, whose: str, longest: int) -> None:
        """Rates of one group less those of another; `longest`: the most words that a text can have."""
        labels, differences = rate_differences(self._counted(listed, OURS), poles=(0.0, 1.0), longest=longest)
        self._between(measure, (labels, differences.times(PER_THOUSAND)), whose)

    def joined(self, measures: Mapping[str, Measure], texts: pl.DataFrame, text: str) -> None:
        """Scores, in percent, of all texts of a group joined into one (`sentiment.concatenated`)."""
        counted = texts.drop_nulls(text).group_by(GROUP).agg(n=pl.len(), clusters=pl.col(UNIT).n_unique())
        rates = sentiment.concatenated(texts, text, GROUP).join(counted, on=GROUP, how="left", maintain_order="left")
        method = pl.lit(name_method(IntervalKind.NONE, "one text per group"))
        for score, measure in measures.items():
            scores = rates.select("n", "clusters", value=pl.col(score) * 100, method=method)
            self.table.add(measure, {**self.label, GROUP: rates[GROUP].to_list()}, frame_estimates(scores))

    def add(self, measure: Measure, cells: CellEstimates, family: str | None = None) -> None:
        """Add estimates."""
        labels, tested = cells
        self.table.add(measure, {**self.label, **labels}, tested, family)

    def _between(self, measure: Measure, cells: CellEstimates, whose: str = "") -> None:
        self.add(
            measure, cells, f"{measure.name}s in {measure.score.replace('_', ' ')} by {self.label['dimension']}{whose}"
        )

    def _counted(self, listed: Lexicon, prefix: str) -> Sums:
        """Words of lists and all words, these cut in the same way."""
        return text_sums(self.rows, {name: f"{prefix}{name}" for name in listed.lists}, ALL_WORDS[prefix])

    def nothing(self, measure: Measure, reason: str) -> None:
        """Say why it could not be measured."""
        self.table.add(measure, self.label, Estimates.unmeasured(reason))
