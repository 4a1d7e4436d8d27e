"""Findings of estimands: how they read, and whom they are about, in a study that declares no page."""

from math import inf

from facevalue.protocol.facets import (
    FAVOURS,
    IMPLICIT,
    NEITHER,
    ONE_PERSON,
    TWO_PEOPLE,
    Facet,
    Kinds,
)
from facevalue.protocol.look import Of
from facevalue.protocol.named_lists import NamedList
from facevalue.protocol.page import Findings
from facevalue.protocol.replies import Reply
from facevalue.protocol.written import Text
from facevalue.statistics.breakdown import Breakdown
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.statistic import NO_NAMES, PairNames, Score, contrast_form

SIMILARITIES = ("SSIM", "cosine")
"""Units of similarities: between -1 and 1, and no shares of anything."""
_MOST_NAMED = 3
"""Levels of a cue that a row names where an estimand is over all of them."""


def facet_of(estimand: Estimand, score: Score, reply: Reply, breakdown: Breakdown) -> Facet | None:
    """Describe whom the findings of an estimand are about; None where they are about no group, as a spread is.

    The group is the level that a gap or preference is of, else those levels of pictures that a shift or lean is broken
    down by; a shift of everything is that of what was changed. What the prompt varies is the trait.
    """
    statistic = estimand.statistic
    if not statistic.facet_title:
        return None
    prompt = [name for name in estimand.by if breakdown.is_of_prompt(name)]
    of_pictures = [name for name in estimand.by if name not in prompt]
    dimension, group, versus = _group(estimand, of_pictures, breakdown)
    if not dimension:
        return None
    return Facet(
        title=statistic.facet_title.format(statistic.facet_words(score.words)),
        dimension=dimension,
        group=group,
        trait=", ".join(f"{{{name}}}" for name in [*prompt, *(of_pictures if statistic.compares else ())]),
        versus=versus,
        kinds=Kinds(
            directness=IMPLICIT if isinstance(reply, Text | NamedList) else Kinds().directness,
            people=TWO_PEOPLE if statistic.of_pairs else ONE_PERSON,
        ),
        means=FAVOURS if score.favours else NEITHER,
    )


def _group(estimand: Estimand, of_pictures: list[str], breakdown: Breakdown) -> tuple[str, str, str]:
    """Dimension, form of the group, and form of the one group it is compared with; empty where there is none."""
    statistic = estimand.statistic
    if statistic.compares:
        factor = estimand.compared_factor
        return factor, f"{{{factor}:raw}}", contrast_form(factor) if statistic.has_single_rival(breakdown) else ""
    if of_pictures:
        first = next((name for name in of_pictures if name in breakdown.sets.cue), of_pictures[0])
        return first, ", ".join(f"{{{name}}}" for name in of_pictures), ""
    cue = breakdown.sets.cue if statistic.from_base or statistic.of_pairs else ()
    if not cue:
        return "", "", ""
    levels = [level for level in breakdown.levels(cue[-1]) if level != breakdown.sets.base_level]
    return cue[-1], " or ".join(levels) if len(levels) <= _MOST_NAMED else "any", ""


def findings_of(
    estimand: Estimand, score: Score, of: Of, *, several: bool, shared: bool = False, sides: PairNames = NO_NAMES
) -> Findings:
    """Describe what a page says of the differences of an estimand of one score.

    `of`: its estimates. `several`: whether there are other scores. `shared`: whether its family has estimands of other
    factors. `sides`: what stands beside the base in pairs, and what shifts and preferences are from, where they have
    names.

    Examples
    --------
    >>> from facevalue.protocol.replies import rating
    >>> from facevalue.statistics.contrasts import Gap
    >>> gap = Estimand(Gap(factor="gender"))
    >>> findings_of(gap, rating(1, 10).scores[0], Of("gap", ("gender",)), several=False).moved
    ('rated {size} higher than {contrast:gender}', 'rated {size} lower than {contrast:gender}')
    """
    statistic, by = estimand.statistic, estimand.by
    words = statistic.quantity_words(estimand.measure, score)
    unit, per = statistic.told_in
    if not unit:
        unit, per = _told_in(score)
    up, down = score.moved if score.moved[0] else (f"{words} {{size}} higher", f"{words} {{size}} lower")
    factor = estimand.compared_factor.replace("_", " ")
    name = f"{estimand.family_name}, by {factor}" if shared else estimand.family_name
    return Findings(
        of=(of,),
        noun=statistic.noun(by),
        subject=statistic.subject(by, sides),
        moved=statistic.direction_forms(by, up, down, sides, words),
        quantity=statistic.phrase(words),
        effect=statistic.effect,
        unit=unit,
        per=per,
        row=statistic.row(by, sides),
        title=f"Clearest: {name}{f', {score.words}' if several else ''}",
    )


def _told_in(score: Score) -> tuple[str, float]:
    """The unit in which people are told a score, and how many of it one of the score is; empty for its own."""
    if score.unit == "points":  # as tables have them, but where the highest says what they are of
        return (f"of {score.high:g}" if score.low in (0, 1) and 1 < score.high < inf else "scale points"), 1.0
    if score.low >= -1 and score.high <= 1 and score.unit not in SIMILARITIES:
        return "points", 100.0
    return "", 1.0
