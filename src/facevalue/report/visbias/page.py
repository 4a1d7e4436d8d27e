"""What VisBias's report has of its own."""

from collections.abc import Mapping

from facevalue.report.data import PairExample, ReportData
from facevalue.report.estimates import EstimateIndex, Reading
from facevalue.report.formatting import Titles
from facevalue.report.page import Notes, Section, StudyPage
from facevalue.report.pictures import data_uri
from facevalue.report.visbias.checks import cards
from facevalue.report.visbias.examples import FORM_LONGEST, LONGEST, examples, prompts
from facevalue.report.visbias.headline import headline
from facevalue.report.visbias.panels import Panels
from facevalue.report.visbias.quoted import Sentence
from facevalue.report.visbias.terminal import OUTLINE

_MOST_EXAMPLES = 12


def _wording() -> Mapping[str, Mapping[str, str]]:
    """Titles of tasks, questions and groups, for where there is no study to ask, as in the terminal."""
    from facevalue.studies.visbias.tables import choice_questions, occupations, races  # noqa: PLC0415

    return {
        "task": {
            "mcq": "Multiple choice",
            "yesno": "Comparisons",
            "description": "Descriptions",
            "form": "Forms",
            "text-form": "Forms as text",
        },
        "question": {question.name: question.title for question in choice_questions()},
        "group": {level.name: level.title for level in (*races(), *occupations())},
    }


def _context(data: ReportData, numbers: EstimateIndex, titles: Titles) -> Mapping[str, object]:
    quoted = {(e.dimension, e.group, e.word): e for e in data.examples if isinstance(e, Sentence)}
    shown = [e for e in data.examples if isinstance(e, PairExample) and not isinstance(e, Sentence)]
    return {
        "view": Panels(numbers, titles, data.study.measures),
        "quoted": quoted,
        "examples": [{"it": e, "image": data_uri(e.image, max(FORM_LONGEST, 2 * LONGEST))}
                     for e in shown[:_MOST_EXAMPLES]],
    }  # fmt: skip


PAGE = StudyPage(
    sections=tuple(
        Section(name, title, f"visbias/{name}.html.j2")
        for name, title in (
            ("choices", "Explicit: choices"),
            ("comparisons", "Explicit: comparisons"),
            ("descriptions", "Implicit: descriptions"),
            ("words", "Implicit: words that mark a group"),
            ("forms", "Implicit: forms"),
            ("panels", "Implicit: forms, field by field"),
            ("rated", "Implicit: what people say of associations"),
            ("implicit", "Implicit beside explicit"),
            ("species", "Negative control: species"),
            ("examples", "Examples"),
            ("missing", "Answers missing"),
        )
    ),
    reading=Reading(),
    wording=_wording,
    headline=headline,
    cards=cards,
    context=_context,
    notes=Notes(
        unit=(
            "A divergence says how far the choices for a group are from the mean of all groups, in thousandths "
            "of a nat: 0 is none, 693 the most there can be. It is positive by chance alone: read it beside its floor."
        ),
        intervals=(
            "Images, pairs of them, and forms are the units that were sampled. All intervals are over them: sixteen "
            "descriptions of one image count as one image. q-values are p-values adjusted for the number of tests in a "
            "family: Holm in families declared before the run, Benjamini and Hochberg (share of false findings) in the "
            "others. The noise floor is the mean, and the 95th percentile, of a measure where labels of groups, or "
            "choices of forms, are dealt out anew."
        ),
        limits=(
            "Nothing that a model answers here is true of the people shown, or of anyone: income, politics and "
            "religion cannot be seen.",
            "A difference says that answers moved with what differs in these pictures. People of different groups on "
            "photographs differ in clothes, age and surroundings, too.",
            "An association in a form is no bias by itself: that a child is single is sound inference. People rate "
            "which are (docs/visbias-stimuli.md).",
            "Finding no difference is not finding fairness: see the smallest effect that would have been found.",
            "Groups are named as in the published protocol, or as drawn. They are not those of the people.",
        ),
    ),
    outline=OUTLINE,
    prompts=prompts,
    examples=examples,
    assets=("visbias/style.css",),
)
