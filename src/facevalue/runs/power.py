"""Power before spending: how many units detect an effect, and what a plan can detect."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from facevalue.errors import DataError
from facevalue.protocol.study import Study
from facevalue.runs.stored_run import StoredRun, answers
from facevalue.statistics.precision import Precision, Respondents, UnitSpread

ALPHA, POWER = 0.05, 0.8


@dataclass(frozen=True, slots=True)
class Reach:
    """Smallest effect that tests detect which rest on one share of the units."""

    tests: int
    """How many these are."""
    clusters: int
    """Units they rest on in the plan."""
    detectable: float | None
    """Smallest effect that they detect there; None if none at all."""
    needed: int | None
    """Units of the study that it takes for them to detect what the user wants; None if nothing was asked."""


@dataclass(frozen=True, slots=True)
class Detection:
    """Effect that a plan can detect, and what it takes to detect the one the user wants."""

    what: str
    """The effect."""
    detectable: float | None
    """Smallest effect that the plan detects with any of its tests; None if some detect nothing."""
    clusters: int
    items: float
    """Units in the plan (faces), and items of each (scenarios)."""
    effect: float | None
    """What the user wants to detect; None if nothing was asked."""
    needed: int | None
    """Units that detect it with any of the tests, with `items` items each."""
    requests: int | None
    """What these take, as the plan's requests per unit are; None where `needed` is."""
    sample: int | None
    """Requests of a sample that detects it with all units of the study and fewer items of each; None if even all items
    don't, or nothing was asked."""
    reaches: tuple[Reach, ...]
    """The same by the share of units that tests rest on, largest share first."""
    level: float
    """Two-sided level of a single test, at which it is surely made: the lead family's share of alpha / tests."""
    tests: int
    """Tests in the family."""
    power: float
    """How often the effect is detected."""
    sd: float
    """Assumed SD between units, where the effect is the one to be detected (or none)."""
    source: str
    """Where it is from."""
    advice: str
    """What the design cannot tell apart, and what it would take; empty if nothing."""
    unplanned: str
    """What else the study measures that this says nothing of; empty if nothing."""


def detection(
    study: Study,
    *,
    requests: int,
    sample: int | None,
    seed: int,
    exact: bool,
    effect: float | None,
    pilot: StoredRun | None,
    compare: bool = False,
) -> Detection:
    """Work out what a plan detects; with `compare`, of the difference between two such runs on the same units.

    A difference is planned for as if the two runs had nothing in common but its units: its variance is that of both.
    Whatever units bring to both runs makes it smaller (`measures.paired_changes`), so that such a plan asks too much
    rather than too little. Its t has no more degrees of freedom than the jackknife has groups, less one.
    """
    from facevalue.measures.paired_changes import JACKKNIFE_GROUPS  # noqa: PLC0415 - slow to import

    plan = planned_precision(study, compare=compare)
    if effect is not None and not 0 < effect <= plan.largest:
        raise DataError(f"A shift to detect is a size: above 0 and at most {plan.largest:g}, not {effect:g}.")
    spread = expected_spread(study, exact=exact, pilot=pilot, compare=compare)
    most_df = JACKKNIFE_GROUPS - 1 if compare else np.inf
    clusters, items = plan.clusters, plan.items
    if sample is not None:
        clusters, items = plan.units(study.sample(sample, seed, 1 if exact else study.repeats))
    if not np.isfinite(spread.sd(items)):
        raise DataError(
            f"The pilot asked too little to say what {items:.3g} {plan.item} for each of the {plan.cluster} give."
        )
    level = single_level(plan)
    reaches = reaches_of(plan, spread, clusters, items, effect, most_df)
    needed = None if effect is None else max(reach.needed or 0 for reach in reaches)
    return Detection(
        what=f"a difference between two runs in {plan.what}" if compare else plan.what,
        detectable=detected_by_all(reaches),
        clusters=clusters,
        items=items,
        effect=effect,
        needed=needed,
        requests=None if needed is None else round((plan.each or requests / clusters) * needed),
        sample=None
        if effect is None
        else _sample(spread, plan, min(plan.shares, default=1.0), level, effect, requests, clusters, items, most_df),
        reaches=reaches,
        level=level,
        tests=plan.tests,
        power=POWER,
        sd=spread.sd(items, effect or 0.0),
        source=spread.source,
        advice="" if plan.advice is None or isinstance(spread, Respondents) else plan.advice(spread),
        unplanned=plan.unplanned,
    )


