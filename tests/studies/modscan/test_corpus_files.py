"""Texts of a training corpus: what is read of each form of file, and what is counted and passed over."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.errors import DataError, UnknownNameError
from facevalue.studies.modscan import corpus
from facevalue.studies.modscan.corpus import BROKEN, NO_TEXT, RECORDS, corpus_texts

TURNS = [{"from": "human", "value": "Who?"}, {"from": "gpt", "value": "A nurse."}]


def read_texts(path: Path, column: str = "text") -> tuple[list[str], Counter[str]]:
    passed = Counter[str]()
    return [text for texts in corpus_texts(path, column, passed) for text in texts], passed


def line_of(value: Any) -> str:
    return json.dumps({"id": 1, "text": value, "more": {"a": [1, 2]}})


def write(folder: Path, form: str, *values: Any) -> Path:
    """A file of this form whose column `text` holds these."""
    path = folder / f"c{form}"
    rows = [{"id": 1, "text": value} for value in values]
    if form == ".parquet":
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    elif form == ".json":
        path.write_text(json.dumps(rows, indent=1))
    else:
        data = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
        path.write_bytes(gzip.compress(data) if form.endswith(".gz") else data)
    return path


def test_plain_text_is_read_beside_files_that_have_columns(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_text("A nurse.\nHe is a chef.\n")
    assert read_texts(path, "text") == (["A nurse.", "He is a chef."], Counter({RECORDS: 2}))


FORMS = (".jsonl", ".jsonl.gz", ".json", ".parquet")


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=30)
@given(texts=st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=60), min_size=1, max_size=60))
def test_any_text_is_read_in_its_order_whatever_the_form(
    tmp_path_factory: pytest.TempPathFactory, form: str, texts: list[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "_ROWS", 7)
        found, passed = read_texts(write(tmp_path_factory.mktemp("any"), form, *texts))
    assert found == texts
    assert passed == Counter({RECORDS: len(texts)})


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("value", "column", "said"),
    [
        (TURNS, "text", "Who?\nA nurse."),
        (TURNS, "text.from", "human\ngpt"),
        ([{"role": "user", "content": "Who?"}], "text", "Who?"),
        (["one", "two"], "text", "one\ntwo"),
        ({"text": "one"}, "text", "one"),
        ({"en": "one"}, "text.en", "one"),
    ],
)
def test_conversations_and_lists_are_one_text(tmp_path: Path, form: str, value: Any, column: str, said: str) -> None:
    assert read_texts(write(tmp_path, form, value), column)[0] == [said]


def test_what_cannot_be_used_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    lines = [line_of("good"), '{"text": "cut', "", line_of(None), "[1]", '{"text": "a"}, {"text": "b"}', '{"id": 2}',
             line_of(""), line_of([]), line_of("last") + "\r"]  # fmt: skip
    path.write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    texts, passed = read_texts(path)
    assert texts == ["good", "last"]
    assert passed == {RECORDS: 9, BROKEN: 3, NO_TEXT: 4}


def test_a_line_that_never_ends_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "MAX_TEXT", 100)
    path = tmp_path / "c.jsonl"
    path.write_text("\n".join([line_of("good"), line_of("x" * 5_000), line_of("next")]))
    texts, passed = read_texts(path)
    assert texts == ["good", "next"]
    assert passed[BROKEN] > 1


def test_each_line_of_plain_text_is_one(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_bytes("one\n\n zwei \u00fc\n".encode() + b"Caf\xe9")
    assert read_texts(tmp_path / "c.txt", "")[0] == ["one", "zwei \u00fc", "Caf\ufffd"]


@pytest.mark.parametrize("form", FORMS)
def test_an_unknown_column_names_those_there_are(tmp_path: Path, form: str) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'text'"):
        read_texts(write(tmp_path, form, "a"), "txt")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("c.csv", b"", r"a corpus is a \.jsonl or \.txt"),
        ("c.parquet", b"PAR1 damaged PAR1", "c.parquet cannot be read"),
        ("c.json", b'[{"text": "a"}', "c.json cannot be read"),
        ("c.json", b'{"text": "a"}', "is no list of objects; one with an object in each line should end in .jsonl"),
        ("c.json", b"[" * 100_000, "c.json cannot be read"),
        ("c.jsonl.gz", b"no gzip", "c.jsonl.gz cannot be read"),
        ("c.jsonl.gz", gzip.compress(b'{"text": "a"}', mtime=0)[:-9], "c.jsonl.gz cannot be read"),
    ],
)
def test_a_file_that_is_none_is_one_sentence(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=says):
        read_texts(tmp_path / name)


def test_missing_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no file"):
        read_texts(tmp_path / "missing.jsonl")
    (tmp_path / "c.jsonl").touch()
    assert read_texts(tmp_path / "c.jsonl") == ([], Counter())
