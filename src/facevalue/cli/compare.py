"""`facevalue compare`: real against synthetic pictures, or any two runs of a study, cell by cell."""

import io
import json
from pathlib import Path
from typing import Any

import click
import polars as pl
from rich.console import Console
from rich.table import Table

from facevalue.csv_text import write_csv
from facevalue.run.compare import DESCRIPTOR, Agreement, compare_runs
from facevalue.run.stored import StoredRun
from facevalue.store.files import write_whole
from facevalue.terminal import terminal

_FOLDER = click.Path(path_type=Path)
_TITLES = {
    "mean_signed_delta": "mean delta",
    "mean_absolute_error": "mean |delta|",
    "rmse": "RMSE",
    "max_absolute_delta": "largest |delta|",
}
_COLUMNS = 3  # activities side by side, as in the paper; more are listed by size
_LISTED = 20
_NAMED = 5


@click.command()
@click.argument("real", type=_FOLDER)
@click.argument("synthetic", type=_FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, every cell included.")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="Also write every cell here, as a .csv file."
)
def compare(real: Path, synthetic: Path, as_json: bool, out: Path | None) -> None:
    """Compare the selection frequencies or mean answers of two runs: SYNTHETIC minus REAL, in percentage points.

    The runs are of one study; their pictures may differ (photographs and drawn or generated pictures), or their models.
    Mean absolute error, RMSE and largest delta are above zero even if nothing differs: `chance` says how large.
    """
    if out is not None and out.suffix != ".csv":
        raise click.UsageError(f"{out.name} is no .csv file.")
    found = compare_runs(StoredRun.open(real), StoredRun.open(synthetic))
    if out is not None:
        buffer = io.BytesIO()
        write_csv(found.matched.cells, buffer)
        write_whole(out, buffer.getvalue())
    if as_json:
        click.echo(json.dumps(found.json(), indent=2))
        return
    show(found, terminal(), (real.name, synthetic.name))


def show(found: Agreement, console: Console, names: tuple[str, str]) -> None:
    """Print a comparison for people."""
    for note in found.notes:
        console.print(note, highlight=False, markup=False)
    console.print(f"Cells in both: {found.matched.cells.height:,}", highlight=False)
    for name, only in zip(names, (found.matched.only_first, found.matched.only_second), strict=True):
        if only.height:
            few = _titled(only.head(_NAMED), found)
            some = "; ".join(" ".join(level for level in row if level) for row in few.iter_rows())
            more = f" and {only.height - _NAMED:,} more" if only.height > _NAMED else ""
            console.print(f"Only in {name}: {only.height:,} ({some}{more})", highlight=False, markup=False)
    over = ["paradigm"] if "paradigm" in found.overall.columns else []
    console.print(_summary(found.overall, over, f"Over all: {names[1]} minus {names[0]}, percentage points"))
    if not over:
        console.print(_means(found))
        return
    if found.by_activity.height:
        console.print(_summary(found.by_activity, ["paradigm", "activity"], "By activity"))
    console.print(_identities(_titled(found.matched.cells, found)))


def _means(found: Agreement) -> Table:
    """The largest deltas of a study's means, by its own factors."""
    cells = found.matched.cells.sort(pl.col("delta").abs(), descending=True, maintain_order=True).head(_LISTED)
    table = Table(title="first → second (delta), * q < 0.05", title_justify="left", box=None, pad_edge=False)
    for name in (*found.matched.keys, found.measure):
        table.add_column(name)
    for row in cells.iter_rows(named=True):
        table.add_row(*(row[name] or "all" for name in found.matched.keys), _cell(row))
    return table


def _titled(cells: pl.DataFrame, found: Agreement) -> pl.DataFrame:
    if "identity" not in cells.columns:
        return cells
    return cells.with_columns(pl.col("identity").replace(found.identities))


def _summary(rows: pl.DataFrame, by: list[str], title: str) -> Table:
    """One row for what Tables 12 and 13 have one for: four numbers, each with its interval and what chance gives."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in by:
        table.add_column(name)
    for name in ("cells", *_TITLES.values()):
        table.add_column(name, justify="right")
    for own in rows.partition_by(by, maintain_order=True) if by else [rows]:
        found = {row["statistic"]: row for row in own.iter_rows(named=True)}
        n = f"{max(own['n'].to_list()):,}"
        table.add_row(
            *(own[name][0] for name in by), n, *(_statistic(found[name]) if name in found else "" for name in _TITLES)
        )
    return table


def _statistic(row: dict[str, Any]) -> str:
    interval = "no interval" if row["low"] is None else f"{row['low']:.1f}..{row['high']:.1f}".replace("-", "−")
    chance = ""
    if row["floor"] is not None:
        own = "" if row["floor_n"] == row["n"] else f"\nfor {row['floor_value']:.1f}\nof {row['floor_n']:,} cells"
        chance = f"\n[dim]chance {row['floor']:.1f}{own}\np {row['p']:.3f}[/]"
    return f"[bold]{_number(row['value'])}[/]\n{interval}{chance}"


def _identities(cells: pl.DataFrame) -> Table:
    """As Tables 15 to 19 for few activities; the largest deltas otherwise."""
    activities = cells["activity"].unique(maintain_order=True).to_list()
    cells = cells.with_columns(
        pl.concat_str(*(pl.col(name) for name in ("gender", "identity")), separator=" ", ignore_nulls=True).alias(
            "who"
        ),
        pl.concat_str("paradigm", "question", separator=", ", ignore_nulls=True).alias("asked"),
    )
    side_by_side = len(activities) <= _COLUMNS
    title = "By identity: first → second (delta), * q < 0.05"
    if not side_by_side:
        title += f"; the {min(_LISTED, cells.height)} largest of {cells.height:,}"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in (
        "identity",
        "asked",
        *((activity or "all" for activity in activities) if side_by_side else ("activity", "")),
    ):
        table.add_column(name, justify="left" if name in ("identity", "asked", "activity") else "right")
    if side_by_side:
        keys = [*DESCRIPTOR, "who", "asked", "contrast"]
        for _, own in cells.group_by(keys, maintain_order=True):
            by = {row["activity"]: _cell(row) for row in own.iter_rows(named=True)}
            table.add_row(own["who"][0], own["asked"][0], *(by.get(activity, "") for activity in activities))
        return table
    largest = cells.sort(pl.col("delta").abs(), descending=True, maintain_order=True).head(_LISTED)
    for row in largest.iter_rows(named=True):
        table.add_row(row["who"], row["asked"], row["activity"] or "all", _cell(row))
    return table


def _cell(row: dict[str, Any]) -> str:
    mark = "*" if row["q"] is not None and row["q"] < 0.05 else ""
    return f"{_number(row['first'])} → {_number(row['second'])} ({_number(row['delta'], '+')}){mark}"


def _number(value: float | None, sign: str = "") -> str:
    return "" if value is None else f"{value:{sign}.2f}".replace("-", "−")
