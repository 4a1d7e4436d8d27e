"""VisBias' published tables from the released answers, and what happens where these are damaged or made up."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from facevalue.annotations import sentiment
from facevalue.errors import DataError, FaceValueError
from facevalue.protocol.reproduction import Cell, Paper, Reproduction
from facevalue.studies.visbias import released_answers
from facevalue.studies.visbias.divergence import js_divergence
from facevalue.studies.visbias.reproduce import reproduce
from tests.reference import reference

HEADER = "model,race,gender,question,choice"
MODELS = ("gpt-4v", "gpt-4o", "gemini-1.5-pro", "llama-3.2-vision", "llava-v1.6-13b", "midjourney")


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduce(reference("visbias", "expected.json").parent)


def cells(found: Reproduction) -> dict[tuple[str, str, str], Cell]:
    return {(cell.table, cell.row, cell.column): cell for cell in found.cells}


def test_every_expected_cell_comes_out_the_same(found: Reproduction) -> None:
    by = cells(found)
    expected: list[dict[str, Any]] = json.loads(reference("visbias", "expected.json").read_text())
    assert len(expected) == 94
    for wanted in expected:
        cell = by[wanted["table"], wanted["row"], wanted["column"]]
        assert cell.same is True, cell
        assert cell.published == pytest.approx(wanted["value"], abs=1e-9)
        assert isinstance(cell.recomputed, int | float)
        assert cell.recomputed == pytest.approx(wanted["recomputed"], abs=0.003), cell


def test_every_marked_list_comes_out_the_same(found: Reproduction) -> None:
    by = cells(found)
    for wanted in json.loads(reference("visbias", "marked_words_expected.json").read_text()):
        cell = by["1", f"marked words: {wanted['group']}", wanted["model"]]
        assert cell.same
        assert cell.published == cell.recomputed == tuple(wanted["paper"])


def test_what_differs_is_what_is_known_to(found: Reproduction) -> None:
    differing = {(c.table, c.row, c.column): c.recomputed for c in found.cells if c.same is False}
    assert differing == {
        ("3.3", "descriptions", "gpt-4o"): 11_195,
        ("3.4", "Occupation = Creative roles", "gpt-4o/Hobbies/Interests"): "Reading",
        ("7", "gpt-4o", "female/pos"): 23.1,
        ("7", "gpt-4o", "male/pos"): 21.4,
        ("7", "gpt-4o", "ME/pos"): 21.1,
    }
    assert found.is_explained


def test_cells_that_cannot_be_compared_say_why(found: Reproduction) -> None:
    blank = [cell for cell in found.cells if cell.same is None]
    assert blank
    assert all(cell.note for cell in blank)
    assert cells(found)["3.4", "attribute pairs with KL > 1", "all models"].published == 370


def test_a_doctorate_shifts_the_occupation_most(found: Reproduction) -> None:
    by = cells(found)
    assert by["F3", "Education Level: what shifts Occupation most", "gpt-4o"].same is True
    assert by["F3", "Education Level = Doctorate: KL of Occupation", "gpt-4o"].recomputed == pytest.approx(
        2.09, abs=5e-3
    )


def test_what_the_scan_does_not_show_is_not_published(tmp_path: Path) -> None:
    shutil.copy(reference("visbias", "stereotype_words.json"), tmp_path / "stereotype_words.json")
    by = cells(reproduce(made(tmp_path, "midjourney")))
    white = by["8", "midjourney", "white"]
    assert (white.published, white.same) == (4.0, False)
    assert "two decimals" in (white.note or "")


def test_forms_beside_choices_are_matched_as_the_study_matches_them(tmp_path: Path) -> None:
    forms = [
        {"model": "gpt-4v", "Race/Ethnicity": ["Middle-Eastern"], "Gender": [gender], "Education Level": [level],
         "Religion": [religion], "Annual Income": [income]}
        for gender, level, religion, income in (
            ("Female", "Middle School", "Islam", "Less than $9,999"),
            ("Female", "Bachelor", "Judaism", "$10,000 - $29,999"),
            ("Female", "Associate", "Islam", "$150,000 and Above"),
            ("Male", "Master", "Christianity", "Less than $9,999"),
        )
    ]  # fmt: skip
    (tmp_path / "form.jsonl").write_text("\n".join(map(json.dumps, forms)))
    lines = ["model,race,gender,question,choice,count"]
    for gender in ("female", "male"):
        lines += [f"gpt-4v,ME,{gender},education,{letter},5" for letter in "AB"]
        lines += [
            f"gpt-4v,ME,{gender},religion,A,7",
            f"gpt-4v,ME,{gender},income,A,2",
            f"gpt-4v,ME,{gender},income,B,9",
        ]
    (tmp_path / "mcq_counts.csv").write_text("\n".join(lines))
    by = {key[1:]: cell for key, cell in cells(reproduce(tmp_path)).items() if key[0] == "4.3"}
    # Women: the same halves; men: a master's beside halves that share nothing with it, ln 2.
    assert by["Education", "gpt-4v/gender"].recomputed == pytest.approx(np.log(2) / 2, abs=1e-6)
    assert by["Religion", "gpt-4v/gender"].recomputed == pytest.approx(np.log(2) / 2, abs=1e-6)
    apart = float(js_divergence(np.array([2 / 3, 1 / 3]), np.array([1.0, 0.0])))
    assert by["Religion", "gpt-4v/race"].recomputed == pytest.approx(apart, abs=1e-6)
    assert by["Political Leaning", "gpt-4v/gender"].recomputed is None
    # Women: forms half in the lowest, half in the highest bracket, choices that count all in the lowest; men: alike.
    of_women = float(js_divergence(np.array([0.5, 0.5]), np.array([1.0, 0.0])))
    assert by["Income", "gpt-4v/gender"].recomputed == pytest.approx(of_women / 2, abs=1e-6)
    assert all(cell.note for cell in by.values())


def test_the_two_rows_whose_counts_sum_to_68_are_named(found: Reproduction) -> None:
    noted = {(c.row, c.column) for c in found.cells if c.table == "6" and c.note and "sum to 68" in c.note}
    assert noted == {("gemini-1.5-pro", "income/jailbreak=yes"), ("gpt-4v", "income/jailbreak=no")}


def test_every_table_is_transcribed_for_every_model() -> None:
    paper = Paper.shipped("facevalue.studies.visbias")
    widths = {table: {row: len(cells) for row, cells in paper.table(table).items()} for table in "135678"}
    lists = dict.fromkeys(
        (f"marked words: {group}" for group in ("female", "male", "asian", "black", "latino", "ME", "white")), 6
    )
    assert widths["1"] == {"Char": 6, "Token": 6, **lists}
    assert widths["3"] == dict.fromkeys(MODELS, 6)
    assert widths["5"] == dict.fromkeys(("Female", "Male", "Asian", "Black", "Latine", "ME", "White"), 4 * 4)
    assert widths["6"] == dict.fromkeys(MODELS[:5], 4)
    assert widths["7"] == {**dict.fromkeys(MODELS, 14), "llava-v1.6-13b": 13}  # one is illegible
    assert widths["8"] == dict.fromkeys(MODELS, 7)
    for row in lists:
        words = [text.split() for text in paper.table("1")[row].values()]
        assert all(8 <= len(set(listed)) == len(listed) <= 10 for listed in words)


def made(folder: Path, model: str) -> Path:
    """A small release of a model whose answers are made up."""
    lines = ["model,occupation,race,gender,image_index,question,choice"]
    for race in released_answers.RACES:
        for gender in released_answers.GENDERS:
            for question, letter in (("income", "A"), ("education", "B"), ("politics", "X"), ("religion", "D")):
                lines.append(f"{model},nurse,{race},{gender},1,{question},{letter}")
    (folder / "mcq.csv").write_text("\n".join(lines))
    rows = [
        (race, gender, f"A {race} {gender} person in {clothes}.")
        for race in released_answers.RACES
        for gender in released_answers.GENDERS
        for clothes in ("a hat", "blue")
    ]
    frame = pl.DataFrame(rows, schema=["race", "gender", "text"], orient="row")
    frame.write_parquet(folder / f"descriptions_{model}.parquet")
    return folder


@pytest.mark.parametrize("model", ["llama-3.2-vision", "LLaVA_v1.6-13B", "gpt-4v"])
def test_any_of_the_papers_models_is_read_and_missing_files_leave_tables_out(tmp_path: Path, model: str) -> None:
    found = reproduce(made(tmp_path, model))
    tables = {cell.table for cell in found.cells}
    assert tables >= {"1", "3", "3.1", "3.3", "5", "7"}
    assert not tables & {"6", "8", "3.4"}
    said = " ".join(found.notices)
    assert "Table 6 is left out: there is no yesno.csv" in said
    assert "Table 8 is left out: there is no stereotype_words.json" in said
    assert "Section 3.4 is left out" in said
    assert not found.is_explained  # made-up answers differ from the paper's for no known reason
    politics = [cell for cell in found.cells if cell.table == "5" and cell.column.endswith("/politics")]
    assert len(politics) == 7
    assert all(cell.same is None and cell.note == "no answers about this group" for cell in politics)


def test_a_file_without_a_column_is_said_to_lack_it(tmp_path: Path) -> None:
    (tmp_path / "mcq.csv").write_text("model,race,gender,question,answer\ngpt-4v,asian,male,income,A\n")
    with pytest.raises(DataError, match=r"mcq\.csv lacks the column 'choice'\. Its columns: model, race, .*answer\."):
        reproduce(tmp_path)
    (tmp_path / "mcq.csv").unlink()
    pl.DataFrame({"said": ["x"], "text": ["y"]}).write_parquet(tmp_path / "descriptions_gpt-4v.parquet")
    with pytest.raises(DataError, match=r"lacks the columns 'race', 'gender'\. Its columns: said, text\."):
        reproduce(tmp_path)


def test_a_model_that_the_paper_does_not_have_is_left_out_and_named(tmp_path: Path) -> None:
    made(tmp_path, "llava-v1.6-13b")
    (tmp_path / "form.jsonl").write_text('{"model": "qwen", "Age": ["0-17"]}\n')
    found = reproduce(tmp_path)
    assert any("qwen in form.jsonl is left out" in notice for notice in found.notices)


def test_without_vader_only_table_7_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vaderSentiment", None)
    sentiment.lexicon.cache_clear()
    found = reproduce(made(tmp_path, "gpt-4o"))
    sentiment.lexicon.cache_clear()
    assert "7" not in {cell.table for cell in found.cells}
    assert "1" in {cell.table for cell in found.cells}
    assert any("pip install '.[text]' in a checkout of FaceValue" in notice for notice in found.notices)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("mcq.csv", "model,race,gender,qestion,choice\n", "lacks the column 'question'. Is it 'qestion'"),
        ("mcq.csv", "model,race,gender,question,choice\ngpt-4v,green,male,income,A\n", "Unknown race 'green'"),
        ("mcq.csv", "model,race,gender,question,choice\ngpt-4v,black,male,income,Q\n", "Unknown choice"),
        (
            "mcq.csv",
            "model,race,gender,question,choice\ngpt-4v,black,male,religion,F\n",
            "F is not a choice of 'religion'",
        ),
        ("mcq_counts.csv", "model,race,gender,question,choice,count\ngpt-4v,black,male,income,A,-2\n", "not a count"),
        ("yesno.csv", "model,jailbreak,attribute,yes,no,different_pairs\ngpt-4v,no,income,few,1,1\n", "not a count"),
        ("yesno.csv", "", "yesno.csv cannot be read"),
        ("descriptions_gpt-4o.parquet", "PAR1", "descriptions_gpt-4o.parquet cannot be read"),
        ("form.jsonl", "{", "line 1"),
        ("form.jsonl", "[1]", "line 1: no form"),
        ("notes.txt", "x", "none of the released answers"),
    ],
)
def test_damaged_files_are_one_clear_message(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FaceValueError, match=says):
        reproduce(tmp_path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no folder"):
        reproduce(tmp_path / "nothing")
    pl.DataFrame({"txt": ["a"], "race": ["black"], "gender": ["male"]}).write_parquet(
        tmp_path / "descriptions_gpt-4o.parquet"
    )
    with pytest.raises(DataError, match=r"lacks the column 'text'\. Is it 'txt'"):
        reproduce(tmp_path)


def test_single_answers_come_before_counts_of_the_same_model(tmp_path: Path) -> None:
    made(tmp_path, "gpt-4v")
    counts = "model,race,gender,question,choice,count\ngpt-4v,black,male,income,F,70\n"
    (tmp_path / "mcq_counts.csv").write_text(counts)
    frame = released_answers.choices(tmp_path)
    assert frame is not None
    assert frame["count"].sum() == 40


def test_the_released_counts_are_read_where_single_answers_lack(tmp_path: Path) -> None:
    shutil.copy(reference("visbias", "mcq_counts.csv"), tmp_path)
    found = reproduce(tmp_path)
    own = [cell for cell in found.cells if cell.table == "5"]
    assert len(own) == 28
    assert all(cell.same for cell in own)
