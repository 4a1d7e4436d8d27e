"""Precision that is to be expected of a study: what a planner must know to say what it can detect."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

if TYPE_CHECKING:
    from facevalue.protocol.respondents import Respondents


@dataclass(frozen=True, slots=True)
class Spread:
    """How far what is measured differs between the units that are sampled.

    Attributes
    ----------
    mean:
        SD between clusters (faces) of their mean over `items` items (scenarios).
    within:
        SD between the items of one cluster; NaN if not known.
    items:
        Over how many items the means were taken.
    source:
        Where the numbers are from, for people.
    growth:
        How far clusters differ in an effect itself, as a share of it: what moves most faces far moves some less.

    Examples
    --------
    >>> Spread(mean=0.1, within=0.2, items=10, source="a pilot").at(items=10)
    0.1
    """

    mean: float
    within: float
    items: float
    source: str
    growth: float = 0.0

    def at(self, items: float, effect: float = 0.0) -> float:
        """SD between clusters where each has so many items, drawn without replacement from those there are.

        Parameters
        ----------
        items:
            Items of each cluster.
        effect:
            Their mean.

        Equation
        --------
        sd²(k, d) = sd²(K) + within² (1/k - 1/K) + (growth d)²: the items that are left out add their share of the
        variance between items (Cochran, Sampling Techniques, 1977, section 10.3), and more items take theirs away, down
        to the noise of these alone, within²/k. NaN where fewer items are planned and `within` is not known; where more
        are, sd(K) is then more than enough.
        """
        grown = (self.growth * effect) ** 2
        if items == self.items or (items > self.items and not np.isfinite(self.within)):
            return float(np.sqrt(self.mean**2 + grown))
        variance = self.mean**2 + self.within**2 * (1 / items - 1 / self.items)
        if items > self.items:
            variance = max(variance, self.within**2 / items)
        return float(np.sqrt(variance + grown))

    def twice(self) -> "Spread":
        """The same for the difference between two runs whose effects on a cluster are unrelated."""
        root = float(np.sqrt(2))
        return replace(self, mean=root * self.mean, within=root * self.within, source=f"two runs as {self.source}")


@dataclass(frozen=True, slots=True)
class Precision:
    """What a planner must know of a study to say what it can detect.

    Attributes
    ----------
    what:
        The effect that is planned for.
    tests:
        Tests in its family.
    clusters, items:
        Units sampled, and items of each, in the whole study.
    cluster, item:
        What these are, in the plural.
    units:
        From trial numbers to clusters, and items of each.
    spread:
        From a pilot's answers and where it is to its spread.
    default:
        What is assumed without a pilot: a spread, or respondents who are simulated in the design of the plan.
    shares:
        Share of the clusters that each test rests on, as not every face can have every cue; empty where all rest on
        all.
    advice:
        From the spread to what the design cannot tell apart and what it would take, for people; None if nothing.
    freedom:
        In how many directions an effect may lie that is tested by the size of its square; None for a shift, which is
        tested by t.
    sure:
        Share of the family's level at which a single effect is sure to be found.
    each:
        Requests of each cluster; None where all requests of the plan are about the clusters.
    largest:
        Largest possible effect.
    compared:
        The same of what two runs are compared by, where that is another effect.
    one_sided:
        Whether what is below its floor is never found.
    of_question:
        Whether it is a test of one question, at .05, of which a tally counts how many find something.
    of_replies:
        Whether it stands beside what several replies to one picture have, which probabilities say nothing of.
    unplanned:
        What else the study measures that it says nothing of, for people; empty if nothing.

    Examples
    --------
    >>> from facevalue.protocol import Ask, Portraits, Protocol, Take, yes_or_no
    >>> ask, shift = Ask(("Is this person kind?",), yes_or_no()), Take("shift", by=("variation",))
    >>> portraits = Portraits(cues={"eyewear": ("sunglasses",)}, people="8")
    >>> kind = Protocol(name="kind", title="Who is kind?", stimuli=portraits, ask=ask, takes=(shift,))
    >>> kind.study().planned.precision.clusters
    8
    """

    what: str
    tests: int
    clusters: int
    items: float
    cluster: str
    item: str
    units: Callable[[npt.NDArray[np.int64]], tuple[int, float]]
    spread: Callable[[Iterator[pl.DataFrame], str], Spread]
    default: "Spread | Respondents"
    shares: tuple[float, ...] = ()
    advice: Callable[[Spread], str] | None = None
    freedom: int | None = None
    sure: float = 1.0
    each: float | None = None
    largest: float = 1.0
    compared: "Precision | None" = None
    one_sided: bool = False
    of_question: bool = False
    of_replies: bool = False
    unplanned: str = ""

    def sample_of(self, clusters: int, items: float) -> str:
        """So many units with so many items each, for people, in the singular for one."""
        return f"{_counted(f'{clusters:,}', self.cluster)} with {_counted(_amount(items), self.item)} each"


def _amount(items: float) -> str:
    return f"{items:,.0f}" if items >= 100 else f"{items:.3g}"


def _counted(amount: str, nouns: str) -> str:
    """A number and what it counts.

    >>> _counted("1", "questions in each test"), _counted("1", "people"), _counted("2.5", "questions")
    ('1 question in each test', '1 person', '2.5 questions')
    """
    singular = re.sub(r"^people\b", "person", re.sub(r"^(\w+)s\b", r"\1", nouns))
    return f"{amount} {singular if amount == '1' else nouns}"
