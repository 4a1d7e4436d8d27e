"""Identities of a list of one's own: those of VIGNETTE's tables, or words that the list itself declares."""

from pathlib import Path

import PIL.Image
import pytest

from facevalue import studies
from facevalue.errors import DataError


def listed(folder: Path, header: str, *rows: str) -> str:
    for row in rows:
        PIL.Image.new("RGB", (60, 80), "grey").save(folder / row.split(",")[0])
    (folder / "list.csv").write_text("\n".join([header, *rows]))
    return str(folder / "list.csv")


@pytest.mark.parametrize("names", [("p001", "p002"), ("Ada Lovelace (1).jpeg", "ben.png"), ("Ada", "Ben")])
def test_names_of_persons_and_files_are_never_asked_about(names: tuple[str, str], tmp_path: Path) -> None:
    rows = [f"{number}.png,{name},female,cooking" for number, name in enumerate(names)]
    with pytest.raises(DataError, match="an identity is none of VIGNETTE's") as refused:
        studies.build("vignette", {"manifest": listed(tmp_path, "path,identity,gender,activity", *rows)})
    assert "list.csv" in str(refused.value)


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("path,identity,gender,activity", ("a.png,old,female,cooking", "b.png,young,female,cooking")),
        (
            "path,identity,gender,activity,wording",
            ("a.png,with,female,cooking,woman with a hijab", "b.png,without,female,cooking,woman without a hijab"),
        ),
        (
            "path,identity,gender,activity,dimension",
            ("a.png,tall,female,cooking,height", "b.png,short,female,cooking,height"),
        ),
    ],
)
def test_identities_of_the_tables_and_declared_ones_are_asked_about(
    header: str, rows: tuple[str, ...], tmp_path: Path
) -> None:
    study = studies.build("vignette", {"manifest": listed(tmp_path, header, *rows)})
    assert study.design.size
