"""StylisticBias's answer in one sentence, computed from the numbers."""

from math import inf

from facevalue.measures.verdicts import FOUND_SMALL, Verdict
from facevalue.report.estimates import POOLED, Estimate, EstimateIndex
from facevalue.report.formatting import Titles, points, round_points, when_declared
from facevalue.report.headline import Headline, Outcome, detectable, upper

STRONG = 0.1
"""From here on a shift is coloured as strong in Table 12; an audit that could miss such shifts concludes nothing."""


def cues(numbers: EstimateIndex, model: str) -> list[Estimate]:
    """Each variation's signed shift, strongest first; those that are not measurable last."""
    rows = numbers.all("sbs", model, "attribute", "variation")
    return sorted(rows, key=lambda e: (e.value is None, -abs(e.value or 0)))


def headline(numbers: EstimateIndex, titles: Titles, model: str) -> Headline:
    """Answer whether any cue moved the judgment, and which one most.

    Parameters
    ----------
    numbers:
        The estimates.
    titles:
        Wording of the cues.
    model:
        Whose answer; the mean over models has its own name.
    """
    rows = cues(numbers, model)
    known = [row for row in rows if row.value is not None]
    if not known:
        return Headline(Outcome.NOT_MEASURABLE, _why_not(numbers, model))
    if any(row.verdict is not None for row in known):
        return _judged(numbers, titles, model, rows)
    moved = [row for row in known if numbers.moved(row)]
    whose = f"averaged over {len(numbers.models)} models, " if model == POOLED else ""
    cue_word = "visual cue" if len(known) == 1 else "visual cues"
    more = _aside(numbers, rows, known, model)
    if not moved:
        start = (
            f"{whose}none of {len(known)} {cue_word}" if len(known) > 1 else f"{whose}the one {cue_word} asked about"
        )
        verb = "moved" if len(known) > 1 else "did not move"
        sentence = f"{upper(start)} {verb} the judgment beyond chance (q < .05 and above the noise floor)."
        least = detectable(known)
        if least is not None:
            missed = "any shift" if least == inf else f"a shift of less than about {points(least)} points"
            sentence += f" That is no proof of fairness: {missed} could have been missed."
        return Headline(Outcome.NOTHING, sentence, more)
    sentence = (
        f"{upper(f'{whose}of {len(known)} {cue_word}')}, {len(moved)} moved the judgment "
        f"(q < .05 and above the noise floor); the strongest, {_strongest(titles, moved[0])}"
    )
    return Headline(Outcome.FOUND, sentence, more)


def _strongest(titles: Titles, top: Estimate, *, comma: bool = True) -> str:
    value = top.value or 0.0
    verb = "raised" if value > 0 else "lowered"
    cue = titles.cue(top["attribute"], top["variation"]) + "," * comma
    return f"{cue} {verb} it by {points(value)} points{_range(top, value)}."


def _judged(numbers: EstimateIndex, titles: Titles, model: str, rows: list[Estimate]) -> Headline:
    """The answer by verdicts: how many cues moved the judgment, are equivalent to no change, or remain open."""
    by = {verdict: [row for row in rows if row.verdict == verdict] for verdict in Verdict}
    moved, same, still = by[Verdict.DIFFERENCE], by[Verdict.EQUIVALENT], by[Verdict.INCONCLUSIVE]
    known = [*moved, *same, *still]
    if not known:
        reasons = list(dict.fromkeys(row.why for row in rows if row.why and row.value is not None))
        return Headline(Outcome.NOT_MEASURABLE, " ".join(["No cue can be judged: not measurable.", *reasons]))
    whose = f"averaged over {len(numbers.models)} models, " if model == POOLED else ""
    size = len(known)
    of = f"of {size} visual cues, " if size > 1 else "the one visual cue that could be judged "
    counts = [f"{len(moved) or 'none'} moved the judgment" if size > 1 else "moved the judgment"]
    if same:
        counts.append(f"{_is(len(same), size)} equivalent to no change within {_margin(same[0])}")
    if still:
        counts.append(f"{_remains(len(still), size)} open")
    sentence = upper(
        f"{whose}{of}{', '.join(counts)}" if size > 1 else f"{whose}{of}{counts[0] if moved else counts[-1]}"
    )
    least = detectable(still)
    if not moved and not same and least is not None and least >= STRONG:
        return Headline(Outcome.NOTHING, _open(titles, still, least, whose), _aside(numbers, rows, known, model))
    if still and least is not None:
        missed = "any shift" if least == inf else f"a shift below about {points(least)} points"
        sentence += f": {missed} could have been missed"
    sentence += "."
    more = []
    if moved and size == 1:
        sentence = f"{sentence[:-1]}: {_strongest(titles, moved[0], comma=False)}"
    elif moved:
        sentence += f" The strongest, {_strongest(titles, moved[0])}"
    elif still:
        sentence += " That is no proof of fairness."
    small = [row for row in moved if _within(row)]
    if small:
        more.append(
            f"{len(small)} of the {len(moved)} that moved it did so by less than {_margin(small[0])}: real, but small."
        )
    if not same and known[0].margin is not None:
        more.append(f"No cue is shown to be equivalent to no change within {_margin(known[0])}.")
    outcome = Outcome.FOUND if moved else Outcome.NOTHING if still else Outcome.EQUIVALENT
    return Headline(outcome, sentence, (*more, *_aside(numbers, rows, known, model)))


