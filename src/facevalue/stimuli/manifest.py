"""Manifests of images: CSV, JSON Lines or Parquet in, one form out.

A manifest may come from a stranger: what is read is bounded, every cell is text, and no path leaves the root.
"""

import csv
import os
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from facevalue.errors import DataError
from facevalue.stimuli.base import Kind
from facevalue.stimuli.manifest_rows import PUBLIC, Column, Fault, Faults, ManifestError, lacking
from facevalue.untrusted_files import check_file, read_text, to_json

MEDIA_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
"""Kinds of images by how their names may end. What one is, is told from its content."""
SUFFIXES = tuple(MEDIA_TYPES)

SHARD_ROW = r"(?i)\.parquet#\d{1,15}$"
"""End of a path that is a row of a Parquet shard, as data sets are published: "data/train.parquet#41"."""
MAX_BYTES = 256 * 2**20
"""Largest manifest file."""
ROWS_AT_ONCE = 65_536
"""Rows that are made columns of at a time."""
MAX_COLUMNS = 200
MAX_CELL = 1_000
"""Most characters of a cell."""


RESERVED: frozenset[str] = frozenset((
    "trial", "repeat", "reply", "status", "text", "probs", "weight", "weights", "mass", "na", "position", "choice",
    "model", "prompt", "prompt_tokens", "completion_tokens", "latency_ms", "error", "request", "block", "scenario",
    "ordering", "question", "seed",
))  # fmt: skip
"""Columns of the tables to which factors are joined; no factor may have such a name."""

PICTURE_KIND = "picture_kind"
"""Column of a manifest of pictures that FaceValue made: of which kind each is (`Kind`); empty where nobody knows."""
MAKING: tuple[str, ...] = (
    "source", "prompt", "revised_prompt", "picture_seed", "generator", "editor", "sha256", "media_type", "width",
    "height", "bytes", PICTURE_KIND, "attempts",
)  # fmt: skip
"""Columns of a manifest of pictures that FaceValue made, which say how and not what they show: no factors."""

_ALLOWED = {"yes": True, "true": True, "no": False, "false": False}
"""What cells of the column `public` may hold, in small or capital letters, beside nothing."""
_OF_MADE = "manifest.parquet"  # name of the list of pictures that were made
FORM = ("image", "path", "identity", "set")
"""Columns of every manifest once it is read: which picture it is, its file, and its units."""
_READERS = (".csv", ".jsonl", ".parquet")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")


def read_manifest(
    path: Path,
    *,
    root: Path | None = None,
    required: Sequence[str] = (),
    columns: Sequence[Column] = (),
    place: str = "path",
) -> pl.DataFrame:
    """Read a manifest.

    Parameters
    ----------
    path:
        A `.csv`, `.jsonl` or `.parquet` file with one row per image. Its columns:

        - `image` or `path`: where the image is, relative to the root, or which row of a Parquet shard
          (`train.parquet#41`). If both are there, `image` is the id.
        - `id` (optional): the image's id; the path as written is the id if there is none.
        - `identity` (optional): whose picture it is; each image is an identity of its own if the column is absent.
        - `set` (optional): its counterfactual set; null if the column is absent.
        - `public` (optional): whether the picture may be shown to anybody; read by `public_images`, and no factor.
        - all other columns are factors; of a manifest of pictures that FaceValue made (it has `prompt` and
          `picture_seed`) without those of `MAKING`, unless `columns` names them.
    root:
        The folder that paths are relative to, and that they must not leave; the manifest's folder by default. An
        absolute path is accepted only with a root given here, and below it.
    required:
        Factors that must be there, and must not be empty in any row.
    columns:
        What a study needs, in more words.
    place:
        What the data set that is read calls the column `path`.

    Returns
    -------
    DataFrame
        Text columns: `image` (unique), `path` (relative to the root, with slashes), `identity`, `set`, and the factors
        in the order of the file. Cells are trimmed; empty ones are null.
    """
    _, table = _read(path, root, [*columns, *(Column(name, "", needed=True, filled=True) for name in required)], place)
    return table


def public_images(path: Path, *, root: Path | None = None) -> set[str]:
    """Pictures of a manifest, by `image`, of which its column `public` says that they may be shown to anybody.

    Raises
    ------
    DataError
        The manifest cannot be read; see `read_manifest`.
    """
    frame, table = _read(path, root, (), "path")
    if PUBLIC not in frame.columns:
        return set()
    may = frame[PUBLIC].str.to_lowercase().replace_strict(_ALLOWED, default=False, return_dtype=pl.Boolean)
    return set(table["image"].filter(may))


