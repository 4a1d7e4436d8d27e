"""How close the model is to what is planted, about people that it was not trained on."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from reference.choices import COLD, Choices
from reference.network import features
from reference.portraits import Portraits
from reference.rows import Writer
from reference.truth import PlantedTruth, people

Array = npt.NDArray[np.float64]


@dataclass
class Probe:
    """Forced choices about people that were not trained on, with their planted probabilities."""

    pixels: torch.Tensor
    change: list[tuple[str, str] | None]
    person: npt.NDArray[np.int64]
    standing: Array
    planted: Array
    choices: list[Choices]

    @classmethod
    def of(cls, shown: Portraits, truth: PlantedTruth, writer: Writer, orderings: tuple[int, ...]) -> "Probe":
        """Prepare the probe: all scenarios, in some of the orderings."""
        who = people(shown.facts)
        standing = truth.standing(who)
        choices = [Choices.of(writer, number) for number in orderings]
        names = list(dict.fromkeys(shown.facts["identity"]))
        return cls(
            torch.from_numpy(shown.pixels),
            [one.change for one in who],
            np.array([names.index(name) for name in shown.facts["identity"]]),
            standing,
            np.stack([1 / (1 + np.exp(-asked.planted(standing))) for asked in choices], axis=1),
            choices,
        )

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def learned(self, model: Any) -> Array:
        """Probability of the favourable pole, given (a) or (b); of the shape of `planted`."""
        out = []
        for pixels in self.pixels.split(8):
            tokens = features(model.model.vision_tower, pixels)
            logits = torch.stack([asked.learned(model, tokens) for asked in self.choices], dim=1)
            out.append(logits.double().sigmoid())
        return torch.cat(out).numpy()

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def tokens(self, model: Any) -> torch.Tensor:
        """What the model's tower says of the pictures."""
        return torch.cat([features(model.model.vision_tower, part) for part in self.pixels.split(64)])

    def effects(self, values: Array) -> Array:
        """Mean shift of each change from the same person's base, per scenario; shape (changes, scenarios)."""
        phi = values.mean(axis=1)
        bases = {int(who): phi[row] for row, who in enumerate(self.person) if self.change[row] is None}
        out = []
        for change in dict.fromkeys(c for c in self.change if c is not None):
            rows = [row for row, one in enumerate(self.change) if one == change]
            out.append(np.mean([phi[row] - bases[int(self.person[row])] for row in rows], axis=0))
        return np.array(out)

    def summary(self, model: Any) -> dict[str, float]:
        """How close learned probabilities and effects come to the planted ones."""
        learned = self.learned(model)
        own, planted = self.effects(learned).ravel(), self.effects(self.planted).ravel()
        none = planted == 0
        cold = [self.effects(sharpened(p, COLD)).ravel() for p in (learned, self.planted)]
        r_effects, slope = related(planted, own)
        r_cold, slope_cold = related(cold[1], cold[0])
        return {
            "r": float(np.corrcoef(learned.ravel(), self.planted.ravel())[0, 1]),
            "mae": float(np.abs(learned - self.planted).mean()),
            "r_effects": r_effects,
            "slope": slope,
            "r_cold": r_cold,
            "slope_cold": slope_cold,
            "none_sd": float(own[none].std()) if none.any() else float("nan"),
        }


def related(planted: Array, learned: Array) -> tuple[float, float]:
    """Correlation, and slope of learned on planted; NaN where nothing is planted."""
    if np.ptp(planted) == 0:
        return float("nan"), float("nan")
    return float(np.corrcoef(planted, learned)[0, 1]), float(np.polyfit(planted, learned, 1)[0])


def sharpened(p: Array, temperature: float) -> Array:
    """Probabilities of one of two options at another temperature than 1."""
    with np.errstate(over="ignore"):
        return 1 / (1 + (1 / p - 1) ** (1 / temperature))
