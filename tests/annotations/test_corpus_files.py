"""Texts of large files: what is read of JSON Lines and Parquet, and what is counted and passed over."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.annotations import corpus_files as module
from facevalue.annotations.corpus_files import BROKEN, ENCODING, LONG, NO_TEXT, Passed, corpus_texts
from facevalue.errors import DataError, UnknownNameError

TURNS = [{"from": "human", "value": "Who?"}, {"from": "gpt", "value": "A nurse."}]


def read(path: Path, column: str = "text") -> tuple[list[str], Passed]:
    passed = Passed()
    return [text for texts in corpus_texts(path, column, passed) for text in texts], passed


def jsonl(folder: Path, *lines: bytes | str, end: bytes = b"\n") -> Path:
    path = folder / "c.jsonl"
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines) + end)
    return path


def of(value: Any) -> str:
    return json.dumps({"id": 1, "text": value, "more": {"a": [1, 2]}})


def test_texts_come_in_order_with_or_without_a_last_line_break(tmp_path: Path) -> None:
    for end in (b"\n", b""):
        texts, passed = read(jsonl(tmp_path, of("one"), of("zwei ü 😀"), end=end))
        assert texts == ["one", "zwei ü 😀"]
        assert (passed.records, passed.reasons) == (2, {})
        assert passed.bytes == (tmp_path / "c.jsonl").stat().st_size


@settings(max_examples=30)
@given(
    texts=st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=60), min_size=1, max_size=60),
    chunk=st.integers(1, 300),
)
def test_any_text_is_read_whatever_the_size_of_pieces(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], chunk: int
) -> None:
    folder = tmp_path_factory.mktemp("any")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        assert read(jsonl(folder, *map(of, texts)))[0] == texts
        path = folder / "c.parquet"
        pl.DataFrame({"text": texts}).write_parquet(path)
        assert read(path)[0] == texts


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
def test_conversations_and_lists_are_one_text(tmp_path: Path, value: Any, column: str, said: str) -> None:
    assert read(jsonl(tmp_path, of(value)), column)[0] == [said]
    path = tmp_path / "c.parquet"
    pq.write_table(pa.Table.from_pylist([{"id": 1, "text": value}]), path)
    assert read(path, column)[0] == [said]


def test_lines_that_cannot_be_used_are_counted_with_the_first_of_each(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path,
        of("good"), '{"text": "cut', "", of(None), "[1]", '{"text": "a"}, {"text": "b"}', "Caf\xe9".encode("latin-1"),
        of("x" * 1_000_001), '{"id": 2}', of(["a"]), of(""), of("last") + "\r",
    )  # fmt: skip
    texts, passed = read(path)
    assert texts == ["good", "last"]
    assert passed.records == 11
    assert passed.reasons == {BROKEN: 2, ENCODING: 1, LONG: 1, NO_TEXT: 5}
    assert passed.first[BROKEN] == "c.jsonl, line 2"
    assert passed.first[ENCODING] == "c.jsonl, line 7"
    assert passed.first[LONG] == "c.jsonl, line 8"


def test_good_lines_beside_broken_ones_are_all_read(tmp_path: Path) -> None:
    lines = [of(f"text {number}") if number % 97 else "{broken" for number in range(2_000)]
    texts, passed = read(jsonl(tmp_path, of("first"), *lines))
    assert texts == ["first", *(f"text {number}" for number in range(2_000) if number % 97)]
    assert passed.reasons == {BROKEN: 21}
    assert passed.first[BROKEN] == "c.jsonl, line 2"


def test_two_lines_that_would_make_an_object_together_are_two_broken_ones(tmp_path: Path) -> None:
    texts, passed = read(jsonl(tmp_path, of("good"), '{"text": "a', 'b"}', of("last")))
    assert texts == ["good", "last"]
    assert passed.reasons == {BROKEN: 2}


def test_a_line_that_never_ends_is_passed_over_without_being_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 1_000)
    monkeypatch.setattr(module, "MAX_TEXT", 2_000)
    path = jsonl(tmp_path, of("good"), of("x" * 50_000), of("next"), of("y" * 3_000), of("last"))
    texts, passed = read(path)
    assert texts == ["good", "next", "last"]
    assert (passed.records, passed.reasons) == (5, {LONG: 2})
    assert passed.first[LONG] == "c.jsonl, line 2"
    with path.open("rb") as file:
        assert max(len(chunk) for _, chunk in module._chunks(lambda: file.read(module.CHUNK), "c", Passed())) <= 3_000


def test_a_mark_of_utf8_at_the_beginning_is_no_text(tmp_path: Path) -> None:
    assert read(jsonl(tmp_path, b"\xef\xbb\xbf" + of("one").encode()))[0] == ["one"]


def test_the_form_is_told_from_the_first_line_that_has_the_text(tmp_path: Path) -> None:
    assert read(jsonl(tmp_path, "{broken", '{"text": null}', of("one")))[0] == ["one"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (json.dumps([{"text": "a"}]).encode(), "is one list, not a JSON object per line: its name should end in .json"),
        (of("a").encode("utf-16"), "is UTF-16: save it as UTF-8"),
        (b"PAR1....", "should end in .parquet"),
        (b'{"text": 5}\n', "'text' holds no text"),
    ],
)
def test_files_of_another_form_are_one_sentence(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "c.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=says):
        read(tmp_path / "c.jsonl")


def test_an_unknown_column_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'text'"):
        read(jsonl(tmp_path, of("a")), "txt")
    pl.DataFrame({"text": ["a"], "n": [1]}).write_parquet(tmp_path / "c.parquet")
    with pytest.raises(UnknownNameError, match="Did you mean 'text'"):
        read(tmp_path / "c.parquet", "txt")
    with pytest.raises(DataError, match="'n' holds int64, which is no text"):
        read(tmp_path / "c.parquet", "n")


def test_texts_of_parquet_that_cannot_be_used_are_counted(tmp_path: Path) -> None:
    pl.DataFrame({"text": ["a", None, "", "x" * 1_000_001, "b"]}).write_parquet(tmp_path / "c.parquet")
    texts, passed = read(tmp_path / "c.parquet")
    assert texts == ["a", "b"]
    assert (passed.records, passed.reasons) == (5, {LONG: 1, NO_TEXT: 2})


def test_a_small_dictionary_that_unpacks_to_much_is_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 5_000)
    path = tmp_path / "c.parquet"
    texts = ["a" * 900, "b" * 700, None, "c" * 1_000_001] * 300
    pq.write_table(pa.table({"text": texts}), path, use_dictionary=True)
    assert path.stat().st_size < 50_000
    passed = Passed()
    pieces = list(corpus_texts(path, "text", passed))
    assert max(int(piece.str.len_bytes().sum()) for piece in pieces) <= 5_000
    assert [text[0] for piece in pieces for text in piece] == ["a", "b"] * 300
    assert (passed.records, passed.reasons) == (1_200, {LONG: 300, NO_TEXT: 300})


def test_missing_and_damaged_files_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no file"):
        read(tmp_path / "missing.jsonl")
    (tmp_path / "c.csv").touch()
    with pytest.raises(DataError, match=r"a corpus is a \.jsonl, \.json, \.txt"):
        read(tmp_path / "c.csv")
    (tmp_path / "c.parquet").write_bytes(b"PAR1 damaged PAR1")
    with pytest.raises(DataError, match="is not a Parquet file that can be read"):
        read(tmp_path / "c.parquet")
    (tmp_path / "c.jsonl").touch()
    assert read(tmp_path / "c.jsonl")[0] == []


@settings(max_examples=40)
@given(
    texts=st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=40), min_size=1, max_size=30),
    chunk=st.integers(1, 200),
    indent=st.sampled_from([None, 2]),
)
def test_a_list_is_read_as_its_entries_whatever_the_size_of_pieces(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], chunk: int, indent: int | None
) -> None:
    """Quotes, backslashes and brackets within texts are none."""
    entries = [{"id": n, "text": [{"from": "a", "value": f'\\"[{{,{text}'}]} for n, text in enumerate(texts)]
    path = tmp_path_factory.mktemp("list") / "c.json"
    path.write_text(json.dumps(entries, indent=indent, ensure_ascii=False), encoding="utf-8", newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        patch.setattr(module, "MAX_ENTRY", 10**6)
        found, passed = read(path)
    assert found == [f'\\"[{{,{text}' for text in texts]
    assert passed.records == len(texts)


@pytest.mark.parametrize("name", ["c.jsonl.gz", "c.json.gz", "c.txt.gz", "c.txt", "c.json"])
def test_the_same_texts_come_from_every_form(name: str, tmp_path: Path) -> None:
    texts = ["A nurse.", 'He said: "no".']
    lines = "\n".join(of(text) for text in texts).encode()
    written = {
        ".json": json.dumps([json.loads(of(text)) for text in texts]).encode(),
        ".txt": "\n".join(texts).encode(),
    }
    data = written.get(module.corpus_kind(Path(name)), lines)
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    found, passed = read(path)
    assert found == texts
    assert passed.bytes == path.stat().st_size


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("c.json", b'[{"text": "a"}, {"text": "b', "cut off, or no JSON"),
        ("c.json", b'[{"text": "' + b"a" * 9 * 2**20 + b'"}]', "entry 1 of the list is longer than"),
        ("c.txt.gz", gzip.compress(b"0" * 2**24, mtime=0), "more than 100 times its size"),
        ("c.txt.gz", gzip.compress(b"a nurse " * 999, mtime=0)[:-30], "damaged, or no gzip file"),
        ("c.txt.gz", b"a nurse", "damaged, or no gzip file"),
        ("c.parquet.gz", b"PAR1", r"a corpus is a .jsonl, .json, .txt \(also as .gz\) or .parquet file"),
    ],
)
def test_files_that_are_cut_off_damaged_or_too_large_are_refused(
    name: str, data: bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DataError, match=said):
        read(path)


def test_a_column_is_asked_for_where_there_are_some(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has columns: say which holds the text"):
        read(jsonl(tmp_path, of("a")), "")


def test_an_entry_that_is_broken_or_no_object_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('[{"text": "a"}, 7, {"text": bad}, {"text": "b"}]')
    found, passed = read(path)
    assert found == ["a", "b"]
    assert passed.records == 4
    assert sum(passed.reasons.values()) == 2
