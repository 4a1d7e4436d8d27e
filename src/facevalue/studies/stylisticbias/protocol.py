"""StylisticBias as a protocol: how its study is built, its page, and what it offers beside its trials and measures."""

from typing import TYPE_CHECKING

from facevalue.protocol.offers import Calibration, Demo, Extras, Later, Recomputed
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.study import Study
from facevalue.studies.stylisticbias.pictures import COLUMNS
from facevalue.studies.stylisticbias.study import NAME, SETTINGS, TITLE, build

_CUE = ("attribute", "variation")

if TYPE_CHECKING:
    from facevalue.protocol.page import Page
    from facevalue.studies.stylisticbias import calibration_reference, calibration_tables, generation, reproduce
else:  # they need scipy.stats, which takes a second to import
    calibration_reference = Later(__package__, "calibration_reference")
    calibration_tables = Later(__package__, "calibration_tables")
    generation = Later(__package__, "generation")
    reproduce = Later(__package__, "reproduce")


def _said(study: Study) -> str:
    people = study.manifest["identity"].n_unique()
    return (
        f"{study.manifest.height:,} pictures of {people} drawn faces, 25 scenarios, 4 orderings, asked of "
        f"{DEMO.model}: a small vision-language model that comes with FaceValue, whose bias was planted at random."
    )


DEMO = Demo(
    model="reference",
    # Fashion is compared as in the paper: the model never saw a full body in plain clothes while it learned.
    options={"faces": "12M,12F", "seeds": ["1"], "fashion_base": "portrait"},
    measure="sbs",
    labels=_CUE,
    heading="visual cue",
    plural="cues",
    said=_said,
    planted=calibration_reference.planted_cues,
)
EXTRAS = Extras(
    reproduce=Recomputed(reproduce.reproduce),
    calibrate=Calibration((20, 60), "faces", 2, {"sim": 10_000, "reference": 1_000}, calibration_tables.audited),
    image_prompts=generation.published_prompts,
    demo=DEMO,
)


def _page() -> "Page":
    from facevalue.studies.stylisticbias.page import PAGE  # noqa: PLC0415 - scipy.stats takes a second to import

    return PAGE


PROTOCOL = Protocol(name=NAME, title=TITLE, settings=SETTINGS, columns=COLUMNS, build=build, page=_page, extras=EXTRAS)
