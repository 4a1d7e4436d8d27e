"""What the paper prints, from its own tables."""

from collections.abc import Mapping

import pytest

from facevalue.protocol.reproduction import Cell
from facevalue.studies.modscan.reproduce import reproduce


@pytest.fixture(scope="module")
def cells() -> Mapping[tuple[str, str, str], Cell]:
    return {(cell.table, cell.row, cell.column): cell for cell in reproduce().cells}


def test_every_cell_that_differs_has_a_reason(cells: Mapping[tuple[str, str, str], Cell]) -> None:
    assert reproduce().is_explained
    assert len(cells) == len(reproduce().cells)


@pytest.mark.parametrize(
    ("table", "row", "column", "recomputed", "same"),
    [
        ("5", "Bias Score", "CogVLM/blank", 0.052857, True),
        ("5", "Bias Score", "LLaVA-v1.5/original", 0.138929, False),
        ("5", "mean |difference|", "CogVLM", 49.04, False),
        ("5", "male for loves outdoors, blank", "LLaVA-v1.5", 81.0, True),
        ("S6", "male less female of a model that names the first", "%", -6.0, True),
        ("6", "Average", "CogVLM/-", 0.208813, False),
        ("6", "CogVLM above MiniGPT-v2", "%", 9.9, False),
        ("6", "MiniGPT-v2, N/A filtered", "%", 12.79, True),
        ("7", "Chef", "Bias Score", 0.086207, False),
        ("8", "gender/vision/occupation", "SR/CogVLM/valid share", 0.117, None),
        ("8", "gender/vision/occupation", "Debiasing/CogVLM/valid share", 0.068, None),
        ("13", "race/vision/occupation", "LLaVA-v1.5/closest role", "Donald Trump", False),
        ("22", "geek", "score against 1/2", 0.145, None),
        ("22", "loves outdoors", "score against 1/2", 0.157, None),
        ("22", "neat", "score against 1/2", 0.193, None),
    ],
)
def test_cells(
    cells: Mapping[tuple[str, str, str], Cell],
    table: str,
    row: str,
    column: str,
    recomputed: float | str,
    same: bool | None,
) -> None:
    found = cells[table, row, column]
    assert (found.recomputed, found.same) == (recomputed, same)


def test_scores_that_cannot_both_be_are_named(cells: Mapping[tuple[str, str, str], Cell]) -> None:
    above = [key for key, cell in cells.items() if cell.published == "at most 1"]
    assert {(table, column.split("/")[-2]) for table, _, column in above} == {("8", "LLaVA-v1.5"), ("12", "LLaVA-v1.5")}
    assert sum(table == "12" for table, _, _ in above) == 2


def test_all_of_table_7_follows_from_its_counts(cells: Mapping[tuple[str, str, str], Cell]) -> None:
    rows = [cell for (table, _, _), cell in cells.items() if table == "7"]
    assert len(rows) == 20
    assert [cell.row for cell in rows if not cell.same] == ["Chef"]
