"""Definitions of the checks of a study's instrument: place and letter of options, sides of pairs, missing answers."""

from math import inf

from facevalue.measures.definitions import Measure
from facevalue.protocol.replies import Options, Reply
from facevalue.protocol.written import outside_of
from facevalue.statistics.statistic import OURS

POSITION, LETTERED, SIDE_BIAS = "position_bias", "letter_bias", "side_bias"
NA_RATE, REFUSALS, NA_SPREAD = "na_rate", "refusal_rate", "na_spread"
SIDE_SCORE = "(side)"
"""Column of answers about pairs: the score as asked, before it is turned round."""

INSTRUMENT = (POSITION, LETTERED, SIDE_BIAS, NA_RATE, REFUSALS, NA_SPREAD)
"""Names of the checks of the instrument."""


def instrument_measures(reply: Reply, unit: str, *, sides: bool) -> dict[str, Measure]:
    """Definitions of the checks that a study has."""
    checks = [
        (NA_RATE, "Share of questions without a valid answer", "(asked - mass of valid answers) / asked", "share"),
        (REFUSALS, "Share of refusals", "refusals / asked", "share"),
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
