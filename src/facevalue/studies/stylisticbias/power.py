"""Precision of a plan: how well so many faces and scenarios measure the shift of one variation."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Design
from facevalue.protocol.planning import variation_spread
from facevalue.protocol.study import Precision, Spread
from facevalue.studies.stylisticbias.aggregate import Faces, collect
from facevalue.studies.stylisticbias.tables import scenarios, whitelist

DEFAULT = Spread(
    mean=0.042,
    within=0.216,
    items=len(scenarios()),
    growth=0.265,
    source=(
        "simulated respondents, 12 replies per picture and scenario, SD of faces 1 and of pictures 0.4 on the logit "
        "scale; the paper's Table 7 implies .023 to .057, SBS / d, for a face's mean over all cues; it grows with "
        "the shift as where a model likes or dislikes a face in all scenarios alike; a pilot of your own model is "
        "better: --pilot RUN"
    ),
)
"""What is assumed without a pilot.

A shift of .3 is not the same for all faces: those that a model likes anyway have less room to rise. With an SD between
faces of 1 on the logit scale, common to all scenarios, the shifts' own SD is .10, .21, .23, .26 of a shift of .05, .1,
.2, .3 (12 replies, 25 scenarios); with one drawn anew for each scenario it hardly grows. The larger is assumed, so that
a plan asks for enough faces.
"""


def precision(design: Design, faces: Faces, names: list[str], orderings: list[str], repeats: int) -> Precision:
    """Describe the study to the planner.

    Parameters
    ----------
    design, faces, names, orderings, repeats:
        Of the study.
    """
    rows = faces.slicing(faces.varied, "attribute", "variation")
    shown = [np.unique(faces.identity[faces.varied][rows.codes == code]).size for code in range(len(rows))]

    def units(numbers: npt.NDArray[np.int64]) -> tuple[int, float]:
        asked = design.trials(numbers, ["identity", "scenario"]).unique(["identity", "scenario"])
        people = asked["identity"].n_unique()
        return people, asked.height / people

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> Spread:
        phi = collect(chunks, faces, names, orderings, repeats).phi
        return variation_spread(phi, faces, source, DEFAULT.growth)

    return Precision(
        what="the shift (SBS) of one variation",
        tests=len(rows) or len(whitelist(None)),
        clusters=len(faces.identities),
        items=len(names),
        cluster="faces",
        item="scenarios",
        units=units,
        spread=spread,
        default=DEFAULT,
        shares=tuple(_share(count, len(faces.identities)) for count in shown),
    )


def _share(count: int, faces: int) -> float:
    """Share of the faces that a variation is shown on; a half where an odd number is split as evenly as it can be."""
    return 0.5 if abs(2 * count - faces) == 1 else count / faces