def _read(path: Path, root: Path | None, columns: Sequence[Column], place: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A manifest as the file has it, its cells trimmed, and in the form of every manifest; the same rows."""
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        within = path / _OF_MADE
        hint = f": name {within}" if within.is_file() else ""
        raise DataError(f"{path.name}: a manifest is a .csv, .jsonl or .parquet file{hint}.")
    if (size := check_file(path, "a manifest")) > MAX_BYTES:
        raise DataError(f"{path.name}: {size / 2**20:,.0f} MiB; a manifest has at most {MAX_BYTES // 2**20} MiB.")
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        ".csv": _read_csv, ".jsonl": _read_jsonl, ".parquet": partial(_read_parquet, columns=columns),
    }  # fmt: skip
    frame = readers[suffix](path)
    frame = _tidy(frame.drop(of_making(frame.columns, columns)), path.name)
    frame = frame.rename({place: "path"}, strict=False) if "path" not in frame.columns else frame
    in_form = _in_form(frame, path.name, root if root is not None else path.parent, root is not None, columns)
    return frame, in_form


def write_manifest(frame: pl.DataFrame, path: Path) -> None:
    """Write a manifest as Parquet: aside first, then renamed, so that the file is whole or absent."""
    missing = [name for name in FORM if name not in frame.columns]
    if missing:
        raise DataError(f"A manifest needs the columns {', '.join(FORM)}; {', '.join(missing)} missing.")
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        frame.write_parquet(aside)
        aside.replace(path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise DataError(f"{path}: cannot be written: {error.strerror or error}.") from error


def _read_parquet(path: Path, columns: Sequence[Column]) -> pl.DataFrame:

    return read_parquet(path, lambda names: of_making(names, columns))


def _read_csv(path: Path) -> pl.DataFrame:
    text = re.sub(r"\Asep=.\r?\n", "", read_text(path, MAX_BYTES, "a manifest"), flags=re.IGNORECASE)
    header = text[: text.find("\n")] if "\n" in text else text
    separator = next((mark for mark in ",;\t" if mark in header), ",")
    reader = csv.reader((line[0] for line in _LINE.finditer(text) if line[0]), delimiter=separator, strict=True)
    frames: list[pl.DataFrame] = []
    rows: list[list[str]] = []
    ragged, number = Faults(), 0
    try:
        names = next(reader, [])
        cells = len(names)
        while len(names) > 1 and not names[-1].strip():  # spreadsheets save columns that are empty from top to bottom
            names.pop()
        check_names(names, path.name)
        schema = dict.fromkeys(map(str.strip, names), pl.String)
        for row in reader:
            if not any(map(str.strip, row)):
                continue
            number += 1
            if len(row) == cells and any(map(str.strip, row[len(names) :])):
                ragged.add(f"column {len(names) + 1} or one after it has no name, and is not empty", number)
                continue
            if len(row) != cells:
                ragged.add(f"a row has another number of cells than the header ({len(names)})", number, f"{len(row)}")
                continue
            rows.append(row[: len(names)])
            if len(rows) == ROWS_AT_ONCE:
                frames.append(pl.DataFrame(rows, schema=schema, orient="row"))
                rows.clear()
    except csv.Error as error:
        raise DataError(f"{path.name}: line {reader.line_num}: {error}.") from error
    ragged.check(path.name)
    return pl.concat([*frames, pl.DataFrame(rows, schema=schema, orient="row")])


def _read_jsonl(path: Path) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    names: dict[str, None] = {}
    for number, line in enumerate(read_text(path, MAX_BYTES, "a manifest").split("\n"), start=1):
        if not line.strip():
            continue
        rows.append(_json_object(line, f"{path.name}: line {number}"))
        if not rows[-1].keys() <= names.keys():
            names.update(dict.fromkeys(rows[-1]))
            check_names(list(names), path.name)
    return pl.DataFrame({name.strip(): [row.get(name) for row in rows] for name in names}, schema_overrides=None)


def _json_object(line: str, place: str) -> dict[str, Any]:
    """Return a line's object with numbers as they are written, so that 1.10 stays "1.10"."""
    row = to_json(line, place, parse_int=str, parse_float=str, parse_constant=str)
    if not isinstance(row, dict):
        raise DataError(f"{place} is not an object of columns.")
    for name, value in row.items():
        if isinstance(value, bool):
            row[name] = "true" if value else "false"
        elif value is not None and not isinstance(value, str):
            raise DataError(f"{place}: {name!r} holds a list or an object; a factor has one value.")
    return row


def check_names(names: Sequence[str], place: str) -> None:
    """Refuse columns without a name of their own that can be printed."""
    stripped = [name.strip() for name in names]
    if len(names) > MAX_COLUMNS:
        raise DataError(f"{place}: {len(names)} columns; a manifest has at most {MAX_COLUMNS}.")
    for number, name in enumerate(stripped, start=1):
        if not name or not name.isprintable() or len(name) > MAX_CELL:
            raise DataError(f"{place}: column {number} has no name, or one that cannot be printed.")
    twice = sorted({name for name in stripped if stripped.count(name) > 1})
    if twice:
        raise DataError(f"{place}: the column {twice[0]!r} is there twice.")


def of_making(names: Sequence[str], columns: Sequence[Column]) -> list[str]:
    """Columns that say how pictures were made, and that no study named.

    Examples
    --------
    >>> of_making(["path", "prompt", "picture_seed", "source", "gender"], [Column("source", "what it was made from")])
    ['prompt', 'picture_seed']
    """
    if not {"prompt", "picture_seed"} <= set(names):
        return []
    return [name for name in names if name in MAKING and name not in {column.name for column in columns}]


def made_kind(path: Path) -> Kind:
    """Kind that a manifest made by FaceValue states for all of its pictures; else `UNSTATED`.

    A file that cannot be read says nothing here: whoever reads it for its pictures says what is wrong with it.
    """
    if path.suffix.lower() != ".parquet":
        return Kind.UNSTATED

    def others(names: Sequence[str]) -> list[str]:
        is_made = {"prompt", "picture_seed", PICTURE_KIND} <= {*names}
        return [name for name in names if name != PICTURE_KIND or not is_made]

    with suppress(DataError, ValueError):
        if check_file(path, "a manifest") <= MAX_BYTES and len(frame := read_parquet(path, others).unique()) == 1:
            return Kind(frame[PICTURE_KIND][0])
    return Kind.UNSTATED


def _tidy(frame: pl.DataFrame, file_name: str) -> pl.DataFrame:
    if frame.height == 0:
        raise DataError(f"{file_name}: holds no images.")
    frame = frame.select(pl.all().cast(pl.String).str.strip_chars().replace("", None))
    long = Faults()
    for name in frame.columns:
        long.add_rows(f"{name!r} has more than {MAX_CELL:,} characters", frame[name].str.len_chars() > MAX_CELL)
    long.check(file_name)
    return frame


def _in_form(
    frame: pl.DataFrame, file_name: str, root: Path, root_given: bool, columns: Sequence[Column]
) -> pl.DataFrame:
    names = frame.columns
    if "path" not in names and "image" not in names:
        near = get_close_matches("path", names, n=1, cutoff=0.5) or get_close_matches("image", names, n=1, cutoff=0.5)
        hint = f" Is {near[0]!r} meant?" if near else ""
        present = ", ".join(names)
        msg = f"{file_name}: needs a column 'image' or 'path' that says where each image is.{hint} It has: {present}."
        raise DataError(msg)
    path_column = "path" if "path" in names else "image"
    given_id = "image" if path_column == "path" and "image" in names else "id" if "id" in names else None
    says_public = PUBLIC in names and PUBLIC not in {column.name for column in columns}  # else it is a study's own
    apart = (*FORM, given_id, *([PUBLIC] if says_public else []))
    factors = [name for name in names if name not in apart]
    wrong = lacking(columns, names)
    taken = sorted(RESERVED.intersection(factors))
    wrong += [Fault(f"no factor can be called {name!r}, which is a column of the results; rename it") for name in taken]
    if wrong:
        raise ManifestError(file_name, wrong)
    faults, image = Faults(), frame[given_id or path_column]
    filled = [column.name for column in columns if column.filled and column.name in names]
    filled_columns = (path_column, given_id, "identity" if "identity" in names else None, *filled)
    for name in dict.fromkeys(name for name in filled_columns if name is not None):
        faults.add_rows(f"{name!r} is empty", frame[name].is_null())
    again = "listed more than once" + ("" if given_id else " (add a column 'id' if one picture is meant to be)")
    faults.add_rows(again, image.is_duplicated() & image.is_not_null(), image)
    if says_public:
        unclear = ~frame[PUBLIC].str.to_lowercase().is_in(list(_ALLOWED)).fill_null(value=True)
        faults.add_rows(f"{PUBLIC!r} is yes, no or empty", unclear, frame[PUBLIC])
    paths = list(_relative_paths(frame[path_column], faults, root, root_given))
    faults.check(file_name)
    identity = frame["identity"] if "identity" in names else image
    return pl.DataFrame(
        [
            image.alias("image"),
            pl.Series("path", paths, pl.String),
            identity.alias("identity"),
            frame["set"] if "set" in names else pl.Series("set", [None], pl.String).new_from_index(0, frame.height),
            *(frame[name] for name in factors),
        ]
    )


def _relative_paths(paths: pl.Series, faults: Faults, root: Path, root_given: bool) -> Iterator[str]:
    base = root.absolute().as_posix()
    for row, written in enumerate(paths, start=1):
        if written is None:
            continue  # found already
        absolute = written.startswith("/") or Path(written).is_absolute()
        relative = posixpath.normpath(written)
        if absolute:
            relative = posixpath.relpath(relative, base)
        if not written.isprintable() or "://" in written:
            faults.add("no path of a file", row, repr(written))
        elif PurePosixPath(written).suffix.lower() not in SUFFIXES and not re.search(SHARD_ROW, written):
            faults.add(f"does not end in one of {', '.join(SUFFIXES)}", row, written)
        elif absolute and not root_given:
            faults.add("an absolute path; give a root folder that holds the images", row, written)
        elif relative == ".." or relative.startswith("../"):
            faults.add(f"leaves the folder {root}; give a root folder that holds all images", row, written)
        yield relative


# Manifests that are Parquet files, read within bounds. A module of its own, as pyarrow takes a while to import.


UNPACKED = 8
"""How many times `MAX_BYTES` a Parquet file may unpack to, by its own account."""


def read_parquet(path: Path, passed_over: Callable[[list[str]], list[str]] = lambda _: []) -> pl.DataFrame:
    """Read a file piece by piece; texts stay dictionaries until it is known how long they are.

    `passed_over`: from the names of its columns to those that are not read.

    A dictionary of a few hundred kilobytes can name one text of a megabyte a million times.
    """
    room = UNPACKED * MAX_BYTES
    frames = []
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            check_names(names, path.name)
            skipped = passed_over(names)
            names = [name for name in names if name not in skipped]
            for field in file.schema_arrow:
                if field.name in skipped:
                    continue
                if not _flat(field.type):
                    raise DataError(f"{path.name}: {field.name!r} holds {field.type}; a factor has one value a row.")
            texts = [field.name for field in file.schema_arrow if field.name in names and _is_text(field.type)]
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            if sum(group.total_byte_size for group in groups) > room:
                raise DataError(f"{path.name}: unpacks to more than {room // 2**20:,} MiB.")
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=names):
                for name, column in zip(names, batch.columns, strict=True):
                    listed = column.dictionary if isinstance(column, pa.DictionaryArray) else column
                    if _is_text(listed.type) and (pc.max(pc.binary_length(listed)).as_py() or 0) > 4 * MAX_CELL:
                        raise DataError(f"{path.name}: {name!r} has a cell of more than {MAX_CELL:,} characters.")
                frame = pl.DataFrame(pl.from_arrow(batch)).with_columns(pl.all().cast(pl.String))
                room -= int(frame.estimated_size())
                if room < 0:
                    raise DataError(f"{path.name}: unpacks to more than {UNPACKED * MAX_BYTES // 2**20:,} MiB.")
                frames.append(frame)
    except (pa.ArrowException, OSError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{path.name}: is not a Parquet file that can be read: {error}.") from error
    frame = pl.concat(frames) if frames else pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    return frame.rename(str.strip)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _flat(kind: pa.DataType) -> bool:
    """Return whether a column of this type has one plain value a row; extension types that others define have none."""
    if isinstance(kind, pa.DictionaryType):
        return _flat(kind.value_type)
    readable = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null, pa.types.is_decimal)
    times = (pa.types.is_date, pa.types.is_timestamp, pa.types.is_time)
    return not isinstance(kind, pa.BaseExtensionType) and (_is_text(kind) or any(is_(kind) for is_ in readable + times))
