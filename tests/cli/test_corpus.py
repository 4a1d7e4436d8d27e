"""`facevalue corpus` as a user types it."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Command


def record(said: str) -> str:
    return json.dumps(
        {"id": "1", "conversations": [{"from": "human", "value": "<image>"}, {"from": "gpt", "value": said}]}
    )


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "llava.jsonl"
    lines = [record("A nurse and her patient."), record("A nurse, he smiles."), record("A pilot."), "{broken"]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_table_has_counts_skew_and_na(facevalue: Command, corpus: Path) -> None:
    done = facevalue("corpus", str(corpus), "--text", "conversations")
    assert done.status == 0
    assert "3 texts with 1 male and 1 female words" in done.out
    (nurse,) = (line for line in done.out.splitlines() if "nurse" in line)
    assert [cell.strip() for cell in nurse.split("│")[2:7]] == ["nurse", "2", "1", "1", "0.5000 [0.0945, 0.9055]"]
    (pilot,) = (line for line in done.out.splitlines() if "pilot" in line)
    assert pilot.count("N/A") == 2
    assert "1 skipped, no JSON object." in done.err


def test_json_says_the_same_with_null_for_what_is_not_there(facevalue: Command, corpus: Path) -> None:
    told = json.loads(facevalue("corpus", str(corpus), "--text", "conversations", "--json").out)
    assert (told["records"], told["texts"], told["male"], told["female"]) == (4, 3, 1, 1)
    assert told["passed_over"] == {"no JSON object": 1}
    rows = {row["instance"]: row for row in told["instances"]}
    assert len(rows) == 20
    assert rows["nurse"] | {"share_male_low": 0, "share_male_high": 0, "skew_high": 0} == {
        "kind": "occupation", "instance": "nurse", "texts": 2, "male": 1, "female": 1, "share_male": 0.5,
        "share_male_low": 0, "share_male_high": 0, "skew": 0.0, "skew_low": 0.0, "skew_high": 0,
    }  # fmt: skip
    assert rows["pilot"]["texts"] == 1
    assert rows["pilot"]["skew"] is None


def test_several_files_are_one_corpus(facevalue: Command, tmp_path: Path) -> None:
    pl.DataFrame({"text": ["A nurse and he."]}).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.jsonl").write_text('{"text": "A nurse and she."}\n')
    told = json.loads(facevalue("corpus", "a.parquet", "b.jsonl", "--text", "text", "--json").out)
    assert (told["texts"], told["male"], told["female"]) == (2, 1, 1)


def test_terms_of_ones_own(facevalue: Command, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text('male = ["he"]\nfemale = ["her"]\n[instances]\njob = ["pilot"]\n')
    told = json.loads(facevalue("corpus", str(corpus), "--text", "conversations", "--terms", "t.toml", "--json").out)
    assert [(row["kind"], row["instance"]) for row in told["instances"]] == [("job", "pilot")]


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (("missing.jsonl", "--text", "text"), 1, "There is no file missing.jsonl"),
        (("llava.jsonl", "--text", "conversation"), 2, "Did you mean 'conversations'"),
        (("llava.jsonl",), 2, "--text"),
        (("empty.jsonl", "--text", "text"), 1, "There is no text in empty.jsonl"),
        (("llava.jsonl", "--text", "conversations", "--terms", "missing.toml"), 1, "missing.toml"),
    ],
)
def test_wrong_usage_is_one_message(
    facevalue: Command, corpus: Path, args: tuple[str, ...], status: int, says: str
) -> None:
    Path("empty.jsonl").touch()
    done = facevalue("corpus", *args)
    assert done.status == status
    assert says in done.err
    assert "Traceback" not in done.err
