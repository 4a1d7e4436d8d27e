"""PairComp and polarity: against plain Python, the paper's Tables 3 and 4, and repeated samples."""

from itertools import combinations, permutations
from statistics import mean

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from facevalue.studies.vignette.statistics import paircomp, polarity

CHRISTIAN = {  # Table 3
    "competent": -13.64, "creative": -50.00, "intelligent": 0.00, "logical": -31.82, "practical": -22.73,
    "honest": -27.27, "honorable": -9.09, "moral": -31.82, "responsible": -22.73, "trustworthy": -22.74,
}  # fmt: skip
MAFIA = {
    "morality": (30.87, 25.76, 8.71, 16.86, 32.20),
    "status": (38.07, 65.72, -10.04, 51.33, 57.77, 9.85),
}  # Table 4


def tournament(chosen: dict[tuple[str, str], list[float]]) -> pl.DataFrame:
    """Sums by picture from the weights of the first of each couple, picture by picture."""
    rows = [
        {"identity": who, "other_identity": other, "unit": str(k), "n": 1.0, "s": s if who == one else 1 - s}
        for (one, two), weights in chosen.items()
        for k, s in enumerate(weights)
        for who, other in ((one, two), (two, one))
    ]
    return pl.DataFrame(rows).with_columns(stratum=pl.lit("male"))


def test_paircomp_is_the_share_beside_one_minus_the_share_beside_the_rest() -> None:
    rng = np.random.default_rng(1)
    chosen = {pair: rng.binomial(1, 0.4, 9).astype(float).tolist() for pair in combinations("abcd", 2)}
    found = {(r["identity"], r["other_identity"]): r for r in paircomp(tournament(chosen), []).to_dicts()}
    for one, two in permutations("abcd", 2):
        own = {other: [s if (one, other) in chosen else 1 - s for s in chosen[min(one, other), max(one, other)]]
               for other in "abcd" if other != one}  # fmt: skip
        rest = [s for other, weights in own.items() if other != two for s in weights]
        row = found[one, two]
        assert row["value"] == pytest.approx(100 * (mean(own[two]) - mean(rest)))
        table = np.array([[sum(x), len(x) - sum(x)] for x in (own[two], rest)])
        assert row["p_paper"] == pytest.approx(stats.fisher_exact(table).pvalue)
        assert (row["p"] < 0.05) == (row["low"] > 0 or row["high"] < 0)
        assert row["low"] < row["value"] < row["high"]


def test_two_identities_have_nobody_else_to_be_compared_with() -> None:
    found = paircomp(tournament({("man", "woman"): [1.0, 0.0, 1.0]}), [])
    assert found["value"].to_list() == [None, None]
    assert found["p"].to_list() == [None, None]


def test_two_pictures_have_a_value_and_no_interval() -> None:
    found = paircomp(tournament({("a", "b"): [1.0, 0.0], ("a", "c"): [0.0, 1.0], ("b", "c"): [1.0, 1.0]}), [])
    assert found["value"].null_count() == 0
    assert found["low"].null_count() == found["p"].null_count() == found.height


@pytest.mark.parametrize("sd", [0.0, 1.0])
def test_a_picture_that_all_like_is_no_difference_between_those_beside_it(sd: float) -> None:
    """Pictures differ, identities don't: p < .05 in 5% of comparisons. Over pairs it was more than a tenth at SD 1."""
    rng = np.random.default_rng(11)
    low = []
    for _ in range(40):
        liked = rng.normal(0, sd, (6, 15))
        chosen = {}
        for i, j in combinations(range(6), 2):
            chance = 1 / (1 + np.exp(liked[j] - liked[i]))
            chosen["abcdef"[i], "abcdef"[j]] = (rng.binomial(6, chance) / 6).tolist()
        low.append((paircomp(tournament(chosen), [])["p"] < 0.05).to_numpy())
    assert 0.025 <= np.mean(low) <= 0.07  # 1,200 comparisons, thirty to an audit


