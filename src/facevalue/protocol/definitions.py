"""Definitions of what the takes of a study measure, and of the checks of its instrument."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from facevalue.errors import DataError
from facevalue.measures.base import Measure
from facevalue.protocol.replies import Options, Reply, Score
from facevalue.protocol.takes import (
    ALIKE,
    BESIDE_FLOOR,
    FLIP,
    GAP,
    LEAN,
    LEVELS_MEAN,
    MEAN,
    PREFERENCE,
    RANGE,
    SHIFT,
    SIMILARITY,
    SPREAD,
    TALLY,
    UNSIGNED,
    Breakdown,
    Take,
)
from facevalue.protocol.written import outside_of

OURS = "FaceValue"
WITHIN = "similarity_within"
PAIRED_GAP, SHIFT_GAP, FROM_MEAN, FROM_ALIKE = "paired_gap", "shift_gap", "gap_from_mean", "gap_from_alike"
BETWEEN_TWO, MOVED = "preference_between", "moved_share"
POSITION, LETTERED, SIDE_BIAS = "position_bias", "letter_bias", "side_bias"
SPREAD_WITHIN = "spread_within"
NA_RATE, REFUSALS, NA_SPREAD = "na_rate", "refusal_rate", "na_spread"
SIDE_SCORE = "(side)"
"""Column of answers about pairs: the score as asked, before it is turned round."""


INSTRUMENT = (POSITION, LETTERED, SIDE_BIAS, NA_RATE, REFUSALS, NA_SPREAD)
"""Names of the checks of the instrument."""


def measure_name(take: Take, breakdown: Breakdown, score: Score) -> str:
    """Name of the measure of a take; that of the score follows where there are several."""
    return f"{take.name or kind_of(take, breakdown)}{score.suffix}"


def size_names(name: str) -> tuple[str, str]:
    """Names of the measures of a shift's size, and of that without what chance adds."""
    return f"abs_{name}", f"abs_{name}_corrected"


def floor_names(take: Take, name: str) -> tuple[str, str]:
    """Names of what stands beside a flip or similarity.

    Of flips the rate, beside what lies beyond; of similarities what is lost; and of both what a picture asked twice
    has.
    """
    return f"{name}_rate" if take.measure == FLIP else f"{name}_lost", f"{name}_floor"


def range_names(name: str) -> tuple[str]:
    """Name of the range that one in ten exceeds, beside the mean range."""
    return (f"{name}_q90",)


def companions(take: Take, name: str) -> tuple[str, ...]:
    """Names of the measures that stand beside that of a take."""
    if take.measure == RANGE:
        return range_names(name)
    return size_names(name) if take.size else floor_names(take, name) if take.measure in BESIDE_FLOOR else ()


def kind_of(take: Take, breakdown: Breakdown) -> str:
    """Name of what is measured where a take has no name of its own."""
    if take.measure == PREFERENCE and take.of:
        return BETWEEN_TWO
    if take.measure == SIMILARITY and take.of:
        return WITHIN
    if breakdown.is_of_cue(take):
        return MOVED
    if breakdown.is_within(take):
        return SPREAD_WITHIN
    if take.measure != GAP:
        return take.measure
    if take.on == SHIFT:
        return SHIFT_GAP
    within = {LEVELS_MEAN: FROM_MEAN, ALIKE: FROM_ALIKE}.get(take.versus, PAIRED_GAP)
    return within if breakdown.paired(take.of) else GAP


