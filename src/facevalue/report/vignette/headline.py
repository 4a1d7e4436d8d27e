"""VIGNETTE's answer in one sentence, computed from the numbers."""

from facevalue.measures.verdicts import Verdict
from facevalue.report.estimates import Estimate, EstimateIndex
from facevalue.report.formatting import NOT_MEASURABLE, Titles, interval, number
from facevalue.report.headline import Headline, Outcome, detectable, upper
from facevalue.report.vignette import gaps, single


def headline(numbers: EstimateIndex, titles: Titles, model: str) -> Headline:
    """Say how many identities are chosen more or less often than evenly, and which most.

    Parameters
    ----------
    numbers:
        The estimates.
    titles:
        Wording of the levels.
    model:
        Whose answer.
    """
    rows = gaps.lead(numbers, model)
    known = [e for e in rows if e.value is not None and e.verdict != Verdict.NOT_MEASURABLE]
    if not rows:
        return single.headline(numbers, titles, model) or Headline(Outcome.NOT_MEASURABLE, _why_not(numbers, rows))
    if not known:
        return Headline(Outcome.NOT_MEASURABLE, _why_not(numbers, rows))
    moved = gaps.found(numbers, known)
    whose = single.whose(numbers, model)
    what = (
        "who is chosen in decisions"
        if known[0]["paradigm"] == "decision"
        else "who is named when perceptions are asked"
    )
    comparisons = _counted(known)
    more = tuple(filter(None, (_dimension(numbers, titles, model, d) for d in gaps.dimensions(numbers))))
    if not moved:
        same = all(e.verdict == Verdict.EQUIVALENT for e in known)
        sentence = f"{whose}none of {comparisons} differs from an even choice beyond chance ({what})"
        least = detectable([e for e in known if e.verdict != Verdict.EQUIVALENT])
        if not same:
            sentence += ". That is no proof of fairness"
            if least is not None:
                sentence += f": {gaps.missed(least)}"
        return Headline(Outcome.EQUIVALENT if same else Outcome.NOTHING, f"{upper(sentence)}.", more)
    verb = "differ" if len(moved) > 1 else "differs"
    sentence = f"{whose}of {comparisons}, {len(moved)} {verb} from an even choice ({what})"
    ends = [e for e in (_outermost(moved, up=True), _outermost(moved, up=False)) if e is not None]
    sides = "; ".join(
        f"{'most' if (e.value or 0) > 0 else 'least'} often {gaps.name_of(e, titles)}, {_share(numbers, e)}"
        for e in ends
    )
    return Headline(Outcome.FOUND, f"{upper(sentence)}: {sides}.", more)


def _counted(rows: list[Estimate]) -> str:
    who = len({(e["dimension"], e["identity"]) for e in rows})
    many = f"{who} identities" if who > 1 else "one identity"
    where = len({e["dimension"] for e in rows})
    questions = len({e["question"] for e in rows})
    over = f" in {where} dimensions" if where > 1 else ""
    return f"{many}{over}" if questions == 1 else f"{len(rows)} comparisons ({many}{over}, {questions} questions)"


def _outermost(rows: list[Estimate], *, up: bool) -> Estimate | None:
    side = [e for e in rows if ((e.value or 0) > 0) == up]
    return max(side, key=lambda e: abs(e.value or 0.0), default=None)


def _share(numbers: EstimateIndex, e: Estimate) -> str:
    """The share of comparisons in which an identity is chosen, and what would be even where that is not half."""
    share = gaps.share(numbers, e)
    if share is None or share.value is None:
        return f"{number(e.value, e.unit, signed=True)} {interval(e)}".strip()
    level = gaps.even(numbers, e)
    beside = "" if level == 50 else f" (even would be {number(level, '%')})"
    ends = f" [{share.low:.1f}, {share.high:.1f}]" if share.low is not None and share.high is not None else ""
    return f"{number(share.value, '%')} of its comparisons{ends}{beside}"


def _dimension(numbers: EstimateIndex, titles: Titles, model: str, dimension: str) -> str:
    """One dimension in a sentence: strongest up and down, spread against its floor."""
    for paradigm, question in gaps.ASKED:
        rows = [e for e in gaps.gaps(numbers, model, dimension, paradigm, question) if e.value is not None]
        if rows:
            break
    else:
        return ""
    moved = gaps.found(numbers, rows)
    name = titles.get("dimension", dimension)
    asked = "" if paradigm == "decision" else f" ({gaps.asked_title(paradigm, question, titles).lower()})"
    parts = [f"{name}{asked}: {len(moved) or 'none'} of {len(rows)} found different"]
    for up, word in ((True, "most often"), (False, "least often")):
        side = sorted((e for e in moved if ((e.value or 0) > 0) == up), key=lambda e: -abs(e.value or 0.0))[:2]
        if side:
            parts.append(f"{word} {' and '.join(_named(numbers, e, titles) for e in side)}")
    e = gaps.spread(numbers, model, dimension, paradigm, question)
    if e is not None and e.value is not None:
        text = f"spread {number(e.value, e.unit)} {interval(e)}".strip()
        if e.floor is not None:
            text += f" where chance alone gives {number(e.floor, e.unit)} (95% below {number(e.floor_high, e.unit)})"
        parts.append(text)
    return "; ".join(parts) + "."


def _named(numbers: EstimateIndex, e: Estimate, titles: Titles) -> str:
    share = gaps.share(numbers, e)
    value = "" if share is None or share.value is None else f" ({share.value:.0f}%)"
    return f"{gaps.who(e['identity'], titles)}{value}"


def _why_not(numbers: EstimateIndex, rows: list[Estimate]) -> str:
    if not numbers.frame["value"].is_not_null().any():
        return f"There are no valid answers: {NOT_MEASURABLE}."
    if not rows:
        return "Nothing that was asked says anything of identities as wholes. See below."
    reasons = list(dict.fromkeys(e.why for e in rows if e.why))
    return " ".join(["No identity can be judged: not measurable.", *reasons])
