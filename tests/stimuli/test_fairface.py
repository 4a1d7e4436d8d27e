"""FairFace's table of labels. The pictures are not there: only labels are read."""

from pathlib import Path

import pytest

from facevalue.errors import DataError
from facevalue.stimuli.face_datasets import FAIRFACE_AGES, FAIRFACE_RACES, read_fairface

HEADER = "file,age,gender,race,service_test"


def labels(root: Path, *rows: str, header: str = HEADER) -> Path:
    path = root / "labels.csv"
    path.write_text("\n".join((header, *rows)) + "\n")
    return path


def test_labels_stay_as_they_are_in_the_form_of_a_manifest(tmp_path: Path) -> None:
    found = read_fairface(
        labels(tmp_path, "train/1.jpg,50-59,Male,Latino_Hispanic,True", "train/2.jpg,3-9,Female,Indian,False")
    )
    assert found.columns == ["image", "path", "identity", "set", "age", "gender", "race"]
    assert found.select("path", "age", "gender", "race").rows() == [
        ("train/1.jpg", "50-59", "male", "Latino_Hispanic"),
        ("train/2.jpg", "3-9", "female", "Indian"),
    ]


def test_every_published_label_is_known(tmp_path: Path) -> None:
    rows = [
        f"{a}-{r}.jpg,{age},Male,{race},True"
        for a, age in enumerate(FAIRFACE_AGES)
        for r, race in enumerate(FAIRFACE_RACES)
    ]
    found = read_fairface(labels(tmp_path, *rows))
    assert found["age"].unique(maintain_order=True).to_list() == list(FAIRFACE_AGES)
    assert found["race"].n_unique() == len(FAIRFACE_RACES) == 7


@pytest.mark.parametrize(
    "age", ["9-March", "9-Mar", "Mar-09", "3-Sep", "Oct-19", "10/19/2026", "2026-03-09", "03.09.2026"]
)
def test_ages_that_a_spreadsheet_made_dates_are_refused_with_what_to_do(tmp_path: Path, age: str) -> None:
    path = labels(tmp_path, "1.jpg,20-29,Male,White,True", f"2.jpg,{age},Male,White,True")
    with pytest.raises(DataError, match=r"the age is a date, which a spreadsheet has made of the range 3-9 .*: row 2"):
        read_fairface(path)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (
            "1.jpg,21-29,Male,White,True",
            "the age is none of FairFace's (0-2, 3-9, 10-19, 20-29,",
        ),
        ("1.jpg,20-29,Mal,White,True", "the gender is none of FairFace's (male, female): row 1 (mal)"),
        (
            "1.jpg,20-29,Male,Latino,True",
            "Indian, Middle Eastern): row 1 (Latino)",
        ),
        ("1.jpg,,Male,White,True", "'age' is empty: row 1"),
        ("1.txt,20-29,Male,White,True", "does not end in one of .png"),
        (
            "1.jpg,20-29,Male,White,True\n1.jpg,20-29,Male,White,True",
            "one picture is meant to be): row 1 (1.jpg), row 2 (1.jpg)",
        ),
        ('"1.jpg,20-29', "unexpected end of data"),
        ("1.jpg", "a row has another number of cells than the header (5): row 1 (1)"),
    ],
)
def test_rows_that_cannot_be_used_are_named(tmp_path: Path, row: str, says: str) -> None:
    with pytest.raises(DataError) as error:
        read_fairface(labels(tmp_path, row))
    assert says in str(error.value)


def test_a_missing_column_and_an_empty_table_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="your list needs a column 'race'"):
        read_fairface(labels(tmp_path, "1.jpg,3-9,Male", header="file,age,gender"))
    with pytest.raises(DataError, match="holds no images"):
        read_fairface(labels(tmp_path))
    with pytest.raises(DataError, match="There is no file"):
        read_fairface(tmp_path / "missing.csv")
