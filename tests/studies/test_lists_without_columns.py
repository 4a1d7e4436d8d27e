"""Studies that come as files name no line of these where a list lacks a column: the user has not seen them."""

from pathlib import Path

import pytest
from PIL import Image

from facevalue.errors import DataError
from facevalue.studies import DECLARED, STUDIES
from facevalue.studies.registry import PUBLISHED

LISTED = [name for name in (*PUBLISHED, *DECLARED) if any(s.name == "manifest" for s in STUDIES[name].settings)]


@pytest.mark.parametrize("name", LISTED)
def test_a_list_without_the_columns_of_a_study_is_told_which_it_needs(name: str, tmp_path: Path) -> None:
    rows = ["path,set"]
    for number in range(4):
        Image.new("RGB", (8, 8), (40 * number, 80, 90)).save(tmp_path / f"{number}.png")
        rows.append(f"{number}.png,s{number // 2}")
    (tmp_path / "list.csv").write_text("\n".join(rows))
    with pytest.raises(DataError) as error:
        STUDIES[name].study({"manifest": str(tmp_path / "list.csv")})
    said = str(error.value)
    assert ".toml" not in said
    assert "your list needs a column" in said or name in ("counterfactuals", "gras")  # any one of several is enough


def test_a_slot_that_the_list_does_not_fill_is_a_column_that_it_needs(tmp_path: Path) -> None:
    for name in "ab":
        Image.new("RGB", (8, 8)).save(tmp_path / f"{name}.png")
    (tmp_path / "list.csv").write_text("path,set,context\na.png,s,Peru\nb.png,s,Kenya\n")
    with pytest.raises(
        DataError, match=r"^list.csv: your list needs a column 'aspect' \(fills the slot of the prompt\)"
    ):
        STUDIES["cross-cultural-values"].study({"manifest": str(tmp_path / "list.csv")})
