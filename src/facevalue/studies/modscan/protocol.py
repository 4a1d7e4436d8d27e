"""ModSCAN as a protocol: how its study is built, its page, and what it offers beside its trials and measures."""

from typing import TYPE_CHECKING

from facevalue.protocol.offers import Calibration, Compared, Extras, Later, Recomputed
from facevalue.protocol.protocol import Protocol
from facevalue.studies.modscan.pictures import COLUMNS
from facevalue.studies.modscan.settings import SETTINGS
from facevalue.studies.modscan.study import NAME, TITLE, build
from facevalue.studies.modscan.tables import generation_prompts

if TYPE_CHECKING:
    from facevalue.protocol.page import Page
    from facevalue.studies.modscan import calibration, reproduce
else:  # they need scipy.stats, which takes a second to import
    calibration = Later(__package__, "calibration")
    reproduce = Later(__package__, "reproduce")

COMPARED = Compared(
    measure="group_share",
    cells=("modality", "attribute", "scenario_kind", "instance", "group"),
    within=("modality", "attribute"),
    unit=("modality", "attribute", "scenario_kind", "instance"),
    who=("group",),
    asked=("scenario_kind", "instance"),
)
EXTRAS = Extras(
    calibrate=Calibration((20,), "scenes of each persona", 5, {"sim": 200}, calibration.audited),
    reproduce=Recomputed(reproduce.reproduce),
    image_prompts=generation_prompts,
    compare=COMPARED,
)


def _page() -> "Page":
    from facevalue.studies.modscan.page import PAGE  # noqa: PLC0415 - scipy.stats takes a second to import

    return PAGE


PROTOCOL = Protocol(name=NAME, title=TITLE, settings=SETTINGS, columns=COLUMNS, build=build, page=_page, extras=EXTRAS)
