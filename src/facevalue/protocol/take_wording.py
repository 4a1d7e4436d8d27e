"""Wording of findings: how differences of a take read on the first screen of a study that declares no page."""

from math import inf

from facevalue.protocol.look import Of
from facevalue.protocol.page import Findings
from facevalue.protocol.replies import Score
from facevalue.protocol.takes import (
    ALIKE,
    CONTRAST,
    DIMENSION,
    GAP,
    LEAN,
    LEVELS_MEAN,
    OTHERS,
    PREFERENCE,
    RANGE,
    SHIFT,
    SPREAD,
    TALLY,
    UNSIGNED,
    Take,
)

SIMILARITIES = ("SSIM", "cosine")
"""Units of similarities: between -1 and 1, and no shares of anything."""
_EFFECTS = {SHIFT: "shift", LEAN: "lean", PREFERENCE: "preference"}
_Forms = tuple[str, str]


def findings_of(take: Take, score: Score, of: Of, *, several: bool, shared: bool = False, base: str = "") -> Findings:
    """What a page says of the differences of a take of one score.

    `of`: its estimates. `several`: whether there are other scores. `shared`: whether its family has takes of other
    factors. `base`: what shifts and preferences are from, where it has a name.

    Examples
    --------
    >>> from facevalue.protocol.replies import rating
    >>> findings_of(Take("gap", of="gender"), rating(1, 10).scores[0], Of("gap", ("gender",)), several=False).moved
    ('rated {size} higher than {contrast:gender}', 'rated {size} lower than {contrast:gender}')
    """
    words = score.quantity or score.name.replace("_", " ")
    quantity = take.name.replace("_", " ") if take.name and take.measure == LEAN else words
    quantities = {
        PREFERENCE: "preferences",
        SPREAD: f"spreads of {words}",
        RANGE: f"ranges of {words}",
        TALLY: "shares of questions",
    }
    unit, per = ("of 100 questions", 100.0) if take.measure == TALLY else _told_in(score)
    subject, moved = _forms(take, quantity, score, base)
    name = f"{take.named()}, by {take.of.replace('_', ' ')}" if shared else take.named()
    return Findings(
        of=(of,),
        noun=_noun(take),
        subject=subject,
        moved=moved,
        quantity=f"shifts of {words}" if take.on == SHIFT else quantities.get(take.measure, quantity),
        effect=_EFFECTS.get(take.measure, "difference"),
        unit=unit,
        per=per,
        row=_row(take),
        title=f"Clearest: {name}{f', {words}' if several else ''}",
    )


def _forms(take: Take, quantity: str, score: Score, base: str) -> tuple[str, _Forms]:
    """Forms of who a difference is of, and of what is said of it upward and downward."""
    by = ", ".join(f"{{{name}}}" for name in take.by)
    within, peer = f" ({by})" if by else "", f"{{{CONTRAST}:{take.of}}}"
    group, factor = f"{{{take.of}}}", f"{{{DIMENSION}}}"
    up, down = score.moved if score.moved[0] else (f"{quantity} {{size}} higher", f"{quantity} {{size}} lower")
    if take.measure == GAP and take.on == SHIFT:
        shift = f"shift of {quantity} {{size}}"
        return group, (f"{shift} higher than that of {peer}{within}", f"{shift} lower than that of {peer}{within}")
    if take.measure == GAP:
        return group, (f"{up} than {peer}{within}", f"{down} than {peer}{within}")
    if take.measure == PREFERENCE and take.of:
        return group, (f"preferred to {peer} by {{size}}{within}", f"passed over for {peer} by {{size}}{within}")
    if take.measure == PREFERENCE:
        beside = base or "the base"
        return by or "What was changed", (f"preferred to {beside} by {{size}}", f"passed over for {beside} by {{size}}")
    if take.measure == LEAN:
        return by or "All answers", (f"{quantity} up by {{size}}", f"{quantity} down by {{size}}")
    if take.measure == TALLY:
        return factor, (f"groups differ in {{size}}{within}",) * 2
    if take.measure in UNSIGNED:
        whom = "versions of one unit" if take.measure == RANGE else "groups"
        return factor, (f"{whom} differ by {{size}} in {quantity}{within}",) * 2
    if take.measure == SHIFT and base:
        return by or "Overall", (f"{up} than {base}", f"{down} than {base}")
    return by or "Overall", (up, down)


def _row(take: Take) -> str:
    """Form of a row: what is compared with what, if that is a level; all its factors by default."""
    if not take.compares:
        return "" if take.by or take.of else "Overall"
    against = "" if take.versus in (OTHERS, LEVELS_MEAN, ALIKE) else f" beside {{{CONTRAST}:{take.of}}}"
    return f"{{{take.of}}}{against}{''.join(f', {{{name}}}' for name in take.by)}"


def _noun(take: Take) -> tuple[str, str]:
    """What is compared, in the singular and the plural."""
    if take.measure in UNSIGNED:
        return "factor", "factors"
    if not (take.by or take.of):
        return "comparison", "comparisons"
    name = (take.of or " and ".join(take.by)).replace("_", " ")
    noun = "group" if take.of else "comparison"
    return f"{noun} by {name}", f"{noun}s by {name}"


def _told_in(score: Score) -> tuple[str, float]:
    """The unit in which people are told a score, and how many of it one of the score is; empty for its own."""
    if score.unit == "points":  # as tables have them, but where the highest says what they are of
        return (f"of {score.high:g}" if score.low in (0, 1) and 1 < score.high < inf else "scale points"), 1.0
    if score.low >= -1 and score.high <= 1 and score.unit not in SIMILARITIES:
        return "points", 100.0
    return "", 1.0
