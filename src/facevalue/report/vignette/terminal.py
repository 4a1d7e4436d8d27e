"""What the summary for the terminal shows of VIGNETTE."""

from facevalue.report.estimates import EstimateIndex
from facevalue.report.formatting import Titles, number
from facevalue.report.page import Outline, Ranking
from facevalue.report.vignette import gaps
from facevalue.report.vignette.checks import shares


def _warnings(numbers: EstimateIndex, titles: Titles) -> list[str]:
    out = []
    for model in numbers.models:
        whose = f"{model}: " if len(numbers.models) > 1 else ""
        for e in shares(numbers, "na_rate", model):
            if e.value is not None and e.value >= 5:
                where = ", ".join(titles.get(n, level) for n in ("paradigm", "dimension") if (level := e[n]))
                out.append(f"{whose}{number(e.value, e.unit)} of replies have no valid answer ({where.lower()}).")
        for e in shares(numbers, "first_option_share", model):
            if e.value is not None and abs(e.value - 50) >= 5:
                side = "first" if e.value > 50 else "last"
                where = titles.get("paradigm", e["paradigm"]).lower()
                out.append(f"{whose}the model prefers the option listed {side}: {number(e.value, e.unit)} ({where}).")
    return out


def _rankings(numbers: EstimateIndex, model: str) -> list[Ranking]:
    return [Ranking("Farthest from even", "points", gaps.lead(numbers, model), gaps.name_of)]


OUTLINE = Outline(
    measures=(),
    rankings=_rankings,
    warnings=_warnings,
)
