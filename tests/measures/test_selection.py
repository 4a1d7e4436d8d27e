"""Selection frequencies: against plain Python, properties, and intervals where the truth is known."""

from collections import defaultdict
from statistics import variance
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.measures.pairs import add_sums, pair_cells, selection_frequencies, sum_moments
from facevalue.measures.proportions import FEWEST_UNITS

Picture = tuple[str, float, float]
"""Activity, n and s of a picture."""


def frame(pictures: list[Picture], unit: list[str] | None = None, stratum: str = "male") -> pl.DataFrame:
    activity, n, s = zip(*pictures, strict=True)
    named = [str(i) for i in range(len(pictures))] if unit is None else unit
    return pl.DataFrame({"activity": activity, "n": n, "s": s, "unit": named}).with_columns(
        requests="n", who=pl.lit("old"), stratum=pl.lit(stratum)
    )


def selected(pictures: list[Picture], unit: list[str] | None = None) -> dict[str, Any]:
    return selection_frequencies(frame(pictures, unit), ["who"]).row(0, named=True)


def by_hand(pictures: list[Picture]) -> tuple[float, float]:
    """S and its stratified standard error, of activities with two pictures or more, as the equations have them."""
    groups: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for activity, n, s in pictures:
        groups[activity].append((n, s))
    total = spread = 0.0
    for rows in groups.values():
        n, s, size = sum(r[0] for r in rows), sum(r[1] for r in rows), len(rows)
        total += s / n
        spread += size / (size - 1) * sum((b - s / n * a) ** 2 for a, b in rows) / n**2
    return 100 * total / len(groups), 100 * spread**0.5 / len(groups)


def test_value_and_error_are_those_of_the_equations() -> None:
    rng = np.random.default_rng(0)
    pictures = [(f"a{i % 4}", float(n), float(rng.uniform(0, n))) for i, n in enumerate(rng.integers(1, 7, 40))]
    found = selected(pictures)
    assert (found["value"], found["se"]) == pytest.approx(by_hand(pictures))
    assert found["clusters"] == 40
    assert 10 < found["df"] < 36  # pictures that were asked unlike count for fewer


def test_activities_weigh_the_same_however_often_they_were_asked() -> None:
    assert selected([("cooking", 1.0, 1.0)] * 9 + [("sleeping", 1.0, 0.0)])["value"] == 50.0


def test_with_one_picture_of_an_activity_the_variance_is_that_between_pictures_of_all() -> None:
    found = selected([("a", 1.0, 0.1), ("b", 3.0, 1.5), ("c", 1.0, 0.9)])
    assert found["se"] == pytest.approx(100 * (variance([0.1, 0.5, 0.9]) / 3) ** 0.5)
    assert found["df"] == 2


def test_a_person_in_several_pictures_is_one() -> None:
    """Four people in three activities each are worth four, not twelve, and men are not held against women."""
    rates = {"1": 0.2, "2": 0.4, "3": 0.5, "4": 0.9}
    pictures = [(a, 10.0, 10 * rate) for a in "abc" for rate in rates.values()]
    found = selected(pictures, list(rates) * 3)
    assert (found["clusters"], found["df"]) == (4, 3)
    assert found["se"] == pytest.approx(100 * (variance(rates.values()) / 4) ** 0.5)
    women = frame([(a, n, n) for a, n, _ in pictures], list(rates) * 3, "female")
    both = selection_frequencies(pl.concat([frame(pictures, list(rates) * 3), women]), ["who"]).row(0, named=True)
    assert (both["clusters"], both["df"]) == (8, 6)
    assert both["se"] == pytest.approx(found["se"] / 2)


def test_pairs_of_two_activities_have_their_variance_from_the_identitys_own_pictures() -> None:
    asked = frame([("a", 4.0, 2.0), ("b", 4.0, 3.0)]).with_columns(unit=pl.lit(None, pl.String))
    own = frame([("", 2.0, 1.0), ("", 3.0, 1.5), ("", 3.0, 2.5)]).drop("activity")
    found = selection_frequencies(asked, ["who"], own).row(0, named=True)
    assert (found["clusters"], found["value"]) == (3, 62.5)
    errors = [1.0 - 2 * 0.625, 1.5 - 3 * 0.625, 2.5 - 3 * 0.625]
    assert found["se"] == pytest.approx(100 * (1.5 * sum(e**2 for e in errors)) ** 0.5 / 8)


def test_pictures_that_stand_beside_several_of_anothers_widen_its_interval() -> None:
    """Two identities, each of whose pictures is beside all of the other's: both sides' scatter counts, and is equal."""
    rng = np.random.default_rng(1)
    u, v = rng.normal(0, 0.1, (2, 30))
    rows = [("x", "y", str(i), 0.5 + a - b) for i, a in enumerate(u) for b in v]
    rows += [("y", "x", str(j), 0.5 + b - a) for a in u for j, b in enumerate(v)]
    pairs = pl.DataFrame(rows, schema=["identity", "other_identity", "unit", "s"], orient="row").with_columns(
        n=pl.lit(1.0), requests=pl.lit(1.0), stratum=pl.lit("male"), activity=pl.lit("cooking")
    )
    partners = sum_moments(pairs, ["identity", "other_identity"])
    found = selection_frequencies(pairs, ["identity"], None, partners)
    expected = 100 * ((u.var(ddof=1) + v.var(ddof=1)) / 30) ** 0.5
    assert found["se"].to_list() == [pytest.approx(expected, rel=0.05)] * 2
    assert selection_frequencies(pairs, ["identity"])["se"].max() < 0.9 * expected