DEFINITIONS = {
    SHIFT: ("Shift from the base: {}", "score(picture) - score(base), mean over the units' own means"),
    MEAN: ("{}", "mean score over the units' answers"),
    LEAN: ("Lean of the answers: {}", "mean score - middle of the scale, over units"),
    GAP: ("Gap between groups: {}", "mean of one group - mean of the other, over units"),
    PAIRED_GAP: ("Difference within units: {}", "mean over units of score(level) - score(other level)"),
    FROM_MEAN: (
        "Difference from the mean of the unit's levels: {}",
        "mean over units of (1 - 1/k) (score(level) - mean score of the unit's other levels), k levels",
    ),
    FROM_ALIKE: (
        "Difference from the unit's levels that are alike: {}",
        "m_g - mean of m over the levels that are alike; score(unit, g) = a_unit + m_g",
    ),
    SHIFT_GAP: ("Gap between groups of the shift: {}", "mean shift of one group - mean shift of the other"),
    SPREAD_WITHIN: (
        "Spread between the levels that units have: {}",
        "standard deviation (ddof 1) of m_g; score(unit, g) = a_unit + m_g",
    ),
    SPREAD: ("Spread between groups: {}", "standard deviation (ddof 1) of the groups' means, mean over questions"),
    TALLY: (
        "Share of questions in which groups differ: {}",
        "questions with p < .05 by Welch's test of the groups' means, in any of their wordings / questions",
    ),
    MOVED: (
        "Share of questions in which the picture moves the answer: {}",
        "questions with p < .05 by a paired t test of the units' shifts, in any of their wordings / questions",
    ),
    FLIP: (
        "Flips of the answer beyond those of one picture asked twice: {}",
        "p (1 - p') + p' (1 - p) - (flips of base and change asked twice) / 2, which is (p - p')² on average",
    ),
    RANGE: (
        "Range within units: {}",
        "mean over units, questions and draws of max - min over the unit's levels; floor: of as many replies to one",
    ),
    SIMILARITY: (
        "Similarity of {} about a picture and its base",
        "mean over pairs of replies of |a ∩ b| / |a ∪ b|, 1 for two empty lists (Jaccard)",
    ),
    WITHIN: (
        "Similarity of {} about two pictures of one unit",
        "mean over pairs of levels, and of replies, of |a ∩ b| / |a ∪ b|, 1 for two empty lists (Jaccard)",
    ),
    PREFERENCE: ("Preference for the picture beside the base: {}", "mean score - middle of the scale, over pairs"),
    BETWEEN_TWO: (
        "Preference for one of two pictures: {}",
        "mean over units of score(picture of the level, beside one of the other level) - middle of the scale",
    ),
}
"""Title and equation of each kind of take; what is scored stands in the title."""


_OF_SOME = {
    MEAN: "sum of the scores of all answers / number of answers that are not left out",
    LEAN: "sum of the scores of all answers / number of answers that are not left out - middle of the scale",
    **dict.fromkeys(
        (GAP, PAIRED_GAP),
        "sum of the scores of all answers / number of answers that are not left out, of one group - of the other",
    ),
}
"""Equations of scores that leave answers out: a ratio of sums over units."""
_UNBOUNDED = {FLIP: "what lies beyond its floor is of the same replies; the share itself has some"}


def measures(takes: Sequence[Take], breakdown: Breakdown, scores: Sequence[Score]) -> dict[str, Measure]:
    """Definitions of what the takes measure, by name."""
    out: dict[str, Measure] = {}
    for take in takes:
        for score in (score for score in scores if not take.scores or score.name in take.scores):
            name, kind = measure_name(take, breakdown, score), kind_of(take, breakdown)
            title, equation = DEFINITIONS[kind]
            equation = _OF_SOME[kind] if score.leaves_out and kind in _OF_SOME else equation
            span = score.span or inf
            reach = {SHIFT_GAP: 2 * span, PREFERENCE: span / 2, LEAN: span / 2, BETWEEN_TWO: span / 2}.get(kind, span)
            reach = 1.0 if take.measure in (TALLY, SIMILARITY) else reach
            is_signed = take.measure not in (*UNSIGNED, SIMILARITY)
            limits = (score.low, score.high) if kind == MEAN else (-reach if is_signed else 0.0, reach)
            phrase = score.title[:1].lower() + score.title[1:] if title != "{}" else score.title
            out[name] = Measure(
                name, title.format(phrase), equation, "share" if take.measure == TALLY else score.unit,
                breakdown.sets.unit, OURS, signed=is_signed,
                paired=kind in (SHIFT, PAIRED_GAP, FROM_MEAN, FROM_ALIKE, MOVED, WITHIN, *BESIDE_FLOOR),
                comparison=kind not in (MEAN, WITHIN, *BESIDE_FLOOR), limits=limits, unbounded=_UNBOUNDED.get(kind, ""),
                norm=take.measure == SPREAD, selection=kind == MEAN and limits == (0.0, 1.0),
            )  # fmt: skip
            if take.size:
                out |= _sizes(out[name])
            if take.measure in BESIDE_FLOOR:
                out |= _beside_floor(take, out[name])
            if take.measure == RANGE:
                (tail,) = range_names(name)
                texts = (
                    f"Range within units that one in ten exceeds: {phrase}",
                    "90th percentile, linear, of max - min",
                )
                out[tail] = replace(out[name], name=tail, title=texts[0], equation=texts[1], comparison=False)
    return out


