"""Figures 7 and 8: what is said of two models, where nothing is planted and where something is."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from facevalue.measures.definitions import WITHOUT_NOISE, key_of
from facevalue.statistics.sets import Sets
from facevalue.stimuli.drawings.portraits import draw_identities, portrait_manifest
from facevalue.studies.stylisticbias.statistics import Attenuation, ModelAgreement
from facevalue.studies.stylisticbias.tables import scenarios
from tests.studies.preference_scores import compared, estimator, sets_of

Array = npt.NDArray[np.float64]
NAMES = [scenario.name for scenario in scenarios()]
CUES = [("eyewear", "sunglasses"), ("tattoos", "facial-tattoo"), ("accessories", "cap"), ("hair_color", "gray")]
REPLIES = 12


def pictures(faces: int, seed: int) -> Sets:
    counts = {"male": faces // 2, "female": faces - faces // 2}
    return sets_of(portrait_manifest(draw_identities(counts, seed), dict.fromkeys(counts, CUES)))


def picture_effects(rng: np.random.Generator, images: int) -> Array:
    """What one picture does to all scenarios, which hang together as judgments of people do."""
    loads = np.random.default_rng(5).normal(size=(3, len(NAMES)))
    return (rng.normal(size=(images, 3)) @ loads + rng.normal(size=(images, len(NAMES)))) / 2


def answered(rng: np.random.Generator, faces: Sets, effects: Array, shared: Array, level: float, sd: float) -> Array:
    """Preference scores of a model with these effects of cues, shape (cues, scenarios), on the logit scale."""
    person = rng.normal(0, 0.5, size=(len(faces.identities), len(NAMES)))[faces.identity]
    logit = level + person + sd * shared
    cues = faces.slicing(np.arange(faces.manifest.height), "attribute", "variation").codes
    logit += np.where((cues >= 0)[:, None], effects[cues], 0.0)
    return rng.binomial(REPLIES, 1 / (1 + np.exp(-logit))) / REPLIES


def audits(
    number: int,
    faces: int,
    share: float,
    sizes: tuple[float, float],
    level: float = 0.0,
    rho: float = 0.8,
    *,
    whole: bool = False,
) -> Iterator[tuple[dict[str, dict[str, object]], Array]]:
    """Audits of two models: what is said of them by measure, and their true effects of scenarios."""
    people = pictures(faces, 1)
    images = people.manifest.height
    for number_ in range(number):
        rng = np.random.default_rng([number_, faces])
        common = rng.normal(size=(2, len(NAMES)))
        common[1] = rho * common[0] + np.sqrt(1 - rho**2) * common[1]
        effects = np.array(sizes)[:, None, None] * np.repeat(common[:, None], len(CUES), axis=1)
        same, models, truth = picture_effects(rng, images), {}, []
        for model in range(2):
            own = picture_effects(rng, images)
            noise = np.sqrt(share) * same + np.sqrt(1 - share) * own
            phi = answered(rng, people, effects[model], noise, level, 0.5)
            models[f"m{model}"] = estimator(people, phi, NAMES)
            truth.append(expected_shift(effects[model], level))
        table = compared(models, *((ModelAgreement, Attenuation) if whole else (ModelAgreement,)))
        rows = table.filter((pl.col("model") == "m0") & pl.col("category").is_null())
        yield {key_of(row["measure"], row["score"] or ""): row for row in rows.to_dicts()}, np.array(truth)


def expected_shift(effects: Array, level: float) -> Array:
    """True SBS of each scenario: over people and pictures, and over cues."""
    rng = np.random.default_rng(0)
    loads = np.random.default_rng(5).normal(size=(3, len(NAMES)))
    spread = np.sqrt(0.25 + 0.25 * ((loads**2).sum(axis=0) + 1) / 4)
    z = rng.normal(size=4000)[:, None] * spread
    base = (1 / (1 + np.exp(-level - z))).mean(axis=0)
    return np.array([(1 / (1 + np.exp(-level - z - e))).mean(axis=0) - base for e in effects]).mean(axis=0)


def leaves_out_zero(row: dict[str, object]) -> bool:
    low, high = row["low"], row["high"]
    return low is not None and high is not None and (float(low) > 0 or float(high) < 0)  # type: ignore[arg-type]


CORRECTED = tuple(key_of(name, WITHOUT_NOISE) for name in ("model_correlation", "model_slope"))


@pytest.mark.parametrize(("share", "level"), [(0.0, 0.0), (0.9, 0.0), (0.9, -3.0)])
def test_two_models_without_effects_are_not_said_to_agree(share: float, level: float) -> None:
    """The published interval left out zero in a third of such audits."""
    found = [said for said, _ in audits(60, 20, share, (0.0, 0.0), level)]
    for name in CORRECTED:
        assert sum(leaves_out_zero(said[name]) for said in found) <= 0.06 * len(found)
    assert all(said["model_correlation"]["low"] is None for said in found)
    assert sum(said["model_correlation"]["value"] is not None for said in found) <= 0.1 * len(found)


def test_a_model_without_effects_has_no_correlation_with_one_that_has_some() -> None:
    found = [said for said, _ in audits(30, 20, 0.9, (0.8, 0.0))]
    refused = [said["model_correlation"] for said in found if said["model_correlation"]["value"] is None]
    assert len(refused) >= 27
    assert "shifts of m1 are within what chance shows" in str(refused[0]["detail"])


@pytest.mark.slow
def test_intervals_of_real_agreement_cover() -> None:
    inside = []
    for said, truth in audits(60, 24, 0.7, (0.6, 0.4)):
        own = [x - x.mean() for x in truth]
        true = {
            CORRECTED[0]: float(np.corrcoef(truth[0], truth[1])[0][1]),
            CORRECTED[1]: float((own[0] * own[1]).sum() / (own[1] ** 2).sum()),
        }
        inside += [float(said[n]["low"]) <= true[n] <= float(said[n]["high"]) for n in CORRECTED if said[n]["low"]]  # type: ignore[arg-type]
    assert len(inside) > 100
    assert 0.88 <= np.mean(inside) <= 0.99


def test_the_floor_of_a_correlation_is_that_of_faces_without_effects() -> None:
    """Independent noise of 24 faces correlates little more than 25 scenarios would, however strong the agreement is."""
    found = [said["model_correlation"] for said, _ in audits(8, 24, 0.0, (2.0, 2.0), rho=0.99)]
    assert min(float(one["value"]) for one in found) > 0.9  # type: ignore[arg-type]
    assert max(float(one["floor_high"]) for one in found) < 0.85  # type: ignore[arg-type]


def test_attenuation_is_that_of_the_sizes_by_category() -> None:
    ((said, _),) = audits(1, 40, 0.5, (0.6, 1.8), rho=1.0, whole=True)
    published, corrected = said["attenuation"], said[key_of("attenuation", WITHOUT_NOISE)]
    assert published["low"] is None
    assert 0.3 < float(published["value"]) < 0.75  # type: ignore[arg-type]
    assert float(corrected["low"]) < float(corrected["value"]) < float(corrected["high"])  # type: ignore[arg-type]
