"""Gaps between groups of faces: which are compared, and that chance alone finds few."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from facevalue.measures.estimates import EstimateTable
from facevalue.stimuli.drawn import draw_identities, portrait_manifest
from facevalue.studies.stylisticbias.aggregate import Faces
from facevalue.studies.stylisticbias.group_differences import FAMILY, OTHERS, compare_groups, contrasts
from facevalue.studies.stylisticbias.measures import LABELS
from facevalue.studies.stylisticbias.shifts import Shifts

CUES = {"male": [("eyewear", "sunglasses"), ("facial_hair", "full-beard")], "female": [("eyewear", "sunglasses")]}


def gaps(phi: np.ndarray, faces: Faces) -> pl.DataFrame:
    table = EstimateTable("stylisticbias", "m", LABELS)
    compare_groups(table, Shifts(faces, phi, ["wealthy", "polite"]))
    return table.frame()


@pytest.fixture(scope="module")
def faces() -> Faces:
    return Faces(portrait_manifest(draw_identities({"male": 24, "female": 24}, 5), CUES))


def test_the_gap_is_the_papers_elderly_less_young_tested_by_welch(faces: Faces) -> None:
    rng = np.random.default_rng(1)
    phi = rng.uniform(0, 0.3, size=(faces.manifest.height, 2))
    elderly = (faces.manifest["age"] == "elderly").to_numpy()
    varied = faces.manifest["attribute"].is_not_null().to_numpy()
    phi[elderly & varied] += 0.4
    found = gaps(phi, faces)
    one = found.filter((pl.col("dimension") == "age") & (pl.col("variation") == "sunglasses")).row(0, named=True)
    assert (one["group"], one["other_group"]) == ("elderly", "young")
    shifts = Shifts(faces, phi, ["wealthy", "polite"])
    own = faces.manifest[faces.varied]
    glasses = (own["variation"] == "sunglasses").to_numpy()
    parts = [shifts.delta[glasses & (own["age"] == age).to_numpy()].mean(axis=1) for age in ("elderly", "young")]
    expected = stats.ttest_ind(*parts, equal_var=False)
    assert one["value"] == pytest.approx(parts[0].mean() - parts[1].mean())
    assert one["p"] == pytest.approx(expected.pvalue)
    assert (one["low"], one["high"]) == pytest.approx(tuple(expected.confidence_interval()))
    assert one["family"] == FAMILY


def test_a_cue_of_one_gender_has_no_gap_between_genders(faces: Faces) -> None:
    found = gaps(np.random.default_rng(2).uniform(size=(faces.manifest.height, 2)), faces)
    beard = found.filter(pl.col("variation") == "full-beard")
    assert {"age", "build"} <= set(beard["dimension"]) <= {"age", "build", "skin_tone"}
    glasses = found.filter(pl.col("variation") == "sunglasses")
    ends = ("female", "elderly", "monk-10", "obese")
    assert set(glasses["group"]) == set(ends)


def test_groups_without_a_known_order_are_each_compared_with_all_others() -> None:
    assert contrasts("hobby", ["a", "b", "c"]) == [("a", OTHERS), ("b", OTHERS), ("c", OTHERS)]
    assert contrasts("age", ["young", "teen"]) == [("teen", "young")]
    assert contrasts("age", ["young", "teen", "old"])[0] == ("young", OTHERS)


def test_people_and_bases_that_differ_make_no_gap(faces: Faces) -> None:
    """Faces with a level of their own, and groups with one, cancel in shifts: 1 gap in 20 has p < .05."""
    rng = np.random.default_rng(7)
    group = (faces.manifest["build"] == "obese").to_numpy()[:, None]
    below = []
    for _ in range(60):
        person = rng.normal(0, 0.15, size=(len(faces.identities), 2))[faces.identity]
        below.append(gaps(0.5 + person - 0.1 * group + rng.normal(0, 0.05, person.shape), faces)["p"].to_numpy() < 0.05)
    assert 0.02 < np.concatenate(below).mean() < 0.08
