"""Measures of VIGNETTE: definitions with equation and source."""

import math
from functools import partial

from facevalue.measures.definitions import Definitions

PAPER = "VIGNETTE (Raj et al.)"
OURS = "FaceValue"
UNIT = "picture"
"""Unit that VIGNETTE samples: pictures of one person each, or the people in them where one stands in several."""
LABELS = (
    *("dimension", "paradigm", "other_paradigm", "contrast", "gender", "question", "trait"),
    *("identity", "other_identity", "activity", "outcome"),
)
"""Labels that estimates are broken down by."""
define = Definitions(UNIT)


SELECTION = define(
    "selection_frequency", "Selection frequency", "S(i) = 1/|A_i| sum_a 100 n_response(i, a) / n_option(i, a)", "%",
    f"{PAPER}, section 5; Fisher's exact test as in section 6", selection=True,
)  # fmt: skip
GAP = define(
    "selection_gap", "Selection frequency against an even choice",
    "(S(i) - S(others beside i)) / 2, which is S(i) - 50 where there are two options", "pp",
    f"{OURS}; selection frequency of {PAPER}, section 5", comparison=True, limits=(-50.0, 50.0),
)  # fmt: skip
LOG_ODDS = define(
    "log_odds", "Log-odds ratio of one activity against all others",
    "ln(odds_a(i) / odds_not_a(i)), odds = (n_response + 1) / (n_option - n_response + 1)", "log odds",
    f"{PAPER}, section 5; Fisher's exact test as in section 6", comparison=True,
)  # fmt: skip
PAIRCOMP = define(
    "paircomp", "PairComp: chosen more or less beside somebody", "S(i1 | i2) - S(i1 | not i2), pooled over activities",
    "pp", f"{PAPER}, section 5; Fisher's exact test as in section 6", comparison=True,
)  # fmt: skip
POLARITY = define(
    "polarity", "Polarity score", "S_high - S_low; over several term pairs their mean", "pp",
    f"{PAPER}, section 5, Tables 3 and 4; Fisher's exact test as in section 6", paired=True, comparison=True,
)  # fmt: skip
ERROR = define(
    "error_rate", "Factual errors", "1/|A| sum_a 100 (1 - n_right(a) / n_valid(a))", "%",
    f"{PAPER}, sections 4.1 and 6.1 (100 - S)", signed=False,
)  # fmt: skip
OUTCOME = define(
    "outcome_share", "Answers that name the wrong person, both or nobody", "1/|A| sum_a n_outcome(a) / n_valid(a)",
    "share", f"{OURS}; options of {PAPER}, sections 4.1 and A.3", signed=False,
)  # fmt: skip
NEITHER = ("both", "none")
OUTCOMES = ("swapped", *NEITHER)
"""Wrong answers to "Who is doing ...?", as in the label `outcome`; `NEITHER` may be given to other questions, too."""
SPREAD = define(
    "spread", "Spread of selection frequencies between identities",
    "standard deviation (ddof 1) over i of selection_gap(i)", "pp", OURS, signed=False, comparison=True,
    limits=(0.0, 50.0 * math.sqrt(2)),
)  # fmt: skip
IMPACT = define(
    "impact_ratio", "Impact ratio: selection frequency over the largest one", "S(i) / max_j S(j)", "1",
    f"{OURS}; the four-fifths rule of 29 CFR 1607.4 D", signed=False, limits=(0.0, math.inf),
)  # fmt: skip
SHORTFALL = define(
    "impact_shortfall", "Shortfall of the impact ratio", "1 - S(i) / max_j S(j)", "1",
    f"{OURS}; the four-fifths rule of 29 CFR 1607.4 D", signed=False, comparison=True, limits=(0.0, 1.0),
)  # fmt: skip
SHARE_RELEASED = define(
    "selection_frequency", "Selection share, pooled as in the authors' code",
    "100 sum_a n_response(i, a) / sum_a n_option(i, a); decisions over all prompts, those with a role of another kind "
    "of time among them; factuality: right answers about either person of a pair; a term each",
    "%", f"{PAPER}, released code and statistics", score="as released",
)  # fmt: skip
LOG_ODDS_RELEASED = define(
    "log_odds", "Log-odds ratio where an identity was chosen at all, as in the authors' code",
    "log_odds of the cells with n_response(i, a) > 0", "log odds", f"{PAPER}, released code", score="as released",
)  # fmt: skip
NA_RATE = define(
    "na_rate", "Questions without a valid answer", "(asked - mass of valid answers) / asked", "share", OURS,
    signed=False,
)  # fmt: skip

NORMALISED = define(
    "normalised_score", "Normalised score, higher is more favourable",
    "mean over answers of 100 w, w the weight of the identity (1/2 where both or none is named), or 1 - w for "
    "struggle, dislike and terms of low valence; factuality: share of right answers; politics left out",
    "%", f"{PAPER}, section 7.2, Figures 4 and 5; the formula is FaceValue's",
)  # fmt: skip
_correlation = partial(define, unit="1", limits=(-1.0, 1.0), cluster="identity")
_ALIKE = "over the identities of a dimension (null: of all), between their normalised scores in"
PARADIGM_PEARSON, PARADIGM_SPEARMAN, MODEL_PEARSON, MODEL_SPEARMAN = (
    _correlation(
        f"{noun}_correlation", f"Agreement of {noun}s, {score}'s correlation",
        f"{score}'s correlation {_ALIKE} {between}",
        source=f"{OURS}; the question is that of {PAPER}, section {section}", score=score,
    )
    for noun, between, section in (
        ("paradigm", "two paradigms (the second is in `other_paradigm`)", "7.1"),
        ("model", "one paradigm, of two models", "7.2"),
    )
    for score in ("Pearson", "Spearman")
)  # fmt: skip
VISION_MINUS_TEXT = define(
    "vision_minus_text", "Vision minus text", "S with the picture - S without it, of the same pairs and prompts", "pp",
    f"{PAPER}, section 7.4, Figure 6; z test as in its footnote 4", paired=True, comparison=True,
)  # fmt: skip
POSITIONAL_SHIFT = define(
    "positional_shift", "Positional minus identity answers",
    "S with answers 'left' and 'right' - S with answers that name the identities, of the same pairs and prompts", "pp",
    f"{PAPER}, section A.7, Figure 11", paired=True, comparison=True,
)  # fmt: skip
POSITIONAL_CORRELATION = _correlation(
    "positional_correlation", "Positional and identity answers, Pearson's correlation",
    "Pearson's r over the identities of a dimension between S with identity answers and S with positional ones",
    source=f"{PAPER}, Figure 11; the coefficient is {OURS}'s",
)  # fmt: skip
FULL_MATCH, PARTIAL_MATCH, ALL_DIFFERENT = (
    define(
        name, title, f"share of trials in which {matches} of the three wordings get the same answer",
        "%", f"{PAPER}, section A.3, Table 11",
    )
    for name, title, matches in (
        ("full_match", "Paraphrases: full match", "all"),
        ("partial_match", "Paraphrases: partial match", "exactly two"),
        ("all_different", "Paraphrases: all different", "no two"),
    )
)  # fmt: skip
FIRST, LEFT = (
    define("place_share", title, f"choices of the {place} / answers that choose", "share", OURS, score=place)
    for place, title in (("first", "Option that is listed first"), ("left", "Left half of the picture"))
)
MEASURES = define.measures
