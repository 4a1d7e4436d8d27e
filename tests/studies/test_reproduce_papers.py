"""VIGNETTE's and StylisticBias' printed figures from their own tables and designs."""

from collections import Counter

import pytest

from facevalue.protocol.reproduction import Paper, Reproduction
from facevalue.studies.stylisticbias import reproduce as stylisticbias
from facevalue.studies.vignette import reproduce as vignette


@pytest.fixture(scope="module")
def pairs() -> Reproduction:
    return vignette.reproduce()


@pytest.fixture(scope="module")
def faces() -> Reproduction:
    return stylisticbias.reproduce()


def counts(found: Reproduction) -> dict[str, tuple[int, int]]:
    """The same, and all, by table."""
    same = Counter(cell.table for cell in found.cells if cell.same)
    return {table: (same[table], count) for table, count in Counter(cell.table for cell in found.cells).items()}


def test_vignette_all_but_impossible_shares_of_table_11(pairs: Reproduction) -> None:
    assert counts(pairs) == {
        "1": (1, 1), "3": (4, 4), "5": (7, 7), "6": (9, 9), "7": (5, 5), "8": (90, 90), "11": (8, 14), "12": (5, 5),
        "13": (50, 50), "A.3": (4, 5),
    }  # fmt: skip
    assert pairs.is_explained
    assert {cell.column for cell in pairs.cells if not cell.same} == {"All Different", "options"}
    assert all("A.3" in (cell.note or "") for cell in pairs.cells if not cell.same)


def test_vignette_names_its_totals(pairs: Reproduction) -> None:
    by = {(cell.table, cell.row, cell.column): cell.recomputed for cell in pairs.cells}
    assert by["3", "pictures of one person doing something", "both"] == 24_675
    assert by["8", "Total Images", "Male/Identity-Activity Contrast"] == 15_401_250
    assert by["8", "Total Images", "Female/Identity-Activity Contrast"] == 14_763_000
    assert by["8", "Gender", "Female/Identities"] == 0


def test_stylisticbias_all_but_what_its_tables_leave_open(faces: Reproduction) -> None:
    assert counts(faces) == {
        "3.2": (5, 5), "3.3": (6, 6), "4.2": (4, 4), "1": (5, 5), "2": (4, 4), "3": (44, 44), "4": (24, 24),
        "5": (6, 6), "6": (17, 17), "7": (4, 4), "11": (4, 4), "5.2": (0, 5), "12": (14, 15),
    }  # fmt: skip
    assert faces.is_explained


def test_stylisticbias_names_what_changes_sign_besides_the_facial_tattoo(faces: Reproduction) -> None:
    (cell,) = (cell for cell in faces.cells if "change sign" in cell.row)
    assert (cell.published, cell.recomputed) == (("Facial tattoo",), ("Freckles", "Facial tattoo", "Beanie"))


def test_stylisticbias_names_its_counts(faces: Reproduction) -> None:
    by = {(cell.table, cell.row, cell.column): cell.recomputed for cell in faces.cells}
    assert by["3.3", "images judged", "all"] == 15_726
    assert by["4.2", "judgments (millions)", "a model"] == pytest.approx(4.7178)
    assert by["4.2", "judgments (millions)", "all models"] == pytest.approx(28.3068)
    assert by["5.2", "variations that make up 80% of |SBS|", "from Table 12 by age"] == 12


@pytest.mark.parametrize("study", ["counterfactuals", "modscan", "stylisticbias", "vignette", "visbias"])
def test_no_row_of_a_printed_table_is_longer_than_its_head(study: str) -> None:
    document = Paper.shipped(f"facevalue.studies.{study}").document
    for block in (*document["cells"], *document["claims"]):
        rows = block["rows"] if isinstance(block["rows"], dict) else {}
        assert all(len(row) <= len(block["columns"]) for row in rows.values()), block
        assert block["table"] in document["titles"] or "value" not in block


@pytest.mark.parametrize("study", [vignette, stylisticbias])
def test_every_table_has_a_title_and_comes_once(study: object) -> None:
    found: Reproduction = study.reproduce()  # type: ignore[attr-defined]
    keys = [(cell.table, cell.row, cell.column) for cell in found.cells]
    assert len(set(keys)) == len(keys)
    assert {cell.table for cell in found.cells} == set(found.titles)
