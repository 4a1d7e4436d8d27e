"""Estimates of descriptions as texts: lengths, sentiment and words of lists, by group."""

from collections.abc import Sequence

import polars as pl

from facevalue.annotate import sentiment
from facevalue.annotate.lexicon import Lexicon
from facevalue.measures import word_rates
from facevalue.measures.base import Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.multiple_testing import adjust
from facevalue.studies.visbias import measures as m
from facevalue.studies.visbias.aggregate import ALL_WORDS, COUNTED, SCORES, TEXT, Aggregate
from facevalue.studies.visbias.dimensions import GROUP, PERSON, UNIT, Dimension, dimensions
from facevalue.studies.visbias.recorded import SEED, estimates, not_measurable, to_array
from facevalue.studies.visbias.word_lists import is_own

TASK = "description"
_PUBLISHED = {"pos": m.POSITIVE_PUBLISHED, "neg": m.NEGATIVE_PUBLISHED}
_OURS, _PUBLISHED_COUNT = COUNTED
_NO_OWN = "no list is called as one of these groups is"
_TOO_MUCH = "all texts of a group are needed at once, and these are too many"


def add_texts(table: EstimateTable, gathered: Aggregate) -> None:
    """Add lengths, sentiment and rates of words: over all descriptions, in each group, and between groups."""
    rows = gathered.part("texts")
    if rows.is_empty():
        return
    everyone = rows.with_columns(pl.lit("").alias(GROUP), pl.col(PERSON).alias(UNIT))
    whole = _Texts(table, gathered, None, everyone)
    whole.levels()
    for one in dimensions(gathered.asked.groups):
        mine = one.of(rows)
        if mine.height:
            part = _Texts(table, gathered, one, mine)
            part.levels()
            part.differences()
            part.published()
            part.published_words()


class _Texts:
    """Estimates of one dimension."""

    def __init__(self, table: EstimateTable, gathered: Aggregate, one: Dimension | None, rows: pl.DataFrame) -> None:
        self._table = table
        self._gathered = gathered
        self._one = one
        self._rows = rows
        self._plain: list[tuple[Measure, str]] = [(m.CHARACTERS, "characters"), (m.TOKENS, "tokens")]
        if gathered.why_no_scores is None:
            self._plain += [(m.POSITIVE, "pos"), (m.NEGATIVE, "neg")]

    def levels(self) -> None:
        """Lengths, sentiment and rates of each group."""
        for measure, column in self._plain:
            self._level(
                measure,
                word_rates.by_group(self._rows, [column], GROUP, UNIT, seed=SEED),
                None,
            )
        why = self._gathered.why_no_scores
        if why is not None:
            for measure in (m.POSITIVE, m.NEGATIVE):
                not_measurable(self._table, measure, self._label(None), why)
        for listed in self._gathered.lists:
            self._level(m.WORDS, self._rates(listed, _OURS), _OURS)

    def _rates(self, listed: Lexicon, prefix: str) -> pl.DataFrame:
        """Words of each list per 1,000 words of each group's descriptions."""
        return word_rates.by_group(
            self._rows,
            [f"{prefix}{name}" for name in listed.lists],
            GROUP,
            UNIT,
            per=ALL_WORDS[prefix],
            scale=word_rates.PER_THOUSAND,
            seed=SEED,
        )

    def differences(self) -> None:
        """One group less another, for each two."""
        groups = self._rows[GROUP].n_unique()
        for measure, column in self._plain:
            between = m.DIFFERENCES[measure.name]
            if groups < 2:
                not_measurable(self._table, between, self._label(None), "only one group was described")
                continue
            self._between(
                between,
                word_rates.differences(self._rows, [column], GROUP, UNIT, seed=SEED),
                None,
            )
        for listed in self._gathered.lists if groups > 1 else ():
            rates = word_rates.differences(
                self._rows, [f"{_OURS}{name}" for name in listed.lists], GROUP, UNIT, per=ALL_WORDS[_OURS],
                scale=word_rates.PER_THOUSAND, seed=SEED,
            )  # fmt: skip
            self._between(m.DIFFERENCES[m.WORDS.name], rates, _OURS, "" if listed is self._gathered.ours else ", yours")

    def published_words(self) -> None:
        """Each group's own words, where the user gave lists: Table 8 has no other words, and no crossed groups."""
        theirs = self._gathered.theirs
        if theirs is None or self._one is None or len(self._one.factors) > 1:
            return
        rates = self._rates(theirs, _PUBLISHED_COUNT)
        pairs = zip(rates[GROUP], rates["measure"], strict=True)
        own = rates.filter(
            pl.Series([is_own(g, name.removeprefix(_PUBLISHED_COUNT)) for g, name in pairs], dtype=pl.Boolean)
        )
        if own.is_empty():
            not_measurable(self._table, m.WORDS_PUBLISHED, self._label(None), _NO_OWN)
            return
        self._level(m.WORDS_PUBLISHED, own, _PUBLISHED_COUNT)

    def published(self) -> None:
        """Sentiment of all texts of a group joined into one, as in Table 7."""
        if self._gathered.why_no_scores is not None:
            return
        if not self._gathered.has_all_texts:
            for measure in _PUBLISHED.values():
                not_measurable(self._table, measure, self._label(None), _TOO_MUCH)
            return
        assert self._one is not None
        texts = self._one.of(self._gathered.part("said"))
        found = sentiment.concatenated(texts, TEXT, GROUP)
        counted = texts.drop_nulls(TEXT).group_by(GROUP).agg(n=pl.len(), clusters=pl.col(UNIT).n_unique())
        found = found.join(counted, on=GROUP, how="left", maintain_order="left")
        for score in SCORES:
            frame = found.select(
                GROUP, "n", "clusters", value=pl.col(score) * 100,
                low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64),
                method=pl.lit("no interval: one text per group"),
            )  # fmt: skip
            self._level(_PUBLISHED[score], frame, None)

    def _level(self, measure: Measure, found: pl.DataFrame, prefix: str | None) -> None:
        labels = self._labels(found[GROUP].to_list(), found, prefix)
        self._table.add(measure, labels, estimates(found))

    def _between(self, measure: Measure, found: pl.DataFrame, prefix: str | None, whose: str = "") -> None:
        assert self._one is not None
        p = to_array(found["p"])
        labels = self._labels(found[GROUP].to_list(), found, prefix) | {"other_group": found["against"].to_list()}
        family = f"{measure.name} by {self._one.name}{whose}"
        self._table.add(measure, labels, estimates(found), p=p, q=adjust(p, "bh"), family=family)

    def _labels(self, groups: Sequence[str], found: pl.DataFrame, prefix: str | None) -> dict[str, list[str | None]]:
        size = len(groups)
        own: list[str | None] = [None] * size if self._one is None else list(groups)
        labels: dict[str, list[str | None]] = {
            "task": [TASK] * size,
            "dimension": [None if self._one is None else self._one.name] * size,
            "group": own,
        }
        if prefix is not None:
            labels["word_list"] = [name.removeprefix(prefix) for name in found["measure"]]
        return labels

    def _label(self, group: str | None) -> dict[str, str | None]:
        return {"task": TASK, "dimension": None if self._one is None else self._one.name, "group": group}
