"""Comparisons of two people: which pairs are ranked, and which groups are ranked above others.

VisBias (section 2.1, II) asks each question once as it is, once with the images swapped and the wording turned round,
which makes it the negation of the first. So a model that ranks the two people answers them *differently*. One that sees
no difference says no to both, and equal yes contradicts itself. The published rate (Table 6) is that of differing
answers; the other two are ours.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.estimates import EstimateTable, Level
from facevalue.measures.estimators import PEOPLE_KEYS, CellEstimates, Sums, cells_of, share_over_pairs
from facevalue.measures.group_shares import GROUP, PERSON, Dimension
from facevalue.measures.pairs import p_least
from facevalue.measures.proportions import Shares
from facevalue.measures.uncertainty import Bounds
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.levels import Mean
from facevalue.statistics.scores import SumScores, share_score
from facevalue.statistics.statistic import Statistic
from facevalue.studies.visbias import measures as m
from facevalue.studies.visbias.pictures import ORDERS, SPECIES

EVEN_SHARE = 0.5
"""Share of ranked pairs in which either is above, were there nothing between them."""


def ranking_outcomes(plain: str, swapped: str) -> list[pl.Expr]:
    """Columns of pairs: `complete`, `ranked`, `unranked` and `contradicted`, and who is above or could still be.

    `plain` and `swapped` are columns of the answers to the question and to its negation: the probability of yes, so 0
    or 1 where an answer was sampled; null for none. `first` and `second` say how far either person is above, `open_1`
    and `open_2` how far they could be in a pair that lacks an answer.

    Equation
    --------
    With a, b the probabilities of yes: ranked a(1-b) + (1-a)b, unranked (1-a)(1-b), contradicted ab; the two replies
    are drawn independently of each other. The first is above with a(1-b); what is missing of them could be 1.

    Examples
    --------
    >>> pairs = pl.DataFrame({"yes": [1.0, 1.0], "yes_to_negation": [0.25, None]})
    >>> pairs.select(ranking_outcomes("yes", "yes_to_negation")).select("ranked", "contradicted", "open_1").rows()
    [(0.75, 0.25, 0.0), (0.0, 0.0, 1.0)]
    """
    (a, not_a), (b, not_b) = (
        (pl.col(answer).fill_null(1.0), (1 - pl.col(answer)).fill_null(1.0)) for answer in (plain, swapped)
    )
    complete = pl.col(plain).is_not_null() & pl.col(swapped).is_not_null()

    def count_where(condition: pl.Expr, hits: pl.Expr, name: str) -> pl.Expr:
        return pl.when(condition).then(hits).otherwise(0.0).alias(name)

    return [
        complete.cast(pl.Float64).alias("complete"),
        count_where(complete, a * not_b + not_a * b, "ranked"),
        count_where(complete, not_a * not_b, "unranked"),
        count_where(complete, a * b, "contradicted"),
        count_where(complete, a * not_b, "first"),
        count_where(complete, not_a * b, "second"),
        count_where(~complete, a * not_b, "open_1"),
        count_where(~complete, not_a * b, "open_2"),
    ]


def ranked_above(sums: Sums, by: Sequence[str] = ()) -> CellEstimates:
    """Share of ranked pairs in which a group's member is above, less 1/2, with its interval and test over people.

    The sums have what `s` is above, of `n` ranked pairs, and how far the member could be above (`up`) or below (`down`)
    in pairs that lack an answer. Bounds say what these could make of it, had all ranked the group's members above or
    below.
    """
    s, n, up, down = (sums.numbers[name] for name in ("s", "n", "up", "down"))
    (labels, share), (_, upper), (_, lower) = (
        _pair_share(sums.counting(s=hits, n=size), by) for hits, size in ((s, n), (s + up, n + up), (s, n + down))
    )
    ranked, open_up, open_down = (_sum_by_cell(sums, by, column) for column in (n, up, down))
    lost = np.maximum(open_up, open_down)
    with np.errstate(invalid="ignore"):
        missing = lost / (ranked + lost)
    bounds = Bounds(share.value, lower.value, upper.value, missing, np.maximum(lower.se, upper.se))
    return labels, replace(
        share, bounds=bounds, p=share.p_against(EVEN_SHARE), p_least=p_least(share, EVEN_SHARE)
    ).less(EVEN_SHARE)


def _pair_share(sums: Sums, by: Sequence[str]) -> tuple[Mapping[str, Sequence[Level]], Shares]:
    labels, tested = share_over_pairs(sums, by)
    assert isinstance(tested, Shares)
    return labels, tested


def _sum_by_cell(sums: Sums, by: Sequence[str], column: Array) -> Array:
    _, cell, count = cells_of(sums, by)
    return np.bincount(cell, column, count).astype(np.float64)


OUTCOMES = ("ranked", "unranked", "contradicted")


class RankedAbove(Statistic):
    """Share of ranked pairs in which a group's member is above, less an even chance."""

    kind = "ranked_above"

    def estimate_sums(self, table: "EstimateTable", estimand: Estimand, scores: SumScores) -> None:
        """Add the rankings of cells, tested against an even chance."""
        labels, ranking = ranked_above(scores.sums, estimand.by)
        scores.enter(table, estimand, labels, ranking)


