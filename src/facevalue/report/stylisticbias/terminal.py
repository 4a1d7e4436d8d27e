"""What the summary for the terminal shows of StylisticBias."""

from facevalue.report.checks import FEW
from facevalue.report.estimates import Estimate, EstimateIndex
from facevalue.report.formatting import Titles, number
from facevalue.report.page import Outline, Ranking
from facevalue.report.stylisticbias.headline import cues

_WHOLES = (
    "sbs", "cohens_d", "zero_share", "large_share", "variations_to_80", "position_bias", "letter_bias", "na_rate",
    "refusal_rate",
)  # fmt: skip


def _label(e: Estimate, titles: Titles) -> str:
    return f"{titles.variation(e['attribute'], e['variation'])} ({titles.get('attribute', e['attribute']).lower()})"


def _warnings(numbers: EstimateIndex, titles: Titles) -> list[str]:
    out = []
    overall = numbers.one("sbs", numbers.primary)
    if overall is not None and overall.clusters is not None and 0 < overall.clusters < FEW:
        out.append(
            f"{overall.clusters} faces, fewer than {FEW}: intervals may be too narrow. "
            "Take this as a trial, not as a finding."
        )
    for model in numbers.models:
        whose = f"{model}: " if len(numbers.models) > 1 else ""
        rate = numbers.one("na_rate", model)
        if rate is not None and rate.value is not None and rate.value >= 0.05:
            out.append(f"{whose}{number(rate.value, 'share')} of replies have no valid answer; they are left out.")
        place = numbers.one("position_bias", model)
        if place is not None and place.value is not None and abs(place.value) >= 0.05:
            side = "first" if place.value > 0 else "last"
            out.append(f"{whose}the model prefers the option shown {side}, by {number(abs(place.value), 'share')}.")
        turned = [e for e in cues(numbers, model) if numbers.moved(e) and e.sign_open]
        if turned:
            names = "; ".join(titles.cue(e["attribute"], e["variation"]) for e in turned)
            out.append(f"{whose}the direction is not certain if missing answers are counted worst-case: {names}.")
    return out


def _rankings(numbers: EstimateIndex, model: str) -> list[Ranking]:
    return [Ranking("Strongest cues", "shift", cues(numbers, model), _label)]


OUTLINE = Outline(
    measures=_WHOLES,
    rankings=_rankings,
    warnings=_warnings,
)
