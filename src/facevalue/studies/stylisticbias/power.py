"""How precisely a plan of so many faces and scenarios measures the shift of one variation."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Design
from facevalue.studies.base import Precision, Spread
from facevalue.studies.stylisticbias.scores import Faces, collect
from facevalue.studies.stylisticbias.tables import scenarios, whitelist

DEFAULT = Spread(
    mean=0.041,
    within=0.216,
    items=len(scenarios()),
    source=(
        "simulated respondent sim/default, 500 faces, 12 replies per picture and scenario: medians over 34 variations; "
        "the paper's Table 7 implies .023 to .057, SBS / d, for a face's mean over all variations; a pilot of your own "
        "model is better: --pilot RUN"
    ),
)


def precision(design: Design, faces: Faces, names: list[str], orderings: list[str], repeats: int) -> Precision:
    """Describe the study to the planner.

    Parameters
    ----------
    design, faces, names, orderings, repeats:
        Of the study.
    """

    def units(numbers: npt.NDArray[np.int64]) -> tuple[int, float]:
        asked = design.trials(numbers, ["identity", "scenario"]).unique(["identity", "scenario"])
        people = asked["identity"].n_unique()
        return people, asked.height / people

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> Spread:
        return pilot_spread(collect(chunks, faces, names, orderings, repeats).phi, faces, source)

    return Precision(
        what="the shift (SBS) of one variation",
        tests=len(faces.slicing(faces.varied, "attribute", "variation")) or len(whitelist(None)),
        clusters=len(faces.identities),
        items=len(names),
        cluster="faces",
        item="scenarios",
        units=units,
        spread=spread,
        default=DEFAULT,
    )


def pilot_spread(phi: npt.NDArray[np.float64], faces: Faces, source: str) -> Spread:
    """Spread of shifts in a run, medians over its variations; NaN where a variation has fewer than two faces.

    Parameters
    ----------
    phi:
        Preference scores, shape (images, scenarios).
    faces:
        The manifest.
    source:
        Where the run is, for people.
    """
    delta = phi[faces.varied] - phi[faces.base_of]
    part = faces.slicing(faces.varied, "attribute", "variation")
    means, withins, items = [], [], []
    for code in range(len(part)):
        own = delta[part.codes == code]
        seen = np.isfinite(own)
        k = seen.sum(axis=1)
        own, seen, k = own[k > 0], seen[k > 0], k[k > 0]
        if k.size < 2:
            continue
        face = np.where(seen, own, 0).sum(axis=1) / k
        means.append(face.std(ddof=1))
        items.append(k.mean())
        if (k > 1).any():
            squares = np.where(seen, (own - face[:, None]) ** 2, 0).sum()
            withins.append(np.sqrt(squares / (k - 1).sum()))
    if not means:
        return Spread(np.nan, np.nan, 0, source)
    within = float(np.median(withins)) if withins else np.nan
    return Spread(float(np.median(means)), within, float(np.mean(items)), source)
