"""VisBias as a protocol: how its study is built, its page, and what it offers beside its trials and measures."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from facevalue.protocol.offers import (
    Beside,
    Calibrated,
    Calibration,
    CalibrationRequest,
    Compared,
    Extras,
    Questionnaire,
    Rated,
    Recomputed,
)
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.reproduction import Reproduction
from facevalue.studies.visbias.pictures import COLUMNS
from facevalue.studies.visbias.settings import SETTINGS
from facevalue.studies.visbias.study import NAME, TITLE, build
from facevalue.types import OptionValue

if TYPE_CHECKING:
    from facevalue.protocol.page import Page


def _page() -> "Page":
    from facevalue.studies.visbias.page import PAGE  # noqa: PLC0415 - scipy.stats takes a second to import

    return PAGE


def _reproduce(data: Path | None) -> Reproduction:
    from facevalue.studies.visbias.reproduce import reproduce  # noqa: PLC0415 - imported when asked for

    assert data is not None
    return reproduce(data)


def _calibrate(asked: CalibrationRequest) -> Calibrated:
    from facevalue.studies.visbias.calibration_tables import audited  # noqa: PLC0415 - slow to import

    return audited(asked)


def _statements(answers: Iterable[pl.DataFrame], options: Mapping[str, OptionValue]) -> pl.DataFrame:
    from facevalue.studies.visbias.questionnaire import statements  # noqa: PLC0415 - scipy.stats takes a second to import

    return statements(answers, options)


def _export(graph: pl.DataFrame, to: Path, least: float | None, most: int | None) -> list[str]:
    from facevalue.studies.visbias.questionnaire import export  # noqa: PLC0415

    return export(graph, to, least, most)


def _read(graph: pl.DataFrame, paths: Sequence[Path]) -> Rated:
    from facevalue.studies.visbias.questionnaire import read  # noqa: PLC0415

    return read(graph, paths)


def _beside(estimates: pl.DataFrame, ratings: pl.DataFrame, folder: Path) -> Beside:
    from facevalue.studies.visbias.questionnaire import beside  # noqa: PLC0415

    return beside(estimates, ratings, folder)


COMPARED = Compared(
    measure="choice_share",
    cells=("dimension", "group", "question", "choice"),
    within=("dimension",),
    unit=("dimension", "group", "question"),
    who=("group",),
    asked=("question", "choice"),
)
"""What is chosen of a group, question by question (section 3.1)."""
EXTRAS = Extras(
    reproduce=Recomputed(_reproduce, released=True),
    calibrate=Calibration((2,), "people of each race, gender and occupation", 1, {"sim": 50}, _calibrate),
    questionnaire=Questionnaire("forms", _statements, _export, _read, _beside),
    judge="forms",
    compare=COMPARED,
)
PROTOCOL = Protocol(name=NAME, title=TITLE, settings=SETTINGS, columns=COLUMNS, build=build, page=_page, extras=EXTRAS)
