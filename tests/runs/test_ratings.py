"""Ratings in a run folder: whole and typed, replaced rater by rater, and refused when damaged."""

from pathlib import Path

import polars as pl
import pytest

from facevalue.errors import RunError
from facevalue.runs.reviews.outcomes import RATINGS_FOLDER, keep, read_kept

RATINGS = pl.DataFrame(
    {
        "rater": ["ann", "ann", "bo"],
        "item": ["q-1", "q-2", "q-1"],
        "rating": [5, 1, 4],
        "duration": [300.0, 300.0, None],
    }
)


def test_ratings_are_kept_with_their_types_and_what_a_rater_gives_next_replaces_them(tmp_path: Path) -> None:
    assert read_kept(tmp_path) is None
    assert keep(tmp_path, RATINGS.with_columns(pl.col("rating").cast(pl.Int8), more=pl.lit("x"))) == 0
    found = read_kept(tmp_path)
    assert found is not None
    assert found.equals(RATINGS)
    assert found.schema == RATINGS.schema
    assert keep(tmp_path, RATINGS.head(1)) == 2  # ann's, as often as she answers the same packet
    found = read_kept(tmp_path)
    assert found is not None
    assert sorted(found["rater"]) == ["ann", "bo"]
    assert keep(tmp_path, RATINGS, "replies") == 0  # another kind of ratings lies beside
    again = read_kept(tmp_path)
    assert again is not None
    assert again.equals(found)


def test_ratings_kept_before_durations_were_are_read(tmp_path: Path) -> None:
    keep(tmp_path, RATINGS)
    RATINGS.drop("duration").write_parquet(tmp_path / RATINGS_FOLDER / "ratings.parquet")
    found = read_kept(tmp_path)
    assert found is not None
    assert found.equals(RATINGS.with_columns(duration=pl.lit(None, pl.Float64)))


@pytest.mark.parametrize(
    "damaged",
    [
        RATINGS.drop("rater"),
        RATINGS.with_columns(rating=pl.lit(201)),
        RATINGS.with_columns(rating=pl.lit("high")),
        RATINGS.with_columns(item=pl.lit(None, pl.String)),
        pl.concat([RATINGS, RATINGS]),
        None,
    ],
)
def test_damaged_ratings_are_refused_and_can_be_given_again(tmp_path: Path, damaged: pl.DataFrame | None) -> None:
    keep(tmp_path, RATINGS)
    path = tmp_path / RATINGS_FOLDER / "ratings.parquet"
    if damaged is None:
        path.write_bytes(path.read_bytes()[:-8])
    else:
        damaged.write_parquet(path)
    with pytest.raises(RunError, match=r"ratings\.parquet .*review RUN --collect FILE"):
        read_kept(tmp_path)
    keep(tmp_path, RATINGS.head(1))
    again = read_kept(tmp_path)
    assert again is not None
    assert again.height == 1  # of what is damaged nothing is sealed anew


def test_ratings_that_somebody_changed_are_not_sealed_anew(tmp_path: Path) -> None:
    keep(tmp_path, RATINGS)
    path = tmp_path / RATINGS_FOLDER / "ratings.parquet"
    seal = pl.read_parquet_metadata(path)["facevalue.sha256"]
    changed = RATINGS.with_columns(rating=pl.lit(1, pl.Int64))
    changed.write_parquet(path, metadata={"facevalue.sha256": seal})
    keep(tmp_path, RATINGS.head(1).with_columns(rater=pl.lit("cy")))
    rows = read_kept(tmp_path)
    assert rows is not None
    assert rows["rater"].to_list() == ["cy"]


def test_no_flipped_bit_changes_a_rating(tmp_path: Path) -> None:
    keep(tmp_path, RATINGS)
    path = tmp_path / RATINGS_FOLDER / "ratings.parquet"
    data, before = path.read_bytes(), read_kept(tmp_path)
    assert before is not None
    for at in range(4, len(data), max(len(data) // 120, 1)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        try:
            now = read_kept(tmp_path)
        except RunError:
            continue
        assert now is not None
        assert now.equals(before)
