"""ModSCAN: stereotypes that a model shows when it points at faces, and when it names who belongs to a scene."""

from facevalue.protocol.offers import CellComparison, Extras, Later, Recomputed
from facevalue.protocol.protocol import Protocol
from facevalue.studies.modscan.settings import CITATION, NAME, SETTINGS, TITLE

# These need scipy.stats, which takes a second to import.
_REPRODUCE = Later(__package__, "reproduce")

COMPARED = CellComparison(
    measures=("group_share",),
    cells=("modality", "attribute", "scenario_kind", "instance", "group"),
    within=("modality", "attribute"),
    who=("group",),
    asked=("scenario_kind", "instance"),
)
EXTRAS = Extras(
    calibrate=Later(__package__, "calibration").CALIBRATION,
    reproduce=Recomputed(_REPRODUCE.reproduce),
    making=Later(__package__, "making").making,
    compare=COMPARED,
)


PROTOCOL = Protocol(
    name=NAME, title=TITLE, citation=CITATION, settings=SETTINGS, columns=Later(__package__, "pictures").COLUMNS,
    build=Later(__package__, "study").build, page=Later(__package__, "page").PAGE,
    extras=EXTRAS,
    needs="nothing: faces and scenes are drawn; or UTKFace or FairFace, or your own (--manifest)",
)  # fmt: skip
