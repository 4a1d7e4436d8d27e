"""StylisticBias's estimator of a model of which the preference scores are known."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from facevalue.statistics.model_scores import ModelScores
from facevalue.studies.stylisticbias import estimands
from facevalue.studies.stylisticbias.aggregate import Faces


def estimator(faces: Faces, phi: npt.NDArray[np.float64], scenarios: Sequence[str]) -> ModelScores:
    """Of scores of shape (pictures, scenarios)."""
    return estimands.program(faces, scenarios).model(estimands.SCORE, phi)
