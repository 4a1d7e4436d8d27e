"""What is planted: reproducible, complete, with exact zeros, and nothing of it where `bias` is 0."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import ModelError
from facevalue.models.reference.truth import PlantedEffects
from facevalue.stimuli.drawings.people import LOOKS
from facevalue.stimuli.noto.persona_scenes import PERSONAS as DRAWN
from facevalue.studies.stylisticbias.tables import grid, scenarios
from facevalue.studies.vignette.tables import term_pairs
from reference.truth import (
    GROUPS,
    NONE,
    PERSONAS,
    SCENARIOS,
    SOCIAL_TERMS,
    TERMS,
    TRAITS,
    VARIATIONS,
    JudgedPerson,
    PlantedTruth,
    people,
    ratings,
)

ANNE = JudgedPerson("female", "young", "monk-05", "normal")


def test_scenarios_and_terms_are_those_of_the_studies() -> None:
    assert {s.name: (s.favourable, s.unfavourable) for s in scenarios()} == dict(SCENARIOS)
    assert {term for pair in term_pairs() for term in (pair.high, pair.low)} <= set(TERMS)
    assert {(v.attribute, v.name) for v in grid()} == set(VARIATIONS)


def test_scenes_without_people_are_those_that_are_drawn() -> None:
    assert tuple(DRAWN) == PERSONAS


def test_without_bias_scenes_suggest_nobody() -> None:
    assert not any(effect for own in PlantedTruth(bias=0.0).personas.values() for effect in own.values())
    assert all(effect for own in PlantedTruth().personas.values() for effect in own.values())


def test_both_terms_of_a_pair_are_opposite_sides_of_one_trait() -> None:
    for pair in term_pairs():
        (high, up), (low, down) = TERMS[pair.high], TERMS[pair.low]
        assert (high, up) == (low, -down)


def test_every_sign_and_occupation_that_is_drawn_has_an_effect_of_its_own() -> None:
    effects = PlantedTruth().effects
    for looks in LOOKS.values():
        for look in looks.values():
            assert not look.sign or ("sign", look.sign) in effects
            assert not look.occupation or ("occupation", look.occupation) in effects


def test_the_table_has_one_row_per_level_and_trait() -> None:
    table = PlantedTruth().table
    said = sum(map(len, SOCIAL_TERMS.values()))
    assert table.height == len(PlantedTruth().effects) * len(TRAITS) + len(PERSONAS) * said
    assert table.select("factor", "level", "trait").is_duplicated().any() is False
    assert PlantedTruth().table.equals(table)
    assert not PlantedTruth(seed=8).table.equals(table)


def test_some_variations_have_no_effect_on_anything() -> None:
    zero = [change for change in VARIATIONS if not PlantedTruth().effects[change].any()]
    assert abs(len(zero) / len(VARIATIONS) - NONE) < 3 * np.sqrt(NONE * (1 - NONE) / len(VARIATIONS))


def test_without_bias_people_differ_in_nothing() -> None:
    other = JudgedPerson("male", "elderly", "monk-10", "obese", ("eyewear", "sunglasses"))
    standing = PlantedTruth(bias=0.0).standing([ANNE, other])
    assert (standing[0] == standing[1]).all()
    assert standing.any()


@given(st.floats(0.1, 3.0), st.sampled_from(VARIATIONS))
def test_effects_grow_with_bias(bias: float, change: tuple[str, str]) -> None:
    assert np.allclose(PlantedTruth(bias=bias).effects[change], bias * PlantedTruth().effects[change])


def test_standing_is_the_sum_of_the_table_s_rows() -> None:
    who = JudgedPerson("female", "young", "monk-07", "thin", ("piercings", "multiple"))
    table = PlantedTruth().table
    wanted = pl.DataFrame([("base", ""), *who.levels], schema=["factor", "level"], orient="row")
    sums = table.join(wanted, on=["factor", "level"]).group_by("trait", maintain_order=True).agg(pl.col("effect").sum())
    assert dict(zip(TRAITS, PlantedTruth().standing([who])[0], strict=True)) == pytest.approx(dict(sums.iter_rows()))


def test_neighbouring_skin_tones_lie_between_those_that_are_drawn() -> None:
    tones = np.stack([PlantedTruth().effects["skin_tone", tone] for tone in GROUPS["skin_tone"]])
    assert np.allclose(tones[1], (2 * tones[0] + tones[3]) / 3)


def test_ratings_rise_with_standing() -> None:
    p = ratings(np.array([-2.0, 0.0, 2.0]))
    assert p.shape == (3, 10)
    assert np.allclose(p.sum(axis=1), 1)
    means = p @ np.arange(1, 11)
    assert (np.diff(means) > 1.5).all()
    assert means[1] == pytest.approx(5.5)


def test_what_the_package_reads_is_what_is_written(tmp_path: Path) -> None:
    truth = PlantedTruth(seed=3, bias=2.0)
    truth.write(tmp_path / "truth.parquet")
    plain, changed = ("female", "young", "monk-05", "normal", None, None), ("male", "elderly", "monk-10", "obese")
    facts = [plain, (*changed, *VARIATIONS[0])]
    portraits = pl.DataFrame(facts, schema=[*GROUPS, "attribute", "variation"], orient="row")
    standing = PlantedEffects.read(tmp_path / "truth.parquet").standing(portraits, TRAITS)
    assert np.array_equal(standing, truth.standing(people(portraits)))
    truth.table.head(100).write_parquet(tmp_path / "half.parquet")
    for name in ("half", "missing"):
        with pytest.raises(ModelError, match=name):
            PlantedEffects.read(tmp_path / f"{name}.parquet")


@pytest.mark.parametrize("truth", [PlantedTruth(), PlantedTruth(seed=3, bias=2.0), PlantedTruth(bias=0.0)])
def test_a_written_table_says_which_draw_it_is(tmp_path: Path, truth: PlantedTruth) -> None:
    truth.write(tmp_path / "truth.parquet")
    assert PlantedTruth.read(tmp_path / "truth.parquet") == truth


def test_another_table_is_refused(tmp_path: Path) -> None:
    PlantedTruth().table.write_parquet(tmp_path / "nameless.parquet")
    PlantedTruth(seed=3).table.write_parquet(tmp_path / "other.parquet", metadata={"seed": "4", "bias": "1.0"})
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1")
    for name in ("nameless", "other", "damaged", "missing"):
        with pytest.raises(ModelError, match=name):
            PlantedTruth.read(tmp_path / f"{name}.parquet")


def test_marks_too_small_to_be_seen_have_no_effect() -> None:
    for name in ("single-nose", "single-lip", "single-eyebrow"):
        assert not PlantedTruth().effects["piercings", name].any()
