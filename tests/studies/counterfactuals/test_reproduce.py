"""What the paper prints, from its own tables and from the authors' metadata of sets."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from facevalue.errors import DataError
from facevalue.protocol.reproduction import Cell
from facevalue.studies.counterfactuals import PROTOCOL
from facevalue.studies.counterfactuals.reproduce import reproduce

PLANS = PROTOCOL.extras.plans
Cells = Mapping[tuple[str, str, str], Cell]


@pytest.fixture(scope="module")
def cells() -> Cells:
    return {(cell.table, cell.row, cell.column): cell for cell in reproduce().cells}


def test_table_8_counts_what_the_paper_prints() -> None:
    plan = PLANS["8"]()
    printed = [12_812_400, 12_812_400, 3_789_000, 370_050, 15_374_880, 7_687_440, 4_270_800]
    assert [block.trials for block in plan.blocks] == printed
    assert (plan.total, plan.distinct) == (57_116_970, 56_359_170)
    said = " ".join(plan.notes)
    assert "757,800 of them stand in two rows" in said
    assert "section 4.1 says five" in said
    assert "has four models" in said


def test_gpt_4o_and_language_models_are_counted_as_the_paper_does() -> None:
    assert [block.trials for block in PLANS["gpt-4o"]().blocks] == [24_000, 28_800, 25_200]
    assert PLANS["gpt-4o"]().total == 78_000
    assert PLANS["twin"]().total == 2_562_480
    assert set(PLANS) == {"8", "gpt-4o", "twin"}


def test_every_cell_that_differs_has_a_reason(cells: Cells) -> None:
    assert reproduce().is_explained
    assert len(cells) == len(reproduce().cells)
    assert all(cell.note for cell in cells.values() if cell.same is None)


def test_what_differs_is_known(cells: Cells) -> None:
    assert {key for key, cell in cells.items() if cell.same is False} == {
        ("8", "further keyword prompts with M1", "as Table 20 has it"),
        ("A.2", "five main prompts", "PATA"),
        ("28", "caption", "groups"),
        ("28", "largest count", "words"),
        ("29", "obese male, Competence", "InstructBLIP"),
        ("30", "White men and women, Salary", "BakLLaVA"),
    }


@pytest.mark.parametrize("table", ["4", "18", "14"])
def test_tables_that_repeat_one_another_agree(cells: Cells, table: str) -> None:
    assert all(cell.same for cell in cells.values() if cell.table == table)


def test_two_models_agree_on_the_language_model_they_share(cells: Cells) -> None:
    shared = [cell for cell in cells.values() if cell.table == "3" and cell.row.startswith("Vicuna-7b,")]
    assert [cell.recomputed for cell in shared] == [0.13, 0.23, 0.25, 0.38, 0.17, 0.29]
    assert all(cell.same for cell in shared)


def test_only_52_groups_fit_both_correlations(cells: Cells) -> None:
    assert cells["5.1", "groups that both pairs allow", "n"].recomputed == "52"
    assert cells["5.1", "p of r = 0.50", "LLaVA-Gemma, n = 52"].same
    assert cells["5.1", "p of r = 0.77", "LLaVA-7b, n = 52"].same


def test_groups_with_the_fewest_words_are_counted_in_rows_that_the_scan_left_whole(cells: Cells) -> None:
    assert cells["27", "tattooed male fewest or tied", "GPT-4o"].recomputed == "7 of 8"
    assert cells["28", "obese male fewest or tied", "InstructBLIP"].recomputed == "33 of 42"
    damaged = {cell.row for cell in cells.values() if (cell.note or "").startswith("damaged")}
    assert damaged == {"Pastry Chef", "Pianist", "Police Officer"}


@pytest.mark.parametrize(
    ("table", "row", "column", "recomputed"),
    [
        ("29", "mean of groups", "InstructBLIP/Competence", 8.553),
        ("29", "SD of groups", "InstructBLIP/Competence", 0.2328),
        ("29", "one SD lower", "BakLLaVA/Hiring", "obese female, obese male"),
        ("29", "one SD higher", "InstructBLIP/Competence", "obese male, old female, old male"),
        ("30", "one SD lower", "LLaVA-7b/Salary", "Indian female"),
        ("31", "one SD higher", "LLaVA-13b/Salary", "obese Asian, obese Black, obese Latino, obese White, old White"),
    ],
)
def test_flags_of_ratings(cells: Cells, table: str, row: str, column: str, recomputed: float | str) -> None:
    assert cells[table, row, column].recomputed == recomputed


def test_what_the_scan_has_lost_is_left_out_and_named(cells: Cells) -> None:
    note = cells["30", "mean of groups", "LLaVA-Gemma/Competence"].note
    assert note is not None
    assert "without Indian female, White female, lost in the scan" in note
    assert cells["29", "mean of groups", "InstructBLIP/Salary"].recomputed is None


def _metadata(folder: Path, subset: str, occupations: Mapping[str, int], images: int) -> None:
    names = [f"caption_{3 * number}" for number in range(images)]
    lines = [f"seed,filename,rank,{','.join(names)}"]
    for occupation, sets in occupations.items():
        captions = ",".join([f"A photo of an obese male {occupation}"] * images)
        lines += [f"{number},{occupation}_{subset},0,{captions}" for number in range(sets)]
    (folder / f"metadata_{subset}.csv").write_text("\n".join(lines))


def test_metadata_of_sets_is_counted(tmp_path: Path) -> None:
    _metadata(tmp_path, "physical_gender", {"doctor": 34, "Chess Player": 40, "Real-Estate developer": 35}, 10)
    found = reproduce(tmp_path)
    cells = {(cell.table, cell.row, cell.column): cell for cell in found.cells}
    assert cells["5", "physical-gender", "sets of the metadata"].recomputed == 109
    assert cells["5", "physical-gender", "sets of the metadata"].same is False
    assert cells["5", "physical-gender", "captions of a set"].same
    assert cells["28", "occupations with 35 sets or more", "physical-gender"].recomputed == 2
    assert cells["28", "occupations with 35 images or more", "physical-gender"].recomputed == 3
    names = str(cells["28", "occupations with 35 sets or more", "names"].recomputed)
    assert "accountant" in names
    assert "real-estate developer" not in names
    assert found.is_explained
    assert any("metadata_race_gender.csv is not in" in notice for notice in found.notices)


def test_a_folder_that_cannot_be_read_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no folder"):
        reproduce(tmp_path / "gone")
    with pytest.raises(DataError, match=r"none of the authors' files: metadata_race_gender\.csv"):
        reproduce(tmp_path)
    (tmp_path / "metadata_race_gender.csv").write_text("seed,rank\n1,2\n")
    with pytest.raises(DataError, match=r"lacks the column 'caption_0'"):
        reproduce(tmp_path)
    (tmp_path / "metadata_race_gender.csv").write_text("")
    with pytest.raises(DataError, match=r"metadata_race_gender\.csv cannot be read"):
        reproduce(tmp_path)
