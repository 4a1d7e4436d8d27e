"""Texts in files below a study's folder: levels of a factor, such as CVs, and columns of items.

They are put into the study as it is read: a run keeps them with it and needs the files no more, and a study whose texts
have changed is another one.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from facevalue.errors import DataError
from facevalue.protocol.toml_tables import TomlTable
from facevalue.untrusted_files import read_file, to_text

MOST_BYTES = 64 * 1024
"""Largest file of a text."""
MOST_FILES = 1_000
"""Files that one pattern may match."""
FILE, TEXTS = "file", "texts"
Check = Callable[[Path], None]
"""Refuses a path that leads out of the study's folder."""


def read_texts(pattern: Path, check: Check = lambda _: None) -> dict[str, str]:
    """Texts of the files that match a pattern, such as `cvs/*.txt`, by their names without the ending, in order.

    `check`: sees each path before it is read.

    Raises
    ------
    DataError
        There are none or too many, two have one name, or one is empty, too long or not UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "nurse.txt").write_text("I am a nurse.")
    ...     read_texts(Path(folder, "*.txt"))
    {'nurse': 'I am a nurse.'}
    """
    check(pattern.parent)
    if "*" in pattern.parent.as_posix():
        raise DataError(f"{pattern.as_posix()}: the star stands for names of files, not of folders.")
    paths = _matching(pattern) if "*" in pattern.name else [pattern]
    if not paths:
        raise DataError(f"No file is called {pattern.name} in {pattern.parent.as_posix()}.")
    out: dict[str, str] = {}
    for path in paths:
        if path.stem in out:
            raise DataError(f"Two files of {pattern.as_posix()} are called {path.stem!r}: their names are the levels.")
        out[path.stem] = read_text_file(path, check)
    return out


def read_text_file(path: Path, check: Check = lambda _: None) -> str:
    """Text of a file, without white space around it; `check` sees its path before it is read.

    Raises
    ------
    DataError
        It is empty, longer than `MOST_BYTES` or not UTF-8.
    """
    check(path)
    text = to_text(read_file(path, MOST_BYTES, "a text"), path.name).replace("\r\n", "\n").strip()
    if not text:
        raise DataError(f"{path.name} holds no text.")
    return text


def _matching(pattern: Path) -> list[Path]:
    start, _, end = pattern.name.partition("*")
    if "*" in end:
        raise DataError(f"{pattern.name}: a pattern of files has one star.")
    names = []
    try:
        with os.scandir(pattern.parent) as entries:
            for file in entries:
                long_enough = len(file.name) >= len(start) + len(end)
                if long_enough and file.name.startswith(start) and file.name.endswith(end) and file.name[0] != ".":
                    names.append(file.name)
                    if len(names) > MOST_FILES:
                        raise DataError(f"More than {MOST_FILES:,} files are called {pattern.name}.")
    except (OSError, ValueError):
        raise DataError(f"There is no folder {pattern.parent.as_posix()} of texts.") from None
    return [pattern.parent / name for name in sorted(names)]


def with_texts(top: TomlTable, folder: Path, check: Check) -> dict[str, Any]:
    """The document of a study with the texts of files where it names files, which lie below `folder`."""
    out = _fill_texts(top, folder, check)
    if isinstance(out.get("task"), dict):
        tasks = top.table("task")
        out["task"] = {
            name: _fill_texts(tasks.table(name), folder, check) if isinstance(task, dict) else task
            for name, task in out["task"].items()
        }
    return out


def _fill_texts(table: TomlTable, folder: Path, check: Check) -> dict[str, Any]:
    """A table whose factors and items have texts in place of files."""
    out = dict(table.document())
    if isinstance(out.get("factor"), dict):
        factors = table.table("factor")
        out["factor"] = {
            name: _levels(factors.table(name), folder, check)
            if isinstance(factor, dict) and TEXTS in factor
            else factor
            for name, factor in out["factor"].items()
        }
    if isinstance(out.get("item"), list) and all(isinstance(item, dict) for item in out["item"]):
        out["item"] = [_columns(item, folder, check) for item in table.tables("item")]
    return out


def _levels(factor: TomlTable, folder: Path, check: Check) -> dict[str, Any]:
    factor.check_keys(TEXTS, "levels")
    if "levels" in factor:
        raise factor.error("A factor has either levels, or texts in files.", TEXTS)
    with factor.place_errors(TEXTS):
        return {"levels": read_texts(folder / factor.text(TEXTS), check)}


def _columns(item: TomlTable, folder: Path, check: Check) -> dict[str, Any]:
    out = dict(item.document())
    for column, value in out.items():
        if isinstance(value, dict):
            cell = item.table(column)
            cell.check_keys(FILE)
            with cell.place_errors(FILE):
                out[column] = read_text_file(folder / cell.text(FILE), check)
    return out
