"""VIGNETTE as a protocol: how its study is built, its page, and what it offers beside its trials and measures."""

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from facevalue.protocol.offers import Calibrated, Calibration, CalibrationRequest, Compared, Extras, Recomputed
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.reproduction import Reproduction
from facevalue.studies.vignette.settings import SETTINGS
from facevalue.studies.vignette.sources import COLUMNS
from facevalue.studies.vignette.study import NAME, TITLE, build

if TYPE_CHECKING:
    from facevalue.protocol.page import Page


def _reproduce(_: Path | None) -> Reproduction:
    from facevalue.studies.vignette.reproduce import reproduce  # noqa: PLC0415 - imported when asked for

    return reproduce()


def _calibrate(asked: CalibrationRequest) -> Calibrated:
    from facevalue.studies.vignette.calibration_tables import audited  # noqa: PLC0415 - slow to import

    return audited(asked)


def _prompts(portraits: bool) -> pl.DataFrame:
    from facevalue.studies.vignette.generation import generation_prompts  # noqa: PLC0415 - reads tables

    return generation_prompts(portraits=portraits)


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
    reproduce=Recomputed(_reproduce),
    calibrate=Calibration((8, 30), "activities", 1, {"sim": 75}, _calibrate),
    image_prompts=_prompts,
    compare=COMPARED,
    left_first="left_first",
)


def _page() -> "Page":
    from facevalue.studies.vignette.page import PAGE  # noqa: PLC0415 - scipy.stats takes a second to import

    return PAGE


PROTOCOL = Protocol(name=NAME, title=TITLE, settings=SETTINGS, columns=COLUMNS, build=build, page=_page, extras=EXTRAS)
