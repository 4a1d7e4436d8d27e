"""Simulated respondents: how the units of a plan shift, where no pilot says so."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

UNITS = 4000
"""Units that are drawn once, and from which simulated audits take theirs."""
SEED = 20260
_FEW = 64
"""Replies about a picture up to which each is drawn; the mean of more is as good as normal."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)


@dataclass(frozen=True, slots=True)
class Respondents:
    """Respondents who answer about a base and its variation in the design of a plan.

    A unit's inclination to the upper end of the scale is normal on the logit scale, and common to all questions about
    it, so that what moves most units far moves some less; pictures differ from question to question. Every other reply
    is favourable without an effect, fewer where that leaves no room for it.

    Attributes
    ----------
    replies:
        To each question about a picture: orders of options times seeds. 0 if probabilities are read instead.
    steps:
        Of the scale: 1 for a share, where a reply is favourable or not; 4 for a rating from 1 to 5.
    span:
        From the lower to the upper end of the scale, in the unit of the effect.
    person, picture:
        SD between units, and between pictures of a unit.

    Examples
    --------
    >>> few, many = Respondents(replies=4), Respondents(replies=12)
    >>> round(few.at(25), 3), round(many.at(25), 3)
    (0.067, 0.043)
    """

    replies: int
    steps: int = 1
    span: float = 1.0
    person: float = 1.0
    picture: float = 0.4

    @property
    def source(self) -> str:
        """What is assumed, for people."""
        replies = "their probabilities" if not self.replies else f"{self.replies} replies per picture and question"
        return (
            f"simulated respondents, {replies}, SD of units {self.person:g} and of pictures {self.picture:g} on the "
            "logit scale; a pilot of your own model is better: --pilot RUN"
        )

    def exact(self) -> "Respondents":
        """The same whose probabilities are read."""
        return replace(self, replies=0)

    def twice(self) -> "Respondents":
        """The same in two runs that are compared."""
        return RespondentsTwice(self.replies, self.steps, self.span, self.person, self.picture)

    def at(self, items: float, effect: float = 0.0) -> float:
        """SD between units of their mean shift over so many questions."""
        return float(self.shifts(items, effect).std())

    def shifts(self, items: float, effect: float) -> Array:
        """Mean shifts of `UNITS` units over so many questions; their mean is the effect.

        `effect`: in the unit of `span`, at least 0 and below it. The same draws whatever the effect, so that what a
        plan says of two effects differs by them alone.
        """
        many, share = max(round(items), 1), effect / self.span
        rng = np.random.default_rng(SEED)
        person = rng.standard_normal((UNITS, 1, 1))
        person *= self.person / person.std()
        logits = person + self.picture * rng.standard_normal((UNITS, 2, many))
        start = min(0.5, (1 - share) * 5 / 6)
        chance = _chance(logits + np.array([self._logit(start), self._logit(start + share)])[:, None])
        draws = self.replies * self.steps
        if not draws:
            scores = chance.mean(axis=2)
        elif draws * many > _FEW:
            noise = np.sqrt((chance * (1 - chance)).sum(axis=2) / draws) / many
            scores = chance.mean(axis=2) + noise * rng.standard_normal((UNITS, 2))
        else:
            scores = (rng.random((*chance.shape, draws)) < chance[..., None]).mean(axis=(2, 3))
        shifts = scores[:, 1] - scores[:, 0]
        return np.asarray((shifts - shifts.mean() + share) * self.span)

    def _logit(self, rate: float) -> float:
        """Where the mean chance over all pictures is the rate."""
        spread = float(np.hypot(self.person, self.picture))
        low, high = -60.0, 60.0
        while high - low > 1e-9:
            middle = (low + high) / 2
            above = (_WEIGHTS * _chance(middle + spread * _NODES)).sum() > rate * _WEIGHTS.sum()
            low, high = (low, middle) if above else (middle, high)
        return low


@dataclass(frozen=True, slots=True)
class RespondentsTwice(Respondents):
    """The same respondents in two runs whose effects on a unit are unrelated, as the worst case has it."""

    def shifts(self, items: float, effect: float) -> Array:
        """Differences of the shift of `UNITS` units between a run with the effect and one without."""
        moved, still = (Respondents.shifts(self, items, size) for size in (effect, 0.0))
        return moved - np.random.default_rng(SEED + 1).permutation(still)


def _chance(logits: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-logits)))
