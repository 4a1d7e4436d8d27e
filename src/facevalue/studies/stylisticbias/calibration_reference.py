"""Calibration on the reference model: audits of people drawn from a known population.

Three values of each effect stand side by side: what was planted, what the model has learned of it (its exact
probabilities for every person of the population), and what an audit estimates from a sample of people and of replies.
An audit can find only what has been learned, so that is what its intervals must cover.
"""

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.studies.stylisticbias.calibration import Audit, Calibration, estimated, summarise
from facevalue.studies.stylisticbias.calibration_population import VARIATIONS, Population

Array = npt.NDArray[np.float64]
CONDITION = "reference"
SEED = 7301
"""Of all audits: which people are drawn, and what the model replies."""
CORRELATION, SLOPE = (0.97, 1.0), (0.9, 1.1)
"""Promised of learned on planted effects: least and most."""


@dataclass(frozen=True)
class Learning:
    """How well the model has learned what was planted, over all variations and scenarios.

    Attributes
    ----------
    table:
        attribute, variation, scenario, planted and learned: mean shifts of the preference score.
    correlation, slope:
        Of learned on planted effects; None where nothing is planted.
    error:
        Mean absolute difference.
    spread_none, largest_none:
        Standard deviation, and largest size, of learned effects where nothing is planted.
    """

    table: pl.DataFrame
    correlation: float | None
    slope: float | None
    error: float
    spread_none: float
    largest_none: float


def learning(population: Population) -> Learning:
    """Compare learned with planted effects over the whole population."""
    planted, learned = population.effects(population.planted), population.effects(population.learned)
    none, x, y = learned[population.nothing], planted.ravel(), learned.ravel()
    moved = not population.nothing.all()
    rows = [(*change, name) for change in VARIATIONS for name in population.scenarios]
    table = pl.DataFrame(rows, schema=["attribute", "variation", "scenario"], orient="row").with_columns(
        planted=pl.Series(x), learned=pl.Series(y)
    )
    return Learning(
        table,
        correlation=float(np.corrcoef(x, y)[0, 1]) if moved else None,
        slope=float(np.polyfit(x, y, 1)[0]) if moved else None,
        error=float(np.abs(learned - planted).mean()),
        spread_none=float(none.std()),
        largest_none=float(np.abs(none).max()),
    )


@dataclass(frozen=True)
class ReferenceCalibration(Calibration):
    """What repeated audits of the reference model show; `correlation`, `slope` and `coverage` are of learned SBS.

    Attributes
    ----------
    flagged_none:
        Share of variations without any planted effect that are findings (q < .05). Not all of these are errors of the
        audit: the learned effect is small there, but not zero.
    wrong_sign:
        Share of findings that are not on the learned SBS' side of zero, which are errors; 0 without findings.
    """

    flagged_none: float
    wrong_sign: float


def gender_counts(faces: int) -> dict[str, int]:
    """How many men and women an audit of so many faces draws.

    Examples
    --------
    >>> gender_counts(21)
    {'male': 11, 'female': 10}
    """
    return {"male": (faces + 1) // 2, "female": faces // 2}


def replies(
    population: Population, pictures: npt.NDArray[np.int64], rng: np.random.Generator
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Draw a reply to each question about pictures.

    Returns
    -------
    Whether each is the favourable pole, and whether it is a valid answer; shape (pictures, scenarios, orderings).
    """
    drawn = rng.random((len(pictures), *population.valid.shape[1:]))
    return drawn < population.favourable[pictures], drawn < population.valid[pictures]


def audit(population: Population, faces: int, draw: int) -> Audit:
    """Audit the model once: on people drawn from the population with replacement, by one reply to each question.

    Drawn so, people are independent, and the learned SBS of the population is exactly what is to be estimated. Who is
    drawn twice replies anew and counts twice, as another person with the same probabilities would.

    Parameters
    ----------
    population:
        Whom the audit draws from.
    faces:
        How many people, half of them of each gender.
    draw:
        Which audit.
    """
    counts = gender_counts(faces)
    rng = np.random.default_rng([SEED, faces, draw])
    who = np.concatenate([rng.choice(population.members[gender], number) for gender, number in counts.items()])
    sets = [population.pictures[person] for person in who]
    pictures, cluster = np.concatenate(sets), np.repeat(np.arange(faces), [len(own) for own in sets])
    said, valid = replies(population, pictures, rng)
    with np.errstate(invalid="ignore", divide="ignore"):
        phi = said.sum(axis=2) / valid.sum(axis=2)  # no valid answer at all: NaN, which no estimator counts
    variation = population.varied[pictures]
    base = phi[variation < 0][cluster]
    varied = variation >= 0
    estimates, q = estimated((phi - base)[varied], cluster[varied], variation[varied], len(VARIATIONS))
    planted, learned = (population.sbs(scores, counts) for scores in (population.planted, population.learned))
    return Audit(list(VARIATIONS), planted, estimates, q, learned)


def calibrate(population: Population, faces: int, repetitions: int) -> tuple[ReferenceCalibration, Audit]:
    """Audit the model repeatedly.

    Returns
    -------
    The summary, and the first audit for a closer look.
    """
    audits = [audit(population, faces, draw) for draw in range(repetitions)]
    found = np.concatenate([a.found for a in audits])
    flagged = np.concatenate([a.found[a.none] for a in audits])
    wrong = np.concatenate([(np.sign(a.estimates.value) != np.sign(a.truth))[a.found] for a in audits])
    row = ReferenceCalibration(
        **asdict(summarise(CONDITION, faces, audits)),
        flagged_none=float(flagged.mean()),
        wrong_sign=float(wrong.sum() / max(found.sum(), 1)),
    )
    return row, audits[0]
