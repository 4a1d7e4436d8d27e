"""Descriptions by group: lengths, sentiment and words of lists, differences between groups, and words that mark one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from facevalue.annotations import lexicon, sentiment
from facevalue.annotations.counts import WordCounts
from facevalue.annotations.group_lists import fold_name, is_own
from facevalue.annotations.lexicon import Lexicon
from facevalue.annotations.text_statistics import ALL_WORDS, OURS, PUBLISHED
from facevalue.errors import UnknownNameError
from facevalue.measures.definitions import is_wanted, takes
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import CellEstimates, cells_of, frame_estimates
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
from facevalue.statistics.contrasts import Gap
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.levels import Mean
from facevalue.statistics.rivals import EACH_OTHER
from facevalue.statistics.scores import SumScores
from facevalue.statistics.statistic import Score
from facevalue.studies.visbias import measures as m
from facevalue.studies.visbias.tables import genders, races

SEED = 0
TEXT = "description"
UNMARKED = {"race": "white", "gender": "male", "skin_tone": "light"}
"""The unmarked group of a dimension (section 3.3); of others, that of most images. For skin tones it is our choice."""
LENGTHS = {m.CHARACTERS: "characters", m.TOKENS: "tokens"}
TONES = {m.POSITIVE: "pos", m.NEGATIVE: "neg"}
_JOINED = {"pos": m.POSITIVE_PUBLISHED, "neg": m.NEGATIVE_PUBLISHED}
_YOURS = ", yours"
_OF_ALL = " of all"
_NAMES = (*(measure.score for measure in (*LENGTHS, *TONES, m.WORDS)), f"{m.WORDS.score}{_YOURS}")
TEXT_ESTIMANDS = (
    *(Estimand(Mean(), (WORD_LIST,), (f"{name}{_OF_ALL}",), measure="mean") for name in _NAMES),
    *(Estimand(Mean(), (WORD_LIST, GROUP), (name,), measure="mean") for name in _NAMES),
    *(
        Estimand(
            Gap(factor=GROUP, versus=EACH_OTHER), (WORD_LIST,), (name,), measure="gap",
            family="gaps in {} by {{dimension}}{}".format(
                name.removesuffix(_YOURS).replace("_", " "), _YOURS * name.endswith(_YOURS)
            ),
        )
        for name in _NAMES
    ),
)  # fmt: skip
"""Means over all, means of each group, and differences between any two."""


@dataclass(frozen=True)
class TextScores(SumScores):
    """A number of texts, added up by unit: its mean is a ratio of sums, with an interval over units.

    Attributes
    ----------
    per:
        Of how many words, or texts, a rate is told.
    poles, longest:
        Least and largest rate of a text, and the most words that one can have; no bounds without poles.
    """

    per: float = 1.0
    poles: tuple[float, float] | None = None
    longest: float = 1.0

    def estimate_shares(self, by: Sequence[str]) -> CellEstimates:
        """Rates of cells, with their intervals over units."""
        labels, rates = word_rate(self.sums, by)
        return labels, rates.times(self.per)

    def scale(self, shares: Estimates) -> Estimates:
        """Rates as they are, which have no ends."""
        return shares

    def gaps(self, by: Sequence[str], factor: str) -> CellEstimates:
        """Rate of each group less that of each earlier one; not measurable where there is one alone."""
        if len(self.sums.labels[factor][0]) < 2:
            cells, _, count = cells_of(self.sums, by)
            return cells, Estimates.concatenate([Estimates.make_unmeasured("only one group was described")] * count)
        labels, gaps = rate_differences(self.sums, by, self.poles, self.longest)
        return labels, gaps.times(self.per)


@takes(*TONES)
def add_unscored(table: EstimateTable, dimension: Dimension | None, reason: str) -> None:
    """Add why texts have no sentiment."""
    for measure in TONES:
        table.add(measure, _labels(dimension), Estimates.make_unmeasured(reason))


def _labels(dimension: Dimension | None) -> dict[str, str | None]:
    return {"task": TEXT, "dimension": None if dimension is None else dimension.name}


def text_scores(
    rows: pl.DataFrame, dimension: Dimension | None, lists: Sequence[Lexicon], longest: int
) -> Iterator[TextScores]:
    """Scores of texts (rows of `text_statistics`, with `group` and `unit`): of a dimension's groups, or of everyone.

    `lists`: ours, then the user's if there are any. `longest`: the most words that a text can have.
    """
    ending = _OF_ALL if dimension is None else ""
    of_texts = partial(TextScores, measures=m.MEASURES, labels=_labels(dimension))
    for measure, column in (LENGTHS | TONES).items():
        if column in rows.columns:
            poles = None if measure.unbounded else measure.limits
            score = Score(f"{measure.score}{ending}", measure.title, measure.unit, label=measure.score)
            yield of_texts(score, text_sums(rows, {None: column}), poles=poles)
    for listed, whose in zip(lists, ("", _YOURS), strict=False):
        score = Score(f"{m.WORDS.score}{whose}{ending}", m.WORDS.title, m.WORDS.unit, label=m.WORDS.score)
        sums = text_sums(rows, {word: f"{OURS}{word}" for word in listed.lists}, ALL_WORDS[OURS])
        yield of_texts(score, sums, per=PER_THOUSAND, poles=(0.0, 1.0), longest=longest)


@takes(*_JOINED.values())
def add_joined_sentiment(table: EstimateTable, dimension: Dimension, texts: pl.DataFrame | None) -> None:
    """Add the sentiment of all texts of a group joined into one, in percent (Table 7); None for too many texts."""
    if texts is None:
        unmeasured = Estimates.make_unmeasured("all texts of a group are needed at once, and these are too many")
        for measure in _JOINED.values():
            table.add(measure, _labels(dimension), unmeasured)
        return
    counted = texts.drop_nulls(TEXT).group_by(GROUP).agg(n=pl.len(), clusters=pl.col(UNIT).n_unique())
    joined = sentiment.concatenated_sentiment(texts, TEXT, GROUP)
    rates = joined.join(counted, on=GROUP, how="left", maintain_order="left")
    method = pl.lit(name_method(IntervalKind.NONE, "one text per group"))
    for tone, measure in _JOINED.items():
        scores = frame_estimates(rates.select("n", "clusters", value=pl.col(tone) * 100, method=method))
        table.add(measure, {**_labels(dimension), GROUP: rates[GROUP].to_list()}, scores)


@takes(m.WORDS_PUBLISHED)
def add_own_words(table: EstimateTable, dimension: Dimension, rows: pl.DataFrame, listed: Lexicon) -> None:
    """Add each group's own words of the user's lists: Table 8 has no other words, and no crossed groups."""
    columns: dict[str | None, str] = {word: f"{PUBLISHED}{word}" for word in listed.lists}
    labels, rates = word_rate(text_sums(rows, columns, ALL_WORDS[PUBLISHED]))
    spellings = {fold_name(name): level.name for level in (*races(), *genders()) for name in level.spellings}
    pairs = zip(labels[GROUP], labels[WORD_LIST], strict=True)
    of_group = [at for at, (group, name) in enumerate(pairs) if is_own(str(group), str(name), spellings)]
    about: dict[str, Any] = {**_labels(dimension)}
    if not of_group:
        unmeasured = Estimates.make_unmeasured("no list is called as one of these groups is")
        table.add(m.WORDS_PUBLISHED, about, unmeasured)
        return
    about |= {label: [levels[at] for at in of_group] for label, levels in labels.items()}
    table.add(m.WORDS_PUBLISHED, about, rates.at(np.array(of_group)).times(PER_THOUSAND))


# Words that mark a group's texts against those of the unmarked group, as published and tested.


@takes(m.MARKED, m.MARKED_Z, m.MARKED_PUBLISHED)
def add_marked_words(
    table: EstimateTable, dimension: Dimension, images: pl.DataFrame, published: WordCounts, strict: WordCounts
) -> None:
    """Add words that mark a group; without an unmarked one, the group of most images is it.

    Parameters
    ----------
    images:
        Who is shown, in the order of the counts: `image`, `person`, the groups, `occupation`; null where nothing is
        described; and how many texts are `missing`.
    published, strict:
        Words by image, cut as in the released code and in our way.
    """
    placed = images.with_row_index("_at")
    units = dimension.select_rows(placed)
    if units.is_empty():
        return
    sizes = units.group_by(GROUP).len().sort("len", GROUP, descending=[True, False])
    unmarked = UNMARKED.get(dimension.factors[0], sizes[GROUP][0])
    grouped = placed.join(units.select("_at", GROUP, UNIT), on="_at", how="left", maintain_order="left")
    reason = ""
    if sizes.height < 2:
        reason = "only one group was described"
    elif unmarked not in sizes[GROUP]:
        reason = f"the unmarked group, {unmarked}, was not described"
    else:
        listed = published_words(published, grouped[GROUP].to_list(), unmarked)
        rank, tokens, documents = (to_array(listed[c]) for c in ("rank", "tokens", "documents"))
        method = name_method(IntervalKind.NONE, "a rank, as published")
        ranks = Estimates.without_intervals(rank, tokens, documents, method)
        table.add(m.MARKED_PUBLISHED, _word_labels(listed, dimension), ranks)
        if is_wanted([m.MARKED.name, m.MARKED_Z.name]):
            reason = _test_words(table, dimension, strict, grouped, unmarked)
    if reason:
        table.add(m.MARKED, _labels(dimension), Estimates.make_unmeasured(reason))


def _test_words(
    table: EstimateTable, dimension: Dimension, counts: WordCounts, images: pl.DataFrame, unmarked: str
) -> str:
    """Add the words that chance does not explain; and say why none was tested, else nothing."""
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
        words = strict_words(merged, groups, unmarked, strata=strata, people=people, masked=masked, seed=SEED)
    except UnknownNameError:  # no description of the unmarked group
        return "the unmarked group has no text"
    if words.is_empty():
        return "no word stands in enough descriptions of both groups together"
    odds = odds_estimates(words, merged, groups)
    # Each comparison is a family, whichever of its two groups a word marks.
    sides = zip(words["group"], words["against"], strict=True)
    family = [f"marked words ({' and '.join(sorted(pair))})" for pair in sides]
    p, q, p_least, z = (to_array(words[c]) for c in ("p", "q", "p_least", "z"))
    bounds = odds_bounds(words, merged, groups, missing, masked)
    tested = replace(odds, p=p, q=q, p_least=p_least, bounds=bounds)
    table.add(m.MARKED, _word_labels(words, dimension), tested, family)
    documents = to_array(words["documents"] + words["documents_against"])
    method = name_method(IntervalKind.NONE, "a test statistic")
    statistics = Estimates.without_intervals(z, documents, odds.clusters.astype(np.float64), method)
    table.add(m.MARKED_Z, _word_labels(words, dimension), statistics)
    return ""


def _word_labels(words: pl.DataFrame, dimension: Dimension) -> dict[str, Any]:
    names = {"group": "group", "other_group": "against", "word": "word"}
    return {**_labels(dimension), **{name: words[column].to_list() for name, column in names.items()}}
