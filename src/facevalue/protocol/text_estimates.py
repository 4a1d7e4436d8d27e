"""Estimates of texts by group: lengths, sentiment and words of lists, and differences between groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from facevalue.annotate import sentiment
from facevalue.annotate.lexicon import Lexicon
from facevalue.annotate.text_statistics import ALL_WORDS, OURS
from facevalue.measures import word_rates
from facevalue.measures.base import Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.group_dimensions import GROUP, UNIT, Dimension
from facevalue.measures.selection import to_array
from facevalue.measures.table_entries import bounds_of, enter, estimates, not_measurable

SEED = 0


@dataclass(frozen=True)
class TextEstimates:
    """Estimates of one dimension, or of everyone."""

    table: EstimateTable
    task: str
    one: Dimension | None  # which groups are compared; None for everyone
    rows: pl.DataFrame  # statistics of the texts (`text_statistics`), with `group` and `unit`

    @property
    def label(self) -> dict[str, str | None]:
        """Labels of all of them."""
        return {"task": self.task, "dimension": None if self.one is None else self.one.name}

    def level(self, measure: Measure, column: str) -> None:
        """Mean of a column in each group."""
        self.add(measure, word_rates.by_group(self.rows, [column], GROUP, UNIT, seed=SEED))

    def difference(self, measure: Measure, column: str, poles: tuple[float, float] | None) -> None:
        """One group less another, for each two; `poles`: the least and the most that a text can have of it."""
        self._between(measure, word_rates.differences(self.rows, [column], GROUP, UNIT, seed=SEED, poles=poles))

    def rates(self, listed: Lexicon, prefix: str = OURS) -> pl.DataFrame:
        """Words of each list per 1,000 words of each group."""
        return word_rates.by_group(self.rows, _counts(listed, prefix), GROUP, UNIT, **_per(prefix))

    def rate_differences(self, measure: Measure, listed: Lexicon, whose: str, longest: int) -> None:
        """Rates of one group less those of another; `longest`: the most words that a text can have."""
        ends: dict[str, Any] = {"poles": (0.0, 1.0), "longest": longest}
        differences = word_rates.differences(self.rows, _counts(listed, OURS), GROUP, UNIT, **_per(OURS), **ends)
        self._between(measure, differences, OURS, whose)

    def joined(self, measures: Mapping[str, Measure], texts: pl.DataFrame, text: str) -> None:
        """Scores, in percent, of all texts of a group joined into one (`sentiment.concatenated`)."""
        counted = texts.drop_nulls(text).group_by(GROUP).agg(n=pl.len(), clusters=pl.col(UNIT).n_unique())
        rates = sentiment.concatenated(texts, text, GROUP).join(counted, on=GROUP, how="left", maintain_order="left")
        method = pl.lit("no interval: one text per group")
        for score, measure in measures.items():
            self.add(measure, rates.select(GROUP, "n", "clusters", value=pl.col(score) * 100, method=method))

    def add(self, measure: Measure, rates: pl.DataFrame, prefix: str | None = None, **more: Any) -> None:
        """Add the rows of `word_rates`, whose measures are lists with a prefix where there is one."""
        labels: dict[str, str | Sequence[str | None] | None] = dict(self.label)
        if self.one is not None:
            labels["group"] = rates[GROUP].to_list()
        if prefix is not None:
            labels["word_list"] = rates["measure"].str.strip_prefix(prefix).to_list()
        if "against" in rates.columns:
            labels["other_group"] = rates["against"].to_list()
        enter(self.table, measure, labels, estimates(rates), **more)

    def _between(self, measure: Measure, rates: pl.DataFrame, prefix: str | None = None, whose: str = "") -> None:
        family = f"{measure.name} by {self.label['dimension']}{whose}"
        self.add(measure, rates, prefix, p=to_array(rates["p"]), family=family, bounds=bounds_of(rates))

    def nothing(self, measure: Measure, reason: str) -> None:
        """Say why it could not be measured."""
        not_measurable(self.table, measure, self.label, reason)


def _counts(listed: Lexicon, prefix: str) -> list[str]:
    return [f"{prefix}{name}" for name in listed.lists]


def _per(prefix: str) -> dict[str, Any]:
    """Words of lists count per 1,000 words, all of these cut in the same way."""
    return {"per": ALL_WORDS[prefix], "scale": word_rates.PER_THOUSAND, "seed": SEED}