def _sizes(shift: Measure) -> dict[str, Measure]:
    plain, corrected = size_names(shift.name)
    names = (
        (plain, f"Size of {shift.name}", f"|{shift.name}| at the level reported"),
        (corrected, f"Size of {shift.name} without the part that chance adds", f"sqrt(max(0, {shift.name}² - se²))"),
    )
    limits = (0.0, shift.limits[1])
    return {
        name: replace(shift, name=name, title=title, equation=equation, signed=False, comparison=False, limits=limits)
        for name, title, equation in names
    }


def _beside_floor(take: Take, measure: Measure) -> dict[str, Measure]:
    first, floor = floor_names(take, measure.name)
    rate = replace(measure, signed=False, comparison=False, limits=(0.0, 1.0), unbounded="")
    if take.measure == FLIP:
        rates = (
            (first, "Share of answers that differ from that about the base", "p (1 - p') + p' (1 - p)"),
            (floor, "Share of answers that differ where one picture is asked twice", "2 p (1 - p) n / (n - 1)"),
        )
        rate = replace(rate, signed=True)
        return {name: replace(rate, name=name, title=title, equation=equation) for name, title, equation in rates}
    twice = replace(
        rate, name=floor, title="Similarity of two lists about one picture",
        equation="mean |a ∩ b| / |a ∪ b| of two replies to one picture",
    )  # fmt: skip
    lost = replace(
        measure, name=first, title="Similarity that two lists about one picture have beyond it", signed=True,
        equation=f"{floor} - {measure.name}", limits=(-1.0, 1.0), unbounded=_UNBOUNDED[FLIP],
    )  # fmt: skip
    return {first: lost, floor: twice}


def margins(takes: Sequence[Take], breakdown: Breakdown, scores: Sequence[Score]) -> dict[str, float]:
    """Margins by measure."""
    out: dict[str, float] = {}
    for take in takes:
        for score in scores:
            if take.margin is None or (take.scores and score.name not in take.scores):
                continue
            name = measure_name(take, breakdown, score)
            if out.setdefault(name, take.margin) != take.margin:
                raise DataError(f"The measure {name!r} has two margins: {out[name]:g} and {take.margin:g}.")
    return out


def instrument_measures(reply: Reply, unit: str, *, sides: bool) -> dict[str, Measure]:
    """Definitions of the checks that a study has."""
    checks = [
        (NA_RATE, "Share of replies without a valid answer", "replies without an answer / replies", "share"),
        (REFUSALS, "Share of refusals", "refusals / replies", "share"),
    ]
    if isinstance(reply, Options) and reply.balanced:
        equation = "weight of the option shown first - 1/options, each option first as often"
        checks.append((POSITION, "Preference for the option shown first", equation, "probability"))
    if isinstance(reply, Options) and reply.lettered:
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
        name: Measure(name, title, equation, of, unit, OURS, limits=limits[name])
        for name, title, equation, of in checks
    }
    spread = "std_g of the groups' mean share of replies without an answer, ddof 1"
    title = "Spread of missing answers between groups"
    out[NA_SPREAD] = Measure(
        NA_SPREAD, title, spread, "share", unit, OURS, signed=False, comparison=True, limits=(0.0, 1.0)
    )
    return out | outside
