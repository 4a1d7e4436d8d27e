"""Images in Parquet shards: read row by row, within bounds, and never outside their folder."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli import shards as module
from facevalue.stimuli.base import Kind
from facevalue.stimuli.images import MAX_BYTES, FileSource, content_hash
from facevalue.stimuli.manifest import read_manifest
from facevalue.stimuli.manifest_rows import ManifestError, PicturesError
from facevalue.stimuli.pairs import FileIndividuals
from facevalue.stimuli.shards import read_shards
from tests.stimuli.shards import Row, png, write_shard


def rows(count: int, first: int = 0) -> list[dict[str, str | bytes | None]]:
    return [{"image": png(number), "caption": f"number {number}"} for number in range(first, first + count)]


def listed(root: Path) -> pl.DataFrame:
    return read_shards(root, ["caption"]).with_columns(image=pl.col("caption"))


def shown(source: FileSource, image: str) -> bytes:
    return source.stimulus(0, {"image": image}).load()[0].data


def source_of(root: Path) -> FileSource:
    return FileSource(listed(root), root, Kind.SYNTHETIC)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("group", [1, 7, 100])
def test_every_row_of_every_shard_is_shown_as_it_is(tmp_path: Path, group: int, plain: bool) -> None:
    for shard in range(2):
        write_shard(tmp_path / f"data/train-{shard}.parquet", rows(20, 20 * shard), group=group, plain=plain)
    source = source_of(tmp_path)
    for number in (25, 3, 39, 0, 0, 19, 20, 4):
        assert shown(source, f"number {number}") == png(number)
    assert source.stimulus(0, {"image": "number 7"}).digest == content_hash(png(7))


def test_rows_are_listed_in_the_order_of_shards_and_rows(tmp_path: Path) -> None:
    write_shard(tmp_path / "b.parquet", rows(2, 10))
    write_shard(tmp_path / "a/z.parquet", rows(3))
    assert listed(tmp_path)["path"].to_list() == [
        "b.parquet#0", "b.parquet#1", "a/z.parquet#0", "a/z.parquet#1", "a/z.parquet#2",
    ]  # fmt: skip


def test_columns_that_a_shard_lacks_are_null_where_they_may_be(tmp_path: Path) -> None:
    write_shard(tmp_path / "a.parquet", rows(2))
    assert read_shards(tmp_path, ["caption"], ["a1"])["a1"].to_list() == [None, None]


def test_shards_of_other_writers_are_read(tmp_path: Path) -> None:
    own = rows(30)
    frame = pl.DataFrame({"image": [row["image"] for row in own], "caption": [row["caption"] for row in own]})
    frame.with_columns(image=pl.struct(bytes="image", path="caption")).write_parquet(tmp_path / "a.parquet")
    frame.write_parquet(tmp_path / "b.parquet", row_group_size=4, compression="uncompressed")
    table = frame.with_columns(pl.col("caption").cast(pl.Categorical)).to_arrow()
    pq.write_table(table, tmp_path / "c.parquet", compression="zstd", use_dictionary=False, data_page_version="2.0")
    every = read_shards(tmp_path, ["caption"]).with_columns(image="path")
    source = FileSource(every, tmp_path)
    for name in ("a", "b", "c"):
        assert shown(source, f"{name}.parquet#29") == png(29)
    source.check({"image": every["image"].to_list()})


def test_numbers_are_read_as_text(tmp_path: Path) -> None:
    table = pa.table({"image": pa.array([png(1)], pa.binary()), "ctf_set": pa.array([17])})
    pq.write_table(table, tmp_path / "a.parquet")
    assert read_shards(tmp_path, ["ctf_set"])["ctf_set"].to_list() == ["17"]


def damage_images(path: Path) -> None:
    """Overwrite the column of images."""
    column = pq.read_metadata(path).row_group(0).column(0)
    start = column.dictionary_page_offset or column.data_page_offset
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xa5" * column.total_compressed_size)


def test_listing_reads_no_image_and_a_damaged_row_is_named_when_it_is_looked_at(tmp_path: Path) -> None:
    damage_images(write_shard(tmp_path / "a.parquet", rows(50)))
    source = source_of(tmp_path)
    with pytest.raises(DataError, match=r"^a\.parquet: is not a whole Parquet file"):
        source.stimulus(0, {"image": "number 7"})


def test_images_are_checked_and_all_that_cannot_be_shown_are_named(tmp_path: Path) -> None:
    own = rows(12)
    own[3]["image"], own[5]["image"], own[8]["image"] = None, b"no picture", png(8)[:-20]
    write_shard(tmp_path / "a.parquet", own, group=5)
    source = source_of(tmp_path)
    with pytest.raises(PicturesError) as caught:
        source.check({"image": [*(f"number {number}" for number in reversed(range(12))), "stranger"]})
    assert {image: problem.split(":")[0] for image, problem in caught.value.problems.items()} == {
        "number 3": "a.parquet#3", "number 5": "a.parquet#5", "number 8": "a.parquet#8", "stranger": "stranger",
    }  # fmt: skip
    assert caught.value.problems["number 3"] == "a.parquet#3: holds no image."
    assert shown(source, "number 9") == png(9)
    with pytest.raises(UnknownNameError):
        source.stimulus(0, {"image": "stranger"})


def test_an_image_that_is_too_large_is_refused(tmp_path: Path) -> None:
    write_shard(tmp_path / "a.parquet", [{"image": bytes(MAX_BYTES + 1), "caption": "huge"}, *rows(2)])
    source = source_of(tmp_path)
    with pytest.raises(DataError, match=r"a\.parquet#0: 25 MB; an image has at most 25 MB"):
        shown(source, "huge")
    assert shown(source, "number 1") == png(1)


def test_too_much_to_unpack_at_once_is_refused_before_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own: list[Row] = [{"image": bytes([number]) * 1000, "caption": f"number {number}"} for number in range(20)]
    write_shard(tmp_path / "a.parquet", own, group=20)
    source = source_of(tmp_path)
    monkeypatch.setattr(module, "MOST_AT_ONCE", 10_000)
    with pytest.raises(DataError, match=r"20 images of 0\.0 MB in one row group are too much"):
        listed(tmp_path)
    with pytest.raises(DataError, match="too much to unpack"):
        shown(source, "number 1")


def test_rows_are_the_same_for_several_threads(tmp_path: Path) -> None:
    write_shard(tmp_path / "a.parquet", rows(300), group=90)
    source = source_of(tmp_path)
    wanted = [(7 * number) % 300 for number in range(600)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: shown(source, f"number {number}"), wanted))
    assert found == [png(number) for number in wanted]


def test_a_shard_that_changes_while_it_is_shown_is_noticed(tmp_path: Path) -> None:
    write_shard(tmp_path / "a.parquet", rows(5))
    source = source_of(tmp_path)
    stimulus = source.stimulus(0, {"image": "number 2"})
    write_shard(tmp_path / "a.parquet", [{"image": png(99), "caption": "x"}] * 5)
    with pytest.raises(DataError, match="was changed while the run was going on"):
        stimulus.load()


@pytest.mark.parametrize(
    "path",
    [
        "../out.parquet#0", "in/../../out.parquet#0", "a.parquet", "a.parquet#", "a.parquet#-1", "a.parquet#1.5",
        "a.parquet#²", "a.parquet#5", "a.parquet#99999999999999999999", "#0", "", "b.parquet#0", "secret.txt#0",
        "in\0.parquet#0", "in.parquet#0",
    ],
)  # fmt: skip
def test_a_path_that_is_no_row_of_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    write_shard(root / "a.parquet", rows(5))
    write_shard(tmp_path / "out.parquet", rows(5))
    (root / "secret.txt").write_text("secret")
    (root / "in.parquet").mkdir()
    source = FileSource(pl.DataFrame({"image": ["x"], "path": [path]}), root)
    with pytest.raises(DataError):
        source.stimulus(0, {"image": "x"}).load()
    with pytest.raises(PicturesError):
        source.check({"image": ["x"]})


def test_a_manifest_may_list_files_and_rows_of_shards(tmp_path: Path) -> None:
    write_shard(tmp_path / "data/a.parquet", rows(5))
    (tmp_path / "own.png").write_bytes(png(77))
    (tmp_path / "list.csv").write_text("path,hat\ndata/a.parquet#3,yes\nown.png,no\n")
    manifest = read_manifest(tmp_path / "list.csv")
    source = FileSource(manifest, tmp_path)
    source.check({"image": manifest["image"].to_list()})
    assert [shown(source, image) for image in manifest["image"]] == [png(3), png(77)]
    pixels = FileIndividuals(manifest, tmp_path).pixels("data/a.parquet#3")
    assert pixels[0, 0].tolist() == [3, 0, 0]


@pytest.mark.parametrize("path", ["a.parquet", "a.parquet#", "a.parquet#-1", "a.parquet#x", "../a.parquet#1"])
def test_a_manifest_names_what_is_no_row(tmp_path: Path, path: str) -> None:
    (tmp_path / "list.csv").write_text(f"path\n{path}\n")
    with pytest.raises(ManifestError, match=r"does not end in one of|leaves the folder"):
        read_manifest(tmp_path / "list.csv")


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    write_shard(tmp_path / "out.parquet", rows(5))
    (tmp_path / "root").mkdir()
    (tmp_path / "root/a.parquet").symlink_to(tmp_path / "out.parquet")
    with pytest.raises(DataError, match="leads out of the folder"):
        listed(tmp_path / "root")


def test_a_shard_cut_anywhere_is_refused_in_one_sentence(tmp_path: Path) -> None:
    whole = write_shard(tmp_path / "a.parquet", rows(50), group=10).read_bytes()
    for length in (0, 3, 200, len(whole) // 2, len(whole) - 300, len(whole) - 5, len(whole) - 1):
        (tmp_path / "a.parquet").write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"^a\.parquet: is not a whole Parquet file that can be read: [^\n]*\.$"):
            listed(tmp_path)


@given(st.binary(max_size=300), st.integers(0, 10_000))
def test_a_damaged_shard_is_refused_or_read_but_nothing_else(data: bytes, place: int) -> None:
    with TemporaryDirectory() as folder:
        path = write_shard(Path(folder) / "a.parquet", rows(30), group=10)
        whole = bytearray(path.read_bytes())
        place %= len(whole)
        whole[place : place + len(data)] = data
        path.write_bytes(whole)
        try:
            source = source_of(Path(folder))
            source.check({"image": [f"number {number}" for number in range(30)]})
        except (DataError, PicturesError):
            pass


def test_what_git_has_not_fetched_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    with pytest.raises(DataError, match="git lfs pull"):
        listed(tmp_path)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"image": [b"x"]}, "lacks the column 'caption'; it has: image"),
        ({"caption": ["x"]}, "lacks the column 'image'; it has: caption"),
        ({"image": ["text"], "caption": ["x"]}, "the column 'image' holds string, not bytes"),
        ({"image": [{"path": "a.png"}], "caption": ["x"]}, "'image' holds struct<path: string>, not bytes"),
        ({"image": [b"x"], "caption": [["x"]]}, "the column 'caption' holds list<.*>, not text"),
        ({"image": [b"x"], "caption": ["x" * 10_000]}, "'caption' has a cell of more than 1,000 characters"),
    ],
)
def test_shards_of_another_form_are_refused(tmp_path: Path, table: dict[str, list[object]], said: str) -> None:
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=said):
        listed(tmp_path)


def test_texts_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    text = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff\xfe"]).buffers())
    pq.write_table(pa.table({"image": [b"x"], "caption": text}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="UTF"):
        listed(tmp_path)


def test_a_folder_without_shards_or_with_empty_ones_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no Parquet file"):
        listed(tmp_path)
    with pytest.raises(DataError, match="is not a folder"):
        listed(tmp_path / "nowhere")
    pq.write_table(
        pa.table({"image": pa.array([], pa.binary()), "caption": pa.array([], pa.string())}), tmp_path / "a.parquet"
    )
    with pytest.raises(DataError, match="hold no rows"):
        listed(tmp_path)
