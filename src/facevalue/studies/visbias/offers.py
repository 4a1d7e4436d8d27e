"""What VisBias offers beside its trials and measures."""

from pathlib import Path

from facevalue.protocol.offers import Calibrated, Calibration, CalibrationRequest, Compared, Extras, Recomputed
from facevalue.protocol.reproduction import Reproduction


def _reproduce(data: Path | None) -> Reproduction:
    from facevalue.studies.visbias.reproduce import reproduce  # noqa: PLC0415 - imported when asked for

    assert data is not None
    return reproduce(data)


def _calibrate(asked: CalibrationRequest) -> Calibrated:
    from facevalue.studies.visbias.calibration_tables import audited  # noqa: PLC0415 - slow to import

    return audited(asked)


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
    judge="forms",
    compare=COMPARED,
)