def expected_spread(
    study: Study, *, exact: bool, pilot: StoredRun | None, compare: bool = False
) -> UnitSpread | Respondents:
    """UnitSpread of what a study plans for: that of a pilot, or the stated default."""
    plan = planned_precision(study, compare=compare)
    spread = plan.default if pilot is None else _pilot(plan, study, pilot, compare=compare)
    if exact and plan.of_replies:
        raise DataError(
            f"{study.name} plans for {plan.what}, which stands beside what several replies have: probabilities have "
            "none. Plan it without exact."
        )
    if exact:
        spread = spread.exact()
    if not compare:
        return spread
    if plan.freedom is not None or plan.one_sided or plan.of_question:
        raise DataError(f"What {study.name} plans for has no direction: plan for a single run instead.")
    return spread.twice()


def single_level(plan: Precision) -> float:
    """Two-sided level of a single test, at which it is surely made."""
    from facevalue.measures.multitest import LEAD_SHARE  # noqa: PLC0415 - slow to import

    return ALPHA if plan.of_question else ALPHA * LEAD_SHARE * plan.sure / plan.tests * (2 if plan.one_sided else 1)


def reaches_of(
    plan: Precision, spread: UnitSpread | Respondents, clusters: int, items: float, effect: float | None = None,
    most_df: float = np.inf, *, any_time: bool = False,
) -> tuple[Reach, ...]:  # fmt: skip
    """Effects that so many units with so many items each detect, by the share of units that tests rest on.

    `any_time`: of tests that hold at all looks together, at the last of them.
    """
    shares, level = plan.shares or (1.0,) * plan.tests, single_level(plan)
    return tuple(
        _reach(
            spread, items, clusters, share, shares.count(share), _level_at(level, clusters, share, any_time),
            effect, plan.freedom, plan.largest, most_df,
        )
        for share in sorted(set(shares), reverse=True)
    )  # fmt: skip


def _level_at(level: float, clusters: int, share: float, any_time: bool) -> float:
    """Level of the test of a share of the units; at any time, that of a single look that asks for as much, or 0."""
    if not any_time:
        return level
    from facevalue.measures.family_tests import any_time_critical, single_look_level  # noqa: PLC0415 - slow to import

    units = _sampled_clusters(clusters, share)
    is_reached = np.isfinite(any_time_critical(level, units - 1, units))
    return float(single_look_level(level, units - 1, units)) if is_reached else 0.0


def _sampled_clusters(clusters: int, share: float) -> int:
    return int(np.floor(clusters * share + 1e-9))


def detected_by_all(reaches: Sequence[Reach]) -> float | None:
    """Smallest effect that any of the tests detects; None if some detect nothing."""
    effects = [reach.detectable for reach in reaches if reach.detectable is not None]
    return max(effects) if len(effects) == len(reaches) else None


def _reach(
    spread: UnitSpread | Respondents, items: float, clusters: int, share: float, tests: int, level: float,
    effect: float | None, freedom: int | None = None, largest: float = 1.0, most_df: float = np.inf,
) -> Reach:  # fmt: skip
    """Effect that tests on a share of the units detect, and the number of units needed for the wanted effect.

    Equation
    --------
    The smallest d with k sd(d) = d, k the detectable effect in SD: d² = k² sd²(0) / (1 - k² growth²). Where an effect
    is tested by its square, k = sqrt(lambda / n), with lambda the noncentrality of the chi-squared test. Audits
    of simulated respondents are drawn and judged instead.
    """
    from facevalue.measures.power import clusters_needed, detectable_mean  # noqa: PLC0415 - slow to import

    sampled = _sampled_clusters(clusters, share)
    if not level:
        return Reach(tests, sampled, None, None)
    if isinstance(spread, Respondents):
        return _reach_of_respondents(spread, items, sampled, share, tests, level, effect, largest)
    if freedom is not None:
        return _reach_of_square(spread, items, sampled, share, tests, level, effect, freedom, largest)
    k = float(detectable_mean(1.0, sampled, level, POWER, most_df))
    rest = 1 - (k * spread.growth) ** 2
    reach = k * spread.sd(items) / np.sqrt(rest) if rest > 0 else np.nan
    needed = None
    if effect is not None:
        needed = int(
            np.ceil(float(clusters_needed(spread.sd(items, effect), effect, level, POWER, most_df)) / share - 1e-9)
        )
    return Reach(tests, sampled, float(reach) if reach <= largest else None, needed)


