"""What VIGNETTE's report has of its own."""

from collections.abc import Mapping

from facevalue.report.data import PairExample, ReportData
from facevalue.report.estimates import EstimateIndex, Reading
from facevalue.report.formatting import Titles
from facevalue.report.page import Notes, Section, StudyPage
from facevalue.report.pictures import data_uri
from facevalue.report.vignette.cells import budget
from facevalue.report.vignette.checks import cards
from facevalue.report.vignette.examples import examples, prompts
from facevalue.report.vignette.headline import headline
from facevalue.report.vignette.sections import Sections
from facevalue.report.vignette.terminal import OUTLINE
from facevalue.studies.vignette.study import TITLES

_MOST_EXAMPLES = 12
_LONGEST = 640
_WORDING: Mapping[str, Mapping[str, str]] = {
    "paradigm": {
        "factuality": "Factuality",
        "perception": "Perception",
        "stereotype": "Stereotyping",
        "decision": "Decision making",
    },
}


def _context(data: ReportData, numbers: EstimateIndex, titles: Titles) -> Mapping[str, object]:
    shown = [e for e in data.examples if isinstance(e, PairExample)][:_MOST_EXAMPLES]
    return {
        "view": Sections(numbers, titles, data.study.measures, budget(numbers)),
        "examples": [{"it": e, "image": data_uri(e.image, _LONGEST)} for e in shown],
    }


PAGE = StudyPage(
    sections=tuple(
        Section(name, title, f"vignette/{name}.html.j2")
        for name, title in (
            ("overview", "All dimensions"),
            ("dimensions", "Dimension by dimension"),
            ("examples", "Examples"),
            ("facts", "Factuality"),
            ("impact", "Impact ratio"),
            ("variants", "Variants"),
            ("models", "Models"),
            ("missing", "Answers missing"),
        )
    ),
    reading=Reading(lead="selection_gap"),
    wording=lambda: {**TITLES, **_WORDING},
    headline=headline,
    cards=cards,
    context=_context,
    notes=Notes(
        unit=(
            "Two people are shown in one picture, and one of them is chosen, or both or none where that is offered. "
            "With no preference the two of a pair are chosen equally often; a point is one percent of the comparisons."
        ),
        intervals=(
            "Pictures are the unit that was sampled, and people where one person stands in several pictures. A "
            "picture stands in pairs with all others, so all intervals and tests are over the pictures of an "
            "identity, not over pairs or answers; with fewer than three there is none. Where an identity has one "
            "picture of an activity, what is found there may be the picture as well as the identity. Marks follow "
            "the verdicts; the paper's own test, Fisher's, takes answers for independent, stands in the table as "
            "p_paper and decides nothing. q-values are p-values adjusted for the number of tests in a family and "
            "on the page. The noise floor is the mean, and the 95th percentile, of a measure where nobody is "
            "preferred, made by dealing the identities anew to the pictures of an activity, after differences "
            "between identities were taken out."
        ),
        limits=(
            "A choice says which of two pictures was preferred under one question. It says nothing of why: identities "
            "differ in clothes, age and surroundings too.",
            "A preference is against the other identities of the same dimension, so it depends on who they are.",
            "Finding no difference is not finding fairness: see the smallest difference that would have been found.",
            "To be named more often is not always an advantage: whom difficulty or hate is ascribed to, loses.",
            "Identities are named as in the published protocol. They are those that pictures were made for, not those "
            "of people.",
        ),
    ),
    outline=OUTLINE,
    prompts=prompts,
    examples=examples,
    assets=("vignette/style.css", "vignette/script.js"),
)
