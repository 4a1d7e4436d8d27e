"""Pictures that were checked: which of a list passed, as a folder of checks holds it, and lists without the others."""

import hashlib
from pathlib import Path

import polars as pl

from facevalue.errors import DataError
from facevalue.given import read_file, to_toml
from facevalue.parquet import read_table_of
from facevalue.printable import first_line
from facevalue.seals import sealed, unsealed
from facevalue.store.objects import Objects

TABLE, SEAL = "accepted.parquet", "accepted.toml"
"""Files of a folder of checks: a row per picture (`image`, `accepted`), and the digest of that with the rules."""
_MOST_BYTES = 256 * 2**20


def without_failed(table: pl.DataFrame, checks: Path | str) -> pl.DataFrame:
    """A list of pictures without those that failed, by the checks in a folder or under a URL.

    Raises
    ------
    DataError
        The folder holds no checks, these were changed, or they are not of these pictures; or none of them passed.
    """
    verdicts = read_verdicts(checks)
    passes = table.select("image").join(verdicts, on="image", how="left", maintain_order="left")["accepted"]
    if unchecked := passes.null_count():
        example = table["image"].filter(passes.is_null())[0]
        raise DataError(
            f"{checks}: {unchecked:,} of {table.height:,} pictures were not checked, such as {example!r}. "
            "Check this list: facevalue inspect-pictures."
        )
    if not passes.any():
        raise DataError(f"{checks}: none of the {table.height:,} pictures passed its checks.")
    return table.filter(passes)


def read_verdicts(checks: Path | str) -> pl.DataFrame:
    """Which pictures passed, and why not: `image`, `accepted`, `reasons`; errors as of `without_failed`."""
    seal = _content(checks, SEAL)
    if seal is None:
        kind = "place" if isinstance(checks, str) else "folder"
        raise DataError(f"{checks} is no {kind} that facevalue inspect-pictures finished: it has no {SEAL}.")
    facts = to_toml(unsealed(seal, SEAL), SEAL)
    data = _content(checks, TABLE)
    if data is None or facts.get("table") != hashlib.sha256(data).hexdigest():
        raise DataError(f"{checks}/{TABLE} is not what was written: make it again with facevalue inspect-pictures.")
    try:
        return read_table_of(data).select(
            pl.col("image").cast(pl.String), pl.col("accepted").cast(pl.Boolean), pl.col("reasons").cast(pl.String)
        )
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{checks}/{TABLE} cannot be read: {first_line(error)}") from error


def _content(checks: Path | str, name: str) -> bytes | None:
    """A file of checks; None if it is not there."""
    if isinstance(checks, str):
        content = Objects.at(checks).get(name)
        return None if content is None else content[0]
    path = checks / name
    return read_file(path, _MOST_BYTES, "checks of pictures") if path.is_file() else None


def sealed_verdicts(data: bytes, facts: str) -> bytes:
    """Contents of `SEAL`: the digest of a table, and TOML that says how it came to be."""
    return sealed(f'table = "{hashlib.sha256(data).hexdigest()}"\n{facts}'.encode())
