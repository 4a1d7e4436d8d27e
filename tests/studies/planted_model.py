"""A model that says exactly what is planted, told by a picture's levels and by the question as it is worded."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from facevalue.models.base import Capabilities
from facevalue.models.reference.truth import LETTER, POSITION
from facevalue.types import Request, Response, Status
from reference.truth import SCENARIOS, TRAITS, JudgedPerson, PlantedTruth

TRUTH = PlantedTruth()
FACTORS = ("gender", "age", "skin_tone", "build")


class PlantedModel:
    """Stands in for the reference model.

    Parameters
    ----------
    sign:
        -1 has it learned the opposite of what is planted.
    invalid:
        Share of its replies that are no valid answer, where the option labelled (b) comes first; elsewhere none.
    weights:
        What it calls its weights.
    """

    name = "reference"
    capabilities = Capabilities(probabilities="full", sight="stated")

    def __init__(self, sign: int = 1, invalid: float = 0.0, weights: str = "0") -> None:
        self.sign, self.invalid, self.weights = sign, invalid, weights
        self.asked = 0
        self.fails = False

    def settings(self) -> Mapping[str, str | int | float | bool]:
        return {"weights": self.weights}

    def close(self) -> None:
        pass

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        standing: dict[str, npt.NDArray[np.float64]] = {}
        for request in requests:
            self.asked += 1
            if self.fails:
                yield Response(request.trial, request.repeat, Status.ERROR, error="Nothing to see.")
                continue
            levels = request.stimulus.factors
            key = str(levels["image"])
            if key not in standing:
                change = (str(levels["attribute"]), str(levels["variation"])) if levels["attribute"] else None
                standing[key] = TRUTH.standing([JudgedPerson(**{n: str(levels[n]) for n in FACTORS}, change=change)])[0]
            yield Response(request.trial, request.repeat, Status.OK, None, self._probs(request, standing[key]))

    def _probs(self, request: Request, standing: npt.NDArray[np.float64]) -> tuple[float, ...]:
        options = request.question.options
        trait, poles = next((name, pair) for name, pair in SCENARIOS.items() if options[0].text in pair)
        logits = np.zeros(2)
        for place, option in enumerate(options):
            favourable = option.text == poles[0]
            logits[place] += self.sign * standing[TRAITS.index(trait)] if favourable else 0.0
            logits[place] += POSITION / 2 if place == 0 else -POSITION / 2
            logits[place] += LETTER / 2 if option.label == "(a)" else -LETTER / 2
        shares = np.exp(logits / request.sampling.temperature)
        valid = 1 - self.invalid * (options[0].label == "(b)")
        return tuple((valid * shares / shares.sum()).tolist())