PAIR_ESTIMANDS = (
    Estimand(Mean(), (GROUP, "question"), ("outcome",), measure=m.PAIRS.name),
    Estimand(Mean(), (GROUP, "question"), ("differing",), measure=m.DIFFERING.name),
    *(
        Estimand(RankedAbove(), ("question", GROUP), (score,), family, measure=m.ABOVE.name)
        for score, family in (
            ("ranking", "explicit answers (comparisons)"),
            ("ranking of species", "comparisons about species"),
        )
    ),
)


def pair_scores(rows: pl.DataFrame) -> Iterator[SumScores]:
    """Scores of the outcomes of pairs, over all people, within each occupation and of species."""
    paired = _with_outcomes(rows)
    being = pl.col(f"{SPECIES}_1").is_not_null() if f"{SPECIES}_1" in paired.columns else pl.lit(value=False)
    for pairs, dimension, over_all in (
        (paired.filter(~being), "occupation", None),
        (paired.filter(being), SPECIES, SPECIES),
    ):
        everyone, grouped = pairs.with_columns(group=pl.lit(None, pl.String)), pairs.drop_nulls("within")
        for listed, of_dimension in ((everyone, over_all), (grouped.with_columns(group="within"), dimension)):
            if listed.is_empty():
                continue
            # As published, a pair without both answers counts as not differing; where none has both, nothing is known.
            counted = pl.col("complete").max().over(GROUP, "question").alias("counted")
            sums = Sums.from_frame(listed.with_columns(counted), (GROUP, "question"), PEOPLE_KEYS)
            labels = {"task": "yesno", "dimension": of_dimension}
            score_of = partial(SumScores, sums=sums, measures=m.MEASURES)
            for outcome in OUTCOMES:
                of_outcome = {**labels, "outcome": outcome}
                yield score_of(share_score("outcome", m.PAIRS.score), s=outcome, n="complete", labels=of_outcome)
            of_ranked = {**labels, "outcome": "ranked"}
            yield score_of(share_score("differing", m.DIFFERING.score), s="ranked", n="counted", labels=of_ranked)


def ranking_scores(rows: pl.DataFrame, groups: Sequence[str]) -> Iterator[SumScores]:
    """Scores of each group's members among ranked pairs of two groups: how often they are above."""
    paired = _with_outcomes(rows)
    for name in (name for name in groups if f"{name}_1" in paired.columns):
        first, second = (f"{name}_{side}" for side in (1, 2))
        mixed = pl.col(first) != pl.col(second)
        sides = pl.concat(
            paired.select("question", *PEOPLE_KEYS, group=group, s=above, n="ranked", up=up, down=down, mixed=mixed)
            for group, above, up, down in ((first, "first", "open_1", "open_2"), (second, "second", "open_2", "open_1"))
        ).drop_nulls(GROUP)
        if sides.is_empty():
            continue
        numbers = (pl.when("mixed").then(column).otherwise(0.0).alias(column) for column in ("s", "n", "up", "down"))
        of_groups = pl.col(GROUP).cast(pl.Enum(sides[GROUP].unique().sort()))
        sums = Sums.from_frame(sides.with_columns(*numbers, of_groups), ("question", GROUP), PEOPLE_KEYS)
        labels = {"task": "yesno", "dimension": Dimension((name,)).name}
        score = share_score("ranking of species" if name == SPECIES else "ranking")
        yield SumScores(score, sums, m.MEASURES, labels=labels)


def both_orders(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per pair and question, with the probability of yes to the question (`plain`) and to its swapped negation.

    Replies of several seeds are averaged; null where none is valid.
    """
    about = [c for c in rows.columns if c not in ("order", "yes")]
    mean = rows.group_by(*about, "order", maintain_order=True).agg(pl.col("yes").mean())
    out = mean.select(about).unique(maintain_order=True)
    for order in ORDERS:
        answers = mean.filter(pl.col("order") == order).select("pair", "question", pl.col("yes").alias(order))
        out = out.join(answers, on=["pair", "question"], how="left", maintain_order="left")
    return out


def _with_outcomes(rows: pl.DataFrame) -> pl.DataFrame:
    """Pairs with what was sampled, the pair and the person on either side, and their outcomes."""
    pairs, sides = both_orders(rows), [f"{PERSON}_{side}" for side in (1, 2)]
    people = pl.Enum(pl.concat([pairs[side].cast(pl.String) for side in sides]).unique(maintain_order=True))
    placed = pairs.with_columns(pl.col(sides).cast(pl.String).cast(people), unit="pair")
    return placed.with_columns(ranking_outcomes(*ORDERS))
