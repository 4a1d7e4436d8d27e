"""Checks of the instrument itself: place and letter of options, sides of pairs, replies without an answer."""

from collections.abc import Collection, Mapping, Sequence
from math import inf

import numpy as np

from facevalue.measures.cells import Slicing
from facevalue.measures.cluster_bootstrap import Array, cell_means
from facevalue.measures.definitions import UNANSWERED, Measure, key_of, split_key
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import column_shares
from facevalue.measures.group_spread import group_spreads
from facevalue.measures.shift import shift_cells
from facevalue.protocol.open_answers import outside_of
from facevalue.protocol.replies import FIRST, LETTER, Options, Reply
from facevalue.statistics.answer_arrays import AnswerArrays, balanced_means
from facevalue.statistics.breakdown import Breakdown
from facevalue.statistics.sets import Sets
from facevalue.statistics.shifts import SEED, add_levels
from facevalue.statistics.spreads import add_spreads
from facevalue.statistics.statistic import MOST_GROUPS, MOST_LEVELS, OURS, Score

# Definitions of the checks of a study's instrument: place and letter of options, sides of pairs, missing answers.


RESPONSE_BIAS = "response_bias"
POSITION, LETTERED, SIDE_BIAS = (key_of(RESPONSE_BIAS, score) for score in ("position", "letter", "side"))
NA_RATE, REFUSALS, NA_SPREAD = "na_rate", "refusal_rate", key_of("spread", UNANSWERED)
SIDE_SCORE = "(side)"
"""Column of answers about pairs: the score as asked, before it is turned round."""

INSTRUMENT = (RESPONSE_BIAS, NA_RATE, REFUSALS)
"""Names of the checks of the instrument that no estimand may have."""


def instrument_measures(reply: Reply, unit: str, *, sides: bool) -> dict[str, Measure]:
    """Definitions of the checks that a study has, by key."""
    checks = [
        (NA_RATE, "Share of questions without a valid answer", "(asked - mass of valid answers) / asked", "share"),
        (REFUSALS, "Share of refusals", "refusals / asked", "share"),
    ]
    if isinstance(reply, Options) and reply.is_balanced:
        equation = "weight of the option shown first - 1/options, each option first as often"
        checks.append((POSITION, "Preference for the option shown first", equation, "probability"))
    if isinstance(reply, Options) and reply.has_moving_letters:
        equation = "weight of the option labelled (a) - 1/2, each option so labelled as often"
        checks.append((LETTERED, "Preference for the letter (a)", equation, "probability"))
    if sides:
        equation = "mean score as asked - middle of the scale, the base as often on either side"
        checks.append((SIDE_BIAS, "Preference for a side of the pair", equation, reply.scores[0].unit))
    outside = outside_of(reply).measures(unit)
    limits = {NA_RATE: (0.0, 1.0), REFUSALS: (0.0, 1.0), LETTERED: (-0.5, 0.5)}
    if isinstance(reply, Options):
        limits[POSITION] = (-1 / len(reply.texts), 1 - 1 / len(reply.texts))
    half = (reply.scores[0].span or inf) / 2
    limits[SIDE_BIAS] = (-half, half)
    out = {
        key: Measure(name, title, equation, of, unit, OURS, limits=limits[key], score=score)
        for key, title, equation, of in checks
        for name, score in [split_key(key)]
    }
    spread = "std_g of the groups' mean share of replies without an answer, ddof 1"
    title = "Spread of missing answers between groups"
    out[NA_SPREAD] = Measure(
        "spread", title, spread, "share", unit, OURS, signed=False, comparison=True, limits=(0.0, 1.0), score=UNANSWERED
    )
    return out | outside


