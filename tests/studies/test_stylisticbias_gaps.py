"""Gaps between groups of faces: which are compared, and that chance alone finds few."""

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from scipy import stats

from facevalue.statistics import Gap
from facevalue.statistics.rivals import OTHERS
from facevalue.statistics.sets import Sets
from facevalue.stimuli.drawings.portraits import draw_identities, portrait_manifest
from facevalue.studies.stylisticbias.study import GAPS
from tests.studies.preference_scores import breakdown_of, estimands_with, estimates_of, estimator, sets_of

CUES = {"male": [("eyewear", "sunglasses"), ("facial_hair", "full-beard")], "female": [("eyewear", "sunglasses")]}


def gaps(phi: np.ndarray, faces: Sets) -> pl.DataFrame:
    return estimates_of(estimator(faces, phi, ["wealthy", "polite"]), Gap)


@pytest.fixture(scope="module")
def faces() -> Sets:
    return sets_of(portrait_manifest(draw_identities({"male": 24, "female": 24}, 5), CUES))


def test_the_gap_is_the_papers_elderly_less_young_tested_by_welch(faces: Sets) -> None:
    rng = np.random.default_rng(1)
    phi = rng.uniform(0, 0.3, size=(faces.manifest.height, 2))
    elderly = (faces.manifest["age"] == "elderly").to_numpy()
    varied = faces.manifest["attribute"].is_not_null().to_numpy()
    phi[elderly & varied] += 0.4
    found = gaps(phi, faces)
    one = found.filter((pl.col("dimension") == "age") & (pl.col("variation") == "sunglasses")).row(0, named=True)
    assert (one["group"], one["other_group"]) == ("elderly", "young")
    delta = estimator(faces, phi, ["wealthy", "polite"]).values.delta
    own = faces.manifest[faces.variation_rows]
    glasses = (own["variation"] == "sunglasses").to_numpy()
    parts = [delta[glasses & (own["age"] == age).to_numpy()].mean(axis=1) for age in ("elderly", "young")]
    expected = stats.ttest_ind(*parts, equal_var=False)
    assert one["value"] == pytest.approx(parts[0].mean() - parts[1].mean())
    assert one["p"] == pytest.approx(expected.pvalue)
    assert (one["low"], one["high"]) == pytest.approx(tuple(expected.confidence_interval()))
    assert one["family"] == GAPS


def test_a_cue_of_one_gender_has_no_gap_between_genders(faces: Sets) -> None:
    found = gaps(np.random.default_rng(2).uniform(size=(faces.manifest.height, 2)), faces)
    beard = found.filter(pl.col("variation") == "full-beard")
    assert {"age", "build"} <= set(beard["dimension"]) <= {"age", "build", "skin_tone"}
    glasses = found.filter(pl.col("variation") == "sunglasses")
    ends = ("female", "elderly", "monk-10", "obese")
    assert set(glasses["group"]) == set(ends)


@pytest.mark.parametrize(
    ("dimension", "levels", "pairs"),
    [
        ("hobby", "abc", [("a", OTHERS), ("b", OTHERS), ("c", OTHERS)]),
        ("age", ["young", "teen"], [("teen", "young")]),
        ("age", ["young", "teen", "old"], [("young", OTHERS), ("teen", OTHERS), ("old", OTHERS)]),
        ("age", ["middle-aged", "young", "elderly"], [("elderly", "young")]),
    ],
)
def test_groups_without_a_known_order_are_each_compared_with_all_others(
    dimension: str, levels: Sequence[str], pairs: list[tuple[str, str]]
) -> None:
    rows = [(f"{level}{n}", level, "eyewear" if n else None, "glasses" if n else None, f"{level}.{n}")
            for level in levels for n in range(2)]  # fmt: skip
    manifest = pl.DataFrame([(face[:-1], *rest) for face, *rest in rows], orient="row",
                            schema=["identity", dimension, "attribute", "variation", "image"])  # fmt: skip
    (gap,) = estimands_with(sets_of(manifest), Gap)
    assert gap.statistic.contrasts(breakdown_of(sets_of(manifest), ["polite"])) == pairs


def test_people_and_bases_that_differ_make_no_gap(faces: Sets) -> None:
    """Sets with a level of their own, and groups with one, cancel in shifts: 1 gap in 20 has p < .05."""
    rng = np.random.default_rng(7)
    group = (faces.manifest["build"] == "obese").to_numpy()[:, None]
    below = []
    for _ in range(60):
        person = rng.normal(0, 0.15, size=(len(faces.identities), 2))[faces.identity]
        below.append(gaps(0.5 + person - 0.1 * group + rng.normal(0, 0.05, person.shape), faces)["p"].to_numpy() < 0.05)
    assert 0.02 < np.concatenate(below).mean() < 0.08