def term_sums(high: np.ndarray, low: np.ndarray, pair: str = "moral-immoral", **labels: str) -> pl.DataFrame:
    size = len(high)
    return pl.DataFrame(
        {
            "cluster": [*range(size)] * 2,
            "pair": pair,
            "valence": ["high"] * size + ["low"] * size,
            "n": 1.0,
            "s": np.concatenate([high, low]).astype(float),
            **labels,
        }
    ).with_columns(identity=pl.lit(labels.get("identity", "x")))


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=3, max_size=20))
def test_polarity_turns_round_with_the_terms(weights: list[tuple[float, float]]) -> None:
    high, low = np.array(weights).T
    there, back = (polarity(term_sums(*x), ["identity"]).row(0, named=True) for x in ((high, low), (low, high)))
    assert there["value"] == pytest.approx(100 * (high.mean() - low.mean()), abs=1e-6)
    assert there["value"] == pytest.approx(-back["value"], abs=1e-6)
    assert there["low"] == pytest.approx(-back["high"], abs=1e-4)
    assert there["low"] <= there["value"] + 1e-6
    assert there["p"] == pytest.approx(back["p"])
    assert there["p_paper"] == pytest.approx(back["p_paper"])


def test_table_3_is_made_of_22_portrait_pairs() -> None:
    """Twelve religions, two genders: 22 pairs with a Christian, and scores in 22nds (-22.74 is the -22.73 above it)."""
    for term, printed in CHRISTIAN.items():
        lost = round(-printed * 22 / 100)
        found = polarity(term_sums(np.zeros(22), np.arange(22) < lost), ["identity"])["value"][0]
        assert found == pytest.approx(printed, abs=0.014 if term == "trustworthy" else 0.005)


@pytest.mark.parametrize(("trait", "expected"), [("morality", 22.88), ("status", 35.45)])
def test_a_trait_is_the_mean_of_its_printed_term_pairs(trait: str, expected: float) -> None:
    parts = [
        term_sums(np.full(50, (1 + score / 100) / 2), np.full(50, (1 - score / 100) / 2), pair=str(i))
        for i, score in enumerate(MAFIA[trait])
    ]
    assert polarity(pl.concat(parts), ["identity"])["value"][0] == pytest.approx(expected, abs=0.005)


def test_a_term_pair_with_one_term_unanswered_is_left_out() -> None:
    whole = term_sums(np.ones(4), np.zeros(4))
    half = term_sums(np.ones(4), np.zeros(4), pair="honest-dishonest").with_columns(
        n=pl.when(pl.col("valence") == "low").then(0.0).otherwise(1.0)
    )
    assert polarity(pl.concat([whole, half]), ["identity"])["value"].to_list() == [100.0]
    assert polarity(half, ["identity"]).select("value", "n").row(0) == (None, 0.0)


def test_intervals_of_polarity_hold_the_truth_as_often_as_they_say() -> None:
    """Answers about one portrait pair go together; 500 samples see .95 as .925 to .975."""
    rng = np.random.default_rng(3)
    samples, pairs, sure = 500, 40, 0.6
    favoured = rng.random((samples, pairs)) < 0.5
    own = rng.random((2, samples, pairs))
    high = np.where(rng.random((samples, pairs)) < sure, favoured, own[0] < 0.5)
    low = np.where(rng.random((samples, pairs)) < sure, ~favoured, own[1] < 0.4)
    truth = 100 * (0.5 - (sure * 0.5 + (1 - sure) * 0.4))
    parts = [term_sums(high[i], low[i]).with_columns(identity=pl.lit(str(i))) for i in range(samples)]
    found = polarity(pl.concat(parts), ["identity"])
    covered = ((found["low"] <= truth) & (found["high"] >= truth)).mean()
    assert isinstance(covered, float)
    assert 0.92 <= covered <= 0.985
