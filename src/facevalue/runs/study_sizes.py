"""Sizes of a study in an audit: what each detects in its lead family, in points of what is possible, and takes."""

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from facevalue.errors import DataError
from facevalue.measures.power import DetectionCurve
from facevalue.runs.audit_studies import StudyOfAudit
from facevalue.runs.plan import plan
from facevalue.runs.power import detected_by_all, expected_spread, reaches_of
from facevalue.runs.stopping import StopRule, can_stop
from facevalue.runs.stored_run import StoredRun
from facevalue.statistics.precision import Precision, Respondents, UnitSpread

PILOT_UNITS, LEAST_PILOT, MOST_PILOT = 6, 300, 2_000
"""Units and requests of a study that a pilot asks: as few requests as are about so many units, within these bounds."""
FEWEST_UNITS, LEAST_FREEDOM = 4, 30
"""Units of a pilot, and degrees of freedom of its spread over all tests, below which the default is taken: a size
chosen from fewer would hang so much on the very answers that are tested that their tests were no longer at their level.
"""
_DOUBLING, _FINE = 2.0, 1.06
"""Ratio of the sizes that are looked at first, and of those between which the best is found in the end."""


@dataclass(frozen=True, slots=True)
class StudySize:
    """A size of a study.

    Attributes
    ----------
    sample, requests:
        Requests wanted, and as many of them as make whole units.
    clusters, items:
        Units, and items of each in a test; 0 where the study has no power analysis.
    effect:
        Smallest effect that any test of the lead family detects with 80% power, in its own unit; NaN if some may miss
        any.
    points:
        The same in points of a hundred: shares of the largest possible effect.
    """

    sample: int
    requests: int
    clusters: int = 0
    items: float = 0.0
    effect: float = np.nan
    points: float = np.nan


@dataclass(frozen=True)
class StudyPilot:
    """Results of a pilot about a study, or its model.

    Attributes
    ----------
    run:
        Its answers.
    seconds:
        Of a request, as the pilot was asked; NaN where that is not known.
    prompt_tokens, completion_tokens:
        Of a request; NaN where the model does not count them.
    """

    run: StoredRun
    seconds: float
    prompt_tokens: float
    completion_tokens: float

    @classmethod
    def from_run(cls, run: StoredRun) -> "StudyPilot":
        """Read a run as a pilot."""
        counts = run.facts.counts
        answered = counts.ok + counts.truncated
        ended = [session for session in run.facts.sessions if session.end is not None and session.asked]
        seconds = sum((session.end - session.start).total_seconds() for session in ended if session.end is not None)
        responses = sum(session.asked for session in ended)
        counted = answered if answered and counts.prompt_tokens else np.nan
        return cls(
            run,
            seconds / responses if responses and seconds > 0 else np.nan,
            counts.prompt_tokens / counted,
            counts.completion_tokens / counted,
        )


