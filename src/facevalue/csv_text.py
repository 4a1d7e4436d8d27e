"""CSV with inert cells: no formulas for spreadsheets, no control characters for terminals."""

import io
from pathlib import Path
from typing import IO

import polars as pl

_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+\-]?\d+(\.\d+)?([eE][+\-]?\d+)?$"
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x{9f}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}\x{feff}]"


def write_csv(frame: pl.DataFrame, to: Path | IO[bytes] | IO[str], *, header: bool = True) -> None:
    r"""Write a table as CSV, texts from strangers included.

    A cell that a spreadsheet would run ("=...", "+...", "-...", "@...") gets an apostrophe before it, unless it is a
    number; control characters are written as �. A list is one cell: numbers with spaces, texts with semicolons between
    them. Parquet and JSON Lines hold texts and lists verbatim.

    Examples
    --------
    >>> import io
    >>> out = io.BytesIO()
    >>> write_csv(pl.DataFrame({"level": ["=1+1", "-2.5", "old\x1b[2J"]}), out)
    >>> out.getvalue().decode().split()
    ['level', "'=1+1", '-2.5', 'old�[2J']
    >>> out = io.BytesIO()
    >>> write_csv(pl.DataFrame({"listed": [["=kind", "fair"]], "probs": [[0.25, 0.75]]}), out)
    >>> out.getvalue().decode().splitlines()[1]
    "'=kind; fair,0.25 0.75"
    """
    frame = frame.with_columns(
        pl.col(name).list.eval(pl.element().cast(pl.String)).list.join("; " if kind.inner == pl.String else " ")
        for name, kind in frame.schema.items()
        if isinstance(kind, pl.List)
    )
    texts = [name for name, kind in frame.schema.items() if kind in (pl.String, pl.Categorical, pl.Enum)]
    columns = []
    for name in texts:
        text = pl.col(name).cast(pl.String).str.replace_all(_CONTROL, "\N{REPLACEMENT CHARACTER}")
        live = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
        columns.append(pl.when(live).then("'" + text).otherwise(text).alias(name))
    frame.with_columns(columns).write_csv(to, include_header=header)


def csv_bytes(frame: pl.DataFrame) -> bytes:
    r"""A table as the bytes of a CSV file, as `write_csv` writes it.

    Examples
    --------
    >>> csv_bytes(pl.DataFrame({"level": ["=1+1"]}))
    b"level\n'=1+1\n"
    """
    out = io.BytesIO()
    write_csv(frame, out)
    return out.getvalue()
