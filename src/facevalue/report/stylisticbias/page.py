"""What StylisticBias's report has of its own."""

from collections.abc import Mapping

from facevalue.report.data import Example, Gallery, ReportData
from facevalue.report.estimates import EstimateIndex, Reading
from facevalue.report.formatting import NOT_MEASURABLE, Titles, number
from facevalue.report.page import Notes, Section, StudyPage
from facevalue.report.pictures import data_uri
from facevalue.report.stylisticbias.checks import cards
from facevalue.report.stylisticbias.examples import examples, prompts
from facevalue.report.stylisticbias.headline import headline
from facevalue.report.stylisticbias.terminal import OUTLINE
from facevalue.report.stylisticbias.titles import wording
from facevalue.report.stylisticbias.view import View

_MOST_EXAMPLES = 12
_SMALL = 144  # pixels: longest side of pictures in a gallery
READING = Reading(
    lead="sbs",
    sizes={"sbs": "abs_sbs"},
    corrected={"sbs": "abs_sbs_corrected", "abs_sbs": "abs_sbs_corrected", "vs": "vs_corrected"},
)


def _context(data: ReportData, numbers: EstimateIndex, titles: Titles) -> Mapping[str, object]:
    shown = [e for e in data.examples if isinstance(e, Example)][:_MOST_EXAMPLES]
    return {
        "view": View(numbers, titles, data.study.measures),
        "examples": [_example(e, titles) for e in shown],
        "galleries": [_gallery(e) for e in data.examples if isinstance(e, Gallery)],
    }


def _example(example: Example, titles: Titles) -> dict[str, object]:
    shift = None
    if example.base_phi is not None and example.variant_phi is not None:
        shift = example.variant_phi - example.base_phi
    return {
        "it": example,
        "base": data_uri(example.base_image),
        "variant": data_uri(example.variant_image),
        "cue": titles.variation(example.attribute, example.variation),
        "attribute": titles.get("attribute", example.attribute),
        "scenario": titles.poles(example.scenario),
        "base_phi": _phi(example.base_phi),
        "variant_phi": _phi(example.variant_phi),
        "shift": NOT_MEASURABLE if shift is None else number(shift, "probability", signed=True),
    }


def _gallery(gallery: Gallery) -> dict[str, object]:
    made = ((caption, data_uri(data, _SMALL)) for caption, data in gallery.pictures)
    return {"title": gallery.title, "pictures": [(caption, uri) for caption, uri in made if uri]}


def _phi(value: float | None) -> str:
    return NOT_MEASURABLE if value is None else number(value, "probability")


PAGE = StudyPage(
    sections=tuple(
        Section(name, title, f"stylisticbias/{name}.html.j2")
        for name, title in (
            ("cues", "Strongest cues"),
            ("groups", "Cues by group"),
            ("scenarios", "Scenarios"),
            ("faces", "Base faces"),
            ("concentration", "Concentration"),
            ("models", "Models"),
            ("missing", "Answers missing"),
        )
    ),
    reading=READING,
    wording=wording,
    headline=headline,
    cards=cards,
    context=_context,
    notes=Notes(
        unit=(
            "A point is 0.01 of the preference score: the share of replies that choose the socially favourable "
            "description. A positive shift is toward the favourable one."
        ),
        intervals=(
            "Faces are the unit that was sampled. All intervals are over faces: answers about one face belong "
            "together, and to count them as independent would give about three false findings in ten. A p-value is "
            "that of the test behind the interval: t over faces; for averages over several cues of one base, dealing "
            "out anew which picture is the base; for spreads, shuffling group labels. The protocol's own tests stand "
            "beside them in the table of estimates and decide nothing. q-values are p-values adjusted for the number "
            "of tests in a family: Holm in families declared before the run, Benjamini and Hochberg (share of false "
            "findings) in the others. The noise floor is the mean, and the 95th percentile, of a measure where there "
            "is no effect: what was found is taken off first. Intervals speak of other faces, not of other prompts."
        ),
        limits=(
            (
                "A shift says that the judgment moved with the cue in these pictures and these questions. It says "
                "nothing of why, nor of other questions."
            ),
            "Finding no difference is not finding fairness: see the smallest shift that would have been found.",
            (
                "The favourable pole is the socially desirable word of a pair, as in the paper; a shift toward it "
                "is not always harmless."
            ),
            "Group labels are those of the data set, or of the drawing, not of the people.",
        ),
    ),
    outline=OUTLINE,
    prompts=prompts,
    examples=examples,
)
