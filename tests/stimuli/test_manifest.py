"""Manifests: CSV, JSON Lines and Parquet in, one form out; whatever is wrong, one clear message."""

import os
import resource
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from facevalue.errors import DataError
from facevalue.stimuli import manifest as module
from facevalue.stimuli.manifest import public_images, read_manifest, write_manifest
from facevalue.stimuli.manifest_rows import Column

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


EXPECTED = pl.DataFrame(
    {
        "image": ["a", "b"],
        "path": ["faces/a.png", "b.JPG"],
        "identity": ["p1", "p1"],
        "set": ["s", None],
        "race": ["Black", None],
        "pose": ["1", "2.50"],
    },
    schema_overrides={"set": pl.String, "race": pl.String},
)


def test_the_three_formats_give_the_same(write: Write, tmp_path: Path) -> None:
    csv = write("m.csv", "id,image,identity,set,race,pose\na,faces/a.png, p1 ,s,Black,1\nb,./b.JPG,p1,,  ,2.50\n")
    jsonl = write(
        "m.jsonl",
        '{"id": "a", "image": "faces/a.png", "identity": "p1", "set": "s", "race": "Black", "pose": 1}\n\n'
        '{"id": "b", "image": "b.JPG", "identity": "p1", "race": null, "pose": 2.50}\n',
    )
    assert_frame_equal(read_manifest(csv), EXPECTED)
    assert_frame_equal(read_manifest(jsonl), EXPECTED)
    write_manifest(EXPECTED, tmp_path / "m.parquet")
    assert_frame_equal(read_manifest(tmp_path / "m.parquet"), EXPECTED)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.csv", "m.jsonl", "m.parquet"]


@pytest.mark.parametrize(
    "text", ["\ufeffpath;race\nx.png;Black\n", "path\trace\r\nx.png\tBlack\r\n", 'path,race\n"x.png","Black"']
)
def test_spreadsheets_csv(write: Write, text: str) -> None:
    found = read_manifest(write("m.csv", text))
    assert found.row(0) == ("x.png", "x.png", "x.png", None, "Black")


def test_cells_are_kept_as_written(write: Write) -> None:
    found = read_manifest(write("m.csv", 'path,age,name\nx.png,9-March,"Doe, ""J""\u2028x"\ny.png,007,1e5\n'))
    assert found["age"].to_list() == ["9-March", "007"]
    assert found["name"].to_list() == ['Doe, "J"\u2028x', "1e5"]


def test_typed_parquet_columns_become_text(tmp_path: Path) -> None:
    pl.DataFrame({"path": ["x.png"], "n": [1], "f": [1.5], "b": [True]}).write_parquet(tmp_path / "m.parquet")
    assert read_manifest(tmp_path / "m.parquet").row(0)[4:] == ("1", "1.5", "true")
    found = read_manifest_jsonl(tmp_path, '{"path": "x.png", "n": 12345678901234567890, "b": true}')
    assert found.row(0)[4:] == ("12345678901234567890", "true")


