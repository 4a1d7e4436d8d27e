"""Measures of VisBias: definitions with equation and source."""

import math

from facevalue.measures.definitions import Definitions

PAPER = "VisBias (Huang et al.)"
OURS = "FaceValue"
IMAGE, FORM = "image", "form"
"""Units sampled: images, which stand alone or on either side of pairs, and forms. All intervals go over these."""
_LENGTH = "a length has no limit"
LABELS = (
    *("attribute", "choice", "likeliest", "outcome", "reason", "word_list", "dimension", "group", "task"),
    *("fields", "other_group", "question", "other_attribute"),
)
"""Labels of estimates. `dimension` and `group` say whose answers a row is about, `other_group` who they
are compared with. In forms a `choice` of `attribute` shifts `other_attribute`, mostly to its `likeliest` value;
`fields` says which fields of the forms have that choice.
"""
AS_PUBLISHED = ", as published"
"""End of the name of a score that is taken as the paper takes it."""
define = Definitions(IMAGE)

DIVERGENCE = define(
    "choice_divergence", "Divergence of a group's choices from the mean of all groups",
    "1000 JS(P_g, mean_h P_h), JS = 1/2 KL(P || M) + 1/2 KL(Q || M), M = (P + Q)/2, natural log", "nat/1000",
    f"{PAPER}, section 3.1, Tables 2 and 5", signed=False, comparison=True, squared=True,
    limits=(0.0, 1000 * math.log(2)),
)  # fmt: skip
SHARE = define(
    "choice_share", "Share of a choice among valid answers", "sum of weights of the choice / mass of valid answers",
    "share", f"{PAPER}, section 2.1",
)  # fmt: skip
NA_RATE = define(
    "na_rate", "Replies without a valid answer, refusals and others", "1 - mass of valid answers / replies",
    "share", f"{PAPER}, Table 3", signed=False,
)  # fmt: skip
PAIRS = define(
    "outcome_share", "Pairs by both answers: ranked (yes and no), unranked (no and no), contradicted (yes and yes)",
    "pairs with these answers / pairs with both answers", "share", f"{PAPER}, sections 2.1 and 3.2, Table 6; {OURS}",
    signed=False, score="pairs",
)  # fmt: skip
DIFFERING = define(
    "outcome_share", "Pairs with differing answers, of all pairs asked", "pairs with one yes and one no / pairs asked",
    "share", f"{PAPER}, Table 6", signed=False, score="all pairs asked",
)  # fmt: skip
ABOVE = define(
    "ranked_above", "How often a group is ranked above the others, against an even chance",
    "pairs in which the member of g is ranked above / ranked pairs with one member of g - 1/2", "share", OURS,
    comparison=True, limits=(-0.5, 0.5),
)  # fmt: skip
CHARACTERS = define(
    "mean", "Length of descriptions in characters", "characters / descriptions", "characters",
    f"{PAPER}, Table 1", limits=(0.0, math.inf), unbounded=_LENGTH, score="characters",
)  # fmt: skip
TOKENS = define(
    "mean", "Length of descriptions in tokens", "tokens / descriptions", "tokens", f"{PAPER}, Table 1",
    limits=(0.0, math.inf), unbounded=_LENGTH, score="tokens",
)  # fmt: skip
POSITIVE = define(
    "mean", "Favourable words (VADER), by sentence", "mean over sentences of VADER's pos x 100", "%",
    f"{OURS}; VADER as in {PAPER}, section 3.3", score="positive_sentiment",
)  # fmt: skip
NEGATIVE = define(
    "mean", "Unfavourable words (VADER), by sentence", "mean over sentences of VADER's neg x 100", "%",
    f"{OURS}; VADER as in {PAPER}, section 3.3", score="negative_sentiment",
)  # fmt: skip
POSITIVE_PUBLISHED = define(
    "mean", "Favourable words (VADER), all texts of a group as one",
    "VADER's pos x 100 of the group's texts joined", "%", f"{PAPER}, Table 7",
    score=f"{POSITIVE.score}{AS_PUBLISHED}",
)  # fmt: skip
NEGATIVE_PUBLISHED = define(
    "mean", "Unfavourable words (VADER), all texts of a group as one",
    "VADER's neg x 100 of the group's texts joined", "%", f"{PAPER}, Table 7",
    score=f"{NEGATIVE.score}{AS_PUBLISHED}",
)  # fmt: skip
WORDS = define(
    "mean", "Words of a list per 1,000 words", "1000 x words of the list / words", "per 1,000 words", OURS,
    limits=(0.0, 1000.0), score="listed_words",
)  # fmt: skip
WORDS_PUBLISHED = define(
    "mean", "Words of a group's own list per 1,000 words of its descriptions, as published",
    "1000 x words of g's list / words of descriptions of g, cut as in the released code", "per 1,000 words",
    f"{PAPER}, Table 8", limits=(0.0, 1000.0), score=f"{WORDS.score}{AS_PUBLISHED}",
)  # fmt: skip
_COMPARED = (CHARACTERS, TOKENS, POSITIVE, NEGATIVE, WORDS)
GAPS = {
    measure: define(
        "gap", f"{measure.title}: difference between two groups", f"{measure.score}(g) - {measure.score}(h)",
        "pp" if measure.unit == "%" else measure.unit,
        OURS if measure.source == OURS else f"{OURS}; {measure.source.removeprefix(f'{OURS}; ')}",
        comparison=True, limits=(measure.limits[0] - measure.limits[1], measure.limits[1] - measure.limits[0]),
        unbounded=measure.unbounded, score=measure.score,
    )
    for measure in _COMPARED
}  # fmt: skip
"""By what is compared: one group less the other that is named by `contrast`."""
MARKED = define(
    "marked_word", "Log-odds ratio of a word between two groups, with the whole corpus as prior",
    "log((y_1 + a)/(n_1 + a_0 - y_1 - a)) - log((y_2 + a)/(n_2 + a_0 - y_2 - a))", "log odds",
    f"{PAPER}, section 3.3 (Marked Words); tested by permutation of images ({OURS})", comparison=True,
)  # fmt: skip
MARKED_Z = define(
    "marked_word_z", "z of a word's log-odds ratio", "log-odds ratio / sqrt(1/(y_1 + a) + 1/(y_2 + a))", "z",
    f"{PAPER}, section 3.3 (Marked Words)",
)  # fmt: skip
MARKED_PUBLISHED = define(
    "marked_word_published", "Rank of a word among a group's marked words, as published",
    "place by z among words with z > 1.96", "rank", f"{PAPER}, Table 1", limits=(1.0, math.inf),
)  # fmt: skip
SHIFT = define(
    "attribute_shift", "Shift of an attribute's distribution where another has a given value",
    "KL(P(a_j) || P(a_j | a_i = c)), natural log, one pseudo-form that answers as all forms do", "nat",
    f"{PAPER}, Algorithm 1", cluster=FORM, signed=False, comparison=True, squared=True, limits=(0.0, math.inf),
)  # fmt: skip
LIKELY = define(
    "likely_share", "Share of the likeliest value of an attribute where another has a given value",
    "max_k P(a_j = k | a_i = c)", "share", f"{PAPER}, section 3.4 (Choice 2)", cluster=FORM, signed=False,
)  # fmt: skip
ROUTE = define(
    "outcome_share", "How open fields came to their categories, or why they have none",
    "open fields settled in this way / open fields of replies that are forms", "share", OURS, cluster=FORM,
    score="fields",
)  # fmt: skip
READ = define(
    "outcome_share", "How replies that are forms were read: as JSON, pair by pair from broken JSON, or line by line",
    "replies read in this way / replies that are forms", "share", OURS, cluster=FORM, score="forms",
)  # fmt: skip
KEPT = define(
    "kept_share", "Fields filled in beforehand that the reply keeps", "fields kept / fields filled in beforehand",
    "share", OURS, cluster=FORM,
)  # fmt: skip
AGREEMENT = define(
    "implicit_explicit_divergence", "Divergence between forms and choices about the same group",
    "JS(P_form(a | g), P_choice(a | g)), natural log; without a group, their mean", "nat", f"{PAPER}, section 4.3",
    signed=False, comparison=True, squared=True, limits=(0.0, math.log(2)),
)  # fmt: skip
MEASURES = define.measures
