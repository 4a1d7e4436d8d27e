"""Pairs of people of whom one is asked about twice: by a question, and by its negation.

VisBias (section 2.1, II) asks each question once as it is, once with the images swapped and the wording turned round,
which makes it the negation of the first. So a model that ranks the two people answers them *differently*. One that sees
no difference says no to both, and equal yes contradicts itself. The published rate (Table 6) is that of differing
answers; the other two are ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.dyads import p_least
from facevalue.measures.estimates import Level
from facevalue.measures.estimators import Cells, Sums, cells_of, pair_share
from facevalue.measures.shares import Shares
from facevalue.measures.uncertainty import Bounds

EVEN = 0.5
"""Share of ranked pairs in which either is above, were there nothing between them."""


def outcomes(plain: str, swapped: str) -> list[pl.Expr]:
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
    >>> pairs.select(outcomes("yes", "yes_to_negation")).select("ranked", "contradicted", "open_1").rows()
    [(0.75, 0.25, 0.0), (0.0, 0.0, 1.0)]
    """
    (a, not_a), (b, not_b) = (
        (pl.col(answer).fill_null(1.0), (1 - pl.col(answer)).fill_null(1.0)) for answer in (plain, swapped)
    )
    complete = pl.col(plain).is_not_null() & pl.col(swapped).is_not_null()

    def where(condition: pl.Expr, hits: pl.Expr, name: str) -> pl.Expr:
        return pl.when(condition).then(hits).otherwise(0.0).alias(name)

    return [
        complete.cast(pl.Float64).alias("complete"),
        where(complete, a * not_b + not_a * b, "ranked"),
        where(complete, not_a * not_b, "unranked"),
        where(complete, a * b, "contradicted"),
        where(complete, a * not_b, "first"),
        where(complete, not_a * b, "second"),
        where(~complete, a * not_b, "open_1"),
        where(~complete, not_a * b, "open_2"),
    ]


def ranked_above(sums: Sums, by: Sequence[str] = ()) -> Cells:
    """Share of ranked pairs in which a group's member is above, less 1/2, with its interval and test over people.

    The sums have what `s` is above, of `n` ranked pairs, and how far the member could be above (`up`) or below (`down`)
    in pairs that lack an answer. Bounds say what these could make of it, had all ranked the group's members above or
    below.
    """
    s, n, up, down = (sums.numbers[name] for name in ("s", "n", "up", "down"))
    (labels, share), (_, upper), (_, lower) = (
        _pair_share(sums.counting(s=hits, n=size), by) for hits, size in ((s, n), (s + up, n + up), (s, n + down))
    )
    ranked, open_up, open_down = (_added(sums, by, column) for column in (n, up, down))
    lost = np.maximum(open_up, open_down)
    with np.errstate(invalid="ignore"):
        missing = lost / (ranked + lost)
    bounds = Bounds(share.value, lower.value, upper.value, missing, np.maximum(lower.se, upper.se))
    return labels, replace(share, bounds=bounds, p=share.p_against(EVEN), p_least=p_least(share, EVEN)).less(EVEN)


def _pair_share(sums: Sums, by: Sequence[str]) -> tuple[Mapping[str, Sequence[Level]], Shares]:
    labels, tested = pair_share(sums, by)
    assert isinstance(tested, Shares)
    return labels, tested


def _added(sums: Sums, by: Sequence[str], column: Array) -> Array:
    _, cell, count = cells_of(sums, by)
    return np.bincount(cell, column, count).astype(np.float64)
