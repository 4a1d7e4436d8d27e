"""Sizes of shifts whatever their sign (Figures 2, 4 and 5), and what chance shows of them."""

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from facevalue.statistics.scores import ModelScores
from facevalue.statistics.sets import Sets
from facevalue.stimuli.drawings.portraits import draw_identities, portrait_manifest
from facevalue.studies.stylisticbias.statistics import Concentration, MeanSize
from tests.studies.preference_scores import compared, estimator, sets_of

Array = npt.NDArray[np.float64]
SCENARIOS = ["competent", "loyal", "wealthy", "stylish"]
CUES = [("eyewear", "sunglasses"), ("tattoos", "facial-tattoo"), ("accessories", "cap")]


@pytest.fixture(scope="module")
def faces() -> Sets:
    counts = {"male": 8, "female": 8}
    return sets_of(portrait_manifest(draw_identities(counts, 3), dict.fromkeys(counts, CUES)))


def shifted(faces: Sets, effects: Array, rng: np.random.Generator, sd: float) -> ModelScores:
    """A model with these effects of cues, shape (cues, scenarios)."""
    code = faces.slicing(np.arange(faces.manifest.height), "attribute", "variation").codes
    person = rng.normal(0, 0.1, size=(len(faces.identities), len(SCENARIOS)))[faces.identity]
    moved = np.where((code >= 0)[:, None], effects[code], 0.0)
    return estimator(faces, 0.5 + person + moved + rng.normal(0, sd, size=person.shape), SCENARIOS)


def table(models: list[ModelScores]) -> pl.DataFrame:
    return compared({f"m{number}": model for number, model in enumerate(models)}, MeanSize, Concentration)


def test_cues_that_pull_up_and_down_do_not_cancel_in_figure_5(faces: Sets) -> None:
    effects = np.array([[0.0, 0.0, 0.2, 0.1], [0.0, 0.0, -0.2, -0.1], [0.0, 0.0, 0.0, 0.0]])
    found = table([shifted(faces, effects, np.random.default_rng(0), 1e-6)])
    sizes = found.filter(pl.col("measure") == "mean_abs_shift")
    by = dict(sizes.select("category", "value").drop_nulls().iter_rows())
    assert by["socioeconomic"] == pytest.approx(0.1, abs=1e-4)
    assert by["personality"] == pytest.approx(0.0, abs=1e-4)
    assert dict(sizes.select("scenario", "value").drop_nulls().iter_rows())["wealthy"] == pytest.approx(
        0.4 / 3, abs=1e-4
    )


def test_over_models_size_is_averaged_before_cues_are_counted(faces: Sets) -> None:
    """Figure 2: models that move one cue in opposite directions both count; their mean shift is zero."""
    one = np.repeat(np.array([[0.2], [0.02], [0.02]]), 4, axis=1)
    other = np.repeat(np.array([[-0.2], [0.02], [0.02]]), 4, axis=1)
    rng = np.random.default_rng(1)
    found = table([shifted(faces, effects, rng, 1e-6) for effects in (one, other)])
    sizes = found.filter(pl.col("measure") == "abs_shift_models")
    assert dict(sizes.select("variation", "value").iter_rows())["sunglasses"] == pytest.approx(0.2, abs=1e-4)
    assert found.filter(pl.col("measure") == "variations_to_80")["value"].to_list() == [1.0]


def test_without_effects_one_size_in_twenty_is_above_its_floor(faces: Sets) -> None:
    above: dict[str, list[bool]] = {}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        models = [shifted(faces, np.zeros((3, 4)), rng, 0.1) for _ in range(2)]
        for name, value, high in table(models).select("measure", "value", "floor_high").iter_rows():
            above.setdefault(name, []).append(value > high)
    assert {name: bool(np.mean(hits) < 0.09) for name, hits in above.items()} == dict.fromkeys(above, True)


def test_the_floor_does_not_grow_with_the_effect(faces: Sets) -> None:
    none, strong = (
        table([shifted(faces, size * np.ones((3, 4)), np.random.default_rng(4), 0.05)])["floor_high"].to_numpy()[0]
        for size in (0.0, 0.4)
    )
    assert strong == pytest.approx(none, rel=1e-6)