def read_manifest_jsonl(folder: Path, text: str) -> pl.DataFrame:
    (folder / "m.jsonl").write_text(text)
    return read_manifest(folder / "m.jsonl")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.csv", "", "needs a column|holds no images"),
        ("m.csv", "path,race\n", "holds no images"),
        ("m.csv", "file,race\nx.png,B\n", "'image' or 'path'.* It has: file, race"),
        (
            "m.csv",
            "path\nx.png\ny.png\nx.png\n",
            r"listed more than once \(add a column 'id' .*: row 1 \(x.png\), row 3",
        ),
        ("m.csv", "id,path\n1,x.png\n1,y.png\n", r"listed more than once: row 1 \(1\), row 2 \(1\)"),
        ("m.csv", "path,identity\nx.png,\ny.png,p\n", "'identity' is empty: row 1"),
        ("m.csv", "path,a\nx.png\n", r"another number of cells than the header \(2\): row 1 \(1\)"),
        ("m.csv", 'path,a\n"x.png,B\n', "line 2"),
        ("m.csv", "path,a,a\nx.png,1,2\n", "'a' is there twice"),
        ("m.csv", "path,\nx.png,1\n", "no name"),
        ("m.csv", "path,model\nx.png,1\n", "no factor can be called 'model'"),
        ("m.csv", "path,public\nx.png,maybe\n", r"'public' is yes, no or empty: row 1 \(maybe\)"),
        ("m.csv", "path,public\nx.png,yes\ny.png,y\n", r"'public' is yes, no or empty: row 2 \(y\)"),
        ("m.csv", "path,public\nx.png,1\n", r"'public' is yes, no or empty: row 1 \(1\)"),
        ("m.csv", "path,public\nx.png,oui\n", "'public' is yes, no or empty"),
        ("m.csv", "path,public\nx.png,yes no\n", "'public' is yes, no or empty"),
        ("m.csv", "path,public\nx.png,-\n", "'public' is yes, no or empty"),
        ("m.csv", "path,public,public\nx.png,yes,no\n", "'public' is there twice"),
        ("m.csv", "public\nyes\n", "needs a column 'image' or 'path'"),
        ("m.jsonl", '{"path": "x.png", "public": ["yes"]}', "'public' holds a list"),
        ("m.jsonl", '{"path": "x.png", "public": 0}', r"'public' is yes, no or empty: row 1 \(0\)"),
        ("m.csv", b"path,a\nx.png,caf\xe9\n", "line 2 is not UTF-8"),
        ("m.csv", "path,a\nx.png," + "y" * 1001 + "\n", "'a' has more than 1,000 characters: row 1"),
        ("m.csv", "path," + ",".join(f"c{i}" for i in range(200)) + "\n", "201 columns"),
        ("m.csv", "path\n../x.png\n", r"leaves the folder .*: row 1 \(../x.png\)"),
        ("m.csv", "path\na/../../x.png\n", "leaves the folder"),
        ("m.csv", "path\n/etc/x.png\n", "absolute path; give a root"),
        ("m.csv", "path\nhttp://h/x.png\n", "no path of a file"),
        ("m.csv", "path\nx\x00.png\n", "line|no path"),
        ("m.csv", "path\nx.svg\n", "does not end in one of .png"),
        ("m.csv", "path\nx\n", "does not end in"),
        ("m.txt", "path\nx.png\n", "a manifest is a .csv, .jsonl or .parquet"),
        ("m.jsonl", "", "holds no images|needs a column"),
        ("m.jsonl", '{"path": "x.png"}\n{"path": \n', "line 2 is not valid JSON"),
        ("m.jsonl", "[" * 100_000, "line 1 is not valid JSON"),
        ("m.jsonl", '["x.png"]', "line 1 is not an object"),
        ("m.jsonl", '{"path": "x.png", "race": ["B"]}', "'race' holds a list"),
        ("m.jsonl", '{"path": "x.png"}\n{"race": "B"}', "'path' is empty: row 2"),
        ("m.parquet", "no", "is not a Parquet file"),
    ],
)
def test_what_is_wrong_is_said(write: Write, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_manifest(write(name, content))


def test_nested_parquet(tmp_path: Path) -> None:
    pl.DataFrame({"path": ["x.png"], "race": [["B"]]}).write_parquet(tmp_path / "m.parquet")
    with pytest.raises(DataError, match=r"'race' holds .*list"):
        read_manifest(tmp_path / "m.parquet")


def test_required_factors(write: Write) -> None:
    path = write("m.csv", "path,race\n" + "".join(f"{i}.png,{'' if i % 2 else 'B'}\n" for i in range(20)))
    with pytest.raises(DataError, match=r"'race' is empty: row 2, row 4, row 6, row 8, row 10 and 5 more"):
        read_manifest(path, required=["race"])
    with pytest.raises(DataError, match="your list needs a column 'racee'; is 'race' meant"):
        read_manifest(path, required=["racee"])


def test_too_large(write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = write("m.csv", "path\nx.png\n")
    pl.DataFrame({"path": [f"{i}.png" for i in range(1000)]}).write_parquet(tmp_path / "m.parquet")
    monkeypatch.setattr(module, "MAX_BYTES", 5)
    with pytest.raises(DataError, match=r"a manifest has at most"):
        read_manifest(path)
    monkeypatch.setattr(module, "MAX_BYTES", (tmp_path / "m.parquet").stat().st_size)
    monkeypatch.setattr("facevalue.stimuli.manifest.UNPACKED", 0)
    with pytest.raises(DataError, match=r"unpacks to more"):
        read_manifest(tmp_path / "m.parquet")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"There is no file"):
        read_manifest(tmp_path / "m.csv")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(DataError, match=r"not a file"):
        read_manifest(tmp_path / "d.csv")


def test_root(write: Write, tmp_path: Path) -> None:
    path = write("m.csv", f"path\n{tmp_path}/faces/x.png\nfaces/y.png\n")
    assert read_manifest(path, root=tmp_path)["path"].to_list() == ["faces/x.png", "faces/y.png"]
    with pytest.raises(DataError, match=r"leaves the folder"):
        read_manifest(path, root=tmp_path / "other")


def test_write_checks_the_form_and_the_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"identity, set missing"):
        write_manifest(EXPECTED.drop("identity", "set"), tmp_path / "m.parquet")
    with pytest.raises(DataError, match=r"cannot be written"):
        write_manifest(EXPECTED, tmp_path / "none" / "m.parquet")


