"""The answer of a run that asked neither decisions nor perceptions: of stereotypes, or of factuality."""

from facevalue.measures.verdicts import Verdict
from facevalue.report.estimates import POOLED, Estimate, EstimateIndex
from facevalue.report.formatting import Titles, interval, number
from facevalue.report.headline import Headline, Outcome, detectable, upper
from facevalue.report.vignette import gaps
from facevalue.report.vignette.cells import chosen, estimates


def whose(numbers: EstimateIndex, model: str) -> str:
    """How a sentence about a model begins."""
    if model == POOLED:
        return f"averaged over {len(numbers.models)} models, "
    return f"for {model}, " if len(numbers.models) > 1 else ""


def headline(numbers: EstimateIndex, titles: Titles, model: str) -> Headline | None:
    """The answer about stereotypes, or else about factuality; None where neither can be measured."""
    return _stereotypes(numbers, titles, model) or _facts(numbers, titles, model) or _few_portraits(numbers, model)


def _stereotypes(numbers: EstimateIndex, titles: Titles, model: str) -> Headline | None:
    """How many identities are given favourable terms more or less often than unfavourable ones, and which most."""
    rows = estimates(chosen(numbers, "polarity", model, ("identity", "dimension"), {}, ("paradigm", "contrast")))
    known = [e for e in rows if e.value is not None and e.verdict != Verdict.NOT_MEASURABLE]
    if not known:
        return None
    moved = gaps.found(numbers, known)
    who = f"{len(known)} identities" if len(known) > 1 else "one identity"
    uneven = "favourable terms more or less often than unfavourable ones"
    if moved:
        sentence = f"of {who}, {len(moved)} {'are' if len(moved) > 1 else 'is'} given {uneven} (stereotypes)"
        ends = [max(moved, key=lambda e: e.value or 0.0), min(moved, key=lambda e: e.value or 0.0)]
        said = [
            f"{'most' if (e.value or 0) > 0 else 'least'} favourably {gaps.name_of(e, titles)}, {_valued(e)}"
            for e in dict.fromkeys(ends)
        ]
        return Headline(Outcome.FOUND, f"{upper(whose(numbers, model) + sentence)}: {'; '.join(said)}.")
    sentence = f"{whose(numbers, model)}not one of {who} is given {uneven} beyond chance (stereotypes)"
    if all(e.verdict == Verdict.EQUIVALENT for e in known):
        return Headline(Outcome.EQUIVALENT, f"{upper(sentence)}.")
    least = detectable([e for e in known if e.verdict != Verdict.EQUIVALENT])
    missed = "" if least is None else f": {gaps.missed(least)}"
    return Headline(Outcome.NOTHING, f"{upper(sentence)}. That is no proof of fairness{missed}.")


def _few_portraits(numbers: EstimateIndex, model: str) -> Headline | None:
    """What stands between values and an answer: portraits cannot be told from identities."""
    rows = estimates(chosen(numbers, "polarity", model, ("identity", "dimension"), {}, ("paradigm", "contrast")))
    most = max((e.clusters or 0 for e in rows if e.value is not None), default=0)
    if not most:
        return None
    sentence = (
        f"{whose(numbers, model)}nothing can be concluded about stereotypes: identities have {most} portraits at most"
    )
    return Headline(
        Outcome.NOT_MEASURABLE,
        f"{upper(sentence)}, and with fewer than three a portrait cannot be told from the identity it shows.",
    )


def _facts(numbers: EstimateIndex, titles: Titles, model: str) -> Headline | None:
    """How often what is seen is told wrongly, and of whom most and least."""
    free = ("paradigm", "contrast")
    whole = [e for e in estimates(chosen(numbers, "error_rate", model, ("dimension",), {}, free)) if _known(e)]
    if not whole:
        return None
    ends = sorted(whole, key=lambda e: e.value or 0.0)
    said = [f"{_valued(e)} ({_where(e, titles)})" for e in dict.fromkeys([ends[0], ends[-1]])]
    sentence = (
        f"{whose(numbers, model)}{' to '.join(said)} of the answers about what pictures show are wrong (factuality)"
    )
    own = [e for e in estimates(chosen(numbers, "error_rate", model, ("dimension", "identity"), {}, free)) if _known(e)]
    if len(own) > 1:
        order = sorted(own, key=lambda e: e.value or 0.0)
        sides = [f"{gaps.name_of(e, titles)}, {_valued(e)}" for e in (order[-1], order[0])]
        sentence += f": most often about {sides[0]}; least often about {sides[1]}"
    more = "Whether identities differ in it is not tested: compare their intervals."
    return Headline(Outcome.DESCRIBED, f"{upper(sentence)}.", (more,))


def _known(e: Estimate) -> bool:
    return e.value is not None


def _valued(e: Estimate) -> str:
    return f"{number(e.value, e.unit, signed=e.measure == 'polarity')} {interval(e)}".strip()


def _where(e: Estimate, titles: Titles) -> str:
    within = titles.get("dimension", e["dimension"]).lower()
    return f"{within}, two activities" if e["contrast"] == "identity-activity" else within
