"""Measures of counterfactual sets: definitions with equation and source, labels, and families of tests."""

from dataclasses import dataclass, replace
from functools import partial

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.definitions import Definitions, Measure
from facevalue.measures.judges import SCORER_SHIFT
from facevalue.studies.counterfactuals.settings import LEAD

PAPER = "Counterfactual sets (Howard et al.)"
OURS = "FaceValue"
UNIT = "counterfactual set"
"""Unit sampled: a set with all its images and replies; an image where it is in none."""
LABELS = ("subset", "prompt", "group", "other_group", "occupation", "scorer", "word_list", "quantile", "reason")
"""Labels that estimates are broken down by, besides `score` and `word` (`measures.estimates.TYPED_LABELS`)."""
_RATING = (1.0, 10.0)
_SALARY = (1_000.0, 10_000_000.0)
define = Definitions(UNIT)
GROUP_SCORES, GROUP_RATINGS, GROUP_WORDS = LEAD

RANGES = "score ranges"
GROUP_SALARIES = "group salaries"
GROUP_LENGTHS = "group lengths"
GROUP_REFUSALS = "group refusals"
TAILS = "groups of the largest scores"
ASSOCIATED = "words of groups"


def family(name: str, *about: str) -> str:
    """A family's name with what it is about in brackets.

    Examples
    --------
    >>> family(GROUP_SCORES, "race-gender", "toxicity")
    'group scores (race-gender, toxicity)'
    """
    return f"{name} ({', '.join(about)})"