def _reach_of_respondents(
    spread: Respondents, items: float, clusters: int, share: float, tests: int, level: float, effect: float | None,
    largest: float,
) -> Reach:  # fmt: skip
    from facevalue.measures.power import fewest_clusters, smallest_effect  # noqa: PLC0415 - slow to import

    reach = smallest_effect(lambda size: spread.shifts(items, size), clusters, level, largest, POWER)
    needed = None
    if effect is not None:
        needed = int(np.ceil(fewest_clusters(spread.shifts(items, effect), level, POWER, largest) / share - 1e-9))
    return Reach(tests, clusters, reach if np.isfinite(reach) else None, needed)


def _reach_of_square(
    spread: UnitSpread, items: float, sampled: int, share: float, tests: int, level: float, effect: float | None,
    freedom: int, largest: float = 1.0,
) -> Reach:  # fmt: skip
    from scipy import special  # noqa: PLC0415 - slow to import

    size = float(special.chndtrinc(special.chdtri(freedom, level), freedom, 1 - POWER))
    reach = np.sqrt(size / sampled) * spread.sd(items) if sampled > 1 else np.nan
    needed = None if effect is None else int(np.ceil(size * (spread.sd(items, effect) / effect) ** 2 / share - 1e-9))
    return Reach(tests, sampled, float(reach) if reach <= largest else None, needed)


def _sample(
    spread: UnitSpread | Respondents, plan: Precision, share: float, level: float, effect: float, requests: int,
    clusters: int, items: float, most_df: float = np.inf,
) -> int | None:  # fmt: skip
    """Requests with all units of the study, and as few items of each as detect the effect in the rarest test."""
    if plan.items <= 1:
        return None
    from facevalue.measures.power import detects_mean  # noqa: PLC0415 - slow to import

    per_item = requests / (clusters * items)
    rarest = _sampled_clusters(plan.clusters, share)
    for k in range(1, int(plan.items) + 1):
        if isinstance(spread, Respondents):
            enough = detects_mean(spread.shifts(k, effect), rarest, level, POWER, plan.largest)
        elif np.isfinite(spread.sd(k)):
            reach = _reach(
                spread, k, plan.clusters, share, 1, level, None, largest=plan.largest, most_df=most_df
            ).detectable
            enough = reach is not None and reach <= effect
        else:
            continue
        if enough:
            return int(np.ceil(per_item * plan.clusters * k))
    return None


def planned_precision(study: Study, *, compare: bool) -> Precision:
    """Precision that a study plans for, of a single run or of the difference between two."""
    plan = study.planned.precision
    if plan is None:
        reason = study.planned.unplanned
        raise DataError(
            f"{study.name} has no power analysis{f': {reason}' if reason else ' of what these settings ask about'}. "
            "Plan it without detect, pilot or compare."
        )
    return plan.compared or plan if compare else plan


def _pilot(plan: Precision, study: Study, pilot: StoredRun, *, compare: bool) -> UnitSpread:
    if pilot.study.name != study.name or pilot.study.planned.precision is None:
        raise DataError(f"The pilot {pilot.folder} is a run of {pilot.study.name}, not of {study.name}.")
    source = f"pilot {pilot.folder.name}, {pilot.model}"
    spread = planned_precision(pilot.study, compare=compare).spread(answers(pilot), source)
    if not (np.isfinite(spread.mean) and spread.mean > 0):
        raise DataError(
            f"The pilot {pilot.folder} says nothing of the spread between {plan.cluster}: it has fewer than two with "
            "valid answers, or all are the same."
        )
    return spread
