"""Sums of units behind the estimates of a run: added up once, kept in the cache, and read an estimate at a time.

The file has a row for each estimate that follows from sums: its value, what makes it of the totals, and lists of its
units, their sums and counts, and what the estimate would move by without each.
"""

import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError
from facevalue.measures.cluster_bootstrap import values_only
from facevalue.measures.uncertainty import TermRecord, terms_kept
from facevalue.parquet import parquet_bytes, read_metadata, scan_tables
from facevalue.runs.joined_runs import Followed
from facevalue.runs.kept_estimates import digest_of_run
from facevalue.runs.stored_run import ReplyTally, StoredRun
from facevalue.seals import digest_of
from facevalue.store.files import write_whole
from facevalue.store.remote import cached_folder, make_private
from facevalue.view.background import run_apart
from facevalue.view.estimates import key_of

_NUMBERS = pl.List(pl.Float64)
_COLUMNS: Mapping[str, pl.DataType | type[pl.DataType]] = {
    "key": pl.String,
    "value": pl.Float64, "factor": pl.Float64, "less": pl.Float64, "unsigned": pl.Boolean,
    "total_sum": pl.Float64, "total_count": pl.Float64, "plural": pl.String,
    "unit": pl.List(pl.String), "sum": _NUMBERS, "count": _NUMBERS, "added": _NUMBERS,
}  # fmt: skip
_TOGETHER = 64
"""Estimates that are read together."""
_FULL = "facevalue.full"
_OLD = 24 * 3600.0
"""Seconds after which a file that is no longer written to was left behind."""
GONE = "The run has grown, and its sums were added up anew: look again in some seconds."


@dataclass(frozen=True)
class EstimateSums:
    """Sums that make up an estimate, of all its units and of each.

    Attributes
    ----------
    value:
        The estimate, from the totals: their ratio times `factor`, less `less`, perhaps without its sign.
    total:
        Totals of sums and counts; None where the estimate takes several columns of them.
    plural:
        What its units are, where that is not what the measure says was sampled.
    units:
        Units with answers behind it; by numbers where they are not named.
    are_named:
        Whether they are.
    added:
        What it would move by without each of them; NaN where nothing would be left.
    sums, counts:
        Sums and counts of each; empty where it takes several columns.
    """

    value: float
    factor: float
    less: float
    unsigned: bool
    total: tuple[float, float] | None
    plural: str
    units: tuple[str, ...]
    are_named: bool
    added: npt.NDArray[np.float64]
    sums: npt.NDArray[np.float64]
    counts: npt.NDArray[np.float64]


@dataclass(frozen=True)
class RunSums:
    """Sums behind the estimates of a run.

    Attributes
    ----------
    path:
        Their file.
    is_full:
        Whether there was no room for those of some estimates.
    """

    path: Path
    is_full: bool

    def sums_of_estimate(self, key: str) -> EstimateSums | None:
        """Sums behind an estimate, by its key; None where it has none.

        Raises
        ------
        DataError
            Their file was replaced by that of the run as it is now.
        """
        try:
            rows = scan_tables([self.path], pl.Schema(_COLUMNS)).filter(key=key).collect()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise DataError(GONE) from error
        if not rows.height:
            return None
        row = rows.row(0, named=True)
        total = None if row["total_count"] is None else (row["total_sum"], row["total_count"])
        added, sums, counts = (np.array(row[name], dtype=np.float64) for name in ("added", "sum", "count"))
        are_named = row["unit"] is not None
        units = tuple(row["unit"] if are_named else (f"unit {number + 1}" for number in range(added.size)))
        return EstimateSums(
            row["value"],
            row["factor"],
            row["less"],
            row["unsigned"],
            total,
            row["plural"],
            units,
            are_named,
            added,
            sums,
            counts,
        )


def sums_of(run: StoredRun) -> RunSums:
    """Sums behind the estimates of a run, which are added up apart unless they are kept."""
    of = digest_of_run(run) or secrets.token_hex(16)  # what may change unseen is added up anew for each viewer
    folder = cached_folder("sums", run.place, run.place)
    path = next((path for path in folder.glob(f"{of}-*.parquet") if _is_whole(path)), None)
    path = run_apart(partial(added_up, folder=folder, of=of), run) if path is None else path
    return RunSums(path, _FULL in read_metadata(path))


def added_up(run: StoredRun, folder: Path, of: str) -> Path:
    """Add up the sums of a run, and keep them in place of those of another digest; returns where."""
    with values_only(), terms_kept() as record:
        seen = Followed.of([run])
        run.study.analyse({run.model: seen.passing(run, ReplyTally())})
        seen.missing.estimates(run.study.name, run.model)
    rows = pl.DataFrame(list(_rows(record)), pl.Schema(_COLUMNS), orient="row").sort("key")
    data = parquet_bytes(rows, {_FULL: "1"} if record.is_full else None, together=_TOGETHER)
    path = folder / f"{of}-{digest_of(data)}.parquet"
    make_private(folder)
    write_whole(path, data)
    for other in folder.iterdir():
        if other != path and (other.suffix == path.suffix or other.stat().st_mtime < time.time() - _OLD):
            other.unlink(missing_ok=True)
    return path


def _rows(record: TermRecord) -> Iterator[tuple[object, ...]]:
    names: dict[int, pl.Series] = {}
    for (measure, intervention, labels), term in record.terms.items():
        value = term.value()
        if not np.isfinite(value):
            continue
        if term.of.names and id(term.of) not in names:
            names[id(term.of)] = pl.Series(list(map(str, term.of.names)), dtype=pl.String)
        used = np.flatnonzero(term.answered_units())
        units = names[id(term.of)][used] if term.of.names else None
        columns = term.sums()
        total = [None, None] if columns is None else [float(totals[term.column]) for totals in term.of.total]
        lists = (
            [pl.Series(dtype=pl.Float64)] * 2 if columns is None else [pl.Series(column[used]) for column in columns]
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            added = pl.Series(value - term.without_each()[used])
        key = key_of(measure, intervention, dict(labels))
        yield key, value, term.factor, term.less, term.unsigned, *total, term.of.plural, units, *lists, added


def _is_whole(path: Path) -> bool:
    """Return whether a file of the cache is as it was written."""
    try:
        return digest_of(path.read_bytes()) == path.stem.rpartition("-")[2]
    except OSError:
        return False