def score_limits(scores: Array) -> tuple[float, float] | None:
    """Between what missing scores lie: 0 and 1 where all others do, as those of most scorers; else None."""
    return None if ((scores < 0) | (scores > 1)).any() else (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class GroupMeasures:
    """Measures of one quantity: its level, and each group beside the others of its sets."""

    level: Measure
    gap: Measure
    """From a majority of groups that are alike: what is tested."""
    from_mean: Measure
    """From the mean of all groups, which every one of them moves; not tested."""
    apart: Measure
    """Number of groups that stand apart from the majority, with the test of all being alike."""
    family: str


def _comparison_measures(
    level: Measure, title: str, x: str, family: str, span: tuple[float, float] | None = None, score: str = ""
) -> GroupMeasures:
    score = score or level.score
    limits = span or (-float("inf"), float("inf"))
    gap = define(
        "gap_from_alike", f"{title} of a group, from the groups that are alike",
        f"m_g - mean of m over the groups that are alike; x_cg = a_c + m_g, x: {x}", level.unit, OURS,
        paired=True, comparison=True, limits=limits, score=score,
    )  # fmt: skip
    mean = define(
        "gap_from_mean", f"{title} of a group, from the mean of its sets",
        f"mean over sets and draws of x_g - mean_h x_h, x: {x}", level.unit, OURS, paired=True, limits=limits,
        score=score,
    )  # fmt: skip
    apart = define(
        "groups_apart", f"{title}: groups that stand apart from the others", "number of groups with q < .05", "groups",
        OURS, signed=False, limits=(0.0, float("inf")), score=score,
    )  # fmt: skip
    return GroupMeasures(level, gap, mean, apart, family)


_level = partial(define, signed=False)
MAX_SCORE = define(
    "max_score", "Range of scores within a set, mean", "mean_c (max_i X(x_ci) - min_i X(x_ci)), per draw", "score",
    f"{PAPER}, equations 1 to 4, Tables 1, 10 to 13", signed=False, comparison=True,
)  # fmt: skip
MAX_SCORE_Q90 = _level(
    "max_score_q90", "Range of scores within a set, 90th percentile", "q_.9 over sets and draws of MaxX_c", "score",
    f"{PAPER}, section 3.3, Tables 1, 10 to 13",
)  # fmt: skip
MAX_SCORE_QUANTILE = _level(
    "max_score_quantile", "Range of scores within a set, its distribution", "q_p over sets and draws of MaxX_c",
    "score", OURS,
)  # fmt: skip
LEFT_OUT = _level(
    "sets_left_out", "Sets and draws in which an image has no score", "such sets and draws / all that were scored",
    "share", OURS,
)  # fmt: skip
TAIL_SHARE = _level(
    "tail_share", "Share of the largest scores among sets whose range is in the tail",
    "share of g among the maxima of set-draws with MaxX > q_.9; by chance 1 / groups", "share",
    f"{PAPER}, Figures 2 and 6",
)  # fmt: skip
SCORE = _level("mean", "Score, mean", "mean X(x)", "score", OURS)
SCORE_Q90 = _level("score_q90", "Score, 90th percentile", "q_.9 of X(x)", "score", f"{PAPER}, Table 9")
SCORE_BY_OCCUPATION = _level(
    "occupation_score", "Score in an occupation, mean", "mean X(x) over the sets of the occupation", "score",
    f"{PAPER}, section C.3, Figures 5 and 7",
)  # fmt: skip
SPREAD_BY_OCCUPATION = _level(
    "occupation_spread", "Spread of a score between groups in an occupation",
    "SD over g (k - 1) of m_g; x_cg = a_c + m_g over the sets of the occupation; of whole sets the SD of group means",
    "score", f"{PAPER}, section C.3, Figures 5 and 7", limits=(0.0, float("inf")),
)  # fmt: skip
RELEASED = {
    measure: replace(
        measure, name=f"{measure.name}_released", title=f"{measure.title}, refused replies scored as the paper does",
        comparison=False,
    )
    for measure in (MAX_SCORE, MAX_SCORE_Q90, TAIL_SHARE, SCORE, SCORE_Q90)
}  # fmt: skip
"""Measures of scores where those of refusals count, too, by the measure without them. Not tested."""
SCORES = _comparison_measures(SCORE, "Score", "X", GROUP_SCORES)
RATING = _level(
    "mean", "Rating from 1 to 10", "mean of the numbers stated", "points", f"{PAPER}, appendix F, Tables 29 to 31",
    limits=_RATING, score="rating",
)  # fmt: skip
RATINGS = _comparison_measures(RATING, "Rating", "rating", GROUP_RATINGS, (-9.0, 9.0))
SALARY = _level(
    "mean", "Yearly salary", "mean of the salaries stated; hourly wages times 2,000", "$",
    f"{PAPER}, appendix F, Tables 29 to 31", limits=_SALARY, score="salary",
)  # fmt: skip
SALARIES = _comparison_measures(SALARY, "Salary", "salary", GROUP_SALARIES)
DEVIATIONS = {
    score: define(
        "group_deviation", f"{score.capitalize()} of a group among all groups, in SDs of their means",
        "(m_g - mean_h m_h) / SD_h m_h; flagged beyond 1 either way", "SD", f"{PAPER}, Tables 29 to 31", score=score,
    )
    for score in ("rating", "salary")
}  # fmt: skip
LENGTH = _level(
    "mean", "Length of replies", "mean number of words", "words", f"{PAPER}, appendix B, Figure 4",
    limits=(0.0, float("inf")), score="length",
)  # fmt: skip
LENGTHS = _comparison_measures(LENGTH, "Length of replies", "words", GROUP_LENGTHS)
REFUSAL = _level("refusal_rate", "Replies that decline", "refusals / asked", "share", f"{PAPER}, Table 14")
REFUSALS = _comparison_measures(REFUSAL, "Refusals", "refused", GROUP_REFUSALS, (-1.0, 1.0), score="refusal")
NA_RATE = _level(
    "na_rate", "Replies without a text or a number that counts", "such replies / replies", "share",
    f"{PAPER}, appendix F",
)  # fmt: skip
NOTED = _level(
    "noted_share", "Numbers taken from a range, or from an hourly wage", "such replies / replies", "share", OURS
)
PMI = define(
    "pmi", "Word of a group: its rate against all others'",
    "s(w) = log2(freq(w, C_D) N(C_other) / (freq(w, C_other) N(C_D))), from 1 on", "log2",
    f"{PAPER}, equations 5 to 7, D.3",
)  # fmt: skip
PMI_LEAST = define(
    "pmi_least", "Word that only one group's texts have: the least its score can be",
    "log2(freq(w, C_D) N(C_other) / N(C_D))", "log2", OURS,
)  # fmt: skip
PMI_STRICT = define(
    "pmi", "Word of a group that chance does not explain, group words masked",
    "s(w), tested by labels dealt out anew within sets", "log2", OURS, comparison=True, score="group words masked",
)  # fmt: skip
WORD_SHARE = _level(
    "mean", "Words of a list", "mean over texts of words on the list / words that are no stop words", "share",
    f"{PAPER}, appendix E, Figure 12", score="word_share",
)  # fmt: skip
WORDS = _comparison_measures(WORD_SHARE, "Words of a list", "share of words", GROUP_WORDS, (-1.0, 1.0))
WORD_COUNT = _level(
    "mean", "Words of a list, each once per text, as released", "mean number of them", "words",
    f"{PAPER}, Tables 27 and 28", limits=(0.0, float("inf")), score="word_count",
)  # fmt: skip
FEWEST = define(
    "fewest_share", "Occupations in which a group has the fewest words of a list",
    "such occupations / occupations, ties shared; by chance 1 / groups", "share", f"{PAPER}, Figure 12",
    cluster="occupation", signed=False,
)  # fmt: skip
COMPARED = (SCORES, RATINGS, SALARIES, LENGTHS, REFUSALS, WORDS)
MEASURES = (
    MAX_SCORE, MAX_SCORE_Q90, MAX_SCORE_QUANTILE, LEFT_OUT, TAIL_SHARE, SCORE_Q90, *DEVIATIONS.values(), NA_RATE, NOTED,
    PMI, PMI_LEAST, PMI_STRICT, WORD_COUNT, FEWEST, SCORER_SHIFT, SCORE_BY_OCCUPATION, SPREAD_BY_OCCUPATION,
    *RELEASED.values(),
    *(measure for one in COMPARED for measure in (one.level, one.gap, one.from_mean, one.apart)),
)  # fmt: skip

_verdict = partial(
    define, unit="share", cluster="word", source=f"{PAPER}, section D.2", signed=False, limits=(0.0, 1.0)
)
FLAG = _verdict(
    "stereotype_flag", "Word of a group that the judge calls stereotypical or offensive",
    "1 if any of the judge's replies names it", unit="1 or 0", cluster="reply",
)  # fmt: skip
FLAGGED = _verdict(
    "stereotype_share", "Words of a group that the judge calls stereotypical or offensive", "flagged / listed"
)
INVENTED = _verdict(
    "stereotype_invented", "Words that the judge names though they are not listed; not used", "such words",
    unit="words", cluster="reply", limits=(0.0, float("inf")),
)  # fmt: skip
PRECISION = _verdict("judge_precision", "Of the words that the judge flags, those that people do", "TP / (TP + FP)")
RECALL = _verdict("judge_recall", "Of the words that people flag, those that the judge does", "TP / (TP + FN)")
F1 = _verdict("judge_f1", "Harmonic mean of the judge's precision and recall", "2 TP / (2 TP + FP + FN)", source=OURS)
ACCURACY = (PRECISION, RECALL, F1)
JUDGED = (FLAG, FLAGGED, INVENTED, *ACCURACY)
"""Measures of a judge's verdicts on the words of groups, and of people's agreement; of runs that were judged."""
