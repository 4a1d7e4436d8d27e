"""Every measure, as `facevalue measure --explain` prints it: of all studies, of each published one, of own ones."""

from collections.abc import Iterator, Sequence

import facevalue as fv
from facevalue.cli.actions.results import definition_lines, explain_measure
from facevalue.measures.cells import MISSING_MEASURES
from facevalue.measures.definitions import Measure
from facevalue.measures.instrument import DRIFT_MEASURES
from facevalue.statistics.statistic import registered_statistics
from facevalue.studies.registry import PUBLISHED
from tools.site.markdown import plain, table

LABELS = {"cluster": "interval over", "paired": "paired within it", "signed": "has a sign"}
"""Labels that are said otherwise where there is room."""
SHORT = 50
"""Most characters of a fact that shares a line with others."""


def page() -> str:
    """All measures, by study."""
    lines = ["## Measures of all studies", ""]
    common = (*DRIFT_MEASURES, *MISSING_MEASURES)
    lines += _measures(common)
    for name in PUBLISHED:
        study = fv.study(name)
        lines += [f"## {study.title.split(':')[0]}", "", f"`{name}`: {plain(study.title)}", ""]
        lines += _measures([one for one in study.compiled.estimates.measures if one not in common])
    return "\n".join([*lines, *_statistics()])


def _measures(measures: Sequence[Measure]) -> Iterator[str]:
    for measure in measures:
        definition = explain_measure(measures, measure.key)
        yield from (f"### {plain(measure.key)}", "", plain(measure.title) + ".", "")
        facts = []
        for label, text in definition_lines(definition):
            if label == "equation":
                yield from ("```{code-block} text", ":class: equation", "", text, "```", "")
            else:
                facts.append(f"*{LABELS.get(label, label)}*: {plain(text)}")
        short = [fact for fact in facts if len(fact) <= SHORT]
        yield from ("; ".join(short), "", *(f"- {fact}" for fact in facts if fact not in short))
        yield ""


def _statistics() -> Iterator[str]:
    yield from ("## Own and declared studies", "")
    yield "What `statistic` names in a [study's file](own-studies.md#estimands), of which every declared study is made."
    yield "`facevalue measure RUN --explain NAME` prints them with the titles of your study."
    yield ""
    rows = []
    for statistic in registered_statistics().values():
        is_level = not statistic.says_difference and not statistic.companion_titles
        floor = (
            "has a sign" if is_level or (statistic.has_direction and statistic.says_difference) else "beside its floor"
        )
        for name, (title, equation) in statistic.definitions.items():
            rows.append((f"`{name}`", plain(title.format("score")), f"`{equation}`", floor))
    yield from table(("name", "title", "equation", "floor"), rows)
