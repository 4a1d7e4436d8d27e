"""Real shares of groups, as the user gives them."""

from collections.abc import Collection
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.protocol.released_tables import read_columns
from facevalue.studies.modscan.tables import instances

COLUMNS = ("instance", "group", "share", "source")
_SLACK = 0.011  # shares are printed in whole percent


def real_shares(file: str) -> dict[tuple[str | None, str | None], tuple[float, str]]:
    """Share of each instance and group, and where it is from."""
    return {(name, group): (share, source) for name, group, share, source in read_real(file).iter_rows()}


def read_real(file: str, groups: Collection[str] = ()) -> pl.DataFrame:
    """Read a CSV file of real shares: `instance`, `group`, `share` (of 1), `source`; all groups by default."""
    path = Path(file)
    frame = read_columns(path, COLUMNS).with_columns(pl.all().str.strip_chars())
    names = [i.name for i in instances()]
    for name in frame["instance"].unique(maintain_order=True):
        if name not in names:
            raise UnknownNameError(f"instance in {path.name}", str(name), names)
    for name in frame["group"].unique(maintain_order=True) if groups else ():
        if name not in groups:
            raise UnknownNameError(f"group in {path.name}", str(name), groups)
    number = frame["share"].cast(pl.Float64, strict=False)
    wrong = frame.filter(number.is_null() | ~number.is_between(0, 1))
    if wrong.height:
        name, group, share, _ = wrong.row(0)
        raise DataError(f"{path.name}: the share of {group} among {name} is {share!r}, not a number from 0 to 1.")
    out = frame.with_columns(number.alias("share"))
    for name, total in out.group_by("instance", maintain_order=True).agg(pl.col("share").sum()).iter_rows():
        if abs(total - 1) > _SLACK:
            raise DataError(f"{path.name}: the shares of {name} sum to {total:g}, not to 1.")
    return out
