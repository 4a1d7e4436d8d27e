"""Calibration: audits of simulated respondents with known effects."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures import adjustment, cluster_bootstrap, shift
from facevalue.measures.page_error import LEAD_SHARE
from facevalue.measures.slicing import Slicing
from facevalue.models.sim import Planted, Respondent
from facevalue.prompts import ORDERINGS
from facevalue.protocol.calibration import DRIFT, asked_at, fit
from facevalue.protocol.settings import face_counts
from facevalue.protocol.shifts import SEED
from facevalue.stimuli.drawn import draw_identities, portrait_manifest
from facevalue.stimuli.portraits import AGES, BUILDS, SKIN_TONES
from facevalue.studies.stylisticbias.aggregate import Faces
from facevalue.studies.stylisticbias.shifts import ALPHA
from facevalue.studies.stylisticbias.study import TOGETHER, designed
from facevalue.studies.stylisticbias.tables import scenarios, whitelist

Array = npt.NDArray[np.float64]
LEVELS = ("favourable", "unfavourable")
EXACT = 1e-12
"""A planted shift this small is none."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(24)


@dataclass(frozen=True)
class Audit:
    """One audit.

    Attributes
    ----------
    variations:
        (attribute, variation) of each row.
    planted:
        Expected SBS of each variation over all people whom the audit might have drawn.
    estimates:
        SBS as the audit estimates it.
    q:
        Its q-values (Benjamini-Hochberg over the variations).
    learned:
        SBS that a trained model has over the same people; None for a simulated one, which has what is planted.
    """

    variations: list[tuple[str, str]]
    planted: Array
    estimates: cluster_bootstrap.Estimates
    q: Array
    learned: Array | None = None

    @property
    def truth(self) -> Array:
        """What there is to be found: the expected SBS of the model as it is."""
        return self.planted if self.learned is None else self.learned

    @property
    def covered(self) -> npt.NDArray[np.bool_]:
        """Whether each interval holds the true value."""
        return (self.estimates.low <= self.truth) & (self.truth <= self.estimates.high)

    @property
    def found(self) -> npt.NDArray[np.bool_]:
        """Which variations the audit calls a finding, at the level of the family that leads the page."""
        return np.nan_to_num(self.q, nan=1.0) < LEAD_SHARE * ALPHA

    @property
    def none(self) -> npt.NDArray[np.bool_]:
        """Which variations have nothing planted."""
        return np.abs(self.planted) < EXACT


def planted_shifts(planted: Planted, names: list[str], genders: list[str]) -> tuple[list[tuple[str, str]], Array]:
    """Expected SBS of every kept variation, exactly: an integral over people and pictures, no simulation.

    The population is uniform over the cells gender x age x skin tone x build; people and pictures differ normally on
    the logit scale, integrated by Gauss-Hermite quadrature; the four orderings weigh the same.
    """
    respondent = Respondent(planted)
    cells: list[dict[str, str | None]] = [
        {"gender": g, "age": a, "skin_tone": s, "build": b}
        for g in genders
        for a in AGES
        for s in SKIN_TONES
        for b in BUILDS
    ]
    base = _expected(respondent, [{**cell, "attribute": None, "variation": None} for cell in cells], names)
    gender = np.array([cell["gender"] for cell in cells])
    variations = [(v.attribute, v.name) for v in whitelist(None) if any(v.fate.get(g) == "kept" for g in genders)]
    fates = {(v.attribute, v.name): v.fate for v in whitelist(None)}
    out = []
    for attribute, variation in variations:
        fate = fates[attribute, variation]
        member = np.isin(gender, [g for g in genders if fate.get(g) == "kept"])
        changed = [
            {**cell, "attribute": attribute, "variation": variation} for cell, m in zip(cells, member, strict=True) if m
        ]
        out.append(float((_expected(respondent, changed, names) - base[member]).mean()))
    return variations, np.array(out)


def _expected(respondent: Respondent, factors: list[dict[str, str | None]], names: list[str]) -> Array:
    """Expected phi, shape (cells, scenarios): over people, pictures and orderings."""
    p = respondent.planted
    utilities = respondent.effects(factors, names, LEVELS)
    mean = utilities[..., 0] - utilities[..., 1]
    sd = float(np.hypot(p.identity, p.image))
    out = np.zeros_like(mean)
    for ordering in ORDERINGS:
        shown = p.position if ordering.first == 0 else -p.position
        lettered = p.letter if ordering.labels[ordering.first] == "(a)" else -p.letter
        logits = mean[..., None] + shown + lettered + sd * _NODES
        out += (_WEIGHTS / _WEIGHTS.sum() / (1.0 + np.exp(-logits))).sum(axis=-1)
    return out / len(ORDERINGS)


def simulate(
    planted: Planted, faces: dict[str, int], names: list[str], seeds: int, draw: int, drift: float = 0.0
) -> Audit:
    """Audit one respondent on newly drawn faces.

    The replies are those that `models.sim` gives (same draws, tested), taken without their text; the estimates are
    those of the report.
    """
    kept = {gender: [(v.attribute, v.name) for v in whitelist(gender)] for gender in faces}
    # Faces carry the draw in their names: other people each time, as a respondent knows them by name.
    drawn = [replace(who, id=f"{who.id}#{draw}") for who in draw_identities(faces, draw)]
    manifest = portrait_manifest(drawn, kept)
    people = Faces(manifest)
    later = drift * (times(manifest, names, draw) - 0.5) if drift else None
    phi = simulated_phi(planted, manifest, names, seeds, later)
    delta = phi[people.varied] - phi[people.base[people.identity[people.varied]]]
    variations, truth = planted_shifts(planted, names, list(faces))
    rows = people.slicing(people.varied, "attribute", "variation")
    shown = [variations.index(v) for v in zip(*rows.labels.values(), strict=True)]
    estimates, q = estimated(delta, people.identity[people.varied], np.array(shown)[rows.codes], len(variations))
    return Audit(variations, truth, estimates, q)


