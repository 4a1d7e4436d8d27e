"""VisBias's answer in one sentence, computed from the numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import polars as pl

from facevalue.measures.verdicts import Verdict
from facevalue.report.estimates import Estimate, EstimateIndex
from facevalue.report.formatting import NOT_MEASURABLE, Titles, interval, number, share_of_chance
from facevalue.report.headline import Headline, Outcome, detectable, upper
from facevalue.report.visbias import findings
from facevalue.report.visbias.checks import rates

_UNITS = {"nat/1000": " thousandths of a nat", "nat": " nats", "pp": "", "share": "", "log odds": " in log odds"}


@dataclass(frozen=True, slots=True)
class _Kind:
    """Comparisons of one kind that can be judged, clearest first."""

    what: str
    rows: list[Estimate]
    found: list[Estimate]
    say: Callable[[Estimate, Titles], str]


def headline(numbers: EstimateIndex, titles: Titles, _model: str) -> Headline:
    """Count what was found of every kind of comparison on the page, and name the clearest of each.

    Parameters
    ----------
    numbers:
        The estimates; the answer is that of the first model, as it is without interventions.
    titles:
        Wording of the levels.
    """
    model = findings.primary(numbers)
    asked = _kinds(numbers, model)
    if not asked:
        return Headline(Outcome.NOT_MEASURABLE, _why_not(numbers, titles, model))
    whose = f"for {model}, " if len(findings.plain_models(numbers)) > 1 else ""
    counts = _listed([f"{len(kind.found) or 'none'} of {len(kind.rows):,} {kind.what}" for kind in asked])
    more = [f"{upper(kind.what)}: {kind.say(kind.found[0], titles)}." for kind in asked if kind.found]
    more += _control(numbers, titles, model)
    if any(kind.found for kind in asked):
        return Headline(Outcome.FOUND, upper(f"{whose}beyond chance: {counts}."), tuple(more))
    if all(e.verdict == Verdict.EQUIVALENT for kind in asked for e in kind.rows):
        sentence = f"{whose}no difference that matters: {counts} differ."
        return Headline(Outcome.EQUIVALENT, upper(sentence), tuple(more))
    missed = _missed(asked)
    sentence = f"{whose}nothing was found beyond chance: {counts}. That is no proof of fairness"
    return Headline(Outcome.NOTHING, upper(f"{sentence}{': ' if missed else ''}{missed}."), tuple(more))


def _kinds(numbers: EstimateIndex, model: str) -> list[_Kind]:
    """Every kind of comparison of which any can be judged, in the order of the page."""
    kinds: list[tuple[str, list[Estimate], Callable[[Estimate, Titles], str]]] = [
        ("divergences of choices", findings.divergences(numbers, model), _choice),
        ("rankings of groups", [e.in_points() for e in findings.rankings(numbers, model)], _ranking),
        ("differences in length", findings.differences(numbers, model, findings.LENGTHS), _difference),
        ("differences in sentiment", findings.differences(numbers, model, findings.SENTIMENT), _difference),
        ("differences in listed words", findings.differences(numbers, model, findings.LISTED), _difference),
        ("words", findings.marked(numbers, model), _word),
        ("associations in forms", findings.all_shifts(numbers, model), _shift),
        ("divergences between forms and choices", findings.agreements(numbers, model), _agreement),
    ]
    out = []
    for what, every, say in kinds:
        rows = [e for e in every if _judgeable(e)]
        if rows:
            out.append(_Kind(what, rows, [e for e in rows if numbers.tested(e)], say))
    return out


def _judgeable(e: Estimate) -> bool:
    return e.value is not None and e.verdict != Verdict.NOT_MEASURABLE


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _missed(asked: Sequence[_Kind]) -> str:
    """What could have been missed of each kind; empty if nothing is known of it."""
    any_, parts = [], []
    for kind in asked:
        unit = min(e.unit for e in kind.rows)  # lengths are in characters and in tokens: one of them will do
        least = detectable([e for e in kind.rows if e.unit == unit])
        if least == inf:
            any_.append(kind.what)
        elif least is not None:
            name = _UNITS.get(unit, f" {unit}")
            parts.append(f"of {kind.what}, less than about {number(least, unit)}{name}")
    if any_:
        parts.insert(0, f"of {_listed(any_)}, any at all")
    return f"{'; '.join(parts)} could have been missed" if parts else ""


def _choice(e: Estimate, titles: Titles) -> str:
    where = findings.dimension_title(e["dimension"], titles).lower()
    asked = titles.get("question", e["question"]).lower()
    return f"clearest {asked} of {titles.get('group', e['group'])} ({where}), {_beside_chance(e)}"


def _beside_chance(e: Estimate) -> str:
    floor = "" if e.floor_high is None else f" where chance stays below {number(e.floor_high, e.unit)} in 95%"
    unit = " nats" if e.unit == "nat" else ""
    return f"{number(e.value, e.unit)}{unit} {interval(e)}{floor}".replace("  ", " ")


def _ranking(e: Estimate, titles: Titles) -> str:
    asked = titles.get("question", e["question"]).lower()
    share = number(50 + (e.value or 0.0), "%")
    return f"clearest {titles.get('group', e['group'])}, above the others in {share} of ranked pairs ({asked})"


def _difference(e: Estimate, titles: Titles) -> str:
    group, other = (titles.get("group", name) for name in (e["group"], e["other_group"]))
    value = f"{number(e.value, e.unit, signed=True)} {interval(e, signed=True)}".strip()
    return f"clearest {findings.difference_title(e)}, {group} less {other}: {value}{_chance(e)}"


def _word(e: Estimate, titles: Titles) -> str:
    group, other = (titles.get("group", name) for name in (e["group"], e["other_group"]))
    return f"clearest “{e['word']}” for {group} beside {other}, log odds {number(e.value, e.unit)}{_chance(e)}"


def _shift(e: Estimate, _titles: Titles) -> str:
    if_, then = findings.field_title(e["attribute"]), findings.field_title(e["other_attribute"])
    return f"largest {if_} {e['choice']}, then {then} {e['likeliest']}: {number(e.value, e.unit)} nats{_chance(e)}"


def _agreement(e: Estimate, titles: Titles) -> str:
    where = findings.dimension_title(e["dimension"], titles).lower()
    of = titles.get("group", e["group"]) if e["group"] else f"the mean over {where}"
    return f"clearest {titles.get('question', e['question']).lower()} of {of}, {_beside_chance(e)}"


def _chance(e: Estimate) -> str:
    return "" if e.q is None else f", q {share_of_chance(e.q)}"


def _control(numbers: EstimateIndex, titles: Titles, model: str) -> list[str]:
    """What was found among fictional species, of whom nothing is true."""
    rows = [e for e in findings.divergences(numbers, model, species=True) if _judgeable(e)]
    if not rows:
        return []
    found = [e for e in rows if numbers.tested(e)]
    text = f"Negative control: {len(found) or 'none'} of {len(rows)} divergences between fictional species"
    return [f"{text}; {_choice(found[0], titles)}." if found else f"{text} were found beyond chance."]


def _why_not(numbers: EstimateIndex, titles: Titles, model: str) -> str:
    """Why nothing can be judged: no answers, one group, or nothing that compares."""
    lost = rates(numbers, model)
    if not numbers.frame["value"].is_not_null().any() or (lost and all((e.value or 0.0) >= 1 for e in lost)):
        return f"There are no valid answers, so nothing can be compared: {NOT_MEASURABLE}.{_reasons(numbers, model)}"
    groups = findings.groups_asked(numbers, model)
    if groups and all(len(names) == 1 for names in groups.values()):
        named = "; ".join(
            f"{findings.dimension_title(dimension, titles).lower()}: {titles.get('group', names[0])}"
            for dimension, names in groups.items()
        )
        start = f"Only one group was asked about ({named})"
        return f"{start}: there is nothing to compare it with. What was answered is below."
    compared = numbers.where((pl.col("model") == model) & pl.col("verdict").is_not_null())
    reasons = list(dict.fromkeys(e.why for e in compared if e.why))
    if reasons:
        return " ".join([f"No comparison can be judged: {NOT_MEASURABLE}.", *reasons[:3]])
    return "Nothing that was asked compares groups: there is no difference to judge. What was answered is below."


def _reasons(numbers: EstimateIndex, model: str) -> str:
    """Why replies have no valid answer, with shares over tasks from the least to the largest."""
    by: dict[str, list[float]] = {}
    for e in numbers.all("refusal_rate", model, "task", "reason"):
        if e["reason"] and e.value:
            by.setdefault(e["reason"], []).append(e.value)
    if not by:
        return ""
    most = sorted(by.items(), key=lambda item: -max(item[1]))
    said = [
        f"{name} {number(min(shares), 'share') + ' to ' if min(shares) < max(shares) else ''}"
        f"{number(max(shares), 'share')}"
        for name, shares in most
    ]
    return f" Replies by task: {', '.join(said)}."
