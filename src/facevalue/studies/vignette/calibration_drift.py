"""A respondent without preferences that drifts while it is asked: nothing may be found of any identity."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from facevalue.design import Order
from facevalue.models.sim import SimModel
from facevalue.protocol.study import Study
from facevalue.types import Request

Array = npt.NDArray[np.float64]
DRIFT = 0.3
"""Logits by which the first of a pair gains on the other from the first to the last question of a run."""


class Drifting(SimModel):
    """`sim/null`, which comes to prefer the first of each pair while it is asked.

    Parameters
    ----------
    study, seed:
        What it is asked, and the seed of its preferences and of the order.
    ordered:
        Whether it is asked in the order of a run; else in that of trial numbers, as runs once were.
    """

    def __init__(self, study: Study, seed: int, *, ordered: bool = True) -> None:
        super().__init__(f"null@{seed}")
        places = np.arange(study.design.size)
        if ordered:
            order = Order(study.design, study.asked_together, seed)
            places[np.concatenate(list(order.pieces(2**16)))] = np.arange(study.design.size)
        later = DRIFT * (places / (study.design.size - 1) - 0.5)
        plain = self._preferences.utilities

        def utilities(requests: Sequence[Request], levels: tuple[str, ...]) -> Array:
            first = np.array([[option.level == "1" for option in r.question.options] for r in requests])
            return plain(requests, levels) + first * later[[r.trial for r in requests]][:, None]

        self._preferences.utilities = utilities  # type: ignore[method-assign]
