"""StylisticBias's estimator of a model of which the preference scores are known."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from facevalue.protocol.estimation import Estimator
from facevalue.studies.stylisticbias import taken
from facevalue.studies.stylisticbias.aggregate import Faces


def estimator(faces: Faces, phi: npt.NDArray[np.float64], scenarios: Sequence[str]) -> Estimator:
    """Of scores of shape (pictures, scenarios)."""
    return taken.program(faces, scenarios).estimator(taken.SCORE, phi)