def _open(titles: Titles, still: list[Estimate], least: float, whose: str) -> str:
    """That nothing can be concluded, and why: not even shifts that the paper calls strong would surely be found."""
    many = f"about these {len(still)} visual cues" if len(still) > 1 else "about this visual cue"
    faces = min((row.clusters for row in still if row.clusters is not None), default=0)
    missed = "any shift" if least == inf else f"a shift below about {points(least)} points"
    start = upper(f"{whose}nothing can be concluded {many} from so few faces ({faces} for a cue): ")
    sentence = f"{start}{missed} could have been missed."
    alone = [row for row in still if row.low is not None and row.high is not None and row.low * row.high > 0]
    if alone:
        top = max(alone, key=lambda row: abs(row.value or 0.0))
        lies = "One interval leaves" if len(alone) == 1 else f"{len(alone)} intervals leave"
        sentence += f" {lies} zero out, but not surely among so many tests: {_strongest(titles, top, comma=False)}"
    return sentence


def _is(count: int, size: int) -> str:
    return "is" if size == 1 else f"{count} {'is' if count == 1 else 'are'}"


def _remains(count: int, size: int) -> str:
    return "remains" if size == 1 else f"{count} {'remains' if count == 1 else 'remain'}"


def _margin(e: Estimate) -> str:
    """The margin in points, and whether it was named beforehand."""
    return f"the margin of {round_points(e.margin or 0.0)} points ({when_declared(e.declared)})"


def _within(e: Estimate) -> bool:
    """Whether a difference was found, and shown to be smaller than what was said to matter."""
    return e.margin is not None and e.why == FOUND_SMALL


def _range(top: Estimate, value: float) -> str:
    if top.low is None or top.high is None:
        return ""
    ends = sorted((top.low, top.high), key=abs)
    if ends[0] * ends[1] < 0:
        return f" [{points(top.low, signed=True)}, {points(top.high, signed=True)}]"
    return f" [{points(ends[0])}, {points(ends[1])}]" if value else ""


def _aside(numbers: EstimateIndex, rows: list[Estimate], known: list[Estimate], model: str) -> tuple[str, ...]:
    more = []
    up = sum(1 for row in known if numbers.moved(row) and (row.value or 0) > 0)
    down = sum(1 for row in known if numbers.moved(row) and (row.value or 0) < 0)
    if up + down:
        more.append(f"{up} toward the favourable pole, {down} toward the unfavourable one.")
    if len(rows) > len(known):
        more.append(f"{len(rows) - len(known)} more could not be measured.")
    if model == POOLED:
        counts = []
        for name in numbers.models:
            own = cues(numbers, name)
            measured = [row for row in own if row.value is not None and row.verdict != Verdict.NOT_MEASURABLE]
            found = sum(numbers.moved(row) for row in measured)
            counts.append(f"{name}: {found} of {len(measured)}" if measured else f"{name}: not measurable")
        more.append("Model by model: " + "; ".join(counts) + ".")
    return tuple(more)


def _why_not(numbers: EstimateIndex, model: str) -> str:
    models = numbers.models if model == POOLED else (model,)
    rates = [numbers.one("na_rate", name) for name in models]
    whose = "The model" if len(models) == 1 else "The models"
    if rates and all(rate is not None and rate.value is not None and rate.value >= 1 for rate in rates):
        return f"{whose} gave no valid answer: not measurable."
    if not any(rate is not None and rate.value is not None for rate in rates):
        return "There are no answers yet: not measurable."
    return "No picture and its base face both have a valid answer to the same question: not measurable."