def estimated(
    delta: Array, cluster: npt.NDArray[np.int64], variation: npt.NDArray[np.int64], variations: int
) -> tuple[cluster_bootstrap.Estimates, Array]:
    """SBS of each variation as the report estimates it, and its q-value."""
    rows = Slicing(variation, {"variation": [str(number) for number in range(variations)]})
    cells = shift.cells(delta, cluster, rows, Slicing.whole(delta.shape[1]), int(cluster.max()) + 1)
    estimates = cluster_bootstrap.means(cells.sums, cells.counts, SEED, largest=1.0)
    assert estimates.p_zero is not None
    return estimates, adjustment.adjust(estimates.p_zero, "bh")


def times(manifest: pl.DataFrame, names: list[str], seed: int, *, ordered: bool = True) -> Array:
    """When each question is asked, from 0 at the first to 1 at the last: shape (images, scenarios, orderings)."""
    design = designed(manifest, names)
    asked = asked_at(design, TOGETHER, seed, ordered=ordered)
    shown = np.concatenate([np.array(block.stimulus[0].columns()[0].values) for block in design.blocks])
    out = asked.reshape(len(shown), len(names), len(ORDERINGS))
    row = {image: at for at, image in enumerate(shown.tolist())}
    return out[[row[image] for image in manifest["image"]]]


def simulated_phi(
    planted: Planted, manifest: pl.DataFrame, names: list[str], seeds: int, later: Array | None = None
) -> Array:
    """Preference scores that a respondent's valid replies give, shape (images, scenarios).

    Trial numbers run image by image, scenario by scenario, ordering by ordering. `later` is added to the favourable
    pole's utility, by image, scenario and ordering.
    """
    respondent = Respondent(planted)
    factors = manifest.drop("image", "set", "seed").to_dicts()
    for row, image in zip(factors, manifest["image"], strict=True):
        row["image"] = image
    utilities = respondent.utilities(factors, names, LEVELS)
    images, asked = utilities.shape[:2]
    total = np.zeros((images, asked))
    valid = np.zeros((images, asked))
    number = np.arange(images * asked, dtype=np.int64) * len(ORDERINGS)
    for place, ordering in enumerate(ORDERINGS):
        pole = [ordering.first, 1 - ordering.first]
        shown = utilities[..., pole].reshape(-1, 2)
        if later is not None:
            shown[:, ordering.first] += later[..., place].ravel()
        letter = np.full(len(shown), ordering.labels.index("(a)"))
        probabilities = respondent.probabilities(shown, letter)
        for repeat in range(seeds):
            choice = respondent.choose(probabilities, number + place, np.full(number.size, repeat))
            total += (choice == ordering.first).reshape(images, asked)
            valid += (choice >= 0).reshape(images, asked)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(valid > 0, total / valid, np.nan)


@dataclass(frozen=True)
class Calibration:
    """What repeated audits of respondents with known effects show.

    Attributes
    ----------
    condition:
        What was planted.
    faces, repetitions:
        Faces in an audit, and audits.
    correlation, slope:
        Of estimated on true SBS, over all variations of all audits; the true one is the planted one, or the learned one
        of a trained model.
    coverage:
        Share of 95% intervals that hold the true SBS.
    coverage_none:
        The same for variations with nothing planted.
    false_discovery_rate:
        Mean share of findings that have nothing planted; 0 for an audit without findings.
    audits_with_false:
        Share of audits with at least one such finding.
    power:
        Share of variations with something planted that are found.
    """

    condition: str
    faces: int
    repetitions: int
    correlation: float | None
    slope: float | None
    coverage: float
    coverage_none: float | None
    false_discovery_rate: float
    audits_with_false: float
    power: float | None


def summarise(condition: str, faces: int, audits: list[Audit]) -> Calibration:
    """Put repeated audits together."""
    truth = np.concatenate([a.truth for a in audits])
    value = np.concatenate([a.estimates.value for a in audits])
    covered = np.concatenate([a.covered for a in audits])
    none = np.concatenate([a.none for a in audits])
    found = np.concatenate([a.found for a in audits])
    rates = [(a.found & a.none).sum() / max(a.found.sum(), 1) for a in audits]
    correlation, slope = fit(truth, value)
    return Calibration(
        condition=condition,
        faces=faces,
        repetitions=len(audits),
        correlation=correlation,
        slope=slope,
        coverage=float(covered.mean()),
        coverage_none=float(covered[none].mean()) if none.any() else None,
        false_discovery_rate=float(np.mean(rates)),
        audits_with_false=float(np.mean([(a.found & a.none).any() for a in audits])),
        power=float(found[~none].mean()) if (~none).any() else None,
    )


def calibrate(
    condition: str, planted: Planted, faces: int, repetitions: int, seeds: int = 1
) -> tuple[Calibration, Audit]:
    """Audit `repetitions` respondents, each with its own table of effects and its own faces.

    Condition "drift" plants a drift of `DRIFT` logits over the run besides.
    """
    drift = DRIFT if condition == "drift" else 0.0
    names = [scenario.name for scenario in scenarios()]
    counts = face_counts(str(faces))
    audits = [
        simulate(replace(planted, seed=planted.seed + 1000 * r), counts, names, seeds, r, drift)
        for r in range(repetitions)
    ]
    return summarise(condition, faces, audits), audits[0]
