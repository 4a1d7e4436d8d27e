"""Definitions of the checks of a study's instrument: place and letter of options, sides of pairs, missing answers."""

from math import inf

from facevalue.measures.definitions import UNANSWERED, Measure, key_of
from facevalue.protocol.replies import Options, Reply
from facevalue.protocol.written import outside_of
from facevalue.statistics.statistic import OURS

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
        key: Measure(name, title, equation, of, unit, OURS, limits=limits[key], score=score)
        for key, title, equation, of in checks
        for name, _, score in [key.partition(".")]
    }
    spread = "std_g of the groups' mean share of replies without an answer, ddof 1"
    title = "Spread of missing answers between groups"
    out[NA_SPREAD] = Measure(
        "spread", title, spread, "share", unit, OURS, signed=False, comparison=True, limits=(0.0, 1.0), score=UNANSWERED
    )
    return out | outside
