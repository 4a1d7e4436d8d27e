"""Definitions of the checks of a judge that sorts texts (`measures.judge_checks`)."""

from collections.abc import Sequence

from facevalue.measures.base import Measure

OURS = "FaceValue"
ALPHAS, RAW = ("judge_alpha", "people_alpha"), ("judge_agreement", "people_agreement")
"""Measures of agreement, by what follows: the name of the sorting. The judge with people, people with each other."""
SWAPPED, WITHOUT = "judge_swapped", "judge_without"
"""Shares of texts that the judge sorts otherwise once their group words are swapped, or taken out."""
JUDGED_BY = "judged_by"
"""Label of estimates of the texts that people sorted, too: by people alone, by the judge, and corrected."""
PEOPLE, SAME = "people", "the judge, same texts"
"""Who sorted the texts that people sorted."""
CORRECTED = "the judge, corrected by people"
"""All texts as the judge sorted them, corrected by what people say of some."""
KRIPPENDORFF = "Krippendorff 2011, Computing Krippendorff's Alpha-Reliability"
_TOLD = {
    ALPHAS[0]: ("Agreement of the judge with the majority of people, beyond chance", "1 - D_o / D_e, {} distances"),
    ALPHAS[1]: ("Agreement of people with each other, beyond chance", "1 - D_o / D_e, {} distances"),
    RAW[0]: ("Texts that the judge sorts as people do", "mean over texts of the share of raters who say the same"),
    RAW[1]: ("Texts that people sort alike", "mean over texts of the share of pairs of raters who say the same"),
    SWAPPED: ("Texts sorted otherwise once group words are swapped", "such texts / texts with words for groups"),
    WITHOUT: ("Texts sorted otherwise without group words", "such texts / texts with words for groups"),
}


def metric_of(categories: Sequence[str]) -> str:
    """How far two categories are apart for alpha: as numbers where all of them are numbers.

    Examples
    --------
    >>> metric_of(("1", "2", "3")), metric_of(("care", "harm"))
    ('interval', 'nominal')
    """
    return "interval" if all(name.isdigit() for name in categories) else "nominal"


def measures(name: str, categories: Sequence[str]) -> dict[str, Measure]:
    """Definitions of the checks of one sorting, by name."""
    out = {}
    for kind, (title, equation) in _TOLD.items():
        is_alpha, is_moved = kind in ALPHAS, kind in (SWAPPED, WITHOUT)
        out[f"{kind}_{name}"] = Measure(
            f"{kind}_{name}", f"{title} ({name})", equation.format(metric_of(categories)), "1" if is_alpha else "share",
            "text", KRIPPENDORFF if is_alpha else OURS, signed=not is_moved,
            limits=(-1.0, 1.0) if is_alpha else (0.0, 1.0),
        )  # fmt: skip
    return out
