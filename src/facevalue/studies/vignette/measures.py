"""What VIGNETTE measures: definitions with equation and source."""

import math

from facevalue.measures.base import Measure
from facevalue.studies.vignette import measures_compared

PAPER = "VIGNETTE (000_3034adc9333dc66e)"
OURS = "FaceValue"
UNIT = "picture"
"""What VIGNETTE samples: pictures of one person each, or the people in them where one stands in several."""
LABELS = (
    *("dimension", "paradigm", "other_paradigm", "contrast", "gender", "question", "trait"),
    *("identity", "other_identity", "activity"),
)
"""What estimates are broken down by."""
RENAMED = {name: {"category": "other_paradigm"} for name in ("paradigm_pearson", "paradigm_spearman")}
"""What labels were called in the first version of the estimates; see `Study.renamed`."""
_LIMITS = {"%": (0.0, 100.0), "pp": (-100.0, 100.0)}


def _measure(
    name: str, title: str, equation: str, unit: str, source: str, *, paired: bool = False, signed: bool = True,
    comparison: bool = False, limits: tuple[float, float] | None = None,
) -> Measure:  # fmt: skip
    if limits is None:
        limits = _LIMITS.get(unit, (-math.inf, math.inf))
    return Measure(name, title, equation, unit, UNIT, source, paired, signed, comparison, limits)


SELECTION = _measure(
    "selection_frequency", "Selection frequency", "S(i) = 1/|A_i| sum_a 100 n_response(i, a) / n_option(i, a)",
    "%", f"{PAPER}, section 5; Fisher's exact test as in section 6",
)  # fmt: skip
GAP = _measure(
    "selection_gap", "Selection frequency against an even choice",
    "(S(i) - S(others beside i)) / 2, which is S(i) - 50 where there are two options",
    "pp", f"{OURS}; selection frequency of {PAPER}, section 5", comparison=True, limits=(-50.0, 50.0),
)  # fmt: skip
LOG_ODDS = _measure(
    "log_odds", "Log-odds ratio of one activity against all others",
    "ln(odds_a(i) / odds_not_a(i)), odds = (n_response + 1) / (n_option - n_response + 1)",
    "log odds", f"{PAPER}, section 5; Fisher's exact test as in section 6", comparison=True,
)  # fmt: skip
PAIRCOMP = _measure(
    "paircomp", "PairComp: chosen more or less beside somebody", "S(i1 | i2) - S(i1 | not i2), pooled over activities",
    "pp", f"{PAPER}, section 5; Fisher's exact test as in section 6", comparison=True,
)  # fmt: skip
POLARITY = _measure(
    "polarity", "Polarity score", "S_high - S_low; over several term pairs their mean",
    "pp", f"{PAPER}, section 5, Tables 3 and 4; Fisher's exact test as in section 6", paired=True, comparison=True,
)  # fmt: skip
ERROR = _measure(
    "error_rate", "Factual errors", "1/|A| sum_a 100 (1 - n_right(a) / n_valid(a))",
    "%", f"{PAPER}, sections 4.1 and 6.1 (100 - S)", signed=False,
)  # fmt: skip
SWAPPED = _measure(
    "swapped_rate", "Wrong person named", "1/|A| sum_a 100 n_other_person(a) / n_valid(a)",
    "%", f"{OURS}; options of {PAPER}, section 4.1", signed=False,
)  # fmt: skip
BOTH = _measure(
    "both_rate", "Both persons named", "1/|A| sum_a 100 n_both(a) / n_valid(a)",
    "%", f"{OURS}; options of {PAPER}, sections 4.1 and A.3", signed=False,
)  # fmt: skip
NONE = _measure(
    "none_rate", "Nobody named", "1/|A| sum_a 100 n_none(a) / n_valid(a)",
    "%", f"{OURS}; options of {PAPER}, section 4.1", signed=False,
)  # fmt: skip
SPREAD = _measure(
    "spread", "Spread of selection frequencies between identities",
    "standard deviation (ddof 1) over i of selection_gap(i)",
    "pp", OURS, signed=False, comparison=True, limits=(0.0, 50.0 * math.sqrt(2)),  # two identities, always the same one
)  # fmt: skip
IMPACT = _measure(
    "impact_ratio", "Impact ratio: selection frequency over the largest one", "S(i) / max_j S(j)",
    "1", f"{OURS}; the four-fifths rule of 29 CFR 1607.4 D", signed=False, limits=(0.0, math.inf),
)  # fmt: skip
SHORTFALL = _measure(
    "impact_shortfall", "Shortfall of the impact ratio", "1 - S(i) / max_j S(j)",
    "1", f"{OURS}; the four-fifths rule of 29 CFR 1607.4 D", signed=False, comparison=True, limits=(0.0, 1.0),
)  # fmt: skip
SHARE_RELEASED = _measure(
    "selection_share_released", "Selection share, pooled as in the authors' code",
    "100 sum_a n_response(i, a) / sum_a n_option(i, a)", "%", f"{PAPER}, released code",
)  # fmt: skip
LOG_ODDS_RELEASED = _measure(
    "log_odds_released", "Log-odds ratio where an identity was chosen at all, as in the authors' code",
    "log_odds of the cells with n_response(i, a) > 0", "log odds", f"{PAPER}, released code",
)  # fmt: skip
NA_RATE = _measure(
    "na_rate", "Replies without a valid answer", "100 x replies without a valid answer / replies",
    "%", OURS, signed=False,
)  # fmt: skip

MEASURES = (
    *(SELECTION, GAP, LOG_ODDS, PAIRCOMP, POLARITY, ERROR, SWAPPED, BOTH, NONE, SPREAD, IMPACT, SHORTFALL),
    *(SHARE_RELEASED, LOG_ODDS_RELEASED, NA_RATE),
    *measures_compared.MEASURES,
)
