"""Fifth stage: errors that all shifts of a change have in common are levelled.

An SBS is a mean of 25 shifts over everybody. An error of .015 is little in each of them, but it is in
all of them for, say, bald heads, and an audit of 60 people finds it where nothing is planted. It is lowered here as
what it is: not a mean over a few people of a step, which is mostly their own, but over all people lately seen.
"""

from typing import Any

import numpy as np
import torch
from torch import nn

from reference.choices import COLD, Choices
from reference.material import Material
from reference.rows import Writer
from reference.truth import VARIATIONS

AT_ONCE = 6
"""People of a step, each with all changes there are that the paper keeps."""
RECENT = 50
"""How many people a mean goes over."""


class Level(nn.Module):  # type: ignore[misc]
    """Mean errors of the shifts of every change, as they were lately; kept with the weights.

    Parameters
    ----------
    writer:
        Knows the tokens.
    """

    mean: torch.Tensor
    seen: torch.Tensor

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self._choices = [Choices.of(writer, number) for number in range(4)]
        self.register_buffer("mean", torch.zeros(len(VARIATIONS)))
        self.register_buffer("seen", torch.zeros(len(VARIATIONS)))

    def loss(self, model: Any, rng: np.random.Generator, pool: Material) -> torch.Tensor:
        """Twice the mean error, times the error of each person drawn: its slope is that of the square of the mean.

        Equation
        --------
        2 E[m_c e_pc] over people p of the step and their changes c, summed over c, where e is the mean over scenarios
        of (learned - planted) shift of the favourable pole's probability at the study's temperature, and m_c the mean
        of e_pc over the people lately seen with c, which is taken for a constant.
        """
        losses = []
        for number in rng.integers(len(pool.together), size=AT_ONCE):
            rows, changes = pool.together[number]
            wrong = self._error(model, pool, rows, self._choices[rng.integers(len(self._choices))])
            self.seen[changes] += 1
            self.mean[changes] += (wrong.detach() - self.mean[changes]) / self.seen[changes].clamp_max(RECENT)
            losses.append(2 * (self.mean[changes] * wrong).sum())
        return torch.stack(losses).mean()

    @staticmethod
    def _error(model: Any, pool: Material, rows: Any, choices: Choices) -> torch.Tensor:
        planted = torch.tensor(choices.planted(pool.standing[rows]), dtype=torch.float32)
        learned = choices.learned(model, pool.alone.tokens(rows))
        wrong = ((learned / COLD).sigmoid() - (planted / COLD).sigmoid()).mean(dim=1)
        return wrong[1:] - wrong[0]
