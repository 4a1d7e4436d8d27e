"""Images in Parquet shards, as published data sets have them, read row by row.

Listing them reads the small columns alone. Showing one reads its row: what lies before it in its row group passes by
in a few rows at a time. No shard is ever in memory, whatever it or its metadata says.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from threading import Lock

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from facevalue.errors import DataError
from facevalue.stimuli.folders import files_below
from facevalue.stimuli.images import MAX_BYTES, ImageFiles, Kept
from facevalue.stimuli.manifest import MAX_CELL, SHARD_ROW
from facevalue.stimuli.manifest_rows import PicturesError
from facevalue.untrusted_files import check_file

SUFFIX = ".parquet"
IMAGE = "image"
"""The column of images: bytes, or `bytes` beside a `path` as the library `datasets` writes them."""
MOST_AT_ONCE = 2**30
"""Most bytes that are unpacked to reach a row: writers put up to `_PAGE` rows into one page."""

_PAGE = 1024
_ROWS = 8  # that pass by at a time, and are kept: images of a set are neighbours
_KEPT_BYTES = 64 * 2**20
_LISTED_AT_ONCE = 65_536
_POINTER = b"version https://git-lfs"


def shards_below(root: Path) -> list[str]:
    """Paths of shards below a folder, relative to it."""
    return list(files_below(root, (SUFFIX,)))


def read_shards(root: Path, columns: Sequence[str], optional: Sequence[str] = ()) -> pl.DataFrame:
    """List the images of all shards below a folder.

    `root`: the folder. `columns`: columns beside `image` that each shard must have. `optional`: columns that are null
    where a shard lacks them.

    Returns a row per image, all text: `path` ("data/train-00000-of-00008.parquet#41", the row counted from 0), and the
    columns.
    """
    paths = shards_below(root)
    if not paths:
        raise DataError(f"{root}: holds no Parquet file.")
    tables = [_list_images(path, _inside(root, path), columns, optional) for path in paths]
    frame = pl.concat(tables)
    if not frame.height:
        raise DataError(f"{root}: its Parquet files hold no rows.")
    return frame


def _inside(root: Path, name: str) -> Path:
    path = (root / name).resolve()
    if not path.is_relative_to(root.resolve()):
        raise DataError(f"{name}: leads out of the folder with the shards; download them as files, not as links.")
    return path


def _list_images(name: str, path: Path, columns: Sequence[str], optional: Sequence[str]) -> pl.DataFrame:
    with _readable(path, name):
        file = _open_shard(path)
        schema = file.schema_arrow
        missing = [column for column in (IMAGE, *columns) if column not in schema.names]
        if missing:
            raise DataError(f"{name}: lacks the column {missing[0]!r}; it has: {', '.join(schema.names)}.")
        present = [column for column in (*columns, *optional) if column in schema.names]
        for column in present:
            if not _is_plain(schema.field(column).type):
                raise DataError(f"{name}: the column {column!r} holds {schema.field(column).type}, not text.")
        _leaf(schema, name)
        for group in range(file.metadata.num_row_groups):
            _check_size(file.metadata.row_group(group), name)
        texts = [column for column in present if not pa.types.is_integer(schema.field(column).type)]
        with pq.ParquetFile(path, read_dictionary=texts) as small:  # a dictionary may name a long text many times
            batches = [_texts(batch, name) for batch in small.iter_batches(_LISTED_AT_ONCE, columns=present)]
        frame = pl.concat([pl.DataFrame(schema=dict.fromkeys(present, pl.String())), *batches])
    return frame.select(
        pl.format("{}#{}", pl.lit(name), pl.int_range(pl.len())).alias("path"),
        *(pl.col(c) if c in present else pl.lit(None, pl.String).alias(c) for c in (*columns, *optional)),
    )


def _texts(batch: pa.RecordBatch, name: str) -> pl.DataFrame:
    texts_of_columns: dict[str, pl.Series] = {}
    for column, array in zip(batch.schema.names, batch.columns, strict=True):
        array.validate(full=True)  # or damage takes Polars by surprise
        texts = array.dictionary if isinstance(array, pa.DictionaryArray) else array
        texts.validate(full=True)
        if not pa.types.is_integer(texts.type) and (pc.max(pc.binary_length(texts)).as_py() or 0) > 4 * MAX_CELL:
            raise DataError(f"{name}: {column!r} has a cell of more than {MAX_CELL:,} characters.")
        texts_of_columns[column] = pl.Series(column, array)
    return pl.DataFrame(texts_of_columns).select(pl.all().cast(pl.String).str.strip_chars().replace("", None))


class ShardRows(ImageFiles):
    """Rows of shards as images, and files; the path of a row is that of its shard, "#" and its number from 0."""

    def __init__(self, manifest: pl.DataFrame, root: Path) -> None:
        super().__init__(manifest, root)
        self._lock = Lock()
        self._kept: Kept[tuple[Path, int, int], bytes | None] = Kept(_KEPT_BYTES)
        self._walk: _Walk | None = None

    def read(self, name: str) -> bytes:
        """Return the bytes of one image."""
        if not _is_row(name):
            return super().read(name)
        path, _, changed = self._stat(name)
        row = _split(name)[1]
        with self._lock:
            data = self._kept.get((path, changed, row)) or self._reach(path, changed, row, name)
        if data is None:
            raise DataError(f"{name}: holds no image.")
        if len(data) > MAX_BYTES:
            raise DataError(f"{name}: {len(data) / 1e6:,.0f} MB; an image has at most {MAX_BYTES / 1e6:.0f} MB.")
        return data

    def check(self, images: Sequence[str | None], look: Callable[[bytes, str], object]) -> None:
        """Let `look` see each image, in the order in which they lie on the disk."""
        if self._note_images(images):
            return

        def look_and_know(data: bytes, name: str) -> None:
            look(data, name)
            self.digest(name)  # now, so that its row is not looked for again

        checked = ((str(image), self._problem(look_and_know, image)) for image in sorted(images, key=self._place))
        problems = {image: wrong for image, wrong in checked if wrong}
        if problems:
            raise PicturesError(problems)

    def _place(self, image: str | None) -> tuple[str, int]:
        name = self._paths.get(str(image), "")
        return _split(name) if _is_row(name) else ("", 0)

    def _stat(self, name: str) -> tuple[Path, int, int]:
        if not _is_row(name):
            return super()._stat(name)
        path = self.resolve(_split(name)[0])
        size = check_file(path, "a shard of images")
        return path, size, path.stat().st_mtime_ns

    def _reach(self, path: Path, changed: int, row: int, name: str) -> bytes | None:
        walk, self._walk = self._walk, None  # for good, where it ends in an error
        with _readable(path, _split(name)[0]):
            if walk is None or not walk.leads_to(path, changed, row):
                walk = _Walk(path, changed, row, name)
            batch = dict(walk.batch_with(row))
        self._walk = walk
        for place, data in batch.items():
            self._kept.put((path, changed, place), data, len(data or b""))
        return batch[row]


class _Walk:
    """A way through the rows of one row group, from its first."""

    def __init__(self, path: Path, changed: int, row: int, name: str) -> None:
        self._shard = (path, changed)
        file = _open_shard(path)
        groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
        ends = list(accumulate(group.num_rows for group in groups))
        group = bisect_right(ends, row)
        if group == len(ends):
            raise DataError(f"{name}: there is no such row; the shard has {file.metadata.num_rows:,}.")
        _check_size(groups[group], name)
        self._at, self._end = ends[group] - groups[group].num_rows, ends[group]
        self._batches = file.iter_batches(
            _ROWS, row_groups=[group], columns=[_leaf(file.schema_arrow, name)], use_threads=False
        )

    def leads_to(self, path: Path, changed: int, row: int) -> bool:
        return self._shard == (path, changed) and self._at <= row < self._end

    def batch_with(self, row: int) -> Iterator[tuple[int, bytes | None]]:
        """Go on to a row: it and those that are read with it."""
        first, column = self._at, next(self._batches).column(0)
        while first + len(column) <= row:
            first, column = first + len(column), next(self._batches).column(0)
        self._at = first + len(column)
        data = column.field("bytes") if pa.types.is_struct(column.type) else column
        return ((first + place, value.as_py()) for place, value in enumerate(data))


def _is_row(name: str) -> bool:
    return re.search(SHARD_ROW, name, re.ASCII) is not None


def _split(name: str) -> tuple[str, int]:
    shard, _, row = name.rpartition("#")
    return shard, int(row)


def _open_shard(path: Path) -> pq.ParquetFile:
    check_file(path, "a shard of images")
    return pq.ParquetFile(path, pre_buffer=False, buffer_size=2**20)


@contextmanager
def _readable(path: Path, name: str) -> Iterator[None]:
    """Turn errors of the libraries that read shards into one sentence about the damage."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, LookupError, StopIteration, pl.exceptions.PolarsError) as error:
        with path.open("rb") as file:
            if file.read(len(_POINTER)) == _POINTER:
                raise DataError(f"{name}: stands for a file that Git LFS has not fetched yet: git lfs pull.") from None
        reason = (str(error).splitlines() or ["it ends too soon"])[0].rstrip(".")
        raise DataError(f"{name}: is not a whole Parquet file that can be read: {reason}.") from None


def _leaf(schema: pa.Schema, name: str) -> str:
    """The column of bytes."""
    kind = schema.field(IMAGE).type
    if pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0 and _is_bytes(kind.field("bytes").type):
        return f"{IMAGE}.bytes"
    if _is_bytes(kind):
        return IMAGE
    raise DataError(f"{name}: the column {IMAGE!r} holds {kind}, not bytes.")


def _is_bytes(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)


def _is_plain(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    plain_types = (pa.types.is_integer, pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(is_(kind) for is_ in plain_types)


def _check_size(group: pq.RowGroupMetaData, name: str) -> None:
    """Refuse a row group of which too much would have to be unpacked to reach a row."""
    # Of all columns: a damaged one's own aborts the process.
    bytes_per_image = group.total_byte_size / max(group.num_rows, 1)
    if bytes_per_image * min(group.num_rows, _PAGE) > MOST_AT_ONCE:
        raise DataError(
            f"{name}: {group.num_rows:,} images of {bytes_per_image / 1e6:,.1f} MB in one row group are too much to "
            "unpack; write it with fewer rows in a group, such as 100."
        )
