"""What the summary for the terminal shows of VisBias: the clearest of every kind of comparison."""

from dataclasses import replace

from facevalue.measures.verdicts import Verdict
from facevalue.report.estimates import Estimate, EstimateIndex
from facevalue.report.formatting import Titles, number
from facevalue.report.page import Outline, Ranking
from facevalue.report.visbias import findings
from facevalue.report.visbias.checks import rates

_FARTHEST = "found ones first, then farthest above their noise floor"


def _rankings(numbers: EstimateIndex, _model: str) -> list[Ranking]:
    model = findings.primary(numbers)
    ranked = [e.in_points() for e in findings.rankings(numbers, model)]
    between = [
        ("length", ("characters_difference",), "characters"),
        ("length", ("tokens_difference",), "tokens"),
        ("sentiment", findings.SENTIMENT, "points"),
        ("listed words", findings.LISTED, "per 1,000"),
    ]
    kinds = [
        Ranking(f"Choices: {_FARTHEST}", "nat/1000", findings.divergences(numbers, model), _choice),
        Ranking("Comparisons: how often a group is ranked above others, clearest first", "from even", ranked, _choice),
        *(
            Ranking(f"Descriptions: differences in {what}, clearest first", unit, rows, _difference)
            for what, names, unit in between
            if (rows := findings.differences(numbers, model, names))
        ),
        Ranking("Words that mark a group, clearest first", "log odds", findings.marked(numbers, model), _word),
        Ranking("Forms: found ones first, then largest shifts", "nat", findings.all_shifts(numbers, model), _shift),
        Ranking(f"Forms beside choices: {_FARTHEST}", "nat", findings.agreements(numbers, model), _agreement),
    ]
    return [replace(kind, rows=_judged(numbers, kind.rows)) for kind in kinds]


def _judged(numbers: EstimateIndex, rows: list[Estimate]) -> list[Estimate]:
    """What could be judged, found ones first."""
    known = [e for e in rows if e.verdict != Verdict.NOT_MEASURABLE]
    return sorted(known, key=lambda e: not numbers.tested(e))


def _choice(e: Estimate, titles: Titles) -> str:
    where = findings.dimension_title(e["dimension"], titles).lower()
    return f"{titles.get('question', e['question'])}: {titles.get('group', e['group'])} ({where})"


def _difference(e: Estimate, titles: Titles) -> str:
    group, other = (titles.get("group", name) for name in (e["group"], e["other_group"]))
    what = findings.difference_title(e)
    return f"{what[:1].upper()}{what[1:]}: {group} less {other}"


def _word(e: Estimate, titles: Titles) -> str:
    return f"“{e['word']}”: {titles.get('group', e['group'])} beside {titles.get('group', e['other_group'])}"


def _shift(e: Estimate, _titles: Titles) -> str:
    return findings.association(e)


def _agreement(e: Estimate, titles: Titles) -> str:
    where = findings.dimension_title(e["dimension"], titles).lower()
    of = f"{titles.get('group', e['group'])} ({where})" if e["group"] else f"mean over {where}"
    return f"{titles.get('question', e['question'])}: {of}"


def _warnings(numbers: EstimateIndex, titles: Titles) -> list[str]:
    out = []
    models = findings.plain_models(numbers)
    for model in models:
        whose = f"{model}: " if len(models) > 1 else ""
        out += [
            f"{whose}{number(e.value, e.unit)} of replies have no valid answer ({titles.get('task', e['task'])})."
            for e in rates(numbers, model)
            if (e.value or 0.0) >= 0.05
        ]
    return out


OUTLINE = Outline(measures=(), rankings=_rankings, warnings=_warnings)
