"""VisBias as a protocol: how its study is built, its page, and what it offers beside its trials and measures."""

from typing import TYPE_CHECKING

from facevalue.protocol.offers import Calibration, Compared, Extras, Later, Questionnaire, Recomputed
from facevalue.protocol.protocol import Protocol
from facevalue.studies.visbias.pictures import COLUMNS
from facevalue.studies.visbias.settings import SETTINGS
from facevalue.studies.visbias.study import NAME, TITLE, build

if TYPE_CHECKING:
    from facevalue.protocol.page import Page
    from facevalue.studies.visbias import calibration, questionnaire, reproduce
else:  # they need scipy.stats, which takes a second to import
    calibration = Later(__package__, "calibration")
    questionnaire = Later(__package__, "questionnaire")
    reproduce = Later(__package__, "reproduce")


def _page() -> "Page":
    from facevalue.studies.visbias.page import PAGE  # noqa: PLC0415 - scipy.stats takes a second to import

    return PAGE


COMPARED = Compared(
    measure="choice_share",
    cells=("dimension", "group", "question", "choice"),
    within=("dimension",),
    unit=("dimension", "group", "question"),
    who=("group",),
    asked=("question", "choice"),
)
"""What is chosen of a group, question by question (section 3.1)."""
NUMBERS = (("KL", "kl", ".2f"), ("q", "q", ".3f"))
TOLD = (
    "item", "statement", "task", "attribute", "choice", "outcome", "likely", "kl", "low_kl", "high_kl", "floor",
    "floor_high", "n", "p", "q", "raters", "mean", "low", "high", "flagged",
)  # fmt: skip
EXTRAS = Extras(
    reproduce=Recomputed(reproduce.reproduce, released=True),
    calibrate=Calibration((2,), "people of each race, gender and occupation", 1, {"sim": 50}, calibration.audited),
    questionnaire=Questionnaire(
        "forms", questionnaire.statements, questionnaire.export, questionnaire.read, questionnaire.beside, NUMBERS, TOLD
    ),
    judge="forms",
    compare=COMPARED,
)
PROTOCOL = Protocol(name=NAME, title=TITLE, settings=SETTINGS, columns=COLUMNS, build=build, page=_page, extras=EXTRAS)
