"""What VIGNETTE compares: identities across paradigms and models, and variants of one question. Definitions only."""

from facevalue.measures.base import Measure

PAPER = "VIGNETTE (000_3034adc9333dc66e)"
OURS = "FaceValue"
UNIT = "picture"

NORMALISED = Measure(
    "normalised_score", "Normalised score, higher is more favourable",
    "mean over answers of 100 w, w the weight of the identity (1/2 where both or none is named), or 1 - w for "
    "struggle, dislike and terms of low valence; factuality: share of right answers; politics left out",
    "%", UNIT, f"{PAPER}, section 7.2, Figures 4 and 5; the formula is FaceValue's", limits=(0.0, 100.0),
)  # fmt: skip
_ALIKE = "over the identities of a dimension (null: of all), between their normalised scores in"
PARADIGM_PEARSON, PARADIGM_SPEARMAN = (
    Measure(
        f"paradigm_{name}", f"Agreement of paradigms, {title}'s correlation",
        f"{title}'s correlation {_ALIKE} two paradigms (the second is in `category`)",
        "1", "identity", f"{OURS}; the question is that of {PAPER}, section 7.1", limits=(-1.0, 1.0),
    )
    for name, title in (("pearson", "Pearson"), ("spearman", "Spearman"))
)  # fmt: skip
MODEL_PEARSON, MODEL_SPEARMAN = (
    Measure(
        f"model_{name}", f"Agreement of models, {title}'s correlation",
        f"{title}'s correlation {_ALIKE} one paradigm, of two models",
        "1", "identity", f"{OURS}; the question is that of {PAPER}, section 7.2", limits=(-1.0, 1.0),
    )
    for name, title in (("pearson", "Pearson"), ("spearman", "Spearman"))
)  # fmt: skip
_SHIFT = (-100.0, 100.0)
VISION_MINUS_TEXT = Measure(
    "vision_minus_text", "Vision minus text", "S with the picture - S without it, of the same pairs and prompts",
    "pp", UNIT, f"{PAPER}, section 7.4, Figure 6; z test as in its footnote 4", paired=True, comparison=True,
    limits=_SHIFT,
)  # fmt: skip
POSITIONAL_SHIFT = Measure(
    "positional_shift", "Positional minus identity answers",
    "S with answers 'left' and 'right' - S with answers that name the identities, of the same pairs and prompts",
    "pp", UNIT, f"{PAPER}, section A.7, Figure 11", paired=True, comparison=True, limits=_SHIFT,
)  # fmt: skip
POSITIONAL_CORRELATION = Measure(
    "positional_correlation", "Positional and identity answers, Pearson's correlation",
    "Pearson's r over the identities of a dimension between S with identity answers and S with positional ones",
    "1", "identity", f"{PAPER}, Figure 11; the coefficient is {OURS}'s", limits=(-1.0, 1.0),
)  # fmt: skip
FULL_MATCH, PARTIAL_MATCH, ALL_DIFFERENT = (
    Measure(
        name, title, f"share of trials in which {what} of the three wordings get the same answer",
        "%", UNIT, f"{PAPER}, section A.3, Table 11", limits=(0.0, 100.0),
    )
    for name, title, what in (
        ("full_match", "Paraphrases: full match", "all"),
        ("partial_match", "Paraphrases: partial match", "exactly two"),
        ("all_different", "Paraphrases: all different", "no two"),
    )
)  # fmt: skip
FIRST_OPTION, LEFT = (
    Measure(
        name, title, f"share of the answers that choose one of two and {what}; 50 if it does not matter",
        "%", UNIT, OURS, limits=(0.0, 100.0),
    )
    for name, title, what in (
        ("first_option_share", "Option that is listed first", "choose the one listed first"),
        ("left_share", "Left half of the picture", "choose what the left half shows"),
    )
)  # fmt: skip
MEASURES = (
    *(NORMALISED, PARADIGM_PEARSON, PARADIGM_SPEARMAN, MODEL_PEARSON, MODEL_SPEARMAN),
    *(VISION_MINUS_TEXT, POSITIONAL_SHIFT, POSITIONAL_CORRELATION),
    *(FULL_MATCH, PARTIAL_MATCH, ALL_DIFFERENT, FIRST_OPTION, LEFT),
)