def judge_instrument(
    table: EstimateTable,
    answers: Mapping[str, AnswerArrays],
    breakdown: Breakdown,
    reply: Reply,
    scores: Sequence[Score],
    measures: Mapping[str, Measure],
    repeats: int,
    estimated: Collection[str] = (),
) -> None:
    """Add how far the instrument itself can be trusted; `estimated`: names of the measures that estimands are of."""
    scored = answers[scores[0].name]
    if isinstance(reply, Options):
        for name, column, letter in ((POSITION, FIRST, False), (LETTERED, LETTER, True)):
            if name in measures:
                groups = reply.groups(letter)
                group = np.array([groups[ordering] for ordering in reply.orderings]).repeat(repeats)
                if reply.favourable is None:
                    weights = answers[column].weights
                else:
                    share = answers.get(SIDE_SCORE, scored).weights
                    weights = np.where(group == reply.favourable, share, 1 - share)
                weight = balanced_means(weights, group)
                add_overall(table, breakdown.sets, measures[name], weight - 1 / len(reply.texts))
    if SIDE_BIAS in measures:
        score = scores[0]
        add_overall(table, breakdown.sets, measures[SIDE_BIAS], answers[SIDE_SCORE].phi - (score.low + score.high) / 2)
    counts = {name: len(breakdown.levels(name)) for name in breakdown.factors}
    cuts: Sequence[tuple[str, ...]] = [(), *((name,) for name, many in counts.items() if many <= MOST_LEVELS)]
    rates = {NA_RATE: scored.na_rate, REFUSALS: scored.refusal_rate}
    if len(scores) > 1:
        rates = {
            NA_RATE: _lowest_rates([answers[score.name].na_rate for score in scores]),
            REFUSALS: scored.refusal_rate,
        }
    for name, rate in rates.items():
        if name not in estimated:
            add_rates(table, breakdown, measures[name], rate, cuts)
    for name, column in outside_of(reply).statuses.items():
        add_rates(table, breakdown, measures[name], answers[column].phi, cuts)
    few = (dimension for dimension in breakdown.sets.dimensions if counts[dimension] <= MOST_GROUPS)
    slicings = {dimension: breakdown.groups(dimension) for dimension in few}
    add_missing(table, breakdown.sets, measures[NA_SPREAD], rates[NA_RATE], slicings, family="missing answers")


def _lowest_rates(rates: Sequence[Array]) -> Array:
    out = rates[0]
    for rate in rates[1:]:
        out = np.fmin(out, rate)
    return out


def add_rates(
    table: EstimateTable, breakdown: Breakdown, measure: Measure, rate: Array, cuts: Sequence[Sequence[str]]
) -> None:
    """Add a share of replies, of shape (stimuli, items), broken down by each of the cuts.

    Shares of replies may be near 0 or 1, where a bootstrap of the units that were seen is too narrow: few of them, or
    none, differ from the others. Wilson's interval is not (`estimators.column_shares`).
    """
    pictures = np.arange(breakdown.sets.manifest.height)
    for by in cuts:
        rows, columns = breakdown.rows(pictures, by), breakdown.columns(by)
        cells = shift_cells(rate, breakdown.sets.identity, rows, columns, len(breakdown.sets.identities))
        labels = breakdown.make_labels(cells.labels)
        table.add(measure, labels, column_shares(cells.sums, cells.counts), keep=cells.shown > 0)


def add_overall(table: EstimateTable, sets: Sets, measure: Measure, values: Array) -> None:
    """Add the mean of a quantity of shape (stimuli, items)."""
    rows, columns = Slicing.whole(len(values)), Slicing.whole(values.shape[1])
    add_levels(table, measure, shift_cells(values, sets.identity, rows, columns, len(sets.identities)))


def add_missing(
    table: EstimateTable,
    sets: Sets,
    measure: Measure,
    rate: Array,
    groups: Mapping[str, Slicing],
    family: str,
) -> None:
    """Add whether some groups of units (by dimension) get fewer answers than others: a finding of its own."""
    everyone = Slicing.whole(len(rate)), Slicing.whole(rate.shape[1])
    cells = shift_cells(rate, sets.identity, *everyone, len(sets.identities))
    per_unit = cell_means(cells.sums, cells.counts)
    n = np.array([cells.counts.sum()], dtype=np.int64)
    for dimension, cut in groups.items():
        spreads = group_spreads(per_unit, cut.codes, len(cut), SEED)
        add_spreads(table, measure, dimension, per_unit, cut, Slicing.whole(1), spreads, mean=False, family=family, n=n)
