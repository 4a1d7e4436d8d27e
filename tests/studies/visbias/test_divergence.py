"""Choice distributions of groups: VisBias, Table 5, cell by cell, and what must hold for any answers."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import jensenshannon

from facevalue.measures.uncertainty import Estimates
from facevalue.studies.visbias.divergence import (
    ChoiceGroups,
    Choices,
    choices_of,
    divergence_from_mean,
    group_divergences,
)
from tests.floors import floor_of
from tests.reference import reference

QUESTIONS = {"income": 6, "education": 4, "politics": 4, "religion": 4}
ROWS = {"Female": "female", "Male": "male", "Asian": "asian", "Black": "black", "Latine": "latino"}


def divergence(choices: Choices, seed: int, resamples: int | None = None) -> Estimates:
    """Of one set of groups, everybody somebody else."""
    return group_divergences([ChoiceGroups(choices)], seed, resamples)[0]


def gathered(
    frame: pl.DataFrame, *factors: str, questions: Sequence[str] = tuple(QUESTIONS)
) -> tuple[Choices, list[str]]:
    """Choices of groups, and their names, from rows with the number of what was chosen, or weights."""
    choice, options = pl.col("choice"), [f"option {at}" for at in range(6)]
    weighed = frame["choice"].dtype == pl.List
    weights = [(choice.list.get(at, null_on_oob=True) if weighed else choice == at) for at in range(6)]
    columns = [weight.cast(pl.Float64).alias(name) for weight, name in zip(weights, options, strict=True)]
    rows = frame.select("question", *columns, unit="image", group=pl.concat_str(factors, separator=" "))
    return choices_of(rows, questions, options), rows["group"].unique().sort().to_list()


def released_answers() -> pl.DataFrame:
    """Both released files as one row per answer. Where only counts are known, every answer is about its own image."""
    sampled = pl.read_csv(reference("visbias", "mcq.csv")).select(
        "model",
        "race",
        "gender",
        "question",
        image=pl.concat_str("occupation", "race", "gender", "image_index", separator="/"),
        letter="choice",
    )
    counted = pl.read_csv(reference("visbias", "mcq_counts.csv")).filter(pl.col("count") > 0)
    counted = counted.select(pl.exclude("count"), pl.int_ranges(pl.col("count")).alias("at")).explode("at")
    counted = counted.with_columns(at=pl.int_range(pl.len()).over("race", "gender", "question"))
    counted = counted.select(
        "model",
        "race",
        "gender",
        "question",
        image=pl.concat_str("race", "gender", "at", separator="/"),
        letter="choice",
    )
    letters = pl.col("letter").replace_strict({letter: i for i, letter in enumerate("ABCDEF")}, default=None)
    return pl.concat([sampled, counted]).with_columns(choice=letters.cast(pl.Int8))


def test_every_cell_of_table_5_follows_from_the_released_answers() -> None:
    cells: list[dict[str, Any]] = [
        cell for cell in json.loads(reference("visbias", "expected.json").read_text()) if cell["table"] == "5"
    ]
    answers = released_answers()
    found: dict[tuple[str, str], float] = {}
    for model in answers["model"].unique():
        for factor in ("gender", "race"):
            own = answers.filter(pl.col("model") == model)
            choices, groups = gathered(own, factor)
            counts = np.einsum("ig,iqc->qgc", choices.member, choices.weights)
            for name, row in zip(QUESTIONS, divergence_from_mean(counts), strict=True):
                found |= {(f"{model}/{name}", g): float(v) for g, v in zip(groups, row, strict=True)}
    assert len(cells) == 56
    for cell in cells:
        group = ROWS.get(cell["row"], cell["row"] if cell["row"] == "ME" else "white")
        value = found[cell["column"], group]
        assert value == pytest.approx(cell["recomputed"], abs=6e-5), cell
        # Printed after two roundings (to three decimals, then to three digits): up to half a unit of each.
        assert abs(value - cell["value"]) <= cell["tolerance"] + 0.001, cell


def test_floor_says_which_published_values_chance_reaches() -> None:
    answers = released_answers().filter(pl.col("model") == "gemini-1.5-pro")
    choices, groups = gathered(answers, "race")
    estimates = divergence(choices, seed=1, resamples=300)
    floor, q = floor_of(estimates), estimates.q
    value = estimates.value.reshape(len(groups), 4)
    high = floor.high.reshape(len(groups), 4)
    asian, latino = groups.index("asian"), groups.index("latino")
    assert value[asian, 0] > 3 * high[asian, 0]  # income, 31.2 against 8.5
    assert value[latino, 1] < high[latino, 1]  # education, 2.65: what shuffled labels show too
    assert (estimates.low <= estimates.value).all()
    assert (estimates.value <= estimates.high).all()
    assert q is not None
    assert (q >= floor.p).all()
    assert estimates.n.reshape(5, 4)[:, 0].tolist() == choices.member.T.dot(choices.valid[:, 0]).astype(int).tolist()


def test_intersections_are_groups_like_others() -> None:
    answers = released_answers().filter(pl.col("model") == "gpt-4v")
    choices, groups = gathered(answers, "race", "gender")
    assert len(groups) == 10
    estimates = divergence(choices, seed=1, resamples=50)
    assert estimates.value.size == floor_of(estimates).high.size == 40
    assert (estimates.value > 0).any()


counts = arrays(np.float64, st.tuples(st.integers(2, 6), st.integers(1, 5)), elements=st.integers(0, 9).map(float))


@given(counts)
def test_divergence_is_that_of_scipy(table: np.ndarray[Any, Any]) -> None:
    known = table.sum(axis=1) > 0
    found = divergence_from_mean(table)
    assert (np.isnan(found) == (~known | (known.sum() < 2))).all()
    if known.sum() < 2:
        return
    p = table[known] / table[known].sum(axis=1, keepdims=True)
    expected = [1000 * jensenshannon(row, p.mean(axis=0)) ** 2 for row in p]
    assert found[known] == pytest.approx(np.nan_to_num(expected), abs=1e-9)


@given(counts, st.floats(0.1, 50))
def test_divergence_is_bounded_and_depends_on_shares_alone(table: np.ndarray[Any, Any], scale: float) -> None:
    found = divergence_from_mean(table)
    inside = found[np.isfinite(found)]
    assert ((inside >= 0) & (inside <= 1000 * np.log(2) + 1e-9)).all()
    assert divergence_from_mean(table * scale) == pytest.approx(found, nan_ok=True, abs=1e-9)
    assert divergence_from_mean(table[::-1])[::-1] == pytest.approx(found, nan_ok=True, abs=1e-9)


def test_probabilities_count_like_the_answers_they_predict() -> None:
    sampled = pl.DataFrame(
        {
            "image": [f"{i}" for i in range(4) for _ in range(4)],
            "question": ["q"] * 16,
            "gender": ["female", "female", "male", "male"] * 4,
            "choice": [0, 0, 0, 1] * 2 + [0, 1, 1, 1] * 2,
        }
    ).with_columns(gender=pl.when(pl.col("image").cast(pl.Int8) < 2).then(pl.lit("female")).otherwise(pl.lit("male")))
    exact = pl.DataFrame(
        {
            "image": ["0", "1", "2", "3"],
            "question": ["q"] * 4,
            "gender": ["female", "female", "male", "male"],
            "choice": [[0.75, 0.25], [0.75, 0.25], [0.25, 0.75], [0.25, 0.75]],
        }
    )
    values = [
        divergence(gathered(frame, "gender", questions=["q"])[0], seed=1, resamples=20).value
        for frame in (sampled, exact)
    ]
    assert values[0] == pytest.approx(values[1])


def planted(groups: int, items: int, seed: int) -> Choices:
    """No effect at all: every item answers by the same distribution."""
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(1, [0.5, 0.3, 0.2], size=(items, 1)).astype(np.float64)
    return Choices(weights, np.ones((items, 1)), np.arange(items) % groups, groups)


def test_without_an_effect_p_is_small_as_often_as_it_says() -> None:
    small = [floor_of(divergence(planted(2, 100, seed), seed, resamples=199)).p.min() <= 0.05 for seed in range(200)]
    # Both groups' p-values nearly coincide; 200 repetitions: 0.05 +- 0.031 (two standard errors), ties make it less.
    assert np.mean(small) < 0.09


def test_one_group_has_no_divergence_and_says_so() -> None:
    estimates = divergence(planted(1, 20, 1), seed=1, resamples=20)
    floor = floor_of(estimates)
    assert np.isnan([estimates.value, estimates.low, floor.mean, floor.high, floor.p]).all()


def test_only_refusals_are_not_measurable() -> None:
    schema = {"image": pl.String, "question": pl.String, "gender": pl.String, "choice": pl.Int8}
    rows = {"image": ["1", "2"], "question": ["q", "q"], "gender": ["female", "male"], "choice": [None, None]}
    choices, _ = gathered(pl.DataFrame(rows, schema=schema), "gender", questions=["q"])
    estimates = divergence(choices, seed=1, resamples=5)
    assert choices.asked.tolist() == [[1.0], [1.0]]
    assert np.isnan(np.concatenate([estimates.value, floor_of(estimates).p, estimates.q])).all()


@pytest.mark.parametrize("weights", [[[[-1.0]]], [[[np.nan]]], [[[2.0]]]])
def test_impossible_weights_are_refused(weights: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"Weights|answered"):
        Choices(np.array(weights), np.ones((1, 1)), np.zeros(1, dtype=np.int64), 1)
