"""VIGNETTE as a protocol: how its study is built, its page, and what it offers beside its trials and measures."""

from typing import TYPE_CHECKING

from facevalue.protocol.offers import Calibration, Compared, Extras, Later, Recomputed
from facevalue.protocol.protocol import Protocol
from facevalue.studies.vignette.settings import SETTINGS
from facevalue.studies.vignette.sources import COLUMNS
from facevalue.studies.vignette.study import NAME, TITLE, build

if TYPE_CHECKING:
    from facevalue.protocol.page import Page
    from facevalue.studies.vignette import calibration_tables, generation, reproduce
else:  # they need scipy.stats, which takes a second to import
    calibration_tables = Later(__package__, "calibration_tables")
    generation = Later(__package__, "generation")
    reproduce = Later(__package__, "reproduce")


COMPARED = Compared(
    measure="selection_frequency",
    cells=("dimension", "paradigm", "contrast", "gender", "identity", "activity", "question"),
    needs=("identity",),
    within=("paradigm",),
    kinds=("paradigm", "contrast"),
    finer=("activity", "gender"),
    pooled=("question",),
    unit=("dimension", "gender", "identity"),
    beside="activity",
    who=("gender", "identity"),
    asked=("paradigm", "question"),
)
"""Tables 12 and 13: real against synthetic pictures (section A.6)."""
EXTRAS = Extras(
    reproduce=Recomputed(reproduce.reproduce),
    calibrate=Calibration((8, 30), "activities", 1, {"sim": 75}, calibration_tables.audited),
    image_prompts=generation.generation_prompts,
    compare=COMPARED,
    left_first="left_first",
)


def _page() -> "Page":
    from facevalue.studies.vignette.page import PAGE  # noqa: PLC0415 - scipy.stats takes a second to import

    return PAGE


PROTOCOL = Protocol(name=NAME, title=TITLE, settings=SETTINGS, columns=COLUMNS, build=build, page=_page, extras=EXTRAS)