@dataclass(eq=False)
class StudySizes:
    """Sizes that a study may have; each is looked at once.

    Attributes
    ----------
    study:
        What is asked.
    seed:
        Of its sample.
    pilot:
        From which spread, tokens and speed are taken; None for stated defaults.
    begun:
        Requests wanted of what was asked already, which no size is below; 0 where nothing was.
    rule:
        By which its run stops early; what it then detects is what it does at any time.
    """

    study: StudyOfAudit
    seed: int
    pilot: StudyPilot | None = None
    begun: int = 0
    rule: StopRule | None = None
    _by_sample: dict[int, StudySize] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the study's run."""
        return self.study.name

    @property
    def is_stopping(self) -> bool:
        """True if the run is looked at while it is asked."""
        return self.rule is not None and can_stop(self.study.study)

    @cached_property
    def begun_requests(self) -> int:
        """Requests that were asked already: the whole units of `begun`."""
        return self.study.requests(self.begun, self.seed) if self.begun else 0

    @property
    def precision(self) -> Precision | None:
        """Facts about the study that a planner needs."""
        return self.study.study.planned.precision

    @cached_property
    def spread(self) -> UnitSpread | Respondents | None:
        """Spread of the units, by the pilot if it shows it; None where the study has no power analysis."""
        plan = self.precision
        if plan is None:
            return None
        study, exact = self.study.study, self.study.exact
        if self.pilot is not None and self.pilot.run.facts.sample is not None:
            facts = self.pilot.run.facts
            units = plan.units(study.sample(facts.sample or 1, facts.seed, self.study.repeats))[0]
            if units >= FEWEST_UNITS and (units - 1) * plan.tests >= LEAST_FREEDOM:
                with suppress(DataError):  # it says nothing of the spread
                    return expected_spread(study, exact=exact, pilot=self.pilot.run)
        return expected_spread(study, exact=exact, pilot=None)

    @cached_property
    def weigh_cells_alike(self) -> tuple[float, float]:
        """Tokens of a prompt and of a reply: as the pilot counted them, or roughly."""
        if self.pilot is not None and np.isfinite(self.pilot.prompt_tokens):
            return self.pilot.prompt_tokens, self.pilot.completion_tokens
        rough = plan(self.study.study, sample=self._part(), seed=self.seed, exact=self.study.exact)
        return rough.prompt_tokens / rough.asked, rough.completion_tokens / rough.asked

    def _part(self) -> int | None:
        size = max(self.smallest, MOST_PILOT)
        return None if size >= self.study.all_requests else size

    @cached_property
    def smallest(self) -> int:
        """Requests of the smallest sample, at least what was asked already."""
        if self.begun:
            return self.begun
        size = min(16, self.study.all_requests)
        while size < self.study.all_requests and not self.study.requests(size, self.seed):
            size = min(2 * size, self.study.all_requests)
        low = size // 2
        while size - low > 1 and low >= 1:
            middle = (low + size) // 2
            low, size = (low, middle) if self.study.requests(middle, self.seed) else (middle, size)
        return size

    @cached_property
    def pilot_sample(self) -> int:
        """Requests of a pilot."""
        most = min(max(self.smallest, MOST_PILOT), self.study.all_requests)
        size = min(max(self.smallest, LEAST_PILOT), most)
        plan = self.precision
        while plan is not None and size < most and self.size_of_sample(size).clusters < min(PILOT_UNITS, plan.clusters):
            size = min(2 * size, most)
        return size

    def size_of_sample(self, sample: int) -> StudySize:
        """Size of the study with such a sample, and what it detects."""
        sample = min(sample, self.study.all_requests)
        if sample not in self._by_sample:
            self._by_sample[sample] = self._look(sample)
        return self._by_sample[sample]

    def _look(self, sample: int) -> StudySize:
        plan, spread = self.precision, self.spread
        requests = self.study.requests(sample, self.seed)
        if plan is None or spread is None or not requests:
            return StudySize(sample, requests)
        clusters, items = plan.clusters, plan.items
        if sample < self.study.all_requests:
            clusters, items = plan.units(self.study.study.sample(sample, self.seed, self.study.repeats))
        effect = None
        if clusters and np.isfinite(spread.sd(items)):
            effect = detected_by_all(reaches_of(plan, spread, clusters, items, any_time=self.is_stopping))
        if effect is None:
            return StudySize(sample, requests, clusters, items)
        return StudySize(sample, requests, clusters, items, effect, 100 * effect / plan.largest)

    @cached_property
    def is_silent(self) -> bool:
        """Return whether no size is known to detect anything: no power analysis, or even the whole may miss all."""
        return self.precision is None or not np.isfinite(self.size_of_sample(self.study.all_requests).points)

    def look_up_to(self, most: int) -> None:
        """Look at sizes up to so many requests, each twice the last, and on to the first that detects anything."""
        size = self.smallest
        while True:
            is_telling = np.isfinite(self.size_of_sample(size).points)
            if size >= self.study.all_requests or (size >= most and is_telling):
                break
            if size < most < _DOUBLING * size and is_telling:
                size = most
            else:
                size = min(round(size * _DOUBLING), self.study.all_requests)
        self._narrow_first()

    def _narrow_first(self) -> None:
        """Find the first size that detects anything more closely."""
        sizes = sorted(self._by_sample)
        first = next((at for at, size in enumerate(sizes) if np.isfinite(self.size_of_sample(size).points)), 0)
        if not first:
            return
        low, high = sizes[first - 1], sizes[first]
        while high > _FINE * low and high - low > 1:
            middle = round(np.sqrt(low * high))
            low, high = (low, middle) if np.isfinite(self.size_of_sample(middle).points) else (middle, high)

    def look_near(self, sample: int) -> bool:
        """Look at sizes between one and its neighbours; False where they are near enough already."""
        sizes = sorted(self._by_sample)
        at = sizes.index(sample)
        new = []
        for low, high in zip(sizes[max(at - 1, 0) : at + 2], sizes[max(at, 1) : at + 2], strict=False):
            middle = round(np.sqrt(low * high))
            if high > _FINE * low and low < middle < high:
                new.append(middle)
        for size in new:
            self.size_of_sample(size)
        return bool(new)

    def curve(self, cost: float) -> tuple[list[StudySize], DetectionCurve]:
        """The sizes that were looked at, ascending, and what they detect by what they cost beyond what was asked.

        `cost`: of a request. The smallest of sizes with as many requests counts.
        """
        by_requests = {
            size.requests: size
            for sample in sorted(self._by_sample, reverse=True)
            if (size := self._by_sample[sample]).requests and sample >= self.smallest
        }
        sizes = [by_requests[requests] for requests in sorted(by_requests)]
        costs = np.array([(size.requests - self.begun_requests) * cost for size in sizes])
        return sizes, DetectionCurve(costs, np.array([size.points for size in sizes]) / 100)
