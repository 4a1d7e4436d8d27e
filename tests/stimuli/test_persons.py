"""Persons of a list of pictures, and columns that look like persons."""

from pathlib import Path

import polars as pl
import pytest

from facevalue.runs.own_pictures.manifest_check import check_manifest
from facevalue.stimuli.manifest import read_manifest
from facevalue.stimuli.manifest_rows import Column, ListedPersons, persons_of

PEOPLE = 12


def listed(path: Path, column: str, **more: list[str]) -> Path:
    """A list of 60 pictures of 12 people, who are named in a column of this name."""
    number = [at % PEOPLE for at in range(60)]
    columns = {
        "path": [f"{at}.png" for at in range(60)],
        column: [f"who {at}" for at in number],
        "gender": [("female", "male")[at % 2] for at in number],
        "race": [("Black", "White", "Asian")[at % 3] for at in number],
        **more,
    }
    file = path / "list.csv"
    pl.DataFrame(columns).write_csv(file)
    return file


@pytest.mark.parametrize("name", ["person", "subject_id", "photo_of", "sitterName", "Kennung"])
def test_a_column_of_persons_by_any_name_is_asked_about(name: str, tmp_path: Path) -> None:
    persons = persons_of(read_manifest(listed(tmp_path, name)), (Column("gender", "as perceived"),))
    assert persons == ListedPersons(60, None, 0, ((name, PEOPLE),))
    assert f"is {name!r} who is shown? It has 12 values with 5 pictures each" in persons.question
    assert persons.unit == (
        "The sampled unit is the picture: 60 pictures, each counted as another person (no column `identity`)."
    )
    checked = check_manifest(listed(tmp_path, name), pictures=False)
    assert persons.question in [fault.what for fault in checked.warnings]


def test_persons_that_are_named_are_the_unit_and_nothing_is_asked(tmp_path: Path) -> None:
    persons = persons_of(read_manifest(listed(tmp_path, "identity")))
    assert persons == ListedPersons(60, PEOPLE, 0)
    assert persons.question == ""
    assert persons.unit == "The sampled unit is the person: 12 in 60 pictures."


def test_sets_are_the_unit_where_there_are_some(tmp_path: Path) -> None:
    persons = persons_of(read_manifest(listed(tmp_path, "set")))
    assert persons is not None
    assert persons.unit == "The sampled unit is the set: 12 of 60 pictures."


@pytest.mark.parametrize(
    ("declared", "more"),
    [
        (("gender", "person"), {}),  # the study reads it, and knows what it means
        (("gender",), {"person": [f"who {at}" for at in range(60)]}),  # each stands in one picture
        (("gender",), {"person": [("office", "street", "park", "shop", "home")[at // 12] for at in range(60)]}),
    ],
)
def test_a_factor_is_not_taken_for_persons(
    declared: tuple[str, ...], more: dict[str, list[str]], tmp_path: Path
) -> None:
    frame = read_manifest(listed(tmp_path, "person", **more))
    if "office" in frame["person"]:
        frame = frame.rename({"person": "place"})
    persons = persons_of(frame, [Column(name, "known") for name in declared])
    assert persons is not None
    assert persons.likely == ()


def test_persons_of_a_study_that_compares_identities_are_in_a_column_of_their_own(tmp_path: Path) -> None:
    frame = read_manifest(listed(tmp_path, "identity"))
    compared = (Column("identity", "who is shown, such as old", paired=True), Column("person", "who is shown"))
    persons = persons_of(frame, compared)
    assert persons is not None
    assert "each counted as another person (no column `person`)" in persons.unit
    with_people = persons_of(frame.with_columns(person=frame["identity"]), compared)
    assert with_people is not None
    assert with_people.unit == "The sampled unit is the person: 12 in 60 pictures."


def test_people_of_pairs_are_those_on_either_side() -> None:
    pairs = pl.DataFrame({"image": ["a + b", "b + a", "room"], "path": ["a.png", "b.png", "room.png"]}).with_columns(
        pl.col("image").alias("identity"), set=pl.Series(["a + b", "a + b", "room"]),
        face_1=pl.Series(["a", "b", None]), face_2=pl.Series(["b", "a", None]),
        person_1=pl.Series(["a", "b", "room"]), person_2=pl.Series(["b", "a", "room"]),
    )  # fmt: skip
    unnamed = persons_of(pairs)
    assert unnamed is not None
    assert unnamed.unit.startswith("The sampled unit is the picture: 3 pictures, each counted as another person")
    named = persons_of(
        pairs.with_columns(person_1=pl.Series(["Ann", "Bo", "room"]), person_2=pl.Series(["Bo", "Ann", "room"]))
    )
    assert named is not None
    assert named.unit == "The sampled unit is the person: 3 in 3 pictures."


def test_a_table_without_files_lists_nobody() -> None:
    assert persons_of(pl.DataFrame({"image": ["a"], "path": [None], "identity": ["a"]})) is None
