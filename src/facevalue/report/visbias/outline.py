"""What the summary for the terminal shows of VisBias."""

from facevalue.report.numbers import Estimate, Numbers
from facevalue.report.page import Outline
from facevalue.report.visbias import findings
from facevalue.report.visbias.trust import rates
from facevalue.report.words import Titles, number


def _strongest(numbers: Numbers, model: str) -> list[Estimate]:
    """Divergences that were found, clearest first; the clearest of all where none was."""
    rows = findings.divergences(numbers, model)
    return [e for e in rows if numbers.tested(e)] or rows


def _label(e: Estimate, titles: Titles) -> str:
    where = findings.dimension_title(e.dimension, titles).lower()
    return f"{titles.get('question', e.question)}: {titles.get('group', e.group)} ({where})"


def _warnings(numbers: Numbers, titles: Titles) -> list[str]:
    out = []
    models = findings.plain_models(numbers)
    for model in models:
        whose = f"{model}: " if len(models) > 1 else ""
        out += [
            f"{whose}{number(e.value, e.unit)} of replies have no valid answer ({titles.get('paradigm', e.paradigm)})."
            for e in rates(numbers, model)
            if (e.value or 0.0) >= 0.05
        ]
    return out


OUTLINE = Outline(
    measures=(),
    what="Choices farthest from all groups'",
    value="nat/1000",
    strongest=_strongest,
    label=_label,
    warnings=_warnings,
)
