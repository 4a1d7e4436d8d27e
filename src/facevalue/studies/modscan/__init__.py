"""ModSCAN: stereotypes that a model shows when it points at faces, and when it names who belongs to a scene."""

from facevalue.protocol.offers import CellComparison, Extras, Later
from facevalue.protocol.protocol import published
from facevalue.studies.modscan.settings import CITATION, NAME, SETTINGS, TITLE

COMPARED = CellComparison(
    measures=("choice_share",),
    cells=("modality", "attribute", "scenario_kind", "instance", "group"),
    within=("modality", "attribute"),
    person_labels=("group",),
    question_labels=("scenario_kind", "instance"),
)
PROTOCOL = published(
    __package__, Extras(compare=COMPARED), name=NAME, title=TITLE, citation=CITATION, settings=SETTINGS,
    declaration=Later(__package__, "study").declaration, counted_by=("attribute",), lead=("gaps from chance",),
    shared_labels=True,
    needs="nothing: faces and scenes are drawn; or UTKFace or FairFace, or your own (--manifest)",
)  # fmt: skip
