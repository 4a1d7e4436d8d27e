"""StylisticBias as a protocol: how its study is built, its page, and what it offers beside its trials and measures."""

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from facevalue.protocol.offers import Calibrated, Calibration, CalibrationRequest, Demo, Extras, Recomputed
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.reproduction import Reproduction
from facevalue.protocol.study import Study
from facevalue.stimuli.drawn import CONTROL
from facevalue.studies.stylisticbias.pictures import COLUMNS
from facevalue.studies.stylisticbias.study import NAME, SETTINGS, TITLE, build

_CUE = ("attribute", "variation")

if TYPE_CHECKING:
    from facevalue.protocol.page import Page


def _reproduce(_: Path | None) -> Reproduction:
    from facevalue.studies.stylisticbias.reproduce import reproduce  # noqa: PLC0415 - imported when asked for

    return reproduce()


def _calibrate(asked: CalibrationRequest) -> Calibrated:
    from facevalue.studies.stylisticbias.calibration_tables import audited  # noqa: PLC0415 - slow to import

    return audited(asked)


def _prompts(portraits: bool) -> pl.DataFrame:
    from facevalue.studies.stylisticbias.generation import published_prompts  # noqa: PLC0415 - reads tables

    return published_prompts(portraits=portraits)


def _said(study: Study) -> str:
    people = study.manifest["identity"].n_unique()
    return (
        f"{study.manifest.height:,} pictures of {people} drawn faces, 25 scenarios, 4 orderings, asked of "
        f"{DEMO.model}: a small vision-language model that comes with FaceValue, whose bias was planted at random."
    )


def _planted(study: Study) -> pl.DataFrame:
    from facevalue.models.reference.truth import SCENARIOS  # noqa: PLC0415 - slow to import
    from facevalue.studies.stylisticbias.calibration_reference import planted_scores  # noqa: PLC0415
    from facevalue.studies.stylisticbias.tables import attribute_titles, grid  # noqa: PLC0415

    phi = planted_scores(study.manifest, list(SCENARIOS), study.sampling.temperature).mean(axis=1)
    frame = study.manifest.select("identity", *_CUE).with_columns(phi=pl.Series(phi))
    base = frame.filter(pl.col("attribute").is_null()).select("identity", base="phi")
    changed = frame.filter(pl.col("attribute") != CONTROL[0]).join(base, on="identity")
    means = changed.group_by(_CUE).agg(planted=(pl.col("phi") - pl.col("base")).mean())
    attributes, names = attribute_titles(), {(v.attribute, v.name): v.title for v in grid()}
    titles = [f"{names[cue].lower()} ({attributes[cue[0]].lower()})" for cue in means.select(_CUE).iter_rows()]
    return means.with_columns(title=pl.Series(titles))


DEMO = Demo(
    model="reference",
    # Fashion is compared as in the paper: the model never saw a full body in plain clothes while it learned.
    options={"faces": "12M,12F", "seeds": ["1"], "fashion_base": "portrait"},
    measure="sbs",
    labels=_CUE,
    heading="visual cue",
    plural="cues",
    said=_said,
    planted=_planted,
)
EXTRAS = Extras(
    reproduce=Recomputed(_reproduce),
    calibrate=Calibration((20, 60), "faces", 2, {"sim": 10_000, "reference": 1_000}, _calibrate),
    image_prompts=_prompts,
    demo=DEMO,
)


def _page() -> "Page":
    from facevalue.studies.stylisticbias.page import PAGE  # noqa: PLC0415 - scipy.stats takes a second to import

    return PAGE


PROTOCOL = Protocol(name=NAME, title=TITLE, settings=SETTINGS, columns=COLUMNS, build=build, page=_page, extras=EXTRAS)
