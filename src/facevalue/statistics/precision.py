"""Precision that is to be expected of a study: how far units differ, and what else a planner must know."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Design
from facevalue.measures.definitions import count_nouns
from facevalue.statistics.sets import Sets

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
UNITS = 4000
"""Units that are drawn once, and from which simulated audits take theirs."""
SEED = 20260
_FEW = 64
"""Replies about a picture up to which each is drawn; the mean of more is as good as normal."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)


@dataclass(frozen=True, slots=True)
class UnitSpread:
    """Spread of a measured quantity between the units that are sampled.

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
    chance:
        Part of `within` that drawing replies adds, which probabilities do not have; 0 if not known.

    Examples
    --------
    >>> UnitSpread(mean=0.1, within=0.2, items=10, source="a pilot").sd(items=10)
    0.1
    """

    mean: float
    within: float
    items: float
    source: str
    growth: float = 0.0
    chance: float = 0.0

    def sd(self, items: float, effect: float = 0.0) -> float:
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

    def exact(self) -> "UnitSpread":
        """The same where probabilities are read.

        Examples
        --------
        >>> round(UnitSpread(mean=0.5, within=0.4, items=1, source="assumed", chance=0.4).exact().mean, 3)
        0.3
        """
        if not self.chance:
            return self
        mean, within = (
            float(np.sqrt(max(sd**2 - self.chance**2 / items, 0.0)))
            for sd, items in ((self.mean, self.items), (self.within, 1))
        )
        return replace(self, mean=mean, within=within, chance=0.0)

    def twice(self) -> "UnitSpread":
        """The same for the difference between two runs whose effects on a cluster are unrelated."""
        root = float(np.sqrt(2))
        mean, within, chance = (root * sd for sd in (self.mean, self.within, self.chance))
        return replace(self, mean=mean, within=within, chance=chance, source=f"two runs as {self.source}")


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
    >>> round(few.sd(25), 3), round(many.sd(25), 3)
    (0.067, 0.043)
    """

    replies: int
    steps: int = 1
    span: float = 1.0
    person: float = 1.0
    picture: float = 0.4

    @property
    def source(self) -> str:
        """Assumptions about the respondents, for people."""
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

    def sd(self, items: float, effect: float = 0.0) -> float:
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
        """Logit at which the mean probability over all pictures is the rate."""
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


@dataclass(frozen=True, slots=True)
class Precision:
    """Facts of a study from which a planner computes what it can detect.

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
    >>> from facevalue.protocol import Ask, Portraits, Protocol, yes_or_no
    >>> from facevalue.statistics import Estimand, Shift
    >>> ask, shift = Ask(("Is this person kind?",), yes_or_no()), Estimand(Shift(), by=("variation",))
    >>> portraits = Portraits(cues={"eyewear": ("sunglasses",)}, people="8")
    >>> kind = Protocol(name="kind", title="Who is kind?", stimuli=portraits, ask=ask, estimands=(shift,))
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
    spread: Callable[[Iterator[pl.DataFrame], str], UnitSpread]
    default: "UnitSpread | Respondents"
    shares: tuple[float, ...] = ()
    advice: Callable[[UnitSpread], str] | None = None
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
        return f"{count_nouns(f'{clusters:,}', self.cluster)} with {count_nouns(_amount(items), self.item)} each"


def variation_spread(phi: Array, sets: Sets, source: str, growth: float = 0.0) -> UnitSpread:
    """UnitSpread of shifts in a run, pooled over its cues; NaN where none has two units.

    Root mean squares: half of the cues would vary more than a median says. A pilot's shifts are small beside those that
    a plan asks about, so that their growth, by how much of an effect itself units differ, is the assumed one.
    """
    delta = phi[sets.variation_rows] - phi[sets.base_of]
    cues = sets.slicing(sets.variation_rows, *sets.cue)
    return pooled_spread([delta[cues.codes == code] for code in range(len(cues))], source, growth)


def pooled_spread(groups: list[Array], source: str, growth: float = 0.0) -> UnitSpread:
    """UnitSpread between the rows of each part, (units, items), pooled; NaN where no part has two rows."""
    means, withins, items = [], [], []
    for scores in groups:
        seen = np.isfinite(scores)
        k = seen.sum(axis=1)
        answered, seen, k = scores[k > 0], seen[k > 0], k[k > 0]
        if k.size < 2:
            continue
        unit = np.where(seen, answered, 0).sum(axis=1) / k
        means.append(unit.var(ddof=1))
        items.append(k.mean())
        if (k > 1).any():
            squares = np.where(seen, (answered - unit[:, None]) ** 2, 0).sum()
            withins.append(squares / (k - 1).sum())
    if not means:
        return UnitSpread(np.nan, np.nan, 0, source)
    mean, within = (float(np.sqrt(np.mean(squares_of))) if squares_of else np.nan for squares_of in (means, withins))
    return UnitSpread(mean, within, float(np.mean(items)), source, growth)


def units_asked(
    design: Design, keys: list[str], tests: int = 1, rows: Callable[[pl.DataFrame], pl.DataFrame] | None = None
) -> Callable[[Codes], tuple[int, float]]:
    """From trial numbers to how many units they are about, and items of each in a test.

    `keys`: name a unit, then its items. `tests`: among how many the items of a unit are shared out. `rows`: which
    trials count; all by default.
    """

    def units(numbers: Codes) -> tuple[int, float]:
        trials = (design.trials(numbers, keys) if rows is None else rows(design.trials(numbers))).unique(keys)
        many = trials[keys[0]].n_unique()
        return many, trials.height / max(many, 1) / tests

    return units


def _amount(items: float) -> str:
    return f"{items:,.0f}" if items >= 100 else f"{items:.3g}"
