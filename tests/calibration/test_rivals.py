"""The rival is what it says: t over means of units, and Holm within the family."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from facevalue.calibration.rivals import beside, p_values
from facevalue.protocol.calibration import Rival

RNG = np.random.default_rng(1)
ANSWERS = pl.DataFrame(
    {
        "person": np.repeat([f"p{at}" for at in range(12)], 4),
        "cue": ["cap", "scarf"] * 24,
        "group": np.repeat(["one", "two"], 24),
        "score": RNG.normal(0.3, 1.0, 48),
    }
)


def means(rows: pl.DataFrame) -> np.ndarray:
    return rows.group_by("person", maintain_order=True).agg(pl.col("score").mean())["score"].to_numpy()


def test_one_side_is_a_t_test_of_units_means() -> None:
    rival = Rival("shift", lambda rows: rows.select("cue", unit="person", value="score"))
    found = dict(p_values(rival, ANSWERS).select("cue", "p_rival").rows())
    for cue, p in found.items():
        assert p == pytest.approx(stats.ttest_1samp(means(ANSWERS.filter(cue=cue)), 0).pvalue)


def test_two_sides_are_welchs_t_test() -> None:
    side = pl.col("group") == "one"
    rival = Rival("gap", lambda rows: rows.select(unit="person", value="score", side=side))
    one, two = (means(ANSWERS.filter(group=group)) for group in ("one", "two"))
    assert p_values(rival, ANSWERS)["p_rival"].item() == pytest.approx(
        stats.ttest_ind(one, two, equal_var=False).pvalue
    )


def test_several_numbers_of_one_estimate_are_corrected() -> None:
    rival = Rival("spread", lambda rows: rows.select(part="cue", unit="person", value="score"))
    each = [stats.ttest_1samp(means(ANSWERS.filter(cue=cue)), 0).pvalue for cue in ("cap", "scarf")]
    assert p_values(rival, ANSWERS)["p_rival"].item() == pytest.approx(min(1, 2 * min(each)))


def test_units_that_do_not_vary_give_no_p() -> None:
    rival = Rival("shift", lambda rows: rows.select(unit="person", value=pl.lit(0.5)))
    assert p_values(rival, ANSWERS)["p_rival"].to_list() == [None]


def test_estimates_stand_beside_the_rivals_p_by_holm() -> None:
    estimates = pl.DataFrame(
        {"measure": ["shift"] * 3, "family": ["cues"] * 3, "cue": ["cap", "scarf", "hat"], "p": [0.5, 0.5, 0.5]}
    )
    rival = Rival("shift", lambda rows: rows.select("cue", unit="person", value="score"))
    p = dict(p_values(rival, ANSWERS).select("cue", "p_rival").rows())
    found = dict(beside(estimates, [rival], ANSWERS).select("cue", "q_rival").rows())
    low, high = sorted(("cap", "scarf"), key=lambda cue: p[cue])
    assert found[low] == pytest.approx(min(1, 2 * p[low]))
    assert found[high] == pytest.approx(min(1, max(2 * p[low], p[high])))
    assert found["hat"] is None
