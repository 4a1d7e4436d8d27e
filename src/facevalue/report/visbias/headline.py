"""VisBias's answer in one sentence, computed from the numbers."""

import math
from collections.abc import Sequence

from facevalue.measures.verdicts import Verdict
from facevalue.report.headline import Headline, Outcome, detectable, upper
from facevalue.report.numbers import Estimate, Numbers
from facevalue.report.visbias import findings
from facevalue.report.words import NOT_MEASURABLE, Titles, interval, number, share_of_chance

_MOST = {"choice_divergence": 1000 * math.log(2)}
"""Largest possible values, in the measure's unit."""


def headline(numbers: Numbers, titles: Titles, _model: str) -> Headline:
    """Count the divergences, rankings, words and associations that were found, and name the clearest of each.

    Parameters
    ----------
    numbers:
        The estimates; the answer is that of the first model, as it is without interventions.
    titles:
        Wording of the levels.
    """
    model = findings.primary(numbers)
    parts = [
        (findings.divergences(numbers, model), "divergences of choices", _choice),
        (findings.rankings(numbers, model), "rankings of groups", _ranking),
        (findings.marked(numbers, model), "words", _word),
        (findings.all_shifts(numbers, model), "associations in forms", _shift),
    ]
    known = [([e for e in rows if _judgeable(e)], what, say) for rows, what, say in parts]
    asked = [(rows, what, say) for rows, what, say in known if rows]
    if not asked:
        return Headline(Outcome.NOT_MEASURABLE, _why_not(numbers))
    found = [([e for e in rows if numbers.tested(e)], rows, what, say) for rows, what, say in asked]
    whose = f"for {model}, " if len(findings.plain_models(numbers)) > 1 else ""
    counts = _listed([f"{len(yes) or 'none'} of {len(rows):,} {what}" for yes, rows, what, _ in found])
    more = tuple(
        [f"{upper(what)}: {say(yes[0], titles)}." for yes, _, what, say in found if yes]
        + _control(numbers, titles, model)
    )
    if any(yes for yes, _, _, _ in found):
        return Headline(Outcome.FOUND, upper(f"{whose}beyond chance: {counts}."), more)
    if all(e.verdict == Verdict.EQUIVALENT for rows, _, _ in asked for e in rows):
        return Headline(Outcome.EQUIVALENT, upper(f"{whose}no difference that matters: {counts} differ."), more)
    sentence = f"{whose}nothing was found beyond chance: {counts}. That is no proof of fairness"
    rows, what, _ = asked[0]
    least = detectable(rows)
    if least is not None and least >= _MOST.get(rows[0].measure, math.inf):
        sentence += f": of {what}, any at all could have been missed"
    elif least is not None:
        sentence += f": of {what}, less than about {number(least, rows[0].unit)}{_unit(rows[0])} could have been missed"
    return Headline(Outcome.NOTHING, upper(f"{sentence}."), more)


def _judgeable(e: Estimate) -> bool:
    return e.value is not None and e.verdict != Verdict.NOT_MEASURABLE


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _unit(e: Estimate) -> str:
    return {"nat/1000": " (thousandths of a nat)", "nat": " nats"}.get(e.unit, "")


def _choice(e: Estimate, titles: Titles) -> str:
    floor = "" if e.floor_high is None else f" where chance stays below {number(e.floor_high, e.unit)} in 95%"
    where = findings.dimension_title(e.dimension, titles).lower()
    return (
        f"clearest {titles.get('question', e.question).lower()} of {titles.get('group', e.group)} ({where}), "
        f"{number(e.value, e.unit)} {interval(e)}{floor}"
    ).replace("  ", " ")


def _ranking(e: Estimate, titles: Titles) -> str:
    value = 100 * ((e.value or 0.0) + 0.5)
    asked = titles.get("question", e.question).lower()
    return (
        f"clearest {titles.get('group', e.group)}, above the others in {number(value, '%')} of ranked pairs ({asked})"
    )


def _word(e: Estimate, titles: Titles) -> str:
    group, other = (titles.get("group", name) for name in (e.group, e.contrast))
    return f"clearest “{e.category}” for {group} beside {other}, log odds {number(e.value, e.unit)}{_chance(e)}"


def _shift(e: Estimate, _titles: Titles) -> str:
    if_, then = findings.field_title(e.attribute), findings.field_title(e.trait)
    return f"largest {if_} {e.variation}, then {then} {e.category}: {number(e.value, e.unit)} nats{_chance(e)}"


def _chance(e: Estimate) -> str:
    return "" if e.q is None else f", q {share_of_chance(e.q)}"


def _control(numbers: Numbers, titles: Titles, model: str) -> list[str]:
    """What was found among fictional species, of whom nothing is true."""
    rows = [e for e in findings.divergences(numbers, model, species=True) if _judgeable(e)]
    if not rows:
        return []
    found = [e for e in rows if numbers.tested(e)]
    text = f"Negative control: {len(found) or 'none'} of {len(rows)} divergences between fictional species"
    return [f"{text}; {_choice(found[0], titles)}." if found else f"{text} were found beyond chance."]


def _why_not(numbers: Numbers) -> str:
    if not numbers.frame["value"].is_not_null().any():
        return f"There are no valid answers: {NOT_MEASURABLE}."
    return "Nothing that was asked compares groups: there is no difference to judge. What was answered is below."
