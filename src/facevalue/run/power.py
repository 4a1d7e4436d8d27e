"""Power before spending: how many units detect an effect, and what a plan can detect."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from facevalue.errors import DataError
from facevalue.run.stored import StoredRun, answers
from facevalue.studies import Study
from facevalue.studies.base import Precision, Spread

ALPHA, POWER = 0.05, 0.8


@dataclass(frozen=True, slots=True)
class Detection:
    """What a plan can detect, and what it takes to detect what the user wants.

    Attributes
    ----------
    what:
        The effect.
    detectable:
        Smallest effect that the plan detects; None if it has fewer than two units.
    clusters, items:
        Units in the plan (faces), and items of each (scenarios).
    effect:
        What the user wants to detect; None if nothing was asked.
    needed:
        Units that detect it, with `items` items each.
    requests:
        What these take, as the plan's requests per unit are; None where `needed` is.
    level:
        Two-sided level of a single test: alpha / tests, at which Holm surely tests and Benjamini-Hochberg at least.
    tests:
        Tests in the family.
    power:
        How often the effect is detected.
    sd:
        Assumed SD between units.
    source:
        Where it is from.
    """

    what: str
    detectable: float | None
    clusters: int
    items: float
    effect: float | None
    needed: int | None
    requests: int | None
    level: float
    tests: int
    power: float
    sd: float
    source: str

    def json(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def detection(
    study: Study,
    *,
    requests: int,
    sample: int | None,
    seed: int,
    exact: bool,
    effect: float | None,
    pilot: StoredRun | None,
) -> Detection:
    """Work out what a plan detects.

    Parameters
    ----------
    study:
        What would be run.
    requests:
        Requests of the plan.
    sample, seed, exact:
        As for the run.
    effect:
        Shift to be detected, in the measure's unit; None for the plan's own detectable effect alone.
    pilot:
        A run of the same study to take the spread from; the study's stated default otherwise.

    Raises
    ------
    DataError
        The effect is not above zero, or the pilot says nothing of the spread.
    """
    from facevalue.measures.power import clusters_needed, detectable, family_level  # noqa: PLC0415 - slow to import

    if effect is not None and not (np.isfinite(effect) and 0 < abs(effect) <= 1):
        raise DataError(f"A shift to detect lies between 0 and 1, not {effect:g}.")
    plan = study.precision
    if plan is None:
        raise DataError(f"{study.name} does not say what its power analysis would need.")
    spread = plan.default if pilot is None else _pilot(plan, study, pilot)
    clusters, items = plan.clusters, plan.items
    if sample is not None:
        clusters, items = plan.units(study.sample(sample, seed, 1 if exact else study.repeats))
    sd = spread.at(items)
    if not np.isfinite(sd):
        raise DataError(
            f"The pilot asked too little to say what {items:.3g} {plan.item} for each of the {plan.cluster} give."
        )
    level = family_level(ALPHA, plan.tests, "holm").guaranteed
    reach = float(detectable(sd, clusters, level, POWER))
    needed = None if effect is None else int(clusters_needed(sd, effect, level, POWER))
    return Detection(
        what=plan.what,
        detectable=reach if np.isfinite(reach) else None,
        clusters=clusters,
        items=items,
        effect=effect,
        needed=needed,
        requests=None if needed is None else round(requests / clusters * needed),
        level=level,
        tests=plan.tests,
        power=POWER,
        sd=sd,
        source=spread.source,
    )


def _pilot(plan: Precision, study: Study, pilot: StoredRun) -> Spread:
    if pilot.study.name != study.name or pilot.study.precision is None:
        raise DataError(f"The pilot {pilot.folder} is a run of {pilot.study.name}, not of {study.name}.")
    found = pilot.study.precision.spread(answers(pilot), f"pilot {pilot.folder.name}, {pilot.model}")
    if not (np.isfinite(found.mean) and found.mean > 0):
        raise DataError(
            f"The pilot {pilot.folder} says nothing of the spread between {plan.cluster}: it has fewer than two with "
            "valid answers, or all are the same."
        )
    return found