@given(st.binary(max_size=200), st.sampled_from(["csv", "jsonl", "parquet"]))
def test_any_bytes_are_a_manifest_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, kind: str
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any.{kind}"
    path.write_bytes(data)
    try:
        read_manifest(path)
    except DataError as error:
        assert str(error)  # noqa: PT017


@given(st.lists(st.text(st.sampled_from("ab./x"), max_size=8), max_size=4).map("".join))
def test_no_path_leaves_the_root(tmp_path_factory: pytest.TempPathFactory, stem: str) -> None:
    root = tmp_path_factory.getbasetemp()
    path = root / "walk.jsonl"
    path.write_text(f'{{"path": "{stem}x.png"}}')
    try:
        found = read_manifest(path)["path"][0]
    except DataError:
        return
    assert (root / found).resolve().is_relative_to(root.resolve())


def test_a_small_dictionary_that_unpacks_to_gigabytes_is_refused_before_it_does(tmp_path: Path) -> None:
    """One text of a megabyte, named two thousand times: kilobytes on the disk, gigabytes in memory."""
    long = pa.DictionaryArray.from_arrays(np.zeros(2_000, np.int32), pa.array(["x" * 2**20]))
    images = pa.array([f"{i}.png" for i in range(2_000)])
    pq.write_table(pa.table({"path": images, "race": long}), tmp_path / "m.parquet", compression="zstd")
    assert (tmp_path / "m.parquet").stat().st_size < 100_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match="'race' has a cell of more than 1,000"):
        read_manifest(tmp_path / "m.parquet")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # KiB


def test_extension_types_are_one_sentence(tmp_path: Path) -> None:
    storage = pa.array([bytes(16)] * 2, pa.binary(16))
    table = pa.table({"path": ["a.png", "b.png"], "who": pa.ExtensionArray.from_storage(pa.uuid(), storage)})
    pq.write_table(table, tmp_path / "m.parquet")
    with pytest.raises(DataError, match="'who' holds"):
        read_manifest(tmp_path / "m.parquet")


def test_halves_of_characters_and_endless_numbers_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text('{"path": "x.png", "race": "\\ud83d"}\n')
    with pytest.raises(DataError, match=r"line 1 holds half of a character"):
        read_manifest(tmp_path / "m.jsonl")


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.csv")
    with pytest.raises(DataError, match="a pipe or device"):
        read_manifest(tmp_path / "m.csv")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_how_pictures_were_made_is_no_factor_however_long_the_prompt(tmp_path: Path, suffix: str) -> None:
    made = pl.DataFrame(
        {
            "image": ["a", "a/cap"], "path": ["a.png", "b.png"], "identity": ["a", "a"], "cue": [None, "cap"],
            "source": [None, "a"], "prompt": ["A man. " * 2_000, "Add a cap."], "picture_seed": [1, 2],
            "revised_prompt": [None, "x" * 9_000], "generator": ["g", "g"],
        }
    )  # fmt: skip
    made.write_csv(tmp_path / "m.csv")
    made.write_parquet(tmp_path / "m.parquet")
    path = tmp_path / f"m.{suffix}"
    assert read_manifest(path).columns == ["image", "path", "identity", "set", "cue"]
    assert read_manifest(path, columns=[Column("source", "what it was made from")])["source"].to_list() == [None, "a"]


def test_a_manifest_that_says_nothing_of_seeds_keeps_its_generators_as_a_factor(write: Write) -> None:
    assert "generator" in read_manifest(write("m.csv", "path,generator\na.png,g\n")).columns


def test_a_folder_of_made_pictures_names_its_list(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "manifest.parquet").touch()
    with pytest.raises(DataError, match=r"\.parquet file: name .*made/manifest\.parquet\."):
        read_manifest(tmp_path / "made")


@pytest.mark.parametrize("content", ["yes", "Yes", "TRUE", " yes "])
def test_pictures_that_may_be_shown_are_no_factor(write: Write, content: str) -> None:
    path = write("m.csv", f"path,public,race\nx.png,{content},Black\ny.png,no,White\nz.png,,White\n")
    assert public_images(path) == {"x.png"}
    assert read_manifest(path).columns == ["image", "path", "identity", "set", "race"]


def test_nothing_says_of_most_lists_that_pictures_may_be_shown(write: Write, tmp_path: Path) -> None:
    assert public_images(write("m.csv", "path\nx.png\n")) == set()
    (tmp_path / "m.jsonl").write_text('{"path": "x.png", "id": "x", "public": true}\n{"path": "y.png", "id": "y"}')
    assert public_images(tmp_path / "m.jsonl") == {"x"}
    own = read_manifest(write("n.csv", "path,public\nx.png,wide\n"), columns=[Column("public", "whom it is for")])
    assert own["public"].to_list() == ["wide"], "a study's own column of this name means what the study says"