def test_what_was_asked_and_never_answered_is_not_measurable_and_not_zero() -> None:
    found = selection_frequencies(frame([("a", 0.0, 0.0)]).with_columns(requests=1.0), ["who"]).row(0, named=True)
    assert found["value"] is None
    assert (found["n"], found["clusters"]) == (0, 0)
    assert (found["bound_low"], found["bound_high"]) == (0.0, 100.0)


def test_two_pictures_have_a_value_and_no_interval() -> None:
    found = selected([("a", 3.0, 2.0), ("b", 3.0, 2.0)])
    assert found["value"] == pytest.approx(200 / 3)
    assert found["low"] is None
    assert found["high"] is None


def test_questions_about_one_pair_are_not_put_together() -> None:
    rows = frame([("a", 1.0, 0.0)])
    both = pl.concat([rows.with_columns(question=pl.lit(q)) for q in ("struggle", "dislike")])
    with pytest.raises(ValueError, match="name `question` in `by`"):
        selection_frequencies(both, ["who"])
    assert selection_frequencies(both, ["who", "question"]).height == 2


answered = st.floats(0.5, 6).flatmap(lambda n: st.tuples(st.sampled_from("abc"), st.just(n), st.floats(0, n)))


@given(st.lists(answered, min_size=1, max_size=25))
def test_values_and_limits_are_percentages_and_hold_each_other(pictures: list[Picture]) -> None:
    found = selected(pictures)
    assert -1e-9 <= found["value"] <= 100 + 1e-9
    assert (found["low"] is None) == (len(pictures) < FEWEST_UNITS)
    if found["low"] is not None:
        assert -1e-9 <= found["low"] <= found["value"] + 1e-9
        assert found["value"] - 1e-9 <= found["high"] <= 100 + 1e-9
        assert found["high"] > found["low"] - 1e-9


@given(st.lists(answered, min_size=1, max_size=25))
def test_the_two_of_a_pair_add_up_to_a_hundred(pictures: list[Picture]) -> None:
    one = frame(pictures)
    both = (one, one.with_columns(s=pl.col("n") - pl.col("s")))
    first, second = (selection_frequencies(x, ["who"]).row(0, named=True) for x in both)
    assert first["value"] + second["value"] == pytest.approx(100)
    if first["low"] is not None:
        assert first["low"] + second["high"] == pytest.approx(100, abs=1e-5)


@given(st.lists(answered, min_size=2, max_size=25), st.integers(1, 24))
def test_moments_of_different_pairs_add_up(pairs: list[Picture], cut: int) -> None:
    by = ["who", "activity"]
    parts = [sum_moments(frame(part), by) for part in (pairs[:cut], pairs[cut:]) if part]
    whole = sum_moments(frame(pairs), by)
    numbers = whole.columns[2:]
    together = add_sums(pl.concat(parts), by, numbers).select(whole.columns).sort(by)
    np.testing.assert_allclose(together.drop(by).to_numpy(), whole.sort(by).drop(by).to_numpy(), rtol=1e-9)


def test_shares_of_pairs_vary_with_the_pictures_on_either_side() -> None:
    """A star: one picture stands in all pairs, so that its pairs are one, while the others are in one pair each."""
    rows = pl.DataFrame({"unit_1": ["hub"] * 6, "unit_2": list("abcdef"), "s": [1.0, 1, 1, 1, 0, 1]})
    rows = rows.with_columns(n=pl.lit(1.0), requests=pl.lit(1.0), stratum=pl.lit(""), what=pl.lit("x"))
    units = pl.concat([rows.with_columns(unit=side) for side in ("unit_1", "unit_2")], how="diagonal")
    pairs = sum_moments(rows.with_columns(pair=True), ["what", "stratum", "pair"])
    found = pair_cells(units, pairs, ["what"]).row(0, named=True)
    assert (found["value"], found["clusters"]) == (pytest.approx(500 / 6), 7)
    errors = np.array([1, 1, 1, 1, 0, 1]) - 5 / 6
    squares = ((errors / 5) ** 2).sum()  # of the units without the hub, each moving the share by what its pair holds
    assert found["se"] == pytest.approx(100 * squares**0.5)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("layout", [[8], [22], [75], [4, 4], [2] * 10, [3] * 25, [1] * 25], ids=str)
def test_intervals_hold_the_truth_as_often_as_they_say(layout: list[int], share: float) -> None:
    """In 400 samples .95 is seen as .92 to .98 (binomial, 99%); near 0 Wilson's coverage is known to be uneven."""
    rng = np.random.default_rng(len(layout) * 1000 + sum(layout))
    activity = np.repeat(np.arange(len(layout)), layout)
    size, pictures = 400, activity.size
    chosen = rng.binomial(1, share, (size, pictures)).astype(np.float64)
    rows = pl.DataFrame(
        {
            "sample": np.repeat(np.arange(size), pictures),
            "activity": np.tile(activity, size).astype(str),
            "unit": np.tile(np.arange(pictures), size).astype(str),
            "n": np.ones(size * pictures),
            "s": chosen.ravel(),
            "requests": np.ones(size * pictures),
        }
    ).with_columns(stratum=pl.lit("male"))
    found = selection_frequencies(rows, ["sample"])
    covered = ((found["low"] <= 100 * share) & (found["high"] >= 100 * share)).mean()
    assert isinstance(covered, float)
    assert covered >= (0.90 if share == 0.02 else 0.92)
    assert covered <= 0.99 or pictures < 20
