"""Lists of pairs where there are several pictures of an identity and activity."""

from collections import Counter
from itertools import combinations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from facevalue.errors import DataError
from facevalue.stimuli import pair_lists as module
from facevalue.stimuli.pair_lists import identity_pairs

COUNTS = {("x", "male"): 4, ("y", "male"): 6, ("z", "male"): 3, ("x", "female"): 5, ("y", "female"): 1}


def faces(activities: tuple[str | None, ...] = ("cooking", "programming")) -> pl.DataFrame:
    rows = [
        (f"{activity} {identity} {gender} {i}", identity, gender, activity)
        for activity in activities
        for (identity, gender), count in COUNTS.items()
        for i in range(count)
    ]
    return pl.DataFrame(rows, schema=["image", "identity", "gender", "activity"], orient="row")


def facts(pairs: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """What the manifest says of both pictures of each pair."""
    for side in (1, 2):
        named = frame.rename({name: f"{name}_{side}_there" for name in frame.columns if name != "image"})
        pairs = pairs.join(named, left_on=f"image_{side}", right_on="image", how="left", maintain_order="left")
    return pairs


@given(st.integers(0, 2**63), st.integers(1, 40), st.booleans())
def test_pairs_are_of_two_identities_that_do_the_same(seed: int, per_cell: int, across: bool) -> None:
    frame = faces()
    pairs = facts(identity_pairs(frame, seed, per_cell, across_genders=across), frame)
    assert (pairs["identity_1"] < pairs["identity_2"]).all()
    for side in (1, 2):
        assert (pairs[f"activity_{side}_there"] == pairs["activity"]).all()
        for name in ("identity", "gender"):
            assert (pairs[f"{name}_{side}"] == pairs[f"{name}_{side}_there"]).all()
    assert (pairs["gender_1"] == pairs["gender_2"]).all() is not across
    assert not pairs.select("image_1", "image_2").is_duplicated().any()


@given(st.integers(0, 2**63), st.integers(1, 40), st.booleans())
def test_each_cell_has_as_many_as_asked_for_or_all_there_are(seed: int, per_cell: int, across: bool) -> None:
    pairs = identity_pairs(faces(), seed, per_cell, across_genders=across)
    counted = Counter(pairs.select("activity", "identity_1", "gender_1", "identity_2", "gender_2").rows())
    expected = {
        (activity, *one, *other): min(per_cell, COUNTS[one] * COUNTS[other])
        for activity in ("cooking", "programming")
        for one, other in combinations(sorted(COUNTS), 2)
        if one[0] != other[0] and (across or one[1] == other[1])
    }
    assert counted == expected


@given(st.integers(0, 2**63), st.integers(1, 24))
def test_pictures_of_a_cell_are_drawn_equally_often(seed: int, per_cell: int) -> None:
    pairs = identity_pairs(faces(("cooking",)), seed, per_cell)
    for (one, other, gender), part in pairs.group_by("identity_1", "identity_2", "gender_1"):
        for side, identity in ((1, one), (2, other)):
            often = Counter(part[f"image_{side}"])
            n = COUNTS[str(identity), str(gender)]
            assert max(often.values()) - (min(often.values()) if len(often) == n else 0) <= 1


def test_every_pair_is_as_likely() -> None:
    cells = 4_800
    frame = pl.DataFrame(
        [
            (f"{i} {identity}{n}", identity, str(i))
            for i in range(cells)
            for identity in "xy"
            for n in range(4 + (identity == "y") * 2)
        ],
        schema=["image", "identity", "activity"],
        orient="row",
    )
    pairs = identity_pairs(frame, 11, 1).select(pl.col("image_1", "image_2").str.split(" ").list.last())
    drawn = Counter(pairs.rows())
    assert len(drawn) == 24
    expected = cells / 24
    assert sum((n - expected) ** 2 / expected for n in drawn.values()) < 49.7  # chi-squared, 23 df, p = 0.001


def test_the_same_seed_draws_the_same_whatever_the_order_of_rows() -> None:
    frame = faces()
    pairs = identity_pairs(frame, 3, 2)
    assert_frame_equal(identity_pairs(frame.sample(fraction=1, shuffle=True, seed=9), 3, 2), pairs)
    assert not identity_pairs(frame, 4, 2)["image_1"].equals(pairs["image_1"])


def test_the_draw_is_that_of_every_version() -> None:
    # Fixed when this was written: a list that is drawn anew with its seed must come out as it was.
    pairs = identity_pairs(faces(("cooking",)), 1, 2).filter(pl.col("gender_1") == "male")
    assert pairs.select("image_1", "image_2").rows() == [
        ("cooking x male 1", "cooking y male 1"),
        ("cooking x male 2", "cooking y male 4"),
        ("cooking x male 1", "cooking z male 0"),
        ("cooking x male 2", "cooking z male 1"),
        ("cooking y male 4", "cooking z male 0"),
        ("cooking y male 2", "cooking z male 1"),
    ]


def test_portraits_and_pictures_without_gender_are_paired() -> None:
    pairs = identity_pairs(faces((None, "cooking")).drop("gender"), 1, 3)
    assert pairs["gender_1"].null_count() == pairs.height == 18
    assert pairs["activity"].null_count() == 9
    assert "dimension" not in pairs.columns


def test_dimensions_are_not_mixed() -> None:
    frame = faces().with_columns(
        pl.when(pl.col("identity") == "z").then(pl.lit("b")).otherwise(pl.lit("a")).alias("dimension")
    )
    for across in (False, True):
        pairs = identity_pairs(frame, 1, 3, across_genders=across)
        assert set(pairs.select("dimension", "identity_1", "identity_2").unique().rows()) == {("a", "x", "y")}


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (faces().drop("activity"), "needs the column 'activity'"),
        (faces().with_columns(pl.lit("i").alias("image")), "'i' is in the manifest twice"),
        (faces().with_columns(pl.lit(None, pl.String).alias("identity")), "each needs an identity; 38 have none"),
        (faces().filter(pl.col("identity") == "x"), "nothing to pair"),
        (faces().clear(), "nothing to pair"),
    ],
)
def test_manifests_that_cannot_be_paired(frame: pl.DataFrame, says: str) -> None:
    with pytest.raises(DataError, match=says):
        identity_pairs(frame, 1, 1)


def test_no_pairs_at_all_cannot_be_asked_for() -> None:
    with pytest.raises(DataError, match="not 0"):
        identity_pairs(faces(), 1, 0)


def test_too_many_pairs_are_refused_by_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PAIRS", 80)
    with pytest.raises(DataError, match=r"at least 118 pairs; a list has at most 80"):
        identity_pairs(faces(), 1, 1_000)
    assert identity_pairs(faces(), 1, 10).height == 80 - 2 * 5


def test_too_many_cells_are_refused_before_they_are_made() -> None:
    everyone = pl.select(pl.int_range(20_000).cast(pl.String).alias("image")).with_columns(
        pl.col("image").alias("identity"), pl.lit("cooking").alias("activity")
    )
    with pytest.raises(DataError, match="199,990,000 pairs"):
        identity_pairs(everyone, 1, 1)
