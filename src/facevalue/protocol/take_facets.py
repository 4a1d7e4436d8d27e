"""Facets of takes: whom the findings of a declared study are about, without a word from who declares it."""

from collections.abc import Mapping

from facevalue.protocol.facets import (
    FAVOURS,
    IMPLICIT,
    NEITHER,
    ONE_PERSON,
    TWO_PEOPLE,
    Facet,
    Kinds,
)
from facevalue.protocol.named_lists import NamedList
from facevalue.protocol.replies import Reply, Score
from facevalue.protocol.takes import (
    ALIKE,
    CONTRAST,
    GAP,
    LEAN,
    LEVELS_MEAN,
    OTHERS,
    PREFERENCE,
    SHIFT,
    Breakdown,
    Take,
)
from facevalue.protocol.written import Text

_TITLES: Mapping[str, str] = {
    SHIFT: "Shifts of {}",
    LEAN: "Leans of {}",
    GAP: "Gaps in {}",
    PREFERENCE: "Preferences, by {}",
}
_MOST_NAMED = 3
"""Levels of a cue that a row names where a take is over all of them."""


def facet_of(take: Take, score: Score, reply: Reply, breakdown: Breakdown) -> Facet | None:
    """The facet of a take's findings; None where they are about no group, such as a spread over groups.

    The group is the level that a gap or preference is of, else those levels of pictures that a shift or lean is broken
    down by; a shift of everything is that of what was changed. What the prompt varies is the trait.
    """
    if take.measure not in _TITLES:
        return None
    prompt = [name for name in take.by if name in breakdown.of_prompt]
    of_pictures = [name for name in take.by if name not in prompt]
    dimension, group, versus = _group(take, of_pictures, breakdown)
    if not dimension:
        return None
    words = score.quantity or score.name.replace("_", " ")
    title = _TITLES[take.measure].format(f"shifts of {words}" if take.on == SHIFT else words)
    return Facet(
        title=title,
        dimension=dimension,
        group=group,
        trait=", ".join(f"{{{name}}}" for name in [*prompt, *(of_pictures if take.compares else ())]),
        versus=versus,
        kinds=Kinds(
            directness=IMPLICIT if isinstance(reply, Text | NamedList) else Kinds().directness,
            people=TWO_PEOPLE if take.measure == PREFERENCE else ONE_PERSON,
        ),
        means=FAVOURS if score.favours else NEITHER,
    )


def _group(take: Take, of_pictures: list[str], breakdown: Breakdown) -> tuple[str, str, str]:
    """Dimension, form of the group, and form of the one group it is compared with; empty where there is none."""
    if take.compares:
        several = take.versus in (OTHERS, LEVELS_MEAN, ALIKE) or (
            not take.versus and len(breakdown.levels(take.of)) > 2
        )
        return take.of, f"{{{take.of}:raw}}", "" if several and not take.ends else f"{{{CONTRAST}:{take.of}}}"
    if of_pictures:
        first = next((name for name in of_pictures if name in breakdown.sets.cue), of_pictures[0])
        return first, ", ".join(f"{{{name}}}" for name in of_pictures), ""
    cue = breakdown.sets.cue if take.measure in (SHIFT, PREFERENCE) else ()
    if not cue:
        return "", "", ""
    levels = [level for level in breakdown.levels(cue[-1]) if level != breakdown.sets.base_level]
    return cue[-1], " or ".join(levels) if len(levels) <= _MOST_NAMED else "any", ""
